/* map.c -- a hash map from text to pointers; see map.h.
 *
 * The slots of an open-addressing table hold the numbers of entries, and the entries are in a
 * separate array. So an entry keeps its index, and the order of insertion, when the table grows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/map.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/word.h"

#include "base/banned.h"

/* Invariant: there are at least twice as many slots as entries, and their number is a power of
 * two. */
static inline bool map_ok(const pdl_map *m) {
    if (!m->slots) return m->n == 0 && m->cap == 0;
    return m->n <= m->cap && m->mask == m->cap * 2 - 1 && (m->cap & (m->cap - 1)) == 0;
}

void pdl_map_fini(pdl_map *m) {
    assert(map_ok(m));
    pdl_free(m->entries);
    pdl_free(m->slots);
    *m = (pdl_map){0};
}

static inline bool is_same(pdl_str a, pdl_str b) {
    return a.n == b.n && (a.p == b.p || pdl_bytes_eq(a.p, b.p, a.n));
}

static inline uint32_t *slot_of(const pdl_map *m, pdl_str key) {
    for (size_t i = pdl_hash_str(key) & m->mask;; i = (i + 1) & m->mask) {
        uint32_t k = m->slots[i];
        if (!k || is_same(m->entries[k - 1].key, key)) return &m->slots[i];
    }
}

static void grow(pdl_map *m) {
    assert(m->n == m->cap);
    m->cap = m->cap ? m->cap * 2 : 16;
    m->entries = pdl_realloc_n(m->entries, m->cap, sizeof *m->entries);
    pdl_free(m->slots);
    m->mask = m->cap * 2 - 1;
    m->slots = PDL_NEW_N(uint32_t, m->mask + 1);
    for (size_t i = 0; i < m->n; i++) *slot_of(m, m->entries[i].key) = (uint32_t)(i + 1);
}

void *pdl_map_find(const pdl_map *m, pdl_str key) {
    assert(map_ok(m));
    if (!m->n) return NULL;
    uint32_t k = *slot_of(m, key);
    return k ? m->entries[k - 1].value : NULL;
}

size_t pdl_map_entry_index(pdl_map *m, pdl_str key) {
    assert(map_ok(m));
    if (m->n == m->cap) grow(m);
    uint32_t *slot = slot_of(m, key);
    if (!*slot) {
        m->entries[m->n++] = (pdl_map_entry){key, NULL};
        *slot = (uint32_t)m->n;
    }
    return *slot - 1;
}

void *pdl_map_put(pdl_map *m, pdl_str key, void *value) {
    size_t at = pdl_map_entry_index(m, key);
    void *old = m->entries[at].value;
    m->entries[at].value = value;
    return old;
}
