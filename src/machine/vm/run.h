/* run.h -- a run: its options, its parts, and the functions that concern several of them. Private
 * to vm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_RUN_H
#define PDL_VM_RUN_H

#include "vm/inflight.h"
#include "vm/run_parts.h"

struct pdl_run {
    pdl_run_options opt;
    pdl_run_fibers fibers;
    pdl_run_effects effects;
    pdl_run_output output;
    pdl_run_outcome outcome;
    pdl_run_code code;
    pdl_run_memory memory;
    pdl_random_source random;
};

/* Notifies the caller of the run that it can continue (pdl_run_is_ready). */
void pdl_run_announce(const pdl_run *r);

/* Returns true when the invariants of all parts of the run hold. */
bool pdl_run_ok(const pdl_run *r);
/* Runs the fiber until it ends (DONE), must wait (WAIT), or fails. */
pdl_step pdl_fiber_run(pdl_fiber *f, pdl_err *err);

/* Makes the run's reserve serve failing allocations in this thread. Returns the previous watch. */
pdl_alloc_watch pdl_run_watch(pdl_run *r);
/* Sets the error of a failed allocation. Always returns false. */
PDL_COLD bool pdl_run_raise_oom(pdl_run *r, pdl_err *err);
/* Returns false after a failed allocation. The program then ends with PDL_E_limit. */
PDL_MUST static inline bool pdl_run_has_memory(pdl_run *r, pdl_err *err) {
    return PDL_LIKELY(!r->memory.failed_size) || pdl_run_raise_oom(r, err);
}

/* These functions are in run_globals.c. */
pdl_val pdl_vm_usage_value(pdl_run *r);
/* Returns the object of an imported file that ends in this frame. The object has all names that the
 * file defined. */
pdl_val pdl_vm_module_value(const pdl_fiber *f, const pdl_vm_frame *fr);
pdl_val pdl_vm_scope_value(pdl_fiber *f);
double pdl_run_random(void *run);

/* These functions are in block_budget.c. */
void pdl_vm_set_budget(pdl_fiber *f, pdl_budget *b); /* b is borrowed and kept; may be NULL */
/* Counts `turns` of a loop in which the fiber requested no effect. Fails with an error of kind
 * budget when the time of the budget is over. */
PDL_MUST bool pdl_budget_check_time(pdl_fiber *f, size_t turns, pdl_err *err);
/* Called when the fiber requests an effect that takes time. Effects check the budget themselves. */
void pdl_run_mark_progress(pdl_fiber *f);

/* These functions report events. */
static inline bool wants_blocks(const pdl_run *r) { return r->opt.sinks.wants_blocks; }
void pdl_vm_send_block(pdl_fiber *f, pdl_event_kind kind, const pdl_blockinfo *info, pdl_vref value,
                       const pdl_err *err);
void pdl_vm_send_field(pdl_fiber *f, const char *key, pdl_vref value, uint32_t number);

/* Returns true with strict control. Then everything that a value selects (a branch, a function)
 * gets the labels of that value. */
static inline bool pdl_vm_is_strict(const pdl_fiber *f) {
    return f->run->opt.strict_control || (f->run->opt.strict_plans && f->nested);
}

#endif
