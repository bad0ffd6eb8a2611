/* load_tree.c -- data with expressions: a part without any becomes one constant, made bottom up in one pass. */
#include "lang/loader.h"
#include "native/native.h"
#include "value/text.h"
#include "yaml/yaml.h"

#include "base/banned.h"

static bool is_filter(pdl_str name) { return pdl_filter_find(name) != NULL; }
static bool is_test(pdl_str name) { return pdl_test_find(name) != NULL; }
static const pdl_xnames names = {is_filter, is_test, pdl_filter_near, pdl_test_near};

static void drop_value(void *p) { pdl_drop(*(pdl_val *)p); }

const pdl_tree *load_tree_const(pdl_loader *l, const pdl_node *n, pdl_loc loc, pdl_val v) {
    pdl_tree *t = pdl_arena_new(l->a, pdl_tree);
    t->kind = PDL_TREE_CONST;
    t->node = n;
    t->loc = loc;
    t->value = v;
    if (pdl_tag_of(v) <= PDL_V_FLOAT) return t;
    if (n->kind == PDL_NODE_SCALAR && pdl_tag_of(n->scalar) == pdl_tag_of(v) && pdl_obj_of(n->scalar) == pdl_obj_of(v))
        pdl_drop(v); /* the node owns it and lives as long */
    else
        pdl_arena_defer(l->a, drop_value, &t->value);
    return t;
}

/* What a part became: tree, or (tree == NULL) a value that the receiver owns. */
typedef struct part {
    const pdl_tree *tree;
    pdl_val value;
} part;

static const pdl_tree *as_tree(pdl_loader *l, const pdl_node *n, pdl_loc loc, part p) {
    return p.tree ? p.tree : load_tree_const(l, n, loc, p.value);
}

static part read_text(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    if (pdl_expr_is_plain(n->text)) return (part){NULL, pdl_keep(n->scalar)};
    const pdl_expr *e = pdl_expr_read(l->a, n->text, &names);
    if (e->form == PDL_X_PLAIN) return (part){NULL, pdl_keep(n->scalar)};
    pdl_tree *t = pdl_arena_new(l->a, pdl_tree);
    t->kind = PDL_TREE_EXPR;
    t->node = n;
    t->loc = loc;
    t->expr = e;
    return (part){t, pdl_absent()};
}

static part read_part(pdl_loader *l, const pdl_node *n, pdl_loc loc);

static pdl_tree *new_branch(pdl_loader *l, const pdl_node *n, pdl_loc loc, pdl_tree_kind kind) {
    pdl_tree *t = pdl_arena_new(l->a, pdl_tree);
    t->kind = kind;
    t->node = n;
    t->loc = loc;
    t->n = n->n;
    t->items = pdl_arena_new_n(l->a, const pdl_tree *, n->n);
    if (kind == PDL_TREE_MAP) t->keys = pdl_arena_new_n(l->a, const pdl_tree *, n->n);
    return t;
}

static part read_list(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    pdl_val list = pdl_list_new(n->n);
    pdl_tree *t = NULL;
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *item = n->items[i];
        part p = read_part(l, item, pdl_node_loc(item));
        if (!t && !p.tree) {
            list = pdl_list_push(list, p.value);
            continue;
        }
        if (!t) { /* the first that is not constant: what came before becomes constants of its own */
            t = new_branch(l, n, loc, PDL_TREE_LIST);
            for (uint32_t k = 0; k < i; k++)
                t->items[k] = load_tree_const(l, n->items[k], pdl_node_loc(n->items[k]), pdl_keep(pdl_list_at(list, k)));
        }
        t->items[i] = as_tree(l, item, pdl_node_loc(item), p);
    }
    if (!t) return (part){NULL, list};
    pdl_drop(list);
    return (part){t, pdl_absent()};
}

/* Keys are text (spec 1.3): others are converted. */
static part read_key(pdl_loader *l, const pdl_node *key) {
    if (pdl_node_is_str(key)) return read_text(l, key, pdl_node_loc(key));
    pdl_err err = {0};
    pdl_val v, text;
    if (pdl_yaml_to_val(key, &v, &err)) {
        bool ok = pdl_stringify_val(v, &text, &err);
        pdl_drop(v);
        if (ok) return (part){NULL, text};
    }
    load_err(l, "data", pdl_node_loc(key), &err);
    return (part){NULL, pdl_text(key->text)};
}

static part read_map(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    pdl_val dict = pdl_dict_new(n->n);
    pdl_tree *t = NULL;
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_pair *pair = &n->pairs[i];
        part k = read_key(l, pair->key), v = read_part(l, pair->value, pdl_node_loc(pair->key));
        /* a key met before (1 and "1") would leave the dict shorter than the mapping */
        if (!t && !k.tree && !v.tree && pdl_is_absent(pdl_dict_find(dict, k.value))) {
            dict = pdl_dict_put(dict, k.value, v.value);
            continue;
        }
        if (!t) {
            t = new_branch(l, n, loc, PDL_TREE_MAP);
            for (uint32_t j = 0; j < i; j++) {
                const pdl_pair *old = &n->pairs[j];
                t->keys[j] = load_tree_const(l, old->key, pdl_node_loc(old->key), pdl_keep(pdl_dict_key_at(dict, j)));
                t->items[j] = load_tree_const(l, old->value, pdl_node_loc(old->key), pdl_keep(pdl_dict_val_at(dict, j)));
            }
        }
        t->keys[i] = as_tree(l, pair->key, pdl_node_loc(pair->key), k);
        t->items[i] = as_tree(l, pair->value, pdl_node_loc(pair->key), v);
    }
    if (!t) return (part){NULL, dict};
    pdl_drop(dict);
    return (part){t, pdl_absent()};
}

static part read_raw(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    pdl_err err = {0};
    pdl_val v;
    if (pdl_yaml_to_val(n, &v, &err)) return (part){NULL, v};
    load_err(l, "data", loc, &err);
    return (part){NULL, pdl_null()};
}

const pdl_node *load_recorded(const pdl_node *n) {
    const pdl_node *e = NULL;
    if (n->kind != PDL_NODE_MAP || n->n == 0 || n->n > 3) return n;
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *k = n->pairs[i].key;
        if (!pdl_node_is_str(k)) return n;
        if (pdl_str_is(k->text, "pdl__expr")) e = n->pairs[i].value;
        else if (!pdl_str_is(k->text, "pdl__result") && !pdl_str_is(k->text, "pdl__location")) return n;
    }
    return e ? e : n;
}

static part read_part(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    if (!load_spend(l, n)) return (part){NULL, pdl_null()};
    switch (n->type) {
    case PDL_NT_STR: return read_text(l, n, loc);
    case PDL_NT_NULL: case PDL_NT_BOOL: case PDL_NT_INT: case PDL_NT_FLOAT: return (part){NULL, pdl_keep(n->scalar)};
    case PDL_NT_SEQ: return read_list(l, n, loc);
    case PDL_NT_MAP: {
        const pdl_node *e = load_recorded(n);
        return e == n ? read_map(l, n, loc) : read_part(l, e, loc);
    }
    case PDL_NT_TIMESTAMP: case PDL_NT_BINARY: case PDL_NT_SET: case PDL_NT_OMAP: case PDL_NT_PAIRS: return read_raw(l, n, loc);
    }
    PDL_BUG("node type %d", (int)n->type);
}

const pdl_tree *load_tree(pdl_loader *l, const pdl_node *n, pdl_loc loc) { return as_tree(l, n, loc, read_part(l, n, loc)); }

const pdl_tree *load_tree_raw(pdl_loader *l, const pdl_node *n, pdl_loc loc) { return as_tree(l, n, loc, read_raw(l, n, loc)); }
