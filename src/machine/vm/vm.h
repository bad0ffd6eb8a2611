/* vm.h -- the machine: one run of one program.
 *
 * A run owns fibers (strands with stacks on the heap), the calls it has made to the outside, and
 * the queue of its output. A run knows neither models nor files: everything outside is a pdl_effect
 * given to the world of the options. Single-threaded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_VM_H
#define PDL_VM_VM_H

#include <signal.h>

#include "base/debug.h"
#include "compile/code.h"
#include "effect/effect.h"
#include "trace/sink.h"
#include "value/label.h"

typedef struct pdl_run pdl_run;

typedef enum { PDL_STREAM_NONE, PDL_STREAM_RESULT, PDL_STREAM_CONTEXT } pdl_stream;
typedef enum { PDL_STEP_DONE, PDL_STEP_WAIT, PDL_STEP_FAIL } pdl_step;

/* A program that a run loads (include, import, lang: pdl). */
typedef struct pdl_build_source {
    pdl_str name, text;
    bool trace; /* the code reports the values of fields for the trace */
} pdl_build_source;

/* Makes code from a source; implemented by the caller (yaml + lang + compile). *out gets the code,
 * owned. On failure err is set, and *errors is a list of message lines (owned value) when the
 * program does not respect the schema. */
typedef bool pdl_build_fn(void *user, const pdl_build_source *source, pdl_code **out,
                          pdl_val *errors, pdl_err *err);

/* Fills in default parameters of a model (world/model has the function). Takes params. */
typedef bool pdl_defaults_fn(pdl_vref list, pdl_str model, pdl_val params, pdl_val *out,
                             pdl_err *err);

/* Memory in reserve, released when malloc fails (memory.c). */
typedef struct pdl_reserve pdl_reserve;
pdl_reserve *pdl_reserve_new(void);
pdl_reserve *pdl_reserve_keep(pdl_reserve *v);
void pdl_reserve_drop(pdl_reserve *v); /* v may be NULL */

/* Called when a run that waited can continue, and at the start of a run. So a caller with thousands
 * of runs need not poll each of them. The function may also be called at other times. It must not
 * step the run. */
typedef struct pdl_run_waker {
    void (*fn)(void *user);
    void *user;
} pdl_run_waker;

/* The options of a run that is one of many in an inference. An ordinary run has only zeros. */
typedef struct pdl_particle {
    bool is_one;
    bool ignores_factors; /* factors are not evaluated */
    bool holds_factors;   /* parks at each factor without `resample: false` */
    bool aligned;         /* parks only at factors that every run of the program reaches */
    bool holds_chance;    /* parks before the first effect of chance (a column of effects.def) */
    int64_t number;       /* pdl_particle_id */
    uint64_t seed;        /* the seed of the run's random numbers; so no effect requests a seed */
    /* the number that effects of the run get as pdl_effect.own; 0 when all particles share the
     * objects */
    uint64_t own;
} pdl_particle;
/* The reasons why a run is parked for its engine. */
typedef enum { PDL_HELD_NOT, PDL_HELD_FACTOR, PDL_HELD_CHANCE } pdl_held;

typedef struct pdl_run_options {
    pdl_interner *names; /* borrowed; must outlive the run */
    pdl_world *world;    /* borrowed */
    pdl_sinks sinks;
    pdl_stream stream;
    pdl_str dir;         /* directory of the main program; "" is the working directory; borrowed */
    const pdl_str *path; /* further folders for import; borrowed */
    size_t n_path;
    /* maximum number of model calls that are open at a time; 0 means the default limit */
    uint32_t jobs;
    pdl_build_fn *build;
    /* Called when code with a module's policy was built. Sets the options in which a run with
     * policies differs from a run without. When the function is NULL, it is not called. */
    bool (*guard)(void *build_user, struct pdl_run_options *o, pdl_err *err);
    void *build_user;
    /* Adds the hint for a missing file of include or import; its argument user is build_user. The
     * function may be NULL. */
    void (*source_advice)(void *user, pdl_str from, pdl_str path, bool import, pdl_err *err);
    pdl_defaults_fn *defaults;
    const pdl_debug *debug; /* may be NULL */
    /* the ids of effects begin above this one: several runs may share a world */
    uint32_t first_id;
    /* Ids up to first_id + n_ids are used; after that, ids that are free again. 0 means no
     * limit. */
    uint32_t n_ids;
    /* For a run inside another run: prefix of the places of its effects; kept. NULL for
     * other runs. */
    pdl_path *place;
    /* number of loop turns between two polls of the world; 0 means 20000, or 500 with a trace */
    uint32_t turns;
    /* The keys of each call are registered here before anything can show them; borrowed. When it is
     * NULL, they are not registered. */
    pdl_secrets *secrets;
    /* The profiles around an effect whose code executes this program; kept; absent when there are
     * none. */
    pdl_val sandbox;
    uint64_t modules; /* the modules around an effect whose code executes this program */
    bool by_code;
    pdl_budget *budget; /* the budget to which the whole run is charged; kept; may be NULL */
    pdl_str stdlib;     /* text of the standard library; may be empty */
    /* Nonzero when the run must end; long operations check it. May be NULL. */
    pdl_cancel_flag *cancel;
    /* a policy is in force, which is also asked about some actions that are not effects (permit) */
    bool guarded;
    /* when `guarded` is set: the largest number of values that a bounded type may have */
    uint32_t capacity;
    const pdl_redaction
        *redaction;             /* values with these labels are not printed; borrowed, or NULL */
    bool strict_control;        /* a choice has the labels of the value that made it */
    bool strict_plans;          /* strict control applies only in computed programs (lang: pdl) */
    const uint64_t *earlier_ns; /* time that earlier processes used, see effect/budget.h; or NULL */
    bool prints_nothing;        /* printing does not wait for results */
    /* replies never arrive, so an iteration of a map does not wait for another one's reply */
    bool unanswered;
    /* text is not printed before its `spec` and expectations have accepted it */
    bool holds_refusable;
    bool reports_tools;   /* when a library calls a function of the program, a note is sent */
    bool result_is_shown; /* the result leaves the run as output, so the result is redacted */
    bool keep_answers;    /* answers of models live as long as their texts, for pdl_run_answer */
    /* shared by runs that one thread steps; kept; when it is NULL, the run makes one */
    pdl_reserve *reserve;
    pdl_run_waker waker; /* when its fn is NULL, the waker is not called */
    pdl_particle particle;
} pdl_run_options;

pdl_run *pdl_run_new(const pdl_run_options *options);
void pdl_run_free(pdl_run *r); /* cancels what is open; r may be NULL */

/* Starts to run the code (kept) with these variables (a borrowed dict, or absent). Called once for
 * each run. */
void pdl_run_start(pdl_run *r, pdl_code *code, pdl_vref variables);

/* Runs until no fiber is runnable. DONE: the result is available. FAIL: pdl_run_error returns the
 * error. WAIT: the caller polls the world, and then steps again. */
pdl_step pdl_run_step(pdl_run *r);
/* Called by a sink: ends the step at the next turn of a loop, because the output is not being
 * read.
 */
void pdl_run_yield(pdl_run *r);
/* After WAIT: true when a fiber is runnable; then poll the world with timeout 0. */
bool pdl_run_is_ready(const pdl_run *r);
/* Steps and polls until the run is done or has failed. */
pdl_step pdl_run_wait(pdl_run *r);

/* After WAIT: returns the reason why the run cannot continue before pdl_run_release; PDL_HELD_NOT
 * when it only waits for replies. */
pdl_held pdl_run_held(const pdl_run *r);
/* Returns the place at which the run is held, owned. *loc gets the place of the block in the
 * source. */
pdl_path *pdl_run_held_at(const pdl_run *r, pdl_loc *loc);
void pdl_run_release(pdl_run *r);
/* Returns true when the run should have parked before its first effect of chance, but cannot park
 * at the place of this effect. The effect was not sent, and the run must be freed. */
bool pdl_run_missed_chance(const pdl_run *r);
/* Copies a held run. The copy has these options, and is at the same place with the same state.
 * Returns NULL when the run cannot be copied: *why has the reason (static), and *loc the block when
 * it is known. */
pdl_run *pdl_run_copy(const pdl_run *r, const pdl_run_options *o, const char **why, pdl_loc *loc);
/* Makes a held run another particle: its effects are at this place from now on, and it draws other
 * random numbers. */
void pdl_run_become(pdl_run *r, const pdl_particle *p, pdl_path *place);

/* Returns the scope that cancels the run, for work on the values of the run after its last step.
 * Lives as long as the run. */
const pdl_cancel *pdl_run_cancel_scope(const pdl_run *r);
/* Ends the run with this error, for example after Ctrl-C. Open effects are cancelled, and the next
 * step returns FAIL. Takes the content of err. */
void pdl_run_cancel(pdl_run *r, pdl_err *err);
/* Called when Python code of the effect `id` reads standard input. Prints the text before the
 * question, even text that otherwise waits until an attempt has succeeded. */
void pdl_run_reads_input(pdl_run *r, uint32_t id);

/* A strand that waits for a reply. */
typedef struct pdl_wait {
    pdl_loc at;      /* the instruction that waits */
    uint32_t effect; /* id of the effect that the strand waits for */
    const pdl_block *const *
        /* The n_blocks open blocks, innermost first. For an iteration of a map these include the
         * blocks around the map. */
        blocks;
    size_t n_blocks;
} pdl_wait;
/* After WAIT: calls fn for each waiting strand, oldest first. */
void pdl_run_each_wait(const pdl_run *r, void (*fn)(void *user, const pdl_wait *w), void *user);

/* Called after DONE. The result is borrowed. */
pdl_vref pdl_run_result(const pdl_run *r);
/* Returns true when the result contains words that are not the program's own. */
bool pdl_run_result_is_untrusted(const pdl_run *r);
pdl_val pdl_run_scope(const pdl_run *r); /* returns the final variables, an owned dict */
pdl_vref pdl_run_context(const pdl_run *r);
/* Returns the present variables of a strand, with pdl_context. For a sink, such as a debugger, that
 * examines the run while it is called. Owned dict; empty when the strand has ended. */
pdl_val pdl_run_scope_of(const pdl_run *r, uint32_t fiber);
/* Keeps the variables of a strand, without pdl_context, for later use. pdl_scope_drop releases
 * them. NULL when the strand has ended. */
struct pdl_scope *pdl_run_keep_scope_of(const pdl_run *r, uint32_t fiber);
/* Changes a variable of a strand wherever it has the value `old`: in the running block and in the
 * blocks around it, but not in callers. Called by a sink, such as a debugger. Returns false when
 * the strand has ended, or no block sees such a variable. */
bool pdl_run_set_variable(pdl_run *r, uint32_t fiber, pdl_str name, pdl_vref old, pdl_vref v);
/* With keep_answers: returns the choice {message, finish_reason, logprobs, ...} of the model reply
 * whose text is the result or is the last message that the program contributed. Absent when the
 * result comes from another block. Borrowed. */
pdl_vref pdl_run_answer(const pdl_run *r);
double pdl_run_score(const pdl_run *r);
/* Returns the label of all that the run was answered so far. */
pdl_label pdl_run_seen(const pdl_run *r);
/* Returns true when what code left is the only reason why a held run cannot be copied. A run that
 * is made again from the same answers can then be used instead of a copy. */
bool pdl_run_is_replayable(const pdl_run *r);
/* Returns the place of the factor that made the score -infinity; all-zero when no factor did. */
pdl_loc pdl_run_impossible(const pdl_run *r);
/* Sets the numbers of model calls, and of the tokens of answers and of prompts. */
void pdl_run_usage(const pdl_run *r, int64_t *calls, int64_t *completion, int64_t *prompt);
/* Called after FAIL. Borrowed. */
const pdl_err *pdl_run_error(const pdl_run *r);

#endif
