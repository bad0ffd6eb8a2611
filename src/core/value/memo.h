/* memo.h -- the results of a walk over a value, by the objects that it went through.
 *
 * Values share their parts: forty lists, each of which contains the next one twice, are forty
 * objects with 2^40 leaves. A walk that searches such a value, or makes another value of it, keeps
 * its result for each object. So the walk goes through each object once, and the new value shares
 * its parts as the old one does. Most values are small and share nothing, so results are kept only
 * after PDL_MEMO_FROM objects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_MEMO_H
#define PDL_VALUE_MEMO_H

#include "base/idmap.h"
#include "base/vec.h"
#include "value/val.h"

enum { PDL_MEMO_FROM = 4096 };

typedef struct pdl_memo_entry {
    pdl_val from, to; /* owned */
} pdl_memo_entry;

/* A struct with all members zero is empty. */
typedef struct pdl_memo {
    size_t visits;
    PDL_VEC(pdl_memo_entry) done;
    /* maps an object and a `way` to 1 + the index of their result in `done` */
    pdl_idmap place;
} pdl_memo;

/* Counts a visit of v, a value with an object. `way` is a number from 0 to 3 by which the caller
 * distinguishes walks with different results. Returns true when the walk has a result for this
 * handle and this way; *to is then the result (borrowed until the next put). */
bool pdl_memo_find(pdl_memo *m, pdl_vref v, unsigned way, pdl_vref *to);
/* Keeps `to`, which may be absent, as the result for v. Borrows both. */
void pdl_memo_put(pdl_memo *m, pdl_vref v, unsigned way, pdl_vref to);
void pdl_memo_fini(pdl_memo *m);

#endif
