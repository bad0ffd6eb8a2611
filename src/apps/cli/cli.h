/* cli.h -- functions that the commands share: reading programs and data, durable runs, signals,
 * output. Private to cli.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_CLI_H
#define PDL_CLI_CLI_H

#include "api/project_config.h"
#include "api/run_guards.h"
#include "api/session.h"
#include "base/limits.h"
#include "base/num.h"
#include "cli/options.h"
#include "io/signal_watch.h"
#include "io/tty.h"

#define PDL_MAX_SOURCE_BYTES_SIZE ((size_t)PDL_MAX_SOURCE_BYTES)

/* Reads the bytes of a program; "-" is standard input. */
PDL_MUST bool pdl_cli_read_program(pdl_str file, pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_cli_program_is_there(pdl_str file, pdl_err *err);
/* Returns the option by which the user gave variables, for messages; static. */
const char *pdl_cli_data_giver(const arguments *a);
/* Reads the variables of --data-file and --data as a dict. */
PDL_MUST bool pdl_cli_read_data(const arguments *a, pdl_val *vars, pdl_err *err);

/* Reads an age such as "30d", in seconds. Returns false for other texts. */
bool pdl_cli_read_age(pdl_str s, int64_t *out);
#define PDL_AGE_WANTED "argument --older-than: expected a number and d, h, m or s, such as 30d"

/* shared_options.c. The options of all commands that run programs. Reading these options fills
 * members of o, which borrow from l. pdl_cli_shared_options_read returns 0, or the exit code for a
 * wrong command line. */
typedef struct shared_options {
    double budget[PDL_BUDGET_COUNT];
    void *wire; /* a FILE *, or NULL when there is no log */
    pdl_str wire_name;
    bool wire_failed;
    /* Files that confined code must not see: the files of `files.own`, and then those of options,
     * owned. */
    PDL_VEC(const char *) own; /* ends with NULL */
    pdl_cli_names written, inputs;
} shared_options;
int pdl_cli_shared_options_read(const arguments *a, shared_options *l, pdl_session_options *o);
/* Returns true when a session can have these options. Otherwise prints the reason and returns
 * false. */
bool pdl_cli_can_open(const arguments *a, const pdl_session_options *o);
void pdl_cli_shared_options_fini(shared_options *l);

/* run_warnings.c. Prints to standard error the problems that a check finds in a program before it
 * runs. All problems are printed when standard error is a terminal, with --check=warn, or when
 * `always` is set; otherwise only errors that are certain, and mistakes that a run does not show.
 * With --check=off nothing is printed. */
void pdl_cli_show_problems(const arguments *a, const pdl_session *s, const pdl_program *p,
                           bool always);
/* Reads the rules of pdl.toml, PDL_RULES and --rule, as pdl_config_read; the caller releases them
 * with pdl_config_fini. */
PDL_MUST bool pdl_cli_read_config(const arguments *a, pdl_str file, pdl_check_config *c,
                                  pdl_err *err);
/* Returns true for --check=off and --check=warn. With these options, requests are sent even when
 * the check has found problems. */
bool pdl_cli_is_unchecked(const arguments *a);
/* Returns the problems of a program as a list of objects, owned. */
pdl_val pdl_cli_list_problems(const arguments *a, const pdl_session *s, const pdl_program *p);
/* Checks a program before it is served, and prints its problems as pdl_cli_show_problems does; all
 * of them when the program is refused. Returns false when every request would meet one of the
 * problems; true with --check=off and --check=warn. */
bool pdl_cli_passes(const arguments *a, const pdl_session *s, const pdl_program *p,
                    const pdl_check_inputs *inputs);

/* durable_command.c. Durable runs of the command. */
typedef struct durable_command {
    pdl_durable *run; /* NULL when the run is not durable */
    char *path, *id;  /* owned */
    /* resumes is set when the command continues an existing run, and is_listed when its journal is
     * in the folder of runs */
    bool resumes, is_listed;
    pdl_val inputs; /* inputs of a resumed run; absent for a new run */
    /* policies and sandbox of a resumed run: those that the run had before, and the policies that
     * this command line adds */
    pdl_run_guards guards;
    PDL_VEC(char *) texts; /* texts of options that were read from the journal; owned */
    /* the run is resumed, and the file of -o does not have the earlier output, so all output is
     * written */
    bool fresh_output;
    /* The values and policies of the command line that resumes the run, with absolute names of
     * files. They are set when the working folder was changed. */
    PDL_VEC(struct given_value) values;
    PDL_VEC(pdl_str) given_policies;
    /* The forecast of a run that is only checked. Such a run prints nothing. NULL for other
     * runs. */
    struct pdl_forecast *forecast;
    bool quiet;    /* no notes are printed */
    bool has_seed; /* the run is a resumed inference whose journal has its seed */
    uint64_t seed; /* the seed of the inference */
    /* the terminal, which holds output back until its rows are written; NULL when the run prints
     * nothing */
    struct term *term;
} durable_command;
/* Makes a new run durable: makes its journal, and connects it with the session and the terminal.
 * Called after the program was loaded, before the run starts. */
PDL_MUST bool pdl_cli_durable_begin(durable_command *l, const arguments *a, pdl_session *s,
                                    pdl_str text, pdl_vref inputs, pdl_err *err);
/* Opens an existing run, and takes its program and the options that `a` does not give. */
PDL_MUST bool pdl_cli_durable_open(durable_command *l, arguments *a, pdl_durable_use use,
                                   pdl_err *err);
/* Connects an open run with the session and the terminal, before the run starts. given has
 * variables of this command line, which replace those of the run. */
PDL_MUST bool pdl_cli_durable_resume(durable_command *l, const arguments *a, pdl_session *s,
                                     pdl_vref given, pdl_err *err);
/* Prints notes and open questions after the run. */
void pdl_cli_durable_note(const durable_command *l, const arguments *a, pdl_session *s);
void pdl_cli_durable_fini(durable_command *l);
/* Stores the path for the journal of a new run: the file of --record, or a file in the folder of
 * runs with the run's id. Owned. Errors: usage, io. */
PDL_MUST bool pdl_cli_journal_path(const arguments *a, pdl_str id, char **out, pdl_err *err);
/* Returns the file or folder of the journal, which confined code must not see: the file of
 * --record, or the folder of runs when the id of the run is not known yet. Owned. Returns NULL when
 * it cannot be determined; the reason is reported when the run begins. */
char *pdl_cli_journal_hidden(const arguments *a);
/* Refuses options that only a durable run has when --durable is not given; OPT_COUNT ends the list.
 * Returns the exit code, or -1 when nothing is refused. */
int pdl_cli_refuse_undurable(const arguments *a, const opt_id *own);
bool pdl_cli_syncs_fully(const arguments *a); /* Returns true for --sync full. */
/* Stores the path of the journal that an id or a file name means. Owned. Error: usage. */
PDL_MUST bool pdl_cli_durable_path(pdl_str name, char **out, pdl_err *err);
/* cmd_trace.c. pdl_cli_trace_run makes the trace of a run. pdl_cli_trace_view makes a document that
 * can be shown. The document shows the program `text` of `file`, or the program in the journal when
 * text.p is NULL. No effect is executed. */
#define PDL_CLI_BAD_FRAME                                                                          \
    "argument --view-frame: expected origins, as https://a.example, or schemes of applications, "  \
    "as vscode-webview:"
struct pdl_view_run;
struct pdl_view_files;
/* Describes where a trace is written, and what it contains. */
typedef struct trace_wish {
    bool whole;                   /* nothing in the trace is shortened */
    struct pdl_view_files *files; /* gets the files that the run read; may be NULL */
    pdl_fold_put_fn *put;
    void *user; /* first argument of put */
} trace_wish;
PDL_MUST bool pdl_cli_trace_run(pdl_durable *run, const trace_wish *w, pdl_err *err);
PDL_MUST bool pdl_cli_trace_view(pdl_durable *run, pdl_str file, pdl_str text, bool edited,
                                 struct pdl_view_run **out, pdl_err *err);
/* recorded_trace.c. Runs the program of a recording, and answers its effects from that recording.
 * The trace ends where the recording ends or differs from the program.
 */
struct pdl_journal_program;
PDL_MUST bool pdl_cli_recording_trace(const struct pdl_journal_program *p, pdl_str journal,
                                      const trace_wish *w, pdl_err *err);
PDL_MUST bool pdl_cli_recording_view(const arguments *a, pdl_str journal, pdl_str source,
                                     struct pdl_view_run **out, pdl_err *err);
/* Opens a recording. Its program is the file `source`, or the recorded program when `source` is
 * empty. Its inputs are those of the command line `a`, or the recorded inputs when `a` is NULL or
 * gives no inputs. Errors: io, replay, usage when there is no program. */
PDL_MUST bool pdl_cli_recording_open(const arguments *a, pdl_str journal, pdl_str source,
                                     struct pdl_journal_program *out, pdl_err *err);
/* Loads the text as the program of s, which then runs with the answers of a recording. Prints the
 * errors of the program. */
PDL_MUST bool pdl_cli_recording_load(pdl_session *s, pdl_str text, pdl_err *err);
/* Runs a durable run that was opened, with the code of cmd_run.c. Returns the exit code. */
int pdl_cli_run_durable(const arguments *a, durable_command *l);

/* signals.c. When the first signal that ends a command arrives, calls fn(user, sig) from the loop.
 * The next such signal ends the process at once, with its children. An ignored SIGHUP stays ignored
 * (nohup). */
pdl_signals *pdl_cli_watch_signals(pdl_loop *loop, void (*fn)(void *user, int sig), void *user);
/* Makes a signal that ends the command print "pdl: interrupted; " and this text. For commands that
 * do not call pdl_cli_watch_signals and have nothing else to do at their end. */
PDL_PRINTF(1, 2) void pdl_cli_say_at_interrupt(const char *fmt, ...);
#define PDL_CLI_SAME_COMMAND "the same command asks only for the answers that are missing"
/* The message of a durable command that is interrupted before its journal is made. */
#define PDL_CLI_NOT_BEGUN "nothing was begun: the same command starts from the beginning"
/* The message of a command that only says what another one would do. */
#define PDL_CLI_ONLY_READS "nothing was changed: the command only reads"
/* Returns the address of the number of the received signal. The number is 0 before the first
 * signal. */
const volatile sig_atomic_t *pdl_cli_signal_received(void);
/* Sets the flag of a cancellation, as a signal would, after ms of processor time. When ms is 0,
 * stops the timer, and clears the flag if the timer has set it. A server uses the timer for runs
 * that must not delay other requests.
 */
void pdl_cli_end_after(unsigned ms);

struct pdl_table;
/* Reads an option that is an integer from least to most. *out is unchanged when the option is not
 * given. When the option is wrong, prints a message and returns false. */
bool pdl_cli_read_whole(const arguments *a, opt_id id, int64_t least, int64_t most, int64_t *out);
/* Returns the path of the output file that an option names; "-" means standard output. */
static inline pdl_str pdl_cli_written(pdl_str name) {
    return pdl_str_is(name, "-") ? PDL_STR("/dev/stdout") : name;
}
/* Applies --separator to the tables that are CSV. output may be NULL. Returns false when the option
 * was refused. */
bool pdl_cli_use_separator(const arguments *a, struct pdl_table *input, struct pdl_table *output);

/* cmd_run.c. Returns the profile that the options and PDL_SANDBOX request; empty when they request
 * none. */
pdl_str pdl_cli_sandbox_profile(const arguments *a);

/* command_output.c. These functions neutralise control characters on a terminal. Those with a
 * parameter s redact the secrets of s, which may be NULL. pdl_cli_put_stdout writes text to
 * standard output and flushes. It returns the exit code: 0, or 141 when the reader has closed the
 * output, or 1 after another failure, which a message reports. */
int pdl_cli_put_stdout(pdl_str text);
/* Returns true for the error of a write to standard output whose reader has closed it. No message
 * reports this. */
bool pdl_cli_is_cut(const pdl_err *err);
/* Returns the exit code of the process: 141 in place of 1 when such a write has failed. */
int pdl_cli_exit_code(int code);
void pdl_cli_put_stderr(pdl_str text, const pdl_session *s);
/* Prints a line that contains no secrets. */
PDL_PRINTF(1, 2) void pdl_cli_note(const char *fmt, ...);
void pdl_cli_print_error(const pdl_err *err, const pdl_session *s);
/* Prints an error and releases it. Returns the exit code: 2 for wrong usage, otherwise 1. */
int pdl_cli_fail(pdl_err *err);
/* Prints the reasons why a program cannot be loaded. */
void pdl_cli_print_load_errors(const pdl_program *p, const pdl_session *s);
/* Prints a message after a failed write with errno e, unless the reader has closed the output.
 * Returns the exit code.
 */
int pdl_cli_write_failed(int e);

/* option_errors.c. Refuses a wrong command line: prints a message, the given value, and the command
 * for help. Returns 2. */
int pdl_cli_refuse(const arguments *a, const char *message);
/* Prints an error that came before a program ran, like pdl_cli_print_error, and names the option
 * whose value the error mentions. */
void pdl_cli_print_option_error(const arguments *a, const pdl_err *err, const pdl_session *s);
/* Prints an error as pdl_cli_print_option_error does, and releases it. Returns the exit code, as
 * pdl_cli_fail does. */
int pdl_cli_fail_option(const arguments *a, pdl_err *err, const pdl_session *s);

#endif
