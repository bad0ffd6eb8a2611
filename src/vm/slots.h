/* slots.h -- how many effects whose replies nobody has looked at yet may be under way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_SLOTS_H
#define PDL_VM_SLOTS_H

#include "vm/inflight.h"

/* WAIT: the fiber is parked until there is room for another effect; nothing was changed. */
pdl_step pdl_await_model_slot(pdl_fiber *f);
pdl_step pdl_await_effect_slot(pdl_fiber *f);

/* Returns true when too many LATE effects are under way. */
bool pdl_run_is_full(const pdl_run *r);

void pdl_run_queue_model(pdl_run *r, pdl_inflight *c);
/* The next model call to be launched; NULL: none now. */
pdl_inflight *pdl_run_next_model(pdl_run *r);

/* Wakes as many fibers as there is room for. */
void pdl_run_wake(pdl_run *r);
/* The fiber has its turn, or ends. */
void pdl_fiber_clear_woken(pdl_fiber *f);

#endif
