/* run_again.c -- runs a changed program with the answers of an earlier run; see run_again.h.
 *
 * The journal of the run that is shown is only read. Each start gets a copy of it in a private
 * folder, which the changed program continues: requests that are the same are answered from the
 * copy, the others are sent. The options, policies and sandbox of the run stay in force.
 *
 * Runs and the page's server are on one loop: that of a session without a program, whose worlds the
 * sessions of the runs share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/run_again.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "io/file.h"

#include "base/banned.h"

struct run_again {
    arguments own; /* arguments of the run that is shown; their only operand is `operand` */
    pdl_str operand;
    durable_command shown; /* the run that is shown; its journal is only read */
    pdl_str file, text;
    char *journal, *path; /* absolute paths of the journal, and of the program */
    char *folder;         /* folder with copies of the journal; NULL before the first copy */
    shared_options limits;
    pdl_session_options options;
    pdl_session *base;
    pdl_viewer *viewer;
    unsigned n; /* number of runs so far */
    /* --- the run in progress; session is NULL without one --- */
    pdl_session *session;
    arguments given;
    pdl_str copy_operand;
    durable_command durable;
    pdl_live *live;
    char *copy, *name;
    /* files that the program includes and that the user has changed */
    PDL_VEC(pdl_durable_edit) edited;
    PDL_VEC(char *) texts;            /* the changed texts; owned */
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
        .program = {.file = r->file, .dir = pdl_file_folder(pdl_str_of(r->path))},
        .run.stream = PDL_STREAM_RESULT};
    if (pdl_cli_shared_options_read(a, &r->limits, o) != 0)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "the options of the run do not hold here");
    o->guards.policies = r->shown.policies.p;
    o->guards.n_policies = r->shown.policies.n;
    return true;
}

bool pdl_cli_run_again_open(const arguments *a, pdl_str journal, pdl_str file, pdl_str text,
                            run_again **out, pdl_err *err) {
    run_again *r = PDL_NEW(run_again);
    r->file = file;
    r->text = text;
    r->journal = absolute(journal);
    r->path = absolute(file);
    r->own = *a;
    r->operand = pdl_str_of(r->journal);
    r->own.files.p = &r->operand;
    r->own.files.n = 1;
    r->program = PDL_BUF;
    r->durable.inputs = pdl_absent();
    bool ok =
        pdl_cli_durable_open(&r->shown, &r->own, PDL_DURABLE_CHECK, err) && read_options(r, err);
    pdl_session_options o = r->options;
    o.files.cache = (pdl_str){0};
    o.run.budget = NULL;
    ok = ok && pdl_session_new(&o, &r->base, err);
    if (ok)
        *out = r;
    else
        pdl_cli_run_again_close(r);
    return ok;
}

pdl_loop *pdl_cli_run_again_loop(run_again *r) { return pdl_session_loop(r->base); }

void pdl_cli_run_again_serve(run_again *r, pdl_viewer *v) { r->viewer = v; }

bool pdl_cli_run_again_is_running(const run_again *r) { return r->session != NULL; }

/* --- a run ------------------------------------------------------------------------------------ */

static void end_run(run_again *r) {
    if (r->durable.run) pdl_durable_ends(r->durable.run);
    pdl_session_free(r->session);
    r->session = NULL;
    pdl_cli_durable_fini(&r->durable);
    pdl_live_free(r->live);
    r->live = NULL;
    if (r->copy) {
        pdl_err ignored = {0};
        if (!pdl_durable_remove(pdl_str_of(r->copy), &ignored)) pdl_err_fini(&ignored);
    }
    pdl_free(r->copy);
    r->copy = NULL;
    for (size_t i = 0; i < r->texts.n; i++) pdl_free(r->texts.p[i]);
    pdl_vec_fini(&r->texts);
    pdl_vec_fini(&r->edited);
}

static pdl_str keep_text(run_again *r, pdl_str text) {
    *pdl_vec_push(&r->texts) = pdl_str_dup(text);
    return pdl_str_of(r->texts.p[r->texts.n - 1]);
}

static bool make_folder(run_again *r, pdl_err *err) {
    const char *tmp = getenv("TMPDIR");
    pdl_buf b = PDL_BUF;
    if (r->folder) return true;
    pdl_buf_putf(&b, "%s/pdl-view-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    char *path = pdl_buf_take(&b);
    if (mkdtemp(path)) {
        r->folder = path;
        return true;
    }
    pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot create a folder in %s: %s",
                tmp && *tmp ? tmp : "/tmp", strerror(errno));
    pdl_free(path);
    return false;
}

static bool forget(const run_again *r, pdl_str place, pdl_err *err) {
    size_t n = 0;
    if (!pdl_durable_forget_from(pdl_str_of(r->copy), place, &n, err)) return false;
    return n || pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                            "this block sent no request: there is nothing to send again");
}

/* Writes the user's answers into the copy, as if the run had received them. */
static bool change_answers(const run_again *r, const pdl_view_start *s, pdl_err *err) {
    bool ok = true;
    for (size_t i = 0; ok && i < s->n_answers; i++)
        ok = pdl_durable_change_answer(pdl_str_of(r->copy), s->answers[i].place, s->answers[i].text,
                                       err);
    return ok;
}

static bool make_copy(run_again *r, const pdl_view_start *s, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    if (!make_folder(r, err)) return false;
    pdl_buf_putf(&b, "%s/%u.journal", r->folder, r->n);
    r->copy = pdl_buf_take(&b);
    return pdl_durable_export(pdl_str_of(r->journal), pdl_str_of(r->copy), NULL, err) &&
           (!s->fresh || forget(r, s->place, err)) && change_answers(r, s, err);
}

static void redact(void *user, pdl_str text, pdl_buf *out) {
    pdl_session_redact(((run_again *)user)->session, text, out);
}

static bool load(run_again *r, pdl_err *err) {
    const pdl_program *p;
    if (pdl_session_load(r->session, pdl_buf_str(&r->program), &p)) return true;
    pdl_buf why = PDL_BUF;
    pdl_program_errors(p, &why, false);
    pdl_err_set(err, PDL_E_schema, (pdl_loc){0}, "%s", pdl_buf_z(&why));
    pdl_buf_fini(&why);
    return false;
}

static bool open_run(run_again *r, const pdl_view_start *s, pdl_err *err) {
    pdl_session_options o = r->options;
    if (!make_copy(r, s, err)) return false;
    r->given = r->own;
    r->copy_operand = pdl_str_of(r->copy);
    r->given.files.p = &r->copy_operand;
    r->given.given[OPT_take_over] = true; /* no other process uses the copy */
    for (size_t i = 0; i < s->n_files; i++) {
        pdl_durable_edit e = {keep_text(r, s->files[i].before), keep_text(r, s->files[i].after)};
        *pdl_vec_push(&r->edited) = e;
    }
    r->live = pdl_live_new(redact, r);
    o.host.shared = r->base;
    o.reports.trace = o.reports.trace_later = o.reports.labels = true;
    o.models.timeouts = NULL;
    o.models.prices = (pdl_str){0};
    o.models.rates = (pdl_rate_limits){0};
    o.models.wire = NULL;
    pdl_live_listen(r->live, &o.reports.sink);
    if (!pdl_cli_durable_open(&r->durable, &r->given, PDL_DURABLE_CONTINUE, err) ||
        !pdl_session_new(&o, &r->session, err) || !load(r, err))
        return false;
    pdl_session_name_keys(r->session, r->durable.run);
    if (!pdl_durable_inputs(r->durable.run, &r->durable.inputs, err)) return false;
    pdl_durable_options how = {.provisional = true,
                               .reuse_moved = true,
                               .edits = r->edited.p,
                               .n_edits = r->edited.n};
    pdl_session_attach(r->session, r->durable.run, &how, r->durable.inputs);
    return pdl_durable_prepare(r->durable.run, err);
}

/* Reports each start on the terminal, so that the user sees what runs, whoever requested it. */
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
    if (!open_run(r, s, err)) {
        end_run(r);
        return false;
    }
    r->n++;
    report_start(r, s);
    pdl_viewer_begin(r->viewer, r->live, pdl_str_of(r->name), pdl_buf_str(&r->program));
    pdl_session_start(r->session);
    return true;
}

static void stop(void *user) {
    run_again *r = user;
    pdl_err err = {0};
    if (!r->session) return;
    pdl_err_set(&err, PDL_E_interrupt, (pdl_loc){0}, "stopped in the page");
    pdl_session_cancel(r->session, &err);
}

static bool answer(void *user, uint32_t effect, pdl_str text) {
    run_again *r = user;
    /* true when this session reads the input */
    return r->session && pdl_session_answer_input(r->base, effect, text);
}

static bool answer_at(void *user, pdl_str place, pdl_buf *text, bool *json, pdl_err *err) {
    const run_again *r = user;
    pdl_buf whole = PDL_BUF;
    pdl_secrets *secrets = pdl_session_secrets_of(pdl_str_of(r->journal));
    bool ok = pdl_durable_answer_at(pdl_str_of(r->journal), place, &whole, json, err);
    pdl_redact_text(secrets, pdl_buf_str(&whole), text);
    pdl_secrets_free(secrets);
    pdl_buf_fini(&whole);
    return ok;
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
    pdl_buf trace = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_view_program p = {r->file, pdl_buf_str(&r->program), pdl_view_files_open,
                          pdl_live_files(r->live), NULL, true};
    pdl_view_run *run = NULL;
    pdl_err ignored = {0};
    if (!r->session || !pdl_session_trace_so_far(r->session, &trace, &ignored) ||
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
    pdl_buf trace = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_view_program p = {r->file, pdl_buf_str(&r->program), pdl_view_files_open,
                          pdl_live_files(r->live), NULL, false};
    pdl_view_run *run = NULL;
    pdl_err err = {0};
    const pdl_err *why = pdl_run_error(pdl_session_get(r->session));
    if (why->kind) pdl_cli_print_error(why, r->session);
    if (!pdl_session_finish(r->session, &err)) {
        if (!why->kind) pdl_cli_print_error(&err, r->session);
        pdl_err_fini(&err);
    }
    if (!pdl_session_trace(r->session, pdl_fold_put_buf, &trace, &err) ||
        !pdl_view_run_new(pdl_str_of(r->name), pdl_buf_str(&trace), &p, &run, &err)) {
        pdl_cli_print_error(&err, r->session);
        pdl_err_fini(&err);
    }
    pdl_buf_fini(&trace);
    pdl_cli_note("pdl: %s %s", r->name, why->kind ? "failed" : "ended");
    return run;
}

bool pdl_cli_run_again_turn(run_again *r, bool *ready, pdl_view_run **run) {
    *ready = false;
    if (!r->session) return false;
    pdl_step step = pdl_session_turn(r->session);
    bool inner = pdl_session_turn_inner(r->base);
    if (step == PDL_STEP_WAIT) {
        *ready = inner || pdl_session_is_ready(r->session) || pdl_session_inner_is_ready(r->base);
        return false;
    }
    *run = take_result(r);
    return true;
}

void pdl_cli_run_again_over(run_again *r) { end_run(r); }

void pdl_cli_run_again_close(run_again *r) {
    if (!r) return;
    end_run(r);
    pdl_session_free(r->base);
    pdl_cli_durable_fini(&r->shown);
    pdl_cli_shared_options_fini(&r->limits);
    if (r->folder) (void)rmdir(r->folder);
    pdl_buf_fini(&r->program);
    pdl_free(r->folder);
    pdl_free(r->journal);
    pdl_free(r->path);
    pdl_free(r->name);
    pdl_free(r);
}
