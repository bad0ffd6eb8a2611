/* session_impl.h -- private to api: what a session consists of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_SESSION_IMPL_H
#define PDL_API_SESSION_IMPL_H

#include "api/report/explain.h"
#include "api/session.h"
#include "api/session/chain.h"
#include "api/session/confined.h"
#include "api/session/jobs.h"
#include "api/session/policies.h"
#include "api/session/subruns.h"
#include "api/setup/env.h"
#include "api/setup/folders.h"
#include "budget/world.h"
#include "cache/cache.h"
#include "journal/journal.h"
#include "journal/times.h"
#include "trace/fold.h"
#include "trace/later.h"
#include "worker/worker.h"

struct pdl_session {
    pdl_session_options opt;
    pdl_interner *names;
    pdl_reserve *reserve; /* of memory, shared by all its runs */
    pdl_environ *env;
    pdl_secrets *secrets; /* that are in use */
    pdl_hider debug_hider;
    pdl_loop *loop;
    pdl_jobs *jobs;     /* of those that share this one; NULL: none yet */
    pdl_chain chain;    /* built when it is first needed: pdl_session_chain */
    unsigned allowed;   /* PDL_ALLOW_...: explain really does these */
    pdl_reached *reached;     /* with explain */
    pdl_prices *prices;       /* NULL: none */
    pdl_budget *budget;       /* of the run; NULL: none */
    pdl_cache *cache;         /* NULL: none */
    pdl_journal *journal;     /* NULL: none */
    pdl_durable *durable;     /* borrowed unless it is owned; NULL: none */
    pdl_durable *owned;       /* of --replay */
    pdl_durable *server;      /* whose journal the runs of a server have; borrowed; NULL: none */
    pdl_chain **spawn_chains; /* of durable runs beside others, by slot; NULL: none yet */
    pdl_confined *confined;   /* the sandboxes */
    pdl_val profiles;         /* list of the profile of the program's own policy; absent: none */
    pdl_policies *policies;   /* NULL: none */
    pdl_val modules;          /* {name and text: bit} of those with a policy; absent: none */
    pdl_policy_memories *memories;  /* of it and its members; NULL: no policy was asked */
    pdl_mask masks[PDL_SINK_COUNT]; /* of the sinks that hide labels */
    pdl_mask collected; /* of a collector of telemetry: what traces or the output hide */
    pdl_program *program;
    pdl_val inputs;       /* the variables that the run began with, for precheck; absent: no run */
    pdl_program *checked; /* a copy that precheck found an error in; NULL: none */
    pdl_code *code;       /* of the program; NULL until start, unless it was given */
    pdl_run *run;
    pdl_fold *fold;
    pdl_later *later; /* in front of it; NULL: it gets events when they happen */
    pdl_times *times; /* of a replay that is traced; NULL: the clock */
    pdl_subruns *subs;
    pdl_folders folders; /* PDL_PATH and the installed library */
    pdl_arena *arena;
    uint32_t next_input; /* ids of INPUT effects made for code */
    /* Only with a cache, else NULL; PDL_SPAWN_SLOTS entries each. cache_views: the view made for
     * the last group that began in the slot. spawn_views: that of the slot's last run. */
    pdl_cache_view **cache_views, **spawn_views;
    struct pdl_otlp *otlp;      /* sends spans for it and its members; NULL: nothing is sent */
    struct pdl_otlp_run *spans; /* of the run; NULL: none */
    struct pdl_otlp_run **spawn_spans; /* of runs beside others, by slot; NULL: none yet */
    pdl_session *shared;               /* that this one is a member of; NULL: none */
    uint32_t slot;                     /* there */
    pdl_session **members; /* PDL_MEMBER_SLOTS of those that share this one; NULL: none yet */
    uint32_t next_slot;    /* where a free one is looked for */
};

/* The worlds between the runs of the session and who answers; built when it is first called, which
 * is when policies are known. */
pdl_chain *pdl_session_chain(pdl_session *s);
/* answerers.c: its last row. */
pdl_world *pdl_session_answer_world(pdl_session *s);

/* durable_session.c: what a durable run beside others sees; its end. */
pdl_world *pdl_session_spawn_durable(pdl_session *s, const pdl_spawn *spawn);
pdl_sink pdl_session_output_sink(const pdl_session *s);
void pdl_session_end_durable(pdl_session *s, uint32_t slot);

/* telemetry.c: the exporter of a session that has its own environment; the spans of a run. Error:
 * usage. */
PDL_MUST bool pdl_session_open_telemetry(pdl_session *s, pdl_err *err);
void pdl_session_close_telemetry(pdl_session *s);
void pdl_session_add_spans(pdl_session *s, pdl_sinks *sinks);
void pdl_session_add_spawn_spans(pdl_session *s, uint32_t slot, pdl_str file, pdl_sinks *sinks);
void pdl_session_end_spawn_spans(pdl_session *s, uint32_t slot);
/* For requests to models: user is the session whose environment is used. */
bool pdl_session_traceparent(void *user, uint32_t effect, char out[56]);
const char *pdl_session_tracestate(const pdl_session *s);

/* The environment of a session (user); the time of an event of a run that is not replayed. */
const char *pdl_session_env_of(void *user, const char *name);
int64_t pdl_session_wall(void *user, const pdl_event *e);

/* session_inner.c: what every run of the session has; the variables of a run, each with its
 * origin; what code of the session asks for: a program, a line of input. */
pdl_run_options pdl_session_run_options(pdl_session *s);
pdl_val pdl_session_with_defaults(pdl_vref vars, pdl_label origin);
void pdl_session_run_program(void *user, const pdl_effect *code, pdl_val request,
                             pdl_worker_done_fn *done, void *done_user);
void pdl_session_ask_input(void *user, const pdl_effect *code, pdl_worker_answer_fn *answer,
                           void *answer_user);

/* precheck.c: a world that checks the program of the session before its first request. */
pdl_world *pdl_session_precheck(pdl_session *s, pdl_world *next);

/* guard.c: policies. A program was read that is not the main one, from this file (empty: its text
 * was computed): its own policy is in force for what it does. Errors: io, syntax, schema, limit. */
PDL_MUST bool pdl_session_take_module(pdl_session *s, const pdl_program *p, pdl_str file,
                                      pdl_code *code, pdl_err *err);
/* Sets the options of a run that depend on policies: pdl_run_options.guard. */
bool pdl_session_guard_run(void *session, pdl_run_options *o, pdl_err *err);
/* Those of the command line and the environment are read at once, that of the program when the run
 * begins; then the world that asks them is opened. */
PDL_MUST bool pdl_session_read_policies(pdl_session *s, pdl_err *err);
pdl_world *pdl_session_policy_world(pdl_session *s, const pdl_spawn *run, pdl_world *next);
void pdl_session_fill_masks(pdl_session *s); /* after policies were read */
pdl_policy_memory *pdl_session_memory(pdl_session *s); /* of its policies, joined */
PDL_MUST bool pdl_session_read_own_policy(pdl_session *s, pdl_err *err);
/* A durable run: what confines it is kept; one that continues has all of that again, whatever its
 * program and its host say now. Error: usage. */
PDL_MUST bool pdl_session_keep_guards(pdl_session *s, pdl_err *err);
/* What the sink does not show: valid from the beginning, filled in when policies are read. */
const pdl_mask *pdl_session_mask(const pdl_session *s, pdl_sink_id sink);
/* Error output of code: is it ours to show, and then how. user: a session. */
bool pdl_session_takes_errors(void *user);
void pdl_session_show_errors(void *user, pdl_str bytes);

/* profiles.c: the sandbox, where the options or the policies so far ask for one; the profile of
 * the policies from number `from` on, which confines the program. */
PDL_MUST bool pdl_session_open_sandbox(pdl_session *s, pdl_err *err);
PDL_MUST bool pdl_session_add_profile(pdl_session *s, size_t from, pdl_err *err);
/* Makes the sandboxes of blocks, before anything is done. Error: all that cannot be kept. */
PDL_MUST bool pdl_session_keep_profiles(pdl_session *s, const pdl_program *p, pdl_err *err);

/* recording.c: the journal of --record or --replay, in front of the worlds. Errors: usage, io,
 * replay. */
PDL_MUST bool pdl_session_open_journal(pdl_session *s, pdl_err *err);
/* Before the run starts: the recording keeps its program and its variables. */
void pdl_session_record_program(pdl_session *s);
/* Adds the variables, which come from outside, to d. Takes d. */
pdl_val pdl_session_with_variables(pdl_val d, pdl_vref vars, pdl_label origin);

/* durable_session.c: the journal that --replay names answers. Errors: io, replay. */
PDL_MUST bool pdl_session_open_replay(pdl_session *s, pdl_err *err);

#endif
