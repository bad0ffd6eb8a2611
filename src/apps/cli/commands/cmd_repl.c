/* cmd_repl.c -- pdl repl: an interactive session, in which a user runs one entry after the other.
 *
 * Entries are run through the public interface (pdl.h), so that everything that works here works in
 * every host program. Each entry is a separate program; the next entry begins with the variables
 * and the context that it leaves.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/handles.h"
#include "base/os.h"
#include "base/termsafe.h"
#include "cli/cli.h"
#include "cli/repl.h"
#include "cli/run_output.h"
#include "io/file.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { LOOK_MS = 50, MAX_SHOWN = 100 };

/* Set by Ctrl-C. A run reads this flag. The line editor also waits for a pipe, so that it does not
 * lose a signal that comes just before the wait. */
static volatile sig_atomic_t interrupted;
static int wake[2] = {-1, -1};

static void on_interrupt(int sig) {
    int error = errno;
    (void)sig;
    interrupted = 1;
    (void)!write(wake[1], "", 1);
    errno = error;
}

static bool open_wake(void) {
    if (pdl_os_pipe(wake, true)) return true;
    pdl_cli_note("pdl: no pipe can be opened: %s", strerror(errno));
    return false;
}

static void close_wake(void) {
    for (int i = 0; i < 2; i++)
        if (wake[i] >= 0) close(wake[i]);
}

static void forget_interrupt(void) {
    char bytes[64];
    while (read(wake[0], bytes, sizeof bytes) > 0) {}
    interrupted = 0;
}

/* --- one entry -------------------------------------------------------------------------------- */

static void on_report(void *user, const pdl_report *r) {
    term *t = user;
    pdl_event e = {.value = pdl_absent(), .context = pdl_absent()};
    int kind = 0;
    while (kind < PDL_EVENT_COUNT && strcmp(pdl_event_name((pdl_event_kind)kind), r->kind) != 0)
        kind++;
    bool is_shown = kind == PDL_EVENT_text || kind == PDL_EVENT_out || kind == PDL_EVENT_note;
    if (!is_shown && kind != PDL_EVENT_effect) return;
    e.kind = (pdl_event_kind)kind;
    e.text = (pdl_str){r->text, r->n_text};
    e.number = r->number;
    e.untrusted = r->untrusted;
    e.look = strcmp(r->look, "model") == 0  ? PDL_LOOK_MODEL
             : strcmp(r->look, "code") == 0 ? PDL_LOOK_CODE
                                            : PDL_LOOK_PLAIN;
    pdl_sink sink = pdl_cli_term_sink(t);
    sink.event(sink.user, &e);
    if (kind != PDL_EVENT_effect && e.text.n) t->inside_line = e.text.p[e.text.n - 1] != '\n';
}

static void end_line(repl *r) {
    if (r->term.inside_line) pdl_cli_term_put(&r->term, PDL_STR("\n"));
    r->term.inside_line = false;
    pdl_cli_term_flush(&r->term);
}

static void fail(repl *r, pdl_error *error) {
    end_line(r);
    pdl_cli_put_stderr(interrupted ? PDL_STR("interrupted\n") : pdl_str_of(error->text), NULL);
    pdl_error_free(error);
}

/* Waits for the end of an entry; Ctrl-C ends only the run. */
static void wait_for(pdl_task *task) {
    while (pdl_task_wait(task, LOOK_MS) == PDL_TASK_WAITING)
        if (interrupted) pdl_task_cancel(task);
}

/* --- input of programs ------------------------------------------------------------------------ */

static void answer_text(pdl_request *request, pdl_str text) {
    pdl_value *v = pdl_value_text_n(text.p, text.n);
    pdl_request_answer(request, v);
    pdl_value_drop(v);
}

static void answer_nothing(pdl_request *request) {
    pdl_value *v = pdl_value_null();
    pdl_request_answer(request, v);
    pdl_value_drop(v);
}

/* Answers `read` on the terminal of the session, with the line editing that entries have. Without a
 * terminal, the library reads standard input, because the library holds the input that was read
 * ahead. */
static void on_input(void *user, pdl_request *request) {
    repl *r = user;
    const pdl_line_terminal at = pdl_cli_term_lines(&r->term);
    pdl_value *flag = pdl_value_get(pdl_request_data(request), "multiline");
    bool is_long = false, can_edit = true;
    pdl_line_result got = PDL_LINE_END;
    pdl_buf row = PDL_BUF, line = PDL_BUF, all = PDL_BUF;
    if (flag) (void)pdl_value_get_bool(flag, &is_long);
    pdl_value_drop(flag);
    at.flush(at.user);
    do {
        pdl_buf_clear(&row);
        can_edit = r->lines && at.row(at.user, &row) &&
                   pdl_line_edit_ask(r->lines, pdl_buf_z(&row), &got, &line);
        if (!can_edit || got != PDL_LINE_READ) break;
        at.row_ended(at.user, true);
        r->term.inside_line = false;
        pdl_buf_put(&all, pdl_buf_str(&line));
        if (is_long) pdl_buf_putc(&all, '\n');
    } while (is_long);
    if (!can_edit && !all.len)
        pdl_request_decline(request);
    else if (got == PDL_LINE_INTERRUPTED)
        pdl_request_refuse(request, NULL, "interrupted");
    else if (got == PDL_LINE_END && !is_long)
        answer_nothing(request);
    else
        answer_text(request, pdl_buf_str(&all));
    pdl_buf_fini(&row);
    pdl_buf_fini(&line);
    pdl_buf_fini(&all);
}

static bool take_input(repl *r, pdl_error **error) {
    bool is_tty = pdl_tty_is(STDIN_FILENO) && pdl_tty_is(STDOUT_FILENO);
    return !is_tty || pdl_engine_handle(r->engine, "input", "", on_input, r, error);
}

/* Stores in `variables` the messages that the run began with, followed by the messages of the
 * run. */
static void keep_context(const repl *r, const pdl_task *task, pdl_value *variables) {
    pdl_value *parts = pdl_value_list(), *said = pdl_task_context(task, NULL),
              *before = r->inputs ? pdl_value_get(r->inputs, "pdl_context") : NULL;
    if (before) (void)pdl_value_push(parts, before);
    if (said) (void)pdl_value_push(parts, said);
    pdl_value *all = pdl_value_context(parts, false, NULL);
    if (all) (void)pdl_value_put(variables, "pdl_context", all);
    pdl_value_drop(all);
    pdl_value_drop(before);
    pdl_value_drop(said);
    pdl_value_drop(parts);
}

/* Keeps the variables and the messages as they may be printed. Each message is redacted separately,
 * because a context is redacted as a whole. */
static void keep_shown(repl *r, const pdl_session *s) {
    pdl_value *context = pdl_value_get(r->inputs, "pdl_context"), *list = pdl_value_list();
    pdl_value_drop(r->shown);
    r->shown = pdl_value_box(pdl_session_shown(s, pdl_value_settled(r->inputs)));
    for (size_t i = 0; context && i < pdl_value_len(context); i++) {
        pdl_value *m = pdl_value_at(context, i),
                  *shown = pdl_value_box(pdl_session_shown(s, pdl_value_settled(m)));
        (void)pdl_value_push(list, shown);
        pdl_value_drop(shown);
        pdl_value_drop(m);
    }
    (void)pdl_value_put(r->shown, "pdl_context", list);
    pdl_value_drop(list);
    pdl_value_drop(context);
}

static bool finish(repl *r, const pdl_task *task) {
    pdl_error *error = NULL;
    pdl_value *variables = pdl_task_variables(task, &error);
    if (!variables) {
        fail(r, error);
        return false;
    }
    keep_context(r, task, variables);
    pdl_value_drop(r->inputs);
    r->inputs = variables;
    keep_shown(r, task->session);
    end_line(r);
    return true;
}

bool pdl_repl_run(repl *r, pdl_str text) {
    pdl_error *error = NULL;
    pdl_program *program = pdl_load_text(r->engine, text.p, text.n, NULL, &error);
    pdl_task_options o = {.size = sizeof o,
                          .inputs = r->inputs,
                          .output = PDL_OUTPUT_RESULT,
                          .cache = r->cache,
                          .budget = r->budget,
                          .user = &r->term,
                          .report = on_report};
    pdl_task *task = program ? pdl_task_start(r->engine, program, &o, &error) : NULL;
    bool ok = false;
    if (!task)
        fail(r, error);
    else {
        wait_for(task);
        ok = finish(r, task);
    }
    forget_interrupt();
    pdl_task_free(task);
    pdl_program_free(program);
    return ok;
}

/* --- commands --------------------------------------------------------------------------------- */

static void put_shown(const char *name, pdl_value *text, size_t most, pdl_buf *out) {
    size_t n = 0;
    const char *p = text ? pdl_value_get_text(text, &n) : "";
    pdl_str s = {p, n}, cut = pdl_str_sub(s, 0, most);
    pdl_buf_putf(out, "%s: %.*s%s\n", name, PDL_FMT(cut), cut.n < s.n ? " ..." : "");
    pdl_value_drop(text);
}

/* Returns the variables as they may be printed, or NULL. Variables of the command line are the
 * user's own, and are printed unchanged. */
static pdl_value *shown_of(const repl *r) { return r->shown ? r->shown : r->inputs; }

static bool is_own(const char *name) {
    return strncmp(name, "pdl_", 4) != 0 && strcmp(name, "stdlib") != 0;
}

static int show_variables(repl *r) {
    pdl_buf out = PDL_BUF;
    size_t i = 0;
    pdl_value *shown = shown_of(r), *key = NULL, *item = NULL;
    while (shown && pdl_value_next(shown, &i, &key, &item)) {
        const char *name = pdl_value_get_text(key, NULL);
        if (!name || !is_own(name)) continue;
        bool is_function = pdl_value_kind(item) == PDL_KIND_FUNCTION;
        pdl_value *text =
            is_function ? pdl_value_text("(function)") : pdl_value_to_json(item, 0, NULL);
        put_shown(name, text ? text : pdl_value_to_text(item, NULL), MAX_SHOWN, &out);
    }
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}

static int show_context(repl *r) {
    pdl_buf out = PDL_BUF;
    pdl_value *shown = shown_of(r), *context = shown ? pdl_value_get(shown, "pdl_context") : NULL;
    for (size_t i = 0; context && i < pdl_value_len(context); i++) {
        pdl_value *m = pdl_value_at(context, i), *role = pdl_value_get(m, "role"),
                  *content = pdl_value_get(m, "content");
        const char *name = role ? pdl_value_get_text(role, NULL) : NULL;
        pdl_value *text = content ? pdl_value_to_text(content, NULL) : NULL;
        put_shown(name ? name : "user", text, SIZE_MAX, &out);
        pdl_value_drop(content);
        pdl_value_drop(role);
        pdl_value_drop(m);
    }
    pdl_value_drop(context);
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}

/* Writes the entries so far as one program that has the same effect. */
static int save(repl *r, pdl_str file) {
    pdl_buf out = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_err err = {0};
    char *path = pdl_str_dup(file);
    if (!file.n)
        pdl_err_set(&err, PDL_E_usage, (pdl_loc){0}, "write :save FILE");
    else if (pdl_file_kind_of(path) != PDL_FILE_NONE)
        pdl_err_set(&err, PDL_E_io, (pdl_loc){0}, "there is a file %s already", path);
    else {
        PDL_PUT(&out, "text:\n");
        for (size_t i = 0; i < r->entries.n; i++) pdl_repl_put_item(r->entries.p[i], &out);
        if (!r->entries.n) PDL_PUT(&out, "- \"\"\n");
        if (pdl_file_write(path, pdl_buf_str(&out), PDL_FILE_NEW, &err))
            pdl_cli_note("%zu entries are in %s", r->entries.n, path);
    }
    if (err.kind) pdl_cli_print_error(&err, NULL);
    pdl_err_fini(&err);
    pdl_free(path);
    pdl_buf_fini(&out);
    return 0;
}

static void run_entry(repl *r, pdl_str program) {
    if (pdl_repl_run(r, program)) *pdl_vec_push(&r->entries) = pdl_str_dup(program);
}

/* Runs the file as if the user had entered `include: FILE`, so that :save writes it, too. */
static int load(repl *r, pdl_str file) {
    pdl_buf entry = PDL_BUF;
    if (!file.n) {
        pdl_cli_note("write :load FILE");
        return 0;
    }
    PDL_PUT(&entry, "include: '");
    for (size_t i = 0; i < file.n; i++) {
        if (file.p[i] == '\'') pdl_buf_putc(&entry, '\'');
        pdl_buf_putc(&entry, file.p[i]);
    }
    PDL_PUT(&entry, "'\n");
    run_entry(r, pdl_buf_str(&entry));
    pdl_buf_fini(&entry);
    return 0;
}

static int use_model(repl *r, pdl_str name) {
    pdl_free(r->model);
    r->model = name.n ? pdl_str_dup(name) : NULL;
    if (name.n)
        pdl_cli_note("lines of text are sent to %.*s, with what was said before", PDL_FMT(name));
    else
        pdl_cli_note("lines of text are not sent to a model");
    return 0;
}

static int reset(repl *r, pdl_str argument) {
    (void)argument;
    pdl_value_drop(r->inputs);
    pdl_value_drop(r->shown);
    r->inputs = r->shown = NULL;
    for (size_t i = 0; i < r->entries.n; i++) pdl_free(r->entries.p[i]);
    r->entries.n = 0;
    return 0;
}

static int variables(repl *r, pdl_str argument) {
    (void)argument;
    return show_variables(r);
}

static int context(repl *r, pdl_str argument) {
    (void)argument;
    return show_context(r);
}

static int quit(repl *r, pdl_str argument) {
    (void)argument;
    r->is_over = true;
    return 0;
}

static int help(repl *r, pdl_str argument);

static const struct {
    const char *name, *argument, *doc;
    int (*run)(repl *r, pdl_str argument);
} commands[] = {
    {"help", "", "this list", help},
    {"context", "", "the messages so far", context},
    {"vars", "", "the variables", variables},
    {"model", " NAME", "send lines of text to a model; without NAME: no longer", use_model},
    {"save", " FILE", "write the entries so far as a program", save},
    {"load", " FILE", "run the program in a file; what it defines is kept", load},
    {"reset", "", "forget variables, context and entries", reset},
    {"quit", "", "leave, as Ctrl-D does", quit},
};

static int help(repl *r, pdl_str argument) {
    pdl_buf out = PDL_BUF;
    (void)r;
    (void)argument;
    PDL_PUT(
        &out,
        "A line of text, or ${ an expression }, is run at once. A block of several lines, such as\n"
        "\n    model: ollama_chat/granite4:micro\n    input: Hello\n\n"
        "ends with an empty line. Ctrl-C ends a run, or drops what is typed. Commands:\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char head[32];
        snprintf(head, sizeof head, ":%s%s", commands[i].name, commands[i].argument);
        pdl_buf_putf(&out, "  %-13s %s\n", head, commands[i].doc);
    }
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}

void pdl_repl_each_command(void (*fn)(void *to, pdl_str name), void *to) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fn(to, pdl_str_of(commands[i].name));
}

/* Executes a command of the session. A unique beginning of its name suffices. */
static void obey(repl *r, pdl_str line) {
    size_t blank = pdl_str_find(line, PDL_STR(" "), 0), found = 0, n_found = 0;
    pdl_str name = pdl_str_sub(line, 1, blank),
            argument = blank == PDL_NOT_FOUND ? (pdl_str){0}
                                              : pdl_str_trim(pdl_str_sub(line, blank, line.n));
    for (size_t i = 0; name.n && i < sizeof commands / sizeof *commands; i++)
        if (pdl_str_starts(pdl_str_of(commands[i].name), name)) {
            found = i;
            n_found++;
        }
    if (n_found == 1)
        (void)commands[found].run(r, argument);
    else
        pdl_cli_note("pdl: there is no command %.*s: :help lists them", PDL_FMT(line));
}

/* --- the conversation ------------------------------------------------------------------------- */

/* Reads the lines of one entry. Returns false at the end of the input. */
static bool read_entry(repl *r, pdl_buf *entry) {
    pdl_buf line = PDL_BUF;
    bool more = true;
    pdl_buf_clear(entry);
    while (more) {
        pdl_line_result got = pdl_line_edit_read(r->lines, entry->len ? "...  " : "pdl> ", &line);
        interrupted = 0;
        if (got == PDL_LINE_END && !entry->len) r->is_over = true;
        if (got == PDL_LINE_INTERRUPTED) {
            pdl_buf_clear(entry);
            if (pdl_tty_is(STDIN_FILENO)) putchar('\n');
        }
        if (got != PDL_LINE_READ) break;
        pdl_buf_put(entry, pdl_buf_str(&line));
        pdl_buf_putc(entry, '\n');
        more = !pdl_repl_is_whole(pdl_buf_str(entry), line.len == 0);
    }
    pdl_buf_fini(&line);
    return !r->is_over;
}

static void take(repl *r, pdl_str entry) {
    pdl_buf program = PDL_BUF;
    pdl_str line = pdl_str_trim(entry);
    if (!line.n) return;
    if (line.p[0] == ':') {
        obey(r, line);
        return;
    }
    pdl_repl_put_program(entry, r->model, &program);
    run_entry(r, pdl_buf_str(&program));
    pdl_buf_fini(&program);
}

/* Returns $XDG_STATE_HOME/pdl/history, or else ~/.local/state/pdl/history, owned. Returns NULL
 * without a home folder. */
static char *history_file(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    bool has_state = state && *state == '/';
    if (!has_state && !(home && *home)) return NULL;
    pdl_buf_putf(&b, has_state ? "%s/pdl" : "%s/.local/state/pdl", has_state ? state : home);
    bool ok = pdl_file_mkdir(pdl_buf_z(&b), &err);
    pdl_err_fini(&err);
    PDL_PUT(&b, "/history");
    char *path = pdl_buf_take(&b);
    if (ok) return path;
    pdl_free(path);
    return NULL;
}

/* Reads the variables of --data and --data-file, in the form that the public interface takes. */
static bool read_inputs(const arguments *a, repl *r, pdl_err *err) {
    pdl_val vars;
    pdl_buf json = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    if (!pdl_cli_read_data(a, &vars, err)) return false;
    bool ok = pdl_is_absent(vars) || pdl_json_write(vars, 0, 0, &json, err);
    if (ok && !pdl_is_absent(vars)) r->inputs = pdl_value_from_json(json.p, json.len, NULL);
    if (!pdl_is_absent(vars)) pdl_drop(vars);
    pdl_buf_fini(&json);
    return ok;
}

static void converse(repl *r) {
    pdl_buf entry = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    struct sigaction act = {.sa_handler = on_interrupt},
                     /* the handler has no SA_RESTART, so that a signal ends the reading of a
                      * line */
        before;
    sigaction(SIGINT, &act, &before);
    if (pdl_tty_is(STDIN_FILENO))
        pdl_cli_note("PDL %s. :help says what can be typed, Ctrl-D leaves.", pdl_version());
    while (!r->is_over && read_entry(r, &entry)) take(r, pdl_buf_str(&entry));
    if (pdl_tty_is(STDIN_FILENO)) putchar('\n');
    sigaction(SIGINT, &before, NULL);
    pdl_buf_fini(&entry);
}

static bool open_engine(const pdl_session_options *so, repl *r, pdl_error **error) {
    char *profile = pdl_str_dup(so->guards.sandbox), *prices = pdl_str_dup(so->models.prices);
    const char **policies = PDL_NEW_N(const char *, so->guards.n_policies + 1);
    for (size_t i = 0; i < so->guards.n_policies; i++) policies[i] = so->guards.policies[i].p;
    pdl_engine_options o = {.size = sizeof o,
                            .shared = true,
                            .jobs = so->run.jobs,
                            .timeout = so->models.timeouts,
                            .prices = prices,
                            .max_rps = so->models.rates.requests_per_second,
                            .max_tokens_per_minute = so->models.rates.tokens_per_minute,
                            .policies = policies,
                            .n_policies = so->guards.n_policies,
                            .sandbox = profile,
                            .sandbox_process = so->guards.sandbox_process,
                            .no_sandbox = so->guards.no_sandbox};
    r->engine = pdl_engine_new(&o, error);
    if (r->engine) pdl_engine_set_telemetry(r->engine, &so->telemetry);
    pdl_free(policies);
    pdl_free(profile);
    pdl_free(prices);
    return r->engine != NULL;
}

int pdl_cli_cmd_repl(const arguments *a) {
    repl r = {0};
    pdl_err err = {0};
    pdl_error *error = NULL;
    shared_options limits = {0};
    pdl_session_options so = {0};
    int wrong = pdl_cli_shared_options_read(a, &limits, &so);
    if (wrong) return wrong;
    char *history = history_file();
    r.cache = a->value[OPT_cache].p;
    r.budget = a->value[OPT_budget].p;
    pdl_cli_term_init(&r.term,
                      &(pdl_tty_env){getenv("NO_COLOR"), getenv("FORCE_COLOR"), getenv("TERM")});
    bool ok = read_inputs(a, &r, &err);
    if (!ok) pdl_cli_print_option_error(a, &err, NULL);
    ok = ok && pdl_cli_can_open(a, &so); /* mistakes are reported before the first entry */
    int code = ok ? 0 : 2;
    pdl_err_fini(&err);
    if (ok && (!open_engine(&so, &r, &error) || !take_input(&r, &error))) {
        fail(&r, error);
        ok = false;
    }
    if (ok && a->given[OPT_repl_model]) (void)use_model(&r, a->value[OPT_repl_model]);
    if (ok && (ok = open_wake())) {
        pdl_line_edit_options lines = {.history = history,
                                       .complete = pdl_repl_complete,
                                       .user = &r,
                                       .has_wake = true,
                                       .wake = wake[0]};
        r.lines = pdl_line_edit_new(&lines);
        converse(&r);
        pdl_line_edit_free(r.lines);
    }
    (void)reset(&r, (pdl_str){0});
    pdl_vec_fini(&r.entries);
    pdl_free(r.model);
    pdl_cli_term_fini(&r.term);
    pdl_engine_free(r.engine);
    close_wake();
    pdl_free(history);
    pdl_cli_shared_options_fini(&limits);
    return ok ? 0 : code ? code : 1;
}
