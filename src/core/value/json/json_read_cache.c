/* json_read_cache.c -- see json_read_cache.h. Two small direct-mapped caches. Bits record which
 * entries are in use, so that for a document without objects the caches cost no time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/json/json_read_cache.h"

#include "base/json_plain.h"
#include "base/word.h"
#include "value/obj.h"

#include "base/banned.h"

enum {
    MAX_TEXT = 64, /* longer texts are rarely repeated */
    MAX_SHAPE = 64 /* maximum number of keys; an object with more keys is a table and not a row */
};
#define MIX UINT64_C(0x9e3779b97f4a7c15)

static unsigned text_slot(pdl_str s) {
    uint64_t h = s.n * MIX;
    if (s.n)
        h ^= (uint64_t)(unsigned char)s.p[0] * 31 + (uint64_t)(unsigned char)s.p[s.n - 1] * 1021 +
             (uint64_t)(unsigned char)s.p[s.n / 2] * 131;
    return (unsigned)((h * MIX) >> 58);
}
static_assert(PDL_JSON_KEYS == 64, "text_slot takes six bits of the hash");

static bool is_same(pdl_str a, pdl_str b) { return a.n == b.n && pdl_bytes_eq(a.p, b.p, a.n); }

pdl_val pdl_json_intern(pdl_json_keys *keys, pdl_str text) {
    if (text.n > MAX_TEXT) return pdl_text(text);
    unsigned i = text_slot(text);
    pdl_val *slot = &keys->slot[i];
    bool used = keys->used >> i & 1;
    if (used && is_same(pdl_str_get(*slot), text)) return pdl_keep(*slot);
    if (used) pdl_drop(*slot);
    keys->used |= (uint64_t)1 << i;
    *slot = pdl_text(text);
    return pdl_keep(*slot);
}

uint64_t pdl_json_begin(const char *p, const char *end) {
    if (end - p < 8) {
        uint64_t word = 0;
        for (; p < end && *p != '"'; p++) word = word << 8 | (unsigned char)*p;
        return word;
    }
    uint64_t word = pdl_word64(p), quotes = pdl_word_zeros(word ^ PDL_EACH_BYTE('"'));
    /* bytes before the first quote */
    return quotes ? word & (((quotes & -quotes) >> 7) - 1) : word;
}

/* Returns the first of the two adjacent places that a shape may have. */
static unsigned place_of(uint64_t begin) { return (unsigned)((begin * MIX) >> 60); }
static_assert(PDL_JSON_SHAPES == 16, "place_of takes four bits of the hash");

static bool is_at(const pdl_json_keys *keys, unsigned i, uint64_t begin) {
    return (keys->shaped >> i & 1) && keys->begins[i] == begin;
}

pdl_shape *pdl_json_shape_guess(const pdl_json_keys *keys, uint64_t begin) {
    unsigned i = place_of(begin);
    if (is_at(keys, i, begin)) return pdl_shape_keep(keys->shape[i]);
    return is_at(keys, i ^ 1, begin) ? pdl_shape_keep(keys->shape[i ^ 1]) : NULL;
}

static bool is_guessable(const pdl_shape *s) {
    if (!s || s->n > MAX_SHAPE) return false;
    for (uint32_t i = 0; i < s->n; i++) {
        bool ascii = true;
        pdl_str key = pdl_str_get(s->keys[i].key);
        if (pdl_plain_end(key.p, key.p + key.n, &ascii) != key.p + key.n) return false;
    }
    return true;
}

void pdl_json_shape_learn(pdl_json_keys *keys, uint64_t begin, pdl_vref dict) {
    pdl_shape *s = pdl_dictobj_of(dict)->shape;
    if (!is_guessable(s)) return;
    unsigned i = place_of(begin);
    if (!is_at(keys, i, begin) && (is_at(keys, i ^ 1, begin) || (keys->shaped >> i & 1))) i ^= 1;
    if (keys->shaped >> i & 1) pdl_shape_drop(keys->shape[i]);
    keys->shaped |= 1u << i;
    keys->shape[i] = pdl_shape_keep(s);
    keys->begins[i] = begin;
}

void pdl_json_keys_fini(pdl_json_keys *keys) {
    for (unsigned i = 0; keys->used; i++, keys->used >>= 1)
        if (keys->used & 1) pdl_drop(keys->slot[i]);
    for (unsigned i = 0; keys->shaped; i++, keys->shaped >>= 1)
        if (keys->shaped & 1) pdl_shape_drop(keys->shape[i]);
}
