/* map.h -- hash map from text to pointers that keeps the order of insertion.
 *
 * The map borrows keys and values: the caller keeps both alive and frees them. Nothing can be
 * deleted, so an entry keeps its index, and entries[0..n) are in order of insertion.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_MAP_H
#define PDL_BASE_MAP_H

#include "base/str.h"

/* The map borrows key and value. */
typedef struct pdl_map_entry {
    pdl_str key;
    void *value;
} pdl_map_entry;

/* A map of zeros is empty and valid. entries[0..n) are in order of insertion. */
typedef struct pdl_map {
    pdl_map_entry *entries;
    size_t n, cap;
    uint32_t *slots; /* numbers of entries from 1; 0 marks a free slot */
    size_t mask;
} pdl_map;

/* Releases the tables, but not what entries point to. The map is then empty. */
void pdl_map_fini(pdl_map *m);

/* Returns the value of key; NULL when key is absent. */
void *pdl_map_find(const pdl_map *m, pdl_str key);

/* Returns the index of the entry of key. When key is absent, it is inserted without a value. key
 * must outlive the map. A caller that returns to an entry keeps its index and need not look it up
 * again. */
size_t pdl_map_entry_index(pdl_map *m, pdl_str key);

/* Inserts or replaces the value of key, which must outlive the map. Returns the previous value or
 * NULL. */
void *pdl_map_put(pdl_map *m, pdl_str key, void *value);

#endif
