/* spacing.c -- see layout.h: `${x}` becomes `${ x }`.
 *
 * Only texts that the program evaluates are changed; the walk over its expressions finds them.
 * Everything in `code`, `data` and `raw` is unchanged, because blanks are a part of it. Blanks at a
 * brace are also unchanged when YAML has changed them, so that the blanks in the file differ from
 * the blanks in the value (escapes, folded lines).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fmt/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/vec.h"
#include "base/word_list.h"
#include "lang/walk.h"

#include "base/banned.h"

/* An edit: one blank replaces the n bytes of the source at off. */
typedef struct blank_edit {
    uint32_t off, n;
} blank_edit;

typedef struct spacing {
    const pdl_ytree *t;
    const pdl_format_options *o;
    bool *loose;
    PDL_VEC(blank_edit) edits;
} spacing;

/* --- which texts ------------------------------------------------------------------------------ */

static pdl_ytree_id node_at(const pdl_ytree *t, uint32_t start) {
    size_t lo = 0;
    PDL_BISECT(lo, t->n_nodes, t->nodes[mid].outer < start);
    while (lo < t->n_nodes && t->nodes[lo].outer == start && t->nodes[lo].kind != PDL_YTREE_SCALAR)
        lo++;
    return lo < t->n_nodes && t->nodes[lo].outer == start ? (pdl_ytree_id)lo : PDL_YTREE_NONE;
}

/* Returns true when a node is inside of the value of a key whose blanks are kept. */
static bool is_verbatim(const pdl_ytree *t, pdl_ytree_id id) {
    static const char *const keys[] = {"code", "data", "raw"};
    for (; id != PDL_YTREE_NONE; id = t->nodes[id].parent) {
        const pdl_ytree_node *key = id ? &t->nodes[id - 1] : NULL;
        if (!key || !key->is_key || key->next != id) continue;
        if (PDL_STR_IN(key->text, keys)) return true;
    }
    return false;
}

/* --- which blanks ----------------------------------------------------------------------------- */

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Adds an edit for the blanks [from, to) of a text next to a brace. */
static void add_edit(spacing *s, const pdl_node *n, size_t from, size_t to) {
    if (to - from == 1 && n->text.p[from] == ' ') return;
    pdl_loc loc = pdl_node_text_loc(n, from, to);
    uint32_t line = pdl_source_line(loc.src, loc.start);
    const char *source = s->t->src->text.p;
    if (loc.end - loc.start != to - from || !loc.start) return;
    if (memcmp(source + loc.start - 1, n->text.p + from - 1, to - from + 2) != 0) return;
    if (s->o->first_line && (line < s->o->first_line || line > s->o->last_line)) return;
    *pdl_vec_push(&s->edits) = (blank_edit){loc.start, loc.end - loc.start};
}

/* Adds edits for the expression in [start, end) of the text, if the expression is alone between its
 * braces. */
static void space(spacing *s, const pdl_node *n, size_t start, size_t end) {
    size_t from = start, to = end;
    while (from && is_blank(n->text.p[from - 1])) from--;
    while (to < n->text.n && is_blank(n->text.p[to])) to++;
    bool braces = from >= 2 && n->text.p[from - 1] == '{' && n->text.p[from - 2] == '$' &&
                  to < n->text.n && n->text.p[to] == '}';
    if (!braces || start == end) return;
    add_edit(s, n, from, start);
    add_edit(s, n, end, to);
}

/* Adds edits for a text that is one expression as a whole. */
static void space_whole(spacing *s, const pdl_node *n) {
    size_t start = 2, end = n->text.n;
    if (end < 4 || memcmp(n->text.p, "${", 2) != 0 || n->text.p[--end] != '}') return;
    while (start < end && is_blank(n->text.p[start])) start++;
    while (end > start && is_blank(n->text.p[end - 1])) end--;
    bool control = start < end && (strchr("-+", n->text.p[2]) || strchr("-+", n->text.p[end - 1]));
    if (!control) space(s, n, start, end);
}

static void on_expr(void *user, const pdl_block *b, const char *key, const pdl_tree *t) {
    spacing *s = user;
    const pdl_node *n = t->node;
    (void)b;
    (void)key;
    if (!n || n->kind != PDL_NODE_SCALAR || n->src->text.n != s->t->src->text.n) return;
    pdl_ytree_id id = node_at(s->t, n->start);
    if (id == PDL_YTREE_NONE || is_verbatim(s->t, id)) return;
    size_t before = s->edits.n;
    const pdl_xnode *root = pdl_tree_expr(t)->root;
    bool template = pdl_tree_expr(t)->form == PDL_X_TEMPLATE && root->kind == PDL_X_SEQ;
    if (pdl_tree_expr(t)->form == PDL_X_NATIVE) space_whole(s, n);
    for (uint32_t i = 0; template && i < root->u.list.n; i++) {
        const pdl_xnode *part = root->u.list.p[i];
        for (uint32_t k = 0; part->kind == PDL_X_OUTPUT && k < part->u.list.n; k++)
            space(s, n, part->u.list.p[k]->start, part->u.list.p[k]->end);
    }
    s->loose[id] = s->loose[id] || s->edits.n > before;
}

static int by_place(const void *a, const void *b) {
    const blank_edit *x = a, *y = b;
    return x->off < y->off ? -1 : x->off > y->off;
}

void pdl_fmt_spacing(const pdl_program *p, const pdl_ytree *t, const pdl_format_options *o,
                     bool *loose, pdl_buf *out) {
    spacing s = {.t = t, .o = o, .loose = loose};
    pdl_str text = t->src->text;
    size_t at = 0;
    pdl_program_walk(p, &(pdl_walk){.user = &s, .expr = on_expr});
    if (s.edits.n) qsort(s.edits.p, s.edits.n, sizeof *s.edits.p, by_place);
    for (size_t i = 0; i < s.edits.n; i++) {
        if (s.edits.p[i].off < at) continue; /* an alias: its edit exists already */
        if (i && s.edits.p[i].off == s.edits.p[i - 1].off) continue;
        pdl_buf_put(out, pdl_str_sub(text, at, s.edits.p[i].off));
        pdl_buf_putc(out, ' ');
        at = s.edits.p[i].off + s.edits.p[i].n;
    }
    pdl_buf_put(out, pdl_str_sub(text, at, text.n));
    pdl_vec_fini(&s.edits);
}
