/* shape.h -- the keys that a dict has, in their order. Dicts with the same keys share one shape.
 * Shapes are used in this room, and by code elsewhere that makes many dicts with the same keys.
 *
 * Rows of a table have the same keys: with a shared shape each row holds its values and one
 * pointer, and comparing keys is comparing pointers. A shape with one owner is changed in place; a
 * shared one is copied first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_SHAPE_H
#define PDL_VALUE_SHAPE_H

#include "value/val.h"

typedef struct pdl_shape_key {
    pdl_val key;
    uint32_t hash;
} pdl_shape_key;

/* Invariants: n <= cap. slots is NULL while n is small. A larger shape has mask + 1 slots. A slot
 * is an index into keys plus one, or 0 when it is free. */
typedef struct pdl_shape {
    uint32_t refs;
    uint32_t n, cap;
    uint32_t mask;
    uint32_t *slots;
    pdl_shape_key keys[];
} pdl_shape;

#define PDL_NO_KEY UINT32_MAX

pdl_shape *pdl_shape_new(size_t cap);
static inline pdl_shape *pdl_shape_keep(pdl_shape *s) {
    assert(s->refs > 0);
    s->refs++;
    return s;
}
void pdl_shape_drop(pdl_shape *s); /* s may be NULL */
/* Releases the memory of a shape whose refs reached 0 and whose keys were dropped. */
void pdl_shape_free(pdl_shape *s);

/* Returns a shape with the keys of s that has one owner and room for `more` keys. Takes s. */
pdl_shape *pdl_shape_own(pdl_shape *s, size_t more);

/* Returns the index of the key, or PDL_NO_KEY. s may be NULL. */
uint32_t pdl_shape_find(const pdl_shape *s, pdl_vref key, uint32_t hash);
uint32_t pdl_shape_find_str(const pdl_shape *s, pdl_str key, uint32_t hash);
/* used for a key whose hash is not known */
uint32_t pdl_shape_find_text(const pdl_shape *s, pdl_str key);

/* Appends a key that s does not have. Takes s, which has a sole owner or is NULL, and key. */
pdl_shape *pdl_shape_add(pdl_shape *s, pdl_val key, uint32_t hash);
/* Removes the i-th key. Takes s, which has a sole owner. */
void pdl_shape_remove(pdl_shape *s, uint32_t i);

/* Makes a dict of n pairs (key, value), with the rules of pdl_dict_put. Takes keys and values.
 * *shape has the keys of the dict that the same code made before, or is NULL. The new dict shares
 * *shape when it has the same keys. The caller owns *shape, which is replaced by the keys of this
 * dict. */
pdl_val pdl_dict_of_pairs(const pdl_val *pairs, size_t n, pdl_shape **shape);

#endif
