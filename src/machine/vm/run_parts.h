/* run_parts.h -- the parts of a run. Each part has a struct, a file with its functions, and a
 * function _ok that checks its invariants. Builds with assertions call this function at each step.
 * Private to vm.
 *
 *   `fibers`  in run/schedule.c: the fibers, and which of them has its turn.
 *   `effects` in effects/inflight.c: the requests to the outside, and their use of the budget.
 *   `output`  in blocks/output_order.c: what the program prints and writes to files.
 *   `outcome` in run/outcome.c: how the run ended.
 *   `code`    in run/run_globals.c: names, and the sources that were read and compiled.
 *   `memory`  in run/memory.c: the end of the run when time or memory is used up.
 *   `random`  in run/random_source.c: the random numbers of the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_RUN_PARTS_H
#define PDL_VM_RUN_PARTS_H

#include "base/idmap.h"
#include "base/rand.h"
#include "vm/fiber.h"

/* Fibers in the state FIBER_WAIT_SLOT that wait for one kind of slot: their ids, first in first
 * out. */
typedef struct pdl_parked {
    PDL_VEC(uint32_t) fibers;
    size_t head;
    uint32_t n_woken; /* number of fibers that were woken and still wait for their next turn */
} pdl_parked;

typedef struct pdl_run_fibers {
    pdl_fiber *main;
    pdl_fiber *current; /* the fiber that has its turn; NULL when no fiber has one */
    pdl_fiber *all;     /* list of all fibers that are alive */
    pdl_fiber *ready_first, *ready_last;
    /* finds fibers by their id; a late reply then finds none instead of a freed one */
    pdl_idmap by_id;
    uint32_t last_id;
    pdl_parked parked[PDL_SLOT_COUNT];
    uint32_t turns;    /* number of loop turns since the world was polled */
    bool yielded;      /* the step ends after the current turn */
    bool closing;      /* the run ends, so a map leaves its iterations to pdl_run_fibers_end */
    uint64_t shuffle;  /* state of PDL_STRESS=sched */
    size_t n_for_code; /* number of fibers that run functions for code */
    pdl_held held; /* the kind of place at which fibers are held; PDL_HELD_NOT when none is held */
    /* an effect of chance was requested although the run had to be held before it */
    bool missed_chance;
    /* the block that left something that a copy cannot have; all-zero when no block did */
    pdl_loc not_copied;
} pdl_run_fibers;
/* Takes the next runnable fiber from the queue; NULL when all fibers wait. */
pdl_fiber *pdl_run_next_fiber(pdl_run *r);
void pdl_run_fibers_end(pdl_run_fibers *f);
/* Returns true when the ends of the queue agree, and the heads of the parked fibers are within
 * their lists. */
bool pdl_run_fibers_ok(const pdl_run_fibers *f);

typedef struct pdl_usage {
    int64_t calls, completion, prompt;
    /* labels of the replies that were counted, because the counts reveal something about them */
    pdl_label label;
} pdl_usage;

typedef struct pdl_run_effects {
    pdl_idmap by_id; /* finds the effects in flight by their id */
    uint32_t last_id;
    /* numbers of the model calls, and of the LATE effects, that are in flight */
    uint32_t n_models, n_late;
    /* Ids of model calls that were not launched yet, in order; the first of them is at
     * queue_head. */
    PDL_VEC(uint32_t) queue;
    size_t queue_head;
    pdl_call_in call_in; /* how code outside calls functions of the program */
    pdl_usage usage, nested_usage;
    pdl_label seen; /* the labels of all replies and pieces so far */
} pdl_run_effects;
/* Cancels the effects in flight: the world need not answer them. */
void pdl_run_effects_cancel(const pdl_run *r);
void pdl_run_effects_end(pdl_run_effects *e);
/* Returns true when the head is within the queue, and when at most as many effects are counted as
 * are in flight. */
bool pdl_run_effects_ok(const pdl_run_effects *e);

typedef struct pdl_run_output {
    pdl_outq *queue;
    size_t held_bytes;      /* size of the output that is queued */
    uint8_t print_silent;   /* the register `print` for silent parts */
    bool draining;          /* the queue is being sent, possibly by an outer call */
    bool stream_failed;     /* the call at the cursor has failed and has no handler */
    PDL_VEC(pdl_val) files; /* aggregators whose files are open */
    /* Queues that were dropped while a function called by code was running. They are empty. */
    PDL_VEC(pdl_outq *) orphans;
} pdl_run_output;
void pdl_run_output_end(pdl_run_output *o);
bool pdl_run_output_ok(const pdl_run_output *o);

typedef struct pdl_run_outcome {
    bool finished, failed;
    pdl_val result;
    pdl_val answer; /* the model's answer whose text is the result, when it is kept; or absent */
    pdl_err err;
    double score;
    pdl_loc impossible; /* the factor that made the score -infinity; all-zero when no factor did */
} pdl_run_outcome;
/* Called when the main fiber has run its program. Waits for open calls, then takes the result. */
pdl_step pdl_run_finish(pdl_run *r, pdl_err *err);
/* Ends the run with this error, unless it has failed before. Takes the content of err. */
void pdl_run_fail(pdl_run *r, pdl_err *err);
void pdl_run_outcome_end(pdl_run_outcome *o);
/* Returns true when the invariants hold: a finished run has a result, and an error is set when the
 * run has failed, and only then. */
bool pdl_run_outcome_ok(const pdl_run_outcome *o);

enum { PDL_RUN_LITERALS = 32 };

typedef struct pdl_run_code {
    struct {
        pdl_name context, error, usage, loop, caller, varargs, kwargs, stdlib, defaults, particle,
            judge, transformer;
    } names;
    pdl_scope *globals; /* the variables with which an imported file starts */
    pdl_scope *initial; /* the variables with which the program starts */
    /* dict from the text of a file to its module; the value is true while the file is running */
    pdl_val imports;
    pdl_idmap templates; /* compiled templates by hash of their text */
    PDL_VEC(struct pdl_template *) template_list;
    PDL_VEC(pdl_code *) failed; /* code that is kept because errors point into its sources */
    /* dict from names of tools, as models call them, to the servers of these tools */
    pdl_val tool_names;
    /* dict: name of a tool that the server has but the program does not get -> the reason */
    pdl_val left_out;
    /* functions of the library that the program has handed to the library, by their infos; noted
     * only when a sink gets events of blocks */
    pdl_idmap handed;
    uint32_t n_searched; /* number of errors for which advise.c has searched the program */
    /* code of a module with a policy was built, or the run is part of such code */
    bool has_modules;
    /* The keys of dicts that were made recently, by the number of the instruction. A literal that
     * is evaluated again makes a dict with the same keys. NULL when there are none. */
    struct pdl_shape *literals[PDL_RUN_LITERALS];
} pdl_run_code;
void pdl_run_code_open(pdl_run *r);
/* Keeps code until the end of the run, for errors that point into its sources. */
void pdl_vm_keep_code(pdl_run *r, pdl_code *code);
void pdl_run_code_end(pdl_run_code *c);
void pdl_vm_templates_fini(pdl_run_code *c); /* ops_template.c */
/* Returns true when the tables are dicts and the globals exist. */
bool pdl_run_code_ok(const pdl_run_code *c);

typedef struct pdl_run_memory {
    pdl_cancel cancel; /* the scope of cancellation, which is entered while the run works */
    pdl_reserve *reserve;
    size_t failed_size; /* size of the allocation that used the reserve and so ends the run; or 0 */
    pdl_arena *scratch;
} pdl_run_memory;
void pdl_run_memory_open(pdl_run *r);
void pdl_run_memory_end(pdl_run_memory *m);
bool pdl_run_memory_ok(const pdl_run_memory *m);

typedef struct pdl_random_source {
    pdl_rand numbers;
    bool is_seeded;
    pdl_err err; /* the reason why no seed could be read: the run fails */
} pdl_random_source;
void pdl_random_source_end(pdl_random_source *s);
/* Returns true when the source has no error, or when it was asked for a number. */
bool pdl_random_source_ok(const pdl_random_source *s);

#endif
