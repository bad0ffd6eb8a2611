/* run_again.c -- runs programs again when the page of pdl view --run requests it, by api/rerun.h;
 * see run_again.h.
 *
 * The options, policies and sandbox of the run that is shown stay in force.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/run_again.h"

#include <limits.h>
#include <stdlib.h>

#include "api/rerun.h"
#include "base/hash.h"
#include "io/file.h"

#include "base/banned.h"

struct run_again {
    arguments own; /* the arguments of the run that is shown; `operand` is their only operand */
    pdl_str operand;
    durable_command shown; /* the run that is shown; its journal is only read */
    pdl_str file, text;
    char *journal, *path; /* the absolute paths of the journal and of the program */
    shared_options limits;
    pdl_session_options options;
    pdl_rerun *runs;
    pdl_viewer *viewer;
    unsigned n; /* number of runs so far */
    /* --- the last run that began --- */
    pdl_live *live;
    char *name;
    pdl_buf program;
};

static char *absolute(pdl_str path) {
    char *z = pdl_str_dup(path), real[PATH_MAX];
    if (!realpath(z, real)) return z;
    pdl_free(z);
    return pdl_str_dup(pdl_str_of(real));
}

/* Appends a text with its line ends changed to "\n", as a reader of programs sees them. */
static void put_lines(pdl_str text, pdl_buf *out) {
    for (size_t i = 0; i < text.n; i++) {
        bool cr = text.p[i] == '\r', crlf = cr && i + 1 < text.n && text.p[i + 1] == '\n';
        if (!crlf) pdl_buf_putc(out, cr ? '\n' : text.p[i]);
    }
}

/* --- opening ---------------------------------------------------------------------------------- */

static bool read_options(run_again *r, pdl_err *err) {
    const arguments *a = &r->own;
    pdl_session_options *o = &r->options;
    *o = (pdl_session_options){
        .guards.recorded = o->guards.recorded,
        .program = {.file = r->file, .dir = pdl_file_folder(pdl_str_of(r->path))},
        .run.stream = PDL_STREAM_RESULT};
    if (pdl_cli_shared_options_read(a, &r->limits, o) != 0)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "the options of the run do not hold here");
    o->guards.policies = r->shown.guards.policies.p;
    o->guards.n_policies = r->shown.guards.policies.n;
    return true;
}

bool pdl_cli_run_again_open(const arguments *a, const run_again_source *from, run_again **out,
                            pdl_err *err) {
    run_again *r = PDL_NEW(run_again);
    r->file = from->file;
    r->text = from->text;
    r->options.guards.recorded = from->recorded;
    r->journal = absolute(from->journal);
    r->path = absolute(from->file);
    r->own = *a;
    r->operand = pdl_str_of(r->journal);
    r->own.files.p = &r->operand;
    r->own.files.n = 1;
    r->program = PDL_BUF;
    bool ok =
        pdl_cli_durable_open(&r->shown, &r->own, PDL_DURABLE_CHECK, err) && read_options(r, err);
    ok = ok && pdl_rerun_open(&r->options, pdl_str_of(r->journal), &r->runs, err);
    if (ok)
        *out = r;
    else
        pdl_cli_run_again_close(r);
    return ok;
}

pdl_loop *pdl_cli_run_again_loop(run_again *r) { return pdl_rerun_loop(r->runs); }

void pdl_cli_run_again_serve(run_again *r, pdl_viewer *v) { r->viewer = v; }

bool pdl_cli_run_again_is_running(const run_again *r) { return pdl_rerun_session(r->runs); }

/* --- a run ------------------------------------------------------------------------------------ */

static void end_run(run_again *r) {
    if (r->runs) pdl_rerun_end(r->runs);
    pdl_live_free(r->live);
    r->live = NULL;
}

static void redact(void *user, pdl_str text, pdl_buf *out) {
    pdl_session_redact(pdl_rerun_session(((const run_again *)user)->runs), text, out);
}

static bool start_run(run_again *r, const pdl_view_start *s, pdl_err *err) {
    pdl_rerun_answer *answers = PDL_NEW_N(pdl_rerun_answer, s->n_answers + 1);
    pdl_durable_edit *files = PDL_NEW_N(pdl_durable_edit, s->n_files + 1);
    for (size_t i = 0; i < s->n_answers; i++)
        answers[i] = (pdl_rerun_answer){s->answers[i].place, s->answers[i].text};
    for (size_t i = 0; i < s->n_files; i++)
        files[i] = (pdl_durable_edit){s->files[i].before, s->files[i].after};
    pdl_rerun_changes c = {.text = pdl_buf_str(&r->program),
                           .place = s->place,
                           .fresh = s->fresh,
                           .answers = answers,
                           .n_answers = s->n_answers,
                           .files = files,
                           .n_files = s->n_files};
    r->live = pdl_live_new(redact, r);
    pdl_live_listen(r->live, &c.sink);
    bool ok = pdl_rerun_open_run(r->runs, &c, err);
    pdl_free(answers);
    pdl_free(files);
    return ok;
}

/* Reports each start on the terminal, so that the user sees what is run, even when another person
 * requested it. */
static void report_start(const run_again *r, const pdl_view_start *s) {
    char before[65], now[65];
    pdl_str place = s->place;
    pdl_hash_hex(r->text, before);
    pdl_hash_hex(pdl_buf_str(&r->program), now);
    pdl_cli_note("pdl: %s: %.*s (sha256 %.12s%s%.*s)%s%.*s", r->name, PDL_FMT(r->file), before,
                 strcmp(before, now) == 0 ? "" : ", changed in the page to ",
                 strcmp(before, now) == 0 ? 0 : 12, now,
                 s->fresh ? ", everything asked again from " : ", from ", PDL_FMT(place));
    for (size_t i = 0; i < s->n_files; i++) {
        pdl_hash_hex(s->files[i].before, before);
        pdl_hash_hex(s->files[i].after, now);
        pdl_cli_note("pdl: %s: %.*s (sha256 %.12s, changed in the page to %.12s)", r->name,
                     PDL_FMT(s->files[i].name), before, now);
    }
    for (size_t i = 0; i < s->n_answers; i++)
        pdl_cli_note("pdl: %s: another answer at %.*s", r->name, PDL_FMT(s->answers[i].place));
}

static bool start(void *user, const pdl_view_start *s, pdl_err *err) {
    run_again *r = user;
    pdl_buf name = PDL_BUF;
    pdl_buf_putf(&name, "run %u", r->n + 1);
    pdl_free(r->name);
    r->name = pdl_buf_take(&name);
    pdl_buf_clear(&r->program);
    pdl_buf_put(&r->program, s->text);
    if (!start_run(r, s, err)) {
        end_run(r);
        return false;
    }
    r->n++;
    report_start(r, s);
    pdl_viewer_begin(r->viewer, r->live, pdl_str_of(r->name), pdl_buf_str(&r->program));
    pdl_session_start(pdl_rerun_session(r->runs));
    return true;
}

static void stop(void *user) { pdl_rerun_cancel(((run_again *)user)->runs, "stopped in the page"); }

static bool answer(void *user, uint32_t effect, pdl_str text) {
    return pdl_rerun_answer_input(((run_again *)user)->runs, effect, text);
}

static bool answer_at(void *user, pdl_str place, pdl_buf *text, bool *json, pdl_err *err) {
    return pdl_rerun_answer_at(((const run_again *)user)->runs, place, text, json, err);
}

static bool is_own(void *user, pdl_str name, pdl_str text) {
    pdl_buf bytes = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE), lines = PDL_BUF;
    pdl_err ignored = {0};
    char *path = pdl_str_dup(name);
    (void)user;
    bool ok = pdl_file_read(path, &bytes, &ignored);
    put_lines(pdl_buf_str(&bytes), &lines);
    ok = ok && pdl_str_eq(pdl_buf_str(&lines), text);
    pdl_free(path);
    pdl_buf_fini(&bytes);
    pdl_buf_fini(&lines);
    pdl_err_fini(&ignored);
    return ok;
}

/* Makes the view of the run in progress. */
static pdl_view_run *view_so_far(void *user) {
    const run_again *r = user;
    pdl_session *session = pdl_rerun_session(r->runs);
    pdl_buf trace = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_view_program p = {
        r->file, pdl_buf_str(&r->program), pdl_view_files_open, pdl_live_files(r->live), NULL,
        true};
    pdl_view_run *run = NULL;
    pdl_err ignored = {0};
    if (!session || !pdl_session_trace_so_far(session, &trace, &ignored) ||
        !pdl_view_run_new(pdl_str_of(r->name), pdl_buf_str(&trace), &p, &run, &ignored))
        pdl_err_fini(&ignored);
    pdl_buf_fini(&trace);
    return run;
}

void pdl_cli_run_again_offer(run_again *r, pdl_viewer_options *o) {
    o->again = (pdl_view_again){r->file, r->text, start, answer_at, is_own, stop};
    o->answer = answer;
    o->so_far = view_so_far;
    o->user = r;
}

/* --- its end ---------------------------------------------------------------------------------- */

static pdl_view_run *take_result(run_again *r) {
    pdl_session *session = pdl_rerun_session(r->runs);
    pdl_buf trace = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_view_program p = {
        r->file, pdl_buf_str(&r->program), pdl_view_files_open, pdl_live_files(r->live), NULL,
        false};
    pdl_view_run *run = NULL;
    pdl_err err = {0};
    const pdl_err *why = pdl_run_error(pdl_session_get(session));
    if (why->kind) pdl_cli_print_error(why, session);
    if (!pdl_session_finish(session, &err)) {
        if (!why->kind) pdl_cli_print_error(&err, session);
        pdl_err_fini(&err);
    }
    if (!pdl_session_trace(session, pdl_fold_put_buf, &trace, &err) ||
        !pdl_view_run_new(pdl_str_of(r->name), pdl_buf_str(&trace), &p, &run, &err)) {
        pdl_cli_print_error(&err, session);
        pdl_err_fini(&err);
    }
    pdl_buf_fini(&trace);
    pdl_cli_note("pdl: %s %s", r->name, why->kind ? "failed" : "ended");
    return run;
}

bool pdl_cli_run_again_turn(run_again *r, bool *ready, pdl_view_run **run) {
    if (!pdl_rerun_turn(r->runs, ready)) return false;
    *run = take_result(r);
    return true;
}

void pdl_cli_run_again_over(run_again *r) { end_run(r); }

void pdl_cli_run_again_close(run_again *r) {
    if (!r) return;
    end_run(r);
    pdl_rerun_close(r->runs);
    pdl_cli_durable_fini(&r->shown);
    pdl_cli_shared_options_fini(&r->limits);
    pdl_buf_fini(&r->program);
    pdl_free(r->journal);
    pdl_free(r->path);
    pdl_free(r->name);
    pdl_free(r);
}
