/* setup_item.c -- puts the definitions of a run at the beginning of its document; see reading.h.
 * They are known only at the end of the walk, but come first in the document, so all numbers of
 * items are shifted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/reading.h"

#include "base/banned.h"

void pdl_reading_put_setup(pdl_reading *r, const pdl_item *setup, uint32_t n_setup) {
    uint32_t n = n_setup + 1;
    uint32_t first = r->items.n && r->items.p[0].shape == PDL_SHAPE_note;
    PDL_VEC(pdl_item) all = {0};
    if (!n_setup) return;
    pdl_vec_expect(&all, n + r->items.n);
    for (uint32_t i = 0; i < first; i++) *pdl_vec_push(&all) = r->items.p[i];
    *pdl_vec_push(&all) =
        (pdl_item){.shape = PDL_SHAPE_setup, .parent = first, .end = first + n, .number = n - 1};
    for (uint32_t i = 0; i < n_setup; i++) {
        pdl_item x = setup[i];
        x.parent = first;
        x.depth = 1;
        x.end = first + i + 2;
        *pdl_vec_push(&all) = x;
    }
    for (size_t i = first; i < r->items.n; i++) {
        pdl_item x = r->items.p[i];
        x.parent += n;
        x.end += n;
        *pdl_vec_push(&all) = x;
    }
    pdl_provenance_shift(&r->origins, n);
    pdl_vec_fini(&r->items);
    r->items.p = all.p;
    r->items.n = all.n;
    r->items.cap = all.cap;
}
