/* run_info.c -- summarizes a durable run, answers its questions and copies it, all without running
 * it. These functions open the journal, read or change rows, and close it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/num.h"
#include "journal/durable/durable_impl.h"
#include "journal/run_lock.h"
#include "sqlite/db_files.h"

#include "base/banned.h"

static bool get(pdl_store *s, const char *key, char **out, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    bool ok = pdl_store_get(s, key, &b, err);
    *out = pdl_str_dup(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return ok;
}

static double number(const char *text) {
    double n = 0;
    return pdl_num_read_double(pdl_str_of(text), &n) ? n : 0;
}

static bool on_open(void *user, const store_effect *row) {
    char **place = user;
    pdl_free(*place);
    *place = pdl_str_dup(row->place);
    return true;
}

static pdl_run_state read_state(const char *text, bool locked) {
    for (int i = 0; i <= PDL_RUN_WAITING; i++)
        if (strcmp(text, pdl_run_state_name((pdl_run_state)i)) == 0 && i != PDL_RUN_RUNNING)
            return (pdl_run_state)i;
    return locked ? PDL_RUN_RUNNING : PDL_RUN_KILLED;
}

bool pdl_durable_summary_read(pdl_str path, pdl_durable_summary *out, pdl_err *err) {
    pdl_store *s = NULL;
    char *state = NULL, *started = NULL, *ended = NULL;
    store_sums sums = {0};
    bool held = pdl_lock_is_held(path);
    *out = (pdl_durable_summary){0};
    bool ok = pdl_store_open(path, false, false, &s, err) && get(s, "id", &out->id, err) &&
              get(s, "file", &out->file, err) && get(s, "state", &state, err) &&
              get(s, "started", &started, err) && get(s, "ended", &ended, err) &&
              pdl_store_sums(s, &sums, err) &&
              pdl_store_each(s, STORE_BY_STATE, STORE_OPEN, on_open, &out->place, err);
    if (ok) {
        out->state = read_state(state, held && !pdl_lock_owner_is_gone(s));
        out->started = number(started);
        bool over = out->state != PDL_RUN_RUNNING && out->state != PDL_RUN_WAITING;
        out->ended = over ? number(ended) : 0;
        out->calls = sums.calls;
        out->tokens = sums.tokens;
        out->cost = sums.cost;
        out->effects = sums.effects;
    }
    pdl_free(state);
    pdl_free(started);
    pdl_free(ended);
    pdl_store_close(s, false);
    if (!ok) pdl_durable_summary_fini(out);
    return ok;
}

void pdl_durable_summary_fini(pdl_durable_summary *s) {
    pdl_free(s->id);
    pdl_free(s->file);
    pdl_free(s->place);
    *s = (pdl_durable_summary){0};
}

/* --- answers ---------------------------------------------------------------------------------- */

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

struct asking {
    void (*fn)(void *user, pdl_str place, pdl_str kind, pdl_str text);
    void *user;
};

static bool on_asking(void *user, const store_effect *row) {
    struct asking *x = user;
    pdl_val v = pdl_absent();
    pdl_err ignored = {0};
    bool approval = pdl_str_is(row->kind, "approval");
    if (!approval && !pdl_str_is(row->kind, "input")) return true;
    if (!pdl_effect_decode(row->request, &v, &ignored)) v = pdl_absent();
    pdl_vref text = pdl_is_dict(v) ? pdl_dict_getz(v, approval ? "text" : "prompt") : pdl_absent();
    x->fn(x->user, row->place, row->kind, pdl_is_str(text) ? pdl_str_get(text) : PDL_STR(""));
    pdl_drop(v);
    pdl_err_fini(&ignored);
    return true;
}

bool pdl_durable_each_question(pdl_str path,
                               void (*fn)(void *user, pdl_str place, pdl_str kind, pdl_str text),
                               void *user, pdl_err *err) {
    pdl_store *s = NULL;
    struct asking x = {fn, user};
    bool ok = pdl_store_open(path, false, false, &s, err) &&
              pdl_store_each(s, STORE_BY_STATE, STORE_OPEN, on_asking, &x, err);
    pdl_store_close(s, false);
    return ok;
}

/* Returns the value of a typed answer. For an approval "y" and "yes" are true and everything else
 * is false, as on a terminal. */
static pdl_val value_of(const struct questions *q, pdl_str text) {
    if (!q->is_approval) return pdl_text(text);
    return pdl_bool(pdl_str_is_yes(text));
}

/* Writes an answer into a row. Takes v. */
static bool write_answer(pdl_durable *d, int64_t row, pdl_val v, pdl_err *err) {
    pdl_buf raw = PDL_BUF, json = PDL_BUF;
    bool ok = pdl_effect_encode(v, &raw, err);
    if (ok) pdl_keyring_refer(&d->file.keys, pdl_buf_str(&raw), &json);
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
    char *state = NULL;
    bool ok = get(d->file.store, "state", &state, err);
    bool failed = ok && strcmp(state, pdl_run_state_name(PDL_RUN_FAILED)) == 0;
    if (failed && q->place.n)
        ok = pdl_store_each(d->file.store, STORE_BY_STATE, STORE_DONE, on_answered, q, err);
    if (ok && !q->row) {
        ok = pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "%.*s asks nothing",
                         PDL_FMT(pdl_store_path(d->file.store)));
        if (failed)
            pdl_err_hint(err, "its run failed: --at PLACE gives another answer to what was asked "
                              "there");
    }
    pdl_free(state);
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

/* --- copies ----------------------------------------------------------------------------------- */

static void redact_row(void *user, pdl_str text, pdl_buf *out) {
    pdl_buf named = PDL_BUF;
    pdl_keyring_redact(text, &named);
    pdl_redact_lines(user, pdl_buf_str(&named), out);
    pdl_buf_fini(&named);
}

static bool redact(pdl_str path, const pdl_secrets *secrets, pdl_err *err) {
    pdl_store *s = NULL;
    bool ok = pdl_store_open(path, true, true, &s, err) &&
              pdl_store_put(s, "redacted", PDL_STR("yes"), err) && pdl_store_commit(s, true, err) &&
              pdl_store_rewrite(s, redact_row, (void *)(uintptr_t)secrets, err) &&
              pdl_store_put(s, "salt", PDL_STR(""), err) &&
              pdl_store_put(s, "secrets", PDL_STR(""), err);
    pdl_store_close(s, ok);
    return ok;
}

/* Removes the owner from a copy: the process that owns the original does not own the copy. */
static bool disown(pdl_str path, pdl_err *err) {
    pdl_store *s = NULL;
    bool ok =
        pdl_store_open(path, true, true, &s, err) && pdl_store_put(s, "owner", PDL_STR(""), err);
    pdl_store_close(s, ok);
    return ok;
}

bool pdl_durable_export(pdl_str path, pdl_str to, const pdl_secrets *secrets, pdl_err *err) {
    pdl_store *s = NULL;
    bool held = pdl_lock_is_held(path);
    bool ok = pdl_store_open(path, false, false, &s, err) && pdl_store_copy(s, to, err);
    held = held && ok && !pdl_lock_owner_is_gone(s);
    pdl_store_close(s, false);
    if (ok && !held) ok = disown(to, err);
    if (!ok || !secrets) return ok;
    if (redact(to, secrets, err)) return true;
    char *name = pdl_str_dup(to);
    unlink(name);
    pdl_free(name);
    return false;
}

struct first_inside {
    pdl_str place;
    int64_t first; /* first effect of the block; 0 before it is found */
    size_t n;      /* number of effects from `first` on */
};

static bool find_first(void *user, const store_effect *e) {
    struct first_inside *x = user;
    bool inside = pdl_str_starts(e->place, x->place) &&
                  (e->place.n == x->place.n || !x->place.n || e->place.p[x->place.n] == '.');
    if (inside && !x->first) x->first = e->id;
    x->n += x->first != 0;
    return true;
}

bool pdl_durable_forget_from(pdl_str path, pdl_str place, size_t *n, pdl_err *err) {
    pdl_store *s = NULL;
    struct first_inside x = {.place = place};
    bool ok = pdl_store_open(path, true, true, &s, err) &&
              pdl_store_each(s, STORE_ALL, 0, find_first, &x, err) &&
              (!x.first || pdl_store_drop_from(s, x.first, err));
    pdl_store_close(s, ok);
    if (ok) *n = x.n;
    return ok;
}

static bool is_in_use(pdl_str path) {
    pdl_store *s = NULL;
    pdl_err ignored = {0};
    bool held = pdl_lock_is_held(path);
    if (held && pdl_store_open(path, false, false, &s, &ignored)) held = !pdl_lock_owner_is_gone(s);
    pdl_store_close(s, false);
    pdl_err_fini(&ignored);
    return held;
}

/* Returns true for a file with the name of a journal. The content of the file may be damaged, or
 * empty because the process that made it was killed. */
static bool may_be_journal(pdl_str path) {
    return pdl_str_ends(path, PDL_STR(".journal")) || pdl_store_is_ours(path);
}

bool pdl_durable_remove(pdl_str path, pdl_err *err) {
    size_t n;
    char *name = pdl_str_dup(path);
    /* the error for a missing file is set below */
    bool ok = access(name, F_OK) != 0 || may_be_journal(path);
    pdl_free(name);
    if (!ok)
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                           "%.*s is not a journal: it is not removed", PDL_FMT(path));
    if (is_in_use(path))
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "%.*s runs: end it first",
                           PDL_FMT(path));
    if (!pdl_db_remove(path, &n, err)) return false;
    return n || pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot remove %.*s: %s", PDL_FMT(path),
                            strerror(ENOENT));
}

/* --- lists ------------------------------------------------------------------------------------ */

struct each_row {
    bool (*fn)(void *user, const pdl_durable_row *row);
    void *user;
    pdl_store *store;
};

static pdl_val decoded(pdl_str text) {
    pdl_val v = pdl_absent();
    pdl_err ignored = {0};
    if (!text.n || pdl_effect_decode(text, &v, &ignored)) return v;
    pdl_err_fini(&ignored);
    return pdl_absent();
}

pdl_durable_values pdl_durable_row_values(const pdl_durable_row *row) {
    pdl_buf messages = PDL_BUF;
    pdl_err ignored = {0};
    if (row->store && row->messages &&
        !pdl_store_messages(row->store, row->messages, &messages, &ignored))
        pdl_err_fini(&ignored);
    pdl_durable_values v = {decoded(row->request), decoded(row->reply),
                            decoded(pdl_buf_str(&messages))};
    pdl_buf_fini(&messages);
    return v;
}

static bool on_effect(void *user, const store_effect *e) {
    struct each_row *x = user;
    pdl_durable_row row = {e->place, e->kind,  e->request, e->reply,
                           e->error, e->start, e->end,     e->attempt,
                           x->store, e->messages};
    return x->fn(x->user, &row);
}

bool pdl_durable_each(pdl_str path, bool (*fn)(void *user, const pdl_durable_row *row), void *user,
                      pdl_err *err) {
    pdl_store *s = NULL;
    bool ok = pdl_store_open(path, false, false, &s, err) &&
              pdl_store_each(s, STORE_ALL, 0, on_effect, &(struct each_row){fn, user, s}, err);
    pdl_store_close(s, false);
    return ok;
}
