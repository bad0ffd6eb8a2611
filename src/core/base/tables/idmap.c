/* idmap.c -- a hash map from ids to pointers; see idmap.h.
 *
 * The table uses linear probing. A deletion moves later entries into the gap, so that no marks of
 * deleted entries make searches longer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/idmap.h"

#include <assert.h>

#include "base/alloc.h"

#include "base/banned.h"

/* Invariant: at least one place is free, so every probe ends. */
static inline bool idmap_ok(const pdl_idmap *m) {
    return m->keys ? m->n <= m->mask && (m->mask & (m->mask + 1)) == 0 : m->n == 0;
}

/* The upper bits of a product depend on all bits of the id. */
static size_t home(const pdl_idmap *m, uintptr_t id) {
    return (size_t)(((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & m->mask;
}

static size_t slot_of(const pdl_idmap *m, uintptr_t id) {
    assert(id != 0);
    size_t i = home(m, id);
    while (m->keys[i] && m->keys[i] != id) i = (i + 1) & m->mask;
    return i;
}

void *pdl_idmap_find(const pdl_idmap *m, uintptr_t id) {
    assert(idmap_ok(m));
    if (!m->keys || !id) return NULL;
    size_t i = slot_of(m, id);
    return m->keys[i] ? m->vals[i] : NULL;
}

static void grow(pdl_idmap *m) {
    pdl_idmap old = *m;
    size_t size = old.keys ? (old.mask + 1) * 2 : 16;
    m->keys = PDL_NEW_N(uintptr_t, size);
    m->vals = PDL_NEW_N(void *, size);
    m->mask = size - 1;
    for (size_t i = 0; old.keys && i <= old.mask; i++) {
        if (!old.keys[i]) continue;
        size_t k = slot_of(m, old.keys[i]);
        m->keys[k] = old.keys[i];
        m->vals[k] = old.vals[i];
    }
    pdl_free(old.keys);
    pdl_free(old.vals);
}

void pdl_idmap_put(pdl_idmap *m, uintptr_t id, void *p) {
    assert(idmap_ok(m));
    assert(id != 0);
    if (!m->keys || (m->n + 1) * 4 > (m->mask + 1) * 3) grow(m);
    size_t i = slot_of(m, id);
    if (!m->keys[i]) m->n++;
    m->keys[i] = id;
    m->vals[i] = p;
}

void pdl_idmap_del(pdl_idmap *m, uintptr_t id) {
    assert(idmap_ok(m));
    if (!m->keys) return;
    size_t i = slot_of(m, id);
    if (!m->keys[i]) return;
    m->n--;
    for (size_t j = i;;) {
        m->keys[i] = 0;
        for (;;) {
            j = (j + 1) & m->mask;
            if (!m->keys[j]) return;
            size_t h = home(m, m->keys[j]);
            /* The entry at j may move to i unless its home is cyclically in (i, j]. */
            bool stays = i < j ? (h > i && h <= j) : (h > i || h <= j);
            if (!stays) break;
        }
        m->keys[i] = m->keys[j];
        m->vals[i] = m->vals[j];
        i = j;
    }
}

void pdl_idmap_fini(pdl_idmap *m) {
    assert(idmap_ok(m));
    pdl_free(m->keys);
    pdl_free(m->vals);
    *m = (pdl_idmap){0};
}
