/* run.h -- a run: its fibers, effects in flight, options and results. Private to vm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_RUN_H
#define PDL_VM_RUN_H

#include "base/idmap.h"
#include "base/rand.h"
#include "vm/fiber.h"
#include "vm/inflight.h"

typedef struct pdl_usage {
    int64_t calls, completion, prompt;
    pdl_label label; /* labels of the counted replies, whose numbers reveal a bit of them */
} pdl_usage;

/* The fibers in FIBER_WAIT_SLOT that wait for one kind of slot, by id, first in first out. */
typedef struct pdl_parked {
    PDL_VEC(uint32_t) fibers;
    size_t head;
    uint32_t n_woken; /* number of fibers that were woken and had no turn since */
} pdl_parked;

enum { PDL_RUN_LITERALS = 32 };

struct pdl_run {
    pdl_run_options opt;
    pdl_fiber *main;
    pdl_fiber *all; /* list of live fibers */
    pdl_fiber *ready_first, *ready_last;
    pdl_idmap fibers, calls; /* named by id: a late reply finds no object instead of a freed one */
    uint32_t next_fiber, next_call;
    uint32_t open_models;
    PDL_VEC(uint32_t) queue; /* ids of model calls that are not launched, FIFO from queue_head */
    size_t queue_head;
    uint32_t open_late; /* number of LATE effects in flight */
    pdl_parked parked[PDL_SLOT_COUNT];
    pdl_outq *out;
    bool closing; /* pdl_run_free frees all fibers: a map leaves those of its iterations to it */
    bool finished, failed, draining;
    bool has_modules;   /* code with a module's policy was built, or the run is part of such code */
    pdl_fiber *current; /* the running fiber; NULL: none */
    pdl_cancel cancel;  /* entered while the run works */
    pdl_reserve *reserve;
    size_t failed_size;   /* size of the allocation that used the reserve and ends the run; or 0 */
    uint8_t print_silent; /* the register `print` of silent parts */
    pdl_val result;
    pdl_val answer; /* the model's answer whose text is the result, if it is kept; or absent */
    pdl_err err;
    double score;
    pdl_usage usage, nested_usage;
    bool stream_failed, yielded;
    uint32_t turns;
    /* number of errors for which the program was searched for help (advise.c) */
    uint32_t n_searched;
    pdl_val tool_names;  /* dict from names of tools, as models call them, to their servers */
    pdl_val left_out;    /* dict from tools that servers have and the program lacks to reasons */
    pdl_val imports;     /* dict from text to module object, or true while it is running */
    pdl_idmap templates; /* compiled templates by hash of their text */
    PDL_VEC(struct pdl_template *) template_list;
    PDL_VEC(pdl_val) files; /* open file aggregators */
    uint64_t sched;         /* state of PDL_STRESS=sched */
    pdl_rand rng;
    bool rng_ready;
    pdl_err rng_err; /* no seed could be read: the run fails */
    pdl_call_in call_in;
    struct {
        pdl_name context, error, usage, loop, caller, varargs, kwargs, stdlib, defaults, particle,
            judge, transformer;
    } names;
    pdl_scope *globals; /* variables that an imported file starts with */
    pdl_scope *initial; /* variables that the program starts with */
    pdl_arena *scratch;
    PDL_VEC(pdl_code *) failed_code; /* kept: errors point into their sources */
    /* The keys of recently made dicts, by the number of the instruction: a literal that is
     * evaluated again makes a dict of the same keys. NULL: none. */
    struct pdl_shape *literals[PDL_RUN_LITERALS];
};

/* Notifies the caller of the run that it can continue (pdl_run_is_ready). */
void pdl_run_announce(const pdl_run *r);

/* Returns true when the queues of runnable fibers and of model calls have ends that agree. */
bool pdl_run_ok(const pdl_run *r);
/* Keeps code until the end of the run, for errors that point into its sources. */
void pdl_vm_keep_code(pdl_run *r, pdl_code *code);

/* Runs until the fiber ends (DONE), must wait (WAIT), or fails. */
pdl_step pdl_fiber_run(pdl_fiber *f, pdl_err *err);

/* Installs the run's reserve for allocations that fail in this thread. Returns the watch before. */
pdl_alloc_watch pdl_run_watch(pdl_run *r);
/* Sets the error of a failed allocation. Always false. */
PDL_COLD bool pdl_run_raise_oom(pdl_run *r, pdl_err *err);
/* Returns false after a failed allocation: the program ends with PDL_E_limit. */
PDL_MUST static inline bool pdl_run_has_memory(pdl_run *r, pdl_err *err) {
    return PDL_LIKELY(!r->failed_size) || pdl_run_raise_oom(r, err);
}

/* These are in run_globals.c. */
void pdl_run_globals(pdl_run *r);
pdl_val pdl_vm_usage_value(pdl_run *r);
/* Returns the object of an imported file that ends in this frame: all that it defined. */
pdl_val pdl_vm_module_value(const pdl_fiber *f, const pdl_vm_frame *fr);
pdl_val pdl_vm_scope_value(pdl_fiber *f);
double pdl_run_random(void *run);

/* These are in block_budget.c. */
void pdl_vm_set_budget(pdl_fiber *f, pdl_budget *b); /* b is borrowed and kept; NULL: none */
/* Counts `turns` of a loop in which the fiber requested no effect. Fails with an error of kind
 * budget when its time is over. */
PDL_MUST bool pdl_budget_check_time(pdl_fiber *f, size_t turns, pdl_err *err);
/* Called when the fiber requests an effect that takes time: effects check the budget themselves. */
void pdl_run_mark_progress(pdl_fiber *f);

/* These report events. */
static inline bool wants_blocks(const pdl_run *r) { return r->opt.sinks.wants_blocks; }
void pdl_vm_send_block(pdl_fiber *f, pdl_event_kind kind, const pdl_blockinfo *info, pdl_vref value,
                       const pdl_err *err);
void pdl_vm_send_field(pdl_fiber *f, const char *key, pdl_vref value, uint32_t number);

/* Returns true when what a value chooses has the labels of that value. */
static inline bool pdl_vm_is_strict(const pdl_fiber *f) {
    return f->run->opt.strict_control || (f->run->opt.strict_plans && f->nested);
}

#endif
