/* memo.c -- keeps the results of a walk over a value; see memo.h.
 *
 * The key of a result is the address of an object plus `way`, a number from 0 to 3 that
 * distinguishes walks with different results. The memo keeps each object alive, because another
 * object could otherwise get the same address during the walk.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/memo.h"

#include <string.h>

#include "base/banned.h"

/* `way` is added to the address of an object, whose lowest two bits are zero */
enum { WAYS = 4 };

static uintptr_t key_of(pdl_vref v, unsigned way) {
    assert(way < WAYS && (uintptr_t)pdl_obj_of(v) % WAYS == 0);
    return (uintptr_t)pdl_obj_of(v) + way;
}

/* Returns true when a and b, two values with one object, also have the same labels and flags. */
static bool is_same(pdl_vref a, pdl_vref b) {
    return pdl_tag_of(a) == pdl_tag_of(b) && pdl_flags_of(a) == pdl_flags_of(b) &&
           pdl_label_of(a) == pdl_label_of(b);
}

bool pdl_memo_find(pdl_memo *m, pdl_vref v, unsigned way, pdl_vref *to) {
    if (PDL_LIKELY(++m->visits < PDL_MEMO_FROM)) return false;
    size_t i = (uintptr_t)pdl_idmap_find(&m->place, key_of(v, way));
    if (!i || !is_same(m->done.p[i - 1].from, v)) return false;
    *to = m->done.p[i - 1].to;
    return true;
}

void pdl_memo_put(pdl_memo *m, pdl_vref v, unsigned way, pdl_vref to) {
    if (PDL_LIKELY(m->visits < PDL_MEMO_FROM)) return;
    *pdl_vec_push(&m->done) = (pdl_memo_entry){pdl_keep(v), pdl_keep(to)};
    pdl_idmap_put(&m->place, key_of(v, way), (void *)(uintptr_t)m->done.n);
}

void pdl_memo_fini(pdl_memo *m) {
    for (size_t i = 0; i < m->done.n; i++) {
        pdl_drop(m->done.p[i].from);
        pdl_drop(m->done.p[i].to);
    }
    pdl_vec_fini(&m->done);
    pdl_idmap_fini(&m->place);
}
