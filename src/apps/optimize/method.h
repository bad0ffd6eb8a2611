/* method.h -- helpers for the functions of a method, which are in several files. Private to
 * optimize.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_OPTIMIZE_METHOD_H
#define PDL_OPTIMIZE_METHOD_H

#include "api/hooks.h"
#include "base/rand.h"
#include "optimize/proposals.h"
#include "pdl.h"

typedef struct opt_method {
    opt_search *z;
    pdl_rand rand;
    pdl_err failed; /* the reason why a function could not be answered; it ends the search */
} opt_method;

/* Returns an argument by its position or its name; absent when it was not given. Borrowed from the
 * request. */
pdl_vref pdl_method_argument(const pdl_request *r, size_t i, const char *name);
/* Raises an error in the method. Returns false. */
PDL_PRINTF(2, 3) bool pdl_method_refuse(pdl_request *r, const char *fmt, ...);
/* Reads a whole number from 0 to `most`. Raises an error when the argument is anything else. */
PDL_MUST bool pdl_method_number(pdl_request *r, size_t i, const char *name, size_t most,
                                size_t *out);
typedef PDL_VEC(size_t) opt_numbers;
/* Reads a list of candidates. Raises an error when the argument is anything else. */
PDL_MUST bool pdl_method_candidates(const opt_search *z, pdl_request *r, size_t i,
                                    opt_numbers *out);
/* Reads a list of numbers below n. */
PDL_MUST bool pdl_method_numbers(pdl_request *r, size_t i, const char *name, size_t n,
                                 opt_numbers *out);
/* Answers a request; takes v. */
void pdl_method_answer(pdl_request *r, pdl_val v);
/* Adds a function to the dict. */
pdl_val pdl_method_with(pdl_val d, opt_method *m, const char *name, pdl_handler_fn *fn);

/* reflection.c. Adds the functions for methods that let a model write texts. */
pdl_val pdl_method_with_reflection(pdl_val engine, opt_method *m);

#endif
