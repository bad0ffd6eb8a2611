/* functions.c -- finds the body of the function that a call runs; see functions.h. All functions of
 * the program and of its files are collected in one map. A name that several functions have is
 * marked there, and then the `defs` around the call decide.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/functions.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/idmap.h"
#include "value/member.h"

#include "base/banned.h"

/* maximum number of boxes around a call that are searched for its function */
enum { MAX_AROUND = 1000 };

typedef struct naming {
    pdl_functions *f;
    pdl_str module;
    pdl_idmap seen; /* nodes that were examined before; a node may have several parents */
    PDL_VEC(const pdl_node *) left;
} naming;

/* The address of this variable is the value for names that several functions have. */
static char several;

static void put_place(pdl_str file, int64_t line, pdl_buf *out) {
    pdl_buf_put(out, file);
    pdl_buf_putf(out, ":%" PRId64, line);
}

static const pdl_node *body_of(const pdl_node *n) {
    bool is_function = n->kind == PDL_NODE_MAP && pdl_node_find(n, PDL_STR("function"), NULL);
    return is_function ? pdl_node_find(n, PDL_STR("return"), NULL) : NULL;
}

static pdl_str full_name(const naming *w, pdl_str name) {
    pdl_buf b = PDL_BUF;
    if (!w->module.n) return name;
    pdl_buf_put(&b, w->module);
    pdl_buf_putc(&b, '.');
    pdl_buf_put(&b, name);
    name = pdl_arena_str(w->f->arena, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return name;
}

/* Adds a body under a key, or marks the key when another body has it. */
static void put_body(pdl_map *m, pdl_str key, const pdl_node *body) {
    void *known = pdl_map_find(m, key);
    bool other = known && known != (const void *)body;
    pdl_map_put(m, key, other ? (void *)&several : (void *)(uintptr_t)body);
}

static void add_place(const naming *w, const pdl_node *body) {
    pdl_buf b = PDL_BUF;
    put_place(body->src->name, pdl_source_line(body->src, body->start), &b);
    put_body(&w->f->places, pdl_arena_str(w->f->arena, pdl_buf_str(&b)), body);
    pdl_buf_fini(&b);
}

static void add_function(const naming *w, const pdl_node *name, const pdl_node *function) {
    const pdl_node *body = body_of(function);
    if (!body || name->kind != PDL_NODE_SCALAR) return;
    put_body(&w->f->bodies, full_name(w, name->text), body);
    add_place(w, body);
}

static void look_at(naming *w, const pdl_node *n) {
    for (uint32_t i = 0; n->kind == PDL_NODE_SEQ && i < n->n; i++)
        *pdl_vec_push(&w->left) = n->items[i];
    if (n->kind != PDL_NODE_MAP) return;
    const pdl_node *defs = pdl_node_find(n, PDL_STR("defs"), NULL),
                   *def = pdl_node_find(n, PDL_STR("def"), NULL);
    if (def) add_function(w, def, n);
    for (uint32_t i = 0; defs && defs->kind == PDL_NODE_MAP && i < defs->n; i++)
        add_function(w, defs->pairs[i].key, defs->pairs[i].value);
    for (uint32_t i = 0; i < n->n; i++) *pdl_vec_push(&w->left) = n->pairs[i].value;
}

void pdl_functions_add(pdl_functions *f, const pdl_node *root, pdl_str module) {
    naming w = {.f = f, .module = module};
    *pdl_vec_push(&w.left) = root;
    while (w.left.n) {
        const pdl_node *n = w.left.p[--w.left.n];
        if (n->shared && pdl_idmap_find(&w.seen, (uintptr_t)n)) continue;
        if (n->shared) pdl_idmap_put(&w.seen, (uintptr_t)n, f);
        look_at(&w, n);
    }
    pdl_idmap_fini(&w.seen);
    pdl_vec_fini(&w.left);
}

/* Returns the name in "${ name }". For a call in an expression, the name is given
 * without braces. */
static pdl_str called_name(const pdl_box *call) {
    pdl_vref v = pdl_box_get(call, "call");
    if (pdl_is_dict(v)) v = pdl_dict_getz(v, "pdl__expr");
    pdl_str s = pdl_is_str(v) ? pdl_str_trim(pdl_str_get(v)) : (pdl_str){0};
    if (!pdl_str_starts(s, PDL_STR("${")) || !pdl_str_ends(s, PDL_STR("}"))) return s;
    return pdl_str_trim(pdl_str_sub(s, 2, s.n - 1));
}

const pdl_node *pdl_functions_called(const pdl_functions *f, const pdl_doc *d, uint32_t call,
                                     const pdl_node *const *nodes) {
    pdl_str name = called_name(&d->boxes.p[call]);
    void *found = name.n ? pdl_map_find(&f->bodies, name) : NULL;
    if (found != &several) return found;
    for (uint32_t i = call, k = 0; k < MAX_AROUND; i = d->boxes.p[i].parent, k++) {
        const pdl_node *n = nodes[i];
        const pdl_node *defs =
            n && n->kind == PDL_NODE_MAP ? pdl_node_find(n, PDL_STR("defs"), NULL) : NULL;
        const pdl_node *own =
            defs && defs->kind == PDL_NODE_MAP ? pdl_node_find(defs, name, NULL) : NULL;
        if (own) return body_of(own);
        if (!i) break;
    }
    return NULL;
}

const pdl_node *pdl_functions_placed(const pdl_functions *f, const pdl_box *call) {
    pdl_vref at = pdl_box_get(call, "pdl__location");
    pdl_str file = pdl_member_str(at, "file");
    int64_t line = pdl_member_int(pdl_member(at, "table"), "", 0);
    if (!file.n || line < 1) return NULL;
    pdl_buf b = PDL_BUF;
    put_place(file, line, &b);
    void *found = pdl_map_find(&f->places, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return found == &several ? NULL : found;
}

void pdl_functions_fini(pdl_functions *f) {
    pdl_map_fini(&f->bodies);
    pdl_map_fini(&f->places);
}
