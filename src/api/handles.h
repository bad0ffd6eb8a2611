/* handles.h -- the structs of the opaque types of pdl.h, and the errors for its users. Private to
 * api.
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
    bool shows_list; /* v is a context, which the first read makes a list of messages */
};

/* --- codes.c: programs that were compiled, so that the next run starts fast ------------------- */

typedef struct pdl_code_cache pdl_code_cache;
pdl_code_cache *pdl_codes_new(void);
void pdl_codes_free(pdl_code_cache *c);
/* Returns the code of a program, borrowed; NULL when it is not known. Drops programs that are used
 * nowhere else. */
pdl_code *pdl_codes_find(pdl_code_cache *c, const pdl_program *p, bool trace);
void pdl_codes_add(pdl_code_cache *c, pdl_code *code, bool trace);

/* Appends the part of the tree that contains a place ("text[1].model"), nothing for other
 * sources. */
void pdl_api_put_part(pdl_loc loc, pdl_buf *out);
/* Returns a program without errors, or NULL. from_tree: the text was written from a tree of
 * values. */
pdl_program *pdl_api_load(pdl_engine *engine, const char *text, size_t n, const char *name,
                          bool from_tree, pdl_error **error);

/* Settings and handlers. Tasks keep it alive. */
struct pdl_engine {
    uint32_t refs;
    uint32_t jobs;
    void *user; /* first argument of note */
    void (*note)(void *user, const char *text, size_t n_bytes);
    bool shared; /* its tasks are on one loop: turns.c */
    bool busy;   /* inside a step of all tasks */
    /* the task that is stepped, for which callbacks are; NULL when none is */
    pdl_task *current;
    pdl_session *base;         /* shared by its tasks; NULL before the first task */
    PDL_VEC(pdl_task *) tasks; /* tasks that have not ended */
    /* names of all its runs: functions of one may be called in another */
    pdl_interner *names;
    pdl_label_names labels; /* labels in the policies of all its runs, which exchange values */
    pdl_val library;        /* the standard library; absent until it is used */
    pdl_program *calling;   /* runs a function for pdl_value_call; NULL until it is made */
    pdl_code_cache *codes;
    char *timeout, *prices; /* owned; "" when it was not given */
    pdl_rate_limits rates;
    pdl_pool *pool;            /* holds small objects of its functions; each function enters it */
    PDL_VEC(pdl_str) paths;    /* owned texts */
    PDL_VEC(pdl_str) policies; /* owned texts */
    char *sandbox;             /* owned; "" when none is requested */
    bool sandbox_process, no_sandbox;
    /* Where the spans of its tasks on one loop go; its texts are borrowed. */
    pdl_session_telemetry_options telemetry;
    PDL_VEC(pdl_hook) hooks; /* owned prefixes */
};
/* Sends the spans of the tasks on one loop to a collector. Call before the first task. */
void pdl_engine_set_telemetry(pdl_engine *e, const pdl_session_telemetry_options *o);
pdl_engine *pdl_engine_keep(pdl_engine *e);
/* Passes a line to the host program: options.note. */
void pdl_engine_say(const pdl_engine *e, pdl_str text);

/* The output of a durable task that was not delivered yet. */
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
    /* policies of the engine, then those of the task; borrowed until it starts */
    PDL_VEC(pdl_str) policies;
    pdl_hook *hooks; /* handlers of the engine when the task was started */
    pdl_state state;
    pdl_error *error;
    /* the error of a run that succeeded with an incomplete recording or cache */
    pdl_err unkept;
    bool busy;            /* inside a step: callbacks may be running */
    bool doomed;          /* freed inside a callback */
    bool listed;          /* it is among the tasks of its engine */
    pdl_durable *durable; /* its journal; NULL when there is none */
    pdl_val inputs;       /* inputs of a durable run that resumes; else absent */
    PDL_VEC(pdl_task_printed) printed;
    uint64_t n_printed; /* bytes of text that were delivered */
    /* set to the state when the task ends or is freed; NULL when it is not needed */
    pdl_state *ended;
};
/* Makes t the task that callbacks are for. Returns the previous one, which the caller sets
 * again. */
pdl_task *pdl_task_enter(pdl_engine *e, pdl_task *t);
/* Turns the step of a run into the state of its task, which is reported once when it ends. */
void pdl_task_settle(pdl_task *t, pdl_step step);
void pdl_task_release(pdl_task *t);

/* --- durable_runs.c: durable tasks ------------------------------------------------------------ */

/* Opens the journal before the start, with the program in use. Errors: usage, io, runtime,
 * replay. */
PDL_MUST bool pdl_task_open_durable(pdl_task *t, pdl_program *program, const pdl_task_durable *o,
                                    pdl_err *err);
void pdl_task_hold(pdl_task *t, pdl_printed kind, pdl_str role, pdl_str text);
void pdl_task_close_durable(pdl_task *t); /* called after its session was freed */

/* --- turns.c: the tasks of an engine with options.shared -------------------------------------- */

/* Stores the session that the next task shares; NULL when it shares none. */
PDL_MUST bool pdl_turns_base(pdl_engine *e, pdl_session **out, pdl_err *err);
void pdl_turns_add(pdl_engine *e, pdl_task *t);
void pdl_turns_remove(pdl_engine *e, pdl_task *t);
/* Steps all tasks until t (NULL: all) has ended, or for timeout_ms. */
void pdl_turns_run(pdl_engine *e, pdl_task *t, int timeout_ms);
void pdl_turns_close(pdl_engine *e);

/* Makes a handle; takes v. */
pdl_value *pdl_value_box(pdl_val v);
/* Returns a part of a container with the labels that it has there. Owned. */
pdl_val pdl_value_part(pdl_vref container, pdl_vref part);
/* Returns the value, or the value that filled it if it is a promise. Borrowed. */
pdl_vref pdl_value_settled(const pdl_value *v);

/* Sets *out (may be NULL) to an error of kind usage. Returns false. */
PDL_PRINTF(2, 3) bool pdl_misuse(pdl_error **out, const char *fmt, ...);
/* Sets *out (may be NULL) to this error, whose content is taken; s (may be NULL) knows the secrets
 * that must not be shown. Returns false. */
bool pdl_error_give(pdl_error **out, pdl_err *err, const pdl_session *s);
/* Sets *out to the errors of a program that was loaded. Returns false. */
bool pdl_error_of_program(pdl_error **out, const pdl_program *p);
/* Returns an error as its users see it; borrows err. */
pdl_error *pdl_error_make(const pdl_err *err, const pdl_session *s);

/* Copies a structure of options: *from (may be NULL) of from->size bytes over the zeroed *to of
 * size bytes. An unknown member that is not zero is a misuse. */
PDL_MUST bool pdl_options_read(void *to, const void *from, size_t size, const char *what,
                               pdl_error **error);

#endif
