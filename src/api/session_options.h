/* session_options.h -- the options of a session, in parts by topic. A part that is all zero
 * requests nothing. Everything is borrowed for the life of the session, so nothing here is
 * released.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_SESSION_OPTIONS_H
#define PDL_API_SESSION_OPTIONS_H

#include "effect/effect.h"
#include "model/prompt_cache.h"
#include "trace/sink.h"
#include "vm/vm.h"

typedef struct pdl_session pdl_session;

/* The program, and the variables with which it begins. */
typedef struct pdl_session_program_options {
    pdl_str file;        /* the name that the user gave; messages begin with it */
    pdl_str dir;         /* directory of the main program */
    pdl_vref variables;  /* a dict; absent when there are none */
    const pdl_str *path; /* further folders for imports, before those of the installation */
    size_t n_path;
    /* Names for this code and for the code of other runs from which this run may get functions.
     * When `names` is NULL, this session makes its own table of names. */
    pdl_interner *names;
    /* Labels for this run and for other runs from which it may get values. When it is NULL, the
     * labels are private. */
    struct pdl_label_names *label_names;
} pdl_session_program_options;

/* Decides which variables of the environment are read. A variable that is not read cannot be wrong:
 * the server for editors starts even if PDL_PRICES names a file that does not exist. */
typedef enum pdl_session_purpose {
    PDL_FOR_RUNS,   /* PDL_POLICY, PDL_SANDBOX and PDL_PRICES are read */
    PDL_FOR_CHECKS, /* PDL_POLICY is read: programs are checked with their policies */
    PDL_FOR_TEXT,   /* none of these is read: programs are loaded, shown and formatted */
} pdl_session_purpose;

/* How the program is run, and within which limits. */
typedef struct pdl_session_run_options {
    pdl_session_purpose purpose;
    pdl_stream stream;
    uint32_t jobs; /* maximum number of model calls in flight; 0 means the default */
    /* `jobs` limits the calls of all spawned runs together, and not the calls of each run */
    bool counts_all_jobs;
    /* The limits of the run, one for each of PDL_BUDGET_ITEMS; a negative number means no limit.
     * When it is NULL, the run has no budget. */
    const double *budget;
    const uint8_t *levels; /* levels of rules, see check.h; NULL means the default levels */
    /* Equal model calls become one request for several answers. Such calls wait until
     * pdl_session_send_waiting is called. */
    bool merges_calls;
    /* Answers are kept by place, for particles that are run again from them. */
    bool keeps_answers;
    /* With merges_calls: seed for the choices of models whose servers take one; may be NULL. */
    const uint64_t *model_seed;
    /* seed for the random generators of Python code, for each block; may be NULL */
    const uint64_t *code_seed;
    bool unchecked;     /* requests are sent even if the check says that the program will fail */
    bool reports_tools; /* see pdl_run_options */
    /* text that `spec` may refuse is printed only after `spec` has accepted it */
    bool holds_refusable;
    /* the loop has other users, so a run that computes interrupts itself now and then */
    bool shares_loop;
    bool explain; /* nothing is sent: pdl_session_explained returns the requests */
    /* With `explain`: the kinds of effects that are executed, as a list of some of code, command,
     * read, write, input, tool and http. */
    pdl_str allow;
    pdl_cancel_flag *cancel; /* the run is cancelled when the flag is not 0; may be NULL */
} pdl_session_run_options;

/* The files from which effects are answered or in which they are stored. An empty name means no
 * file. */
typedef struct pdl_session_file_options {
    pdl_str record, replay; /* journals */
    pdl_str cache;          /* file of replies that several runs share; a replay does not use it */
    /* Other files of the run, hidden from confined code: the run writes them. NULL-terminated. */
    const char *const *own;
    /* Files that the run reads; confined code must not change them. NULL-terminated, or NULL. */
    const char *const *inputs;
    bool offline; /* effects are answered only by a durable journal */
} pdl_session_file_options;

/* The options for calls of models. */
typedef struct pdl_session_model_options {
    const char *timeouts; /* time limits of calls, in the form of --timeout; may be NULL */
    /* file with a table of prices; when it is empty, the file that PDL_PRICES names */
    pdl_str prices;
    pdl_rate_limits rates;
    pdl_prefix_options prefix;
    /* The longest wait, in ms, that a service may ask for: a call fails when the service asks for a
     * longer wait. 0 means no limit. */
    uint64_t patience_ms;
    /* Gets requests and replies as lines of text. They are as they were sent, but without keys. May
     * be NULL. */
    void (*wire)(void *user, pdl_str text);
    void *wire_user;
    /* Receives requests in place of the services. When it is NULL, requests are sent to the
     * services. */
    const struct pdl_http_carrier *carrier;
} pdl_session_model_options;

/* The options that limit what the run may reach. */
typedef struct pdl_session_guard_options {
    /* The profile that confines code, commands and tool servers: `code`, or a file. Empty: the
     * profile of a policy or of PDL_SANDBOX; without these there is no sandbox. */
    pdl_str sandbox;
    bool no_sandbox;      /* PDL_SANDBOX is ignored */
    bool sandbox_process; /* a sandbox without namespaces is accepted */
    /* Files with policies, or names of built-in policies. The policies of PDL_POLICY and of the
     * program also apply. */
    const pdl_str *policies;
    size_t n_policies;
    /* The policies in a recording, which apply, too: pdl_journal_program.policies; borrowed, or
     * absent. The files that they name are not read, since the recording has their texts. */
    pdl_vref recorded;
    /* The labels of files that earlier runs of an engine have written; NULL when there are none. */
    struct pdl_policy_files *files;
} pdl_session_guard_options;

/* The receivers of events and messages. */
typedef struct pdl_session_report_options {
    pdl_sink sink;   /* the caller's sink; its `event` is NULL when the caller has none */
    bool calls;      /* the sink writes to error output when calls of models begin and end */
    bool all_blocks; /* the sink also gets events for plain values, as if they were blocks */
    bool labels;     /* values have labels for their origins even when there are no policies */
    bool trace;      /* makes a trace: pdl_session_trace */
    /* Gets the model calls and compares their beginnings; may be NULL. */
    struct pdl_prefix *prefix;
    /* the trace has only the members that the reference writes, and its lists of
     * messages are whole */
    bool trace_whole;
    /* the trace is that of the recorded run, so it does not say that it is from a replay */
    bool trace_recorded;
    /* the trace is made only when it is requested, so the run itself spends no time on it */
    bool trace_later;
    /* Gets the events of blocks with trace_later, when pdl_later_pass asks for them; its `event`
     * may be NULL. */
    pdl_sink later_sink;
    /* Gets a note for each line of .env that sets nothing, and about features that the sandbox
     * lacks; may be NULL. */
    void (*note)(void *user, pdl_str text);
    /* Gets the text that Python code writes to standard error, which is untrusted. When the
     * function is NULL, the code writes to the standard error of this process. The first argument
     * of the function is show_user. The `user` of the caller's sink is not used for this, because
     * another sink may replace that sink. */
    void (*show_errors)(void *user, pdl_str bytes);
    void *show_user;
    /* secrets are redacted in its lines as long as the session exists; may be NULL */
    pdl_debug *debug;
} pdl_session_report_options;

/* The options for spans that are sent to a collector of traces. */
typedef struct pdl_session_telemetry_options {
    /* address of the collector; when it is empty, the address in the environment */
    pdl_str collector;
    bool content; /* spans have the texts of requests and replies */
    bool all;     /* spans for the library's internals are sent, too */
    bool is_off; /* no spans are sent, because the program is a part of libpdl and not the user's */
    void (*note)(void *user, pdl_str text); /* called when a span is not sent; may be NULL */
} pdl_session_telemetry_options;

/* The options for a program that contains the session. That program answers effects, and may have
 * several sessions. */
typedef struct pdl_session_host_options {
    /* the terminal on which the user is asked; when it is NULL, standard input is only read */
    const struct pdl_line_terminal *terminal;
    /* the effects that the host program answers, see hooks.h */
    const struct pdl_hook *hooks;
    size_t n_hooks;
    /* The task whose handlers are called, for pdl_engine_current_user; may be NULL. */
    struct pdl_task *task;
    /* Another session whose loop, environment, secrets, prices and worlds this session uses, so
     * that connections, workers and rates are shared. The timeouts, prices, rates and wire of that
     * session apply. Not allowed with explain. May be NULL. */
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

/* Returns true when each list has the length that its count says, and no option refines a feature
 * that is not requested. */
bool pdl_session_options_ok(const pdl_session_options *o);

#endif
