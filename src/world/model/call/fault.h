/* fault.h -- why a call failed, derived from the answer or the transport; and whether to try again.
 * Private to model.
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

/* All-zero: none. Release with pdl_fault_fini. */
typedef struct pdl_fault {
    pdl_err_kind kind;
    int status;         /* of the answer; 0: no answer */
    pdl_buf msg;        /* the service's message */
    double retry_after; /* seconds that the service asked to wait; negative: it did not */
    bool retry_is_date; /* given as a moment, not as a number */
    int should_retry;   /* header x-should-retry: 1 yes, 0 no, -1 absent */
} pdl_fault;

void pdl_fault_fini(pdl_fault *f);

/* From an answer that is not 2xx. */
void pdl_fault_of_status(const pdl_http_reply *r, pdl_fault *out);
/* From the transport: anything but PDL_HTTP_OK. began: pieces had been delivered or events read. */
void pdl_fault_of_transport(const pdl_http_reply *r, bool began, pdl_fault *out);
/* From a time limit that passed. */
void pdl_fault_of_limit(pdl_http_limit limit, pdl_fault *out);
/* From an error object inside of an answer with status 2xx: {"error": ...} or an equivalent. */
void pdl_fault_of_object(int status, pdl_vref json, pdl_fault *out);
/* From the text of an error event: JSON, or words. */
void pdl_fault_of_text(int status, pdl_str text, pdl_fault *out);
/* The code or status that an error object gives, a number or a text of digits, when it is a status
 * that fails (400..599); else 0. */
int pdl_fault_code(pdl_vref json);
/* From an error of ours. Takes its content. */
void pdl_fault_of_err(pdl_err *err, int status, pdl_fault *out);
/* With a text. */
PDL_PRINTF(4, 5)
void pdl_fault_set(pdl_fault *out, pdl_err_kind kind, int status, const char *fmt, ...);

/* --- backoff.c: the policy (spec providers 8) ------------------------------------------------- */

/* Should a call that failed with f be sent again, after how many ms? attempt: 0 after the first
 * failure. */
bool pdl_backoff(const pdl_fault *f, unsigned attempt, pdl_rand *rng, uint64_t *wait_ms);

/* Seconds from Retry-After or retry-after-ms, negative when absent or senseless; now_s: seconds
 * since the epoch. */
double pdl_backoff_header(const pdl_http_reply *r, double now_s, bool *is_date);

#endif
