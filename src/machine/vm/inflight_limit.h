/* inflight_limit.h -- limits the number of effects in flight whose replies the program has not used
 * yet.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_INFLIGHT_LIMIT_H
#define PDL_VM_INFLIGHT_LIMIT_H

#include "vm/inflight.h"
#include "vm/run_parts.h"

/* These functions return WAIT when the fiber was parked until another effect may start. Nothing was
 * changed then. */
pdl_step pdl_await_model_slot(pdl_fiber *f);
pdl_step pdl_await_effect_slot(pdl_fiber *f);

/* Returns true when too many LATE effects are in flight. */
bool pdl_run_is_full(const pdl_run *r);

void pdl_run_queue_model(pdl_run *r, pdl_inflight *c);
/* Returns the next model call to be launched; NULL when none can be launched now. */
pdl_inflight *pdl_run_next_model(pdl_run *r);

/* Wakes as many fibers of each kind as there are free slots. */
void pdl_run_wake(pdl_run *r);
/* Releases the lists of parked fibers. */
void pdl_run_unpark_all(pdl_run_fibers *f);
/* Called when the fiber has its turn or ends. */
void pdl_fiber_clear_woken(pdl_fiber *f);

#endif
