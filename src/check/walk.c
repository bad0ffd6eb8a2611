/* walk.c -- see check.h: a walk over all blocks in the order of execution.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/checker.h"

#include "base/regex.h"
#include "lang/walk.h"
#include "native/native.h"

#include "base/banned.h"

/* --- problems --- */

pdl_diag *pdl_checker_diag(pdl_checker *c, pdl_rule_id rule, pdl_loc loc, pdl_loc mark,
                           const char *fmt, ...) {
    size_t n;
    const pdl_rule *r = &pdl_rules(&n)[rule];
    bool lint = r->severity == PDL_DIAG_WARNING && rule != PDL_RULE_name_undefined;
    if (c->quiet || (lint && c->opt->no_lint)) return NULL;
    va_list ap;
    va_start(ap, fmt);
    pdl_diag *d = pdl_program_vdiag(c->p, r->severity, r->name, loc, mark, fmt, ap);
    va_end(ap);
    d->reference_only = r->strict;
    for (char *p = (char *)(uintptr_t)d->text.p; p < d->text.p + d->text.n;
         p++) /* a message is one line */
        if (*p == '\n') *p = ' ';
    return d;
}

void pdl_checker_hint(pdl_checker *c, pdl_diag *d, const char *fmt, ...) {
    if (!d) return;
    va_list ap;
    va_start(ap, fmt);
    d->hint = pdl_program_vtext(c->p, fmt, ap);
    va_end(ap);
}

void pdl_checker_fix(pdl_checker *c, pdl_diag *d, pdl_loc at, pdl_str text) {
    if (!d) return;
    pdl_program_edit(c->p, d, at, text);
    d->fix_is_sure = true;
}

/* --- parts of blocks -------------------------------------------------------------------------- */

static PDL_NOINLINE void check_tree(pdl_checker *c, const pdl_tree *t) {
    if (!t) return;
    switch (t->kind) {
    case PDL_TREE_CONST:
        if (pdl_is_str(t->value)) pdl_checker_lint_text(c, pdl_str_get(t->value), t->node, t->loc);
        return;
    case PDL_TREE_EXPR: pdl_checker_expr(c, t->expr, t->node, t->loc); return;
    case PDL_TREE_LIST:
        for (uint32_t i = 0; i < t->n; i++) check_tree(c, t->items[i]);
        return;
    case PDL_TREE_MAP:
        for (uint32_t i = 0; i < t->n; i++) {
            check_tree(c, t->keys[i]);
            check_tree(c, t->items[i]);
        }
        return;
    }
}

/* A block whose definitions end with it. */
static PDL_NOINLINE void check_inner(pdl_checker *c, const pdl_block *b, pdl_str self) {
    size_t mark = pdl_checker_scope_mark(c);
    if (b) pdl_checker_block(c, b, self);
    pdl_checker_scope_back(c, mark);
}

static void bind_pattern(pdl_checker *c, const pdl_pattern *p) {
    pdl_checker_scope_add(c, p->def);
    for (uint32_t i = 0; i < p->n; i++) bind_pattern(c, p->items[i]);
}

static PDL_NOINLINE void check_fors(pdl_checker *c, const pdl_fors *f) {
    for (uint32_t i = 0; f && i < f->n; i++) {
        check_tree(c, f->names[i]);
        check_tree(c, f->lists[i]);
    }
    for (uint32_t i = 0; f && i < f->n; i++) {
        const pdl_tree *name = f->names[i];
        if (name->kind == PDL_TREE_CONST && pdl_is_str(name->value))
            pdl_checker_scope_add(c, pdl_str_get(name->value));
        else
            c->open_ended = true; /* the name is known when it runs */
    }
}

static PDL_NOINLINE void check_if(pdl_checker *c, const pdl_b_if *b) {
    check_tree(c, b->cond);
    pdl_checker_scope_guards(c, b->cond);
    pdl_checker_block(c, b->then_, (pdl_str){0});
    if (b->else_) pdl_checker_block(c, b->else_, (pdl_str){0});
}

static PDL_NOINLINE void check_match(pdl_checker *c, const pdl_b_match *b) {
    check_tree(c, b->value);
    for (uint32_t i = 0; i < b->cases.n; i++) {
        const pdl_case *k = &b->cases.p[i];
        if (k->pattern) bind_pattern(c, k->pattern);
        check_tree(c, k->cond);
        pdl_checker_scope_guards(c, k->cond);
        pdl_checker_block(c, k->then, (pdl_str){0});
    }
}

/* The next iteration may read what an iteration defines: definitions of the body count from the
 * start. */
static PDL_NOINLINE void check_repeat(pdl_checker *c, const pdl_b_repeat *b) {
    bool outer = c->collected;
    check_tree(c, b->max ? b->max : b->num);
    check_fors(c, b->fors);
    pdl_checker_scope_add(c, b->index.s);
    if (!outer) pdl_checker_scope_collect(c, b->body);
    c->collected = true;
    check_tree(c, b->while_);
    pdl_checker_scope_guards(c, b->while_);
    pdl_checker_block(c, b->body, (pdl_str){0});
    check_tree(c, b->until);
    c->collected = outer;
    if (b->join) check_tree(c, b->join->reduce);
}

static PDL_NOINLINE void check_map(pdl_checker *c, const pdl_b_map *b) {
    size_t mark = pdl_checker_scope_mark(c);
    bool outer = c->collected;
    check_tree(c, b->max);
    check_fors(c, b->fors);
    pdl_checker_scope_add(c, b->index.s);
    c->collected = false;
    pdl_checker_block(c, b->body, (pdl_str){0});
    c->collected = outer;
    pdl_checker_scope_back(c, mark);
    if (b->join) check_tree(c, b->join->reduce);
}

static PDL_NOINLINE void check_function(pdl_checker *c, const pdl_b_function *b, pdl_str self) {
    size_t mark = pdl_checker_scope_mark(c);
    bool outer = c->collected;
    pdl_checker_scope_add(c, self);
    pdl_checker_scope_add(c, b->head.def.s);
    for (uint32_t i = 0; i < b->params.n; i++) pdl_checker_scope_add(c, b->params.names[i]);
    c->collected = false;
    pdl_checker_block(c, b->body, (pdl_str){0});
    c->collected = outer;
    pdl_checker_scope_back(c, mark);
}

static PDL_NOINLINE void check_get(pdl_checker *c, const pdl_b_get *b) {
    static const pdl_xnames none = {0};
    pdl_buf text = PDL_BUF;
    if (c->quiet) return;
    pdl_buf_putf(&text, "${ %.*s }", PDL_FMT(b->get.s));
    pdl_checker_expr(c, pdl_expr_read(c->p->arena, pdl_buf_str(&text), &none), NULL, b->get.loc);
    pdl_buf_fini(&text);
}

/* Literal text of a Jinja block with the usual delimiters is read as it will be. */
static PDL_NOINLINE void check_jinja(pdl_checker *c, const pdl_b_code *b) {
    static const pdl_xoptions options = {0};
    if (c->quiet || b->parameters || !b->code || b->code->kind != PDL_BLOCK_scalar ||
        !pdl_str_eq_nocase(b->lang.s, PDL_STR("jinja")))
        return;
    const pdl_tree *t = PDL_AS(scalar, b->code)->value;
    if (t->kind != PDL_TREE_CONST || !pdl_is_str(t->value)) return;
    const pdl_expr *e =
        pdl_expr_read_template(c->p->arena, pdl_str_get(t->value), &options, &pdl_known_xnames);
    if (e->form != PDL_X_BROKEN) return;
    pdl_diag *d =
        pdl_checker_diag(c, PDL_RULE_jinja_syntax, b->code->loc,
                         pdl_node_text_loc(t->node, e->fault->start, e->fault->end),
                         "Jinja Code error: %s: %.*s", e->fault->cls, PDL_FMT(e->fault->msg));
    if (e->fault->hint.n) pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(e->fault->hint));
}

static PDL_NOINLINE void check_record(pdl_checker *c, pdl_record record, const void *base) {
    size_t n;
    const pdl_record_part *parts = pdl_record_parts(record, &n);
    for (size_t i = 0; i < n; i++) check_tree(c, pdl_record_part_at(base, &parts[i]));
}

/* The result that is checked has a name in the check alone. */
static void check_endorse(pdl_checker *c, const pdl_endorse_field *endorse) {
    size_t mark = pdl_checker_scope_mark(c);
    pdl_checker_scope_add(c, PDL_STR("pdl_value"));
    check_record(c, PDL_RECORD_endorse, endorse);
    pdl_checker_scope_back(c, mark);
}

static void check_child(void *user, const pdl_block *child) {
    pdl_checker_block(user, child, (pdl_str){0});
}

/* Fields of kinds without a special order: trees and blocks in the order of the table. */
static PDL_NOINLINE void check_fields(pdl_checker *c, const pdl_block *b) {
    size_t n;
    const pdl_field *f = pdl_fields_of(b->kind, &n);
    for (size_t i = 0; i < n; i++) {
        const void *at = pdl_field_at(b, &f[i]);
        switch ((int)f[i].type) {
        case PDL_FT_EXPR:
        case PDL_FT_XBOOL:
        case PDL_FT_XINT:
        case PDL_FT_XNUM:
        case PDL_FT_XSTR:
        case PDL_FT_XDICT:
        case PDL_FT_ARGV: check_tree(c, *(const pdl_tree *const *)at); break;
        case PDL_FT_JOIN:
            if (*(const pdl_join *const *)at) check_tree(c, (*(const pdl_join *const *)at)->reduce);
            break;
        default: pdl_field_each_block(b, &f[i], check_child, c);
        }
    }
}

static PDL_NOINLINE void check_own(pdl_checker *c, const pdl_block *b, pdl_str self) {
    switch ((int)b->kind) {
    case PDL_BLOCK_if: check_if(c, PDL_AS(if, b)); return;
    case PDL_BLOCK_match: check_match(c, PDL_AS(match, b)); return;
    case PDL_BLOCK_repeat: check_repeat(c, PDL_AS(repeat, b)); return;
    case PDL_BLOCK_map: check_map(c, PDL_AS(map, b)); return;
    case PDL_BLOCK_function: check_function(c, PDL_AS(function, b), self); return;
    case PDL_BLOCK_get: check_get(c, PDL_AS(get, b)); return;
    case PDL_BLOCK_aggregator:
        check_record(c, PDL_RECORD_aggregator, PDL_AS(aggregator, b)->aggregator);
        return;
    case PDL_BLOCK_include: pdl_checker_module(c, b, PDL_AS(include, b)->path.s, false); return;
    case PDL_BLOCK_import: pdl_checker_module(c, b, PDL_AS(import, b)->path.s, true); return;
    case PDL_BLOCK_data: {
        const pdl_b_data *d = PDL_AS(data, b);
        if (!d->raw.given || !d->raw.value) check_tree(c, d->data);
        return;
    }
    case PDL_BLOCK_model:
    case PDL_BLOCK_code:
    case PDL_BLOCK_message: { /* definitions of their parts end with them */
        size_t mark = pdl_checker_scope_mark(c);
        check_fields(c, b);
        pdl_checker_scope_back(c, mark);
        if (b->kind == PDL_BLOCK_model) pdl_checker_scope_add(c, PDL_AS(model, b)->response.s);
        if (b->kind == PDL_BLOCK_code) check_jinja(c, PDL_AS(code, b));
        return;
    }
    default: check_fields(c, b); return;
    }
}

/* A regex that cannot be compiled fails whenever it is used. */
static PDL_NOINLINE void check_parser(pdl_checker *c, const pdl_block *b) {
    const pdl_parser *p = b->rare->parser ? b->rare->parser->parser : NULL;
    pdl_regex *re = NULL;
    pdl_err err = {0};
    if (c->quiet || !p || p->kind != PDL_PARSE_REGEX || p->compiled) return;
    if (pdl_regex_new(p->regex, PDL_RE_MULTILINE, &re, &err)) {
        pdl_regex_free(re);
        return;
    }
    const pdl_node *n = pdl_node_find(b->node, PDL_STR("parser"), NULL),
                   *text = n ? pdl_node_find(n, PDL_STR("regex"), NULL) : NULL;
    pdl_checker_diag(c, PDL_RULE_regex, b->rare->parser->loc,
                     text ? pdl_node_loc(text) : b->rare->parser->loc,
                     "Fail to parse with regex %.*s: error('%s')", PDL_FMT(p->regex), err.msg);
    pdl_err_fini(&err);
}

static PDL_NOINLINE void check_contribute(pdl_checker *c, const pdl_block *b) {
    for (uint32_t i = 0; i < b->contribute.n; i++) {
        const pdl_contribute *k = &b->contribute.p[i];
        check_tree(c, k->value);
        if (k->target == PDL_TO_INVALID)
            pdl_checker_diag(
                c, PDL_RULE_contribute, k->loc, pdl_node_loc(k->node),
                "Contributions are expected to be strings or dictionaries of length 1");
        if (k->target != PDL_TO_NAME || pdl_checker_scope_has(c, k->name) || c->open_ended ||
            c->outer_unknown || c->opt->no_names)
            continue;
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_name_undefined, k->loc, pdl_node_loc(k->node),
                                       "'%.*s' is undefined", PDL_FMT(k->name));
        static const pdl_str words[] = {
            {"result", 6}, {"context", 7}, {"stdout", 6}, {"stderr", 6}};
        pdl_str near = pdl_str_nearest(k->name, words, 4);
        if (near.n) pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(near));
    }
}

void pdl_checker_block(pdl_checker *c, const pdl_block *b, pdl_str self) {
    pdl_checker_lint_block(c, b);
    if (b->rare->budget) check_record(c, PDL_RECORD_budget, b->rare->budget);
    for (uint32_t i = 0; i < b->rare->defs.n; i++) {
        check_inner(c, b->rare->defs.p[i], b->rare->defs.names[i]);
        pdl_checker_scope_add(c, b->rare->defs.names[i]);
    }
    if (b->rare->retry) check_record(c, PDL_RECORD_retry, b->rare->retry);
    check_own(c, b, self);
    if (b->rare->parser) check_parser(c, b);
    if (b->rare->endorse) check_endorse(c, b->rare->endorse);
    for (uint32_t i = 0; i < b->rare->expectations.n; i++) {
        check_tree(c, b->rare->expectations.p[i].expect);
        check_tree(c, b->rare->expectations.p[i].feedback);
        check_inner(c, b->rare->expectations.p[i].feedback_block, (pdl_str){0});
    }
    if (b->rare->fallback) {
        pdl_checker_scope_add(c, PDL_STR("pdl_error"));
        pdl_checker_block(c, b->rare->fallback, (pdl_str){0});
    }
    pdl_checker_scope_add(c, b->def.s);
    check_contribute(c, b);
}

void pdl_program_check(pdl_program *p, const pdl_check_options *opt) {
    if (!p->main) return;
    pdl_modules modules = {0};
    pdl_checker c = {.p = p, .opt = opt, .modules = &modules};
    pdl_checker_scope_predefined(&c);
    for (size_t i = 0; i < opt->n_names; i++) pdl_checker_scope_add(&c, opt->names[i]);
    pdl_checker_block(&c, p->main, (pdl_str){0});
    pdl_checker_modules_fini(&modules, p);
    pdl_map_fini(&c.names);
    pdl_vec_fini(&c.trail);
    pdl_checker_settle(p, opt);
    pdl_program_sort_diags(p);
}

const pdl_diag *pdl_program_certain_error(const pdl_program *p) {
    for (size_t i = 0; i < p->diags.n; i++)
        if (p->diags.p[i].certain && p->diags.p[i].severity == PDL_DIAG_ERROR)
            return &p->diags.p[i];
    return NULL;
}
