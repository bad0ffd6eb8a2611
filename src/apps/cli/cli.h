/* cli.h -- shared by the commands. Private to cli.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_CLI_H
#define PDL_CLI_CLI_H

#include "api/config.h"
#include "api/session.h"
#include "base/limits.h"
#include "base/num.h"
#include "cli/options.h"
#include "io/tty.h"

#define PDL_MAX_SOURCE_BYTES_SIZE ((size_t)PDL_MAX_SOURCE_BYTES)

/* The bytes of a program; "-" is standard input. */
PDL_MUST bool pdl_cli_read_program(pdl_str file, pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_cli_program_is_there(pdl_str file, pdl_err *err);
/* Variables of --data-file and --data as a dict. */
PDL_MUST bool pdl_cli_read_data(const arguments *a, pdl_val *vars, pdl_err *err);

/* "30d" in seconds; false when it is not an age. */
bool pdl_cli_read_age(pdl_str s, int64_t *out);
#define PDL_AGE_WANTED "argument --older-than: expected a number and d, h, m or s, such as 30d"

/* shared_options.c: the options of all commands that run programs. Fills those members of o, which
 * borrow l; 0, or the exit code of a wrong command line. */
typedef struct shared_options {
    double budget[PDL_BUDGET_COUNT];
    void *wire; /* FILE *; NULL: none */
    pdl_str wire_name;
    bool wire_failed;
} shared_options;
int pdl_cli_shared_options_read(const arguments *a, shared_options *l, pdl_session_options *o);
/* Can a session have these options? False: it has said why not. */
bool pdl_cli_can_open(const arguments *a, const pdl_session_options *o);
void pdl_cli_shared_options_fini(shared_options *l);

/* run_warnings.c: what a check finds in a program that is about to run, on standard error: on a
 * terminal, with --check=warn, or always. */
void pdl_cli_show_problems(const arguments *a, const pdl_session *s, const pdl_program *p,
                           bool always);
/* What pdl.toml, PDL_RULES and --rule say, as pdl_config_read; released by pdl_config_fini. */
PDL_MUST bool pdl_cli_read_config(const arguments *a, pdl_str file, pdl_check_config *c,
                                  pdl_err *err);
/* --check=off or warn: requests go out whatever was found. */
bool pdl_cli_is_unchecked(const arguments *a);
/* The same problems as a list of objects, owned. */
pdl_val pdl_cli_list_problems(const arguments *a, const pdl_session *s, const pdl_program *p);
/* Prints the problems of a program that is about to be served, if a person watches or it is
 * refused. False: every request would meet one of them, and nobody asked to serve it anyway. */
bool pdl_cli_passes(const arguments *a, const pdl_session *s, const pdl_program *p,
                    const pdl_check_inputs *inputs);

/* durable_command.c: durable runs of the command. */
typedef struct durable_command {
    pdl_durable *run;          /* NULL: the run is not durable */
    char *path, *id;           /* owned */
    bool resumes, is_listed;   /* listed: it is in the folder of runs */
    pdl_val inputs;            /* of a run that resumes; absent: none */
    PDL_VEC(pdl_str) policies; /* of a run that resumes: those that it had, and one that is added */
    PDL_VEC(char *) texts;     /* of options of its journal; owned */
    bool fresh_output;         /* of a run that resumes: the file of -o has not its output so far */
    /* of the command line that resumes it, once its folder was left: names of files are whole */
    PDL_VEC(struct given_value) values;
    PDL_VEC(pdl_str) given_policies;
} durable_command;
struct term;
/* The journal of a new run, once its program has loaded. False: err is set. */
PDL_MUST bool pdl_cli_durable_begin(durable_command *l, const arguments *a, pdl_session *s,
                                    pdl_str text, pdl_vref inputs, pdl_err *err);
/* A run that is there: its options where a has none, and its program. */
PDL_MUST bool pdl_cli_durable_open(durable_command *l, arguments *a, pdl_durable_use use,
                                   pdl_err *err);
/* Connects run, session and terminal; before the run starts. */
/* given: variables of this command line, which a run that resumes takes over its own. */
PDL_MUST bool pdl_cli_durable_attach(durable_command *l, const arguments *a, pdl_session *s,
                                     pdl_vref given, struct term *t, pdl_err *err);
/* After the run: notes, questions. */
void pdl_cli_durable_note(const durable_command *l, const arguments *a, pdl_session *s);
void pdl_cli_durable_fini(durable_command *l);
/* The journal of a run that begins: that of --record, or the one of its id. Owned. Errors: usage,
 * io. */
PDL_MUST bool pdl_cli_journal_path(const arguments *a, pdl_str id, char **out, pdl_err *err);
/* Returns the file or folder of the journal, which confined code must not see: the file of
 * --record, or the folder of runs where the id of the run is not known yet. Owned; NULL: there is
 * none, and the run that begins says why. */
char *pdl_cli_journal_hidden(const arguments *a);
/* Options (ended by OPT_COUNT) that only a durable run has, without --durable: the exit code; -1:
 * none is given. */
int pdl_cli_refuse_undurable(const arguments *a, const opt_id *own);
bool pdl_cli_syncs_fully(const arguments *a); /* --sync full */
/* Path of the journal of an id or of a file. Owned. Error: usage. */
PDL_MUST bool pdl_cli_durable_path(pdl_str name, char **out, pdl_err *err);
/* cmd_trace.c: the trace of a run, as JSON in pieces; the same as something that can be shown.
 * beside this program, or where text.p is NULL that of the journal. Nothing is run outside. */
#define PDL_CLI_BAD_FRAME                                                                          \
    "argument --view-frame: expected origins, as https://a.example, or schemes of applications, "  \
    "as vscode-webview:"
struct pdl_view_run;
struct pdl_view_files; /* gets the files of the run; NULL: not wanted */
PDL_MUST bool pdl_cli_trace_run(pdl_durable *run, struct pdl_view_files *files,
                                pdl_fold_put_fn *put, void *user, pdl_err *err);
PDL_MUST bool pdl_cli_trace_view(pdl_durable *run, pdl_str file, pdl_str text, bool edited,
                                 struct pdl_view_run **out, pdl_err *err);
/* recorded_trace.c: the program of a recording run against it; where it ends or differs the trace
 * ends.
 */
struct pdl_journal_program;
PDL_MUST bool pdl_cli_recording_trace(const struct pdl_journal_program *p, pdl_str journal,
                                      struct pdl_view_files *files, pdl_fold_put_fn *put,
                                      void *user, pdl_err *err);
PDL_MUST bool pdl_cli_recording_view(const arguments *a, pdl_str journal, pdl_str source,
                                     struct pdl_view_run **out, pdl_err *err);
/* The program of a recording, or that of the file `source` (empty: none), with the inputs of the
 * command line (a; NULL: none), or those of the recording where it has none. Errors: io, replay,
 * usage when neither program is there. */
PDL_MUST bool pdl_cli_recording_open(const arguments *a, pdl_str journal, pdl_str source,
                                     struct pdl_journal_program *out, pdl_err *err);
/* Reads the text as the program of s, to be run against a recording; prints what is wrong with
 * it. */
PDL_MUST bool pdl_cli_recording_load(pdl_session *s, pdl_str text, pdl_err *err);
/* The run of cmd_run.c with a run that is there; its exit code. */
int pdl_cli_run_durable(const arguments *a, durable_command *l);

/* signals.c: fn(user, sig) is called from the loop when the first signal comes that ends a command;
 * the next one ends the process at once, its children with it. SIGHUP is left alone when it is
 * ignored (nohup). */
pdl_signals *pdl_cli_watch_signals(pdl_loop *loop, void (*fn)(void *user, int sig), void *user);
const volatile sig_atomic_t *pdl_cli_signal_received(void); /* 0 before */
/* What the flag ends is ended after so much processor time, as by a signal; 0: no more, and what
 * the time has ended is forgotten. Of a process that serves, for runs that must not be waited for.
 */
void pdl_cli_end_after(unsigned ms);

struct pdl_table;
/* An option that is a whole number from least on; *out is left alone where it is not given. False
 * after a message. */
bool pdl_cli_read_whole(const arguments *a, opt_id id, int64_t least, int64_t most, int64_t *out);
/* The file that an option names for writing; - is standard output. */
static inline pdl_str pdl_cli_written(pdl_str name) {
    return pdl_str_is(name, "-") ? PDL_STR("/dev/stdout") : name;
}
/* --separator holds for the tables that are CSV; output may be NULL. False: it was refused. */
bool pdl_cli_use_separator(const arguments *a, struct pdl_table *input, struct pdl_table *output);

/* cmd_run.c: the profile that the options and PDL_SANDBOX ask for; empty: none. */
pdl_str pdl_cli_sandbox_profile(const arguments *a);

/* put.c. Secrets of s (may be NULL) are replaced. A terminal gets control characters neutralised.
 */
/* Writes text to standard output and flushes. Returns the exit code: 0; 141 when nobody reads; 1
 * after a message. */
int pdl_cli_put_stdout(pdl_str text);
void pdl_cli_put_stderr(pdl_str text, const pdl_session *s);
/* A line that has no secrets. */
PDL_PRINTF(1, 2) void pdl_cli_note(const char *fmt, ...);
void pdl_cli_print_error(const pdl_err *err, const pdl_session *s);
/* Why a program does not load. */
void pdl_cli_print_load_errors(const pdl_program *p, const pdl_session *s);
/* After a failed write with errno e: prints a message, unless nobody reads. Returns the exit code.
 */
int pdl_cli_write_failed(int e);

/* option_errors.c */
/* A wrong command line: message, with the value that was given, and where help is. Returns 2. */
int pdl_cli_refuse(const arguments *a, const char *message);
/* An error before anything runs: as pdl_cli_print_error, with the option whose value it names. */
void pdl_cli_print_option_error(const arguments *a, const pdl_err *err, const pdl_session *s);

#endif
