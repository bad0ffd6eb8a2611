/* launch.c -- the life of a debugged run, and of the adapter; see dap.h. The adapter is one process
 * and one thread: while the program runs, requests of the client are read between its steps. A
 * restart makes a new session for the same program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "dap/dap.h"
#include "dap/debugger.h"
#include "io/file.h"

#include "base/banned.h"

enum { TURN_MS = 20, MAX_PROGRAM = 64 << 20, MAX_MESSAGE = 64 << 20 };

void pdl_dap_cancel(debugger *g) {
    pdl_err err = {0};
    if (!g->session) return;
    g->cancel = 1;
    pdl_err_signal(&err, 2);
    pdl_session_cancel(g->session, &err);
    pdl_err_fini(&err);
}

void pdl_dap_follow_client(debugger *g) {
    if (g->ended && !g->released) pdl_dap_cancel(g);
}

static void report_load_errors(debugger *g, const pdl_program *p) {
    pdl_buf b = PDL_BUF;
    pdl_program_errors(p, &b, true);
    pdl_dap_output(g, "stderr", pdl_buf_str(&b), true);
    pdl_buf_fini(&b);
}

static void report_error(debugger *g, const pdl_err *err) {
    pdl_buf b = PDL_BUF;
    pdl_err instead = {0};
    bool hides = g->session && pdl_session_hides_error(g->session, err, &instead);
    pdl_err_print(hides ? &instead : err, true, &b);
    pdl_dap_output(g, "stderr", pdl_buf_str(&b), true);
    pdl_buf_fini(&b);
    pdl_err_fini(&instead);
}

/* Steps the run. While the run waits for an answer, requests of the client are read every few
 * milliseconds. */
static pdl_step step_to_end(debugger *g) {
    pdl_step step = PDL_STEP_WAIT;
    pdl_session_start(g->session);
    while (step == PDL_STEP_WAIT) {
        pdl_val m;
        step = pdl_session_step(g->session, TURN_MS);
        pdl_dap_read(g, 0);
        while (pdl_dap_next(g, &m)) {
            pdl_dap_handle(g, m);
            pdl_drop(m);
        }
        pdl_dap_follow_client(g);
    }
    return step;
}

static int run_loaded(debugger *g) {
    pdl_err err = {0};
    pdl_step step = step_to_end(g);
    int code = 0;
    pdl_session_flush(g->session);
    if (step == PDL_STEP_FAIL && pdl_is_absent(g->again)) {
        const pdl_err *why = pdl_run_error(pdl_session_get(g->session));
        report_error(g, why);
        code = pdl_err_exit_code(why);
    }
    if (!pdl_session_finish(g->session, &err)) {
        report_error(g, &err);
        pdl_err_fini(&err);
        code = code ? code : 1;
    }
    return code;
}

static void on_note(void *user, pdl_str text) {
    pdl_buf b = PDL_BUF;
    pdl_buf_put(&b, text);
    pdl_buf_putc(&b, '\n');
    pdl_dap_output(user, "console", pdl_buf_str(&b), true);
    pdl_buf_fini(&b);
}

static int run_program(debugger *g, pdl_err *err) {
    pdl_buf text = PDL_BUF_INIT(MAX_PROGRAM);
    const pdl_program *p;
    int code = 1;
    pdl_str path = pdl_str_of(g->program_path);
    pdl_session_options o = {
        .program = {.file = path,
                    .dir = pdl_file_folder(path),
                    .variables = g->data,
                    .names = g->names},
        .run = {.stream = PDL_STREAM_RESULT, .cancel = &g->cancel},
        .reports = {.sink = {g, pdl_dap_on_event, true},
                    .note = on_note,
                    .all_blocks = !g->no_debug},
    };
    g->config = (pdl_check_config){.arena = pdl_arena_make()};
    bool ok = pdl_config_read(path, &g->config, err);
    pdl_config_use(&g->config, &o);
    if (ok && pdl_file_read(g->program_path, &text, err) && pdl_session_new(&o, &g->session, err)) {
        if (pdl_session_load(g->session, pdl_buf_str(&text), &p))
            code = run_loaded(g);
        else
            report_load_errors(g, p);
    }
    pdl_buf_fini(&text);
    return code;
}

static int run_once(debugger *g) {
    pdl_err err = {0};
    g->cancel = 0;
    int code = run_program(g, &err);
    if (err.kind) report_error(g, &err);
    pdl_err_fini(&err);
    pdl_dap_threads_fini(g);
    pdl_drop(g->last_result);
    pdl_drop(g->failed_call);
    g->last_result = g->failed_call = pdl_absent();
    g->failing = false;
    pdl_session_free(g->session);
    g->session = NULL;
    pdl_config_fini(&g->config);
    return code;
}

/* Drops the input lines that the previous run has not read. */
static void drain_input(void) {
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    char chunk[4096];
    while (poll(&p, 1, 0) > 0 && (p.revents & POLLIN))
        if (read(STDIN_FILENO, chunk, sizeof chunk) <= 0) return;
}

void pdl_dap_run(debugger *g) {
    pdl_dap_answer(g, g->wanted, pdl_dict_new(0));
    int code = run_once(g);
    while (!pdl_is_absent(g->again) && !g->ended) {
        pdl_val args = g->again;
        g->again = pdl_absent();
        drain_input();
        pdl_dap_breakpoints_restart(g);
        pdl_dap_take_launch(g, args);
        pdl_drop(args);
        code = run_once(g);
    }
    pdl_drop(g->wanted);
    g->wanted = pdl_absent();
    pdl_dap_event(g, "exited", pdl_dict_putz(pdl_dict_new(1), "exitCode", pdl_int(code)));
    pdl_dap_event(g, "terminated", pdl_dict_new(0));
}

/* --- the adapter ------------------------------------------------------------------------------ */

/* Moves the protocol to descriptors that no child process inherits. Standard input becomes a pipe
 * for the program, and standard output becomes error output. */
static bool take_descriptors(debugger *g) {
    int pipes[2];
    g->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    g->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    if (g->in < 0 || g->out < 0 || pipe(pipes) != 0) return false;
    g->input = fcntl(pipes[1], F_DUPFD_CLOEXEC, 10);
    bool ok = g->input >= 0 && dup2(pipes[0], STDIN_FILENO) == STDIN_FILENO &&
              dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO;
    close(pipes[0]);
    close(pipes[1]);
    return ok;
}

static void serve(debugger *g) {
    pdl_val m;
    while (!g->ended) {
        while (!g->ended && pdl_dap_next(g, &m)) {
            pdl_dap_handle(g, m);
            pdl_drop(m);
            if (g->configured && !pdl_is_absent(g->wanted)) {
                g->configured = false;
                pdl_dap_run(g);
            }
        }
        if (!g->ended) pdl_dap_read(g, -1);
    }
}

static void fini(debugger *g) {
    for (size_t i = g->queue_head; i < g->queue.n; i++) pdl_drop(g->queue.p[i]);
    pdl_vec_fini(&g->queue);
    pdl_dap_breakpoints_fini(g);
    pdl_dap_threads_fini(g);
    pdl_dap_references_fini(g);
    pdl_drop(g->data);
    pdl_drop(g->wanted);
    pdl_drop(g->arguments);
    pdl_drop(g->again);
    pdl_drop(g->last_result);
    pdl_frame_fini(&g->reader);
    pdl_interner_drop(g->names);
    pdl_free(g->program_path);
    close(g->in);
    close(g->out);
    if (g->input >= 0) close(g->input);
}

int pdl_dap_serve(void) {
    debugger g = {.reader = {.kind = PDL_FRAME_CONTENT, .max_message = MAX_MESSAGE}};
    g.data = g.wanted = g.arguments = g.again = pdl_absent();
    g.request = g.last_result = g.failure = g.failed_call = pdl_absent();
    g.names = pdl_interner_new();
    if (!getcwd(g.home, sizeof g.home)) g.home[0] = '\0';
    if (!take_descriptors(&g)) {
        pdl_interner_drop(g.names);
        return 1;
    }
    serve(&g);
    fini(&g);
    return g.is_garbled ? 1 : 0;
}
