/* run_parts.h -- the parts of a run, each with its file: what it holds, how it ends, and what is
 * always true of it (its _ok, asserted at each step in builds with assertions). Private to vm.
 *
 *   `fibers`  in run/schedule.c: the fibers, and which of them has its turn.
 *   `effects` in effects/inflight.c: what was asked of the outside, and what it used.
 *   `output`  in blocks/out.c: what the program prints and writes to files.
 *   `outcome` in run/outcome.c: how the run ended.
 *   `code`    in run/run_globals.c: names, and what was read and compiled while it ran.
 *   `memory`  in run/memory.c: what ends the run when time or memory is out.
 *   `random`  in run/random_source.c: the random numbers of the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_RUN_PARTS_H
#define PDL_VM_RUN_PARTS_H

#include "base/idmap.h"
#include "base/rand.h"
#include "vm/fiber.h"

/* The fibers in FIBER_WAIT_SLOT that wait for one kind of slot, by id, first in first out. */
typedef struct pdl_parked {
    PDL_VEC(uint32_t) fibers;
    size_t head;
    uint32_t n_woken; /* number of fibers that were woken and had no turn since */
} pdl_parked;

typedef struct pdl_run_fibers {
    pdl_fiber *main;
    pdl_fiber *current; /* the fiber that has its turn; NULL: none */
    pdl_fiber *all;     /* list of live fibers */
    pdl_fiber *ready_first, *ready_last;
    pdl_idmap by_id; /* a late reply finds no object instead of a freed one */
    uint32_t last_id;
    pdl_parked parked[PDL_SLOT_COUNT];
    uint32_t turns;   /* turns of loops since the world was polled */
    bool yielded;     /* the step ends after this turn */
    bool closing;     /* the run ends: a map leaves its iterations to pdl_run_fibers_end */
    uint64_t shuffle; /* state of PDL_STRESS=sched */
    size_t n_for_code; /* number of fibers that run functions for code */
    pdl_held held;    /* the kind of place where fibers are held; NOT: none is held */
    /* an effect of chance was requested although the run had to be held before it */
    bool missed_chance;
    pdl_loc not_copied; /* block that left something that no copy can have; all-zero: none */
    bool has_session;   /* code used PDL_SESSION, which all runs share */
} pdl_run_fibers;
/* Takes the next runnable fiber from the queue; NULL: all wait. */
pdl_fiber *pdl_run_next_fiber(pdl_run *r);
void pdl_run_fibers_end(pdl_run_fibers *f);
/* Returns true when the ends of the queue agree, and no more fibers have a slot than were
 * parked. */
bool pdl_run_fibers_ok(const pdl_run_fibers *f);

typedef struct pdl_usage {
    int64_t calls, completion, prompt;
    pdl_label label; /* labels of the counted replies, whose numbers reveal a bit of them */
} pdl_usage;

typedef struct pdl_run_effects {
    pdl_idmap by_id; /* the effects in flight */
    uint32_t last_id;
    uint32_t n_models, n_late; /* numbers of model calls and of LATE effects in flight */
    /* Ids of model calls that are not launched, in order, from queue_head on. */
    PDL_VEC(uint32_t) queue;
    size_t queue_head;
    pdl_call_in call_in; /* how code outside calls functions of the program */
    pdl_usage usage, nested_usage;
} pdl_run_effects;
/* Cancels the effects in flight: the world need not answer them any more. */
void pdl_run_effects_cancel(const pdl_run *r);
void pdl_run_effects_end(pdl_run_effects *e);
/* Returns true when the head is within the queue, and no more effects count than are in flight. */
bool pdl_run_effects_ok(const pdl_run_effects *e);

typedef struct pdl_run_output {
    pdl_outq *queue;
    size_t held_bytes;      /* size of what is queued */
    uint8_t print_silent;   /* the register `print` of silent parts */
    bool draining;          /* the queue is being sent, perhaps by a caller of the caller */
    bool stream_failed;     /* the call at the cursor has failed without a handler */
    PDL_VEC(pdl_val) files; /* aggregators of the files that are open */
    /* Queues that were dropped while a function that code called was running; empty. */
    PDL_VEC(pdl_outq *) orphans;
} pdl_run_output;
void pdl_run_output_end(pdl_run_output *o);
bool pdl_run_output_ok(const pdl_run_output *o);

typedef struct pdl_run_outcome {
    bool finished, failed;
    pdl_val result;
    pdl_val answer; /* the model's answer whose text is the result, if it is kept; or absent */
    pdl_err err;
    double score;
    pdl_loc impossible; /* the factor that made the score -infinity; all-zero: none */
} pdl_run_outcome;
/* Called when the main fiber has run its program. Waits for what is open, then takes the result. */
pdl_step pdl_run_finish(pdl_run *r, pdl_err *err);
/* Ends the run with this error, unless it has failed before. Takes the content of err. */
void pdl_run_fail(pdl_run *r, pdl_err *err);
void pdl_run_outcome_end(pdl_run_outcome *o);
/* Returns true when a finished run has a result, and an error is set exactly if it has failed. */
bool pdl_run_outcome_ok(const pdl_run_outcome *o);

enum { PDL_RUN_LITERALS = 32 };

typedef struct pdl_run_code {
    struct {
        pdl_name context, error, usage, loop, caller, varargs, kwargs, stdlib, defaults, particle,
            judge, transformer;
    } names;
    pdl_scope *globals;  /* variables that an imported file starts with */
    pdl_scope *initial;  /* variables that the program starts with */
    pdl_val imports;     /* dict from text to module object, or true while it is running */
    pdl_idmap templates; /* compiled templates by hash of their text */
    PDL_VEC(struct pdl_template *) template_list;
    PDL_VEC(pdl_code *) failed; /* kept: errors point into their sources */
    pdl_val tool_names; /* dict from names of tools, as models call them, to their servers */
    pdl_val left_out;   /* dict: tool that a server has and the program lacks -> the reason */
    uint32_t
        n_searched;   /* number of errors for which advise.c has searched the program */
    bool has_modules; /* code with a module's policy was built, or the run is part of such code */
    /* The keys of recently made dicts, by the number of the instruction: a literal that is
     * evaluated again makes a dict of the same keys. NULL: none. */
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
    pdl_cancel cancel; /* entered while the run works */
    pdl_reserve *reserve;
    size_t failed_size; /* size of the allocation that used the reserve and ends the run; or 0 */
    pdl_arena *scratch;
} pdl_run_memory;
void pdl_run_memory_open(pdl_run *r);
void pdl_run_memory_end(pdl_run_memory *m);
bool pdl_run_memory_ok(const pdl_run_memory *m);

typedef struct pdl_random_source {
    pdl_rand numbers;
    bool is_seeded;
    pdl_err err; /* no seed could be read: the run fails */
} pdl_random_source;
void pdl_random_source_end(pdl_random_source *s);
/* Returns true when there is no error, unless the source was asked for a number. */
bool pdl_random_source_ok(const pdl_random_source *s);

#endif
