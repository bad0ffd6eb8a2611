/* session_options.h -- the options of a session, in parts by topic. A part that is all zero
 * requests nothing. Everything is borrowed for the life of the session, so nothing here is
 * released.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_SESSION_OPTIONS_H
#define PDL_API_SESSION_OPTIONS_H

#include "effect/effect.h"
#include "model/prefix.h"
#include "trace/sink.h"
#include "vm/vm.h"

typedef struct pdl_session pdl_session;

/* The program, and what it begins with. */
typedef struct pdl_session_program_options {
    pdl_str file;        /* the name that the user gave; messages begin with it */
    pdl_str dir;         /* directory of the main program */
    pdl_vref variables;  /* dict; absent: none */
    const pdl_str *path; /* further folders for imports, before those of the installation */
    size_t n_path;
    /* The names of other runs whose functions this run may get; NULL: it has separate names. */
    pdl_interner *names;
    /* The labels of other runs whose values this run may get; NULL: it has separate labels. */
    struct pdl_label_names *label_names;
} pdl_session_program_options;

/* Decides which variables of the environment are read, and so which of them can be wrong: an
 * editor's server starts even if PDL_PRICES names a file that does not exist. */
typedef enum pdl_session_purpose {
    PDL_FOR_RUNS,   /* PDL_POLICY, PDL_SANDBOX and PDL_PRICES are in force */
    PDL_FOR_CHECKS, /* PDL_POLICY is in force: programs are checked with their policies */
    PDL_FOR_TEXT,   /* none is in force: programs are loaded, shown, formatted */
} pdl_session_purpose;

/* How the program is run, and within which limits. */
typedef struct pdl_session_run_options {
    pdl_session_purpose purpose;
    pdl_stream stream;
    uint32_t jobs; /* maximum of model calls in flight; 0: the default */
    bool counts_all_jobs; /* ... over all runs that are spawned together, not in each */
    /* The limit of the run for each of PDL_BUDGET_ITEMS; negative: no limit. NULL: no budget. */
    const double *budget;
    const uint8_t *levels; /* levels of rules, see check.h; NULL: their defaults */
    /* Equal calls of models become one request for several answers. They are sent by
     * pdl_session_send_waiting. */
    bool merges_calls;
    /* With merges_calls: seeds the choices of models whose servers take a seed; NULL: none. */
    const uint64_t *model_seed;
    const uint64_t *code_seed; /* seeds the generators of Python code for each block; NULL: none */
    bool unchecked;     /* requests are sent even if the check says that the program fails later */
    bool reports_tools; /* see pdl_run_options */
    bool holds_refusable; /* text that `spec` may refuse is printed after `spec` accepted it */
    bool shares_loop;     /* its loop has other users, which get turns while the run computes */
    bool explain;         /* sends nothing: pdl_session_explained returns the requests */
    /* With explain: the effects that are executed, some of code,command,read,write,input,tool,
     * http. */
    pdl_str allow;
    pdl_cancel_flag *cancel; /* not 0: cancels the run; may be NULL */
} pdl_session_run_options;

/* Files that answer effects or keep them. An empty name: none. */
typedef struct pdl_session_file_options {
    pdl_str record, replay; /* journals */
    pdl_str cache;          /* replies that runs share; not asked by a replay */
    /* Other files that the run writes and confined code must not see; NULL-terminated. */
    const char *const *own;
    bool offline; /* effects are answered by a durable journal only */
} pdl_session_file_options;

/* Calls of models. */
typedef struct pdl_session_model_options {
    const char *timeouts; /* time limits of calls, as --timeout; NULL: none given */
    pdl_str prices;       /* file with a table of prices; empty: that of PDL_PRICES, if any */
    pdl_rate_limits rates;
    pdl_prefix_options prefix;
    /* The time that a call may take, in ms: a call fails when the service asks to wait longer.
     * 0: no limit. */
    uint64_t patience_ms;
    /* Gets requests and replies as they are sent, as lines of text without keys; may be NULL. */
    void (*wire)(void *user, pdl_str text);
    void *wire_user;
    /* Gets the requests instead of the services; NULL: they are sent. */
    const struct pdl_http_carrier *carrier;
} pdl_session_model_options;

/* Limits of what the run may reach. */
typedef struct pdl_session_guard_options {
    /* The profile that confines code, commands and tool servers: `code`, or a file. Empty: the
     * profile of a policy or of PDL_SANDBOX; without these there is no sandbox. */
    pdl_str sandbox;
    bool no_sandbox;      /* PDL_SANDBOX is ignored */
    bool sandbox_process; /* a sandbox without namespaces is accepted */
    /* Files with policies, or names of built-in ones; those of PDL_POLICY and of the program apply
     * in addition. */
    const pdl_str *policies;
    size_t n_policies;
} pdl_session_guard_options;

/* The receivers of events and messages. */
typedef struct pdl_session_report_options {
    pdl_sink sink;    /* the caller's sink; without one its `event` is NULL */
    bool calls;       /* the sink writes to error output when calls of models begin and end */
    bool all_blocks;  /* the sink gets plain values, too, as blocks */
    bool labels;      /* values have labels of their origin even without policies */
    bool trace;       /* makes a trace: pdl_session_trace */
    /* Gets the calls of models, to compare their beginnings; NULL: nothing is compared. */
    struct pdl_prefix *prefix;
    bool trace_whole; /* it has only what the reference writes, and lists of messages whole */
    bool trace_later; /* it is made when it is requested, so the run takes no time for it */
    /* Gets the lines of .env that set nothing, and what the sandbox lacks; may be NULL. */
    void (*note)(void *user, pdl_str text);
    /* Gets what Python code writes on standard error, which is untrusted; NULL: the code inherits
     * our standard error. user: show_user, because another sink may be put around the caller's. */
    void (*show_errors)(void *user, pdl_str bytes);
    void *show_user;
    pdl_debug *debug; /* secrets are redacted in its lines while the session exists; may be NULL */
} pdl_session_report_options;

/* Spans for a collector of traces. */
typedef struct pdl_session_telemetry_options {
    pdl_str collector;                      /* its address; empty: that of the environment */
    bool content;                           /* spans have the texts of requests and replies */
    bool all;                               /* spans for the library's internals are sent, too */
    void (*note)(void *user, pdl_str text); /* called when a span is not sent; may be NULL */
} pdl_session_telemetry_options;

/* The program around the session: it answers effects, and may have several sessions. */
typedef struct pdl_session_host_options {
    const struct pdl_line_terminal *terminal; /* asks the user; NULL: input is read */
    const struct pdl_hook *hooks;             /* effects that the host program answers: hooks.h */
    size_t n_hooks;
    /* The task whose handlers are called, for pdl_engine_current_user; may be NULL. */
    struct pdl_task *task;
    /* A session whose loop, environment, secrets, prices and worlds are used, so that connections,
     * workers and rates are shared; its timeouts, prices, rates and wire apply. Not allowed with
     * explain. May be NULL. */
    pdl_session *shared;
} pdl_session_host_options;

typedef struct pdl_session_options {
    pdl_session_program_options program;
    pdl_session_run_options run;
    pdl_session_file_options files;
    pdl_session_model_options models;
    pdl_session_guard_options guards;
    pdl_session_report_options reports;
    pdl_session_telemetry_options telemetry;
    pdl_session_host_options host;
} pdl_session_options;

/* Returns true when each list has its length, and no member refines a request that is not made. */
bool pdl_session_options_ok(const pdl_session_options *o);

#endif
