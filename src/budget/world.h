/* world.h -- what a run may use: a world in front of the rooms that answer.
 *
 * It charges effects to their budgets (effect/budget.h): reserves before a request goes out, waits
 * while what is reserved by others may come back, refuses what does not fit, and settles with what
 * was really used. Not thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BUDGET_WORLD_H
#define PDL_BUDGET_WORLD_H

#include "effect/effect.h"
#include "io/loop.h"
#include "model/prices.h"

typedef struct pdl_budget_world_options {
    pdl_loop *loop;           /* borrowed */
    const pdl_prices *prices; /* borrowed; NULL: no price is known but by parameters */
} pdl_budget_world_options;

/* In front of `behind` (borrowed). Effects without a budget pass untouched. */
pdl_world *pdl_budget_world_new(const pdl_budget_world_options *opt, pdl_world *behind);

#endif
