/* server_runs.c -- many runs of a server in one file.
 *
 * Each run has its own pdl_durable, and its rows carry the number of the run. The server has a
 * pdl_durable, too, which owns the file and the lock and orders the writes. If each run had a file,
 * each would cost a sync. With one file the poll of the server syncs once for all rows of a turn.
 * Then the held effects of all runs are sent.
 *
 * A run is found by a hash of its key. The body of the request is compared by a hash, too. A
 * repeated request contains key and body again, so the file needs to store neither of them. The
 * answer of a run is kept for a day.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "journal/durable/durable_impl.h"

#include "base/banned.h"

static const double DAY = 24 * 60 * 60.0, HOUR = 60 * 60.0;

static pdl_durable *of(pdl_world *w) { return (pdl_durable *)(void *)w; }

/* --- the world of all runs -------------------------------------------------------------------- */

/* Forwards effects of runs without a key, which need no journal. */
static void start(pdl_world *w, pdl_effect *e) {
    pdl_world *next = w->next;
    next->ops->start(next, e);
}

static void cancel(pdl_world *w, uint32_t id) {
    pdl_world *next = w->next;
    next->ops->cancel(next, id);
}

/* Gives an error of the file to all runs, since no run can be written any more. */
static void share_problem(pdl_durable *s) {
    for (size_t i = 0; s->file.problem.kind && i < s->group.members.n; i++) {
        pdl_err err = {0};
        pdl_err_copy(&err, &s->file.problem);
        pdl_durable_note_problem(s->group.members.p[i], &err);
    }
}

static void commit(pdl_durable *s, bool sync) {
    pdl_durable_commit(s, sync);
    share_problem(s);
}

void pdl_durable_flush_group(pdl_durable *s) {
    bool due = s->progress.output.has_output;
    for (size_t i = 0; i < s->group.members.n; i++)
        due |= s->group.members.p[i]->pending.queued.n > 0;
    if (!due || s->progress.flushing) return;
    assert(pdl_durable_ok(s));
    s->progress.flushing = true;
    commit(s, true);
    s->progress.output.has_output = false;
    for (size_t i = 0; i < s->group.members.n; i++) {
        assert(pdl_durable_ok(s->group.members.p[i]));
        s->group.members.p[i]->pending.is_retry_due = false;
        pdl_durable_release(s->group.members.p[i]);
    }
    s->progress.flushing = false;
}

static bool deliver_all(pdl_durable *s) {
    bool any = false;
    for (size_t i = 0; i < s->group.members.n; i++)
        any |= pdl_durable_deliver(s->group.members.p[i]);
    return any;
}

static void prune_now_and_then(pdl_durable *s) {
    double now = pdl_journal_wall();
    pdl_err err = {0};
    if (s->group.pruned > 0 && now - s->group.pruned < HOUR) return;
    s->group.pruned = now;
    if (!pdl_store_prune_runs(s->file.store, now - DAY, &err)) pdl_durable_note_problem(s, &err);
    pdl_store_forget_keys(s->file.store);
}

static bool poll(pdl_world *w, int timeout_ms) {
    pdl_durable *s = of(w);
    prune_now_and_then(s);
    for (size_t i = 0; i < s->group.members.n; i++) pdl_durable_settle(s->group.members.p[i]);
    pdl_durable_flush_group(s);
    if (deliver_all(s)) return true;
    pdl_store_expect(s->file.store, false);
    bool open = s->world.next->ops->poll(s->world.next, timeout_ms);
    commit(s, false);
    pdl_store_expect(s->file.store, true);
    return deliver_all(s) || open;
}

static void close_world(pdl_world *w) { (void)w; }

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll, .close = close_world};

pdl_world *pdl_durable_server_world(pdl_durable *s, pdl_world *next) {
    s->world.next = next;
    s->world.ops = &ops;
    return &s->world;
}

void pdl_durable_note_output(pdl_durable *s) { s->progress.output.has_output = true; }

/* --- runs by their keys ----------------------------------------------------------------------- */

/* Hashes a key; index distinguishes the choices of one request. */
static void key_hash(const pdl_durable *s, pdl_str key, uint32_t index, char out[65]) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s\n%u\n", s->file.salt, index);
    pdl_buf_put(&b, key);
    pdl_hash_hex(pdl_buf_str(&b), out);
    pdl_buf_fini(&b);
}

static bool find(pdl_durable *s, pdl_str key, uint32_t index, store_run *out, pdl_err *err) {
    char hash[65];
    key_hash(s, key, index, hash);
    if (!pdl_store_find_run(s->file.store, pdl_str_of(hash), out, err)) return false;
    bool old = out->id && out->end > 0 && out->end < pdl_journal_wall() - DAY;
    if (old) out->id = 0;
    return true;
}

static void run_fini(store_run *r) {
    pdl_buf_fini(&r->body);
    pdl_buf_fini(&r->answer);
}

bool pdl_durable_keyed(pdl_durable *s, pdl_str key, pdl_str body, pdl_keyed *out, pdl_buf *answer,
                       pdl_err *err) {
    char hash[65];
    store_run r = {0};
    pdl_hash_hex(body, hash);
    bool ok = find(s, key, 0, &r, err);
    *out = !r.id                                        ? PDL_KEYED_NEW
           : !pdl_str_is(pdl_buf_str(&r.body), hash)    ? PDL_KEYED_OTHER
           : r.state == STORE_RUN_ENDED && r.answer.len ? PDL_KEYED_ANSWERED
                                                        : PDL_KEYED_OPEN;
    if (ok && *out == PDL_KEYED_ANSWERED)
        ok = pdl_secret_refs_fill(&s->file.keys, pdl_buf_str(&r.answer), answer, err);
    run_fini(&r);
    return ok;
}

/* --- a run ------------------------------------------------------------------------------------ */

struct unfinished {
    const pdl_durable *d;
    pdl_buf places;
    double seen;
};

static bool on_open(void *user, const store_effect *row) {
    struct unfinished *u = user;
    pdl_effect_kind kind;
    if (row->run != u->d->group.run || row->again || !pdl_effect_kind_find(row->kind, &kind) ||
        !pdl_effect_has(kind, PDL_EFFECT_ACTS) || kind == PDL_EFFECT_input)
        return true;
    if (kind == PDL_EFFECT_write && pdl_durable_was_cut(u->d->group.server, row)) return true;
    if (pdl_durable_override((pdl_durable *)(uintptr_t)u->d->group.server, row->place, false))
        return true;
    pdl_buf_putf(&u->places, "%s%.*s (%.*s)", u->places.len ? ", " : "", PDL_FMT(row->place),
                 PDL_FMT(row->kind));
    return true;
}

/* Like a resume, refuses to continue after an action that began and was not finished. */
static bool check_actions(pdl_durable *d, pdl_err *err) {
    struct unfinished u = {.d = d, .places = PDL_BUF};
    bool ok = pdl_store_each(d->file.store, STORE_BY_STATE, STORE_OPEN, on_open, &u, err);
    if (ok && u.places.len) {
        ok = pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                         "it is not known whether this was done before the server ended: %s",
                         pdl_buf_z(&u.places));
        pdl_err_hint(err, "a server that is started with --again PLACE (or --again all) does it "
                          "again");
    }
    pdl_buf_fini(&u.places);
    return ok;
}

static pdl_durable *member_new(pdl_durable *s, int64_t run, bool is_new) {
    pdl_durable *d = pdl_durable_new(PDL_DURABLE_CONTINUE, s->file.full);
    pdl_buf id = PDL_BUF;
    d->group.server = s;
    d->file.store = s->file.store;
    d->group.run = run;
    d->file.is_new = is_new;
    d->progress.clock.seen = pdl_journal_wall();
    snprintf(d->file.salt, sizeof d->file.salt, "%s", s->file.salt);
    pdl_buf_putf(&id, "%.*s.%lld", PDL_FMT(s->file.facts.id), (long long)run);
    *pdl_vec_push(&d->file.texts) = pdl_buf_take(&id);
    d->file.facts.id = pdl_str_of(d->file.texts.p[0]);
    pdl_secret_refs_copy(&s->file.keys, &d->file.keys);
    for (size_t i = 0; i < s->match.overrides.n; i++)
        if (!s->match.overrides.p[i].skip)
            pdl_durable_again(d, pdl_str_of(s->match.overrides.p[i].place));
    if (s->file.problem.kind) pdl_err_copy(&d->file.problem, &s->file.problem);
    *pdl_vec_push(&s->group.members) = d;
    return d;
}

bool pdl_durable_join(pdl_durable *s, pdl_str key, pdl_str body, uint32_t index, pdl_durable **out,
                      pdl_err *err) {
    char hash[65], body_hash[65];
    store_run r = {0};
    key_hash(s, key, index, hash);
    pdl_hash_hex(body, body_hash);
    if (!find(s, key, index, &r, err)) return false;
    int64_t run = r.id;
    run_fini(&r);
    bool is_new = !run;
    if (is_new && !pdl_store_begin_run(s->file.store, pdl_str_of(hash), pdl_str_of(body_hash),
                                       pdl_journal_wall(), &run, err))
        return false;
    if (!is_new) pdl_store_forget_keys(s->file.store);
    pdl_durable *d = member_new(s, run, is_new);
    if (is_new ||
        (pdl_store_last(s->file.store, &d->match.last_row, err) && check_actions(d, err))) {
        *out = d;
        return true;
    }
    pdl_durable_close(d);
    return false;
}

void pdl_durable_answered(pdl_durable *d, pdl_str answer, const pdl_err *why) {
    pdl_err err = {0};
    pdl_buf kept = PDL_BUF;
    if (d->file.problem.kind) return;
    if (answer.p) pdl_secret_refs_refer(&d->file.keys, answer, &kept);
    bool ok = !why || pdl_durable_reopen_failure(d, why, &err);
    if (!ok || !pdl_store_end_run(d->file.store, d->group.run,
                                  answer.p ? STORE_RUN_ENDED : STORE_RUN_FAILED,
                                  answer.p ? pdl_journal_wall() : 0, pdl_buf_str(&kept), &err)) {
        pdl_durable_note_problem(d->group.server, &err);
        share_problem(d->group.server);
    }
    d->group.server->progress.output.has_output = true;
    pdl_buf_fini(&kept);
}

void pdl_durable_leave(pdl_durable *d) {
    pdl_durable *s = d->group.server;
    for (size_t i = 0; i < s->group.members.n; i++)
        if (s->group.members.p[i] == d)
            s->group.members.p[i--] = s->group.members.p[--s->group.members.n];
}

/* --- the server's file ------------------------------------------------------------------------ */

static bool make_server(pdl_str path, const pdl_durable_server *how, pdl_durable **out,
                        pdl_buf *note, pdl_err *err) {
    if (!pdl_durable_create(path, how->full, out, note, err)) return false;
    if (pdl_store_put((*out)->file.store, "server", PDL_STR("yes"), err) &&
        pdl_durable_begin(*out, how->facts, pdl_absent(), err))
        return true;
    pdl_durable_close(*out);
    return false;
}

bool pdl_durable_open_server(pdl_str path, const pdl_durable_server *how, pdl_durable **out,
                             pdl_buf *note, pdl_err *err) {
    char *name = pdl_str_dup(path);
    bool ok = access(name, F_OK) == 0 && !pdl_store_is_unbegun(path);
    pdl_free(name);
    if (!ok)
        ok = make_server(path, how, out, note, err);
    else
        ok = pdl_durable_reopen_server(path, how->full, how->take_over, out, err);
    if (!ok) return false;
    pdl_durable *s = *out;
    s->group.is_server = true;
    return true;
}

void pdl_durable_group_end(durable_group *g) {
    for (size_t i = 0; i < g->changed_files.n; i++) pdl_free(g->changed_files.p[i]);
    pdl_vec_fini(&g->changed_files);
    pdl_vec_fini(&g->members);
}

bool pdl_durable_group_ok(const durable_group *g) {
    if (g->server && (g->is_server || g->run <= 0)) return false;
    return g->is_server || (!g->members.n && !g->changed_files.n);
}
