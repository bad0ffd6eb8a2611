/* rerun.c -- makes copies of a journal, which changed programs then continue; see rerun.h. The run
 * that is shown must stay as it was, so each start gets a fresh copy in a private folder. In the
 * copy, answers of the user replace the recorded answers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/rerun.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"

#include "base/banned.h"

struct pdl_rerun {
    const pdl_session_options *options;
    char *journal; /* the journal of the run; it is only read; owned */
    char *folder;  /* folder of the copies; NULL before the first copy */
    pdl_session *base;
    unsigned n; /* number of runs that were made so far */
    /* --- the run in progress; session is NULL without one --- */
    pdl_session *session;
    pdl_durable *durable;
    pdl_val inputs;
    char *copy;
    PDL_VEC(pdl_durable_edit) edited;
    PDL_VEC(char *) texts; /* the texts in `edited`; owned */
};

bool pdl_rerun_open(const pdl_session_options *o, pdl_str journal, pdl_rerun **out, pdl_err *err) {
    pdl_rerun *r = PDL_NEW(pdl_rerun);
    pdl_session_options base = *o;
    r->options = o;
    r->journal = pdl_str_dup(journal);
    r->inputs = pdl_absent();
    base.files.cache = (pdl_str){0};
    base.run.budget = NULL;
    if (!pdl_session_new(&base, &r->base, err)) {
        pdl_rerun_close(r);
        return false;
    }
    *out = r;
    return true;
}

struct pdl_loop *pdl_rerun_loop(pdl_rerun *r) {
    return pdl_session_loop(r->base);
}

pdl_session *pdl_rerun_session(const pdl_rerun *r) { return r->session; }

/* --- a run ------------------------------------------------------------------------------------ */

void pdl_rerun_end(pdl_rerun *r) {
    if (r->durable) pdl_durable_ends(r->durable);
    pdl_session_free(r->session);
    r->session = NULL;
    pdl_durable_close(r->durable);
    r->durable = NULL;
    pdl_drop(r->inputs);
    r->inputs = pdl_absent();
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

static pdl_str keep_text(pdl_rerun *r, pdl_str text) {
    *pdl_vec_push(&r->texts) = pdl_str_dup(text);
    return pdl_str_of(r->texts.p[r->texts.n - 1]);
}

static bool make_folder(pdl_rerun *r, pdl_err *err) {
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

static bool forget(const pdl_rerun *r, pdl_str place, pdl_err *err) {
    size_t n = 0;
    if (!pdl_durable_forget_from(pdl_str_of(r->copy), place, &n, err)) return false;
    return n || pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                            "this block sent no request: there is nothing to send again");
}

/* Writes the user's answers into the copy, as if the run had got them. */
static bool change_answers(const pdl_rerun *r, const pdl_rerun_changes *c, pdl_err *err) {
    bool ok = true;
    for (size_t i = 0; ok && i < c->n_answers; i++)
        ok = pdl_durable_change_answer(pdl_str_of(r->copy), c->answers[i].place, c->answers[i].text,
                                       err);
    return ok;
}

static bool make_copy(pdl_rerun *r, const pdl_rerun_changes *c, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    if (!make_folder(r, err)) return false;
    pdl_buf_putf(&b, "%s/%u.journal", r->folder, r->n);
    r->copy = pdl_buf_take(&b);
    return pdl_durable_export(pdl_str_of(r->journal), pdl_str_of(r->copy), NULL, err) &&
           (!c->fresh || forget(r, c->place, err)) && change_answers(r, c, err);
}

static bool load(pdl_rerun *r, pdl_str text, pdl_err *err) {
    const pdl_program *p;
    if (pdl_session_load(r->session, text, &p)) return true;
    pdl_buf why = PDL_BUF;
    pdl_program_errors(p, &why, false);
    pdl_err_set(err, PDL_E_schema, (pdl_loc){0}, "%s", pdl_buf_z(&why));
    pdl_buf_fini(&why);
    return false;
}

static bool open_session(pdl_rerun *r, const pdl_rerun_changes *c, pdl_err *err) {
    pdl_session_options o = *r->options;
    o.host.shared = r->base;
    o.reports.trace = o.reports.trace_later = o.reports.labels = true;
    o.reports.sink = c->sink;
    o.models.timeouts = NULL;
    o.models.prices = (pdl_str){0};
    o.models.rates = (pdl_rate_limits){0};
    o.models.wire = NULL;
    return pdl_session_new(&o, &r->session, err) && load(r, c->text, err);
}

/* Opens the copy for the session. No other process uses the copy, so the session takes it over. */
static bool open_run(pdl_rerun *r, const pdl_rerun_changes *c, pdl_err *err) {
    for (size_t i = 0; i < c->n_files; i++) {
        pdl_durable_edit e = {keep_text(r, c->files[i].before), keep_text(r, c->files[i].after)};
        *pdl_vec_push(&r->edited) = e;
    }
    if (!make_copy(r, c, err) ||
        !pdl_durable_open(pdl_str_of(r->copy), PDL_DURABLE_CONTINUE, false, true, &r->durable,
                          err) ||
        !open_session(r, c, err))
        return false;
    pdl_durable_options how = {
        .provisional = true, .reuse_moved = true, .edits = r->edited.p, .n_edits = r->edited.n};
    return pdl_session_resume_durable(r->session, r->durable, &how, pdl_absent(), &r->inputs, err);
}

bool pdl_rerun_open_run(pdl_rerun *r, const pdl_rerun_changes *c, pdl_err *err) {
    if (!open_run(r, c, err)) {
        pdl_rerun_end(r);
        return false;
    }
    r->n++;
    return true;
}

void pdl_rerun_cancel(pdl_rerun *r, const char *why) {
    pdl_err err = {0};
    if (!r->session) return;
    pdl_err_set(&err, PDL_E_interrupt, (pdl_loc){0}, "%s", why);
    pdl_session_cancel(r->session, &err);
}

bool pdl_rerun_answer_input(pdl_rerun *r, uint32_t effect, pdl_str text) {
    return r->session && pdl_session_answer_input(r->base, effect, text);
}

bool pdl_rerun_answer_at(const pdl_rerun *r, pdl_str place, pdl_buf *text, bool *json,
                         pdl_err *err) {
    pdl_buf whole = PDL_BUF;
    pdl_secrets *secrets = pdl_session_secrets_of(pdl_str_of(r->journal));
    bool ok = pdl_durable_answer_at(pdl_str_of(r->journal), place, &whole, json, err);
    pdl_redact_text(secrets, pdl_buf_str(&whole), text);
    pdl_secrets_free(secrets);
    pdl_buf_fini(&whole);
    return ok;
}

bool pdl_rerun_turn(pdl_rerun *r, bool *ready) {
    *ready = false;
    if (!r->session) return false;
    pdl_step step = pdl_session_turn(r->session);
    bool inner = pdl_session_turn_inner(r->base);
    if (step != PDL_STEP_WAIT) return true;
    *ready = inner || pdl_session_is_ready(r->session) || pdl_session_inner_is_ready(r->base);
    return false;
}

void pdl_rerun_close(pdl_rerun *r) {
    if (!r) return;
    pdl_rerun_end(r);
    pdl_session_free(r->base);
    if (r->folder) (void)rmdir(r->folder);
    pdl_free(r->folder);
    pdl_free(r->journal);
    pdl_free(r);
}
