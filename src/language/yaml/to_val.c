/* to_val.c -- see yaml.h: makes values of nodes, and reads a text directly into a value. The loader
 * limits the depth to PDL_MAX_YAML_DEPTH.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "yaml/load.h"
#include "yaml/resolve.h"
#include "yaml/yaml.h"

#include "base/limits.h"
#include "base/map.h"
#include "value/pyvalues.h"

#include "base/banned.h"

enum { FEW = 64 }; /* number of texts that are read before recent texts are cached */

/* The values of nodes that have occurred before, so that all aliases of a node share one value.
 * This is an open-addressing table; its key is the address of a node. */
typedef struct memo {
    struct {
        const pdl_node *node;
        pdl_val val;
    } * slots;
    size_t mask, n;
    pdl_recent recent;
    bool written; /* see pdl_yaml_to_val_written */
} memo;

static size_t slot_of(const memo *m, const pdl_node *n) {
    uint64_t mixed = ((uint64_t)(uintptr_t)n >> 3) * UINT64_C(0x9e3779b97f4a7c15);
    size_t h = (size_t)(mixed >> 20) & m->mask;
    while (m->slots[h].node && m->slots[h].node != n) h = (h + 1) & m->mask;
    return h;
}

static void grow(memo *m) {
    memo old = *m;
    m->mask = m->mask ? m->mask * 2 + 1 : 63;
    m->slots = pdl_calloc(m->mask + 1, sizeof *m->slots);
    for (size_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i].node) m->slots[slot_of(m, old.slots[i].node)] = old.slots[i];
    pdl_free(old.slots);
}

static void remember(memo *m, const pdl_node *n, pdl_vref v) {
    if (2 * (m->n + 1) > m->mask) grow(m);
    size_t h = slot_of(m, n);
    m->slots[h].node = n;
    m->slots[h].val = pdl_keep(v);
    m->n++;
}

static void forget(memo *m) {
    for (size_t i = 0; m->slots && i <= m->mask; i++)
        if (m->slots[i].node) pdl_drop(m->slots[i].val);
    pdl_free(m->slots);
    pdl_recent_fini(&m->recent);
}

/* --- scalars ---------------------------------------------------------------------------------- */

pdl_val pdl_node_value(const pdl_node *n) {
    static const pdl_ytag tags[] = {
        [PDL_NT_STR] = PDL_YTAG_str,       [PDL_NT_NULL] = PDL_YTAG_null,
        [PDL_NT_BOOL] = PDL_YTAG_bool,     [PDL_NT_INT] = PDL_YTAG_int,
        [PDL_NT_FLOAT] = PDL_YTAG_float,   [PDL_NT_TIMESTAMP] = PDL_YTAG_timestamp,
        [PDL_NT_BINARY] = PDL_YTAG_binary,
    };
    pdl_val v = pdl_null();
    pdl_err err = {0};
    if (n->type == PDL_NT_STR) return n->counted ? pdl_text_around(n->text.p) : pdl_text(n->text);
    if (n->type > PDL_NT_BINARY || !pdl_yaml_scalar(tags[n->type], n->text, &v, &err))
        pdl_err_fini(&err);
    return v;
}

pdl_val pdl_recent_value(pdl_recent *r, const pdl_node *n) {
    if (n->type != PDL_NT_STR || n->counted || n->text.n > PDL_NODE_SHORT) return pdl_node_value(n);
    if (!r->slots) {
        if (r->asked++ < FEW) return pdl_node_value(n);
        r->slots = pdl_calloc(PDL_NODE_RECENT, sizeof *r->slots);
    }
    uint64_t mixed = (uint64_t)(uintptr_t)n->text.p * UINT64_C(0x9e3779b97f4a7c15);
    size_t h = (size_t)(mixed >> 32) & (PDL_NODE_RECENT - 1);
    if (r->slots[h].p == n->text.p) return pdl_keep(r->slots[h].value);
    if (r->slots[h].p) pdl_drop(r->slots[h].value);
    r->slots[h].p = n->text.p;
    r->slots[h].value = pdl_text(n->text);
    return pdl_keep(r->slots[h].value);
}

void pdl_recent_fini(pdl_recent *r) {
    for (size_t i = 0; r->slots && i < PDL_NODE_RECENT; i++)
        if (r->slots[i].p) pdl_drop(r->slots[i].value);
    pdl_free(r->slots);
    r->slots = NULL;
}

/* --- trees ------------------------------------------------------------------------------------ */

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
    err->py_class = pdl_str_dup(PDL_STR("ConstructorError"));
    return false;
}

static pdl_val key_value(memo *m, const pdl_node *key) {
    return m->written && pdl_node_is_word(key) ? pdl_text(key->text)
                                               : pdl_recent_value(&m->recent, key);
}

/* Makes the value of a mapping or a set. */
static bool make_map(memo *m, const pdl_node *n, pdl_val *out, pdl_err *err) {
    pdl_val d = pdl_dict_new(n->n), x = pdl_null();
    bool set = n->type == PDL_NT_SET, ok = true;
    for (uint32_t i = 0; ok && i < n->n; i++) {
        const pdl_node *key = n->pairs[i].key;
        ok = key->kind == PDL_NODE_SCALAR ? set || make(m, n->pairs[i].value, &x, err)
                                          : unhashable(key, err);
        if (ok) d = pdl_dict_put(d, key_value(m, key), x);
    }
    if (ok)
        *out = set ? pdl_set_from_dict(d) : d;
    else
        pdl_drop(d);
    return ok;
}

/* Makes the value of !!omap and !!pairs: a list of (key, value). */
static bool make_pairs(memo *m, const pdl_node *n, pdl_val *out, pdl_err *err) {
    pdl_val list = pdl_list_new(n->n), kv[2];
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *sub = n->items[i];
        bool ok =
            sub->kind == PDL_NODE_MAP && sub->n == 1 && make(m, sub->pairs[0].key, &kv[0], err);
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
    bool scalar = n->kind == PDL_NODE_SCALAR;
    if (scalar && !n->shared) {
        *out = pdl_recent_value(&m->recent, n);
        return true;
    }
    if (m->slots) {
        size_t h = slot_of(m, n);
        if (m->slots[h].node) {
            *out = pdl_keep(m->slots[h].val);
            return true;
        }
    }
    if (scalar) {
        *out = pdl_recent_value(&m->recent, n);
        remember(m, n, *out);
        return true;
    }
    bool ok = n->type == PDL_NT_OMAP || n->type == PDL_NT_PAIRS ? make_pairs(m, n, out, err)
              : n->kind == PDL_NODE_MAP                         ? make_map(m, n, out, err)
                                                                : make_seq(m, n, out, err);
    if (ok && n->n && n->shared) remember(m, n, *out);
    return ok;
}

static bool to_val(const pdl_node *n, bool written, pdl_val *out, pdl_err *err) {
    memo m = {.written = written};
    bool ok = make(&m, n, out, err);
    forget(&m);
    return ok;
}

bool pdl_yaml_to_val(const pdl_node *n, pdl_val *out, pdl_err *err) {
    return to_val(n, false, out, err);
}

bool pdl_yaml_to_val_written(const pdl_node *n, pdl_val *out, pdl_err *err) {
    return to_val(n, true, out, err);
}

/* PyYAML counts characters of the text; the place is in the source. */
static bool check_chars(pdl_str text, const pdl_source *src, pdl_err *err) {
    pdl_err there = {0};
    if (pdl_yaml_check_chars(text, NULL, err)) return true;
    if (!pdl_yaml_check_chars(src->text, src, &there)) err->loc = there.loc;
    pdl_err_fini(&there);
    return false;
}

static bool read_text(pdl_str text, bool written, pdl_val *out, uint32_t *line, uint32_t *column,
                      pdl_err *err) {
    pdl_arena *a = pdl_arena_make();
    pdl_source *src;
    const pdl_node *root;
    uint32_t at_line = 0, at_column = 0;
    bool ok = pdl_yaml_source(a, (pdl_str){0}, text, &src, err) && check_chars(text, src, err) &&
              pdl_yaml_load_at(a, src, &root, &at_line, &at_column, err) &&
              to_val(root, written, out, err);
    if (!ok && !at_line && err->loc.src) {
        at_line = pdl_loc_line(err->loc);
        at_column = pdl_source_column(err->loc.src, err->loc.start);
    }
    if (!ok) err->loc = err->mark = (pdl_loc){0};
    if (line) *line = at_line;
    if (column) *column = at_column;
    pdl_arena_free(a);
    return ok;
}

bool pdl_yaml_read(pdl_str text, pdl_val *out, uint32_t *line, uint32_t *column, pdl_err *err) {
    return read_text(text, false, out, line, column, err);
}

bool pdl_yaml_read_written(pdl_str text, pdl_val *out, uint32_t *line, uint32_t *column,
                           pdl_err *err) {
    return read_text(text, true, out, line, column, err);
}
