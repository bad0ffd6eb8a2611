/* idmap.h -- map from ids or addresses (not 0) to pointers that it does not own. All-zero is empty.
 *
 * Used where objects are found again by the number that they travel under: effects, transfers,
 * turns of the trace. Look-up takes constant time however many are open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_IDMAP_H
#define PDL_BASE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

/* Invariants: keys and vals have mask + 1 places, key 0 is a free one; less than all are taken. */
typedef struct pdl_idmap {
    uintptr_t *keys;
    void **vals;
    size_t mask, n;
} pdl_idmap;

void *pdl_idmap_find(const pdl_idmap *m, uintptr_t id); /* NULL when there is none */
/* Inserts or replaces; deleting an id that is not there does nothing. */
void pdl_idmap_put(pdl_idmap *m, uintptr_t id, void *p);
void pdl_idmap_del(pdl_idmap *m, uintptr_t id);
void pdl_idmap_fini(pdl_idmap *m);

/* Iteration: for i < pdl_idmap_places, pdl_idmap_at returns a pointer, or NULL for a free place. */
static inline size_t pdl_idmap_places(const pdl_idmap *m) { return m->keys ? m->mask + 1 : 0; }
static inline void *pdl_idmap_at(const pdl_idmap *m, size_t i) {
    return m->keys[i] ? m->vals[i] : NULL;
}

#endif
