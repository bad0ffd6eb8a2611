/* idmap.h -- map from nonzero ids or addresses to borrowed pointers. A map of zeros is empty. Such
 * maps find effects, transfers and turns of the trace by their numbers. A look-up takes constant
 * time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_IDMAP_H
#define PDL_BASE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

/* Invariants: keys and vals have mask + 1 places; key 0 marks a free place; at least one place is
   free.
 */
typedef struct pdl_idmap {
    uintptr_t *keys;
    void **vals;
    size_t mask, n;
} pdl_idmap;

void *pdl_idmap_find(const pdl_idmap *m, uintptr_t id); /* returns NULL for an absent id */
/* pdl_idmap_put inserts or replaces a pointer. Deleting an absent id does nothing. */
void pdl_idmap_put(pdl_idmap *m, uintptr_t id, void *p);
void pdl_idmap_del(pdl_idmap *m, uintptr_t id);
void pdl_idmap_fini(pdl_idmap *m);

/* Iteration: for each i below pdl_idmap_places, pdl_idmap_at returns a pointer, or NULL for a free
 * place. */
static inline size_t pdl_idmap_places(const pdl_idmap *m) { return m->keys ? m->mask + 1 : 0; }
static inline void *pdl_idmap_at(const pdl_idmap *m, size_t i) {
    return m->keys[i] ? m->vals[i] : NULL;
}

#endif
