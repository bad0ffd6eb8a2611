/* requests.c -- handles the requests of the client; see debugger.h. A table maps each name of the
 * protocol to its function. The arguments come from a file that a user wrote (launch.json), so they
 * are checked before anything is started.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/os.h"
#include "dap/debugger.h"
#include "io/file.h"

#include "base/banned.h"

/* maximum number of unread bytes in the pipe of the program's input */
enum { MAX_INPUT = 32768 };

typedef void request_fn(debugger *g, pdl_vref m, pdl_vref args);

static pdl_val put_flag(pdl_val d, const char *key) {
    return pdl_dict_putz(d, key, pdl_bool(true));
}

static pdl_val put_filter(const char *id, const char *label) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "filter", pdl_textz(id));
    return pdl_dict_putz(d, "label", pdl_textz(label));
}

static void on_initialize(debugger *g, pdl_vref m, pdl_vref args) {
    static const char *const flags[] = {"supportsConfigurationDoneRequest",
                                        "supportsConditionalBreakpoints",
                                        "supportsHitConditionalBreakpoints",
                                        "supportsLogPoints",
                                        "supportsEvaluateForHovers",
                                        "supportsTerminateRequest",
                                        "supportsDelayedStackTraceLoading",
                                        "supportsSetVariable",
                                        "supportsRestartRequest",
                                        "supportsExceptionInfoRequest",
                                        "supportTerminateDebuggee"};
    pdl_val d = pdl_dict_new(12), filters = pdl_list_new(2);
    pdl_vref lines = pdl_member(args, "linesStartAt1"),
             columns = pdl_member(args, "columnsStartAt1");
    g->lines_from_0 = pdl_is_bool(lines) && !pdl_bool_of(lines);
    g->columns_from_0 = pdl_is_bool(columns) && !pdl_bool_of(columns);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) d = put_flag(d, flags[i]);
    filters = pdl_list_push(filters, put_filter("fail", "Blocks that fail"));
    filters = pdl_list_push(filters, put_filter("request", "Before a request to a model"));
    d = pdl_dict_putz(d, "exceptionBreakpointFilters", filters);
    pdl_dap_answer(g, m, d);
    pdl_dap_event(g, "initialized", pdl_dict_new(0));
}

/* --- the start -------------------------------------------------------------------------------- */

/* Appends the folder in which the program runs: `cwd`, or the folder of the adapter. */
static void put_folder(const debugger *g, pdl_vref args, pdl_buf *out) {
    pdl_str cwd = pdl_member_str(args, "cwd");
    if (!pdl_str_starts(cwd, PDL_STR("/"))) pdl_buf_putf(out, "%s%s", g->home, cwd.n ? "/" : "");
    pdl_buf_put(out, cwd);
}

static char *path_of(const debugger *g, pdl_vref args) {
    pdl_str program = pdl_member_str(args, "program");
    pdl_buf b = PDL_BUF;
    if (!pdl_str_starts(program, PDL_STR("/"))) {
        put_folder(g, args, &b);
        pdl_buf_putc(&b, '/');
    }
    pdl_buf_put(&b, program);
    return pdl_buf_take(&b);
}

static bool has_folder(const debugger *g, pdl_vref args) {
    pdl_buf b = PDL_BUF;
    put_folder(g, args, &b);
    bool ok = pdl_file_kind_of(pdl_buf_z(&b)) == PDL_FILE_DIR;
    pdl_buf_fini(&b);
    return ok;
}

/* Enters the folder, since the adapter and the program are one process. */
static void enter_folder(const debugger *g, pdl_vref args) {
    pdl_buf b = PDL_BUF;
    put_folder(g, args, &b);
    /* The folder existed before. When it is gone by now, a program that needs it
     * reports the error. */
    if (chdir(pdl_buf_z(&b)) != 0) {}
    pdl_buf_fini(&b);
}

static void set_environment(pdl_vref env) {
    for (size_t i = 0; pdl_is_dict(env) && i < pdl_dict_len(env); i++) {
        pdl_vref value = pdl_dict_val_at(env, i);
        char *name = pdl_str_dup(pdl_str_get(pdl_dict_key_at(env, i)));
        char *text = pdl_is_str(value) ? pdl_str_dup(pdl_str_get(value)) : NULL;
        /* the names were checked before */
        if ((text ? setenv(name, text, 1) : unsetenv(name)) != 0) {}
        pdl_free(name);
        pdl_free(text);
    }
}

/* Writes the lines into the pipe before the program can read them. */
static void give_input(const debugger *g, pdl_vref lines) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    for (size_t i = 0; pdl_is_list(lines) && i < pdl_list_len(lines); i++)
        if (pdl_is_str(pdl_list_at(lines, i)))
            pdl_buf_putf(&b, "%.*s\n", PDL_FMT(pdl_str_get(pdl_list_at(lines, i))));
    if (b.len && !pdl_file_write_fd(g->input, pdl_buf_str(&b), &err)) pdl_err_fini(&err);
    pdl_buf_fini(&b);
}

static bool is_flag(pdl_vref v) { return pdl_is_bool(v); }
/* Returns true when a text can be a path: it contains no NUL, at which a path would end. */
static bool is_path(pdl_vref v) {
    return pdl_is_str(v) && pdl_str_find(pdl_str_get(v), PDL_STR("\0"), 0) == PDL_NOT_FOUND;
}
static bool is_mapping(pdl_vref v) { return pdl_is_dict(v); }
static bool is_texts(pdl_vref v) {
    bool ok = pdl_is_list(v);
    for (size_t i = 0; ok && i < pdl_list_len(v); i++) ok = pdl_is_str(pdl_list_at(v, i));
    return ok;
}
/* Returns true for names and texts that the environment accepts; null removes a variable. */
static bool is_environment(pdl_vref v) {
    bool ok = pdl_is_dict(v);
    for (size_t i = 0; ok && i < pdl_dict_len(v); i++) {
        pdl_vref value = pdl_dict_val_at(v, i), key = pdl_dict_key_at(v, i);
        ok = is_path(key) && pdl_str_get(key).n && !pdl_byte_in('=', pdl_str_get(key)) &&
             (pdl_is_null(value) || is_path(value));
    }
    return ok;
}
static bool is_input(pdl_vref v) {
    size_t bytes = 0;
    bool ok = pdl_is_list(v);
    for (size_t i = 0; ok && i < pdl_list_len(v); i++) {
        ok = pdl_is_str(pdl_list_at(v, i));
        if (ok) bytes += pdl_str_get(pdl_list_at(v, i)).n + 1;
    }
    return ok && bytes <= MAX_INPUT;
}

/* Returns the mistake in the arguments of launch; NULL when there is none. If a mistake in
 * launch.json were ignored, another program would run than the user meant. */
static const char *find_mistake(const debugger *g, pdl_vref args) {
    static const struct {
        const char *key;
        bool (*is_right)(pdl_vref v);
        const char *mistake;
    } fields[] = {
        {"program", is_path, "launch: `program` is the path of a .pdl file, a text"},
        {"cwd", is_path, "launch: `cwd` is the path of a folder, a text"},
        {"noDebug", is_flag, "launch: `noDebug` is true or false"},
        {"stopOnEntry", is_flag, "launch: `stopOnEntry` is true or false"},
        {"stopBeforeRequests", is_flag, "launch: `stopBeforeRequests` is true or false"},
        {"data", is_mapping, "launch: `data` is an object, variables by name"},
        {"input", is_input, "launch: `input` is a list of texts, together at most 32 KB"},
        {"args", is_texts, "launch: `args` is a list of texts, which the program has as pdl_args"},
        {"env", is_environment, "launch: `env` is an object, variables of the environment"},
    };
    if (!pdl_member_str(args, "program").n)
        return "launch needs `program`: the path of a .pdl file";
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        pdl_vref v = pdl_member(args, fields[i].key);
        if (!pdl_is_absent(v) && !pdl_is_null(v) && !fields[i].is_right(v))
            return fields[i].mistake;
    }
    return has_folder(g, args) ? NULL : "launch: `cwd` is no folder that exists";
}

/* Returns pdl_args and the variables in `data`. A pdl_args in `data` replaces the other. */
static pdl_val variables_of(pdl_vref args) {
    pdl_vref words = pdl_member(args, "args"), data = pdl_member(args, "data");
    pdl_val v = pdl_dict_new(4);
    v = pdl_dict_putz(v, "pdl_args", pdl_is_list(words) ? pdl_keep(words) : pdl_list_new(0));
    for (size_t i = 0; pdl_is_dict(data) && i < pdl_dict_len(data); i++)
        v = pdl_dict_put(v, pdl_keep(pdl_dict_key_at(data, i)), pdl_keep(pdl_dict_val_at(data, i)));
    return v;
}

void pdl_dap_take_launch(debugger *g, pdl_vref args) {
    pdl_val before = g->arguments;
    g->arguments = pdl_keep(args);
    pdl_drop(before);
    pdl_free(g->program_path);
    g->program_path = path_of(g, args);
    enter_folder(g, args);
    set_environment(pdl_member(args, "env"));
    g->no_debug = pdl_member_bool(args, "noDebug");
    g->mode = pdl_member_bool(args, "stopOnEntry") ? DAP_ENTRY : DAP_RUN;
    if (pdl_member_bool(args, "stopBeforeRequests")) g->stop_on_request = true;
    pdl_drop(g->data);
    g->data = variables_of(args);
    give_input(g, pdl_member(args, "input"));
}

static void on_launch(debugger *g, pdl_vref m, pdl_vref args) {
    if (!pdl_is_absent(g->wanted) || g->session) {
        pdl_dap_refuse(g, m, "a program is launched already");
        return;
    }
    const char *mistake = find_mistake(g, args);
    if (mistake) {
        pdl_dap_refuse(g, m, "%s", mistake);
        return;
    }
    pdl_dap_take_launch(g, args);
    g->wanted = pdl_keep(m); /* answered when the program starts */
}

/* Starts the run again. The client is not notified of the end of the old run. When the request
 * contains arguments of launch, these replace the old ones. Breakpoints are kept. */
static void on_restart(debugger *g, pdl_vref m, pdl_vref args) {
    pdl_vref again = pdl_member(args, "arguments");
    const char *mistake = pdl_is_dict(again) ? find_mistake(g, again) : NULL;
    if (!g->session || g->cancel)
        mistake = "restart: no program runs, a new one begins with a request launch";
    if (mistake) {
        pdl_dap_refuse(g, m, "%s", mistake);
        return;
    }
    pdl_drop(g->again);
    g->again = pdl_keep(pdl_is_dict(again) ? again : g->arguments);
    pdl_dap_answer(g, m, pdl_dict_new(0));
    if (g->stopped)
        pdl_dap_event(g, "continued",
                      put_flag(pdl_dict_putz(pdl_dict_new(2), "threadId", pdl_int(g->at_fiber)),
                               "allThreadsContinued"));
    g->stopped = false;
    pdl_dap_cancel(g);
}

static void on_attach(debugger *g, pdl_vref m, pdl_vref args) {
    (void)args;
    pdl_dap_refuse(g, m,
                   "attach is not possible: a program is debugged from its start, with a request "
                   "launch that names it as `program`");
}

static void on_configured(debugger *g, pdl_vref m, pdl_vref args) {
    (void)args;
    g->configured = true;
    pdl_dap_answer(g, m, pdl_dict_new(0));
}

static void on_breakpoints(debugger *g, pdl_vref m, pdl_vref args) {
    pdl_dap_answer(g, m, pdl_dap_set_breakpoints(g, args));
}

static void on_exceptions(debugger *g, pdl_vref m, pdl_vref args) {
    pdl_vref filters = pdl_member(args, "filters");
    g->stop_on_failure = g->stop_on_request = false;
    for (size_t i = 0; pdl_is_list(filters) && i < pdl_list_len(filters); i++) {
        if (pdl_text_is(pdl_list_at(filters, i), "fail")) g->stop_on_failure = true;
        if (pdl_text_is(pdl_list_at(filters, i), "request")) g->stop_on_request = true;
    }
    pdl_dap_answer(g, m, pdl_dict_new(0));
}

/* --- the stack -------------------------------------------------------------------------------- */

static void on_threads(debugger *g, pdl_vref m, pdl_vref args) {
    pdl_val list = pdl_list_new(4);
    (void)args;
    pdl_dap_thread(g, 1);
    for (size_t i = 0; i < g->threads.n; i++) {
        uint32_t fiber = g->threads.p[i].fiber;
        pdl_val one = pdl_dict_putz(pdl_dict_new(2), "id", pdl_int(fiber));
        one = pdl_dict_putz(one, "name",
                            fiber == 1 ? pdl_textz("main") : pdl_textf("iteration %u", fiber));
        list = pdl_list_push(list, one);
    }
    pdl_dap_answer(g, m, pdl_dict_putz(pdl_dict_new(1), "threads", list));
}

/* Returns the name of the file, and the path by which an editor knows the file. An imported
 * /a/b/../c.pdl has the path /a/c.pdl, unless b is a link. */
static pdl_val put_source(const pdl_source *src) {
    pdl_buf plain = PDL_BUF;
    pdl_file_put_parts(src->name, &plain);
    char *given = pdl_str_dup(src->name);
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "name", pdl_text(pdl_file_name(src->name)));
    bool same = pdl_file_is_same(given, pdl_buf_z(&plain));
    d = pdl_dict_putz(d, "path", pdl_text(same ? pdl_buf_str(&plain) : src->name));
    pdl_free(given);
    pdl_buf_fini(&plain);
    return d;
}

static uint32_t column_of(const pdl_block *b) {
    return pdl_source_column(b->loc.src, b->node ? b->node->start : b->loc.start);
}

static pdl_val put_frame(const debugger *g, const dap_frame *f) {
    const pdl_block *b = f->block;
    pdl_buf name = PDL_BUF;
    pdl_buf_put(&name, pdl_str_of(b ? pdl_block_trace_name(b->kind) : "block"));
    if (b && b->def.s.n) pdl_buf_putf(&name, " %.*s", PDL_FMT(b->def.s));
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "id", pdl_int(f->id));
    d = pdl_dict_putz(d, "name", pdl_text(pdl_buf_str(&name)));
    bool known = b && b->loc.src && b->loc.src->name.n;
    d = pdl_dict_putz(d, "line", pdl_int(known ? pdl_dap_line_of(b) - g->lines_from_0 : 0));
    d = pdl_dict_putz(d, "column", pdl_int(known ? column_of(b) - g->columns_from_0 : 0));
    pdl_buf_fini(&name);
    return known ? pdl_dict_putz(d, "source", put_source(b->loc.src)) : d;
}

static void on_stack(debugger *g, pdl_vref m, pdl_vref args) {
    int64_t fiber = pdl_member_int(args, "threadId", 1);
    int64_t start = pdl_member_int(args, "startFrame", 0),
            levels = pdl_member_int(args, "levels", 0);
    const dap_thread *t = pdl_dap_thread(g, fiber > 0 && fiber <= UINT32_MAX ? (uint32_t)fiber : 1);
    pdl_val list = pdl_list_new(8);
    if (levels <= 0) levels = INT32_MAX;
    size_t n = t->frames.n;
    for (size_t i = start < 0 ? 0 : (size_t)start; i < n && (int64_t)pdl_list_len(list) < levels;
         i++)
        list = pdl_list_push(list, put_frame(g, &t->frames.p[n - 1 - i]));
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "stackFrames", list);
    pdl_dap_answer(g, m, pdl_dict_putz(d, "totalFrames", pdl_int((int64_t)n)));
}

/* Describes a stop at a failure, or a stop before a request, which editors show in the same way. */
static void on_exception_info(debugger *g, pdl_vref m, pdl_vref args) {
    (void)args;
    if (!g->stopped || pdl_is_absent(g->failure)) {
        pdl_dap_refuse(g, m, "the program is not stopped at a failure");
        return;
    }
    pdl_val details = pdl_dict_putz(pdl_dict_new(2), "message", pdl_keep(g->failure));
    details = pdl_dict_putz(details, "typeName", pdl_textz(g->failure_kind));
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "exceptionId", pdl_textz(g->failure_kind));
    d = pdl_dict_putz(d, "description", pdl_keep(g->failure));
    d = pdl_dict_putz(d, "breakMode", pdl_textz("always"));
    pdl_dap_answer(g, m, pdl_dict_putz(d, "details", details));
}

static void on_scopes(debugger *g, pdl_vref m, pdl_vref args) {
    int64_t frame = pdl_member_int(args, "frameId", 0);
    pdl_val list = pdl_dap_scopes(g, frame > 0 && frame <= UINT32_MAX ? (uint32_t)frame : 0);
    pdl_dap_answer(g, m, pdl_dict_putz(pdl_dict_new(1), "scopes", list));
}

static void on_variables(debugger *g, pdl_vref m, pdl_vref args) {
    pdl_dap_answer(g, m, pdl_dict_putz(pdl_dict_new(1), "variables", pdl_dap_variables(g, args)));
}

static void on_set_variable(debugger *g, pdl_vref m, pdl_vref args) {
    pdl_buf why = PDL_BUF;
    pdl_val body = pdl_dap_set_variable(g, args, &why);
    if (pdl_is_absent(body))
        pdl_dap_refuse(g, m, "%s", pdl_buf_z(&why));
    else
        pdl_dap_answer(g, m, body);
    pdl_buf_fini(&why);
}

/* Writes a line for the program to read. Returns false when the pipe is too full. The adapter must
 * not wait for room, because it also runs the program that would make room. The kernel may put each
 * line on a separate page of the pipe, so only half of the pipe's size is used. */
static bool put_line(const debugger *g, pdl_str text) {
    pdl_buf line = PDL_BUF;
    pdl_err err = {0};
    int unread = 0, most = pdl_os_pipe_size(g->input) / 2;
    if (most > MAX_INPUT) most = MAX_INPUT;
    pdl_buf_putf(&line, "%.*s\n", PDL_FMT(text));
    bool ok = ioctl(g->input, FIONREAD, &unread) == 0 && unread <= most &&
              line.len <= (size_t)(most - unread) &&
              pdl_file_write_fd(g->input, pdl_buf_str(&line), &err);
    pdl_err_fini(&err);
    pdl_buf_fini(&line);
    return ok;
}

/* Passes a line of the console to the running program, as its input. */
static void answer_console(debugger *g, pdl_vref m, pdl_vref args) {
    bool console = g->session && pdl_str_is(pdl_member_str(args, "context"), "repl");
    if (!console) {
        pdl_dap_refuse(g, m, "the program is not stopped");
    } else if (!put_line(g, pdl_member_str(args, "expression"))) {
        pdl_dap_refuse(g, m, "the program has not read what was typed before");
    } else {
        pdl_val d = pdl_dict_putz(pdl_dict_new(2), "result", pdl_textz(""));
        pdl_dap_answer(g, m, pdl_dict_putz(d, "variablesReference", pdl_int(0)));
    }
}

static void on_evaluate(debugger *g, pdl_vref m, pdl_vref args) {
    pdl_str text = pdl_member_str(args, "expression");
    int64_t frame = pdl_member_int(args, "frameId", 0);
    pdl_buf why = PDL_BUF;
    dap_thread *t = NULL;
    pdl_val v;
    if (!g->stopped) {
        answer_console(g, m, args);
        return;
    }
    const dap_frame *f =
        frame > 0 && frame <= UINT32_MAX ? pdl_dap_frame_of(g, (uint32_t)frame, &t) : NULL;
    pdl_val scope = f ? pdl_dap_scope_of_frame(g, t, f) : pdl_dap_scope(g, g->at_fiber);
    if (pdl_dap_evaluate(g, text, scope, &v, &why)) {
        pdl_dap_answer(g, m, pdl_dap_put_value(g, "result", v));
        pdl_drop(v);
    } else {
        pdl_dap_refuse(g, m, "%s", pdl_buf_z(&why));
    }
    pdl_buf_fini(&why);
}

/* --- continuing ------------------------------------------------------------------------------- */

static void resume(debugger *g, pdl_vref m, pdl_vref args, dap_mode mode) {
    int64_t fiber = pdl_member_int(args, "threadId", g->at_fiber);
    g->step_fiber = fiber > 0 && fiber <= UINT32_MAX ? (uint32_t)fiber : 1;
    g->step_depth = (uint32_t)pdl_dap_thread(g, g->step_fiber)->frames.n;
    g->mode = mode;
    pdl_val body = pdl_dict_new(1);
    if (mode == DAP_RUN) body = put_flag(body, "allThreadsContinued");
    pdl_dap_answer(g, m, body);
    g->stopped = false;
}

static void on_continue(debugger *g, pdl_vref m, pdl_vref args) { resume(g, m, args, DAP_RUN); }
static void on_step_in(debugger *g, pdl_vref m, pdl_vref args) { resume(g, m, args, DAP_STEP_IN); }
static void on_step_over(debugger *g, pdl_vref m, pdl_vref args) {
    resume(g, m, args, DAP_STEP_OVER);
}
static void on_step_out(debugger *g, pdl_vref m, pdl_vref args) {
    resume(g, m, args, DAP_STEP_OUT);
}

static void on_pause(debugger *g, pdl_vref m, pdl_vref args) {
    (void)args;
    if (!g->stopped) g->mode = DAP_PAUSE;
    pdl_dap_answer(g, m, pdl_dict_new(0));
}

/* Ends the run. After `terminate` the end is reported; after `disconnect` the client is gone. A
 * restart that was requested before is dropped. */
static void on_terminate(debugger *g, pdl_vref m, pdl_vref args) {
    (void)args;
    pdl_dap_answer(g, m, pdl_dict_new(0));
    g->stopped = false;
    pdl_drop(g->again);
    g->again = pdl_absent();
    pdl_dap_cancel(g);
}

/* Lets the run continue without breakpoints. The input of the run ends, because the client types no
 * more lines. */
static void release(debugger *g) {
    pdl_drop(g->again);
    g->again = pdl_absent();
    g->stopped = false;
    g->no_debug = g->released = true;
    close(g->input);
    g->input = -1;
}

/* Handles `disconnect`. Unless the client requests otherwise, a launched program ends together with
 * its debugger. */
static void on_disconnect(debugger *g, pdl_vref m, pdl_vref args) {
    pdl_vref terminate = pdl_member(args, "terminateDebuggee");
    if (g->session && pdl_is_bool(terminate) && !pdl_bool_of(terminate)) {
        pdl_dap_answer(g, m, pdl_dict_new(0));
        release(g);
    } else {
        on_terminate(g, m, args);
    }
    g->ended = true;
}

static const struct {
    const char *name;
    request_fn *fn;
} requests[] = {
    {"initialize", on_initialize},
    {"launch", on_launch},
    {"attach", on_attach},
    {"configurationDone", on_configured},
    {"setBreakpoints", on_breakpoints},
    {"setExceptionBreakpoints", on_exceptions},
    {"threads", on_threads},
    {"stackTrace", on_stack},
    {"exceptionInfo", on_exception_info},
    {"scopes", on_scopes},
    {"variables", on_variables},
    {"setVariable", on_set_variable},
    {"evaluate", on_evaluate},
    {"continue", on_continue},
    {"next", on_step_over},
    {"stepIn", on_step_in},
    {"stepOut", on_step_out},
    {"pause", on_pause},
    {"restart", on_restart},
    {"terminate", on_terminate},
    {"disconnect", on_disconnect},
};

void pdl_dap_handle(debugger *g, pdl_vref m) {
    assert(pdl_dap_debugger_ok(g));
    pdl_str command = pdl_member_str(m, "command");
    if (g->released || !pdl_str_is(pdl_member_str(m, "type"), "request")) return;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (!pdl_str_is(command, requests[i].name)) continue;
        requests[i].fn(g, m, pdl_member(m, "arguments"));
        return;
    }
    if (command.n)
        pdl_dap_refuse(g, m, "no request %.*s", PDL_FMT(command));
    else
        pdl_dap_refuse(g, m, "a request has `command`, a text");
}
