/* split_block.c -- finds a block whose keys were written as several items of a list:
 *
 *     - if: ${ c }
 *     - then: a
 *
 * Each item lacks a field, and only both of them together show why. So a list is examined after its
 * items were loaded. The problem of the first part gets a hint, and the problems that the same
 * mistake causes follow from it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/loader.h"

#include "base/banned.h"

/* The kinds of blocks whose other fields alone make no block. */
static const struct split_row {
    pdl_block_kind kind;
    const char *head; /* the key of the first part */
} rows[] = {{PDL_BLOCK_if, "if"},
            {PDL_BLOCK_match, "match"},
            {PDL_BLOCK_model, "model"},
            {PDL_BLOCK_call, "call"},
            {PDL_BLOCK_function, "function"}};

static bool is_one_of(const pdl_field *f, size_t n, pdl_str key) {
    for (size_t i = 0; i < n; i++)
        if (pdl_str_is(key, f[i].key)) return true;
    return false;
}

/* Returns true when all keys of an object are fields of this kind. */
static bool has_only(const pdl_node *n, pdl_block_kind kind, bool common_too) {
    size_t n_own, n_common;
    const pdl_field *own = pdl_fields_of(kind, &n_own), *common = pdl_common_fields(&n_common);
    if (n->kind != PDL_NODE_MAP || n->style != PDL_STYLE_BLOCK || !n->n) return false;
    for (uint32_t i = 0; i < n->n; i++) {
        pdl_str key = pdl_node_is_str(n->pairs[i].key) ? n->pairs[i].key->text : (pdl_str){0};
        if (!is_one_of(own, n_own, key) && !(common_too && is_one_of(common, n_common, key)))
            return false;
    }
    return true;
}

/* Returns the row of an item that may be the first part of a block, or NULL. */
static const struct split_row *row_of(const pdl_node *head) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (has_only(head, rows[i].kind, true) &&
            pdl_node_find(head, pdl_str_of(rows[i].head), NULL))
            return &rows[i];
    return NULL;
}

/* Returns true when an item has fields that the first part lacks, and nothing else. */
static bool is_part(const pdl_node *item, const pdl_node *head, const struct split_row *r) {
    if (!r || !has_only(item, r->kind, false)) return false;
    for (uint32_t i = 0; i < item->n; i++)
        if (pdl_node_find(head, item->pairs[i].key->text, NULL)) return false;
    return true;
}

/* Returns the missing field that a diagnostic reports for an item, or NULL. */
static const char *missing_in(const pdl_diag *d, const pdl_node *item) {
    return d->loc.start == item->start ? d->lacks : NULL;
}

/* The diagnostics of an item are [from, to). */
typedef struct item_diags {
    const pdl_node *item;
    size_t from, to;
} item_diags;

/* The diagnostics of the next item begin where those of the item before end. */
static item_diags diags_of(const pdl_loader *l, const pdl_node *item, size_t from) {
    const pdl_diags *all = &l->p->diags;
    item_diags it = {item, from, from};
    while (it.to < all->n && all->p[it.to].loc.start >= item->start &&
           all->p[it.to].loc.start < item->end)
        it.to++;
    return it;
}

/* Gives the hint to the problem that a part has no head, unless an earlier part has the hint. */
static void advise(pdl_loader *l, const item_diags *head, const item_diags *part,
                   const struct split_row *r, bool *done) {
    pdl_diag *all = l->p->diags.p;
    for (size_t i = part->from; i < part->to; i++) {
        const char *field = missing_in(&all[i], part->item);
        if (!field) continue;
        if (*done) {
            all[i].follows = true;
        } else if (strcmp(field, r->head) == 0) {
            *done = true;
            pdl_loader_hint(l, &all[i],
                            "`%.*s` belongs to the item in line %u: it is written without `- `, in "
                            "the column of its `%s`",
                            PDL_FMT(part->item->pairs[0].key->text),
                            pdl_loc_line(pdl_node_loc(head->item)), r->head);
        }
    }
    for (size_t i = head->from; *done && i < head->to; i++) {
        const char *field = missing_in(&all[i], head->item);
        if (field && pdl_node_find(part->item, pdl_str_of(field), NULL)) all[i].follows = true;
    }
}

void pdl_loader_advise_split(pdl_loader *l, const pdl_node *list, size_t n_before) {
    const struct split_row *r = NULL;
    item_diags head = {0}, item = {.to = n_before};
    bool done = false;
    for (uint32_t i = 0; l->p->diags.n > n_before && i < list->n; i++) {
        item = diags_of(l, list->items[i], item.to);
        if (is_part(item.item, head.item, r)) {
            advise(l, &head, &item, r, &done);
            continue;
        }
        head = item;
        r = row_of(head.item);
        done = false;
    }
}
