/* run_info.c -- summarizes a durable run and lists its questions and effects, without running it.
 * These functions open the journal, read rows, and close it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/num.h"
#include "journal/durable/durable_impl.h"
#include "journal/run_lock.h"

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
    bool ok = pdl_durable_check_begun(path, err) && pdl_store_open(path, false, false, &s, err) &&
              get(s, "id", &out->id, err) && get(s, "file", &out->file, err) &&
              get(s, "state", &state, err) && get(s, "started", &started, err) &&
              get(s, "ended", &ended, err) && pdl_store_sums(s, &sums, err) &&
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
    bool ok = pdl_durable_check_begun(path, err) && pdl_store_open(path, false, false, &s, err) &&
              pdl_store_each(s, STORE_BY_STATE, STORE_OPEN, on_asking, &x, err);
    pdl_store_close(s, false);
    return ok;
}

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
    pdl_durable_row row = {e->place, e->kind, e->request, e->reply, e->error,
                           e->start, e->end,  e->attempt, x->store, e->messages};
    return x->fn(x->user, &row);
}

bool pdl_durable_each(pdl_str path, bool (*fn)(void *user, const pdl_durable_row *row), void *user,
                      pdl_err *err) {
    pdl_store *s = NULL;
    bool ok = pdl_durable_check_begun(path, err) && pdl_store_open(path, false, false, &s, err) &&
              pdl_store_each(s, STORE_ALL, 0, on_effect, &(struct each_row){fn, user, s}, err);
    pdl_store_close(s, false);
    return ok;
}
