/* moved_actions.c -- finds actions that were recorded at another place of the program.
 *
 * An action without a row at its place may have been executed already, at the place that it had in
 * an earlier version of the program. A second execution without the user's knowledge would be
 * wrong. So the recorded actions that no effect has used are searched first. When one has the same
 * request, the run stops unless the user has said what to do. The new action waits until all
 * recorded answers are delivered, because the recorded action may still be requested by another
 * branch of the program.
 *
 * At the end all rows that no effect has used are noted. With --changed fail such rows are searched
 * before anything is executed, and stop the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable/durable_impl.h"

#include "base/banned.h"

/* --- recorded actions by their request -------------------------------------------------------- */

/* An action of the journal. Actions with the same request form a chain, in their order. The numbers
 * are positions in `rows`, from 1. */
typedef struct recorded_action {
    int64_t row, key;
    size_t next; /* 0 at the end of the chain */
} recorded_action;

struct recorded_actions {
    PDL_VEC(recorded_action) rows;
    pdl_idmap first;
};

struct recorded_search {
    const pdl_durable *d;
    recorded_actions *all;
};

static bool is_used(const pdl_durable *d, int64_t row) {
    return pdl_idmap_find(&d->match.used, (uintptr_t)row) != NULL;
}

static bool on_action(void *user, const store_effect *row) {
    struct recorded_search *x = user;
    pdl_effect_kind kind;
    if (row->id > x->d->match.last_row) return false; /* this process wrote the row */
    if (row->run == x->d->group.run && pdl_effect_kind_find(row->kind, &kind) &&
        pdl_durable_acts_outside(kind))
        *pdl_vec_push(&x->all->rows) =
            (recorded_action){.row = row->id, .key = pdl_durable_request_key(row->kind, row->hash)};
    return true;
}

static bool read_actions(pdl_durable *d, pdl_err *err) {
    if (d->match.actions) return true;
    recorded_actions *all = d->match.actions = PDL_NEW(recorded_actions);
    struct recorded_search x = {d, all};
    if (!pdl_store_each(d->file.store, STORE_BRIEF, d->group.first_row, on_action, &x, err))
        return false;
    for (size_t i = all->rows.n; i > 0; i--) {
        recorded_action *a = &all->rows.p[i - 1];
        a->next = (size_t)(uintptr_t)pdl_idmap_find(&all->first, (uintptr_t)a->key);
        pdl_idmap_put(&all->first, (uintptr_t)a->key, (void *)(uintptr_t)i);
    }
    return true;
}

void pdl_durable_actions_free(recorded_actions *all) {
    if (!all) return;
    pdl_vec_fini(&all->rows);
    pdl_idmap_fini(&all->first);
    pdl_free(all);
}

/* Finds the first row with this request that no effect has used; 0 when there is none. Rows at the
 * beginning of the chain that were used meanwhile are removed from it. */
static bool find_action(pdl_durable *d, const pending_effect *o, const identity *id, int64_t *row,
                        pdl_err *err) {
    *row = 0;
    if (d->file.is_new || !pdl_durable_acts_outside(o->e->kind)) return true;
    if (!read_actions(d, err)) return false;
    pdl_str kind = pdl_str_of(pdl_effect_kind_name(o->e->kind));
    int64_t key = pdl_durable_request_key(kind, pdl_str_of(id->hash));
    recorded_actions *all = d->match.actions;
    size_t first = (size_t)(uintptr_t)pdl_idmap_find(&all->first, (uintptr_t)key), i = first;
    while (i && is_used(d, all->rows.p[i - 1].row)) i = all->rows.p[i - 1].next;
    if (i != first && i) pdl_idmap_put(&all->first, (uintptr_t)key, (void *)(uintptr_t)i);
    if (first && !i) pdl_idmap_del(&all->first, (uintptr_t)key);
    if (i) *row = all->rows.p[i - 1].row;
    return true;
}

/* --- an action that may have been executed ---------------------------------------------------- */

typedef struct found_action {
    int64_t row, attempt;
    store_state state;
    pdl_buf place;
    bool again;
} found_action;

static bool on_found(void *user, const store_effect *row) {
    found_action *f = user;
    f->row = row->id;
    f->attempt = row->attempt;
    f->state = row->state;
    f->again = row->again;
    pdl_buf_clear(&f->place);
    pdl_buf_put(&f->place, row->place);
    return false;
}

/* Finds the same action in the journal, if it was executed. Code that the worker refused before any
 * of it ran was not executed. */
static bool find_done(pdl_durable *d, const pending_effect *o, const identity *id,
                      found_action *out, pdl_err *err) {
    int64_t row;
    *out = (found_action){.place = PDL_BUF};
    if (o->row || pdl_durable_may_repeat(d, o->e) || pdl_durable_closes(o->e)) return true;
    for (;;) {
        if (!find_action(d, o, id, &row, err)) return false;
        if (!row) return true;
        if (!pdl_store_each(d->file.store, STORE_BY_ID, row, on_found, out, err)) return false;
        if (out->row && out->state != STORE_REFUSED && !out->again) return true;
        pdl_idmap_put(&d->match.used, (uintptr_t)row, d);
        out->row = 0;
    }
}

/* Returns what the user decided about the place where the action would be executed now, or else
 * about the place where it was executed. */
static run_override *way_of(pdl_durable *d, const found_action *f, pdl_str here, bool skip) {
    run_override *w = pdl_durable_override(d, here, skip);
    if (w && strcmp(w->place, "all") != 0) return w;
    return pdl_durable_override(d, pdl_buf_str(&f->place), skip);
}

static void stop(pending_effect *o, found_action *f, pdl_str here) {
    const char *kind = pdl_effect_kind_name(o->e->kind), *was = pdl_buf_z(&f->place);
    if (f->state == STORE_DONE)
        pdl_err_set(&o->err, PDL_E_runtime, o->e->loc,
                    "the %s at %.*s was done before, at %s, which is another place of the program",
                    kind, PDL_FMT(here), was);
    else
        pdl_err_set(&o->err, PDL_E_runtime, o->e->loc,
                    "the %s at %.*s began before, at %s, and it is not known whether it was done",
                    kind, PDL_FMT(here), was);
    pdl_err_hint(&o->err, "--again %s does it again, --skip %s=JSON gives its result", was, was);
    o->err.uncatchable = true;
}

/* Moves the row to the place of the effect. */
static bool move_row(pdl_durable *d, pending_effect *o, const identity *id, const found_action *f,
                     pdl_err *err) {
    store_effect row = {.id = f->row,
                        .key = id->key,
                        .parent_key = id->parent_key,
                        .place = pdl_buf_str(&id->place),
                        .seq = o->e->seq,
                        .attempt = f->attempt,
                        .state = STORE_OPEN};
    pdl_idmap_put(&d->match.used, (uintptr_t)f->row, d);
    o->row = f->row;
    o->attempt = f->attempt;
    if (d->setup.use == PDL_DURABLE_CHECK) return true;
    return pdl_store_move(d->file.store, &row, err) && pdl_store_end(d->file.store, &row, err);
}

struct reading_moved {
    pdl_durable *d;
    pending_effect *o;
    pdl_err *err;
    bool ok;
};

static bool on_recorded(void *user, const store_effect *row) {
    struct reading_moved *r = user;
    r->ok = pdl_durable_read_answer(r->d, row, r->o->e, r->o, r->err);
    return false;
}

static bool reuse_row(pdl_durable *d, pending_effect *o, const identity *id, const found_action *f,
                      pdl_err *err) {
    struct reading_moved r = {d, o, err, false};
    return pdl_store_each(d->file.store, STORE_BY_ID, f->row, on_recorded, &r, err) && r.ok &&
           move_row(d, o, id, f, err);
}

done_kind pdl_durable_done_elsewhere(pdl_durable *d, pending_effect *o, const identity *id) {
    pdl_err err = {0};
    found_action f;
    pdl_str here = pdl_buf_str(&id->place);
    done_kind result = DONE_NOWHERE;
    bool ok = find_done(d, o, id, &f, &err);
    run_override *skip = ok && f.row ? way_of(d, &f, here, true) : NULL;
    run_override *again = ok && f.row ? way_of(d, &f, here, false) : NULL;
    if (ok && f.row && f.state == STORE_DONE && d->setup.opt.reuse_moved) {
        ok = reuse_row(d, o, id, &f, &err);
        result = DONE_SKIPPED;
    } else if (skip) {
        pdl_str kind = pdl_str_of(pdl_effect_kind_name(o->e->kind));
        ok = pdl_durable_use_skip(skip, kind, &err) && move_row(d, o, id, &f, &err);
        o->value = pdl_keep(skip->result);
        o->has_reply = true;
        result = DONE_SKIPPED;
    } else if (again) {
        again->used = true;
        ok = move_row(d, o, id, &f, &err);
    } else if (ok && f.row) {
        stop(o, &f, here);
        result = DONE_STOPS;
    }
    if (!ok) {
        pdl_durable_note_problem(d, &err);
        pdl_err_copy(&o->err, &d->file.problem);
        result = DONE_STOPS;
    }
    pdl_buf_fini(&f.place);
    return result;
}

bool pdl_durable_may_be_done(pdl_durable *d, pending_effect *o, const identity *id) {
    pdl_err err = {0};
    found_action f;
    if (!find_done(d, o, id, &f, &err)) pdl_durable_note_problem(d, &err);
    if (f.row && d->setup.use == PDL_DURABLE_CHECK)
        pdl_durable_notef(d, "%.*s: the same %s was recorded at %s",
                          PDL_FMT(pdl_buf_str(&id->place)), pdl_effect_kind_name(o->e->kind),
                          pdl_buf_z(&f.place));
    pdl_buf_fini(&f.place);
    return f.row != 0;
}

/* --- rows that were not reused ---------------------------------------------------------------- */

/* Returns true for the closing of a file. A closing is not reported as unused, because it depends
 * on where the run ended or parked. */
static bool is_closing(const store_effect *row) {
    return pdl_str_is(row->kind, "write") &&
           pdl_str_find(row->request, PDL_STR("\"close\":true"), 0) != PDL_NOT_FOUND;
}

static bool on_left(void *user, const store_effect *row) {
    pdl_durable *d = user;
    if (row->id > d->match.last_row) return false;
    if (row->run != d->group.run || row->state != STORE_DONE || is_used(d, row->id) ||
        is_closing(row) || pdl_idmap_find(&d->match.found.noted, (uintptr_t)row->id))
        return true;
    d->match.found.n_left++;
    pdl_idmap_put(&d->match.found.noted, (uintptr_t)row->id, d);
    pdl_durable_notef(d, "%.*s: what was recorded there (%.*s) was not reused", PDL_FMT(row->place),
                      PDL_FMT(row->kind));
    return true;
}

void pdl_durable_note_left(pdl_durable *d) {
    pdl_err ignored = {0};
    bool differs = d->match.is_other || d->match.found.n_moved || d->match.found.n_replaced;
    if (d->file.is_new || !differs) return;
    if (!pdl_store_each(d->file.store, STORE_ALL, d->group.first_row, on_left, d, &ignored))
        pdl_err_fini(&ignored);
}
