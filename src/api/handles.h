/* handles.h -- the structs of the types that are opaque in pdl.h, and the errors for users of
 * pdl.h. Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_HANDLES_H
#define PDL_API_HANDLES_H

#include "api/hooks.h"
#include "api/host_answers.h"
#include "api/session.h"
#include "base/pool.h"
#include "base/vec.h"
#include "pdl.h"
#include "policy/policy.h"

struct pdl_value {
    pdl_val v;
    bool shows_list; /* v is a context, which the first read turns into a list of messages */
};

/* --- codes.c: programs that were compiled, so that the next run starts fast ------------------- */

typedef struct pdl_code_cache pdl_code_cache;
pdl_code_cache *pdl_codes_new(void);
void pdl_codes_free(pdl_code_cache *c);
/* Returns the code of a program, borrowed; NULL when it is not known. Drops programs that nothing
 * else uses. */
pdl_code *pdl_codes_find(pdl_code_cache *c, const pdl_program *p, bool trace);
void pdl_codes_add(pdl_code_cache *c, pdl_code *code, bool trace);

/* Appends the path of the part of the tree that contains `loc`, such as "text[1].model". Appends
 * nothing when the source of `loc` is not a tree. */
void pdl_api_put_part(pdl_loc loc, pdl_buf *out);
/* Returns the loaded program; NULL when it has errors, or when `name` is not UTF-8. from_tree says
 * whether the text was made from a tree of values. */
pdl_program *pdl_api_load(pdl_engine *engine, const char *text, size_t n, const char *name,
                          bool from_tree, pdl_error **error);

/* Settings and handlers. The tasks of an engine keep the engine alive. */
struct pdl_engine {
    uint32_t refs;
    uint32_t jobs;
    void *user; /* first argument of the callback note */
    void (*note)(void *user, const char *text, size_t n_bytes);
    bool shared; /* all tasks of the engine share one loop; see turns.c */
    bool busy;   /* a step of all tasks is running */
    /* the task that is being stepped and whose callbacks are called; NULL when no task is */
    pdl_task *current;
    pdl_session *base;         /* the session that the tasks share; NULL before the first task */
    PDL_VEC(pdl_task *) tasks; /* tasks that have not ended */
    /* names in the code of all runs of the engine: a function of one run may be called
     * in another */
    pdl_interner *names;
    /* numbers of labels for all runs of the engine, because runs exchange values */
    pdl_label_names labels;
    pdl_val library;      /* the standard library; absent until it is used */
    pdl_program *calling; /* the program that pdl_value_call runs; NULL until it is needed */
    pdl_code_cache *codes;
    char *timeout, *prices; /* owned; "" when no timeout was given */
    pdl_rate_limits rates;
    /* memory of small objects; functions of the engine make it the current pool (base/pool.h) */
    pdl_pool *pool;
    PDL_VEC(pdl_str) paths;         /* owned texts */
    PDL_VEC(pdl_str) policies;      /* owned texts */
    struct pdl_policy_files *files; /* the labels of what runs have left in files */
    char *sandbox;                  /* owned; "" when none is requested */
    bool sandbox_process, no_sandbox;
    /* The options for the spans of tasks that share one loop; the texts are borrowed. */
    pdl_session_telemetry_options telemetry;
    PDL_VEC(pdl_hook) hooks; /* owned prefixes */
};
/* Sets the collector to which spans of tasks on the shared loop are sent. Called before the first
 * task. */
void pdl_engine_set_telemetry(pdl_engine *e, const pdl_session_telemetry_options *o);
pdl_engine *pdl_engine_keep(pdl_engine *e);
/* Passes a line to the host program: options.note. */
void pdl_engine_say(const pdl_engine *e, pdl_str text);

/* A piece of output of a durable task, before it is delivered to the host program. */
typedef enum { PDL_PRINTED_TEXT, PDL_PRINTED_ERROR, PDL_PRINTED_MESSAGE } pdl_printed;
typedef struct pdl_task_printed {
    pdl_printed kind;
    char *role, *text; /* owned */
    size_t n;
} pdl_task_printed;

/* Shared by tasks.c, turns.c and durable_runs.c. */
struct pdl_task {
    pdl_engine *engine;
    pdl_session *session;
    pdl_task_options opt;
    char *file, *record, *replay, *cache, *prices, *timeout; /* owned */
    double budget[PDL_BUDGET_COUNT];
    /* policies of the engine, and then those of the task; borrowed until the task starts */
    PDL_VEC(pdl_str) policies;
    pdl_hook *hooks; /* the handlers that the engine had when the task was started */
    pdl_state state;
    pdl_error *error;
    /* the error of a recording or cache that is incomplete, although the run succeeded */
    pdl_err unkept;
    bool busy;            /* the task is inside a step, so callbacks may be running */
    bool doomed;          /* the task was freed inside a callback, and is released later */
    bool listed;          /* the task is in the list of its engine */
    pdl_durable *durable; /* the journal of the task; NULL when it has none */
    pdl_val inputs;       /* inputs of a durable run that is resumed; absent for other runs */
    PDL_VEC(pdl_task_printed) printed;
    uint64_t n_printed; /* number of bytes of text that were delivered */
    /* *ended is set to the state when the task ends or is freed; NULL when no caller waits for
     * it */
    pdl_state *ended;
};
/* Makes t the current task: the engine now calls the callbacks of t. Returns the previous task,
 * which the caller restores. */
pdl_task *pdl_task_enter(pdl_engine *e, pdl_task *t);
/* The maximum time between two checks of pdl_task_options.interrupt. */
enum { PDL_FLAG_MS = 50 };
/* Cancels the run when its flag is set. */
void pdl_task_check_flag(pdl_task *t);
/* Sets the state of the task from `step`, the result of the last step of its run. Reports the end
 * of the run once. */
void pdl_task_settle(pdl_task *t, pdl_step step);
void pdl_task_release(pdl_task *t);

/* --- durable_runs.c: durable tasks ------------------------------------------------------------ */

/* Opens the journal before the task starts with this program. Errors: usage, io, runtime,
 * replay. */
PDL_MUST bool pdl_task_open_durable(pdl_task *t, pdl_program *program, const pdl_task_durable *o,
                                    pdl_err *err);
void pdl_task_hold(pdl_task *t, pdl_printed kind, pdl_str role, pdl_str text);
void pdl_task_close_durable(pdl_task *t); /* Called after the session of the task was freed. */

/* --- turns.c: the tasks of an engine with options.shared -------------------------------------- */

/* Stores in *out the session that the next task shares; NULL when tasks share no session. */
PDL_MUST bool pdl_turns_base(pdl_engine *e, pdl_session **out, pdl_err *err);
void pdl_turns_add(pdl_engine *e, pdl_task *t);
void pdl_turns_remove(pdl_engine *e, pdl_task *t);
/* Steps all tasks until t has ended (until all have ended when t is NULL), or until timeout_ms have
 * passed. */
void pdl_turns_run(pdl_engine *e, pdl_task *t, int timeout_ms);
void pdl_turns_close(pdl_engine *e);

/* Makes a handle. Takes v. */
pdl_value *pdl_value_box(pdl_val v);
/* Returns a part of a container with the labels that it has there. Owned. */
pdl_val pdl_value_part(pdl_vref container, pdl_vref part);
/* Returns v. If v is a promise, returns the value that filled it. Borrowed. */
pdl_vref pdl_value_settled(const pdl_value *v);

/* Sets *out (may be NULL) to an error of kind usage. Returns false. */
PDL_PRINTF(2, 3) bool pdl_misuse(pdl_error **out, const char *fmt, ...);
/* Sets *out (may be NULL) to this error. Takes its content. s (may be NULL) knows the secrets that
 * must not be shown. Returns false. */
bool pdl_error_give(pdl_error **out, pdl_err *err, const pdl_session *s);
/* Sets *out to the errors of a program that was loaded. Returns false. */
bool pdl_error_of_program(pdl_error **out, const pdl_program *p);
/* Returns an error in the form that users of the library see. Borrows err. */
pdl_error *pdl_error_make(const pdl_err *err, const pdl_session *s);

/* Copies options of a caller: *from (may be NULL; from->size bytes) is copied over *to, which has
 * `size` zero bytes. Members that this version does not know must be zero; any other value is a
 * misuse. */
PDL_MUST bool pdl_options_read(void *to, const void *from, size_t size, const char *what,
                               pdl_error **error);

#endif
