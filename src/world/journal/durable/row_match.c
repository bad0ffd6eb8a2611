/* row_match.c -- finds the recorded row that answers an effect of a resumed run.
 *
 * A row with the same place and the same request matches. Otherwise a row with the same request
 * matches if it is the only such row inside the same parent block. So a line that is inserted above
 * does not make the effects below it run again. An action is reused only at its own place. When
 * only another place has the same action, the user is asked (moved_actions.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable/durable_impl.h"

#include "base/banned.h"

void pdl_durable_notef(pdl_durable *d, const char *fmt, ...) {
    enum { MAX_NOTES = 1000 };
    if (d->match.found.notes.n >= MAX_NOTES) d->match.found.n_unlisted++;
    if (d->match.found.notes.n >= MAX_NOTES) return;
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    *pdl_vec_push(&d->match.found.notes) = pdl_buf_take(&b);
}

run_override *pdl_durable_override(pdl_durable *d, pdl_str place, bool skip) {
    run_override *all = NULL; /* an override that names the place takes precedence over "all" */
    for (size_t i = 0; i < d->match.overrides.n; i++) {
        run_override *w = &d->match.overrides.p[i];
        if (w->skip != skip) continue;
        if (pdl_str_is(place, w->place)) return w;
        if (strcmp(w->place, "all") == 0) all = w;
    }
    return all;
}

struct row_search {
    pdl_durable *d;
    pending_effect *o;
    const identity *id;
    bool by_parent;
    size_t n; /* number of rows with this request */
    int64_t found;
    match_kind result;
    pdl_err *err;
};

static bool is_used(const pdl_durable *d, int64_t row) {
    return row <= 0 || pdl_idmap_find(&d->match.used, (uintptr_t)row);
}

static bool is_of_kind(const struct row_search *x, const store_effect *row) {
    return row->run == x->d->group.run &&
           pdl_str_is(row->kind, pdl_effect_kind_name(x->o->e->kind)) &&
           pdl_str_is(row->hash, x->id->hash);
}

bool pdl_durable_acts_outside(pdl_effect_kind k) {
    return pdl_effect_has(k, PDL_EFFECT_ACTS) && k != PDL_EFFECT_input;
}

/* Returns true for a request for the list of a server's tools. */
static bool only_lists(const pdl_effect *e) {
    return e->kind == PDL_EFFECT_tool && pdl_text_is(pdl_dict_getz(e->request, "op"), "list");
}

bool pdl_durable_may_repeat(const pdl_durable *d, const pdl_effect *e) {
    return e->repeatable || only_lists(e) || pdl_world_may_repeat(d->world.next, e);
}

/* Decides about an action that began and was not finished, by what the user said before the run. */
static match_kind unfinished(struct row_search *x, const store_effect *row) {
    pdl_durable *d = x->d;
    pending_effect *o = x->o;
    /* Files were truncated to their acknowledged part, so an unfinished write may continue after
     * this part. */
    bool acts = pdl_durable_acts_outside(o->e->kind) && o->e->kind != PDL_EFFECT_write &&
                row->state != STORE_REFUSED;
    run_override *skip = acts ? pdl_durable_override(d, row->place, true) : NULL;
    if (skip) {
        o->value = pdl_keep(skip->result);
        o->has_reply = true;
        o->row = row->id;
        /* the user gave the reply with --skip, and the reply completes the row */
        return MATCH_AGAIN;
    }
    if (acts && !row->again && !pdl_durable_may_repeat(d, o->e) &&
        !pdl_durable_override(d, row->place, false)) {
        pdl_err_set(&o->err, PDL_E_runtime, o->e->loc,
                    "the %s at %.*s began, and it is not known whether it was done",
                    pdl_effect_kind_name(o->e->kind), PDL_FMT(row->place));
        pdl_err_hint(&o->err, "--again %.*s does it again, --skip %.*s=JSON gives its result",
                     PDL_FMT(row->place), PDL_FMT(row->place));
        o->err.uncatchable = true;
        return MATCH_FAILED;
    }
    o->row = row->id;
    o->attempt = row->attempt;
    o->begin_clock = row->begin_clock;
    o->begin_wall = row->start;
    return MATCH_AGAIN;
}

static void take(struct row_search *x, const store_effect *row) {
    pdl_durable *d = x->d;
    pdl_idmap_put(&d->match.used, (uintptr_t)row->id, d);
    run_override *again = row->error.p ? pdl_durable_override(d, row->place, false) : NULL;
    bool named = again && strcmp(again->place, "all") != 0;
    if (row->state != STORE_DONE || named || !(row->reply.p || row->error.p)) {
        x->result = unfinished(x, row);
        return;
    }
    x->o->row = row->id;
    x->o->seconds = row->end > row->start ? row->end - row->start : 0;
    x->result = MATCH_ANSWERED;
    if (!pdl_durable_read_answer(d, row, x->o->e, x->o, x->err)) x->result = MATCH_FAILED;
    if (row->end > d->progress.clock.seen) d->progress.clock.seen = row->end;
    double ahead = row->end_clock - pdl_durable_clock(d);
    if (ahead > 0 && ahead < 1e9) d->progress.clock.earlier_ns += (uint64_t)(ahead * 1e9);
}

static bool on_row(void *user, const store_effect *row) {
    struct row_search *x = user;
    if (is_used(x->d, row->id) || !is_of_kind(x, row) || row->seq != x->o->e->seq ||
        !pdl_str_eq(row->place, pdl_buf_str(&x->id->place)))
        return true;
    take(x, row);
    return false;
}

static bool on_parent(void *user, const store_effect *row) {
    struct row_search *x = user;
    if (!is_of_kind(x, row)) return true;
    x->n++;
    if (row->state == STORE_DONE && !is_used(x->d, row->id)) x->found = row->id;
    return x->n < 2;
}

static bool on_found(void *user, const store_effect *row) {
    struct row_search *x = user;
    take(x, row);
    if (x->result == MATCH_ANSWERED) {
        x->d->match.found.n_moved++;
        pdl_durable_notef(x->d, "%.*s: the answer recorded at %.*s",
                          PDL_FMT(pdl_buf_str(&x->id->place)), PDL_FMT(row->place));
    }
    return false;
}

static bool look(struct row_search *x) {
    pdl_durable *d = x->d;
    if (!pdl_store_each(d->file.store, STORE_BY_KEY, x->id->key, on_row, x, x->err)) return false;
    bool acts = pdl_durable_acts_outside(x->o->e->kind) && pdl_effect_acts(x->o->e);
    if (x->result != MATCH_NONE || acts) return true;
    if (!pdl_store_each(d->file.store, STORE_BY_PARENT, x->id->parent_key, on_parent, x, x->err))
        return false;
    return x->n != 1 || !x->found ||
           pdl_store_each(d->file.store, STORE_BY_ID, x->found, on_found, x, x->err);
}

match_kind pdl_durable_match(pdl_durable *d, pending_effect *o, const identity *id) {
    pdl_err err = {0};
    struct row_search x = {.d = d, .o = o, .id = id, .err = &err};
    bool ok = look(&x);
    if (ok && !err.kind) return x.result;
    pdl_drop(o->value);
    pdl_drop(o->pieces);
    pdl_err_fini(&o->err);
    o->value = o->pieces = pdl_absent();
    if (err.kind == PDL_E_config || !ok)
        pdl_err_move(&o->err, &err);
    else
        pdl_err_set(&o->err, PDL_E_replay, (pdl_loc){0}, "%.*s is damaged: %s",
                    PDL_FMT(pdl_store_path(d->file.store)), err.msg);
    pdl_err_fini(&err);
    o->err.uncatchable = true;
    pdl_durable_give_up(d, &o->err);
    return MATCH_FAILED;
}

/* --- rows that were not reused ------------------------ */

static bool on_place(void *user, const store_effect *row) {
    pdl_durable *d = user;
    if (row->run == d->group.run && row->state == STORE_DONE)
        pdl_idmap_put(&d->match.places,
                      (uintptr_t)pdl_durable_place_key(d, row->place, row->seq, row->kind),
                      (void *)(uintptr_t)row->id);
    return true;
}

/* Notes that a request replaced a recorded one. The rows are read once, and only when the program
 * or its inputs have changed. An unchanged run makes no request that differs from a recorded one at
 * the same place. */
void pdl_durable_note_replaced(pdl_durable *d, const pending_effect *o, const identity *id) {
    pdl_err ignored = {0};
    if (!d->match.is_other) return;
    if (!d->match.knows_places &&
        !pdl_store_each(d->file.store, STORE_ALL, d->group.first_row, on_place, d, &ignored))
        pdl_err_fini(&ignored);
    d->match.knows_places = true;
    pdl_str place = pdl_buf_str(&id->place);
    int64_t key =
        pdl_durable_place_key(d, place, o->e->seq, pdl_str_of(pdl_effect_kind_name(o->e->kind)));
    void *row = pdl_idmap_find(&d->match.places, (uintptr_t)key);
    if (!row || is_used(d, (int64_t)(uintptr_t)row)) return;
    d->match.found.n_replaced++;
    pdl_idmap_put(&d->match.found.noted, (uintptr_t)row, d);
    pdl_durable_notef(d, "%.*s: something else was recorded there", PDL_FMT(place));
}

void pdl_durable_match_end(durable_match *m) {
    pdl_idmap_fini(&m->used);
    pdl_idmap_fini(&m->places);
    pdl_durable_actions_free(m->actions);
    for (size_t i = 0; i < KNOWN_LISTS; i++) {
        pdl_drop(m->lists[i].list);
        pdl_vec_fini(&m->lists[i].nodes);
    }
    for (size_t i = 0; i < m->overrides.n; i++) {
        pdl_free(m->overrides.p[i].place);
        pdl_drop(m->overrides.p[i].result);
    }
    pdl_vec_fini(&m->overrides);
    for (size_t i = 0; i < m->open_files.n; i++) pdl_free(m->open_files.p[i]);
    pdl_vec_fini(&m->open_files);
    for (size_t i = 0; i < m->found.notes.n; i++) pdl_free(m->found.notes.p[i]);
    pdl_vec_fini(&m->found.notes);
    pdl_idmap_fini(&m->found.noted);
}

bool pdl_durable_match_ok(const durable_match *m) {
    return m->last_row >= 0 && (m->is_other || !m->knows_places);
}
