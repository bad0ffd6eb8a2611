/* durable.c -- the world of a durable run; see durable.h.
 *
 *   start -> answered from a row: queued, or delivered at once when the machine does not wait
 *         -> read, clock, chance: requested at once, the row is written with its reply
 *         -> others: the row is written, the effect is held until the flush
 *   poll  -> flush: commit and sync, write output, forward the held effects
 *         -> poll the next world: replies arrive, their rows are written
 *         -> commit; then the machine gets the replies
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "base/cancel.h"
#include "journal/durable/durable_impl.h"
#include "value/int.h"
#include "value/text.h"

#include "base/banned.h"

enum { MAX_PENDING = 4096 /* number of rows after which a transaction is committed */ };

static pdl_durable *of(pdl_world *w) { return (pdl_durable *)(void *)w; }

void pdl_durable_note_problem(pdl_durable *d, pdl_err *err) {
    if (!d->file.problem.kind) {
        pdl_err_move(&d->file.problem, err);
        d->file.problem.uncatchable = true;
    }
    pdl_err_fini(err);
}

static bool writes(const pdl_durable *d) {
    return d->setup.use == PDL_DURABLE_CONTINUE && !d->file.problem.kind;
}

void pdl_durable_commit(pdl_durable *d, bool sync) {
    pdl_err err = {0};
    if (writes(d) && !pdl_store_commit(d->file.store, sync, &err))
        pdl_durable_note_problem(d, &err);
}

/* --- pending effects -------------------------------------------------------------------------- */

pending_effect *pdl_durable_pending_new(pdl_durable *d, pdl_effect *e) {
    pending_effect *o = PDL_NEW(pending_effect);
    o->d = d;
    o->e = e;
    o->pieces = o->value = o->expected = pdl_absent();
    return o;
}

void pdl_durable_drop_open(pending_effect *o) {
    pdl_drop(o->pieces);
    pdl_drop(o->value);
    pdl_drop(o->expected);
    pdl_err_fini(&o->err);
    pdl_effect_free(o->e);
    pdl_free(o);
}

/* Passes on the text of an answer as one piece when the machine wants pieces but the journal has no
 * pieces. */
static void give_text(const pending_effect *o) {
    pdl_effect *e = o->e;
    bool wants = e->kind == PDL_EFFECT_model;
    pdl_vref stream = wants ? pdl_dict_getz(e->request, "stream") : pdl_absent();
    pdl_vref text = pdl_is_dict(o->value) ? pdl_dict_getz(o->value, "content") : pdl_absent();
    if (!pdl_is_bool(stream) || !pdl_bool_of(stream) || !pdl_is_str(text) || !pdl_str_get(text).n)
        return;
    if (e->sink.piece) e->sink.piece(e->sink.user, e, pdl_str_get(text));
}

/* Delivers the answer to the machine. Takes o. The machine may cancel the effect while it receives
 * a piece; o->e is NULL then. */
void pdl_durable_give(pending_effect *o) {
    size_t n = pdl_is_list(o->pieces) && !o->shown ? pdl_list_len(o->pieces) : 0;
    for (size_t i = 0; i < n && o->e; i++)
        if (o->e->sink.piece)
            o->e->sink.piece(o->e->sink.user, o->e, pdl_str_get(pdl_list_at(o->pieces, i)));
    if (o->e && !n && !o->shown && !o->err.kind) give_text(o);
    pdl_effect *e = o->e;
    o->e = NULL;
    if (e && o->err.kind) {
        pdl_effect_refuse_after(e, &o->err, o->seconds);
    } else if (e) {
        pdl_val v = o->value;
        o->value = pdl_absent();
        pdl_effect_answer(e, v, o->seconds);
    }
    pdl_durable_drop_open(o);
}

bool pdl_durable_deliver(pdl_durable *d) {
    bool any = false;
    while (d->pending.answered_head < d->pending.answered.n) {
        pending_effect *o = d->pending.answered.p[d->pending.answered_head++];
        if (d->pending.answered_head == d->pending.answered.n)
            d->pending.answered_head = d->pending.answered.n = 0;
        if (!o) continue;
        any = true;
        d->pending.delivered = o;
        pdl_durable_give(o);
        d->pending.delivered = NULL;
    }
    return any;
}

void pdl_durable_enqueue(pdl_durable *d, pending_effect *o) {
    *pdl_vec_push(&d->pending.answered) = o;
}

/* Refuses an effect that cannot be written down, so that it is not executed. Takes o. */
void pdl_durable_refuse(pdl_durable *d, pending_effect *o) {
    pdl_drop(o->value);
    pdl_drop(o->pieces);
    o->value = o->pieces = pdl_absent();
    pdl_err_fini(&o->err);
    pdl_err_copy(&o->err, &d->file.problem);
    pdl_err_at(&o->err, o->e->loc);
    o->has_reply = true;
    pdl_durable_enqueue(d, o);
}

/* --- replies ---------------------------------------------------------------------------------- */

static void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    pending_effect *o = user;
    (void)e;
    if (!pdl_is_list(o->pieces)) o->pieces = pdl_list_new(8);
    o->pieces = pdl_list_push(o->pieces, pdl_text(text));
    if (!o->d->setup.opt.provisional || o->rebuilds) return;
    o->d->progress.output.n_shown += !o->shown;
    o->shown = true;
    if (o->e->sink.piece) o->e->sink.piece(o->e->sink.user, o->e, text);
}

/* Returns true when the effect failed because a signal ends the run. Such a failure says nothing
 * about what was asked, so it is no answer: the row stays open, as after a kill. An error that
 * arrives after the signal may come from it, too, whatever its kind. */
static bool is_left_by_signal(const pending_effect *o) {
    pdl_err_kind k = o->err.kind;
    return k == PDL_E_interrupt || k == PDL_E_terminated || (k && pdl_is_signalled());
}

static void write_answer(pdl_durable *d, pending_effect *o) {
    pdl_err err = {0};
    if (is_left_by_signal(o)) return;
    bool ok = o->row ? pdl_durable_write_end(d, o, &err) : true;
    if (ok && o->e->kind == PDL_EFFECT_write && !o->err.kind)
        ok = pdl_durable_after_write(d, o->e, &err);
    if (!ok) pdl_durable_note_problem(d, &err);
}

static void on_reply(void *user, const pdl_effect *forwarded, const pdl_reply *reply) {
    pending_effect *o = user;
    pdl_durable *d = o->d;
    d->pending.n_open--;
    if (o->e->kind == PDL_EFFECT_input) d->pending.n_inputs--;
    o->sent = false;
    o->e->added_labels |= forwarded->added_labels;
    if (pdl_durable_is_unanswered(d, o, reply)) {
        *pdl_vec_push(&d->pending.unanswered) = o;
        return;
    }
    pdl_idmap_del(&d->pending.open, o->e->id);
    d->progress.output.n_shown -= o->shown;
    if (pdl_durable_was_refused(d, o, reply)) return;
    o->has_reply = true;
    o->value = pdl_keep(reply->value);
    o->seconds = reply->seconds;
    pdl_durable_edit_source(d, o->e, &o->value);
    if (reply->err.kind) pdl_err_copy(&o->err, &reply->err);
    if (o->rebuilds) {
        pdl_durable_pump_rebuild(d, o);
        return;
    }
    if (writes(d) && !o->answers_at_once) write_answer(d, o);
    if (!o->answers_at_once) pdl_durable_enqueue(d, o);
}

/* --- requests --------------------------------------------------------------------------------- */

void pdl_durable_send(pdl_durable *d, pending_effect *o) {
    pdl_effect_sink sink = {.user = o, .piece = on_piece, .reply = on_reply};
    pdl_effect *e = o->e;
    pdl_effect *forwarded = pdl_effect_forward(e, sink);
    forwarded->sender = &d->pending.sender;
    pdl_durable_name_left(d, o, forwarded);
    o->sent = true;
    d->pending.n_open++;
    if (e->kind == PDL_EFFECT_input) d->pending.n_inputs++;
    pdl_idmap_put(&d->pending.open, e->id, o);
    d->world.next->ops->start(d->world.next, forwarded);
}

bool pdl_durable_is_of_worker(pdl_effect_kind k) {
    return k == PDL_EFFECT_code || k == PDL_EFFECT_object;
}

/* Writes output and forwards the held effects. Called when all rows before them are on the disk. */
void pdl_durable_release(pdl_durable *d) {
    if (!d->file.problem.kind && pdl_world_has_output(d->world.next)) {
        uint64_t n = pdl_world_put_output(d->world.next);
        if (n != d->progress.output.printed && !d->progress.output.n_shown) {
            pdl_err err = {0};
            char text[24];
            d->progress.output.printed = n;
            snprintf(text, sizeof text, "%llu", (unsigned long long)n);
            if (writes(d) && !pdl_store_put(d->file.store, "printed", pdl_str_of(text), &err))
                pdl_durable_note_problem(d, &err);
        }
    }
    for (size_t i = 0; i < d->pending.queued.n; i++) {
        pending_effect *o = d->pending.queued.p[i];
        if (!o) continue;
        d->pending.queued.p[i] = NULL;
        if (d->file.problem.kind)
            pdl_durable_refuse(d, o);
        else
            pdl_durable_send(d, o);
    }
    d->pending.queued.n = 0;
}

void pdl_durable_flush(pdl_durable *d) {
    if (d->group.server) {
        pdl_durable_flush_group(d->group.server);
        return;
    }
    bool due = d->pending.queued.n || pdl_world_has_output(d->world.next);
    if (!due || d->progress.flushing || d->match.undecided) return;
    assert(pdl_durable_ok(d));
    d->progress.flushing = true;
    d->pending.is_retry_due = false;
    pdl_durable_commit(d, true);
    pdl_durable_release(d);
    d->progress.flushing = false;
    assert(pdl_durable_ok(d));
}

/* Writes the row that begins the effect, and holds the effect until the flush. Takes o. */
static void hold(pdl_durable *d, pending_effect *o, const identity *id) {
    pdl_err err = {0};
    bool ok = true;
    if (!o->row) ok = pdl_durable_write_begin(d, o, id, &err);
    if (!ok) {
        pdl_durable_note_problem(d, &err);
        pdl_durable_refuse(d, o);
        return;
    }
    *pdl_vec_push(&d->pending.queued) = o;
}

/* Executes an effect that is answered at once and changes nothing outside. The row of the effect is
 * written together with the reply. Takes o. */
static void ask_at_once(pdl_durable *d, pending_effect *o, const identity *id) {
    pdl_err err = {0};
    o->answers_at_once = true;
    pdl_durable_send(d, o);
    o->answers_at_once = false;
    if (!o->has_reply) { /* the host program will answer the effect later */
        if (writes(d) && !pdl_durable_write_begin(d, o, id, &err))
            pdl_durable_note_problem(d, &err);
        return;
    }
    bool ok =
        !writes(d) || is_left_by_signal(o) ||
        (o->row ? pdl_durable_write_end(d, o, &err) : pdl_durable_write_begin(d, o, id, &err));
    if (ok && writes(d) && pdl_store_pending(d->file.store) >= MAX_PENDING)
        ok = pdl_store_commit(d->file.store, false, &err);
    if (!ok) pdl_durable_note_problem(d, &err);
    pdl_durable_give(o);
}

/* Executes a write to a file. The next world answers it before its `start` returns, unless a host
 * program answers later. All rows before the write are synced first. Takes o. */
static void write_at_once(pdl_durable *d, pending_effect *o, const identity *id) {
    pdl_err err = {0};
    bool again = o->row != 0;
    bool ok = pdl_durable_before_write(d, o->e, again, &err) &&
              (again || pdl_durable_write_begin(d, o, id, &err)) &&
              pdl_store_commit(d->file.store, true, &err);
    if (!ok) {
        pdl_durable_note_problem(d, &err);
        pdl_err_copy(&o->err, &d->file.problem);
        pdl_durable_give(o);
        return;
    }
    o->answers_at_once = true;
    pdl_durable_send(d, o);
    o->answers_at_once = false;
    if (!o->has_reply) return;
    write_answer(d, o);
    pdl_durable_give(o);
}

static bool goes_at_once(const pdl_effect *e) {
    return !pdl_effect_has(e->kind, PDL_EFFECT_WAITS) && !pdl_effect_has(e->kind, PDL_EFFECT_ACTS);
}

/* Shortens a sleep that began in an earlier process to the time that is left. */
static void shorten(pending_effect *o, double begun) {
    pdl_vref v = pdl_dict_getz(o->e->request, "seconds");
    double left = (pdl_is(v, PDL_V_FLOAT) ? pdl_float_of(v) : pdl_num_to_double(v)) -
                  (pdl_journal_wall() - begun);
    o->e->request = pdl_dict_putz(o->e->request, "seconds", pdl_float(left > 0 ? left : 0));
}

/* Handles an effect without a recorded answer in a run that sends nothing. Takes o. */
static void leave_open(pdl_durable *d, pending_effect *o, const identity *id) {
    pdl_err err = {0};
    if (d->setup.use == PDL_DURABLE_REPLAY) {
        pdl_err_set(&o->err, PDL_E_replay, o->e->loc,
                    "replay: %.*s has no reply for %.*s (%s): the program asks something else than "
                    "was recorded",
                    PDL_FMT(pdl_store_path(d->file.store)), PDL_FMT(pdl_buf_str(&id->place)),
                    pdl_effect_kind_name(o->e->kind));
        o->err.uncatchable = true;
        if (pdl_effect_has(o->e->kind, PDL_EFFECT_WAITS))
            pdl_durable_enqueue(d, o);
        else
            pdl_durable_give(o);
        return;
    }
    pdl_err_fini(&err);
    if (d->setup.use == PDL_DURABLE_CHECK && goes_at_once(o->e) && d->world.next) {
        ask_at_once(d, o, id);
        return;
    }
    d->match.found.n_asked++;
    (void)pdl_durable_may_be_done(d, o, id);
    pdl_durable_notef(d, "%.*s: would be asked (%s)", PDL_FMT(pdl_buf_str(&id->place)),
                      pdl_effect_kind_name(o->e->kind));
    if (d->setup.use == PDL_DURABLE_CHECK)
        pdl_durable_leave_checked(d, o, id);
    else
        pdl_idmap_put(&d->pending.open, o->e->id, o);
}

/* --- the world -------------------------------------------------------------------------------- */

/* A file that is read again, to compare its content with the recorded content. */
struct reading {
    pdl_val now;
};

static void no_piece(void *user, const pdl_effect *e, pdl_str text) {
    (void)user;
    (void)e;
    (void)text;
}

static void on_read_again(void *user, const pdl_effect *e, const pdl_reply *r) {
    (void)e;
    ((struct reading *)user)->now = r->err.kind ? pdl_null() : pdl_keep(r->value);
}

static pdl_val read_again(pdl_durable *d, const pdl_effect *e) {
    struct reading x = {pdl_absent()};
    if (!d->world.next || d->setup.use == PDL_DURABLE_REPLAY || d->setup.use == PDL_DURABLE_SHOW)
        return x.now;
    pdl_effect_sink sink = {.user = &x, .piece = no_piece, .reply = on_read_again};
    pdl_effect *again = pdl_effect_forward(e, sink);
    again->id = 0;
    d->world.next->ops->start(d->world.next, again);
    pdl_durable_edit_source(d, e, &x.now);
    return x.now;
}

/* Compares files that were read: a changed part of the program is replaced by its new text, a
 * changed data file is noted. */
static void compare_files(pdl_durable *d, pending_effect *o) {
    if (o->e->kind != PDL_EFFECT_read && o->e->kind != PDL_EFFECT_source) return;
    pdl_val now = read_again(d, o->e);
    pdl_vref path = pdl_dict_getz(o->e->request, "path");
    bool same = pdl_is_absent(now) || (!o->err.kind && pdl_val_eq(now, o->value)) ||
                (o->err.kind && pdl_is_null(now));
    if (!same && !(o->e->kind == PDL_EFFECT_source && pdl_is_null(now))) {
        d->match.found.n_changed++;
        if (o->e->kind == PDL_EFFECT_source) pdl_durable_is_other(d);
        pdl_durable_notef(d, "%.*s was changed since it was read%s",
                          PDL_FMT(pdl_is_str(path) ? pdl_str_get(path) : PDL_STR("")),
                          o->e->kind == PDL_EFFECT_source ? "" : "; the run has what it read then");
        if (o->e->kind == PDL_EFFECT_source && !o->err.kind) {
            pdl_drop(o->value);
            o->value = now;
            now = pdl_absent();
        }
    }
    pdl_drop(now);
}

/* Answers the effect from the recorded row. Takes o. */
void pdl_durable_reuse(pdl_durable *d, pending_effect *o) {
    pdl_reply r = {.value = o->value, .err = o->err};
    d->match.found.n_reused++;
    pdl_durable_forecast_recorded(d, o, false);
    if (o->e->kind == PDL_EFFECT_write) pdl_durable_reused_write(d, o->e);
    pdl_durable_remember_code(d, o);
    compare_files(d, o);
    r.value = o->value;
    pdl_world_charge(d->world.next, o->e, &r);
    if (pdl_effect_has(o->e->kind, PDL_EFFECT_WAITS))
        pdl_durable_enqueue(d, o);
    else
        pdl_durable_give(o);
}

/* Forgets everything that this process wrote, since the process has executed nothing. */
static void forget_attempt(pdl_durable *d) {
    pdl_err err = {0};
    pdl_store_roll_back(d->file.store);
    if (!pdl_store_put(d->file.store, "state", pdl_str_of(d->file.was_state), &err) ||
        !pdl_store_put(d->file.store, "owner", PDL_STR(""), &err))
        pdl_durable_note_problem(d, &err);
}

void pdl_durable_give_up(pdl_durable *d, const pdl_err *why) {
    pdl_err copy = {0};
    if (d->file.problem.kind || d->setup.use != PDL_DURABLE_CONTINUE || d->group.server) return;
    forget_attempt(d);
    pdl_err_copy(&copy, why);
    pdl_durable_note_problem(d, &copy);
}

void pdl_durable_decide(pdl_durable *d) {
    pdl_err err = {0};
    if (!d->match.undecided) return;
    d->match.undecided = false;
    pdl_durable_note_left(d);
    if (d->file.problem.kind || !pdl_durable_has_changes(d)) return;
    forget_attempt(d);
    pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0},
                "the program has changed since the run began: %s",
                d->match.found.notes.n ? d->match.found.notes.p[0] : "");
    pdl_durable_note_problem(d, &err);
}

/* Returns true when --changed fail is set and the requests differ from the recorded ones. */
static bool is_unexpected(const pdl_durable *d) {
    return d->setup.opt.changed_fails && pdl_durable_has_changes(d);
}

/* Executes an effect, at once or with the next flush. Takes o. */
static void proceed(pdl_durable *d, pending_effect *o, const identity *id) {
    pdl_err err = {0};
    bool waits = pdl_durable_waits_for_session(d, o);
    if (waits && !o->row && !pdl_durable_write_begin(d, o, id, &err))
        pdl_durable_note_problem(d, &err);
    if (d->file.problem.kind)
        pdl_durable_refuse(d, o);
    else if (o->e->kind == PDL_EFFECT_write)
        write_at_once(d, o, id);
    else if (waits)
        pdl_durable_rebuild_first(d, o);
    else
        hold(d, o, id);
}

/* Completes the row of an action with the result that the user gave with --skip. Takes o. */
static void complete(pdl_durable *d, pending_effect *o) {
    if (writes(d)) write_answer(d, o);
    pdl_durable_reuse(d, o);
}

/* Executes an effect, unless an earlier process has already executed it at another place of the
 * program. Takes o. */
static void proceed_unless_done(pdl_durable *d, pending_effect *o, const identity *id) {
    done_kind done = pdl_durable_done_elsewhere(d, o, id);
    if (done == DONE_NOWHERE)
        proceed(d, o, id);
    else if (done == DONE_SKIPPED)
        complete(d, o);
    else if (o->e->kind == PDL_EFFECT_write)
        pdl_durable_give(o);
    else
        pdl_durable_enqueue(d, o);
}

/* Decides about the waiting actions once all recorded answers are delivered. */
void pdl_durable_settle(pdl_durable *d) {
    if (!d->pending.waiting.n || d->pending.answered.n > d->pending.answered_head) return;
    pdl_durable_decide(d);
    for (size_t i = 0; i < d->pending.waiting.n; i++) {
        pending_effect *o = d->pending.waiting.p[i];
        pdl_err err = {0};
        identity id;
        d->pending.waiting.p[i] = NULL;
        if (!o) continue;
        if (d->file.problem.kind || !pdl_durable_identify(d, o->e, &id, &err)) {
            pdl_durable_note_problem(d, &err);
            pdl_durable_refuse(d, o);
            continue;
        }
        if (d->setup.use == PDL_DURABLE_CHECK)
            pdl_durable_foresee(d, o, &id);
        else
            proceed_unless_done(d, o, &id);
        pdl_durable_identity_fini(&id);
    }
    d->pending.waiting.n = 0;
}

static void go(pdl_durable *d, pending_effect *o, const identity *id) {
    pdl_err err = {0};
    if (o->e->kind == PDL_EFFECT_write) pdl_durable_decide(d); /* a write is never held */
    if (is_unexpected(d)) {
        pdl_err_set(&err, PDL_E_runtime, o->e->loc,
                    "the program has changed since the run began: %s",
                    d->match.found.notes.n ? d->match.found.notes.p[0] : "");
        pdl_durable_note_problem(d, &err);
    }
    if (!d->file.is_new) {
        d->match.found.n_asked++;
        if (!o->row && d->setup.use == PDL_DURABLE_CONTINUE && !goes_at_once(o->e))
            PDL_TRACE(d->setup.opt.debug, journal, "asked: %s", pdl_buf_z(&id->place));
    }
    if (d->file.problem.kind) {
        pdl_durable_refuse(d, o);
        return;
    }
    if (o->row && o->e->kind == PDL_EFFECT_sleep) shorten(o, o->begin_wall);
    if (goes_at_once(o->e))
        ask_at_once(d, o, id);
    else if (o->e->kind == PDL_EFFECT_write)
        proceed_unless_done(d, o, id);
    else if (d->match.undecided || pdl_durable_may_be_done(d, o, id))
        *pdl_vec_push(&d->pending.waiting) = o;
    else
        proceed(d, o, id);
}

static void start(pdl_world *w, pdl_effect *e) {
    pdl_durable *d = of(w);
    assert(pdl_durable_ok(d));
    pdl_err err = {0};
    identity id;
    pending_effect *o = pdl_durable_pending_new(d, e);
    if (!pdl_effect_has(e->kind, PDL_EFFECT_KEPT)) {
        pdl_durable_send(d, o);
        return;
    }
    if (!pdl_durable_identify(d, e, &id, &err)) {
        pdl_err_move(&o->err, &err);
        pdl_durable_enqueue(d, o);
        return;
    }
    match_kind m = d->file.is_new ? MATCH_NONE : pdl_durable_match(d, o, &id);
    if (m == MATCH_FAILED) pdl_durable_forecast_stop(d, pdl_buf_str(&id.place), &o->err);
    if (m == MATCH_NONE && !d->file.is_new) pdl_durable_note_replaced(d, o, &id);
    if (m == MATCH_ANSWERED)
        pdl_durable_reuse(d, o);
    else if (m == MATCH_FAILED && pdl_effect_has(e->kind, PDL_EFFECT_WAITS))
        pdl_durable_enqueue(d, o);
    else if (m == MATCH_FAILED)
        pdl_durable_give(o);
    else if (m == MATCH_AGAIN && o->has_reply)
        complete(d, o);
    else if (d->setup.use != PDL_DURABLE_CONTINUE)
        leave_open(d, o, &id);
    else
        go(d, o, &id);
    pdl_durable_identity_fini(&id);
}

static void write_cancelled(pdl_durable *d, const pending_effect *o) {
    pdl_err err = {0};
    store_effect row = {.id = o->row,
                        .attempt = o->attempt,
                        .end = pdl_journal_wall(),
                        .end_clock = pdl_durable_clock(d),
                        .state = STORE_CANCELLED};
    if (o->row && writes(d) && !pdl_store_end(d->file.store, &row, &err))
        pdl_durable_note_problem(d, &err);
}

static bool cancel_in(pending_effect **list, size_t n, uint32_t id) {
    for (size_t i = 0; i < n; i++) {
        if (!list[i] || !list[i]->e || list[i]->e->id != id) continue;
        if (!list[i]->has_reply) write_cancelled(list[i]->d, list[i]);
        pdl_durable_drop_open(list[i]);
        list[i] = NULL;
        return true;
    }
    return false;
}

static void cancel(pdl_world *w, uint32_t id) {
    pdl_durable *d = of(w);
    if (d->pending.delivered && d->pending.delivered->e && d->pending.delivered->e->id == id) {
        pdl_effect_free(d->pending.delivered->e);
        d->pending.delivered->e = NULL;
        return;
    }
    pending_effect *o = pdl_idmap_find(&d->pending.open, id);
    if (o && o->sent) {
        d->pending.n_open--;
        if (o->e->kind == PDL_EFFECT_input) d->pending.n_inputs--;
        d->progress.output.n_shown -= o->shown;
        d->world.next->ops->cancel(d->world.next, id);
    }
    if (o && !d->progress.parked && !d->progress.ends) write_cancelled(d, o);
    if (o) {
        size_t i = 0;
        pdl_idmap_del(&d->pending.open, id);
        while (i < d->pending.unanswered.n && d->pending.unanswered.p[i] != o) i++;
        if (i < d->pending.unanswered.n && !d->progress.parked)
            d->pending.unanswered.p[i] = d->pending.unanswered.p[--d->pending.unanswered.n];
        if (i >= d->pending.unanswered.n || !d->progress.parked) pdl_durable_drop_open(o);
        return;
    }
    if (cancel_in(d->pending.queued.p, d->pending.queued.n, id) ||
        cancel_in(d->pending.answered.p + d->pending.answered_head,
                  d->pending.answered.n - d->pending.answered_head, id) ||
        cancel_in(d->pending.waiting.p, d->pending.waiting.n, id))
        return;
    (void)cancel_in(d->rebuild.after_rebuild.p, d->rebuild.after_rebuild.n, id);
}

bool pdl_durable_poll_next(pdl_durable *d, int timeout_ms) {
    if (!d->world.next) return false;
    if (writes(d)) pdl_store_expect(d->file.store, false);
    bool open = d->world.next->ops->poll(d->world.next, timeout_ms);
    if (writes(d)) {
        pdl_durable_commit(d, false);
        pdl_store_expect(d->file.store, true);
    }
    return open;
}

static bool poll(pdl_world *w, int timeout_ms) {
    pdl_durable *d = of(w);
    if (d->group.server)
        return d->group.server->world.ops->poll(&d->group.server->world, timeout_ms);
    pdl_durable_settle(d);
    pdl_durable_flush(d);
    assert(pdl_durable_ok(d));
    if (pdl_durable_deliver(d)) return true;
    if (timeout_ms != 0 && pdl_durable_park(d)) return true;
    bool open = pdl_durable_poll_next(d, timeout_ms);
    if (pdl_durable_deliver(d)) return true;
    return open || d->pending.queued.n > 0;
}

static void close_world(pdl_world *w) { (void)w; }

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll, .close = close_world};

void pdl_durable_ends(pdl_durable *d) { d->progress.ends = true; }

bool pdl_durable_is_ready(const pdl_durable *d) {
    return d->pending.answered.n > d->pending.answered_head || d->pending.queued.n > 0 ||
           d->pending.waiting.n > 0;
}

/* --- decisions of policies ------------------------------------------------------------------- */

static void on_event(void *user, const pdl_event *e) {
    pdl_durable *d = user;
    pdl_buf place = PDL_BUF, raw = PDL_BUF, text = PDL_BUF;
    pdl_err err = {0};
    if (e->kind != PDL_EVENT_decision || !writes(d)) return;
    pdl_path_text(e->path ? e->path : e->effect ? e->effect->place : NULL, &place);
    bool ok = pdl_effect_encode(e->value, &raw, &err);
    if (ok) pdl_secret_refs_refer(&d->file.keys, pdl_buf_str(&raw), &text);
    ok = ok && pdl_store_decide(d->file.store, pdl_journal_wall(), pdl_buf_str(&place),
                                pdl_buf_str(&text), &err);
    if (!ok) pdl_durable_note_problem(d, &err);
    pdl_buf_fini(&place);
    pdl_buf_fini(&raw);
    pdl_buf_fini(&text);
}

pdl_sink pdl_durable_sink(pdl_durable *d) { return (pdl_sink){d, on_event, false}; }

/* --- keys of requests for services ------------------------------------------------------------ */

/* Writes a 128-bit id for a request. The id is a hash with a salt that only the file of the run
 * has, so it reveals nothing about the program. */
static void name_request(void *user, uint32_t effect, uint32_t part, char out[33]) {
    pdl_durable *d = user;
    pending_effect *o = pdl_idmap_find(&d->pending.open, effect);
    pdl_buf b = PDL_BUF;
    char hex[65];
    if (d->pending.is_retry_due)
        /* A retry depends on the previous answer, so that answer is synced first. */
        pdl_durable_commit(d, true);
    d->pending.is_retry_due = false;
    pdl_buf_putf(&b, "%s\n", d->file.salt);
    if (o) pdl_path_text(o->e->place, &b);
    pdl_buf_putf(&b, "\n%u\n%u\n%lld", o ? o->e->seq : effect, part,
                 (long long)(o ? o->attempt : 0));
    pdl_hash_hex(pdl_buf_str(&b), hex);
    memcpy(out, hex, 32);
    out[32] = 0;
    pdl_buf_fini(&b);
}

static void note_answered(void *user, uint32_t effect, int status) {
    pdl_durable *d = user;
    pending_effect *o = pdl_idmap_find(&d->pending.open, effect);
    pdl_err err = {0};
    if (!o || !o->row || !writes(d)) return;
    /* An answer with success is nearly always the last one, which the row of the effect records. So
     * only other answers are recorded here. */
    bool is_last = status >= 200 && status < 300;
    if (is_last) {
        o->attempt++;
        return;
    }
    if (!pdl_store_attempt(d->file.store, o->row, o->attempt, pdl_journal_wall(), status, &err))
        pdl_durable_note_problem(d, &err);
    o->attempt++;
    d->pending.is_retry_due = true;
}

void pdl_durable_attach(pdl_durable *d, const pdl_durable_options *o) {
    pdl_str dir = o->dir;
    d->setup.opt = *o;
    d->match.undecided =
        o->changed_fails && !d->file.is_new && d->setup.use == PDL_DURABLE_CONTINUE;
    while (dir.n > 1 && dir.p[dir.n - 1] == '/') dir.n--;
    d->setup.dir = dir.n && !pdl_str_is(dir, ".") ? pdl_str_dup(dir) : NULL;
    d->pending.sender = (pdl_sender){d, name_request, note_answered};
}

pdl_world *pdl_durable_world(pdl_durable *d, pdl_world *next) {
    d->world.next = next;
    d->world.ops = &ops;
    return &d->world;
}
