/* forecast.c -- the verdict about a run that was checked with the present program; see forecast.h.
 *
 * A checked run gets every answer that its journal has, and stops where it needs an answer that the
 * journal lacks. Requests that have no recorded answer are listed here. At the end it is decided
 * which of these requests lie before the point that the recorded run had reached. There are three
 * signs that a request lies before that point: another answer was recorded at its place, its answer
 * was recorded at another place, or a later request of the program was recorded. The recorded run
 * would have made the other requests anyway, since it had not reached them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/forecast.h"

#include "base/num.h"
#include "journal/durable/durable_impl.h"

#include "base/banned.h"

enum { MAX_LISTED = 1000 };

const char *pdl_verdict_name(pdl_verdict v) {
    static const char *const names[] = {"continues", "asks again", "stops"};
    return names[v];
}

bool pdl_forecast_counts(pdl_effect_kind k) {
    return (pdl_effect_has(k, PDL_EFFECT_WAITS) || pdl_effect_has(k, PDL_EFFECT_ACTS)) &&
           k != PDL_EFFECT_write && k != PDL_EFFECT_sleep;
}

/* --- the order of requests -------------------------------------------------------------------- */

/* The iterations of a map run in parallel, so the order of requests has a meaning only within one
 * iteration. Each iteration is a branch, named by the hash of its place; the program itself is the
 * branch "". */
static uintptr_t branch_key(pdl_str place) { return (uintptr_t)pdl_hash_str(place) | 1; }

/* Finds the next "map.NUMBER" after the first `from` bytes of the place. Returns the length of the
 * place up to the end of this part: that beginning is the place of a branch. Returns 0 when there
 * is no such part. */
static size_t next_branch(pdl_str place, size_t from) {
    static const char word[] = "map.";
    for (;;) {
        size_t at = pdl_str_find(place, pdl_str_of(word), from);
        if (at == PDL_NOT_FOUND) return 0;
        size_t n = at + sizeof word - 1, first = n;
        while (n < place.n && place.p[n] >= '0' && place.p[n] <= '9') n++;
        bool begins = !at || place.p[at - 1] == '.', ends = n == place.n || place.p[n] == '.';
        if (begins && ends && n > first) return n;
        from = first;
    }
}

static uint64_t seen_at(const pdl_idmap *m, uintptr_t branch) {
    return (uint64_t)(uintptr_t)pdl_idmap_find(m, branch);
}

static void see(pdl_idmap *m, uintptr_t branch, uint64_t at) {
    pdl_idmap_put(m, branch, (void *)(uintptr_t)at);
}

void pdl_durable_forecast_recorded(pdl_durable *d, const pending_effect *o, bool waits) {
    durable_forecast *f = &d->forecast;
    pdl_buf text = PDL_BUF;
    if (d->setup.use != PDL_DURABLE_CHECK) return;
    f->n_requests++;
    pdl_path_text(o->e->place, &text);
    pdl_str place = pdl_buf_str(&text);
    size_t at = 0;
    for (size_t next; (next = next_branch(place, at)); at = next)
        see(&f->below, branch_key(pdl_str_sub(place, 0, at)), f->n_requests);
    see(&f->within, branch_key(pdl_str_sub(place, 0, at)), f->n_requests);
    if (waits && pdl_forecast_counts(o->e->kind) && !f->waits_at) {
        f->waits_at = pdl_buf_take(&text);
        f->waits_loc = o->e->loc;
    }
    pdl_buf_fini(&text);
}

/* Returns true when a recorded request was made after r in the same branch, in an outer branch or
 * in an inner branch. */
static bool was_passed(const durable_forecast *f, const unanswered_request *r) {
    pdl_str place = pdl_str_of(r->place);
    size_t at = 0;
    for (size_t next;; at = next) {
        uintptr_t branch = branch_key(pdl_str_sub(place, 0, at));
        if (seen_at(&f->within, branch) > r->at) return true;
        next = next_branch(place, at);
        if (!next) return seen_at(&f->below, branch) > r->at;
    }
}

/* --- what the check meets --------------------------------------------------------------------- */

static void note_open(pdl_durable *d, pending_effect *o, const identity *id) {
    durable_forecast *f = &d->forecast;
    if (o->row) { /* the recorded run was waiting for this answer */
        pdl_durable_forecast_recorded(d, o, true);
        return;
    }
    if (!pdl_forecast_counts(o->e->kind)) return;
    pdl_str kind = pdl_str_of(pdl_effect_kind_name(o->e->kind));
    *pdl_vec_push(&f->unanswered) = (unanswered_request){
        .place = pdl_str_dup(pdl_buf_str(&id->place)),
        .loc = o->e->loc,
        .kind = o->e->kind,
        .place_key = pdl_durable_place_key(d, pdl_buf_str(&id->place), o->e->seq, kind),
        .request_key = pdl_durable_request_key(kind, pdl_str_of(id->hash)),
        .at = ++f->n_requests,
    };
    o->noted = f->unanswered.n;
}

void pdl_durable_forecast_stop(pdl_durable *d, pdl_str place, const pdl_err *why) {
    durable_forecast *f = &d->forecast;
    if (d->setup.use != PDL_DURABLE_CHECK) return;
    /* Only the first reason is kept. A reason that was found while the run was prepared has no line
     * of the program; it gets the line of a request that fails at the same place. */
    if (f->stop.kind) {
        bool same = !f->stop.loc.src && f->stop_place && pdl_str_is(place, f->stop_place);
        if (same) f->stop.loc = why->loc;
        return;
    }
    pdl_err_copy(&f->stop, why);
    f->stop_place = place.n ? pdl_str_dup(place) : NULL;
}

/* Answers an effect that a check does not execute but whose answer is known. Takes o. */
static void answer_known(pdl_durable *d, pending_effect *o) {
    o->value = pdl_null();
    o->has_reply = true;
    if (pdl_effect_has(o->e->kind, PDL_EFFECT_WAITS))
        pdl_durable_enqueue(d, o);
    else
        pdl_durable_give(o);
}

void pdl_durable_leave_checked(pdl_durable *d, pending_effect *o, const identity *id) {
    bool writes_file = o->e->kind == PDL_EFFECT_write;
    note_open(d, o, id);
    if (writes_file && !o->row && pdl_durable_done_elsewhere(d, o, id) == DONE_STOPS) {
        pdl_durable_forecast_stop(d, pdl_buf_str(&id->place), &o->err);
        pdl_durable_give(o);
    } else if (writes_file || (o->e->kind == PDL_EFFECT_sleep && !o->row)) {
        answer_known(d, o);
    } else if (pdl_durable_acts_outside(o->e->kind)) {
        *pdl_vec_push(&d->pending.waiting) = o;
    } else {
        pdl_idmap_put(&d->pending.open, o->e->id, o);
    }
}

void pdl_durable_foresee(pdl_durable *d, pending_effect *o, const identity *id) {
    pdl_str place = pdl_buf_str(&id->place);
    done_kind done = DONE_NOWHERE;
    if (pdl_durable_is_of_worker(o->e->kind)) (void)pdl_durable_waits_for_session(d, o);
    if (d->file.problem.kind)
        pdl_durable_forecast_stop(d, place, &d->file.problem);
    else
        done = pdl_durable_done_elsewhere(d, o, id);
    /* A check writes nothing, so it continues after an error of the file. */
    pdl_err_fini(&d->file.problem);
    if (done == DONE_STOPS) pdl_durable_forecast_stop(d, place, &o->err);
    pdl_err_fini(&o->err);
    if (done != DONE_NOWHERE && o->noted) d->forecast.unanswered.p[o->noted - 1].dropped = true;
    if (done == DONE_SKIPPED)
        pdl_durable_reuse(d, o);
    else
        pdl_idmap_put(&d->pending.open, o->e->id, o);
}

void pdl_durable_forecast_end(durable_forecast *f) {
    for (size_t i = 0; i < f->unanswered.n; i++) pdl_free(f->unanswered.p[i].place);
    pdl_vec_fini(&f->unanswered);
    pdl_idmap_fini(&f->within);
    pdl_idmap_fini(&f->below);
    pdl_free(f->waits_at);
    pdl_free(f->stop_place);
    pdl_err_fini(&f->stop);
}

const pdl_effect *pdl_durable_next_call(const pdl_durable *d) {
    for (size_t i = 0; i < pdl_idmap_places(&d->pending.open); i++) {
        const pending_effect *o = pdl_idmap_at(&d->pending.open, i);
        if (!o || !o->e) continue;
        if (o->e->kind == PDL_EFFECT_model || o->e->kind == PDL_EFFECT_embed ||
            o->e->kind == PDL_EFFECT_tool || o->e->kind == PDL_EFFECT_http)
            return o->e;
    }
    return NULL;
}

/* --- the verdict ------------------------------------------------------------------------------ */

/* A recorded answer that no request of the check has used. */
typedef struct left_answer {
    char *place;
    double cost;
    int64_t request_key;
    size_t next; /* position of the next answer with the same request; 0 at the end */
    bool counted;
} left_answer;

struct weighing {
    pdl_durable *d;
    pdl_forecast *out;
    PDL_VEC(left_answer) left;
    pdl_idmap by_place, by_request; /* key -> position in left, from 1 */
    /* requests that were open in the recording and that the check has not made at their place */
    pdl_idmap open_places, open_requests;
    bool has_open; /* open_places is not empty */
    bool waits;    /* the check has made a request that was open in the recording */
};

static bool on_row(void *user, const store_effect *row) {
    struct weighing *w = user;
    pdl_durable *d = w->d;
    pdl_effect_kind kind;
    if (row->id > d->match.last_row) return false;
    if (row->run != d->group.run) return true;
    if (!pdl_effect_kind_find(row->kind, &kind) || !pdl_forecast_counts(kind)) return true;
    bool used = pdl_idmap_find(&d->match.used, (uintptr_t)row->id) != NULL;
    bool answered = row->state == STORE_DONE && (row->reply.p || row->error.p);
    int64_t place = pdl_durable_place_key(d, row->place, row->seq, row->kind),
            request = pdl_durable_request_key(row->kind, row->hash);
    w->out->recorded += answered;
    w->out->reused += answered && used;
    w->has_open = w->has_open || (!answered && !used);
    if (!answered && !used) pdl_idmap_put(&w->open_places, (uintptr_t)place, d);
    if (!answered && !used) pdl_idmap_put(&w->open_requests, (uintptr_t)request, d);
    if (!answered || used) return true;
    *pdl_vec_push(&w->left) =
        (left_answer){.place = pdl_str_dup(row->place), .cost = row->cost, .request_key = request};
    pdl_idmap_put(&w->by_place, (uintptr_t)place, (void *)(uintptr_t)w->left.n);
    return true;
}

static void chain_requests(struct weighing *w) {
    for (size_t i = w->left.n; i > 0; i--) {
        left_answer *a = &w->left.p[i - 1];
        a->next = (size_t)(uintptr_t)pdl_idmap_find(&w->by_request, (uintptr_t)a->request_key);
        pdl_idmap_put(&w->by_request, (uintptr_t)a->request_key, (void *)(uintptr_t)i);
    }
}

/* Takes an unused answer of the same request that was recorded at another place; NULL when there is
 * no such answer. */
static left_answer *take_moved(struct weighing *w, int64_t key) {
    size_t i = (size_t)(uintptr_t)pdl_idmap_find(&w->by_request, (uintptr_t)key);
    while (i && w->left.p[i - 1].counted) i = w->left.p[i - 1].next;
    if (!i) return NULL;
    pdl_idmap_put(&w->by_request, (uintptr_t)key, (void *)(uintptr_t)i);
    return &w->left.p[i - 1];
}

static char *file_of(pdl_loc loc) { return loc.src ? pdl_str_dup(loc.src->name) : NULL; }
static uint32_t line_of(pdl_loc loc) { return loc.src ? pdl_source_line(loc.src, loc.start) : 0; }

static void name_place(pdl_forecast *out, const char *place, pdl_loc loc) {
    out->place = place ? pdl_str_dup(pdl_str_of(place)) : NULL;
    out->file = file_of(loc);
    out->line = line_of(loc);
}

/* Counts a request that would be made although the recorded run had passed its place. */
static void count(struct weighing *w, const unanswered_request *r, const char *why,
                  left_answer *was) {
    pdl_forecast *out = w->out;
    double cost = was ? was->cost : 0;
    if (was) was->counted = true;
    if (!out->asked++ && out->verdict == PDL_VERDICT_CONTINUES) {
        out->verdict = PDL_VERDICT_ASKS;
        name_place(out, r->place, r->loc);
    }
    out->cost += cost;
    if (out->requests.n < MAX_LISTED)
        *pdl_vec_push(&out->requests) =
            (pdl_forecast_request){.place = pdl_str_dup(pdl_str_of(r->place)),
                                   .file = file_of(r->loc),
                                   .line = line_of(r->loc),
                                   .kind = pdl_effect_kind_name(r->kind),
                                   .why = why,
                                   .cost = cost};
}

static bool is_at_open(const struct weighing *w, const unanswered_request *r) {
    return pdl_idmap_find(&w->open_places, (uintptr_t)r->place_key) != NULL;
}

/* Returns true for a request that the recorded run made and that had no answer yet. For a question
 * to a person, only the place must be equal, because the words of the question may have changed. */
static bool was_open(const struct weighing *w, const unanswered_request *r) {
    bool is_question = r->kind == PDL_EFFECT_input || r->kind == PDL_EFFECT_approval;
    return (is_question && is_at_open(w, r)) ||
           pdl_idmap_find(&w->open_requests, (uintptr_t)r->request_key);
}

static void weigh_request(struct weighing *w, const unanswered_request *r) {
    const durable_forecast *f = &w->d->forecast;
    size_t at = (size_t)(uintptr_t)pdl_idmap_find(&w->by_place, (uintptr_t)r->place_key);
    /* The check has not reached the point where the recorded run was, so the request lies before
     * that point. */
    bool is_ahead = !w->waits && (w->left.n || w->has_open);
    left_answer *there = at ? &w->left.p[at - 1] : NULL, *moved = take_moved(w, r->request_key);
    if (there && !there->counted && there != moved && !moved)
        count(w, r, "changed", there);
    else if (moved)
        count(w, r, "moved", moved);
    else if (!was_open(w, r) && (was_passed(f, r) || is_ahead || is_at_open(w, r)))
        count(w, r, is_at_open(w, r) ? "changed" : "new", NULL);
}

static void weigh(struct weighing *w) {
    const durable_forecast *f = &w->d->forecast;
    const unanswered_request *open = NULL;
    chain_requests(w);
    for (size_t i = 0; !open && i < f->unanswered.n; i++)
        if (was_open(w, &f->unanswered.p[i])) open = &f->unanswered.p[i];
    w->waits = f->waits_at || open;
    for (size_t i = 0; w->d->match.is_other && i < f->unanswered.n; i++)
        if (!f->unanswered.p[i].dropped) weigh_request(w, &f->unanswered.p[i]);
    if (w->out->verdict == PDL_VERDICT_CONTINUES && f->waits_at)
        name_place(w->out, f->waits_at, f->waits_loc);
    else if (w->out->verdict == PDL_VERDICT_CONTINUES && f->unanswered.n)
        name_place(w->out, (open ? open : f->unanswered.p)->place,
                   (open ? open : f->unanswered.p)->loc);
    for (size_t i = 0; i < w->left.n && w->out->gone.n < MAX_LISTED; i++)
        if (!w->left.p[i].counted) {
            *pdl_vec_push(&w->out->gone) = w->left.p[i].place;
            w->left.p[i].place = NULL;
        }
}

void pdl_forecast_stop(pdl_forecast *f, pdl_str place, const pdl_err *why) {
    char *name = place.n ? pdl_str_dup(place) : NULL;
    f->verdict = PDL_VERDICT_STOPS;
    name_place(f, name, why->loc);
    f->why = pdl_str_dup(pdl_str_of(why->msg ? why->msg : ""));
    f->hint = why->hint ? pdl_str_dup(pdl_str_of(why->hint)) : NULL;
    pdl_free(name);
}

/* For --changed fail: every difference stops the resume. */
static void stop_changed(pdl_durable *d, pdl_forecast *out) {
    pdl_err why = {0};
    bool is_stop = d->setup.opt.changed_fails && !out->why;
    if (is_stop) pdl_durable_note_left(d);
    if (!is_stop || !pdl_durable_has_changes(d)) return;
    pdl_err_set(&why, PDL_E_runtime, (pdl_loc){0},
                "the program has changed since the run began: %s",
                d->match.found.notes.n ? d->match.found.notes.p[0] : "");
    pdl_forecast_stop(out, (pdl_str){0}, &why);
    pdl_err_fini(&why);
}

bool pdl_durable_forecast(pdl_durable *d, const pdl_err *failure, pdl_forecast *out, pdl_err *err) {
    const durable_forecast *f = &d->forecast;
    struct weighing w = {.d = d, .out = out};
    if (f->stop.kind)
        pdl_forecast_stop(out, pdl_str_of(f->stop_place ? f->stop_place : ""), &f->stop);
    else if (failure && failure->kind && failure->kind != PDL_E_exit)
        pdl_forecast_stop(out, (pdl_str){0}, failure);
    else
        stop_changed(d, out);
    bool ok = d->match.last_row || pdl_store_last(d->file.store, &d->match.last_row, err);
    ok = ok && pdl_store_each(d->file.store, STORE_ALL, d->group.first_row, on_row, &w, err);
    if (ok) weigh(&w);
    for (size_t i = 0; i < w.left.n; i++) pdl_free(w.left.p[i].place);
    pdl_vec_fini(&w.left);
    pdl_idmap_fini(&w.by_place);
    pdl_idmap_fini(&w.by_request);
    pdl_idmap_fini(&w.open_places);
    pdl_idmap_fini(&w.open_requests);
    return ok;
}

void pdl_forecast_fini(pdl_forecast *f) {
    pdl_free(f->id);
    pdl_free(f->place);
    pdl_free(f->file);
    pdl_free(f->why);
    pdl_free(f->hint);
    for (size_t i = 0; i < f->requests.n; i++) {
        pdl_free(f->requests.p[i].place);
        pdl_free(f->requests.p[i].file);
    }
    pdl_vec_fini(&f->requests);
    for (size_t i = 0; i < f->gone.n; i++) pdl_free(f->gone.p[i]);
    pdl_vec_fini(&f->gone);
    *f = (pdl_forecast){0};
}
