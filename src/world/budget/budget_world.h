/* budget_world.h -- enforces budgets, in a world before the worlds that answer.
 *
 * It charges effects to their budgets (effect/budget.h): it reserves before a request is sent,
 * waits while reservations of other effects may be released, refuses what does not fit, and settles
 * with the real use. Counting only at the end would let parallel calls overspend together; counting
 * the worst case as spent would refuse calls that fit. Not thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BUDGET_WORLD_H
#define PDL_BUDGET_WORLD_H

#include "effect/effect.h"
#include "io/loop.h"
#include "model/prices.h"

typedef struct pdl_budget_world_options {
    pdl_loop *loop; /* borrowed */
    /* borrowed; when it is NULL, only prices in the parameters are known */
    const pdl_prices *prices;
} pdl_budget_world_options;

/* Borrows the next world. Effects without a budget are forwarded unchanged. */
pdl_world *pdl_budget_world_new(const pdl_budget_world_options *opt, pdl_world *next);

#endif
