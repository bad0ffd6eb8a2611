/* session_options.h -- what a caller says about a session, by what it is about. A part that is all
 * zero asks for nothing. All of it is borrowed for the life of the session, so no part has an end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_SESSION_OPTIONS_H
#define PDL_API_SESSION_OPTIONS_H

#include "effect/effect.h"
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

/* How it runs, and how far. */
typedef struct pdl_session_run_options {
    pdl_session_purpose purpose;
    pdl_stream stream;
    uint32_t jobs; /* calls of models in flight; 0: as many as usual */
    /* Limit of each PDL_BUDGET_ITEMS for the run, negative: none. NULL: no budget. */
    const double *budget;
    const uint8_t *levels; /* levels of rules, see check.h; NULL: the rules say */
    bool unchecked;        /* requests go out although the program is known to fail later */
    bool reports_tools;    /* see pdl_run_options */
    bool holds_refusable;  /* what `spec` may refuse is printed when it was accepted */
    bool shares_loop;      /* others live on its loop: a run that computes lets them have turns */
    bool explain;          /* send nothing: pdl_session_explained says what would be asked */
    /* Explain: what is really done, some of code,command,read,write,input,tool; empty: nothing. */
    pdl_str allow;
    pdl_cancel_flag *cancel; /* not 0 when the run is to end; may be NULL */
} pdl_session_run_options;

/* Files that answer effects or keep them. An empty name: none. */
typedef struct pdl_session_file_options {
    pdl_str record, replay; /* journals */
    pdl_str cache;          /* replies that runs share; not asked by a replay */
    /* Other files that the run writes, out of the sight of confined code; NULL-terminated. */
    const char *const *own;
    bool offline; /* there is no outside: a durable journal answers what it can */
} pdl_session_file_options;

/* Calls of models. */
typedef struct pdl_session_model_options {
    const char *timeouts; /* time limits of calls, as --timeout; NULL: none given */
    pdl_str prices;       /* file with a table of prices; empty: that of PDL_PRICES, if any */
    pdl_rate_limits rates;
    /* A call may last so many ms: a service that asks to wait longer has refused it. 0: any
     * time. */
    uint64_t patience_ms;
    /* Gets literal requests and replies as lines of text, keys removed; may be NULL. */
    void (*wire)(void *user, pdl_str text);
    void *wire_user;
    /* Takes the requests in place of sending them; NULL: they are sent. */
    const struct pdl_http_carrier *carrier;
} pdl_session_model_options;

/* Limits of what the run may reach. */
typedef struct pdl_session_guard_options {
    /* Profile that code, commands and tool servers are confined by: code, or a file. Empty: that of
     * PDL_SANDBOX, or none, unless a policy has one. */
    pdl_str sandbox;
    bool no_sandbox;      /* whatever PDL_SANDBOX says */
    bool sandbox_process; /* less than namespaces will do */
    /* Files with policies, or names of built-in ones, beside that of PDL_POLICY and that of the
     * program. */
    const pdl_str *policies;
    size_t n_policies;
} pdl_session_guard_options;

/* The receivers of what happens. */
typedef struct pdl_session_report_options {
    pdl_sink sink;    /* the caller's; event NULL: none */
    bool calls;       /* the sink writes to error output when calls of models begin and end */
    bool all_blocks;  /* the sink gets plain values, too, as the blocks that they are */
    bool labels;      /* it says where values came from, as it does where policies are asked */
    bool trace;       /* fold a trace: pdl_session_trace */
    bool trace_whole; /* with nothing but what the reference writes, lists of messages whole */
    bool trace_later; /* when it is asked for, so that the run takes no time for it */
    /* Gets what of .env sets nothing, and what is missing for the sandbox; may be NULL. */
    void (*note)(void *user, pdl_str text);
    /* Gets what Python code writes on standard error; NULL: it inherits ours. Anybody may have
     * written it. user: show_user, not that of the sink, around which others may be put. */
    void (*show_errors)(void *user, pdl_str bytes);
    void *show_user;
    pdl_debug *debug; /* its lines are without secrets while the session is there; may be NULL */
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
    const struct pdl_line_terminal *terminal; /* where a person is asked; NULL: input is read */
    const struct pdl_hook *hooks;             /* effects that the host program answers: hooks.h */
    size_t n_hooks;
    /* Handlers of this task are called, for pdl_engine_current_user; NULL: none. */
    struct pdl_task *task;
    /* Its loop, environment, secrets, prices and rooms are used, so connections, workers and rates
     * are shared. NULL: none. Not with explain; timeouts, prices, rates and wire are those of the
     * shared one. */
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

/* Has each list a number, and does no member ask for a form of something that is not asked for? */
bool pdl_session_options_ok(const pdl_session_options *o);

#endif
