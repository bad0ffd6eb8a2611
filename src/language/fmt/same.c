/* same.c -- proves that a step of the formatter did not change the meaning; see layout.h.
 *
 * The trees of both texts are compared node by node. So a mistake in a step becomes an error of the
 * formatter, and never a changed program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fmt/layout.h"

#include "base/banned.h"

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Returns the next byte from *i on that is compared. Blanks after `${` and before `}`
 * are skipped. */
static int next_byte(pdl_str s, size_t *i) {
    size_t to = *i;
    while (to < s.n && is_blank(s.p[to])) to++;
    bool after = *i >= 2 && s.p[*i - 1] == '{' && s.p[*i - 2] == '$';
    if (to > *i && (after || (to < s.n && s.p[to] == '}'))) *i = to;
    return *i < s.n ? (unsigned char)s.p[(*i)++] : -1;
}

static bool same_but_blanks(pdl_str a, pdl_str b) {
    size_t i = 0, k = 0;
    int c;
    do {
        c = next_byte(a, &i);
        if (c != next_byte(b, &k)) return false;
    } while (c >= 0);
    return true;
}

static bool same_node(const pdl_ytree_node *x, const pdl_ytree_node *y, bool loose) {
    return x->kind == y->kind && x->style == y->style && x->is_key == y->is_key &&
           x->resolved == y->resolved && pdl_str_eq(x->anchor, y->anchor) &&
           pdl_str_eq(x->tag, y->tag) &&
           (x->target == PDL_YTREE_NONE) == (y->target == PDL_YTREE_NONE) &&
           (pdl_str_eq(x->text, y->text) || (loose && same_but_blanks(x->text, y->text)));
}

bool pdl_fmt_same(const pdl_ytree *a, const pdl_ytree *b, const bool *loose) {
    if (b->n_notes || a->n_nodes != b->n_nodes || a->several != b->several) return false;
    for (size_t i = 0; i < a->n_nodes; i++)
        if (a->nodes[i].parent != b->nodes[i].parent ||
            !same_node(&a->nodes[i], &b->nodes[i], loose && loose[i]))
            return false;
    return true;
}

static bool same_below(const pdl_ytree *a, pdl_ytree_id x, const pdl_ytree *b, pdl_ytree_id y);

/* Compares entries in any order. The keys of a mapping are scalars, and no two of them are equal.
 * The entries of both texts have the same order where nothing was sorted, so most entries are found
 * at once. */
static bool same_entries(const pdl_ytree *a, pdl_ytree_id x, const pdl_ytree *b, pdl_ytree_id y) {
    pdl_ytree_id k = a->nodes[x].first, m = b->nodes[y].first;
    for (; k != PDL_YTREE_NONE && m != PDL_YTREE_NONE; k = a->nodes[k].next, m = b->nodes[m].next) {
        bool here = !a->nodes[k].is_key || same_below(a, k, b, m);
        if (a->nodes[k].is_key) {
            pdl_ytree_id value = here ? b->nodes[m].next : pdl_ytree_find(b, y, a->nodes[k].text);
            if (value == PDL_YTREE_NONE || !same_below(a, a->nodes[k].next, b, value)) return false;
        }
    }
    return k == m;
}

static bool same_below(const pdl_ytree *a, pdl_ytree_id x, const pdl_ytree *b, pdl_ytree_id y) {
    if (!same_node(&a->nodes[x], &b->nodes[y], false)) return false;
    if (a->nodes[x].kind == PDL_YTREE_MAP) return same_entries(a, x, b, y);
    pdl_ytree_id k = a->nodes[x].first, m = b->nodes[y].first;
    for (; k != PDL_YTREE_NONE && m != PDL_YTREE_NONE; k = a->nodes[k].next, m = b->nodes[m].next)
        if (!same_below(a, k, b, m)) return false;
    return k == m;
}

bool pdl_fmt_same_but_order(const pdl_ytree *a, const pdl_ytree *b) {
    if (b->n_notes || a->n_nodes != b->n_nodes || a->several || b->several) return false;
    return a->root == PDL_YTREE_NONE ? b->root == PDL_YTREE_NONE
                                     : same_below(a, a->root, b, b->root);
}
