/* shape.c -- keys that dicts share; see shape.h. Each shape has an array of keys and, when it has
 * more than SMALL keys, an index over them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/shape.h"

#include <assert.h>

#include "base/hash.h"

#include "base/banned.h"

enum {
    /* up to this number of keys, comparing the cached hashes one by one is faster than a table */
    SMALL = 8,
    FIRST_CAP = 4,
    MAX_KEYS = UINT32_MAX / 4
};

/* Checks the invariants of shape.h. At least one slot is free, so every probe ends. */
static inline bool shape_ok(const pdl_shape *s) {
    return s->refs > 0 && s->n <= s->cap && (s->slots ? s->n <= s->mask : s->n <= SMALL);
}

static pdl_shape *resized(pdl_shape *s, size_t cap) {
    if (cap >= MAX_KEYS) PDL_BUG("dict of %zu entries", cap);
    s = pdl_realloc(s, sizeof *s + cap * sizeof s->keys[0]);
    s->cap = (uint32_t)cap;
    return s;
}

pdl_shape *pdl_shape_new(size_t cap) {
    pdl_shape *s = resized(NULL, cap);
    s->refs = 1;
    s->n = s->mask = 0;
    s->slots = NULL;
    return s;
}

void pdl_shape_free(pdl_shape *s) {
    assert(s->refs == 0);
    pdl_free(s->slots);
    pdl_free(s);
}

void pdl_shape_drop(pdl_shape *s) {
    assert(!s || shape_ok(s));
    if (!s || --s->refs > 0) return;
    for (uint32_t i = 0; i < s->n; i++) pdl_drop(s->keys[i].key);
    pdl_shape_free(s);
}

static void slot_add(pdl_shape *s, uint32_t hash, uint32_t i) {
    assert(i < s->mask);
    uint32_t at = hash & s->mask;
    while (s->slots[at]) at = (at + 1) & s->mask;
    s->slots[at] = i + 1;
}

/* Builds the table for at least `want` keys, with a load of at most two thirds. */
static void reindex(pdl_shape *s, size_t want) {
    pdl_free(s->slots);
    s->slots = NULL;
    s->mask = 0;
    if (want <= SMALL) return;
    size_t size = 32;
    while (size * 2 / 3 < want) size *= 2;
    s->slots = pdl_calloc(size, sizeof *s->slots);
    s->mask = (uint32_t)(size - 1);
    for (uint32_t i = 0; i < s->n; i++) slot_add(s, s->keys[i].hash, i);
}

pdl_shape *pdl_shape_own(pdl_shape *s, size_t more) {
    assert(shape_ok(s));
    if (s->refs == 1) return s;
    pdl_shape *copy = pdl_shape_new(s->n + more);
    for (uint32_t i = 0; i < s->n; i++) {
        copy->keys[i] = s->keys[i];
        (void)pdl_keep(s->keys[i].key);
    }
    copy->n = s->n;
    if (s->slots) {
        size_t size = (size_t)s->mask + 1;
        copy->slots = pdl_realloc_n(NULL, size, sizeof *copy->slots);
        memcpy(copy->slots, s->slots, size * sizeof *copy->slots);
        copy->mask = s->mask;
    }
    s->refs--;
    return copy;
}

static bool is_str_key(pdl_vref key, pdl_str text) {
    return pdl_is_str(key) && pdl_str_eq(pdl_str_get(key), text);
}

uint32_t pdl_shape_find_str(const pdl_shape *s, pdl_str key, uint32_t hash) {
    assert(!s || shape_ok(s));
    if (!s) return PDL_NO_KEY;
    if (!s->slots) {
        for (uint32_t i = 0; i < s->n; i++)
            if (s->keys[i].hash == hash && is_str_key(s->keys[i].key, key)) return i;
        return PDL_NO_KEY;
    }
    for (uint32_t at = hash & s->mask, i; (i = s->slots[at]) != 0; at = (at + 1) & s->mask)
        if (s->keys[i - 1].hash == hash && is_str_key(s->keys[i - 1].key, key)) return i - 1;
    return PDL_NO_KEY;
}

/* Searches among few keys one by one, because comparing keys of different lengths is faster than
 * hashing a key. */
uint32_t pdl_shape_find_text(const pdl_shape *s, pdl_str key) {
    assert(!s || shape_ok(s));
    if (!s) return PDL_NO_KEY;
    if (s->slots) return pdl_shape_find_str(s, key, pdl_hash_str(key));
    for (uint32_t i = 0; i < s->n; i++)
        if (is_str_key(s->keys[i].key, key)) return i;
    return PDL_NO_KEY;
}

uint32_t pdl_shape_find(const pdl_shape *s, pdl_vref key, uint32_t hash) {
    assert(!s || shape_ok(s));
    if (pdl_is_str(key)) return pdl_shape_find_str(s, pdl_str_get(key), hash);
    if (!s) return PDL_NO_KEY;
    if (!s->slots) {
        for (uint32_t i = 0; i < s->n; i++)
            if (s->keys[i].hash == hash && pdl_val_eq(s->keys[i].key, key)) return i;
        return PDL_NO_KEY;
    }
    for (uint32_t at = hash & s->mask, i; (i = s->slots[at]) != 0; at = (at + 1) & s->mask)
        if (s->keys[i - 1].hash == hash && pdl_val_eq(s->keys[i - 1].key, key)) return i - 1;
    return PDL_NO_KEY;
}

pdl_shape *pdl_shape_add(pdl_shape *s, pdl_val key, uint32_t hash) {
    assert(!s || (s->refs == 1 && shape_ok(s)));
    if (!s) s = pdl_shape_new(FIRST_CAP);
    if (s->n == s->cap)
        s = resized(s, s->cap < FIRST_CAP ? FIRST_CAP : (size_t)s->cap + s->cap / 2);
    size_t need = (size_t)s->n + 1;
    if (need > SMALL && (!s->slots || need > ((size_t)s->mask + 1) * 2 / 3)) reindex(s, need);
    s->keys[s->n] = (pdl_shape_key){key, hash};
    if (s->slots) slot_add(s, hash, s->n);
    s->n++;
    return s;
}

void pdl_shape_remove(pdl_shape *s, uint32_t i) {
    assert(s->refs == 1 && shape_ok(s));
    assert(i < s->n);
    pdl_val key = s->keys[i].key;
    s->n--;
    memmove(s->keys + i, s->keys + i + 1, (s->n - i) * sizeof *s->keys);
    if (s->slots) reindex(s, s->n);
    pdl_drop(key);
}
