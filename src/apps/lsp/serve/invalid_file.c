/* invalid_file.c -- checks the readable rest of a file that is not valid YAML; see invalid_file.h.
 *
 * The tolerant reader skips damaged parts and guesses missing ones. So reports about the damaged
 * lines are guesses and are not shown; neither are reports about a name that these lines may define
 * or use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/serve/invalid_file.h"

#include "lang/load.h"
#include "yaml/yaml.h"

#include "base/banned.h"

lsp_broken pdl_lsp_broken_read(const pdl_program *failed) {
    lsp_broken b = {0};
    pdl_err err = {0};
    pdl_source *src = NULL;
    if (!failed->yaml_failed || !failed->source) return b;
    pdl_program *p = pdl_program_new();
    pdl_str name = pdl_arena_str(p->arena, failed->source->name);
    const pdl_node *root = NULL;
    bool ok;
    if (pdl_yaml_source(p->arena, name, failed->source->text, &src, &err))
        root = pdl_ytree_load(p->arena, src, &err);
    pdl_err_fini(&err);
    if (!root) {
        pdl_program_drop(p);
        return b;
    }
    b.tree = pdl_ytree_read(p->arena, src);
    pdl_program_load_node(p, root, &ok);
    b.program = p;
    return b;
}

/* maximum number of bytes of a line that are examined before the damage, and after it */
enum { MAX_LINE = 2000 };

/* Returns the lines of [from, to). The checks can only guess about these lines. */
static pdl_loc lines_of(const pdl_source *src, uint32_t from, uint32_t to) {
    pdl_str text = src->text;
    for (int i = 0; i < MAX_LINE && from && text.p[from - 1] != '\n'; i++) from--;
    for (int i = 0; i < MAX_LINE && to < text.n && text.p[to] != '\n'; i++) to++;
    return (pdl_loc){src, from, to};
}

/* Returns the name that a message about an undefined name quotes. */
static pdl_str quoted(pdl_str text) {
    size_t from = pdl_str_find(text, PDL_STR("'"), 0);
    size_t to = from == PDL_NOT_FOUND ? from : pdl_str_find(text, PDL_STR("'"), from + 1);
    return to == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(text, from + 1, to);
}

static bool touches(pdl_loc at, pdl_loc lines) {
    return at.src == lines.src && at.start <= lines.end && at.end >= lines.start;
}

/* Returns true when a diagnostic concerns these lines, or a name that occurs in them. */
static bool follows(const pdl_diag *d, pdl_loc lines) {
    pdl_str name = quoted(d->text), text = pdl_str_sub(lines.src->text, lines.start, lines.end);
    if (text.n > 3 * MAX_LINE) text.n = 3 * MAX_LINE;
    if (touches(d->loc, lines) || touches(d->mark, lines)) return true;
    return name.n && pdl_str_find(text, name, 0) != PDL_NOT_FOUND;
}

static bool is_guess(const lsp_broken *b, const pdl_diag *d) {
    const pdl_source *src = b->tree->src;
    for (size_t i = 0; i < b->tree->n_notes; i++) {
        const pdl_ytree_note *n = &b->tree->notes[i];
        if (follows(d, lines_of(src, n->mark, n->mark_end))) return true;
        if (n->skipped < n->skipped_end && follows(d, lines_of(src, n->skipped, n->skipped_end)))
            return true;
    }
    return false;
}

void pdl_lsp_broken_settle(const lsp_broken *b) {
    pdl_program *p = b->program;
    size_t kept = 0;
    for (size_t i = 0; i < p->diags.n; i++)
        if (!is_guess(b, &p->diags.p[i])) p->diags.p[kept++] = p->diags.p[i];
    p->diags.n = kept;
    for (size_t i = 0; i < b->tree->n_notes; i++) {
        const pdl_ytree_note *n = &b->tree->notes[i];
        pdl_loc at = {b->tree->src, n->mark, n->mark_end};
        pdl_diag *d = pdl_program_diag(p, PDL_DIAG_OF(PDL_DIAG_ERROR, "yaml", at, at), "%.*s",
                                       PDL_FMT(n->msg));
        d->at_load = true;
        d->hint = n->hint;
    }
    pdl_program_sort_diags(p);
}
