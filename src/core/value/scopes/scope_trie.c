/* scope_trie.c -- see scope_trie.h. A 16-way trie over name ids; nodes hold only the slots in use,
 * which a bit map records. A leaf holds the bindings of 16 adjacent ids. The ids of one program are
 * dense, so a look-up takes two or three loads. Copies share nodes; a shared node is copied before
 * it changes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/scopes/scope_trie.h"

#include <assert.h>
#include <stdlib.h>

#include "base/vec.h"
#include "value/obj.h"

#include "base/banned.h"

enum { BITS = 4, WIDTH = 1 << BITS, MAX_HEIGHT = 8 };

typedef struct {
    pdl_val val;
    pdl_name name;
    uint32_t seq; /* number in the order of first definitions */
} entry;

/* The head of both kinds of node. Invariant: there are as many slots as bits in map, in the order
 * of the bits; n <= cap. */
typedef struct pdl_scope_node {
    uint32_t refs;
    uint16_t map;
    uint8_t n, cap;
} node;

typedef struct {
    node head;
    entry e[];
} leaf;

typedef struct {
    node head;
    node *sub[];
} inner;

static inline bool trie_ok(const pdl_scope_trie *s) {
    return s->count <= s->next_seq && s->height < MAX_HEIGHT && (s->top ? true : s->count == 0);
}

static inline leaf *leaf_of(node *n) { return (leaf *)(void *)n; }
static inline inner *inner_of(node *n) { return (inner *)(void *)n; }

static inline unsigned digit(pdl_name name, unsigned level) {
    return (name >> (BITS * level)) & (WIDTH - 1);
}

/* Returns the position of digit d's slot among the slots in use. */
static inline unsigned slot_of(const node *n, unsigned d) {
    assert(d < WIDTH);
    if (n->map == 0xffff) return d;
    /* Counts the bits in parallel, because the builtin would be a function call on a processor
     * without the instruction. */
    unsigned x = n->map & ((1u << d) - 1u);
    x -= (x >> 1) & 0x5555u;
    x = (x & 0x3333u) + ((x >> 2) & 0x3333u);
    x = (x + (x >> 4)) & 0x0f0fu;
    return (x + (x >> 8)) & 0x1fu;
}

/* Returns the bytes of a node that has room for cap slots. */
static size_t node_bytes(bool is_leaf, size_t cap) {
    return sizeof(node) + cap * (is_leaf ? sizeof(entry) : sizeof(node *));
}

static node *node_new(bool is_leaf, size_t cap) {
    node *n = pdl_alloc(node_bytes(is_leaf, cap));
    *n = (node){.refs = 1, .cap = (uint8_t)cap};
    return n;
}

static void node_drop(node *n, unsigned level) { /* recurses at most MAX_HEIGHT levels */
    if (--n->refs > 0) return;
    if (level == 0) {
        leaf *l = leaf_of(n);
        for (unsigned i = 0; i < n->n; i++) pdl_drop(l->e[i].val);
    } else {
        inner *in = inner_of(n);
        for (unsigned i = 0; i < n->n; i++) node_drop(in->sub[i], level - 1);
    }
    pdl_free(n);
}

/* Returns the node *link. When other scopes share it, replaces it by a copy first. */
static node *node_own(node **link, bool is_leaf) {
    node *n = *link;
    if (n->refs == 1) return n;
    node *copy = node_new(is_leaf, n->n < WIDTH ? n->n + 1u : WIDTH);
    copy->map = n->map;
    copy->n = n->n;
    if (is_leaf) {
        memcpy(leaf_of(copy)->e, leaf_of(n)->e, n->n * sizeof(entry));
        for (unsigned i = 0; i < n->n; i++) (void)pdl_keep(leaf_of(n)->e[i].val);
    } else {
        memcpy(inner_of(copy)->sub, inner_of(n)->sub, n->n * sizeof(node *));
        for (unsigned i = 0; i < n->n; i++) inner_of(n)->sub[i]->refs++;
    }
    n->refs--;
    *link = copy;
    return copy;
}

/* Opens the slot of digit d in an owned node, where it is not in use yet. Returns its position. */
static unsigned slot_open(node **link, bool is_leaf, unsigned d) {
    node *n = *link;
    unsigned at = slot_of(n, d);
    if (n->n == n->cap) {
        size_t cap = n->cap < 2 ? 2 : n->cap < WIDTH / 2 ? n->cap * 2u : WIDTH;
        n = pdl_realloc(n, node_bytes(is_leaf, cap));
        n->cap = (uint8_t)cap;
        *link = n;
    }
    size_t behind = (size_t)n->n - at;
    if (is_leaf)
        memmove(leaf_of(n)->e + at + 1, leaf_of(n)->e + at, behind * sizeof(entry));
    else
        memmove(inner_of(n)->sub + at + 1, inner_of(n)->sub + at, behind * sizeof(node *));
    n->map = (uint16_t)(n->map | (1u << d));
    n->n++;
    return at;
}

pdl_scope_trie pdl_scope_trie_share(const pdl_scope_trie *s) {
    assert(trie_ok(s));
    if (s->top) s->top->refs++;
    return *s;
}

void pdl_scope_trie_fini(pdl_scope_trie *s) {
    assert(trie_ok(s));
    if (s->top) node_drop(s->top, s->height);
}

/* Returns true when the trie is high enough for this id. */
static inline bool in_reach(const pdl_scope_trie *s, pdl_name name) {
    return s->height + 1 >= MAX_HEIGHT || name >> (BITS * (s->height + 1)) == 0;
}

static entry *entry_of(const pdl_scope_trie *s, pdl_name name) {
    if (!s->top || !in_reach(s, name)) return NULL;
    node *n = s->top;
    for (unsigned level = s->height; level > 0; level--) {
        unsigned d = digit(name, level);
        if (!(n->map & (1u << d))) return NULL;
        n = inner_of(n)->sub[slot_of(n, d)];
    }
    unsigned d = digit(name, 0);
    return n->map & (1u << d) ? &leaf_of(n)->e[slot_of(n, d)] : NULL;
}

pdl_vref pdl_scope_trie_find(const pdl_scope_trie *s, pdl_name name) {
    assert(trie_ok(s));
    const entry *e = entry_of(s, name);
    return e ? e->val : pdl_absent();
}

/* Adds levels at the top until the trie is high enough for the name. */
static void heighten(pdl_scope_trie *s, pdl_name name) {
    while (!in_reach(s, name)) {
        if (s->top) {
            node *up = node_new(false, 2);
            up->map = 1;
            up->n = 1;
            inner_of(up)->sub[0] = s->top;
            s->top = up;
        }
        s->height++;
    }
}

/* Returns the entry of a name in an owned scope. Adds an entry without a value when there is none.
 * The nodes on the way to the entry are then owned, too. */
static entry *entry_own(pdl_scope_trie *s, pdl_name name) {
    heighten(s, name);
    if (!s->top) s->top = node_new(s->height == 0, 2);
    node **link = &s->top;
    for (unsigned level = s->height; level > 0; level--) {
        node *n = node_own(link, false);
        unsigned d = digit(name, level);
        unsigned at = slot_of(n, d);
        if (!(n->map & (1u << d))) {
            at = slot_open(link, false, d);
            inner_of(*link)->sub[at] = node_new(level == 1, 2);
        }
        link = &inner_of(*link)->sub[at];
    }
    node *n = node_own(link, true);
    unsigned d = digit(name, 0);
    if (n->map & (1u << d)) return &leaf_of(n)->e[slot_of(n, d)];
    unsigned at = slot_open(link, true, d);
    entry *e = &leaf_of(*link)->e[at];
    *e = (entry){pdl_absent(), name, s->next_seq++};
    s->count++;
    return e;
}

static bool put_again(void *user, pdl_name name, pdl_vref v) {
    pdl_scope_trie_put(user, name, pdl_keep(v));
    return true;
}

/* Numbers the bindings again, from 0. */
static void renumber(pdl_scope_trie *s) {
    pdl_scope_trie fresh = {0};
    pdl_scope_trie_each(s, put_again, &fresh);
    pdl_scope_trie_fini(s);
    *s = fresh;
}

void pdl_scope_trie_put(pdl_scope_trie *s, pdl_name name, pdl_val x) {
    if (PDL_UNLIKELY(s->next_seq == UINT32_MAX)) renumber(s);
    entry *e = entry_own(s, name);
    pdl_val old = e->val;
    e->val = x;
    pdl_drop(old);
}

void pdl_scope_trie_del(pdl_scope_trie *s, pdl_name name) {
    if (!entry_of(s, name)) return;
    node **link = &s->top;
    for (unsigned level = s->height; level > 0; level--) {
        node *n = node_own(link, false);
        link = &inner_of(n)->sub[slot_of(n, digit(name, level))];
    }
    node *n = node_own(link, true);
    unsigned d = digit(name, 0);
    unsigned at = slot_of(n, d);
    pdl_val old = leaf_of(n)->e[at].val;
    n->n--;
    n->map = (uint16_t)(n->map & ~(1u << d));
    memmove(leaf_of(n)->e + at, leaf_of(n)->e + at + 1, (n->n - at) * sizeof(entry));
    s->count--;
    pdl_drop(old);
}

typedef PDL_VEC(const entry *) entries;

static void collect(node *n, unsigned level, entries *out) {
    for (unsigned i = 0; i < n->n; i++) {
        if (level == 0)
            *pdl_vec_push(out) = &leaf_of(n)->e[i];
        else
            collect(inner_of(n)->sub[i], level - 1, out);
    }
}

static int by_seq(const void *a, const void *b) {
    uint32_t x = (*(const entry *const *)a)->seq, y = (*(const entry *const *)b)->seq;
    return (x > y) - (x < y);
}

void pdl_scope_trie_each(const pdl_scope_trie *s, bool (*fn)(void *user, pdl_name name, pdl_vref v),
                         void *user) {
    if (!s->top) return;
    entries all = {0};
    collect(s->top, s->height, &all);
    if (all.n) qsort(all.p, all.n, sizeof *all.p, by_seq);
    for (size_t i = 0; i < all.n; i++)
        if (!fn(user, all.p[i]->name, all.p[i]->val)) break;
    pdl_vec_fini(&all);
}
