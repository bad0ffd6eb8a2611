/* folding.c -- folding ranges and growing selections, made from the tree. Both follow the nodes of
 * the tree, so they fit the blocks of a program even where indentation alone would mislead.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/features.h"

#include "base/banned.h"

enum { MAX_FOLDS = 20000, MAX_DEPTH = 1000 };

typedef struct folder {
    const lsp_text *text;
    pdl_val list;
    uint32_t last; /* first line of the last fold, because only one fold can begin on a line */
} folder;

static pdl_val put_fold(uint32_t from, uint32_t to, const char *kind) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "startLine", pdl_int(from));
    d = pdl_dict_putz(d, "endLine", pdl_int(to));
    return kind ? pdl_dict_putz(d, "kind", pdl_textz(kind)) : d;
}

/* Returns the last line of a node that is not blank. */
static uint32_t last_line(const lsp_text *t, const pdl_node *n) {
    size_t end = n->end;
    pdl_str s = pdl_lsp_text_str(t);
    if (end > s.n) end = s.n;
    while (end > n->start && pdl_byte_in(s.p[end - 1], PDL_STR(" \n\t"))) end--;
    return pdl_lsp_text_line(t, end);
}

static void fold(folder *f, uint32_t from, const pdl_node *n) {
    uint32_t to = last_line(f->text, n);
    if (to <= from || from == f->last || pdl_list_len(f->list) >= MAX_FOLDS) return;
    f->list = pdl_list_push(f->list, put_fold(from, to, NULL));
    f->last = from;
}

static void fold_node(folder *f, const pdl_node *n, unsigned depth) {
    if (depth > MAX_DEPTH || n->shared || pdl_list_len(f->list) >= MAX_FOLDS) return;
    for (uint32_t i = 0; n->kind == PDL_NODE_MAP && i < n->n; i++) {
        fold(f, pdl_lsp_text_line(f->text, n->pairs[i].key->start), n->pairs[i].value);
        fold_node(f, n->pairs[i].value, depth + 1);
    }
    for (uint32_t i = 0; n->kind == PDL_NODE_SEQ && i < n->n; i++) {
        fold(f, pdl_lsp_text_line(f->text, n->items[i]->start), n->items[i]);
        fold_node(f, n->items[i], depth + 1);
    }
}

/* Folds lines of comments that follow each other. */
static void fold_comments(folder *f) {
    uint32_t n = (uint32_t)f->text->lines.n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = i;
        while (i < n &&
               pdl_str_starts(pdl_str_trim(pdl_lsp_text_line_str(f->text, i)), PDL_STR("#")))
            i++;
        if (i > first + 1 && pdl_list_len(f->list) < MAX_FOLDS)
            f->list = pdl_list_push(f->list, put_fold(first, i - 1, "comment"));
    }
}

pdl_val pdl_lsp_on_folding(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    if (!d) return pdl_absent();
    folder f = {&d->text, pdl_list_new(16), UINT32_MAX};
    if (d->tree.root) fold_node(&f, d->tree.root, 0);
    fold_comments(&f);
    return f.list;
}

/* --- selections ------------------------------------------------------------------------------- */

static pdl_val grow(const lsp_doc *d, size_t from, size_t to, pdl_val around) {
    lsp_range range = pdl_lsp_text_range(&d->text, from, to);
    if (!pdl_is_absent(around)) {
        pdl_val same = pdl_lsp_put_range(range);
        bool again = pdl_val_eq(pdl_dict_getz(around, "range"), same);
        pdl_drop(same);
        if (again) return around;
    }
    pdl_val v = pdl_dict_putz(pdl_dict_new(2), "range", pdl_lsp_put_range(range));
    return pdl_is_absent(around) ? v : pdl_dict_putz(v, "parent", around);
}

/* Returns the selections around an offset, from the whole file inward. Each node that contains the
 * offset is a selection, and so are its entry with the key, and the word. */
static pdl_val selection_at(const lsp_doc *d, size_t off) {
    pdl_str text = pdl_lsp_text_str(&d->text);
    pdl_val v = grow(d, 0, text.n, pdl_absent());
    lsp_way way;
    if (d->tree.root) {
        pdl_lsp_way_to(d->tree.root, (uint32_t)off, &way);
        for (size_t i = 0; i < way.n; i++) {
            const lsp_spot *p = &way.p[i];
            if (p->key && p->key->start <= p->node->end)
                v = grow(d, p->key->start, p->node->end, v);
            bool key = way.on_key && i + 1 == way.n;
            const pdl_node *n = key ? p->key : p->node;
            if (n->start <= off && off <= n->end) v = grow(d, n->start, n->end, v);
        }
    }
    size_t from = off, to = off;
    while (from > 0 && pdl_lsp_is_word(text.p[from - 1])) from--;
    while (to < text.n && pdl_lsp_is_word(text.p[to])) to++;
    return grow(d, from, to, v);
}

pdl_val pdl_lsp_on_selection(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    pdl_vref at = pdl_member(params, "positions");
    pdl_val list = pdl_list_new(2);
    for (size_t i = 0; d && pdl_is_list(at) && i < pdl_list_len(at) && i < 1000; i++) {
        size_t off = pdl_lsp_text_offset(&d->text, pdl_lsp_get_pos(pdl_list_at(at, i)));
        list = pdl_list_push(list, selection_at(d, off));
    }
    return list;
}
