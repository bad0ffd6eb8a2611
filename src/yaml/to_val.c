/* to_val.c -- see yaml.h: nodes -> values, and reading text in one go. Depth is bounded by PDL_MAX_YAML_DEPTH
 * (checked by the loader). */
#include "yaml/load.h"
#include "yaml/yaml.h"

#include "base/limits.h"
#include "base/map.h"
#include "value/exotic.h"

#include "base/banned.h"

/* Values of nodes met before, so that aliased nodes share theirs: open addressing by address. */
typedef struct memo {
    struct {
        const pdl_node *node;
        pdl_val val;
    } * slots;
    size_t mask, n;
} memo;

static size_t slot_of(const memo *m, const pdl_node *n) {
    size_t h = ((size_t)n >> 4) * (size_t)0x9e3779b97f4a7c15u;
    for (h = (h >> 20) & m->mask; m->slots[h].node && m->slots[h].node != n; h = (h + 1) & m->mask) {
    }
    return h;
}

static void remember(memo *m, const pdl_node *n, pdl_vref v) {
    if (2 * (m->n + 1) > m->mask) {
        memo old = *m;
        m->mask = m->mask ? m->mask * 2 + 1 : 63;
        m->slots = pdl_calloc(m->mask + 1, sizeof *m->slots);
        for (size_t i = 0; old.slots && i <= old.mask; i++)
            if (old.slots[i].node) m->slots[slot_of(m, old.slots[i].node)] = old.slots[i];
        pdl_free(old.slots);
    }
    size_t h = slot_of(m, n);
    m->slots[h].node = n;
    m->slots[h].val = pdl_keep(v);
    m->n++;
}

static void forget(memo *m) {
    for (size_t i = 0; m->slots && i <= m->mask; i++)
        if (m->slots[i].node) pdl_drop(m->slots[i].val);
    pdl_free(m->slots);
}

static bool make(memo *m, const pdl_node *n, pdl_val *out, pdl_err *err);

static bool make_seq(memo *m, const pdl_node *n, pdl_val *out, pdl_err *err) {
    pdl_val list = pdl_list_new(n->n), x;
    for (uint32_t i = 0; i < n->n; i++) {
        if (!make(m, n->items[i], &x, err)) {
            pdl_drop(list);
            return false;
        }
        list = pdl_list_push(list, x);
    }
    *out = list;
    return true;
}

static bool unhashable(const pdl_node *key, pdl_err *err) {
    pdl_err_set(err, PDL_E_syntax, pdl_node_loc(key), "found unhashable key");
    err->foreign = pdl_str_dup(PDL_STR("ConstructorError"));
    return false;
}

/* Of a mapping or a set. */
static bool make_map(memo *m, const pdl_node *n, pdl_val *out, pdl_err *err) {
    pdl_val d = pdl_dict_new(n->n), x = pdl_null();
    bool set = n->type == PDL_NT_SET, ok = true;
    for (uint32_t i = 0; ok && i < n->n; i++) {
        const pdl_node *key = n->pairs[i].key;
        ok = key->kind == PDL_NODE_SCALAR ? set || make(m, n->pairs[i].value, &x, err) : unhashable(key, err);
        if (ok) d = pdl_dict_put(d, pdl_keep(key->scalar), x);
    }
    if (ok) *out = set ? pdl_set_from_dict(d) : d;
    else pdl_drop(d);
    return ok;
}

/* !!omap and !!pairs: a list of (key, value). */
static bool make_pairs(memo *m, const pdl_node *n, pdl_val *out, pdl_err *err) {
    pdl_val list = pdl_list_new(n->n), kv[2];
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *sub = n->items[i];
        bool ok = sub->kind == PDL_NODE_MAP && sub->n == 1 && make(m, sub->pairs[0].key, &kv[0], err);
        if (ok && !make(m, sub->pairs[0].value, &kv[1], err)) {
            pdl_drop(kv[0]);
            ok = false;
        }
        if (!ok) {
            pdl_drop(list);
            return false;
        }
        list = pdl_list_push(list, pdl_tuple_new(kv, 2));
    }
    *out = list;
    return true;
}

static bool make(memo *m, const pdl_node *n, pdl_val *out, pdl_err *err) {
    if (n->kind == PDL_NODE_SCALAR) {
        *out = pdl_keep(n->scalar);
        return true;
    }
    if (m && m->slots) {
        size_t h = slot_of(m, n);
        if (m->slots[h].node) {
            *out = pdl_keep(m->slots[h].val);
            return true;
        }
    }
    bool ok = n->type == PDL_NT_OMAP || n->type == PDL_NT_PAIRS ? make_pairs(m, n, out, err)
              : n->kind == PDL_NODE_MAP                         ? make_map(m, n, out, err)
                                                                : make_seq(m, n, out, err);
    if (ok && n->n && n->alias_of) remember(m, n, *out);
    return ok;
}

bool pdl_yaml_to_val(const pdl_node *n, pdl_val *out, pdl_err *err) {
    memo m = {0};
    bool ok = make(&m, n, out, err);
    forget(&m);
    return ok;
}

bool pdl_yaml_read(pdl_str text, pdl_val *out, uint32_t *line, uint32_t *column, pdl_err *err) {
    pdl_arena *a = pdl_arena_make();
    pdl_source *src;
    const pdl_node *root;
    uint32_t at_line = 0, at_column = 0;
    bool ok = pdl_yaml_check_chars(text, NULL, err) && pdl_yaml_source(a, (pdl_str){0}, text, &src, err) &&
              pdl_yaml_load_at(a, src, &root, &at_line, &at_column, err) && pdl_yaml_to_val(root, out, err);
    if (!ok) err->loc = err->mark = (pdl_loc){0};
    if (line) *line = at_line;
    if (column) *column = at_column;
    pdl_arena_free(a);
    return ok;
}
