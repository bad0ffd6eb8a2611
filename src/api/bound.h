/* bound.h -- computes the maximum cost of a run of a program (spec know 4).
 *
 * The numbers of calls and of answer tokens are true bounds. Prompt tokens are estimated from the
 * number of words, as `pdl mock` does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_BOUND_H
#define PDL_API_BOUND_H

#include "lang/program.h"
#include "model/prices.h"

/* The facts about a run that are known besides its program. */
typedef struct pdl_bound_options {
    pdl_vref variables;       /* a dict; absent when there are none */
    const pdl_prices *prices; /* may be NULL */
    /* a limit for each pdl_budget_item; a negative number means no limit; NULL means no budget */
    const double *budget;
} pdl_bound_options;

/* Returns {calls, tokens: {prompt, answer}, cost, budget, no_bound, sites} (docs/manual/calls.md).
 * A number that has no bound is null, and no_bound says why. Owned. */
pdl_val pdl_program_bound(const pdl_program *p, const pdl_bound_options *o);

/* Returns a list of {model, file, line}: the models without a price, each with its first place. All
 * branches count, and so do the modules that a check has read. A model whose name or price only a
 * run shows is not in the list. o->budget is not used. Owned. */
pdl_val pdl_program_unpriced(const pdl_program *p, const pdl_bound_options *o);

#endif
