/* handles.h -- the structs of the opaque types of pdl.h, and errors for its users. Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_HANDLES_H
#define PDL_API_HANDLES_H

#include "api/hooks.h"
#include "api/session.h"
#include "base/pool.h"
#include "base/vec.h"
#include "pdl.h"
#include "policy/policy.h"

struct pdl_value {
    pdl_val v;
};

/* --- codes.c: programs that were compiled, so that running them again is quick ---------------- */

typedef struct pdl_code_cache pdl_code_cache;
pdl_code_cache *pdl_codes_new(void);
void pdl_codes_free(pdl_code_cache *c);
/* The code of a program, borrowed; NULL: not known. Drops programs that are used nowhere else. */
pdl_code *pdl_codes_find(pdl_code_cache *c, const pdl_program *p, bool trace);
void pdl_codes_add(pdl_code_cache *c, pdl_code *code, bool trace);

/* Appends the part of the tree that a place is in ("text[1].model"), nothing for other sources. */
void pdl_api_put_part(pdl_loc loc, pdl_buf *out);
/* A program without errors, or NULL. from_tree: the text was written from a tree of values. */
pdl_program *pdl_api_load(pdl_engine *engine, const char *text, size_t n, const char *name,
                          bool from_tree, pdl_error **error);

/* Settings and handlers. Tasks keep it. */
struct pdl_engine {
    uint32_t refs;
    uint32_t jobs;
    void *user; /* of note */
    void (*note)(void *user, const char *text, size_t n_bytes);
    bool shared;               /* tasks on one loop: turns.c */
    bool busy;                 /* inside a step of all */
    pdl_task *current;         /* moves now; what calls back is for it. NULL: none */
    pdl_session *base;         /* shared by its tasks; NULL: no task was started */
    PDL_VEC(pdl_task *) tasks; /* that have not ended */
    pdl_interner *names;       /* of all its runs: functions of one may be called in another */
    pdl_label_names labels;    /* of policies of all its runs, which give each other values */
    pdl_val library;           /* the standard library, once it was used; else absent */
    pdl_program *calling;      /* runs a function: pdl_value_call; NULL: not made yet */
    pdl_code_cache *codes;
    char *timeout, *prices; /* owned; "" : none given */
    pdl_rate_limits rates;
    pdl_pool *pool;            /* small objects made by its functions; each function enters it */
    PDL_VEC(pdl_str) paths;    /* owned texts */
    PDL_VEC(pdl_str) policies; /* owned texts */
    char *sandbox;             /* owned; "": none asked for */
    bool sandbox_process, no_sandbox;
    PDL_VEC(pdl_hook) hooks; /* owned prefixes */
};
pdl_engine *pdl_engine_keep(pdl_engine *e);
/* A line for the host program: options.note. */
void pdl_engine_say(const pdl_engine *e, pdl_str text);

/* What a durable task printed and has not yet handed out. */
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
    PDL_VEC(pdl_str) policies; /* of the engine, then its own; borrowed until it starts */
    pdl_hook *hooks; /* those of the engine when the task was started */
    pdl_state state;
    pdl_error *error;
    pdl_err unkept;       /* the run succeeded, but its recording or cache is incomplete */
    bool busy;            /* inside of a step: callbacks may be running */
    bool doomed;          /* freed inside a callback */
    bool listed;          /* among the tasks of its engine */
    pdl_durable *durable; /* its journal; NULL: none */
    pdl_val inputs;       /* with durable: those of a run that resumes; else absent */
    PDL_VEC(pdl_task_printed) printed;
    uint64_t n_printed; /* bytes of text that were given */
    pdl_state *ended;   /* set to the state when the task ends or is freed; NULL: not needed */
};
/* Makes t the task that callbacks are for. Returns the one before, to be set again. */
pdl_task *pdl_task_enter(pdl_engine *e, pdl_task *t);
/* Turns the step of a run into the state of its task, which is reported once when it ends. */
void pdl_task_settle(pdl_task *t, pdl_step step);
void pdl_task_release(pdl_task *t);

/* --- durable_runs.c: durable tasks ------------------------------------------------------------ */

/* Before the start, with the program in use. Errors: usage, io, runtime, replay. */
PDL_MUST bool pdl_task_open_durable(pdl_task *t, pdl_program *program, const pdl_task_durable *o,
                                    pdl_err *err);
void pdl_task_hold(pdl_task *t, pdl_printed kind, pdl_str role, pdl_str text);
void pdl_task_close_durable(pdl_task *t); /* after its session was freed */

/* --- turns.c: the tasks of an engine with options.shared -------------------------------------- */

/* The session that the next task shares; NULL: it shares none. */
PDL_MUST bool pdl_turns_base(pdl_engine *e, pdl_session **out, pdl_err *err);
void pdl_turns_add(pdl_engine *e, pdl_task *t);
void pdl_turns_remove(pdl_engine *e, pdl_task *t);
/* Step all until t (NULL: all) has ended, or for timeout_ms. */
void pdl_turns_run(pdl_engine *e, pdl_task *t, int timeout_ms);
void pdl_turns_close(pdl_engine *e);

/* A handle; takes v. */
pdl_value *pdl_value_box(pdl_val v);
/* A part of a container with the labels that it has there. Owned. */
pdl_val pdl_value_part(pdl_vref container, pdl_vref part);
/* The value, or the value that filled it if it is a promise. Borrowed. */
pdl_vref pdl_value_settled(const pdl_value *v);

/* All of these return false and set *out (may be NULL) to an error of kind usage ... */
PDL_PRINTF(2, 3) bool pdl_misuse(pdl_error **out, const char *fmt, ...);
/* ... or to this error, whose content is taken; s (may be NULL) knows the secrets that must not be
 * shown. */
bool pdl_error_give(pdl_error **out, pdl_err *err, const pdl_session *s);
/* The errors of a program that was loaded. */
bool pdl_error_of_program(pdl_error **out, const pdl_program *p);
/* The kind of this name; "runtime" for NULL and unknown names. */
pdl_err_kind pdl_error_kind_of(const char *name);
/* An error as its users see it; borrows err. */
pdl_error *pdl_error_make(const pdl_err *err, const pdl_session *s);

/* Copies a structure of options: *from (may be NULL) of from->size bytes over the zeroed *to of
 * size bytes. An unknown member that is not zero is a misuse. */
PDL_MUST bool pdl_options_read(void *to, const void *from, size_t size, const char *what,
                               pdl_error **error);

#endif
