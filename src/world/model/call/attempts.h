/* attempts.h -- the outcome of each request of a call. The trace, `pdl_error.attempts` and the
 * reply show these outcomes. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_ATTEMPTS_H
#define PDL_MODEL_ATTEMPTS_H

#include "base/buf.h"
#include "model/call/fault.h"

/* Invariant: list is absent until a request was sent again. */
typedef struct pdl_attempts_made {
    /* each entry is {model, kind, status, message, seconds, next, wait_seconds?} */
    pdl_val list;
    /* the time at which the request in flight was sent; 0 when no request was sent after a
     * failure */
    uint64_t start_ns;
    double failed_s; /* how long the failed requests were on the network, in seconds */
} pdl_attempts_made;

/* The reasons why a further request is sent. */
typedef enum {
    PDL_NEXT_RETRY,
    PDL_NEXT_FALLBACK,
    PDL_NEXT_NO_SCHEMA,
    PDL_NEXT_TOKEN,
    PDL_NEXT_NONE
} pdl_next;

/* Records that a request to `model` failed with f. `message` is the message of f without keys.
 * `next` says what follows. At most 100 failures are kept. */
void pdl_attempts_add(pdl_attempts_made *a, pdl_vref model, const pdl_fault *f, pdl_str message,
                      pdl_next next, uint64_t wait_ms);

#endif
