/* fault.h -- determines from the answer or the transport why a call failed, and whether a retry
 * makes sense. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_FAULT_H
#define PDL_MODEL_FAULT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/rand.h"
#include "io/http.h"
#include "value/val.h"

/* A failure of a call. There is no failure when all members are zero. Release with
 * pdl_fault_fini. */
typedef struct pdl_fault {
    pdl_err_kind kind;
    int status;         /* status of the answer; 0 when there was no answer */
    pdl_buf msg;        /* the service's message */
    double retry_after; /* seconds that the service asked to wait; negative when it did not ask */
    bool retry_is_date; /* the wait was given as a date, not as a number */
    int should_retry;   /* header x-should-retry: 1 yes, 0 no, -1 absent */
} pdl_fault;

void pdl_fault_fini(pdl_fault *f);

/* Makes the fault of an answer that is not 2xx. */
void pdl_fault_of_status(const pdl_http_reply *r, pdl_fault *out);
/* Makes the fault of a transport result other than PDL_HTTP_OK. began: pieces were delivered or
 * events were read before the failure. */
void pdl_fault_of_transport(const pdl_http_reply *r, bool began, pdl_fault *out);
/* Makes the fault for a time limit that has passed. */
void pdl_fault_of_limit(pdl_http_limit limit, pdl_fault *out);
/* Makes the fault of an error object in the body of an answer whose status is 2xx: {"error": ...}
 * or an equivalent. */
void pdl_fault_of_object(int status, pdl_vref json, pdl_fault *out);
/* Makes the fault of an error event, whose text may be JSON. */
void pdl_fault_of_text(int status, pdl_str text, pdl_fault *out);
/* Returns the code or status in an error object if it is the status of a failure (400..599), as a
 * number or as a text of digits. Returns 0 otherwise. */
int pdl_fault_code(pdl_vref json);
/* Makes the fault of an error that libpdl found. Takes its content. */
void pdl_fault_of_err(pdl_err *err, int status, pdl_fault *out);
/* Makes a fault with a formatted message. */
PDL_PRINTF(4, 5)
void pdl_fault_set(pdl_fault *out, pdl_err_kind kind, int status, const char *fmt, ...);

/* --- backoff.c: the policy (spec providers 8) ------------------------------------------------- */

/* Returns true when a call that failed with f should be sent again; *wait_ms: how many ms to wait
 * before that. attempt: 0 after the first failure. */
bool pdl_backoff(const pdl_fault *f, unsigned attempt, pdl_rand *rng, uint64_t *wait_ms);

/* Returns the seconds of Retry-After or retry-after-ms, negative when they are absent or make no
 * sense; now_s: seconds since the epoch. */
double pdl_backoff_header(const pdl_http_reply *r, double now_s, bool *is_date);
/* Returns the seconds of `retryDelay` ("37s") in the details of an error object, where Google's
 * services say how long to wait; negative when there is none. */
double pdl_backoff_details(pdl_vref error);

#endif
