/* run_answer.c -- answers a question of a durable run, without running it. The journal is opened,
 * the row of the question gets its reply, and the journal is closed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable/durable_impl.h"

#include "base/banned.h"

struct questions {
    pdl_str place;
    size_t n, n_here;
    int64_t row;
    bool is_approval;
    pdl_buf *places;
};

static bool on_question(void *user, const store_effect *row) {
    struct questions *q = user;
    if (!pdl_str_is(row->kind, "input") && !pdl_str_is(row->kind, "approval")) return true;
    q->n++;
    pdl_buf_putf(q->places, "%s%.*s", q->places->len ? ", " : "", PDL_FMT(row->place));
    if (q->place.n && !pdl_str_eq(q->place, row->place)) return true;
    q->n_here++;
    if (!q->row) q->is_approval = pdl_str_is(row->kind, "approval");
    if (!q->row) q->row = row->id;
    return true;
}

/* Returns the value of a typed answer. For an approval, "y" and "yes" are true and everything else
 * is false, as on a terminal. */
static pdl_val value_of(const struct questions *q, pdl_str text) {
    if (!q->is_approval) return pdl_text(text);
    return pdl_bool(pdl_str_is_yes(text));
}

/* Writes an answer into a row. Takes v. */
static bool write_answer(pdl_durable *d, int64_t row, pdl_val v, pdl_err *err) {
    pdl_buf raw = PDL_BUF, json = PDL_BUF;
    bool ok = pdl_effect_encode(v, &raw, err);
    if (ok) pdl_secret_refs_refer(&d->file.keys, pdl_buf_str(&raw), &json);
    double now = pdl_journal_wall();
    store_effect e = {.id = row, .end = now, .state = STORE_DONE, .reply = pdl_buf_str(&json)};
    ok = ok && pdl_store_end(d->file.store, &e, err) &&
         pdl_store_decide(d->file.store, now, PDL_STR(""), PDL_STR("a question was answered"),
                          err) &&
         pdl_store_commit(d->file.store, true, err);
    pdl_drop(v);
    pdl_buf_fini(&raw);
    pdl_buf_fini(&json);
    return ok;
}

/* Remembers the last question at this place that has an answer. */
static bool on_answered(void *user, const store_effect *row) {
    struct questions *q = user;
    if (pdl_str_is(row->kind, "input") && pdl_str_eq(q->place, row->place)) q->row = row->id;
    return true;
}

/* Finds the answered question at q->place in a run that failed. Its answer may be the cause of the
 * failure; the user can change it, so that a mistyped answer does not cost all earlier work. */
static bool find_answered(pdl_durable *d, struct questions *q, pdl_err *err) {
    pdl_buf state = PDL_BUF;
    bool ok = pdl_store_get(d->file.store, "state", &state, err);
    bool failed = ok && pdl_str_is(pdl_buf_str(&state), pdl_run_state_name(PDL_RUN_FAILED));
    if (failed && q->place.n)
        ok = pdl_store_each(d->file.store, STORE_BY_STATE, STORE_DONE, on_answered, q, err);
    if (ok && !q->row) {
        ok = pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "%.*s asks nothing",
                         PDL_FMT(pdl_store_path(d->file.store)));
        if (failed)
            pdl_err_hint(err, "its run failed: --at PLACE gives another answer to what was asked "
                              "there");
    }
    pdl_buf_fini(&state);
    return ok;
}

bool pdl_durable_answer(pdl_str path, pdl_str place, pdl_str text, pdl_err *err) {
    pdl_durable *d = NULL;
    pdl_buf places = PDL_BUF;
    struct questions q = {.place = place, .places = &places};
    bool ok = pdl_durable_open(path, PDL_DURABLE_CONTINUE, true, false, &d, err) &&
              pdl_store_each(d->file.store, STORE_BY_STATE, STORE_OPEN, on_question, &q, err);
    if (ok && !q.n)
        ok = find_answered(d, &q, err);
    else if (ok && !q.n_here)
        ok = pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "nothing is asked at %.*s, but at %s",
                         PDL_FMT(place), pdl_buf_z(&places));
    else if (ok && q.n_here > 1 && !place.n)
        ok = pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                         "several questions are open: --at PLACE names one of %s",
                         pdl_buf_z(&places));
    ok = ok && write_answer(d, q.row, value_of(&q, text), err);
    if (d) d->file.is_whole = ok;
    pdl_durable_close(d);
    pdl_buf_fini(&places);
    return ok;
}
