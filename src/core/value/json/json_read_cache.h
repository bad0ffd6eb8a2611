/* json_read_cache.h -- a cache for reading JSON (json_read.h): the keys of objects, and their
 * shapes, which documents share. Private to value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_JSON_READ_CACHE_H
#define PDL_VALUE_JSON_READ_CACHE_H

#include "value/json_read.h"
#include "value/shape.h"

/* Returns the text as a value, which shares its object with earlier equal texts. */
pdl_val pdl_json_intern(pdl_json_keys *keys, pdl_str text);

/* Returns the first bytes, at most 8, of an object's first key. The text of the key begins at p.
 * The cache finds shapes by these bytes. */
uint64_t pdl_json_begin(const char *p, const char *end);
/* Returns the shape of the last object whose first key had the bytes `begin`, as a guess, or NULL.
 * The texts of its keys need no escapes. */
pdl_shape *pdl_json_shape_guess(const pdl_json_keys *keys, uint64_t begin);
/* Makes the shape of dict the next guess for an object whose first key has the bytes `begin`. */
void pdl_json_shape_learn(pdl_json_keys *keys, uint64_t begin, pdl_vref dict);

#endif
