/* load.c -- see yaml.h: events -> tree. An explicit stack composes; merge keys and duplicates are settled
 * when a mapping ends.
 *
 * The reference composes the whole document first and constructs values afterwards, level by level. Problems
 * of the second phase are therefore kept with their node (fault) and only looked for when all events were
 * fine.
 */
#include "yaml/yaml.h"

#include <string.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "value/text.h"
#include "yaml/events.h"
#include "yaml/load.h"
#include "yaml/resolve.h"

#include "base/banned.h"

enum { SHORT_TEXT = 24, CACHE = 256, SMALL_MAP = 8 };

/* A problem of the construction phase. late: seen when the content of the collection is made, not when the
 * node is met. */
typedef struct fault {
    const char *foreign;
    pdl_str msg;
    uint32_t off;
    bool late;
} fault;

/* What the loader knows of a node beyond the public part, which is its first member. */
typedef struct yn {
    pdl_node pub;
    uint64_t size; /* nodes below and itself, aliases expanded */
    pdl_ytag tag;
    bool open; /* still being composed */
    bool met;  /* search for faults: already queued */
    const fault *fault;
    struct yn **raw; /* MAP with faults or merges below: keys and values as written, 2 * n_raw */
    uint32_t n_raw;
    struct yn *owned; /* next node whose scalar holds a counted value */
} yn;

typedef struct frame {
    yn *node;
    size_t base; /* its children are pending[base..) */
} frame;

typedef struct loader {
    pdl_arena *arena;
    const pdl_source *src;
    pdl_yreader *reader;
    yn **owned; /* head of the list, in the arena */
    PDL_VEC(frame) stack;
    PDL_VEC(yn *) pending;
    pdl_map anchors;
    size_t faults;
    yn *root;
    yn *cache[CACHE]; /* recent short strings: their values are shared */
} loader;

static yn *as_yn(const pdl_node *n) { return (yn *)(void *)(size_t)(const void *)n; }

static void drop_owned(void *p) {
    for (yn *n = *(yn **)p; n; n = n->owned) pdl_drop(n->pub.scalar);
}

/* --- faults ----------------------------------------------------------------------------------------- */

static PDL_PRINTF(6, 7) void set_fault(loader *l, yn *n, uint32_t off, bool late, const char *foreign,
                                       const char *fmt, ...) {
    if (n->fault) return;
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    fault *f = pdl_arena_new(l->arena, fault);
    *f = (fault){foreign, pdl_arena_str(l->arena, pdl_buf_str(&b)), off, late};
    pdl_buf_fini(&b);
    n->fault = f;
    l->faults++;
}

static const char *kind_name(const yn *n) {
    return n->pub.kind == PDL_NODE_SCALAR ? "scalar" : n->pub.kind == PDL_NODE_SEQ ? "sequence" : "mapping";
}

static bool is_collection_tag(pdl_ytag t) {
    return t == PDL_YTAG_seq || t == PDL_YTAG_map || t == PDL_YTAG_set || t == PDL_YTAG_omap ||
           t == PDL_YTAG_pairs;
}

static bool throw_fault(loader *l, const fault *f, pdl_err *err) {
    return pdl_yaml_fail(err, l->src, f->off, f->foreign, "%.*s", PDL_FMT(f->msg));
}

static bool unhashable(const yn *key) {
    return key->pub.kind != PDL_NODE_SCALAR || is_collection_tag(key->tag);
}

typedef PDL_VEC(yn *) yn_queue;

/* The node is constructed: its own problem, then it waits for its content. */
static bool meet(loader *l, yn *n, yn_queue *q, pdl_err *err) {
    if (n->fault && !n->fault->late) return throw_fault(l, n->fault, err);
    if (!n->met && (n->pub.kind != PDL_NODE_SCALAR || n->fault)) {
        n->met = true;
        *pdl_vec_push(q) = n;
    }
    return true;
}

static bool meet_pair(loader *l, yn *key, yn *value, bool hashed, yn_queue *q, pdl_err *err) {
    if (!meet(l, key, q, err)) return false;
    if (hashed && unhashable(key))
        return pdl_yaml_fail(err, l->src, key->pub.start, "ConstructorError", "found unhashable key");
    return meet(l, value, q, err);
}

static bool meet_merged(loader *l, const yn *value, yn_queue *q, pdl_err *err) {
    for (uint32_t i = 0; i < value->pub.n; i++) {
        if (value->pub.kind == PDL_NODE_SEQ) {
            if (!meet_merged(l, as_yn(value->pub.items[i]), q, err)) return false;
        } else if (!meet_pair(l, as_yn(value->pub.pairs[i].key), as_yn(value->pub.pairs[i].value), true, q,
                              err)) {
            return false;
        }
    }
    return true;
}

static bool meet_children(loader *l, yn *n, yn_queue *q, pdl_err *err) {
    bool hashed = n->tag == PDL_YTAG_map || n->tag == PDL_YTAG_set;
    if (n->fault) return throw_fault(l, n->fault, err);
    if (n->pub.kind == PDL_NODE_SEQ) {
        for (uint32_t i = 0; i < n->pub.n; i++)
            if (!meet(l, as_yn(n->pub.items[i]), q, err)) return false;
        return true;
    }
    if (!n->raw) {
        for (uint32_t i = 0; i < n->pub.n; i++)
            if (!meet_pair(l, as_yn(n->pub.pairs[i].key), as_yn(n->pub.pairs[i].value), hashed, q, err))
                return false;
        return true;
    }
    for (uint32_t i = 0; hashed && i < n->n_raw; i++)
        if (n->raw[2 * i]->tag == PDL_YTAG_merge && !meet_merged(l, n->raw[2 * i + 1], q, err)) return false;
    for (uint32_t i = 0; i < n->n_raw; i++) {
        yn *key = n->raw[2 * i];
        if (hashed && key->tag == PDL_YTAG_merge) continue;
        if (hashed && key->tag == PDL_YTAG_value)
            key = n->raw[2 * i + 1]; /* `=` is a plain key: nothing to meet but the value */
        if (!meet_pair(l, key, n->raw[2 * i + 1], hashed && key != n->raw[2 * i + 1], q, err)) return false;
    }
    return true;
}

/* The first problem in the reference's order of construction. */
static bool find_fault(loader *l, pdl_err *err) {
    yn_queue q = {0};
    bool ok = meet(l, l->root, &q, err);
    for (size_t i = 0; ok && i < q.n; i++) ok = meet_children(l, q.p[i], &q, err);
    pdl_vec_fini(&q);
    return ok;
}

/* --- scalars ---------------------------------------------------------------------------------------- */

static void own(loader *l, yn *n, pdl_val v) {
    n->pub.scalar = v;
    if (pdl_tag_of(v) <= PDL_V_FLOAT) return;
    n->owned = *l->owned;
    *l->owned = n;
}

static size_t small_hash(pdl_str s) {
    size_t h = s.n;
    for (size_t i = 0; i < s.n; i++) h = h * 31 + (unsigned char)s.p[i];
    return h;
}

static void make_text(loader *l, yn *n, pdl_str text) {
    yn **slot = NULL;
    if (text.n <= SHORT_TEXT) {
        slot = &l->cache[small_hash(text) % CACHE];
        if (*slot && pdl_str_eq((*slot)->pub.text, text)) {
            n->pub.scalar = (*slot)->pub.scalar; /* borrowed: they die together */
            n->pub.text = (*slot)->pub.text;
            return;
        }
    }
    own(l, n, pdl_text(text));
    n->pub.text = pdl_str_get(n->pub.scalar);
    if (slot) *slot = n;
}

/* Value of a scalar whose tag is known. A problem is kept for later. */
static void make_scalar(loader *l, yn *n, pdl_str text) {
    pdl_err bad = {0};
    pdl_val v;
    if (n->tag == PDL_YTAG_str || n->tag == PDL_YTAG_OTHER) {
        make_text(l, n, text);
        return;
    }
    if (n->tag == PDL_YTAG_merge || n->tag == PDL_YTAG_value || is_collection_tag(n->tag)) {
        make_text(l, n, text);
        if (!is_collection_tag(n->tag))
            set_fault(l, n, n->pub.start, false, "ConstructorError",
                      "could not determine a constructor for the tag 'tag:yaml.org,2002:%s'",
                      pdl_ytag_name(n->tag));
        else if (n->tag == PDL_YTAG_omap || n->tag == PDL_YTAG_pairs)
            set_fault(l, n, n->pub.start, true, "ConstructorError", "expected a sequence, but found scalar");
        else
            set_fault(l, n, n->pub.start, true, "ConstructorError", "expected a %s node, but found scalar",
                      n->tag == PDL_YTAG_seq ? "sequence" : "mapping");
        return;
    }
    n->pub.text = pdl_arena_str(l->arena, text);
    if (pdl_yaml_scalar(n->tag, text, &v, &bad)) {
        own(l, n, v);
        return;
    }
    n->pub.scalar = pdl_null();
    set_fault(l, n, n->pub.start, false,
              strcmp(bad.foreign, "ConstructorError") == 0 ? "ConstructorError"
              : strcmp(bad.foreign, "ValueError") == 0     ? "ValueError"
              : strcmp(bad.foreign, "KeyError") == 0       ? "KeyError"
              : strcmp(bad.foreign, "IndexError") == 0     ? "IndexError"
                                                           : "AttributeError",
              "%s", bad.msg);
    pdl_err_fini(&bad);
}

/* --- collections ------------------------------------------------------------------------------------ */

/* The entry whose key equals key, among the first n. */
static uint32_t find_small(const pdl_pair *p, uint32_t n, const pdl_node *key) {
    for (uint32_t i = 0; i < n; i++) {
        if (key->type == PDL_NT_STR && p[i].key->type == PDL_NT_STR) {
            if (p[i].key->text.p == key->text.p || pdl_str_eq(p[i].key->text, key->text)) return i;
        } else if (pdl_val_eq(p[i].key->scalar, key->scalar)) {
            return i;
        }
    }
    return n;
}

/* Pairs with equal keys joined: the last value at the first position. Keys that cannot be compared stay. In
 * place; returns the number left. */
static uint32_t join_equal(pdl_pair *p, uint32_t n) {
    uint32_t kept = 0;
    size_t mask = 15;
    uint32_t *slots = NULL;
    if (n > SMALL_MAP) {
        while (mask < (size_t)n * 2) mask = mask * 2 + 1;
        slots = PDL_NEW_N(uint32_t, mask + 1);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t same = kept;
        size_t h = 0;
        if (p[i].key->kind == PDL_NODE_SCALAR && slots) {
            for (h = pdl_val_hash(p[i].key->scalar) & mask; slots[h]; h = (h + 1) & mask)
                if (pdl_val_eq(p[slots[h] - 1].key->scalar, p[i].key->scalar)) {
                    same = slots[h] - 1;
                    break;
                }
            if (same == kept) slots[h] = kept + 1;
        } else if (p[i].key->kind == PDL_NODE_SCALAR) {
            same = find_small(p, kept, p[i].key);
        }
        if (same < kept) p[same].value = p[i].value;
        else p[kept++] = p[i];
    }
    pdl_free(slots);
    return kept;
}

typedef PDL_VEC(pdl_pair) pair_list;

static void add_pairs(pair_list *out, yn *to, const yn *map) {
    for (uint32_t i = 0; i < map->pub.n; i++) {
        yn *value = as_yn(map->pub.pairs[i].value);
        *pdl_vec_push(out) = map->pub.pairs[i];
        to->size += value->size;
        value->pub.alias_of = &value->pub;
    }
}

/* Entries that the value of a merge key brings, earlier mappings of a list winning by coming later. */
static void add_merge(loader *l, yn *map, const yn *value, pair_list *out) {
    if (value->pub.kind == PDL_NODE_MAP) {
        add_pairs(out, map, value);
    } else if (value->pub.kind == PDL_NODE_SEQ) {
        for (uint32_t i = 0; i < value->pub.n; i++) {
            const yn *sub = as_yn(value->pub.items[i]);
            if (sub->pub.kind != PDL_NODE_MAP) {
                set_fault(l, map, sub->pub.start, true, "ConstructorError",
                          "expected a mapping for merging, but found %s", kind_name(sub));
                return;
            }
        }
        for (uint32_t i = value->pub.n; i--;) add_pairs(out, map, as_yn(value->pub.items[i]));
    } else {
        set_fault(l, map, value->pub.start, true, "ConstructorError",
                  "expected a mapping or list of mappings for merging, but found scalar");
    }
}

/* kids: keys and values in turn. Faults below keep the entries as written, for the search. */
static void close_map(loader *l, yn *n, yn **kids, size_t count) {
    bool merges = false, bad = l->faults > 0;
    uint32_t pairs = (uint32_t)(count / 2);
    for (uint32_t i = 0; i < pairs; i++) {
        yn *key = kids[2 * i];
        if (key->tag == PDL_YTAG_merge) merges = true;
        if (unhashable(key)) {
            bad = true;
            l->faults++;
        }
    }
    pair_list all = {0};
    for (uint32_t i = 0; merges && i < pairs; i++)
        if (kids[2 * i]->tag == PDL_YTAG_merge) add_merge(l, n, kids[2 * i + 1], &all);
    if (merges) {
        for (uint32_t i = 0; i < pairs; i++)
            if (kids[2 * i]->tag != PDL_YTAG_merge)
                *pdl_vec_push(&all) = (pdl_pair){&kids[2 * i]->pub, &kids[2 * i + 1]->pub};
        uint32_t left = join_equal(all.p, (uint32_t)all.n);
        n->pub.pairs = pdl_arena_new_n(l->arena, pdl_pair, left);
        if (left) memcpy(n->pub.pairs, all.p, left * sizeof *all.p);
        n->pub.n = left;
        pdl_vec_fini(&all);
    } else {
        n->pub.pairs = pdl_arena_new_n(l->arena, pdl_pair, pairs);
        for (uint32_t i = 0; i < pairs; i++)
            n->pub.pairs[i] = (pdl_pair){&kids[2 * i]->pub, &kids[2 * i + 1]->pub};
        n->pub.n = join_equal(n->pub.pairs, pairs);
    }
    if (!bad && !merges) return;
    n->raw = pdl_arena_new_n(l->arena, yn *, count);
    if (count) memcpy(n->raw, kids, count * sizeof *kids);
    n->n_raw = pairs;
}

static void close_seq(loader *l, yn *n, yn **kids, size_t count) {
    const pdl_node **items = pdl_arena_new_n(l->arena, const pdl_node *, count);
    for (size_t i = 0; i < count; i++) items[i] = &kids[i]->pub;
    n->pub.items = items;
    n->pub.n = (uint32_t)count;
}

/* Does the tag of a collection fit what it is? */
static void check_tag(loader *l, yn *n) {
    bool map = n->pub.kind == PDL_NODE_MAP, list = n->tag == PDL_YTAG_omap || n->tag == PDL_YTAG_pairs;
    uint32_t at = n->pub.start;
    if (n->tag == PDL_YTAG_OTHER || n->fault) return;
    if (n->tag == PDL_YTAG_merge || n->tag == PDL_YTAG_value) {
        set_fault(l, n, at, false, "ConstructorError",
                  "could not determine a constructor for the tag 'tag:yaml.org,2002:%s'",
                  pdl_ytag_name(n->tag));
    } else if (!is_collection_tag(n->tag)) {
        set_fault(l, n, at, false, "ConstructorError", "expected a scalar node, but found %s", kind_name(n));
    } else if (list && map) {
        set_fault(l, n, at, true, "ConstructorError", "expected a sequence, but found mapping");
    } else if (!list && map != (n->tag != PDL_YTAG_seq)) {
        set_fault(l, n, at, true, "ConstructorError", "expected a %s node, but found %s",
                  map ? "sequence" : "mapping", kind_name(n));
    } else if (list) {
        for (uint32_t i = 0; i < n->pub.n; i++) {
            const yn *sub = as_yn(n->pub.items[i]);
            uint32_t entries = sub->raw ? sub->n_raw : sub->pub.n;
            if (sub->pub.kind != PDL_NODE_MAP)
                set_fault(l, n, sub->pub.start, true, "ConstructorError",
                          "expected a mapping of length 1, but found %s", kind_name(sub));
            else if (entries != 1)
                set_fault(l, n, sub->pub.start, true, "ConstructorError",
                          "expected a single mapping item, but found %u items", entries);
        }
    }
}

/* --- composing -------------------------------------------------------------------------------------- */

static bool too_deep(loader *l, uint32_t off, pdl_err *err) {
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){l->src, off, off}, "YAML is nested deeper than %d levels",
                       (int)PDL_MAX_YAML_DEPTH);
}

static bool put_child(loader *l, yn *n, uint32_t off, pdl_err *err) {
    yn *up = l->stack.n ? l->stack.p[l->stack.n - 1].node : NULL;
    if (up) up->size += n->size;
    if ((up ? up : n)->size > PDL_MAX_YAML_NODES)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){l->src, off, off},
                           "YAML has more than %d nodes after aliases are expanded", (int)PDL_MAX_YAML_NODES);
    if (!up) {
        l->root = n;
        return true;
    }
    if (n->pub.depth + 1 > up->pub.depth) up->pub.depth = n->pub.depth + 1;
    if (up->pub.depth + l->stack.n > PDL_MAX_YAML_DEPTH) return too_deep(l, off, err);
    *pdl_vec_push(&l->pending) = n;
    return true;
}

static pdl_ytag tag_of(loader *l, yn *n, const pdl_yevent *e, pdl_ytag implicit) {
    pdl_ytag t;
    if (!e->tag.n) return implicit;
    t = pdl_ytag_find(e->tag);
    if (t == PDL_YTAG_OTHER) {
        pdl_buf b = PDL_BUF;
        pdl_buf shown = PDL_BUF;
        pdl_yreader_tag(l->reader, e, &b);
        pdl_str_repr(pdl_buf_str(&b), &shown);
        set_fault(l, n, e->start, false, "ConstructorError",
                  "could not determine a constructor for the tag %s", pdl_buf_z(&shown));
        pdl_buf_fini(&shown);
        pdl_buf_fini(&b);
    }
    return t;
}

static bool set_anchor(loader *l, yn *n, const pdl_yevent *e, pdl_err *err) {
    if (!e->anchor.p) return true;
    if (pdl_map_find(&l->anchors, e->anchor))
        return pdl_yaml_fail(err, l->src, e->start, "ComposerError", "second occurrence");
    (void)pdl_map_put(&l->anchors, pdl_arena_str(l->arena, e->anchor), n);
    return true;
}

static yn *new_node(loader *l, const pdl_yevent *e, pdl_node_kind kind) {
    yn *n = pdl_arena_new(l->arena, yn);
    n->pub.kind = kind;
    n->pub.style = e->style;
    n->pub.start = e->start;
    n->pub.end = e->end;
    n->pub.src = l->src;
    n->pub.scalar = pdl_null();
    n->size = 1;
    return n;
}

/* Inside flow collections the reference ends a plain scalar at '?', where libyaml reads on. */
static bool check_flow_plain(loader *l, const pdl_yevent *e, pdl_err *err) {
    pdl_str s = pdl_str_sub(l->src->text, e->start, e->end);
    if (e->style != PDL_STYLE_PLAIN || !l->stack.n ||
        l->stack.p[l->stack.n - 1].node->pub.style != PDL_STYLE_FLOW)
        return true;
    size_t q = s.n ? pdl_str_find(s, PDL_STR("?"), 0) : PDL_NOT_FOUND;
    if (q == PDL_NOT_FOUND) return true;
    if (q == 0)
        return pdl_yreader_space(l->reader, e->start)
                   ? false
                   : pdl_yaml_fail(err, l->src, e->start, "ScannerError", "too many '?'");
    const yn *top = l->stack.p[l->stack.n - 1].node;
    bool braces = top->pub.kind == PDL_NODE_MAP && top->pub.start < l->src->text.n &&
                  l->src->text.p[top->pub.start] == '{';
    return pdl_yaml_fail(err, l->src, e->start + (uint32_t)q, "ParserError",
                         "expected ',' or '%c', but got '?'", braces ? '}' : ']');
}

static bool on_scalar(loader *l, const pdl_yevent *e, pdl_err *err) {
    if (!check_flow_plain(l, e, err)) return false;
    yn *n = new_node(l, e, PDL_NODE_SCALAR);
    if (!set_anchor(l, n, e, err)) return false;
    n->tag = e->tag.n ? tag_of(l, n, e, PDL_YTAG_str) : e->plain ? pdl_ytag_of_plain(e->text) : PDL_YTAG_str;
    n->pub.type = pdl_ytag_type(n->tag);
    make_scalar(l, n, e->text);
    return put_child(l, n, e->start, err);
}

static bool on_alias(loader *l, const pdl_yevent *e, pdl_err *err) {
    yn *n = pdl_map_find(&l->anchors, e->anchor);
    if (!n)
        return pdl_yaml_fail(err, l->src, e->start, "ComposerError", "found undefined alias '%.*s'",
                             PDL_FMT(e->anchor));
    if (n->open)
        return pdl_yaml_fail(err, l->src, e->start, "ComposerError", "found recursive alias '%.*s'",
                             PDL_FMT(e->anchor));
    n->pub.alias_of = &n->pub;
    return put_child(l, n, e->start, err);
}

static bool on_open(loader *l, const pdl_yevent *e, pdl_err *err) {
    bool seq = e->kind == PDL_YEV_SEQ;
    yn *n = new_node(l, e, seq ? PDL_NODE_SEQ : PDL_NODE_MAP);
    n->tag = tag_of(l, n, e, seq ? PDL_YTAG_seq : PDL_YTAG_map);
    n->pub.type = n->tag == PDL_YTAG_OTHER ? (seq ? PDL_NT_SEQ : PDL_NT_MAP) : pdl_ytag_type(n->tag);
    n->open = true;
    if (l->stack.n >= PDL_MAX_YAML_DEPTH) return too_deep(l, e->start, err);
    if (!set_anchor(l, n, e, err)) return false;
    *pdl_vec_push(&l->stack) = (frame){n, l->pending.n};
    return true;
}

static bool on_close(loader *l, const pdl_yevent *e, pdl_err *err) {
    frame f = l->stack.p[--l->stack.n];
    yn *n = f.node, **kids = l->pending.p ? l->pending.p + f.base : NULL;
    size_t count = l->pending.n - f.base;
    l->pending.n = f.base;
    n->open = false;
    if (n->pub.style == PDL_STYLE_FLOW) n->pub.end = e->end;
    else if (count && kids[count - 1]->pub.end > n->pub.end && kids[count - 1]->pub.start >= n->pub.start)
        n->pub.end = kids[count - 1]->pub.end;
    if (n->pub.kind == PDL_NODE_MAP) close_map(l, n, kids, count);
    else close_seq(l, n, kids, count);
    check_tag(l, n);
    return put_child(l, n, n->pub.start, err);
}

static bool compose(loader *l, pdl_err *err) {
    pdl_yevent e;
    bool ok = true;
    for (size_t docs = 0; ok;) {
        if (!pdl_yreader_next(l->reader, &e, err)) return false;
        switch (e.kind) {
        case PDL_YEV_DOC:
            if (docs++)
                return pdl_yaml_fail(err, l->src, e.start, "ComposerError", "but found another document");
            break;
        case PDL_YEV_SCALAR: ok = on_scalar(l, &e, err); break;
        case PDL_YEV_ALIAS: ok = on_alias(l, &e, err); break;
        case PDL_YEV_SEQ:
        case PDL_YEV_MAP: ok = on_open(l, &e, err); break;
        case PDL_YEV_CLOSE: ok = on_close(l, &e, err); break;
        case PDL_YEV_STOP: return true;
        }
    }
    return false;
}

static void forget(loader *l) {
    l->stack.n = l->pending.n = l->faults = 0;
    pdl_map_fini(&l->anchors);
    l->root = NULL;
}

static bool load(loader *l, const pdl_node **out, pdl_err *err) {
    while (!compose(l, err)) {
        if (!pdl_yreader_again(l->reader)) return false;
        forget(l);
        pdl_yreader_restart(l->reader);
    }
    if (l->faults && l->root && !find_fault(l, err)) return false;
    if (!l->root) {
        pdl_yevent none = {.style = PDL_STYLE_PLAIN};
        l->root = new_node(l, &none, PDL_NODE_SCALAR);
        l->root->pub.type = PDL_NT_NULL;
    }
    *out = &l->root->pub;
    return true;
}

/* Line and column as the reference counts: NEL, LS and PS end lines too. */
static void place_of(pdl_str s, uint32_t off, uint32_t *line, uint32_t *column) {
    *line = *column = 1;
    for (const char *p = s.p, *end = s.p + off; p < end;) {
        uint32_t cp = pdl_utf8_next(&p);
        bool ends = cp == '\n' || cp == 0x85 || cp == 0x2028 || cp == 0x2029;
        *line += ends;
        *column = ends ? 1 : *column + 1;
    }
}

bool pdl_yaml_load_at(pdl_arena *a, const pdl_source *src, const pdl_node **out, uint32_t *line,
                      uint32_t *column, pdl_err *err) {
    loader l = {.arena = a, .src = src, .reader = pdl_yreader_new(src)};
    l.owned = pdl_arena_new(a, yn *);
    pdl_arena_defer(a, drop_owned, l.owned);
    bool ok = pdl_yaml_check_chars(src->text, src, err) && load(&l, out, err);
    *line = *column = 0;
    if (!ok && err->loc.src) place_of(src->text, err->loc.start, line, column);
    pdl_yreader_free(l.reader);
    pdl_vec_fini(&l.stack);
    pdl_vec_fini(&l.pending);
    pdl_map_fini(&l.anchors);
    return ok;
}

bool pdl_yaml_load(pdl_arena *a, const pdl_source *src, const pdl_node **out, pdl_err *err) {
    uint32_t line, column;
    return pdl_yaml_load_at(a, src, out, &line, &column, err);
}
