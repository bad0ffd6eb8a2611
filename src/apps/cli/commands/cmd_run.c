/* cmd_run.c -- pdl FILE: runs a program, and shows or writes what it prints, its result and its
 * trace. The options decide what kind of run it is: a new one, a durable one, a resume, a replay,
 * or a check that sends nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/session.h"
#include "base/pool.h"
#include "cli/check_runs.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/run_output.h"
#include "cli/show_live.h"
#include "cli/terminal/progress_line.h"
#include "io/file.h"
#include "lang/walk.h"
#include "sandbox/sandbox.h"
#include "value/text.h"

#include "base/banned.h"

/* Returns the file that --trace names, owned. When it names none, returns PROGRAM_trace.json,
 * beside the program and without the program's suffix. */
static char *trace_name(const arguments *a) {
    pdl_str v = a->value[OPT_trace], file = a->files.p[0];
    if (v.p) return pdl_str_dup(v);
    size_t slash = pdl_str_rfind(file, PDL_STR("/")), dot = pdl_str_rfind(file, PDL_STR("."));
    bool has_suffix =
        dot != PDL_NOT_FOUND && dot > 0 && (slash == PDL_NOT_FOUND || dot > slash + 1);
    pdl_buf b = PDL_BUF;
    pdl_buf_put(&b, pdl_str_sub(file, 0, has_suffix ? dot : file.n));
    PDL_PUT(&b, "_trace.json");
    return pdl_buf_take(&b);
}

/* Writes a piece of the trace. After a signal the trace is still completed, but there is no further
 * wait for a pipe that does not accept a piece at once. */
static bool put_trace(void *user, pdl_str piece, pdl_err *err) {
    const pdl_cancel scope = {.flag = pdl_cli_signal_received()},
                     *before = pdl_cancel_enter(&scope);
    bool ok = pdl_file_out_put(user, piece, err);
    (void)pdl_cancel_enter(before);
    return ok;
}

/* Notes a signal that came after the end of the program, while the trace was being written. The
 * trace then lacks values that take long to write, and the command counts as interrupted. */
static void note_cut(const pdl_session *s, const pdl_cancel *scope, pdl_err *err) {
    if (pdl_run_error(pdl_session_get(s))->kind) return; /* the signal ended the program */
    (void)pdl_cancel_enter(scope);
    if (!pdl_check_cancel(err)) pdl_cli_note("The trace may lack long values: %s", err->msg);
    (void)pdl_cancel_enter(NULL);
}

/* Writes the trace. Returns the exit status, which is not zero when a signal came meanwhile. */
static int write_trace(const arguments *a, const pdl_session *s) {
    const pdl_cancel scope = {.flag = pdl_cli_signal_received()};
    pdl_file_out *out;
    pdl_err err = {0};
    char *path = trace_name(a);
    (void)pdl_cancel_enter(&scope);
    bool ok = pdl_session_check_path(s, path, &err) && pdl_file_out_begin(path, &out, &err);
    (void)pdl_cancel_enter(NULL);
    if (ok) {
        ok = pdl_session_trace(s, put_trace, out, &err);
        (void)pdl_cancel_enter(&scope);
        ok = pdl_file_out_end(out, ok, &err);
        (void)pdl_cancel_enter(NULL);
    }
    if (!ok) pdl_cli_note("Failure generating the trace: %s", err.msg);
    if (ok) note_cut(s, &scope, &err);
    int code = err.uncatchable ? pdl_err_exit_code(&err) : 0;
    pdl_err_fini(&err);
    pdl_free(path);
    return code;
}

typedef struct runner {
    const arguments *a;
    term term;
    pdl_line_terminal terminal; /* the terminal on which questions are asked */
    pdl_session *session;
    pdl_stream stream;
    show_live show; /* for --view */
    progress progress;
    durable_command *durable; /* NULL when the run is not durable */
    pdl_vref inputs;
    pdl_signals *watch; /* NULL until the run begins, or its journal is made */
    char *own_files[3]; /* owned: the files of --trace and of a durable run; NULL-terminated */
} runner;

static void on_signal(void *user, int sig) {
    runner *r = user;
    pdl_err err = {0};
    pdl_err_signal(&err, sig);
    pdl_session_cancel(r->session, &err);
}

static void on_broken(void *user) {
    runner *r = user;
    pdl_err err = {0};
    pdl_err_set(&err, PDL_E_io, (pdl_loc){0}, "cannot write to standard output");
    pdl_session_cancel(r->session, &err);
}

static int finish(runner *r, pdl_step step) {
    const pdl_run *run = pdl_session_get(r->session);
    pdl_err err = {0};
    int code = 0;
    if (step == PDL_STEP_FAIL) {
        const pdl_err *e = pdl_run_error(run);
        if (r->durable) pdl_session_flush(r->session);
        pdl_cli_term_flush(&r->term);
        if (e->kind != PDL_E_exit) pdl_cli_term_end_line(&r->term);
        if (!r->term.broken && !r->term.error && e->kind != PDL_E_exit && e->kind != PDL_E_parked)
            pdl_cli_print_error(e, r->session);
        code = pdl_err_exit_code(e);
    } else if (r->stream == PDL_STREAM_NONE) {
        pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
        pdl_cancel scope = {.flag = pdl_cli_signal_received()};
        (void)pdl_cancel_enter(&scope);
        pdl_val shown = pdl_session_shown(r->session, pdl_run_result(run));
        if (pdl_stringify(shown, &b, &err)) {
            pdl_cli_term_show(&r->term, pdl_buf_str(&b), pdl_run_result_is_untrusted(run));
            pdl_cli_term_put(&r->term, PDL_STR("\n"));
        } else {
            pdl_cli_print_error(&err, r->session);
            code = pdl_err_exit_code(&err);
            pdl_err_fini(&err);
        }
        pdl_drop(shown);
        (void)pdl_cancel_enter(NULL); /* the trace is completed even when the run was cancelled */
        pdl_buf_fini(&b);
    } else {
        pdl_cli_term_put(&r->term, PDL_STR("\n"));
    }
    if (r->durable) pdl_session_flush(r->session);
    pdl_cli_term_flush(&r->term);
    bool ends = step != PDL_STEP_FAIL || r->durable;
    if (ends && !pdl_session_finish(r->session, &err)) {
        bool is_own = step != PDL_STEP_FAIL || strcmp(pdl_run_error(run)->msg, err.msg) != 0;
        /* the error that ended the run was printed before */
        if (is_own) pdl_cli_print_error(&err, r->session);
        pdl_err_fini(&err);
        code = 1;
    }
    if (r->durable) pdl_cli_durable_note(r->durable, r->a, r->session);
    int traced = r->a->given[OPT_trace] ? write_trace(r->a, r->session) : 0;
    if (!code) code = traced;
    if (r->term.broken) return pdl_cli_write_failed(EPIPE);
    if (r->term.interrupted) return pdl_signal_exit_status(*pdl_cli_signal_received());
    return r->term.error ? pdl_cli_write_failed(r->term.error) : code;
}

/* Makes the forecast for --check, from the resumed run and from the check before its first
 * request. */
static void make_forecast(const runner *r, const pdl_err *failure) {
    pdl_err why = {0}, err = {0};
    pdl_durable *run = r->durable->run;
    pdl_forecast *out = r->durable->forecast;
    const pdl_effect *call = failure || !r->session ? NULL : pdl_durable_next_call(run);
    if (call && !pdl_session_would_send(r->session, call, &why)) failure = &why;
    bool ok = pdl_durable_forecast(run, failure, out, &err);
    if (ok && out->why && r->session) { /* messages may have keys in them */
        pdl_buf clean = PDL_BUF;
        pdl_session_redact(r->session, pdl_str_of(out->why), &clean);
        pdl_free(out->why);
        out->why = pdl_buf_take(&clean);
    }
    if (!ok) pdl_forecast_stop(out, (pdl_str){0}, &err);
    pdl_err_fini(&why);
    pdl_err_fini(&err);
}

/* Makes the forecast for --check, or prints the report of --dry-run. The output of the program is
 * dropped. */
static int report_check(const runner *r, pdl_step step) {
    pdl_buf b = PDL_BUF;
    if (r->durable->forecast) {
        bool ended = step == PDL_STEP_FAIL;
        make_forecast(r, ended ? pdl_run_error(pdl_session_get(r->session)) : NULL);
        return 0;
    }
    pdl_durable_report(r->durable->run, &b);
    pdl_buf_putc(&b, '\n');
    int code = pdl_cli_put_stdout(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    const pdl_err *e = step == PDL_STEP_FAIL ? pdl_run_error(pdl_session_get(r->session)) : NULL;
    if (!e || e->kind != PDL_E_replay) return code;
    pdl_cli_print_error(e, r->session); /* a damaged journal proves nothing about the program */
    return 1;
}

static void warn_deprecated(void *user, pdl_loc loc, const char *old, const char *now) {
    (void)user;
    pdl_buf at = PDL_BUF;
    pdl_loc_put(loc, &at);
    pdl_cli_note("%sDeprecated type syntax: use %s instead of %s.", pdl_buf_z(&at), now, old);
    pdl_buf_fini(&at);
}

/* Reads the text of the program. When the file of a resumed run is gone, its text is taken from the
 * journal, because the run may have moved to a machine that only has the journal. */
static bool read_text(const runner *r, pdl_buf *text, pdl_err *err) {
    pdl_str file = r->a->files.p[0];
    if (!r->durable || !r->durable->resumes) return pdl_cli_read_program(file, text, err);
    pdl_str recorded = pdl_durable_get_facts(r->durable->run)->text;
    char *path = pdl_str_dup(file);
    bool there = !pdl_str_is(file, "-") && pdl_file_kind_of(path) == PDL_FILE_REGULAR &&
                 pdl_file_read(path, text, err);
    pdl_free(path);
    pdl_err_fini(err);
    if (!there) pdl_buf_clear(text);
    if (!there) return pdl_buf_add(text, recorded, err);
    if (!pdl_durable_runs_text(r->durable->run, pdl_buf_str(text)) && !r->durable->forecast)
        pdl_cli_note("pdl: note: %.*s has changed since the run began", PDL_FMT(file));
    return true;
}

static int failed(const runner *r, pdl_err *err) {
    if (r->durable && r->durable->forecast) {
        make_forecast(r, err);
        pdl_err_fini(err);
        return 0;
    }
    return pdl_cli_fail_option(r->a, err, r->session);
}

/* Makes a forecast which says that the program cannot be loaded. */
static int refuse_program(const runner *r, const pdl_program *p) {
    pdl_err err = {0};
    size_t i = 0;
    while (i < p->diags.n && !(p->diags.p[i].at_load && p->diags.p[i].severity == PDL_DIAG_ERROR))
        i++;
    if (i < p->diags.n)
        pdl_err_set(&err, PDL_E_schema, p->diags.p[i].loc, "%.*s", PDL_FMT(p->diags.p[i].text));
    else if (pdl_program_refuse(p, &err))
        return 0;
    return failed(r, &err);
}

static void watch_signals(runner *r) {
    if (!r->watch) r->watch = pdl_cli_watch_signals(pdl_session_loop(r->session), on_signal, r);
}

static void stop_watching(runner *r) {
    if (r->watch) pdl_signals_stop(r->watch);
    r->watch = NULL;
}

/* Makes or continues the journal, when the run has one. A signal that arrives meanwhile ends the
 * run before its first step, and does not damage the journal. */
static bool make_durable(runner *r, pdl_str text, pdl_err *err) {
    if (!r->durable) return true;
    watch_signals(r);
    r->durable->term = &r->term;
    if (r->durable->resumes)
        return pdl_cli_durable_resume(r->durable, r->a, r->session, r->inputs, err);
    return pdl_cli_durable_begin(r->durable, r->a, r->session, text, r->inputs, err);
}

static int run_loaded(runner *r) {
    watch_signals(r);
    r->term.on_broken = on_broken;
    r->term.user = r;
    pdl_step step = pdl_cli_progress_run(&r->progress, r->session);
    int code = r->a->given[OPT_dry_run] ? report_check(r, step) : finish(r, step);
    stop_watching(r);
    return code;
}

/* Runs with --view: the server starts before the run, and continues after it unless a signal ended
 * it. */
static int run_shown(runner *r, pdl_str text) {
    pdl_err err = {0};
    if (!r->a->given[OPT_view]) return run_loaded(r);
    if (!pdl_cli_show_live_start(&r->show, r->a->files.p[0], text, r->a->value[OPT_view_frame],
                                 &err)) {
        pdl_cli_print_error(&err, r->session);
        pdl_err_fini(&err);
        return 1;
    }
    int code = run_loaded(r);
    if (*pdl_cli_signal_received())
        pdl_cli_show_live_leave(&r->show);
    else
        pdl_cli_show_live_end(&r->show);
    return code;
}

/* Returns an errno value when the path cannot become a file; 0 when it probably can. */
static int why_unwritable(const char *path) {
    struct stat st;
    if (stat(path, &st) == 0) return S_ISDIR(st.st_mode) ? EISDIR : 0;
    pdl_str folder = pdl_file_folder(pdl_str_of(path));
    char *dir = pdl_str_dup(folder.n ? folder : PDL_STR("."));
    int e = access(dir, W_OK) == 0 ? 0 : errno;
    pdl_free(dir);
    return e;
}

/* Warns before the run that the trace cannot be written, because the run may take hours. The
 * program runs anyway, as in the reference. */
static void warn_of_trace(const arguments *a) {
    if (!a->given[OPT_trace]) return;
    char *path = trace_name(a);
    int e = why_unwritable(path);
    if (e) pdl_cli_note("pdl: warning: the trace cannot be written: %s: %s", path, strerror(e));
    pdl_free(path);
}

/* Empties the file of -o, but only when the program begins. So a missing or broken program does not
 * destroy the previous result. */
static void empty_output(const runner *r) {
    struct stat st;
    bool keeps = r->durable && r->durable->resumes && !r->durable->fresh_output;
    if (!r->a->given[OPT_output] || keeps) return;
    if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode)) (void)!ftruncate(STDOUT_FILENO, 0);
}

static int run_program(runner *r) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_err err = {0};
    const pdl_program *p;
    int code = 1;
    if (!read_text(r, &text, &err)) {
        code = failed(r, &err);
    } else if (!pdl_session_load(r->session, pdl_buf_str(&text), &p)) {
        bool checks = r->durable && r->durable->forecast;
        if (checks) code = refuse_program(r, p);
        if (!checks) pdl_cli_print_load_errors(p, r->session);
    } else if (!make_durable(r, pdl_buf_str(&text), &err)) {
        code = failed(r, &err);
    } else {
        /* the text may be large, and is not needed any more */
        if (!r->a->given[OPT_view]) pdl_buf_fini(&text);
        if (!r->durable || !r->durable->forecast) {
            pdl_program_each_deprecated(p, warn_deprecated, NULL);
            pdl_cli_show_problems(r->a, r->session, p, false);
        }
        empty_output(r);
        warn_of_trace(r->a);
        code = run_shown(r, pdl_buf_str(&text));
    }
    stop_watching(r);
    pdl_buf_fini(&text);
    return code;
}

static pdl_stream stream_of(const arguments *a) {
    if (!a->given[OPT_stream] || pdl_str_is(a->value[OPT_stream], "result"))
        return PDL_STREAM_RESULT;
    return pdl_str_is(a->value[OPT_stream], "none") ? PDL_STREAM_NONE : PDL_STREAM_CONTEXT;
}

/* Handles options that run nothing. Returns -1 when the run continues, and otherwise the exit
 * status. */
static int early(const arguments *a) {
    if (a->given[OPT_version]) return pdl_cli_cmd_version(a);
    if (a->given[OPT_schema]) return pdl_cli_cmd_schema(a);
    if (!a->files.n) return pdl_cli_cmd_help(a);
    static const opt_id own[] = {OPT_id, OPT_sync, OPT_park, OPT_provisional, OPT_COUNT};
    int refused = pdl_cli_refuse_undurable(a, own);
    if (refused >= 0) return refused;
    if (a->given[OPT_durable] && a->given[OPT_replay])
        return pdl_cli_refuse(a, "--durable and --replay exclude each other");
    if (a->given[OPT_record] && a->given[OPT_replay])
        return pdl_cli_refuse(a, "--record and --replay exclude each other");
    if (a->given[OPT_view_frame] && !pdl_viewer_can_frame(a->value[OPT_view_frame]))
        return pdl_cli_refuse(a, PDL_CLI_BAD_FRAME);
    return -1;
}

/* Refuses to run too many levels deep. A program may run this command again, even for itself, so an
 * environment variable counts the levels. */
static bool enter_depth(pdl_str file, pdl_err *err) {
    static const char name[] = "PDL_DEPTH";
    const char *value = getenv(name);
    char text[24];
    int64_t depth = 0;
    if (!value || !pdl_num_read_int(pdl_str_of(value), &depth) || depth < 0) depth = 0;
    if (depth >= PDL_MAX_PROCESS_DEPTH)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "%.*s: programs run programs more than %d deep", PDL_FMT(file),
                           PDL_MAX_PROCESS_DEPTH);
    snprintf(text, sizeof text, "%lld", (long long)depth + 1);
    return setenv(name, text, 1) == 0 ||
           pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "the environment cannot be changed: %s",
                       strerror(errno));
}

pdl_str pdl_cli_sandbox_profile(const arguments *a) {
    if (a->given[OPT_sandbox])
        return a->value[OPT_sandbox].p ? a->value[OPT_sandbox] : PDL_STR("code");
    return pdl_sandbox_named(a->given[OPT_no_sandbox] ? NULL : getenv("PDL_SANDBOX"));
}

/* Makes the file of -o the standard output. For a resumed run, the output that earlier processes
 * have certainly written stays in the file. A file that is shorter than that gets the whole output
 * again. */
static bool open_output(const runner *r, pdl_err *err) {
    if (!r->a->given[OPT_output] || r->a->given[OPT_dry_run]) return true;
    bool resumes = r->durable && r->durable->resumes;
    char *path = pdl_str_dup(r->a->value[OPT_output]);
    off_t keeps = resumes ? (off_t)pdl_durable_printed(r->durable->run) : 0;
    int fd = pdl_file_open(path, O_WRONLY | O_CREAT, 0666, err);
    bool ok = fd >= 0;
    struct stat st;
    bool is_file = ok && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (resumes && is_file && st.st_size < keeps) r->durable->fresh_output = true;
    resumes = resumes && !r->durable->fresh_output;
    if (resumes && is_file && ftruncate(fd, keeps) != 0)
        ok = pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot cut %s: %s", path, strerror(errno));
    if (ok && resumes) (void)lseek(fd, 0, SEEK_END);
    if (ok && dup2(fd, STDOUT_FILENO) < 0)
        ok = pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot write %s: %s", path, strerror(errno));
    if (fd > STDERR_FILENO) close(fd);
    pdl_free(path);
    return ok;
}

int pdl_cli_cmd_run(const arguments *a) {
    int code = early(a);
    if (code >= 0) return code;
    durable_command l = {.inputs = pdl_absent()};
    if (a->given[OPT_durable]) pdl_cli_say_at_interrupt(PDL_CLI_NOT_BEGUN);
    code = pdl_cli_run_durable(a, a->given[OPT_durable] ? &l : NULL);
    pdl_cli_durable_fini(&l);
    return code;
}

static void name_own_files(runner *r) {
    size_t n = 0;
    if (r->a->given[OPT_trace]) r->own_files[n++] = trace_name(r->a);
    if (!r->durable) return;
    r->own_files[n] =
        r->durable->path ? pdl_str_dup(pdl_str_of(r->durable->path)) : pdl_cli_journal_hidden(r->a);
}

/* Returns the options of the session from the command line; limits and sinks are added later. */
static pdl_session_options session_options(runner *r, pdl_debug *debug) {
    const arguments *a = r->a;
    const durable_command *l = r->durable;
    return (pdl_session_options){
        .program = {.file = a->files.p[0], .dir = pdl_file_folder(a->files.p[0])},
        .run = {.stream = r->stream,
                .holds_refusable = !r->term.tty,
                .unchecked = pdl_cli_is_unchecked(a),
                .shares_loop = a->given[OPT_view]},
        .files = {.record = l ? (pdl_str){0} : a->value[OPT_record],
                  .replay = a->value[OPT_replay],
                  .own = (const char *const *)r->own_files},
        .reports = {.trace = a->given[OPT_trace] || a->given[OPT_view],
                    .trace_whole = a->given[OPT_whole],
                    .trace_later = a->given[OPT_view],
                    .labels = a->given[OPT_view],
                    .sink = pdl_cli_term_sink(&r->term),
                    .show_user = &r->term,
                    .calls = getenv("PDL_VERBOSE_ASYNC") != NULL,
                    .show_errors =
                        pdl_tty_is(2) || pdl_cli_sandbox_profile(a).n ? pdl_cli_term_errors : NULL,
                    .debug = debug},
        .host.terminal = &r->terminal,
    };
}

/* Adds the sinks that show the run, such as a page or a progress line. */
static void add_shows(runner *r, pdl_session_options *o) {
    if (r->a->given[OPT_view]) pdl_cli_show_live_init(&r->show, &r->session, &o->reports);
    o->reports.sink =
        pdl_cli_progress_init(&r->progress, r->a, &r->term, &r->session, o->reports.sink);
    if (r->progress.has_line) o->run.shares_loop = true;
    o->reports.prefix = r->progress.prefix;
    o->run.reports_tools = r->progress.has_steps;
}

/* Opens the session, with the data and the configuration of the program, and runs it. */
static int run_session(runner *r, pdl_session_options *o) {
    const arguments *a = r->a;
    pdl_err err = {0};
    pdl_val vars = pdl_absent();
    pdl_check_config config = {.arena = pdl_arena_make()};
    /* a run that is only checked starts nothing */
    bool checks = r->durable && r->durable->forecast;
    bool ok = (checks || enter_depth(a->files.p[0], &err)) && pdl_cli_read_data(a, &vars, &err) &&
              pdl_cli_read_config(a, a->files.p[0], &config, &err);
    pdl_config_use(&config, o);
    o->program.variables = r->inputs = vars;
    ok = ok && pdl_session_new(o, &r->session, &err);
    int code = ok ? run_program(r) : failed(r, &err);
    pdl_config_fini(&config);
    /* builds without pools search for memory leaks, so they release everything */
    if (PDL_POOLS && !r->durable) pdl_leak_on_exit();
    pdl_cli_show_live_fini(&r->show);
    pdl_session_free(r->session);
    pdl_cli_progress_fini(&r->progress);
    if (!pdl_is_absent(vars)) pdl_drop(vars);
    return code;
}

int pdl_cli_run_durable(const arguments *a, durable_command *l) {
    pdl_err err = {0};
    runner r = {.a = a, .stream = stream_of(a), .durable = l};
    shared_options limits = {0};
    pdl_debug debug = {0};
    char why[PDL_DEBUG_WHY];
    if (!pdl_debug_init(&debug, getenv("PDL_DEBUG"), getenv("PDL_STRESS"), getenv("PDL_DEBUG_FILE"),
                        why))
        return pdl_cli_refuse(a, why);
    if (!open_output(&r, &err)) return failed(&r, &err);
    pdl_cli_term_init(&r.term,
                      &(pdl_tty_env){getenv("NO_COLOR"), getenv("FORCE_COLOR"), getenv("TERM")});
    r.terminal = pdl_cli_term_lines(&r.term);
    name_own_files(&r);
    pdl_session_options o = session_options(&r, &debug);
    int code = pdl_cli_shared_options_read(a, &limits, &o);
    if (code) return code;
    if (l && l->resumes) {
        o.guards.policies = l->guards.policies.p;
        o.guards.n_policies = l->guards.policies.n;
    }
    add_shows(&r, &o);
    code = run_session(&r, &o);
    for (size_t i = 0; r.own_files[i]; i++) pdl_free(r.own_files[i]);
    pdl_cli_term_fini(&r.term);
    pdl_cli_shared_options_fini(&limits);
    PDL_TRACE(o.reports.debug, mem, "%zu objects are alive", pdl_live_objects());
    pdl_debug_fini(&debug);
    return code;
}
