/* load_tree.c -- data with expressions. A part without expressions becomes one constant. The parts
 * are made bottom up in one pass.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/loader.h"
#include "native/native.h"
#include "value/text.h"
#include "yaml/yaml.h"

#include "base/banned.h"

static bool is_filter(pdl_str name) { return pdl_filter_find(name) != NULL; }
static bool is_test(pdl_str name) { return pdl_test_find(name) != NULL; }
const pdl_xnames pdl_known_xnames = {is_filter, is_test, pdl_filter_advise, pdl_test_advise};

const pdl_tree *pdl_loader_tree_const(pdl_loader *l, const pdl_node *n, pdl_loc loc, pdl_val v) {
    pdl_tree *t = pdl_arena_new(l->a, pdl_tree);
    t->kind = PDL_TREE_CONST;
    t->node = n;
    t->loc = loc;
    t->value = pdl_loader_own(l, v);
    return t;
}

/* A part that was read: a tree, or a constant that the receiver owns. For a constant,
 * tree is NULL. */
typedef struct part {
    const pdl_tree *tree;
    pdl_val value;
} part;

static const pdl_tree *as_tree(pdl_loader *l, const pdl_node *n, pdl_loc loc, part p) {
    return p.tree ? p.tree : pdl_loader_tree_const(l, n, loc, p.value);
}

static part read_text(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    if (pdl_expr_is_plain(n->text)) return (part){NULL, pdl_recent_value(&l->recent, n)};
    const pdl_expr *e = pdl_expr_later(l->a, n->text, &pdl_known_xnames);
    bool is_plain = !e->is_unread && e->form == PDL_X_PLAIN;
    if (is_plain) return (part){NULL, pdl_recent_value(&l->recent, n)};
    pdl_tree *t = pdl_arena_new(l->a, pdl_tree);
    t->kind = PDL_TREE_EXPR;
    t->node = n;
    t->loc = loc;
    t->text = e;
    return (part){t, pdl_absent()};
}

static pdl_tree *new_branch(pdl_loader *l, const load_branch *o) {
    bool map = o->node->kind == PDL_NODE_MAP;
    pdl_tree *t = pdl_arena_new(l->a, pdl_tree);
    t->kind = map ? PDL_TREE_MAP : PDL_TREE_LIST;
    t->node = o->node;
    t->loc = o->loc;
    t->n = o->node->n;
    t->items = pdl_arena_new_n(l->a, const pdl_tree *, t->n);
    if (map) t->keys = pdl_arena_new_n(l->a, const pdl_tree *, t->n);
    return t;
}

static void add_item(pdl_loader *l, load_branch *o, part p) {
    const pdl_node *const *items = o->node->items;
    uint32_t i = o->i++;
    if (!o->tree && !p.tree) {
        o->value = pdl_list_push(o->value, p.value);
        return;
    }
    /* This is the first part that is not constant; each part before it becomes a constant in a
     * separate tree. */
    if (!o->tree) {
        o->tree = new_branch(l, o);
        for (uint32_t k = 0; k < i; k++)
            o->tree->items[k] = pdl_loader_tree_const(l, items[k], pdl_node_loc(items[k]),
                                                      pdl_keep(pdl_list_at(o->value, k)));
    }
    o->tree->items[i] = as_tree(l, items[i], pdl_node_loc(items[i]), p);
}

/* Reads a key as text (spec syntax 1.3): other scalars are converted, but words of YAML (no, on)
 * are not. */
static part read_key(pdl_loader *l, const pdl_node *key) {
    if (pdl_node_is_word(key)) return (part){NULL, pdl_text(key->text)};
    if (pdl_node_is_str(key)) return read_text(l, key, pdl_node_loc(key));
    pdl_err err = {0};
    pdl_val v, text;
    if (pdl_yaml_to_val(key, &v, &err)) {
        bool ok = pdl_stringify_val(v, &text, &err);
        pdl_drop(v);
        if (ok) return (part){NULL, text};
    }
    pdl_loader_err(l, "data", pdl_node_loc(key), &err);
    return (part){NULL, pdl_text(key->text)};
}

static void add_entry(pdl_loader *l, load_branch *o, part v) {
    const pdl_pair *pairs = o->node->pairs;
    uint32_t i = o->i++;
    part k = read_key(l, pairs[i].key);
    /* a repeated key (1 and "1") would make the dict shorter than the mapping */
    if (!o->tree && !k.tree && !v.tree && pdl_is_absent(pdl_dict_find(o->value, k.value))) {
        o->value = pdl_dict_put(o->value, k.value, v.value);
        return;
    }
    if (!o->tree) {
        o->tree = new_branch(l, o);
        for (uint32_t j = 0; j < i; j++) {
            pdl_loc loc = pdl_node_loc(pairs[j].key);
            o->tree->keys[j] =
                pdl_loader_tree_const(l, pairs[j].key, loc, pdl_keep(pdl_dict_key_at(o->value, j)));
            o->tree->items[j] = pdl_loader_tree_const(l, pairs[j].value, loc,
                                                      pdl_keep(pdl_dict_val_at(o->value, j)));
        }
    }
    o->tree->keys[i] = as_tree(l, pairs[i].key, pdl_node_loc(pairs[i].key), k);
    o->tree->items[i] = as_tree(l, pairs[i].value, pdl_node_loc(pairs[i].key), v);
}

static part read_raw(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    pdl_err err = {0};
    pdl_val v;
    if (pdl_yaml_to_val_written(n, &v, &err)) return (part){NULL, v};
    pdl_loader_err(l, "data", loc, &err);
    return (part){NULL, pdl_null()};
}

const pdl_node *pdl_loader_recorded(const pdl_node *n) {
    const pdl_node *e = NULL;
    if (n->kind != PDL_NODE_MAP || n->n == 0 || n->n > 3) return n;
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *k = n->pairs[i].key;
        if (!pdl_node_is_str(k)) return n;
        if (pdl_str_is(k->text, "pdl__expr"))
            e = n->pairs[i].value;
        else if (!pdl_str_is(k->text, "pdl__result") && !pdl_str_is(k->text, "pdl__location"))
            return n;
    }
    return e ? e : n;
}

/* Returns X of {data: X, raw: true}, or NULL. */
static const pdl_node *raw_data(const pdl_node *n) {
    bool raw = false;
    if (n->kind != PDL_NODE_MAP || n->n != 2) return NULL;
    const pdl_node *flag = pdl_node_find(n, PDL_STR("raw"), NULL);
    return flag && pdl_loader_as_bool(flag, true, &raw) && raw
               ? pdl_node_find(n, PDL_STR("data"), NULL)
               : NULL;
}

/* Reads a part without inner parts, stores it in *out and returns true. Returns false for any other
 * part, which becomes the innermost open branch. */
static bool read_leaf(pdl_loader *l, const pdl_node *n, pdl_loc loc, part *out) {
    *out = (part){NULL, pdl_null()};
    if (!pdl_loader_spend(l, n)) return true;
    switch (n->type) {
    case PDL_NT_STR: *out = read_text(l, n, loc); return true;
    case PDL_NT_NULL:
    case PDL_NT_BOOL:
    case PDL_NT_INT:
    case PDL_NT_FLOAT: *out = (part){NULL, pdl_recent_value(&l->recent, n)}; return true;
    case PDL_NT_SEQ:
        *pdl_vec_push(&l->open) = (load_branch){.node = n, .loc = loc, .value = pdl_list_new(n->n)};
        return false;
    case PDL_NT_MAP:
        *pdl_vec_push(&l->open) = (load_branch){.node = n, .loc = loc, .value = pdl_dict_new(n->n)};
        return false;
    case PDL_NT_TIMESTAMP:
    case PDL_NT_BINARY:
    case PDL_NT_SET:
    case PDL_NT_OMAP:
    case PDL_NT_PAIRS: *out = read_raw(l, n, loc); return true;
    }
    PDL_BUG("node type %d", (int)n->type);
}

static part close_branch(pdl_loader *l) {
    load_branch *o = &l->open.p[--l->open.n];
    if (!o->tree) return (part){NULL, o->value};
    pdl_drop(o->value);
    return (part){o->tree, pdl_absent()};
}

/* Reads a part without recursion. l->open has the branches around it. */
static part read_part(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    size_t base = l->open.n;
    part p;
    bool have = read_leaf(l, n, loc, &p);
    while (l->open.n > base) {
        load_branch *o = &l->open.p[l->open.n - 1];
        bool map = o->node->kind == PDL_NODE_MAP;
        if (have && map)
            add_entry(l, o, p);
        else if (have)
            add_item(l, o, p);
        if (o->i == o->node->n) {
            p = close_branch(l);
            have = true;
            continue;
        }
        const pdl_node *next = map ? o->node->pairs[o->i].value : o->node->items[o->i];
        const pdl_node *raw = o->node == l->args ? raw_data(next) : NULL;
        pdl_loc at = pdl_node_loc(map ? o->node->pairs[o->i].key : next);
        have = raw != NULL;
        if (raw)
            p = read_raw(l, raw, at);
        else
            have = read_leaf(l, next, at, &p);
    }
    return p;
}

const pdl_tree *pdl_loader_tree(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    /* only the whole value may be a recorded expression; inside, such a mapping is data */
    n = pdl_loader_recorded(n);
    return as_tree(l, n, loc, read_part(l, n, loc));
}

const pdl_tree *pdl_loader_tree_args(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    l->args = n;
    const pdl_tree *t = pdl_loader_tree(l, n, loc);
    l->args = NULL;
    return t;
}

const pdl_tree *pdl_loader_tree_raw(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    return as_tree(l, n, loc, read_raw(l, n, loc));
}

pdl_val pdl_loader_own(pdl_loader *l, pdl_val v) {
    if (pdl_tag_of(v) > PDL_V_FLOAT) *pdl_vec_push(&l->p->constants) = v;
    return v;
}

bool pdl_loader_spend(pdl_loader *l, const pdl_node *n) {
    if (l->budget > 0) {
        l->budget--;
        return true;
    }
    if (!l->over)
        pdl_loader_diag(l, "too-large", pdl_node_loc(n), pdl_node_loc(n),
                        "aliases make the program too large");
    l->over = true;
    return false;
}
