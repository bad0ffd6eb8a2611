/* chat.c -- POST /v1/chat/completions: a request waits for its turn, its runs begin, and what they
 * print is sent. Every form of requests is run by this file, because all of them are turned into
 * chats first (form.h).
 *
 *            read            a slot for each choice         all runs are over, or one failed
 *     client ----> [waiting] ------------------> [running] ---------------> answered, gone
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/linked.h"
#include "base/pace.h"
#include "io/clock.h"
#include "io/sse.h"
#include "serve/error_status.h"
#include "serve/idempotency.h"
#include "serve/request_log.h"
#include "serve/response.h"
#include "serve/sent_parts.h"

#include "base/banned.h"

enum {
    FULL = 1 << 20, /* number of unread bytes of a client at which its runs are paused */
    SILENCE_MS = 15000,
    SLOW_NS = 20000000, /* a turn that takes at least this long counts as slow */
    SLOW_TURNS = 8,     /* number of short turns after which a program no longer counts as slow */
};

/* --- lists ------------------------------------------------------------------------------------ */

void pdl_serve_works_move_last(works *l, work *w) {
    pdl_linked_remove(l, w);
    pdl_linked_append(l, w);
}

bool pdl_serve_ok(const pdl_serve *s) {
    uint32_t n = 0, slots = s->n_slots;
    size_t bytes = 0;
    for (const work *w = s->waiting.first; w; w = w->next, n++) {
        if (!w->waits || w->n_over || !pdl_linked_has(&s->waiting, w)) return false;
        bytes += w->n_bytes;
    }
    for (const work *w = s->going.first; w; w = w->next) {
        if (w->waits || w->n_over > w->n || !pdl_linked_has(&s->going, w)) return false;
        slots += w->n;
    }
    return n == s->n_waiting && bytes == s->bytes_waiting && slots == s->opt.max_runs;
}

/* --- answers in pieces ------------------------------------------------------------------------ */

static void send(work *w, pdl_buf *b) {
    pdl_serve_out_put(w, pdl_buf_str(b));
    pdl_buf_fini(b);
}

static void begin_pieces(work *w) {
    pdl_buf b = PDL_BUF;
    if (w->begun || !pdl_serve_out_any(w)) return;
    w->begun = true;
    pdl_serve_out_begin(w);
    w->form->begin(w, &b);
    send(w, &b);
}

/* Called when nothing was sent for a while. Begins the answer even without text, and keeps the
 * connection open. Usually an answer begins only with its first text, so that an earlier error can
 * still set the status. */
static void on_silence(void *user) {
    work *w = user;
    w->silence = pdl_timer_start(w->s->loop, pdl_pace_ms(SILENCE_MS), on_silence, w);
    begin_pieces(w);
    pdl_serve_out_keep_alive(w);
}

static void put_text(choice *c, pdl_str text) {
    pdl_buf b = PDL_BUF;
    if (!text.n) return;
    begin_pieces(c->work);
    c->work->form->text(c, text, &b);
    send(c->work, &b);
}

/* Sends the parts of an answer that are not text. Takes extra, which may be absent. */
static void put_extra(choice *c, pdl_val extra) {
    pdl_buf b = PDL_BUF;
    if (pdl_is_absent(extra)) return;
    begin_pieces(c->work);
    c->work->form->extra(c, extra, &b);
    send(c->work, &b);
    pdl_drop(extra);
}

static void on_text(choice *c, const pdl_event *e) {
    pdl_buf sure = PDL_BUF;
    if (e->look != PDL_LOOK_MODEL) c->sent.has_other_text = true;
    pdl_serve_cutoff_feed(&c->cut, e->text, e->look != PDL_LOOK_MODEL, &sure);
    put_text(c, pdl_buf_str(&sure));
    pdl_buf_fini(&sure);
}

/* Receives the text that a run prints. When a model gives the result, also receives the other parts
 * of its reply. */
static void on_event(void *user, const pdl_event *e) {
    choice *c = user;
    work *w = c->work;
    if (!w->stream) return;
    if (e->kind == PDL_EVENT_text)
        on_text(c, e);
    else if (e->kind == PDL_EVENT_extra && w->form->extra)
        put_extra(c, pdl_serve_sent_add(c, e->value));
    else
        return;
    if (w->x && pdl_exchange_pending(w->x) > FULL) pdl_run_yield(c->run);
}

/* Ends a choice. Returns false when its result is not text. */
static bool finish_choice(choice *c, pdl_err *err) {
    pdl_buf b = PDL_BUF, rest = PDL_BUF;
    answer a;
    pdl_serve_cutoff_end(&c->cut, &rest);
    put_text(c, pdl_buf_str(&rest));
    pdl_buf_fini(&rest);
    if (!pdl_serve_answer_read(c, &a, err)) return false;
    begin_pieces(c->work);
    if (c->work->form->extra) put_extra(c, pdl_serve_sent_rest(c, &a));
    c->work->form->end(c, &a, &b);
    send(c->work, &b);
    pdl_serve_answer_fini(&a);
    return true;
}

static void finish_pieces(work *w) {
    pdl_buf b = PDL_BUF;
    w->form->finish(w, &b);
    send(w, &b);
    pdl_serve_keyed_succeeded(w);
    pdl_serve_out_end(w);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void put_whole(work *w, pdl_val v) {
    if (w->form->put_whole)
        w->form->put_whole(w, v);
    else
        pdl_serve_out_whole(w, v);
    pdl_serve_keyed_succeeded(w);
}

static void succeed(work *w) {
    pdl_err err = {0};
    pdl_val whole;
    if (w->stream)
        finish_pieces(w);
    else if (w->form->whole(w, &whole, &err))
        put_whole(w, whole);
    else
        pdl_serve_failure_report(w, &err);
    pdl_err_fini(&err);
}

/* Returns the size of a request; 0 for a line of MCP, because the line was freed. */
static size_t bytes_of(const pdl_exchange *x) { return x ? pdl_exchange_body(x).n : 0; }

static void leave_queue(work *w) {
    pdl_serve *s = w->s;
    pdl_linked_remove(&s->waiting, w);
    w->waits = false;
    assert(s->n_waiting > 0);
    s->n_waiting--;
    s->bytes_waiting -= w->n_bytes;
}

static void note_tokens(const choice *c) {
    int64_t calls, completion, prompt;
    pdl_run_usage(c->run, &calls, &completion, &prompt);
    pdl_serve_record_tokens(c->work->x, prompt, completion);
}

static void forget(void *user, pdl_exchange *x) {
    (void)user;
    pdl_exchange_set(x, NULL);
}

/* Frees a request, which is in no list any more. */
static void release(work *w) {
    pdl_serve *s = w->s;
    pdl_serve_out_each(w, forget, NULL);
    pdl_serve_keyed_leave(w);
    for (uint32_t i = 0; i < w->n; i++) {
        pdl_serve_cutoff_fini(&w->choices[i].cut);
        pdl_serve_sent_fini(&w->choices[i].sent);
        if (!w->choices[i].run) continue;
        if (w->x) note_tokens(&w->choices[i]);
        pdl_session_release(s->opt.session, w->choices[i].run, w->choices[i].slot);
        s->slots[s->n_slots++] = w->choices[i].slot;
    }
    pdl_serve_keyed_free(w);
    pdl_timer_stop(w->limit);
    pdl_timer_stop(w->silence);
    pdl_drop(w->body);
    pdl_drop(w->asked);
    pdl_drop(w->output);
    pdl_serve_response_fini(w);
    pdl_free(w->choices);
    pdl_free(w);
}

void pdl_serve_chat_free(work *w) {
    assert(pdl_serve_ok(w->s));
    if (w->waits)
        leave_queue(w);
    else
        pdl_linked_remove(&w->s->going, w);
    release(w);
}

void pdl_serve_chat_over(pdl_exchange *x) {
    work *w = pdl_exchange_get(x);
    if (w && !pdl_serve_keyed_gone(w, x)) pdl_serve_chat_free(w); /* the client has disconnected */
}

/* --- the beginning ---------------------------------------------------------------------------- */

static void refuse_one(void *user, pdl_exchange *x) {
    pdl_serve_answer_error(x, 503, "server_error", "overloaded", pdl_str_of(user));
}

static void overloaded(work *w, const char *why) {
    if (w->form->refuse)
        w->form->refuse(w, pdl_str_of(why));
    else
        pdl_serve_out_each(w, refuse_one, (void *)(uintptr_t)why);
}

static void on_limit(void *user) {
    work *w = user;
    w->limit = NULL;
    if (w->waits) {
        overloaded(w, "its turn did not come in time");
        pdl_serve_chat_free(w);
        return;
    }
    w->late = true;
    for (uint32_t i = 0; i < w->n; i++) {
        pdl_err err = {0};
        if (w->choices[i].over) continue;
        pdl_err_set(&err, PDL_E_timeout, (pdl_loc){0}, "the program did not end in time");
        pdl_run_cancel(w->choices[i].run, &err);
    }
}

static void limit_time(work *w) {
    if (!w->limit) w->limit = pdl_timer_start(w->s->loop, w->s->opt.run_ms, on_limit, w);
}

void pdl_serve_make_id(pdl_serve *s, const char *prefix, char *out, size_t size) {
    s->ids += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = s->ids;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    snprintf(out, size, "%s%016llx", prefix, (unsigned long long)(z ^ (z >> 31)));
}

/* Makes the state of a request. Takes the content of a. */
static work *new_work(pdl_serve *s, pdl_exchange *x, const form *f, const request *a) {
    work *w = PDL_NEW(work);
    w->s = s;
    w->x = x;
    w->model = a->model;
    w->form = f;
    w->body = a->body;
    w->asked = a->chat;
    w->output = pdl_absent();
    w->choices = PDL_NEW_N(choice, a->n);
    w->n = a->n;
    w->created = pdl_clock_wall_ns() / 1000000000;
    w->stream = f->begin && pdl_serve_ask_is_true(w->asked, "stream");
    w->wants_usage =
        pdl_serve_ask_is_true(pdl_dict_getz(w->asked, "stream_options"), "include_usage");
    pdl_serve_make_id(s, f->id, w->id, sizeof w->id);
    if (x) pdl_exchange_set(x, w);
    if (a->keyed) pdl_serve_keyed_own(w, a->keyed);
    return w;
}

static pdl_val variables_of(const work *w, uint32_t i) {
    if (w->form->variables) return w->form->variables(w);
    pdl_val messages =
        w->form->messages ? w->form->messages(w, i) : pdl_keep(pdl_dict_getz(w->asked, "messages"));
    pdl_val vars = pdl_serve_ask_variables(w->s, w->asked, messages);
    pdl_drop(messages);
    return vars;
}

/* Starts the runs of a request. The caller has checked that there is a slot for each choice. */
static void spawn(work *w) {
    pdl_serve *s = w->s;
    pdl_linked_append(&s->going, w);
    for (uint32_t i = 0; i < w->n; i++) {
        choice *c = &w->choices[i];
        pdl_val vars = variables_of(w, i);
        *c = (choice){.work = w,
                      .index = i,
                      .slot = s->slots[--s->n_slots],
                      .fresh = true,
                      .cut = pdl_serve_cutoff_of(w->asked)};
        c->run = pdl_session_spawn(
            s->opt.session,
            &(pdl_spawn){
                .code = w->form->code ? w->form->code(w) : s->codes[w->model - s->opt.models],
                .dir = w->model->dir,
                .name = w->model->name,
                .variables = vars,
                .slot = c->slot,
                .group = w->choices[0].slot,
                .stream = w->stream ? PDL_STREAM_RESULT : PDL_STREAM_NONE,
                .sink = {c, on_event, false},
                .durable = pdl_serve_keyed_run(w, i),
                .provisional = s->opt.provisional,
            });
        pdl_drop(vars);
    }
}

static void queue(work *w) {
    pdl_serve *s = w->s;
    w->waits = true;
    pdl_linked_append(&s->waiting, w);
    s->n_waiting++;
    w->n_bytes = bytes_of(w->x);
    s->bytes_waiting += w->n_bytes;
    limit_time(w);
}

/* Returns true when a request must wait. Requests are served in the order of arrival. A request
 * that needs many slots is not overtaken by requests that need one. */
static bool must_wait(const pdl_serve *s, uint32_t n) { return s->waiting.first || s->n_slots < n; }

static bool may_wait(const pdl_serve *s, const pdl_exchange *x) {
    return s->n_waiting < s->opt.max_waiting &&
           s->bytes_waiting + bytes_of(x) <= PDL_MAX_SERVE_WAITING_BYTES;
}

void pdl_serve_chat_start(pdl_serve *s, pdl_exchange *x, const form *f, const request *r) {
    assert(pdl_serve_ok(s));
    work *w = new_work(s, x, f, r);
    if (!must_wait(s, w->n)) {
        spawn(w);
        /* A durable run is not stepped at once, because its output would be sent before its rows
         * are on the disk. A slow run is not stepped at once, either, because it would delay
         * requests that arrived together with it. */
        if (!w->keyed && !pdl_serve_chat_is_slow(w)) pdl_serve_chat_step(w);
    } else if (may_wait(s, x)) {
        queue(w);
    } else {
        overloaded(w, "as many requests as allowed are in flight");
        release(w);
    }
}

void pdl_serve_chat_begin(pdl_serve *s, pdl_exchange *x, const form *f) {
    request r = {0};
    if (!pdl_serve_ask_read(s, x, f, &r)) return;
    if (!pdl_serve_keyed_find(s, x, &r, &r.keyed)) {
        pdl_serve_chat_start(s, x, f, &r);
        return;
    }
    pdl_drop(r.body);
    pdl_drop(r.chat);
}

void pdl_serve_chat_admit(pdl_serve *s) {
    for (work *w; (w = s->waiting.first) && s->n_slots >= w->n;) {
        leave_queue(w);
        spawn(w);
    }
    assert(pdl_serve_ok(s));
}

/* --- turns ------------------------------------------------------------------------------------ */

static bool can_continue(const choice *c) {
    return !c->over && (c->fresh || c->work->late || pdl_run_is_ready(c->run));
}

bool pdl_serve_chat_is_ready(const work *w) {
    if (w->x && pdl_exchange_pending(w->x) > FULL && !w->late) return false;
    for (uint32_t i = 0; i < w->n; i++)
        if (can_continue(&w->choices[i])) return true;
    return false;
}

/* Steps the run of a choice. Returns false when the request ended with an error. */
static bool step_choice(choice *c) {
    work *w = c->work;
    c->fresh = false;
    pdl_step step = pdl_run_step(c->run);
    if (step == PDL_STEP_FAIL) {
        pdl_serve_failure_report(w, pdl_run_error(c->run));
        return false;
    }
    if (step == PDL_STEP_WAIT) return true;
    c->over = true;
    assert(w->n_over < w->n);
    w->n_over++;
    pdl_err err = {0};
    bool ok = !w->stream || finish_choice(c, &err);
    if (!ok) pdl_serve_failure_report(w, &err);
    pdl_err_fini(&err);
    return ok;
}

static uint8_t *slowness_of(const work *w) { return &w->s->slowness[w->model - w->s->opt.models]; }

bool pdl_serve_chat_is_slow(const work *w) { return *slowness_of(w) > 0; }

static void note_slowness(pdl_serve *s, uint8_t *slowness, uint64_t start) {
    bool slow = pdl_clock_ns() - start >= SLOW_NS;
    s->was_slow |= slow;
    if (slow)
        *slowness = SLOW_TURNS;
    else if (*slowness)
        --*slowness;
}

static void step(work *w) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < w->n; i++)
        if (can_continue(&w->choices[i])) ok = step_choice(&w->choices[i]);
    if (ok && w->n_over < w->n) {
        if (w->stream && !w->silence)
            w->silence = pdl_timer_start(w->s->loop, pdl_pace_ms(SILENCE_MS), on_silence, w);
        limit_time(w);
        return;
    }
    if (ok) succeed(w);
    pdl_serve_chat_free(w);
}

void pdl_serve_chat_step(work *w) {
    pdl_serve *s = w->s; /* w may be freed below */
    uint8_t *slowness = slowness_of(w);
    uint64_t start = pdl_clock_ns();
    step(w);
    note_slowness(s, slowness, start);
}
