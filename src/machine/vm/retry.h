/* retry.h -- the attempts of a block with retry, fallback or expectations. Private to vm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_RETRY_H
#define PDL_VM_RETRY_H

#include "vm/fiber.h"

/* Settings and state of the attempts of one block. */
struct pdl_attempts {
    int64_t tries; /* number of further attempts; -1: unlimited */
    int64_t done;  /* number of attempts that have failed */
    double delay, max_delay, backoff, jitter_min, jitter_max;
    bool has_max;
    pdl_val exceptions; /* list of names of errors; absent when it means all errors */
    /* messages that errors and feedback added to the context; absent when there are none */
    pdl_val extra;
    /* Promise of the model's answer in this attempt. Absent when no model was called. */
    pdl_val answer;
    /* Messages that show the model what was wrong with its last answer; absent when
     * there are none. */
    pdl_val repair;
    pdl_err err;       /* error of the last attempt, while it is handled */
    pdl_val pdl_error; /* the value of the variable pdl_error before the fallback */
    bool was_sent;     /* text of the last attempt was printed and cannot be taken back */
    bool in_fallback;
    bool unmet; /* an expectation was not met, so another attempt is requested */
};

/* The beginning of the messages of trace_error_on_retry. */
#define TRACED_ERROR "An error occurred in a PDL block. Error details: "
#define TRACED_AGAIN "The previous error occurs multiple times."

void pdl_vm_attempts_free(pdl_attempts *a);
/* Executes CATCH. When no attempt follows and has_fallback is set, the fallback runs; its code
 * begins at `fallback`. */
pdl_step pdl_vm_catch(pdl_fiber *f, bool has_fallback, uint32_t fallback, pdl_err *err);
/* Executes RETRY_AGAIN. */
void pdl_vm_retry_again(pdl_fiber *f, uint32_t attempt);
/* Executes EXPECT_RETRY. Returns false when there is no further attempt. */
bool pdl_vm_expect_retry(pdl_fiber *f);
/* Returns true when the class name in `retry.exceptions` includes the error. */
bool pdl_vm_err_matches(const pdl_err *e, pdl_str class_name);

#endif
