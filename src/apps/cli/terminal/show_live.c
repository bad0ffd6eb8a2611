/* show_live.c -- serves the page of a run; see show_live.h. The server uses the loop of the run,
 * and needs no thread. It answers whenever the run waits or has computed for a while.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/show_live.h"

#include "api/session.h"
#include "cli/cli.h"

#include "base/banned.h"

static void to_both(void *user, const pdl_event *e) {
    show_live *s = user;
    for (size_t i = 0; i < 2; i++)
        if (s->sinks[i].event) s->sinks[i].event(s->sinks[i].user, e);
}

static void redact(void *user, pdl_str text, pdl_buf *out) {
    pdl_session_redact(*((show_live *)user)->session, text, out);
}

static struct pdl_later *later_of(const void *user) {
    const pdl_session *session = *((const show_live *)user)->session;
    return session ? pdl_session_later(session) : NULL;
}

void pdl_cli_show_live_init(show_live *s, pdl_session **session, pdl_session_report_options *o) {
    *s = (show_live){.session = session, .live = pdl_live_new(redact, s)};
    s->sinks[0] = o->sink;
    pdl_live_listen_later(s->live, later_of, s, &s->sinks[1], &o->later_sink);
    o->sink = (pdl_sink){s, to_both, s->sinks[0].wants_blocks};
}

static bool give_answer(void *user, uint32_t effect, pdl_str text) {
    const show_live *s = user;
    return pdl_session_answer_input(*s->session, effect, text);
}

/* Returns the program as the page shows it, beside the run in progress or beside its trace. */
static pdl_view_program program_of(const show_live *s, bool is_live) {
    return (pdl_view_program){s->name,
                              s->program,
                              pdl_view_files_open,
                              pdl_live_files(s->live),
                              pdl_session_redact_program,
                              is_live};
}

/* Makes the view of the run in progress. */
static pdl_view_run *view_so_far(void *user) {
    const show_live *s = user;
    pdl_buf trace = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_err ignored = {0};
    pdl_view_program p = program_of(s, true);
    pdl_view_run *run = NULL;
    if (!pdl_session_trace_so_far(*s->session, &trace, &ignored) ||
        !pdl_view_run_new(s->name, pdl_buf_str(&trace), &p, &run, &ignored))
        pdl_err_fini(&ignored);
    pdl_buf_fini(&trace);
    return run;
}

bool pdl_cli_show_live_start(show_live *s, pdl_str name, pdl_str program, pdl_str frames,
                             pdl_err *err) {
    pdl_viewer_options o = {
        .loop = pdl_session_loop(*s->session),
        .live = s->live,
        .live_name = name,
        .program = program,
        .answer = give_answer,
        .so_far = view_so_far,
        .user = s,
        .host = "127.0.0.1",
        .frames = frames,
    };
    pdl_buf address = PDL_BUF;
    s->name = name;
    s->program = program;
    if (!pdl_viewer_start(&o, &s->viewer, err)) return false;
    pdl_viewer_address(s->viewer, &address);
    pdl_cli_note("pdl: the run is shown at %s", pdl_buf_z(&address));
    pdl_buf_fini(&address);
    return true;
}

void pdl_cli_show_live_leave(show_live *s) {
    /* number of turns that suffices to send the output, unless a browser does not read */
    enum { TURNS = 4 };
    if (!s->viewer) return;
    pdl_viewer_leave(s->viewer, "The run was interrupted. What came so far is shown.");
    for (int i = 0; i < TURNS; i++) pdl_loop_run(pdl_session_loop(*s->session), 0);
}

static void on_signal(void *user, int sig) {
    (void)sig;
    ((show_live *)user)->stopped = true;
}

/* Shows the trace of the run in place of the view during the run. */
static void show_trace(void *user) {
    show_live *s = user;
    pdl_buf trace = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_err err = {0};
    pdl_view_program p = program_of(s, false);
    bool ok = pdl_session_trace(*s->session, pdl_fold_put_buf, &trace, &err) &&
              pdl_view_run_new(s->name, pdl_buf_str(&trace), &p, &s->run, &err);
    pdl_buf_fini(&trace);
    if (ok) {
        pdl_viewer_over(s->viewer, &s->run, 1);
        return;
    }
    pdl_cli_print_error(&err, *s->session);
    pdl_err_fini(&err);
    s->stopped = true;
}

void pdl_cli_show_live_end(show_live *s) {
    pdl_loop *loop = pdl_session_loop(*s->session);
    pdl_signals *signals = pdl_cli_watch_signals(loop, on_signal, s);
    pdl_viewer_when_asked(s->viewer, show_trace, s);
    while (!s->stopped) pdl_loop_run(loop, -1);
    pdl_signals_stop(signals);
}

void pdl_cli_show_live_fini(show_live *s) {
    pdl_viewer_free(s->viewer);
    pdl_view_run_free(s->run);
    pdl_live_free(s->live);
}
