/* cmd_trace.c -- pdl trace: shows what a durable run or a recorded run did, even when it was
 * killed. The program of the run is executed with the answers in the journal, and no effect is
 * really executed. So a run in progress is not disturbed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "api/session.h"
#include "cli/cli.h"
#include "cli/json_rows.h"
#include "cli/prefix_report.h"
#include "cli/run_surroundings.h"
#include "cli/search_again.h"
#include "journal/journal.h"
#include "viewer/viewer.h"

#include "base/banned.h"

static bool put_piece(void *user, pdl_str piece, pdl_err *err) {
    int *code = user;
    if (!*code && piece.n && fwrite(piece.p, 1, piece.n, stdout) != piece.n) *code = 1;
    return !*code || pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot write to standard output");
}

bool pdl_cli_trace_run(pdl_durable *run, const trace_wish *w, pdl_err *err) {
    const pdl_durable_facts *f = pdl_durable_get_facts(run);
    pdl_session *s = NULL;
    pdl_val inputs = pdl_absent();
    const pdl_program *p;
    pdl_session_options o = {
        .program = {.file = f->file, .dir = pdl_file_folder(f->file)},
        .run = {.stream = PDL_STREAM_RESULT, .cancel = pdl_cli_signal_received()},
        .files.offline = true,
        .reports = {.trace = true, .trace_whole = w->whole, .labels = true},
    };
    if (w->files) pdl_view_files_listen(w->files, &o.reports.sink);
    run_surroundings around;
    bool ok = pdl_cli_enter_run(f, &around, &o, err) && pdl_session_new(&o, &s, err);
    if (ok && !pdl_session_load(s, f->text, &p)) {
        ok = false;
        pdl_cli_print_load_errors(p, s);
        pdl_err_set(err, PDL_E_schema, (pdl_loc){0}, "the program in the journal has errors");
    }
    ok = ok &&
         pdl_session_resume_durable(s, run, &(pdl_durable_options){0}, pdl_absent(), &inputs, err);
    if (ok) {
        if (pdl_session_run(s) == PDL_STEP_WAIT) pdl_session_stop(s);
        ok = pdl_session_trace(s, w->put, w->user, err);
    }
    pdl_session_free(s);
    pdl_cli_leave_run(&around);
    pdl_drop(inputs);
    return ok;
}

/* Prints the trace as JSON. run: NULL when the file is a recording. */
static bool show_json(pdl_durable *run, pdl_str path, bool whole, pdl_err *err) {
    int code = 0;
    pdl_journal_program p;
    const trace_wish wish = {.whole = whole, .put = put_piece, .user = &code};
    bool ok;
    if (run) {
        ok = pdl_cli_trace_run(run, &wish, err);
    } else {
        if (!pdl_cli_recording_open(NULL, path, (pdl_str){0}, &p, err)) return false;
        ok = pdl_cli_recording_trace(&p, path, &wish, err);
        pdl_journal_program_fini(&p);
    }
    return ok && put_piece(&code, PDL_STR("\n"), err);
}

bool pdl_cli_trace_view(pdl_durable *run, pdl_str file, pdl_str text, bool edited,
                        pdl_view_run **out, pdl_err *err) {
    const pdl_durable_facts *f = pdl_durable_get_facts(run);
    pdl_buf trace = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_view_program program = {text.p ? file : f->file,
                                text.p ? text : f->text,
                                pdl_view_files_open,
                                pdl_view_files_new(),
                                edited ? NULL : pdl_session_redact_program,
                                false};
    const trace_wish wish = {.files = program.user, .put = pdl_fold_put_buf, .user = &trace};
    bool ok = pdl_cli_trace_run(run, &wish, err) &&
              pdl_view_run_new(f->id, pdl_buf_str(&trace), &program, out, err);
    pdl_view_files_free(program.user);
    pdl_buf_fini(&trace);
    return ok;
}

static bool show_html(pdl_durable *run, pdl_str path, pdl_err *err) {
    pdl_view_run *v = NULL;
    pdl_buf page = PDL_BUF;
    int code = 0;
    bool made = run ? pdl_cli_trace_view(run, (pdl_str){0}, (pdl_str){0}, false, &v, err)
                    : pdl_cli_recording_view(NULL, path, (pdl_str){0}, &v, err);
    if (!made) return false;
    pdl_view_html(v, &page);
    bool ok = put_piece(&code, pdl_buf_str(&page), err);
    pdl_view_run_free(v);
    pdl_buf_fini(&page);
    return ok;
}

/* --- for ui.perfetto.dev and chrome://tracing ------------------------------------------------- */

struct events {
    pdl_buf out;
    size_t n;
    /* end of the last effect in each lane: effects that overlap are side by side */
    PDL_VEC(double) lanes;
};

static size_t lane_of(struct events *x, double start, double end) {
    size_t i = 0;
    while (i < x->lanes.n && x->lanes.p[i] > start) i++;
    if (i == x->lanes.n) *pdl_vec_push(&x->lanes) = 0;
    x->lanes.p[i] = end;
    return i;
}

static bool put_event(void *user, const pdl_durable_row *row) {
    struct events *x = user;
    double end = row->end > row->start ? row->end : row->start;
    size_t lane = lane_of(x, row->start, end);
    pdl_buf_put(&x->out, pdl_str_of(x->n++ ? ",\n" : ""));
    const char *state = row->end <= 0 ? "open" : row->error.p ? "failed" : "answered";
    pdl_val args = pdl_dict_putz(pdl_dict_new(2), "state", pdl_textz(state));
    args = pdl_dict_putz(args, "answers", pdl_int(row->attempt));
    pdl_val d = pdl_dict_putz(pdl_dict_new(8), "ph", pdl_textz("X"));
    d = pdl_dict_putz(d, "pid", pdl_int(1));
    d = pdl_dict_putz(d, "tid", pdl_int((int64_t)lane + 1));
    d = pdl_dict_putz(d, "ts", pdl_int(llround(row->start * 1e6)));
    d = pdl_dict_putz(d, "dur", pdl_int(llround((end - row->start) * 1e6)));
    d = pdl_dict_putz(d, "cat", pdl_text(row->kind));
    d = pdl_dict_putz(d, "name", pdl_text(row->place));
    pdl_cli_put_json(pdl_dict_putz(d, "args", args), &x->out);
    return true;
}

static bool put_recorded(void *user, const pdl_journal_row *row) {
    double end = row->seconds >= 0 ? row->start + row->seconds : 0;
    return put_event(user, &(pdl_durable_row){row->place, row->kind, row->request, row->reply,
                                              row->error, row->start, end, 1, NULL, 0});
}

static bool show_perfetto(pdl_durable *run, pdl_str path, pdl_err *err) {
    struct events x = {.out = PDL_BUF};
    pdl_val head = pdl_dict_putz(pdl_dict_new(2), "displayTimeUnit", pdl_textz("ms"));
    pdl_cli_open_rows(head, "traceEvents", &x.out);
    pdl_buf_putc(&x.out, '\n');
    bool ok = run ? pdl_durable_each(pdl_durable_path(run), put_event, &x, err)
                  : pdl_journal_each(path, put_recorded, &x, err);
    pdl_buf_putc(&x.out, '\n');
    pdl_cli_close_rows(&x.out);
    ok = ok && (pdl_cli_put_stdout(pdl_buf_str(&x.out)) == 0 ||
                pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot write to standard output"));
    pdl_buf_fini(&x.out);
    pdl_vec_fini(&x.lanes);
    return ok;
}

static bool show(const arguments *a, pdl_str path, pdl_err *err) {
    pdl_str form = a->value[OPT_trace_form];
    pdl_durable *run = NULL;
    bool ok =
        pdl_journal_is(path) || pdl_durable_open(path, PDL_DURABLE_SHOW, false, false, &run, err);
    bool of_rows = pdl_str_is(form, "perfetto"); /* this form has no tree of blocks */
    if (ok && run && !of_rows) ok = pdl_cli_is_one_run(run, err);
    if (ok && of_rows)
        ok = show_perfetto(run, path, err);
    else if (ok && pdl_str_is(form, "html"))
        ok = show_html(run, path, err);
    else if (ok)
        ok = show_json(run, path, a->given[OPT_whole], err);
    pdl_durable_close(run);
    return ok;
}

/* Returns true when the reader of the output has closed it: `pdl trace ID | head` ends silently, as
 * other commands do. */
static bool has_no_reader(void) {
    struct pollfd p = {.fd = STDOUT_FILENO};
    return ferror(stdout) && poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

int pdl_cli_cmd_trace(const arguments *a) {
    pdl_err err = {0};
    char *path = NULL;
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: ID or FILE");
    if (a->given[OPT_prefix]) return pdl_cli_trace_prefix(a);
    if (a->files.n > 1 || a->given[OPT_json] || a->given[OPT_prices])
        return pdl_cli_refuse(a, "OTHER, --json and --prices are for --prefix");
    bool ok = pdl_cli_durable_path(a->files.p[0], &path, &err) && show(a, pdl_str_of(path), &err);
    int code = ok ? fflush(stdout) != 0 : 1;
    if (code && has_no_reader()) {
        code = pdl_cli_write_failed(EPIPE);
        pdl_err_fini(&err);
    } else if (!ok) {
        code = pdl_cli_fail(&err);
    }
    pdl_free(path);
    return code;
}
