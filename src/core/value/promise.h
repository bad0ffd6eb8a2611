/* promise.h -- a value that a reply will fill.
 *
 * A promise is passed around like any value and is filled or failed once. Joining text does not
 * wait: a join that contains promises is itself a promise with a list of pieces, and its text is
 * made when all pieces are there. So a program waits only where it needs the content, and its model
 * calls overlap. vm knows which fibers wait for a promise.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_PROMISE_H
#define PDL_VALUE_PROMISE_H

#include "value/val.h"

typedef enum { PDL_PROMISE_PENDING, PDL_PROMISE_FILLED, PDL_PROMISE_FAILED } pdl_promise_state;

typedef struct pdl_promise {
    pdl_ext ext;
    pdl_promise_state state;
    uint32_t id;    /* id of the effect whose reply fills the promise; 0 for a join */
    pdl_val value;  /* the value when the promise is FILLED; otherwise absent */
    pdl_err err;    /* the error when the promise is FAILED */
    pdl_val pieces; /* the list of a join's pieces (texts or promises) in order; otherwise absent */
    /* The entry of the reply's `choices` whose text fills the promise, when the run keeps these
     * entries; else absent. */
    pdl_val answer;
} pdl_promise;

pdl_val pdl_promise_new(uint32_t id);
/* Makes a join. Takes the list pieces. Its items become strings when the join is made into text. */
pdl_val pdl_promise_join(pdl_val pieces);
static inline pdl_promise *pdl_promise_of(pdl_vref v) {
    return (pdl_promise *)(void *)pdl_obj_of(v);
}
void pdl_promise_fill(pdl_promise *p, pdl_val v);          /* takes v; p must be pending */
void pdl_promise_fail(pdl_promise *p, const pdl_err *err); /* copies err */

/* Returns the first promise in v, at any depth of containers, that is not filled with a ready
 * value. The promise is borrowed. Returns absent when v is ready. A failed promise is not ready.
 * The walk does not recurse for joins inside joins. */
pdl_vref pdl_promise_blocking(pdl_vref v);

/* Replaces every filled promise in v by its value, at any depth. v must be ready:
 * pdl_promise_blocking must return absent. The result shares the parts without promises. Error:
 * limit. */
PDL_MUST bool pdl_promise_resolve(pdl_vref v, pdl_val *out, pdl_err *err);

#endif
