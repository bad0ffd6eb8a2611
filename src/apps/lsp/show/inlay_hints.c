/* inlay_hints.c -- inlay hints: roles of messages, types of variables, and what a block
 * contributes. They show facts that are not written in the text but decide what a program does, so
 * that a reader need not know the defaults of each kind of block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/features.h"

#include "base/banned.h"

enum { MAX_HINTS = 5000, MAX_DEPTH = 1000 };

typedef struct hints {
    pdl_lsp *s;
    lsp_doc *d;
    size_t low, high;
    pdl_val list;
} hints;

static void add(hints *h, size_t off, pdl_str label, int kind, const char *tip) {
    if (off < h->low || off > h->high || pdl_list_len(h->list) >= MAX_HINTS) return;
    pdl_val pos = pdl_lsp_put_pos(pdl_lsp_text_pos(&h->d->text, off));
    pdl_val v = pdl_dict_putz(pdl_dict_new(5), "position", pos);
    v = pdl_dict_putz(v, "label", pdl_text(label));
    if (kind) v = pdl_dict_putz(v, "kind", pdl_int(kind));
    v = pdl_dict_putz(v, "paddingLeft", pdl_bool(true));
    h->list = pdl_list_push(h->list, pdl_dict_putz(v, "tooltip", pdl_textz(tip)));
}

/* Returns the end of the line at an offset. There a hint is easiest to read. */
static size_t line_end(const lsp_doc *d, size_t off) {
    uint32_t line = pdl_lsp_text_line(&d->text, off);
    return pdl_lsp_text_line_start(&d->text, line) + pdl_lsp_text_line_str(&d->text, line).n;
}

/* Returns the role of a block that is not a model: its `role`, or that of the innermost block
 * around it that has one; otherwise "user". */
static pdl_str role_of(const lsp_spot *p) {
    for (; p; p = p->up) {
        if (p->role != ROLE_BLOCK || p->node->kind != PDL_NODE_MAP) continue;
        const pdl_node *role = pdl_node_find(p->node, PDL_STR("role"), NULL);
        if (role && pdl_node_is_str(role)) return role->text;
    }
    return PDL_STR("user");
}

static void hint_block(hints *h, const lsp_spot *p) {
    const pdl_node *to = pdl_node_find(p->node, PDL_STR("contribute"), NULL);
    const pdl_pair *first = p->node->n ? &p->node->pairs[0] : NULL;
    bool says = p->kind == PDL_BLOCK_model || p->kind == PDL_BLOCK_message;
    pdl_buf b = PDL_BUF;
    if (!first) return;
    if (says && !pdl_node_find(p->node, PDL_STR("role"), NULL)) {
        pdl_str role = p->kind == PDL_BLOCK_model ? PDL_STR("assistant") : role_of(p);
        pdl_buf_putf(&b, "role: %.*s", PDL_FMT(role));
        add(h, line_end(h->d, first->key->start), pdl_buf_str(&b), 0, "Role of the message.");
    }
    if (to && to->kind == PDL_NODE_SEQ && !to->n)
        add(h, line_end(h->d, to->start), PDL_STR("nothing is contributed"), 0,
            "The result goes to its variable alone.");
    bool in_defs = p->up && p->up->field && strcmp(p->up->field->key, "defs") == 0;
    if (!to && !in_defs && p->kind == PDL_BLOCK_function)
        add(h, line_end(h->d, first->key->start), PDL_STR("contributes nothing"), 0,
            "A function contributes where it is called.");
    pdl_buf_fini(&b);
}

static void walk(hints *h, const lsp_spot *p, unsigned depth) {
    if (depth > MAX_DEPTH || p->node->shared || p->node->start > h->high) return;
    if (p->role == ROLE_BLOCK && p->node->kind == PDL_NODE_MAP && p->has_kind) hint_block(h, p);
    for (uint32_t i = 0; i < p->node->n; i++) {
        lsp_spot child = pdl_lsp_spot_child(p, i);
        walk(h, &child, depth + 1);
    }
}

/* Shows the types of variables when they are not written beside the names. */
static void hint_types(hints *h) {
    const lsp_index *x = h->d->index;
    for (size_t i = 0; i < x->syms.n; i++) {
        const lsp_sym *sym = &x->syms.p[i];
        pdl_buf b = PDL_BUF;
        if (sym->kind == SYM_PARAMETER || sym->kind == SYM_MODULE || sym->kind == SYM_FUNCTION ||
            sym->kind == SYM_FIELD)
            continue;
        PDL_PUT(&b, ": ");
        pdl_lsp_put_type(h->s, h->d, sym, &b);
        if (b.len > 2) add(h, sym->at + sym->name.n, pdl_buf_str(&b), 1, "Type of the variable.");
        pdl_buf_fini(&b);
    }
}

pdl_val pdl_lsp_on_hints(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    lsp_range r = pdl_lsp_get_range(pdl_member(params, "range"));
    if (!d) return pdl_absent();
    hints h = {s, d, pdl_lsp_text_offset(&d->text, r.from), pdl_lsp_text_offset(&d->text, r.to),
               pdl_list_new(8)};
    hint_types(&h);
    if (d->tree.root) {
        lsp_spot root = pdl_lsp_spot_root(d->tree.root);
        walk(&h, &root, 0);
    }
    return h.list;
}
