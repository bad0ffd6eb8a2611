/* cmd_view.c -- pdl view RUN [RUN]: shows a run in a browser, or writes it as one HTML file. The
 * run may be a trace, a recording, a durable run or a search, and each becomes the same kind of
 * page. With --run, the page can start the program again with changes (run_again.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/import_search.h"
#include "api/session.h"
#include "base/os.h"
#include "base/pace.h"
#include "cli/cli.h"
#include "cli/prefix_report.h"
#include "cli/recorded.h"
#include "cli/run_again.h"
#include "cli/search_again.h"
#include "io/children.h"
#include "io/file.h"
#include "journal/journal.h"
#include "viewer/viewer.h"

#include "base/banned.h"

enum {
    MAX_WAIT_MS = 50, /* libuv registers a new descriptor only when the loop runs the next time */
    /* maximum number of runs that are kept besides the first run; when there are more, the oldest
     * is dropped */
    MAX_KEPT = 20
};

typedef struct shower {
    const arguments *a;
    PDL_VEC(pdl_view_run *) runs;
    PDL_VEC(struct compared_run *) compared; /* the runs borrow these */
    pdl_buf program;                         /* text of the program, when it may be run again */
    run_again *again;                        /* NULL when no program may be run */
    recorded recorded;
    pdl_loop *loop;
    pdl_viewer *viewer;
    /* the file that leads a browser to the page; owned; NULL when there is no such file */
    char *opened;
    pdl_timer *late; /* runs until the browser has opened the page */
    bool stopped;
} shower;

/* --- reading runs ----------------------------------------------------------------------------- */

static bool read_file(pdl_str name, pdl_buf *out, pdl_err *err) {
    char *path = pdl_str_dup(name);
    bool ok = pdl_file_read(path, out, err);
    pdl_free(path);
    return ok;
}

/* A run whose calls are compared when a user opens one of them. */
typedef struct compared_run {
    const arguments *a;
    char *path; /* owned */
} compared_run;

/* Replays the run to compare the beginnings of its calls. When that fails, the page shows no
 * comparison. */
static pdl_val compare_calls(void *user) {
    const compared_run *c = user;
    pdl_prefix *p = pdl_prefix_new(true);
    pdl_val report = pdl_absent();
    pdl_err ignored = {0};
    if (!pdl_cli_prefix_report(c->a, pdl_str_of(c->path), p, &report, &ignored))
        pdl_err_fini(&ignored);
    pdl_prefix_free(p);
    return report;
}

/* Adds to the compared runs a run that was made from the journal at path. */
static void add_compared(shower *s, pdl_view_run *view, pdl_str path) {
    if (!view) return;
    compared_run *c = PDL_NEW(compared_run);
    *c = (compared_run){s->a, pdl_str_dup(path)};
    *pdl_vec_push(&s->compared) = c;
    *pdl_vec_push(&s->runs) = view;
    pdl_view_run_compare(view, compare_calls, c);
}

static bool has_changed(const pdl_durable *run, pdl_str text) {
    return text.p && !pdl_str_eq(text, pdl_durable_get_facts(run)->text);
}

static bool add_asked(void *user, const pdl_durable_row *row) {
    pdl_durable_values v = pdl_durable_row_values(row);
    pdl_view_inference_add(user, &(pdl_view_asked){row->place, row->kind, v.request, v.reply,
                                                   v.messages, row->start, row->end});
    pdl_drop(v.request);
    pdl_drop(v.reply);
    pdl_drop(v.messages);
    return true;
}

static const char *state_words(pdl_run_state state) {
    static const char *const words[] = {[PDL_RUN_RUNNING] = "is in progress",
                                        [PDL_RUN_ENDED] = "has ended",
                                        [PDL_RUN_FAILED] = "has failed",
                                        [PDL_RUN_KILLED] = "was killed",
                                        [PDL_RUN_WAITING] = "waits for an answer"};
    return words[state];
}

/* Shows the runs of a durable inference, with the requests of each, and its distribution when it
 * has ended. */
static bool open_inference(shower *s, pdl_durable *run, pdl_str path, pdl_err *err) {
    pdl_durable_summary summary;
    pdl_view_run *view = NULL;
    pdl_val result = pdl_absent();
    if (!pdl_durable_summary_read(path, &summary, err)) return false;
    pdl_err no_result = {0};
    if (!pdl_durable_result(run, &result, &no_result)) pdl_err_fini(&no_result);
    pdl_view_inference *x = pdl_view_inference_begin();
    bool read = pdl_durable_each(path, add_asked, x, err);
    pdl_err ignored = {0};
    pdl_view_ended ended = {pdl_durable_get_facts(run)->file, state_words(summary.state), result};
    bool ok = pdl_view_inference_end(x, &ended, &view, read ? err : &ignored);
    pdl_drop(result);
    if (!read) pdl_err_fini(&ignored);
    if (ok) *pdl_vec_push(&s->runs) = view;
    pdl_durable_summary_fini(&summary);
    return ok && read;
}

/* Opens the journal of a durable run, which contains its program. While the run is in progress, it
 * is shown up to this moment. */
static bool open_durable(shower *s, pdl_str path, pdl_err *err) {
    pdl_durable *run = NULL;
    pdl_view_run *view = NULL;
    bool given = s->a->given[OPT_view_run], beside = s->a->given[OPT_source];
    pdl_str file = s->a->value[given ? OPT_view_run : OPT_source];
    bool ok = pdl_durable_open(path, PDL_DURABLE_SHOW, false, false, &run, err);
    if (ok && pdl_cli_is_inference(pdl_durable_get_facts(run)) && !given) {
        ok = open_inference(s, run, path, err);
        pdl_durable_close(run);
        return ok;
    }
    ok = ok && pdl_cli_is_one_run(run, err);
    if (ok && (given || beside) && !s->program.len) ok = read_file(file, &s->program, err);
    pdl_str text = given || beside ? pdl_buf_str(&s->program) : (pdl_str){0};
    if (ok && given && has_changed(run, text))
        pdl_cli_note("pdl: note: %.*s is not as it was when the run was made", PDL_FMT(file));
    ok = ok && pdl_cli_trace_view(run, file, text, given, &view, err);
    pdl_durable_close(run);
    add_compared(s, view, path);
    const run_again_source from = {path, file, text, pdl_absent()};
    return ok && (!given || pdl_cli_run_again_open(s->a, &from, &s->again, err));
}

/* Returns the path of the durable run whose id or file is `name`, owned. Returns NULL when there is
 * no such run. */
static char *durable_path(pdl_str name) {
    pdl_err ignored = {0};
    char *path = NULL;
    if (!pdl_cli_durable_path(name, &path, &ignored)) {
        pdl_err_fini(&ignored);
        return NULL;
    }
    if (pdl_durable_is(pdl_str_of(path))) return path;
    pdl_free(path);
    return NULL;
}

/* Sets the error for a file that has no trace. The error guesses what the user meant. */
static void say_no_trace(pdl_str name, pdl_err *err) {
    pdl_err_wrap(err, (pdl_loc){0}, "%.*s", PDL_FMT(name));
    if (pdl_str_ends(name, PDL_STR(".pdl")))
        pdl_err_hint(err, "pdl --view runs a program and shows it, pdl -t writes a trace");
}

/* Shows a trace. Files that the program includes are searched as a run would search them. */
static bool show_trace(const shower *s, pdl_str name, pdl_str trace, pdl_str source,
                       pdl_view_run **out, pdl_err *err) {
    pdl_str file = s->a->value[OPT_source];
    pdl_session_options o = {.program = {.file = file, .dir = pdl_file_folder(file)},
                             .run.purpose = PDL_FOR_TEXT};
    pdl_finder finder = {.file = file};
    pdl_view_program p = {file, source, pdl_find_open, &finder, pdl_session_redact_program, false};
    pdl_session *session;
    if (!pdl_session_new(&o, &session, err)) return false;
    finder.path = pdl_session_path(session, &finder.n_path);
    bool ok = pdl_view_run_new(name, trace, &p, out, err);
    if (!ok && err->kind == PDL_E_syntax) say_no_trace(name, err);
    pdl_session_free(session);
    return ok;
}

/* Refuses variables, which would change nothing, because the run is over. */
static bool has_no_variables(const shower *s, pdl_str name, pdl_err *err) {
    if (!s->a->given[OPT_data] && !s->a->given[OPT_data_file]) return true;
    return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "--data and --data-file are for recordings, and %.*s is a trace",
                       PDL_FMT(name));
}

/* --- records of many runs --------------------------------------------------------------------- */

static bool read_in(pdl_str folder, const char *file, pdl_buf *out, pdl_err *err) {
    pdl_buf path = PDL_BUF;
    pdl_buf_putf(&path, "%.*s/%s", PDL_FMT(folder), file);
    bool ok = pdl_file_read(pdl_buf_z(&path), out, err);
    pdl_buf_fini(&path);
    return ok;
}

/* Shows a search. While the search is in progress it has no report. */
static bool open_search(shower *s, pdl_str folder, pdl_err *err) {
    pdl_buf candidates = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE), scores = candidates,
            report = PDL_BUF;
    pdl_err none = {0};
    pdl_view_run *view = NULL;
    bool ok = read_in(folder, PDL_SEARCH_CANDIDATES, &candidates, err) &&
              read_in(folder, "scores.jsonl", &scores, err);
    if (ok && !read_in(folder, "report.md", &report, &none)) pdl_err_fini(&none);
    pdl_view_search files = {pdl_buf_str(&candidates), pdl_buf_str(&scores), pdl_buf_str(&report)};
    ok = ok && pdl_view_search_new(folder, &files, &view, err);
    if (ok) *pdl_vec_push(&s->runs) = view;
    pdl_buf_fini(&candidates);
    pdl_buf_fini(&scores);
    pdl_buf_fini(&report);
    return ok;
}

static bool show_text(const shower *s, pdl_str name, pdl_str text, pdl_str source,
                      pdl_view_run **out, pdl_err *err) {
    if (pdl_view_are_rows(text)) return pdl_view_rows_new(name, text, out, err);
    if (pdl_view_is_distribution(text)) return pdl_view_distribution_new(name, text, out, err);
    return show_trace(s, name, text, source, out, err);
}

static bool open_file(shower *s, pdl_str name, pdl_err *err) {
    pdl_buf bytes = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE), text = PDL_BUF;
    pdl_str given = s->a->value[OPT_source], source = {0};
    pdl_view_run *view = NULL;
    bool ok;
    if (pdl_journal_is(name)) {
        ok = pdl_cli_recording_view(s->a, name, given, &view, err);
        add_compared(s, view, name);
        view = NULL;
    } else {
        ok = has_no_variables(s, name, err) && read_file(name, &bytes, err) &&
             (!given.p || read_file(given, &text, err));
        if (given.p) source = text.len ? pdl_buf_str(&text) : PDL_STR("");
        ok = ok && show_text(s, name, pdl_buf_str(&bytes), source, &view, err);
    }
    if (view) *pdl_vec_push(&s->runs) = view;
    pdl_buf_fini(&bytes);
    pdl_buf_fini(&text);
    return ok;
}

static bool open_again(shower *s, pdl_str file, pdl_str text, pdl_err *err) {
    const run_again_source from = {pdl_str_of(s->recorded.journal), file, text,
                                   s->recorded.policies};
    return pdl_cli_run_again_open(s->a, &from, &s->again, err);
}

/* Opens a recording for --run. A durable run is made from the recording, because only a durable run
 * can be run again. The page still shows the recording itself, because only the recording has the
 * times of the answers. */
static bool open_recorded(shower *s, pdl_str name, pdl_err *err) {
    pdl_str file = s->a->value[OPT_view_run];
    pdl_view_run *view = NULL;
    bool ok = true;
    if (!pdl_journal_is(name))
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                         "--run continues a durable run or a recording, and %.*s is neither: pdl "
                         "--durable or --record makes one",
                         PDL_FMT(name));
    ok = ok && read_file(file, &s->program, err);
    pdl_str text = s->program.len ? pdl_buf_str(&s->program) : PDL_STR("");
    ok = ok && pdl_cli_recording_view(s->a, name, file, &view, err) &&
         pdl_cli_recorded_open(s->a, name, file, text, &s->recorded, err) &&
         open_again(s, file, text, err);
    if (view) *pdl_vec_push(&s->runs) = view;
    return ok;
}

static bool open_run(shower *s, pdl_str name, pdl_err *err) {
    char *search = pdl_cli_search_folder(name, PDL_SEARCH_CANDIDATES);
    if (search) {
        bool ok = open_search(s, pdl_str_of(search), err);
        pdl_free(search);
        return ok;
    }
    char *journal = durable_path(name);
    pdl_file_kind kind = journal ? PDL_FILE_REGULAR : pdl_file_kind_named(name);
    bool may_be_id = pdl_str_find(name, PDL_STR("/"), 0) == PDL_NOT_FOUND,
         is_nothing = kind == PDL_FILE_NONE, is_folder = kind == PDL_FILE_DIR;
    if (is_folder)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "'%.*s' is a folder, and not that of a search", PDL_FMT(name));
    if (is_nothing && !may_be_id)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "there is no file %.*s", PDL_FMT(name));
    if (is_nothing)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "there is no file and no durable run %.*s: a trace, a recording or the "
                           "name of a run is shown (pdl runs lists them)",
                           PDL_FMT(name));
    if (!journal && s->a->given[OPT_view_run]) return open_recorded(s, name, err);
    if (!journal) return open_file(s, name, err);
    bool ok = open_durable(s, pdl_str_of(journal), err);
    pdl_free(journal);
    return ok;
}

/* --- files ------------------------------------------------------------------------------------ */

static bool write_one(const shower *s, opt_id id, void (*make)(const pdl_view_run *, pdl_buf *),
                      pdl_err *err) {
    pdl_str name = s->a->value[id];
    pdl_buf b = PDL_BUF;
    if (!s->a->given[id]) return true;
    char *path = pdl_str_dup(name);
    make(s->runs.p[0], &b);
    bool ok = pdl_str_is(name, "-") ? pdl_cli_put_stdout(pdl_buf_str(&b)) == 0
                                    : pdl_file_write(path, pdl_buf_str(&b), PDL_FILE_ATOMIC, err);
    pdl_free(path);
    pdl_buf_fini(&b);
    return ok;
}

static bool writes_files(const arguments *a) {
    return a->given[OPT_html] || a->given[OPT_svg] || a->given[OPT_md] || a->given[OPT_text];
}

/* --- the server ------------------------------------------------------------------------------- */

static void on_signal(void *user, int sig) {
    (void)sig;
    ((shower *)user)->stopped = true;
}

static void print_address(shower *s) {
    pdl_buf b = PDL_BUF;
    pdl_viewer_address(s->viewer, &b);
    pdl_buf_putc(&b, '\n');
    if (pdl_cli_put_stdout(pdl_buf_str(&b))) s->stopped = true;
    pdl_buf_fini(&b);
}

/* Prints the address again when the user types a line, because the user may want to open another
 * browser. */
static void on_typed(void *user, int events) {
    char line[4096];
    ssize_t n = read(STDIN_FILENO, line, sizeof line);
    (void)events;
    if (n > 0) print_address(user);
}

/* Prints the address when the browser has not opened the page. The program that was started may
 * have found no browser, and then it ends without a word. */
static void on_late(void *user) {
    shower *s = user;
    s->late = NULL;
    if (!s->opened || pdl_viewer_was_opened(s->viewer)) return;
    pdl_cli_note("pdl: note: no browser has opened the page yet; this is its address");
    print_address(s);
}

/* Writes a file that leads the browser to the address. The address contains a secret. Other users
 * can see the arguments of a process, but they cannot read this file. */
static bool write_opener(shower *s, pdl_err *err) {
    const char *folder = getenv("XDG_RUNTIME_DIR");
    pdl_buf path = PDL_BUF, html = PDL_BUF;
    pdl_buf_putf(&path, "%s/pdl-view-%ld-%u.html", folder && *folder ? folder : "/tmp",
                 (long)getpid(), (unsigned)pdl_viewer_port(s->viewer));
    PDL_PUT(&html, "<!doctype html><meta charset=\"utf-8\"><title>PDL run</title>"
                   "<meta http-equiv=\"refresh\" content=\"0;url=");
    pdl_viewer_address(s->viewer, &html);
    PDL_PUT(&html, "\">\n");
    s->opened = pdl_buf_take(&path);
    int fd =
        open(s->opened, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    bool ok = fd >= 0 ? pdl_file_write_fd(fd, pdl_buf_str(&html), err)
                      : pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot make %s: %s", s->opened,
                                    strerror(errno));
    if (fd >= 0) close(fd);
    if (fd < 0) {
        pdl_free(s->opened);
        s->opened = NULL;
    }
    pdl_buf_fini(&html);
    return ok;
}

static void remove_opener(shower *s) {
    if (!s->opened) return;
    unlink(s->opened);
    pdl_free(s->opened);
    s->opened = NULL;
}

/* Starts the browser. Its process is not our child, so it outlives pdl view. Returns 0 when the
 * browser was started, and otherwise an errno value. */
static int run_browser(const char *program, const char *file) {
    int why = 0, report[2];
    if (!pdl_os_pipe(report, false)) return errno;
    pid_t child = fork();
    if (child == 0) {
        if (setsid() < 0 || fork() != 0) _exit(0);
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null >= 0) {
            dup2(null, STDIN_FILENO);
            dup2(null, STDOUT_FILENO);
            dup2(null, STDERR_FILENO);
        }
        execlp(program, program, file, (char *)NULL);
        why = errno;
        (void)!write(report[1], &why, sizeof why);
        _exit(127);
    }
    if (child < 0) why = errno;
    close(report[1]); /* the program that was started has closed its copy */
    if (read(report[0], &why, sizeof why) < 0) why = errno;
    close(report[0]);
    if (child > 0) (void)waitpid(child, NULL, 0);
    return why;
}

/* Starts the browser. When that fails, the address is printed, which also happens
 * without --open. */
static bool start_browser(shower *s, pdl_err *err) {
    if (!write_opener(s, err)) return false;
    const char *browser = getenv("BROWSER");
    const char *program = browser && *browser ? browser : "xdg-open";
    int why = run_browser(program, s->opened);
    if (!why) return true;
    pdl_cli_note("pdl: note: cannot start %s: %s; BROWSER names another program", program,
                 strerror(why));
    remove_opener(s);
    return true;
}

/* Adds a run that the page has started and that has ended. The page compares the new run with the
 * first one. */
static void add_run(shower *s, pdl_view_run *run) {
    pdl_view_run *oldest = NULL;
    if (run && s->runs.n > MAX_KEPT) {
        oldest = s->runs.p[1];
        s->runs.n--;
        memmove(s->runs.p + 1, s->runs.p + 2, (s->runs.n - 1) * sizeof *s->runs.p);
    }
    if (run) *pdl_vec_push(&s->runs) = run;
    pdl_viewer_over(s->viewer, s->runs.p, s->runs.n);
    pdl_cli_run_again_over(s->again);
    pdl_view_run_free(oldest);
}

/* Lets the run that the page has started continue. Adds the run when it has ended. Returns true
 * when the run can continue without waiting. */
static bool turn(shower *s) {
    bool ready = false;
    pdl_view_run *run = NULL;
    if (s->again && pdl_cli_run_again_turn(s->again, &ready, &run)) add_run(s, run);
    return ready;
}

static void serve(shower *s) {
    enum { LATE_MS = 5000 };
    pdl_signals *signals = pdl_cli_watch_signals(s->loop, on_signal, s);
    pdl_watch *typed = NULL;
    bool tty = pdl_tty_is(STDIN_FILENO);
    if (s->opened)
        s->late = pdl_timer_start(s->loop, pdl_pace_ms(LATE_MS), on_late, s);
    else
        print_address(s);
    while (!s->stopped) {
        bool ready = turn(s), runs = s->again && pdl_cli_run_again_is_running(s->again);
        if (runs) { /* the program itself reads the user's input */
            pdl_watch_stop(typed);
            typed = NULL;
        } else if (tty && !typed) {
            typed = pdl_watch_start(s->loop, STDIN_FILENO, PDL_WATCH_READ, on_typed, s);
        }
        pdl_loop_run(s->loop, ready ? 0 : runs ? MAX_WAIT_MS : -1);
        if (s->opened && pdl_viewer_was_opened(s->viewer)) remove_opener(s);
    }
    pdl_timer_stop(s->late);
    pdl_watch_stop(typed);
    pdl_signals_stop(signals);
}

static int start(shower *s, int64_t port) {
    pdl_err err = {0};
    char *host = pdl_str_dup(pdl_cli_host(s->a));
    s->loop = s->again ? pdl_cli_run_again_loop(s->again) : pdl_loop_new();
    pdl_viewer_options o = {
        .loop = s->loop,
        .runs = s->runs.p,
        .n_runs = s->runs.n,
        .host = host,
        .port = (uint16_t)port,
        .frames = s->a->value[OPT_view_frame],
    };
    if (s->again) pdl_cli_run_again_offer(s->again, &o);
    bool ok = pdl_viewer_start(&o, &s->viewer, &err);
    if (ok && s->again) pdl_cli_run_again_serve(s->again, s->viewer);
    ok = ok && (!s->a->given[OPT_open] || start_browser(s, &err));
    int code = ok ? 0 : pdl_cli_fail_option(s->a, &err, NULL);
    if (ok) serve(s);
    remove_opener(s);
    pdl_viewer_free(s->viewer);
    if (!s->again) pdl_loop_free(s->loop);
    pdl_cli_run_again_close(s->again);
    s->again = NULL;
    pdl_free(host);
    return code;
}

/* --- the command ------------------------------------------------------------------------------ */

static int show(shower *s, int64_t port) {
    pdl_err err = {0};
    bool files = writes_files(s->a);
    bool ok = true;
    for (size_t i = 0; ok && i < s->a->files.n; i++) ok = open_run(s, s->a->files.p[i], &err);
    ok = ok && write_one(s, OPT_html, pdl_view_html, &err) &&
         write_one(s, OPT_svg, pdl_view_svg, &err) &&
         write_one(s, OPT_md, s->a->given[OPT_all] ? pdl_view_markdown_all : pdl_view_markdown,
                   &err) &&
         write_one(s, OPT_text, pdl_view_text, &err);
    if (ok) return files ? 0 : start(s, port);
    if (err.kind) pdl_cli_print_option_error(s->a, &err, NULL);
    int code = err.kind ? pdl_err_exit_code(&err) : 1;
    pdl_err_fini(&err);
    return code;
}

static bool is_every_address(pdl_str host) {
    return !host.n || pdl_str_is(host, "0.0.0.0") || pdl_str_is(host, "::") ||
           pdl_str_is(host, "*");
}

/* Called when no program is run. Returns an option that is useful only when a program is run; NULL
 * when there is no such option. */
static const char *idle_option(const arguments *a) {
    static const opt_id of_runs[] = {
        OPT_cache,        OPT_jobs,    OPT_timeout,    OPT_budget,      OPT_cache_marks,
        OPT_prefix_first, OPT_prices,  OPT_max_rps,    OPT_max_tpm,     OPT_wire,
        OPT_policy,       OPT_sandbox, OPT_no_sandbox, OPT_sandbox_min, OPT_otlp,
        OPT_otlp_content, OPT_otlp_all};
    for (size_t i = 0; !a->given[OPT_view_run] && i < sizeof of_runs / sizeof *of_runs; i++)
        if (a->given[of_runs[i]]) return pdl_cli_option_of(of_runs[i])->name;
    return NULL;
}

int pdl_cli_cmd_view(const arguments *a) {
    shower s = {.a = a, .program = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE)};
    int64_t port = 0;
    bool files = writes_files(a);
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: FILE");
    if (a->files.n > 1 && files)
        return pdl_cli_refuse(a, "--html, --svg, --md and --text write one run: give one FILE");
    if (a->given[OPT_all] && !a->given[OPT_md])
        return pdl_cli_refuse(a, "--all says how much --md writes: give --md FILE, too");
    if (a->given[OPT_port] &&
        (!pdl_num_read_int(a->value[OPT_port], &port) || port < 0 || port > 65535))
        return pdl_cli_refuse(a, "argument --port: expected a whole number from 0 to 65535");
    if (a->given[OPT_host] && is_every_address(pdl_cli_host(a)))
        return pdl_cli_refuse(a, "argument --host: give one address of this machine: the address "
                                 "that is printed and what browsers send are compared with it");
    if (a->given[OPT_view_frame] && !pdl_viewer_can_frame(a->value[OPT_view_frame]))
        return pdl_cli_refuse(a, PDL_CLI_BAD_FRAME);
    if (a->given[OPT_view_run] && (files || a->files.n > 1 || a->given[OPT_source]))
        return pdl_cli_refuse(a, "--run is for one run that is shown in a browser, without --html, "
                                 "--svg, --md, --text, --source and OTHER");
    const char *idle = idle_option(a);
    if (idle) {
        pdl_buf why = PDL_BUF;
        pdl_buf_putf(&why, "argument --%s: it goes with --run: else nothing is run", idle);
        int refused = pdl_cli_refuse(a, pdl_buf_z(&why));
        pdl_buf_fini(&why);
        return refused;
    }
    int code = show(&s, port);
    pdl_cli_run_again_close(s.again);
    pdl_cli_recorded_fini(&s.recorded);
    for (size_t i = 0; i < s.runs.n; i++) pdl_view_run_free(s.runs.p[i]);
    pdl_vec_fini(&s.runs);
    for (size_t i = 0; i < s.compared.n; i++) {
        pdl_free(s.compared.p[i]->path);
        pdl_free(s.compared.p[i]);
    }
    pdl_vec_fini(&s.compared);
    pdl_buf_fini(&s.program);
    return code;
}
