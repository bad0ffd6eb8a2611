/* session_parts.h -- the parts of a session. Each has a struct, a file that ends it, and a function
 * _ok that checks its invariants in builds with assertions. Private to api.
 *
 *   around   surroundings.c   the environment of every run: process, user, folders
 *   rules    session_rules.c  what may be done: policies, what sinks redact, sandboxes
 *   files    open_files.c     journals and caches, which answer or record
 *   chain    chain.c          the worlds between the run and those that answer
 *   loaded   loaded.c         the program: from its text to its code
 *   running  running.c        the run, and the programs inside it and beside it
 *   reports  reports.c        the receivers of events: traces, spans, clocks of replays
 *   group    members.c        what the tasks of an engine have in common
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_SESSION_PARTS_H
#define PDL_API_SESSION_PARTS_H

#include "api/report/explain.h"
#include "api/session/chain.h"
#include "api/session/confined.h"
#include "api/session/jobs.h"
#include "api/session/policies.h"
#include "api/session/subruns.h"
#include "api/setup/env.h"
#include "api/setup/install_folders.h"
#include "cache/cache.h"
#include "journal/journal.h"
#include "journal/times.h"
#include "model/catalog.h"
#include "trace/delayed_events.h"
#include "trace/fold.h"

/* A part of a session. A member of an engine borrows all of it except the redactor of
 * debug lines. */
typedef struct pdl_around {
    pdl_environ *env;
    pdl_secrets *secrets; /* the secrets in use; they are redacted in everything that is shown */
    pdl_redactor debug_redactor;
    struct pdl_loop *loop;
    pdl_folders folders;      /* the folders of PDL_PATH and of the installed library */
    pdl_prices *prices;       /* may be NULL */
    struct pdl_otlp *otlp;    /* exporter of spans for the session and its members; or NULL */
    pdl_model_env models_env; /* the environment for pdl_session_models */
} pdl_around;
PDL_MUST bool pdl_around_open(pdl_session *s, pdl_err *err);
void pdl_around_end(pdl_session *s);
bool pdl_around_ok(const pdl_around *a);

typedef struct pdl_session_rules {
    pdl_policies *policies; /* may be NULL */
    /* a dict: name and text of a program with a policy -> its bit; absent when there is none */
    pdl_val modules;
    /* For a recording: texts of the files that were read for the policies, as in
     * pdl_policy_source.kept; absent when there is no recording. */
    pdl_val policy_texts;
    pdl_policy_memories *memories;            /* shared by the session and its members */
    pdl_redaction redactions[PDL_SINK_COUNT]; /* for each sink, the labels that it redacts */
    pdl_redaction collected; /* the labels that are redacted in spans for a collector */
    pdl_confined *confined;  /* the sandboxes */
    /* a list with the sandbox profile of the program's policy; absent when there is none */
    pdl_val profiles;
} pdl_session_rules;
/* Returns the sandboxes of the session. For a member these are the sandboxes of its engine. */
pdl_confined *pdl_session_confined(const pdl_session *s);
void pdl_session_rules_end(pdl_session_rules *r);
bool pdl_session_rules_ok(const pdl_session_rules *r);

/* All members may be NULL. */
typedef struct pdl_open_files {
    pdl_journal *journal; /* the file of --record, or a recording that is replayed */
    pdl_durable *durable; /* the journal of a durable run; borrowed unless it is `owned` */
    pdl_durable *owned;   /* the durable run that --replay names; closed with the session */
    pdl_durable *server;  /* the journal of a server, which has many runs; borrowed */
    pdl_cache *cache;
} pdl_open_files;
PDL_MUST bool pdl_open_files_open(pdl_session *s, pdl_err *err);
/* Returns true when the next poll will deliver an answer from one of these files. */
bool pdl_open_files_are_ready(const pdl_open_files *f);
void pdl_open_files_end(pdl_open_files *f);
bool pdl_open_files_ok(const pdl_open_files *f);

typedef struct pdl_loaded {
    pdl_arena *arena;
    pdl_interner *names;
    pdl_program *program;
    /* the copy of the program that was last checked, with its modules; may be NULL */
    pdl_program *checked;
    pdl_val inputs; /* the variables with which the run began, for the check; or absent */
    pdl_code *code; /* NULL until the run starts, unless the caller gave the code */
} pdl_loaded;
void pdl_loaded_keep_checked(pdl_loaded *l, pdl_program *checked);
void pdl_loaded_end(pdl_loaded *l);
bool pdl_loaded_ok(const pdl_loaded *l);

/* The runs beside the main run, by slot. Each list has PDL_SPAWN_SLOTS entries, and is NULL until a
 * run needs it. */
typedef struct pdl_beside {
    pdl_chain **chains; /* for each durable run: the worlds of its chain that no other run shares */
    /* the view of the cache for the group that last began in each slot */
    pdl_cache_view **group_views;
    pdl_cache_view **views; /* the view of the cache for the run that was last in each slot */
    struct pdl_otlp_run **spans;
} pdl_beside;

typedef struct pdl_running {
    pdl_run *run;
    pdl_budget *budget; /* may be NULL */
    /* programs inside the run; in the session of an engine: inside the runs of all members */
    pdl_subruns *subs;
    pdl_reserve *reserve; /* reserve of memory that all runs share */
    pdl_beside beside;
    uint32_t next_input; /* id of the next INPUT effect that is made for code */
} pdl_running;
/* Ends the run and the programs inside it. pdl_running_end releases the rest after the chain was
 * closed. */
void pdl_running_stop(pdl_session *s);
void pdl_running_end(pdl_running *r);
void pdl_beside_end(pdl_session *s); /* Called before the files that these runs use are closed. */
bool pdl_running_ok(const pdl_running *r);

typedef struct pdl_reports {
    pdl_fold *fold;             /* NULL when there is no trace */
    pdl_later *later;           /* collects events for `fold`; or NULL */
    pdl_times *times;           /* the clock of a replay that is traced; or NULL */
    struct pdl_otlp_run *spans; /* may be NULL */
    pdl_reached *reached;       /* NULL when nothing is explained */
    /* writes requests so that their beginnings can be compared; or NULL */
    pdl_world *previews;
    /* PDL_ALLOW_...: the kinds of effects that explain really executes */
    unsigned allowed;
    pdl_held_output held; /* all members are NULL when no output waits for a file */
} pdl_reports;
void pdl_reports_end(pdl_reports *r);
bool pdl_reports_ok(const pdl_reports *r);

typedef struct pdl_group {
    pdl_session *shared;   /* for a member, the session of its engine; otherwise NULL */
    uint32_t slot;         /* number of the member in that session */
    pdl_session **members; /* for the session of an engine: PDL_MEMBER_SLOTS members; else NULL */
    uint32_t next_slot;    /* the slot at which the search for a free slot begins */
    pdl_jobs *jobs;        /* counts the open calls of all members; NULL before the first member */
} pdl_group;
/* Takes a slot among the members of another session. Error: limit. */
PDL_MUST bool pdl_group_join(pdl_session *s, pdl_session *shared, pdl_err *err);
void pdl_group_leave(pdl_session *s);
void pdl_group_end(pdl_group *g); /* Called when all members have left. */
bool pdl_group_ok(const pdl_session *s);

#endif
