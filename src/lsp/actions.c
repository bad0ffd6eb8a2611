/* actions.c -- quick fixes: edits that a check knows, and "did you mean".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/features.h"

#include "base/banned.h"

enum { MOST_ACTIONS = 200 };

typedef struct actions {
    pdl_lsp *s;
    lsp_doc *d;
    size_t low, high;
    pdl_val list;
} actions;

static pdl_val put_changes(const lsp_doc *d, pdl_val edits) {
    pdl_val changes = pdl_dict_putz(pdl_dict_new(1), d->uri, edits);
    return pdl_dict_putz(pdl_dict_new(1), "changes", changes);
}

static void add(actions *a, pdl_val title, const char *kind, pdl_val edits, pdl_vref diag,
                bool preferred) {
    pdl_val v = pdl_dict_putz(pdl_dict_new(5), "title", title);
    v = pdl_dict_putz(v, "kind", pdl_textz(kind));
    if (preferred) v = pdl_dict_putz(v, "isPreferred", pdl_bool(true));
    if (!pdl_is_absent(diag))
        v = pdl_dict_putz(v, "diagnostics", pdl_list_push(pdl_list_new(1), pdl_keep(diag)));
    a->list = pdl_list_push(a->list, pdl_dict_putz(v, "edit", put_changes(a->d, edits)));
}

static pdl_val put_edits(const actions *a, const pdl_diag *d) {
    pdl_val edits = pdl_list_new(d->n_edits);
    for (uint32_t i = 0; i < d->n_edits; i++) {
        const pdl_edit *e = &d->edits[i];
        if (!e->at.src || !pdl_str_is(e->at.src->name, a->d->key)) continue;
        lsp_range r = pdl_lsp_text_range(&a->d->text, e->at.start, e->at.end);
        edits = pdl_list_push(edits, pdl_lsp_put_edit(r, e->text));
    }
    return edits;
}

/* The word of "did you mean 'x'?"; empty: another hint. */
static pdl_str meant(pdl_str hint) {
    pdl_str begin = PDL_STR("did you mean '");
    size_t end = pdl_str_rfind(hint, PDL_STR("'?"));
    if (!pdl_str_starts(hint, begin) || end == PDL_NOT_FOUND || end < begin.n) return (pdl_str){0};
    return pdl_str_sub(hint, begin.n, end);
}

/* The word that the diagnostic is about is at its mark, alone or as the name in an expression. */
static bool find_word(const actions *a, const pdl_diag *d, size_t *from, size_t *to) {
    pdl_str text = pdl_lsp_text_str(&a->d->text);
    pdl_str at = pdl_str_sub(text, d->mark.start, d->mark.end);
    size_t open = pdl_str_find(d->text, PDL_STR("'"), 0),
           close = open == PDL_NOT_FOUND ? open : pdl_str_find(d->text, PDL_STR("'"), open + 1);
    pdl_str word = close == PDL_NOT_FOUND ? at : pdl_str_sub(d->text, open + 1, close);
    size_t found = pdl_str_find(at, word, 0);
    if (found == PDL_NOT_FOUND || !word.n) {
        *from = d->mark.start;
        *to = d->mark.end;
        return at.n > 0 && pdl_str_find(at, PDL_STR(" "), 0) == PDL_NOT_FOUND;
    }
    *from = d->mark.start + found;
    *to = *from + word.n;
    return true;
}

static void add_for(actions *a, const pdl_diag *d, pdl_vref diag) {
    pdl_str word = meant(d->hint);
    size_t from, to;
    if (d->n_edits) {
        pdl_val edits = put_edits(a, d);
        if (pdl_list_len(edits))
            add(a, d->hint.n ? pdl_textf("Fix: %.*s", PDL_FMT(d->hint)) : pdl_textz("Fix"),
                "quickfix", edits, diag, d->fix_is_sure || word.n);
        else
            pdl_drop(edits);
    } else if (word.n && find_word(a, d, &from, &to)) {
        lsp_range r = pdl_lsp_text_range(&a->d->text, from, to);
        add(a, pdl_textf("Change to '%.*s'", PDL_FMT(word)), "quickfix",
            pdl_list_push(pdl_list_new(1), pdl_lsp_put_edit(r, word)), diag, true);
    }
}

/* A field that is missing is added below the block's first key, with its column. */
static void add_missing(actions *a, const pdl_diag *d, pdl_vref diag) {
    pdl_str begin = PDL_STR("Missing required field: ");
    pdl_buf text = PDL_BUF;
    if (strcmp(d->code, "field-missing") != 0 || !pdl_str_starts(d->text, begin) || d->n_edits)
        return;
    pdl_str field = pdl_str_sub(d->text, begin.n, d->text.n);
    lsp_pos at = pdl_lsp_text_pos(&a->d->text, d->mark.start);
    pdl_buf_putf(&text, "%.*s: \n", PDL_FMT(field));
    for (uint32_t i = 0; i < at.ch; i++) pdl_buf_putc(&text, ' ');
    add(a, pdl_textf("Add the field '%.*s'", PDL_FMT(field)), "quickfix",
        pdl_list_push(pdl_list_new(1), pdl_lsp_put_edit((lsp_range){at, at}, pdl_buf_str(&text))),
        diag, false);
    pdl_buf_fini(&text);
}

/* A comment that switches the rule off for the line. */
static void add_ignore(actions *a, const pdl_diag *d, pdl_vref diag) {
    if (d->at_load || d->severity == PDL_DIAG_ERROR) return;
    uint32_t line = pdl_lsp_text_line(&a->d->text, d->mark.start);
    pdl_str now = pdl_lsp_text_line_str(&a->d->text, line);
    size_t end = pdl_lsp_text_line_start(&a->d->text, line) + now.n;
    lsp_range r = pdl_lsp_text_range(&a->d->text, end, end);
    pdl_val text = pdl_textf("  # pdl: ignore %s", d->code);
    add(a, pdl_textf("Ignore '%s' on this line", d->code), "quickfix",
        pdl_list_push(pdl_list_new(1), pdl_lsp_put_edit(r, pdl_str_get(text))), diag, false);
    pdl_drop(text);
}

/* All fixes that have one right answer, in one. */
static void add_fix_all(actions *a) {
    pdl_val edits = pdl_list_new(4);
    const pdl_program *p = a->d->program;
    uint32_t last = 0;
    for (size_t i = 0; i < p->diags.n; i++) {
        const pdl_diag *d = &p->diags.p[i];
        if (!d->fix_is_sure || !d->n_edits || d->edits[0].at.start < last) continue;
        last = d->edits[d->n_edits - 1].at.end;
        pdl_val more = put_edits(a, d);
        edits = pdl_list_concat(edits, more);
        pdl_drop(more);
    }
    if (pdl_list_len(edits))
        add(a, pdl_textz("Fix all that has one right answer"), "source.fixAll.pdl", edits,
            pdl_absent(), false);
    else
        pdl_drop(edits);
}

pdl_val pdl_lsp_on_actions(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    lsp_range r = pdl_lsp_get_range(pdl_member(params, "range"));
    if (!d) return pdl_absent();
    actions a = {s, d, pdl_lsp_text_offset(&d->text, r.from), pdl_lsp_text_offset(&d->text, r.to),
                 pdl_list_new(4)};
    pdl_vref shown = pdl_lsp_diagnose(s, d);
    if (!d->program) return a.list;
    size_t k = 0; /* the list that is shown leaves some out */
    for (size_t i = 0; i < d->program->diags.n && pdl_list_len(a.list) < MOST_ACTIONS; i++) {
        const pdl_diag *g = &d->program->diags.p[i];
        if (g->reference_only) continue;
        pdl_vref diag = k < pdl_list_len(shown) ? pdl_list_at(shown, k) : pdl_absent();
        k++;
        bool here = g->mark.src && pdl_str_is(g->mark.src->name, d->key);
        if (!here || g->mark.end < a.low || g->mark.start > a.high) continue;
        add_for(&a, g, diag);
        add_missing(&a, g, diag);
        add_ignore(&a, g, diag);
    }
    add_fix_all(&a);
    return a.list;
}
