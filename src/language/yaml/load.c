/* load.c -- see yaml.h: makes a tree of the events of a document, with an explicit stack. Merge
 * keys and repeated keys are resolved when a mapping ends.
 *
 * The reference composes the whole document first and constructs values afterwards, level by level,
 * and reports the first problem in that order. So a problem of the second phase is stored with its
 * node (fault). These problems are searched only when all events were read without an error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "yaml/yaml.h"

#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "base/word.h"
#include "value/text.h"
#include "yaml/events.h"
#include "yaml/load.h"
#include "yaml/resolve.h"
#include "yaml/resync.h"

#include "base/banned.h"

enum {
    /* a text of at least this many bytes becomes a value at once, without a copy in the arena */
    LONG_TEXT = 2048,
    SMALL_MAP = 8, /* maximum number of entries whose keys are compared pairwise */
    FIRST_NODES = 8,
    MAX_NODES = 256, /* nodes taken from the arena at a time */
    FIRST_POOL = 128,
    LARGEST_POOL = 16384,
};

/* A problem of the construction phase. A `late` problem is found when the content of the collection
 * is constructed, and not with the node itself. */
typedef struct fault {
    const char *py_class;
    pdl_str msg;
    uint32_t off;
    bool late;
} fault;

/* The loader's record of a node. Its first member is the public part. */
typedef struct yn {
    pdl_node pub;
    /* number of nodes of the tree that begins here, with aliases expanded; at most
     * PDL_MAX_YAML_NODES + 1 */
    uint32_t size;
    uint16_t depth; /* height of the tree below: 0 for a scalar */
    pdl_ytag tag : 8;
    bool open : 1; /* the content of the node is still being read */
    bool met : 1;  /* the search for faults has queued the node */
    bool odd : 1;  /* the node has an entry in the map of oddities */
} yn;
static_assert(sizeof(void *) != 8 || (sizeof(pdl_node) == 40 && sizeof(yn) == 48),
              "nodes are the memory of loading");
static_assert(PDL_MAX_YAML_DEPTH <= UINT16_MAX, "heights are 16 bits");

/* Facts that few nodes have. */
typedef struct oddity {
    const yn *of;
    const fault *fault;
    /* the 2 * n_raw keys and values of a mapping, as they are written; NULL when the search for
     * faults does not need them */
    yn **raw;
    uint32_t n_raw;
} oddity;

typedef struct frame {
    yn *node;
    size_t base; /* the children of the collection are pending[base..) */
} frame;

/* The values of long texts, which are dropped with the arena. */
typedef PDL_VEC(pdl_val) owned_values;

typedef struct loader {
    pdl_arena *arena;
    const pdl_source *src;
    pdl_yreader *reader;
    owned_values *owned;
    PDL_VEC(frame) stack;
    PDL_VEC(yn *) pending;
    pdl_map anchors;
    pdl_map oddities; /* the oddities of nodes, found by the address of the node */
    size_t faults;
    yn *root;
    yn *nodes; /* the first of n_nodes unused records */
    size_t n_nodes, nodes_taken;
    char *pool; /* memory for texts, pool_left bytes */
    size_t pool_left, pool_size;
    pdl_str recent[PDL_NODE_RECENT]; /* short texts, which are shared */
} loader;

static yn *as_yn(const pdl_node *n) { return (yn *)(void *)(size_t)(const void *)n; }

static void drop_owned(void *p) {
    owned_values *all = p;
    for (size_t i = 0; i < all->n; i++) pdl_drop(all->p[i]);
    pdl_vec_fini(all);
}

/* Returns the address of a node as a key. */
static pdl_str address(const yn *const *n) { return (pdl_str){(const char *)n, sizeof *n}; }

static const oddity *oddity_of(const loader *l, const yn *n) {
    static const oddity none = {0};
    return n->odd ? pdl_map_find(&l->oddities, address(&n)) : &none;
}

static oddity *make_odd(loader *l, yn *n) {
    const yn *key = n;
    oddity *o = n->odd ? pdl_map_find(&l->oddities, address(&key)) : NULL;
    if (o) return o;
    o = pdl_arena_new(l->arena, oddity);
    o->of = n;
    n->odd = true;
    (void)pdl_map_put(&l->oddities, address(&o->of), o);
    return o;
}

/* --- faults ----------------------------------------------------------------------------------- */

static PDL_PRINTF(6, 7) void set_fault(loader *l, yn *n, uint32_t off, bool late,
                                       const char *py_class, const char *fmt, ...) {
    oddity *o = make_odd(l, n);
    if (o->fault) return;
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    fault *f = pdl_arena_new(l->arena, fault);
    *f = (fault){py_class, pdl_arena_str(l->arena, pdl_buf_str(&b)), off, late};
    pdl_buf_fini(&b);
    o->fault = f;
    l->faults++;
}

static const char *kind_name(const yn *n) {
    return n->pub.kind == PDL_NODE_SCALAR ? "scalar"
           : n->pub.kind == PDL_NODE_SEQ  ? "sequence"
                                          : "mapping";
}

static bool is_collection_tag(pdl_ytag t) {
    return t == PDL_YTAG_seq || t == PDL_YTAG_map || t == PDL_YTAG_set || t == PDL_YTAG_omap ||
           t == PDL_YTAG_pairs;
}

static bool throw_fault(loader *l, const fault *f, pdl_err *err) {
    (void)pdl_yaml_fail(err, l->src, f->off, f->py_class, "%.*s", PDL_FMT(f->msg));
    pdl_yaml_advise(err, f->off, SIZE_MAX);
    return false;
}

static bool unhashable(const yn *key) {
    return key->pub.kind != PDL_NODE_SCALAR || is_collection_tag(key->tag);
}

typedef PDL_VEC(yn *) yn_queue;

/* Follows the reference's construction of a node: reports the problem of the node, or queues the
 * node, so that its content is constructed later. */
static bool meet(loader *l, yn *n, yn_queue *q, pdl_err *err) {
    const fault *f = oddity_of(l, n)->fault;
    if (f && !f->late) return throw_fault(l, f, err);
    if (!n->met && (n->pub.kind != PDL_NODE_SCALAR || f)) {
        n->met = true;
        *pdl_vec_push(q) = n;
    }
    return true;
}

static bool meet_pair(loader *l, yn *key, yn *value, bool hashed, yn_queue *q, pdl_err *err) {
    if (!meet(l, key, q, err)) return false;
    if (hashed && unhashable(key)) {
        (void)pdl_yaml_fail(err, l->src, key->pub.start, "ConstructorError",
                            "found unhashable key");
        pdl_yaml_advise(err, key->pub.start, SIZE_MAX);
        return false;
    }
    return meet(l, value, q, err);
}

static bool meet_merged(loader *l, const yn *value, yn_queue *q, pdl_err *err) {
    for (uint32_t i = 0; i < value->pub.n; i++) {
        if (value->pub.kind == PDL_NODE_SEQ) {
            if (!meet_merged(l, as_yn(value->pub.items[i]), q, err)) return false;
        } else if (!meet_pair(l, as_yn(value->pub.pairs[i].key), as_yn(value->pub.pairs[i].value),
                              true, q, err)) {
            return false;
        }
    }
    return true;
}

static bool meet_children(loader *l, yn *n, yn_queue *q, pdl_err *err) {
    bool hashed = n->tag == PDL_YTAG_map || n->tag == PDL_YTAG_set;
    const oddity *o = oddity_of(l, n);
    if (o->fault) return throw_fault(l, o->fault, err);
    if (n->pub.kind == PDL_NODE_SEQ) {
        for (uint32_t i = 0; i < n->pub.n; i++)
            if (!meet(l, as_yn(n->pub.items[i]), q, err)) return false;
        return true;
    }
    if (!o->raw) {
        for (uint32_t i = 0; i < n->pub.n; i++)
            if (!meet_pair(l, as_yn(n->pub.pairs[i].key), as_yn(n->pub.pairs[i].value), hashed, q,
                           err))
                return false;
        return true;
    }
    for (uint32_t i = 0; hashed && i < o->n_raw; i++)
        if (o->raw[2 * i]->tag == PDL_YTAG_merge && !meet_merged(l, o->raw[2 * i + 1], q, err))
            return false;
    for (uint32_t i = 0; i < o->n_raw; i++) {
        yn *key = o->raw[2 * i], *value = o->raw[2 * i + 1];
        if (hashed && key->tag == PDL_YTAG_merge) continue;
        if (hashed && key->tag == PDL_YTAG_value)
            /* the key `=` marks a plain value, so the value is used instead of the whole pair */
            key = value;
        if (!meet_pair(l, key, value, hashed && key != value, q, err)) return false;
    }
    return true;
}

/* Finds the first problem in the reference's order of construction. */
static bool find_fault(loader *l, pdl_err *err) {
    yn_queue q = {0};
    bool ok = meet(l, l->root, &q, err);
    for (size_t i = 0; ok && i < q.n; i++) ok = meet_children(l, q.p[i], &q, err);
    pdl_vec_fini(&q);
    return ok;
}

/* --- scalars ---------------------------------------------------------------------------------- */

/* Hashes a short text by its first and last bytes, which differ for the texts that programs use. */
static size_t small_hash(pdl_str s) {
    uint64_t a = s.n, b = 0, c = 0;
    if (s.n >= 8) {
        a ^= pdl_word64(s.p);
        b = pdl_word64(s.p + s.n - 8);
        c = pdl_word64(s.p + (s.n - 8) / 2);
    } else if (s.n >= 4) {
        a ^= pdl_word32(s.p);
        b = pdl_word32(s.p + s.n - 4);
    } else {
        for (size_t i = 0; i < s.n; i++) b = b << 8 | (unsigned char)s.p[i];
    }
    a = a * 0x9e3779b97f4a7c15u ^ b * 0xc2b2ae3d27d4eb4fu ^ c * 0x165667b19e3779f9u;
    return (size_t)(a >> 40);
}

/* Copies a text without the arena's padding. */
static pdl_str pooled(loader *l, pdl_str text) {
    if (l->pool_left <= text.n) {
        if (text.n >= LARGEST_POOL / 8) return pdl_arena_str(l->arena, text);
        l->pool_size = l->pool_size >= LARGEST_POOL / 2 ? LARGEST_POOL
                       : l->pool_size                   ? l->pool_size * 2
                                                        : FIRST_POOL;
        while (l->pool_size <= text.n) l->pool_size *= 2;
        l->pool = pdl_arena_raw(l->arena, l->pool_size);
        l->pool_left = l->pool_size;
    }
    char *p = l->pool;
    pdl_bytes_copy(p, text.p, text.n);
    p[text.n] = 0;
    l->pool += text.n + 1;
    l->pool_left -= text.n + 1;
    return (pdl_str){p, text.n};
}

static void make_text(loader *l, yn *n, pdl_str text) {
    if (text.n <= PDL_NODE_SHORT) {
        pdl_str *slot = &l->recent[small_hash(text) % PDL_NODE_RECENT];
        if (!slot->p || slot->n != text.n || !pdl_bytes_eq(slot->p, text.p, text.n))
            *slot = pooled(l, text);
        n->pub.text = *slot;
    } else if (text.n < LONG_TEXT) {
        n->pub.text = pooled(l, text);
    } else {
        pdl_val v = pdl_text(text);
        *pdl_vec_push(l->owned) = v;
        n->pub.text = pdl_str_get(v);
        n->pub.counted = true;
    }
}

/* Returns the class of the error for a value that cannot be made, as text that lives as long as the
 * tree. An error whose class is not listed here, such as the error of a limit, becomes a
 * ValueError. */
static const char *class_of(const pdl_err *why) {
    static const char *const classes[] = {"ConstructorError", "KeyError", "IndexError",
                                          "AttributeError"};
    for (size_t i = 0; why->py_class && i < sizeof classes / sizeof classes[0]; i++)
        if (!strcmp(why->py_class, classes[i])) return classes[i];
    return "ValueError";
}

/* Stores the text of a scalar that is not a string, and checks that its tag can make a value of the
 * text. A problem is stored for later. */
static void make_scalar(loader *l, yn *n, pdl_str text) {
    if (n->tag == PDL_YTAG_OTHER) {
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
            set_fault(l, n, n->pub.start, true, "ConstructorError",
                      "expected a sequence, but found scalar");
        else
            set_fault(l, n, n->pub.start, true, "ConstructorError",
                      "expected a %s node, but found scalar",
                      n->tag == PDL_YTAG_seq ? "sequence" : "mapping");
        return;
    }
    pdl_err bad = {0};
    pdl_val v;
    n->pub.text = pooled(l, text);
    if (pdl_yaml_scalar(n->tag, text, &v, &bad)) {
        pdl_drop(v); /* the value is not kept, because pdl_node_value can make it again */
        return;
    }
    set_fault(l, n, n->pub.start, false, class_of(&bad), "%s", bad.msg);
    pdl_err_fini(&bad);
}

/* --- collections ------------------------------------------------------------------------------ */

/* Returns true when two scalar keys are equal as values. Text is never equal to anything else. */
static bool keys_equal(const pdl_node *a, const pdl_node *b) {
    bool text = a->type == PDL_NT_STR;
    if (text != (b->type == PDL_NT_STR)) return false;
    if (text) return a->text.p == b->text.p || pdl_str_eq(a->text, b->text);
    if (pdl_node_is_word(a) || pdl_node_is_word(b)) /* a word is compared by its text */
        return pdl_node_is_word(a) && pdl_node_is_word(b) && pdl_str_eq(a->text, b->text);
    pdl_val x = pdl_node_value(a), y = pdl_node_value(b);
    bool equal = pdl_val_eq(x, y);
    pdl_drop(x);
    pdl_drop(y);
    return equal;
}

static uint32_t key_hash(const pdl_node *key) {
    if (key->type == PDL_NT_STR) return pdl_hash_str(key->text);
    pdl_val v = pdl_node_value(key);
    uint32_t h = pdl_val_hash(v);
    pdl_drop(v);
    return h;
}

/* Returns the index of the entry whose key equals key, among the first n. */
static uint32_t find_small(const pdl_pair *p, uint32_t n, const pdl_node *key) {
    uint32_t i = 0;
    while (i < n && (p[i].key->kind != PDL_NODE_SCALAR || !keys_equal(p[i].key, key))) i++;
    return i;
}

/* Returns true when all keys are texts, and their first bytes, last bytes and lengths show that
 * they differ, as in most mappings. A number from 0 to 63 is computed from these bytes and the
 * length, and no two keys may have the same number. */
static bool are_different(const pdl_pair *p, uint32_t n) {
    uint64_t seen = 0;
    for (uint32_t i = 0; i < n; i++) {
        const pdl_node *key = p[i].key;
        if (key->kind != PDL_NODE_SCALAR || key->type != PDL_NT_STR || !key->text.n) return false;
        const unsigned char *u = (const unsigned char *)key->text.p;
        uint64_t bit = UINT64_C(1) << ((u[0] + u[key->text.n - 1] * 5u + key->text.n * 11u) % 64);
        if (seen & bit) return false;
        seen |= bit;
    }
    return true;
}

/* Joins pairs with equal keys in place: the last value at the first position. Keys that cannot be
 * compared stay. Returns the number of pairs that remain. When pairs were joined, the entry after
 * the remaining pairs is the first repetition: the repeated key, and the equal key before it. */
static uint32_t join_equal(pdl_pair *p, uint32_t n) {
    uint32_t kept = 0;
    if (are_different(p, n)) return n;
    pdl_pair repeated = {NULL, NULL};
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
            for (h = key_hash(p[i].key) & mask; slots[h]; h = (h + 1) & mask)
                if (keys_equal(p[slots[h] - 1].key, p[i].key)) {
                    same = slots[h] - 1;
                    break;
                }
            if (same == kept) slots[h] = kept + 1;
        } else if (p[i].key->kind == PDL_NODE_SCALAR) {
            same = find_small(p, kept, p[i].key);
        }
        if (same < kept) {
            if (!repeated.key) repeated = (pdl_pair){p[i].key, p[same].key};
            p[same].value = p[i].value;
        } else {
            p[kept++] = p[i];
        }
    }
    if (repeated.key) p[kept] = repeated;
    pdl_free(slots);
    return kept;
}

typedef PDL_VEC(pdl_pair) pair_list;

static void add_size(yn *to, const yn *n) {
    to->size += n->size; /* both sizes are small, so the sum cannot overflow */
    if (to->size > PDL_MAX_YAML_NODES) to->size = PDL_MAX_YAML_NODES + 1;
}

static void add_pairs(pair_list *out, yn *to, const yn *map) {
    for (uint32_t i = 0; i < map->pub.n; i++) {
        yn *value = as_yn(map->pub.pairs[i].value);
        *pdl_vec_push(out) = map->pub.pairs[i];
        add_size(to, value);
        value->pub.shared = true;
    }
}

/* Collects the entries that the value of a merge key adds. Earlier mappings of a list are added
 * later, so they win. */
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

/* Puts the pairs of merge keys before the node's own pairs. */
static void merge_pairs(loader *l, yn *n, yn **kids, uint32_t pairs) {
    pair_list all = {0};
    for (uint32_t i = 0; i < pairs; i++)
        if (kids[2 * i]->tag == PDL_YTAG_merge) add_merge(l, n, kids[2 * i + 1], &all);
    for (uint32_t i = 0; i < pairs; i++)
        if (kids[2 * i]->tag != PDL_YTAG_merge)
            *pdl_vec_push(&all) = (pdl_pair){&kids[2 * i]->pub, &kids[2 * i + 1]->pub};
    n->pub.n = join_equal(all.p, (uint32_t)all.n);
    n->pub.pairs = pdl_arena_raw(l->arena, n->pub.n * sizeof *all.p);
    if (all.p) memcpy(n->pub.pairs, all.p, n->pub.n * sizeof *all.p);
    pdl_vec_fini(&all);
}

/* Ends a mapping. kids has keys and values alternating. Where the search for faults needs them, the
 * entries are stored as written. */
static void close_map(loader *l, yn *n, yn **kids, size_t count) {
    bool merges = false, special = false;
    uint32_t pairs = (uint32_t)(count / 2);
    for (uint32_t i = 0; i < pairs; i++) {
        yn *key = kids[2 * i];
        if (key->tag == PDL_YTAG_merge) merges = true;
        if (key->tag == PDL_YTAG_value) special = true;
        if (unhashable(key)) l->faults++;
    }
    if (merges) {
        merge_pairs(l, n, kids, pairs);
    } else {
        n->pub.pairs = pdl_arena_raw(l->arena, pairs * sizeof *n->pub.pairs);
        for (uint32_t i = 0; i < pairs; i++)
            n->pub.pairs[i] = (pdl_pair){&kids[2 * i]->pub, &kids[2 * i + 1]->pub};
        n->pub.n = join_equal(n->pub.pairs, pairs);
        n->pub.repeats = n->pub.n < pairs;
    }
    if (!merges && !special && (n->pub.n == pairs || !l->faults)) return;
    oddity *o = make_odd(l, n);
    o->raw = pdl_arena_raw(l->arena, count * sizeof *kids);
    if (kids) memcpy(o->raw, kids, count * sizeof *kids);
    o->n_raw = pairs;
}

static void close_seq(loader *l, yn *n, yn **kids, size_t count) {
    const pdl_node **items = pdl_arena_raw(l->arena, count * sizeof *items);
    for (size_t i = 0; i < count; i++) items[i] = &kids[i]->pub;
    n->pub.items = items;
    n->pub.n = (uint32_t)count;
}

/* Checks that the tag of a collection fits its kind. */
static void check_tag(loader *l, yn *n) {
    bool map = n->pub.kind == PDL_NODE_MAP,
         list = n->tag == PDL_YTAG_omap || n->tag == PDL_YTAG_pairs;
    uint32_t at = n->pub.start;
    if (n->tag == PDL_YTAG_OTHER || oddity_of(l, n)->fault) return;
    if (n->tag == PDL_YTAG_merge || n->tag == PDL_YTAG_value) {
        set_fault(l, n, at, false, "ConstructorError",
                  "could not determine a constructor for the tag 'tag:yaml.org,2002:%s'",
                  pdl_ytag_name(n->tag));
    } else if (!is_collection_tag(n->tag)) {
        set_fault(l, n, at, false, "ConstructorError", "expected a scalar node, but found %s",
                  kind_name(n));
    } else if (list && map) {
        set_fault(l, n, at, true, "ConstructorError", "expected a sequence, but found mapping");
    } else if (!list && map != (n->tag != PDL_YTAG_seq)) {
        set_fault(l, n, at, true, "ConstructorError", "expected a %s node, but found %s",
                  map ? "sequence" : "mapping", kind_name(n));
    } else if (list) {
        for (uint32_t i = 0; i < n->pub.n; i++) {
            const yn *sub = as_yn(n->pub.items[i]);
            uint32_t entries = oddity_of(l, sub)->raw ? oddity_of(l, sub)->n_raw : sub->pub.n;
            if (sub->pub.kind != PDL_NODE_MAP)
                set_fault(l, n, sub->pub.start, true, "ConstructorError",
                          "expected a mapping of length 1, but found %s", kind_name(sub));
            else if (entries != 1)
                set_fault(l, n, sub->pub.start, true, "ConstructorError",
                          "expected a single mapping item, but found %u items", entries);
        }
    }
}

/* --- composing -------------------------------------------------------------------------------- */

static bool too_deep(loader *l, uint32_t off, pdl_err *err) {
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){l->src, off, off},
                       "YAML is nested deeper than %d levels", (int)PDL_MAX_YAML_DEPTH);
}

static bool put_any(loader *l, yn *n, uint32_t off, pdl_err *err) {
    yn *up = l->stack.n ? l->stack.p[l->stack.n - 1].node : NULL;
    if (up) add_size(up, n);
    if ((up ? up : n)->size > PDL_MAX_YAML_NODES)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){l->src, off, off},
                           "YAML has more than %d nodes after aliases are expanded",
                           (int)PDL_MAX_YAML_NODES);
    if (!up) {
        l->root = n;
        return true;
    }
    if (n->depth >= up->depth) up->depth = (uint16_t)(n->depth + 1);
    if (up->depth + l->stack.n > PDL_MAX_YAML_DEPTH) return too_deep(l, off, err);
    *pdl_vec_push(&l->pending) = n;
    return true;
}

/* Adds a child to the innermost collection. When the child is a leaf, and the collection has
 * children already, only the size of the collection grows, by one. */
static inline bool put_child(loader *l, yn *n, uint32_t off, pdl_err *err) {
    yn *up = l->stack.n ? l->stack.p[l->stack.n - 1].node : NULL;
    if (!up || n->depth || n->size > 1 || !up->depth || up->size >= PDL_MAX_YAML_NODES)
        return put_any(l, n, off, err);
    up->size++;
    *pdl_vec_push(&l->pending) = n;
    return true;
}

static pdl_ytag tag_of(loader *l, yn *n, const pdl_yevent *e, pdl_ytag implicit) {
    pdl_ytag t;
    if (!e->tag.n) return implicit;
    t = pdl_ytag_find(e->tag);
    if (t == PDL_YTAG_OTHER) {
        pdl_buf shown = PDL_BUF;
        pdl_str_repr(e->tag, &shown);
        set_fault(l, n, e->start, false, "ConstructorError",
                  "could not determine a constructor for the tag %s", pdl_buf_z(&shown));
        pdl_buf_fini(&shown);
    }
    return t;
}

static bool name_anchor(loader *l, yn *n, const pdl_yevent *e, pdl_err *err) {
    if (pdl_map_find(&l->anchors, e->anchor)) {
        (void)pdl_yaml_fail(err, l->src, e->start, "ComposerError", "second occurrence");
        pdl_err_hint(err, "the anchor &%.*s is above already: give this one another name",
                     PDL_FMT(e->anchor));
        return false;
    }
    (void)pdl_map_put(&l->anchors, pdl_arena_str(l->arena, e->anchor), n);
    return true;
}

static inline bool set_anchor(loader *l, yn *n, const pdl_yevent *e, pdl_err *err) {
    return PDL_LIKELY(!e->anchor.p) || name_anchor(l, n, e, err);
}

static void more_nodes(loader *l) {
    l->n_nodes = l->nodes_taken < FIRST_NODES ? FIRST_NODES
                 : l->nodes_taken < MAX_NODES ? l->nodes_taken
                                              : MAX_NODES;
    l->nodes_taken += l->n_nodes;
    l->nodes = pdl_arena_raw(l->arena, l->n_nodes * sizeof(yn));
}

static inline yn *new_node(loader *l, const pdl_yevent *e, pdl_node_kind kind) {
    if (PDL_UNLIKELY(!l->n_nodes)) more_nodes(l);
    l->n_nodes--;
    yn *n = l->nodes++;
    *n = (yn){
        .pub = {.kind = kind, .style = e->style, .start = e->start, .end = e->end, .src = l->src},
        .size = 1};
    return n;
}

static bool on_scalar(loader *l, const pdl_yevent *e, pdl_err *err) {
    yn *n = new_node(l, e, PDL_NODE_SCALAR);
    if (!set_anchor(l, n, e, err)) return false;
    pdl_ytag tag = PDL_YTAG_str;
    if (PDL_UNLIKELY(e->tag.n))
        tag = tag_of(l, n, e, PDL_YTAG_str);
    else if (e->plain)
        tag = pdl_ytag_of_plain(e->text);
    n->tag = tag;
    if (PDL_LIKELY(tag == PDL_YTAG_str)) {
        n->pub.type = PDL_NT_STR;
        make_text(l, n, e->text);
    } else {
        n->pub.type = pdl_ytag_type(tag);
        make_scalar(l, n, e->text);
    }
    return put_child(l, n, e->start, err);
}

static bool on_alias(loader *l, const pdl_yevent *e, pdl_err *err) {
    yn *n = pdl_map_find(&l->anchors, e->anchor);
    if (!n) {
        (void)pdl_yaml_fail(err, l->src, e->start, "ComposerError", "found undefined alias '%.*s'",
                            PDL_FMT(e->anchor));
        pdl_yaml_advise(err, e->start, SIZE_MAX);
        return false;
    }
    if (n->open)
        return pdl_yaml_fail(err, l->src, e->start, "ComposerError", "found recursive alias '%.*s'",
                             PDL_FMT(e->anchor));
    n->pub.shared = true;
    return put_child(l, n, e->start, err);
}

static bool on_open(loader *l, const pdl_yevent *e, pdl_err *err) {
    bool seq = e->kind == PDL_YEV_SEQ;
    yn *n = new_node(l, e, seq ? PDL_NODE_SEQ : PDL_NODE_MAP);
    n->tag = tag_of(l, n, e, seq ? PDL_YTAG_seq : PDL_YTAG_map);
    pdl_node_type type = pdl_ytag_type(n->tag);
    if (n->tag == PDL_YTAG_OTHER) type = seq ? PDL_NT_SEQ : PDL_NT_MAP;
    n->pub.type = type;
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
    if (n->pub.style == PDL_STYLE_FLOW)
        n->pub.end = e->end;
    else if (count && kids[count - 1]->pub.end > n->pub.end &&
             kids[count - 1]->pub.start >= n->pub.start)
        n->pub.end = kids[count - 1]->pub.end;
    if (n->pub.kind == PDL_NODE_MAP)
        close_map(l, n, kids, count);
    else
        close_seq(l, n, kids, count);
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
            if (docs++) {
                (void)pdl_yaml_fail(err, l->src, e.start, "ComposerError",
                                    "but found another document");
                pdl_yaml_advise(err, e.start, SIZE_MAX);
                return false;
            }
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

static bool load(loader *l, const pdl_node **out, pdl_err *err) {
    if (!compose(l, err)) return false;
    if (l->faults && l->root && !find_fault(l, err)) return false;
    if (!l->root) {
        pdl_yevent none = {.style = PDL_STYLE_PLAIN};
        l->root = new_node(l, &none, PDL_NODE_SCALAR);
        l->root->pub.type = PDL_NT_NULL;
    }
    *out = &l->root->pub;
    return true;
}

/* Finds line and column as the reference counts them: NEL, LS and PS end lines as well. */
static void place_of(pdl_str s, uint32_t off, uint32_t *line, uint32_t *column) {
    *line = *column = 1;
    for (const char *p = s.p, *end = s.p + off; p < end;) {
        uint32_t cp = pdl_utf8_next(&p);
        bool ends = cp == '\n' || cp == 0x85 || cp == 0x2028 || cp == 0x2029;
        *line += ends;
        *column = ends ? 1 : *column + 1;
    }
}

static bool load_from(pdl_arena *a, pdl_yreader *reader, const pdl_source *src,
                      const pdl_node **out, pdl_err *err) {
    loader l = {.arena = a, .src = src, .reader = reader};
    l.owned = pdl_arena_new(a, owned_values);
    pdl_arena_defer(a, drop_owned, l.owned);
    bool ok = load(&l, out, err);
    pdl_yreader_free(reader);
    pdl_vec_fini(&l.stack);
    pdl_vec_fini(&l.pending);
    pdl_map_fini(&l.anchors);
    pdl_map_fini(&l.oddities);
    return ok;
}

bool pdl_yaml_load_at(pdl_arena *a, const pdl_source *src, const pdl_node **out, uint32_t *line,
                      uint32_t *column, pdl_err *err) {
    bool ok = pdl_yaml_check_chars(src->text, src, err) &&
              load_from(a, pdl_yreader_new(src), src, out, err);
    *line = *column = 0;
    if (!ok && err->loc.src) place_of(src->text, err->loc.start, line, column);
    return ok;
}

bool pdl_yaml_load(pdl_arena *a, const pdl_source *src, const pdl_node **out, pdl_err *err) {
    uint32_t line, column;
    return pdl_yaml_load_at(a, src, out, &line, &column, err);
}

const pdl_node *pdl_ytree_load(pdl_arena *a, const pdl_source *src, pdl_err *err) {
    pdl_yrecovery rec = {0};
    pdl_err none = {0};
    const pdl_node *root = NULL;
    bool ok = pdl_yaml_check_chars(src->text, src, err) &&
              load_from(a, pdl_yreader_new_tolerant(src, &rec, &none), src, &root, err);
    pdl_yrecovery_fini(&rec);
    return ok ? root : NULL;
}
