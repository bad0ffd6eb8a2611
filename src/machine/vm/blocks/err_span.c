/* err_span.c -- finds the exact place of an error inside a text: the part of a template, or the
 * line of a code block. The loc of an instruction is a whole text; a user who reads an error needs
 * to see which characters of the text are wrong.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/err_span.h"

#include "effect/effect.h"
#include "value/int.h"
#include "vm/fiber.h"

#include "base/banned.h"

/* Returns the node of the k-th part. The parts are the texts and outputs of the template, in the
 * order in which they are on the stack. */
static const pdl_xnode *part_of(const pdl_xnode *seq, size_t k) {
    for (uint32_t i = 0; seq->kind == PDL_X_SEQ && i < seq->u.list.n; i++) {
        const pdl_xnode *x = seq->u.list.p[i];
        size_t n = x->kind == PDL_X_OUTPUT ? x->u.list.n : 1;
        if (k < n) return x->kind == PDL_X_OUTPUT ? x->u.list.p[k] : x;
        k -= n;
    }
    return NULL;
}

void pdl_vm_mark_part(const pdl_fiber *f, size_t k, pdl_err *err) {
    if (!f->code || !f->pc || f->code->ins.p[f->pc - 1].op != PDL_OP_STR_JOIN) return;
    const pdl_srcsite *site = &f->code->sites.p[f->code->where.p[f->pc - 1].site];
    if (!site->expr || !site->expr->root || !site->node) return;
    const pdl_xnode *x = part_of(site->expr->root, k);
    if (x) err->mark = pdl_node_text_loc(site->node, x->start, x->end);
}

/* Finds line1 in the text, with any indentation. Returns false when the line is missing, or when a
 * substitution before it may have moved lines. */
static bool find_line(pdl_str text, uint32_t line1, size_t *from, size_t *to) {
    size_t at = 0;
    if (line1 < 1) return false;
    for (; line1 > 1; line1--) {
        size_t nl = pdl_str_find(text, PDL_STR("\n"), at);
        if (nl == PDL_NOT_FOUND) return false;
        at = nl + 1;
    }
    size_t hole = pdl_str_find(text, PDL_STR("${"), 0);
    if (hole < at) return false;
    size_t nl = pdl_str_find(text, PDL_STR("\n"), at);
    *to = nl == PDL_NOT_FOUND ? text.n : nl;
    while (at < *to && (text.p[at] == ' ' || text.p[at] == '\t')) at++;
    *from = at;
    return at < *to;
}

void pdl_vm_mark_template(const pdl_block *b, const pdl_srcsite *site, const pdl_srcspan *w,
                          pdl_err *err) {
    const pdl_block *code = b->kind == PDL_BLOCK_code ? PDL_AS(code, b)->code : NULL;
    const pdl_node *node = code ? code->node : NULL;
    if (!site->expr) return;
    pdl_str before = pdl_str_sub(site->expr->source, 0, w->start);
    if (node && pdl_node_is_str(node) && pdl_str_starts(node->text, before)) {
        err->mark = pdl_node_text_loc(node, w->start, w->end);
        return;
    }
    size_t line = 1;
    for (size_t i = 0; i < before.n; i++) line += before.p[i] == '\n';
    if (line > 1 && !err->hint) pdl_err_hint(err, "it is in line %zu of the template", line);
}

void pdl_vm_mark_code(const pdl_block *b, pdl_err *err) {
    const pdl_block *code = PDL_AS(code, b)->code;
    size_t from, to;
    if (code && code->node && pdl_node_is_str(code->node) &&
        find_line(code->node->text, err->facts.line1, &from, &to))
        err->mark = pdl_node_text_loc(code->node, from, to);
}
