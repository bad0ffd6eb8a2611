/* tree_places.c -- finds the part of a tree that contains a place. A program that is a tree of
 * values is written as YAML and loaded from that text. So its errors have lines of a text that the
 * user never saw, but the user knows paths in the tree.
 *
 * The path is found by reading the text again: errors are rare, and a copy of the text lives longer
 * than its nodes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/handles.h"
#include "lang/load.h"

#include "base/banned.h"

/* Returns true when the text is a name in a path. */
static bool is_name(pdl_str key) {
    for (size_t i = 0; i < key.n; i++) {
        char c = key.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i > 0 && c >= '0' && c <= '9')) return false;
    }
    return key.n > 0;
}

static void put_key(const pdl_node *key, pdl_buf *out) {
    pdl_str text = key->kind == PDL_NODE_SCALAR ? key->text : PDL_STR("");
    if (is_name(text)) {
        if (out->len) pdl_buf_putc(out, '.');
        pdl_buf_put(out, text);
    } else {
        pdl_buf_putf(out, "[\"%.*s\"]", PDL_FMT(text));
    }
}

/* Appends the step to the last child of n that begins at or before `at`. Returns the node at which
 * the search continues, or NULL. */
static const pdl_node *step(const pdl_node *n, uint32_t at, pdl_buf *out) {
    uint32_t i = n->n;
    if (n->kind == PDL_NODE_SEQ) {
        while (i > 0 && n->items[i - 1]->start > at) i--;
        if (!i) return NULL;
        pdl_buf_putf(out, "[%u]", i - 1);
        return n->items[i - 1];
    }
    if (n->kind != PDL_NODE_MAP) return NULL;
    while (i > 0 && n->pairs[i - 1].key->start > at) i--;
    if (!i) return NULL;
    const pdl_pair *p = &n->pairs[i - 1];
    put_key(p->key, out);
    return at < p->key->end ? NULL : p->value;
}

void pdl_api_put_part(pdl_loc loc, pdl_buf *out) {
    if (!loc.src || !loc.src->from_tree) return;
    pdl_program *p = pdl_program_new();
    bool ok;
    pdl_program_load(p, loc.src->name, loc.src->text, &ok);
    for (const pdl_node *n = p->root; n; n = step(n, loc.start, out)) continue;
    pdl_program_drop(p);
}
