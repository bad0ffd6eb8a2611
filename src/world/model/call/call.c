/* call.c -- the life of one call: its states, and how its request is sent.
 *
 *   NEW -> WRITING -> AWAITS_FIRST -> AWAITS_TOKEN -> AWAITS_SLOT -> SENT
 *             |
 *             \-> MOCKING
 *   SENT -> STREAMING -> READING -> ENDED
 *    ^ \--> ONE_BODY  ---/  |
 *    \----- AWAITS_JOB <----/
 *   any of them -> FAILED -> WRITING (fallback, new token, without schema)
 *                         -> AWAITS_RETRY -> AWAITS_SLOT, or WRITING
 *                         -> ENDED
 *
 * A call is driven by callbacks of five other parts (transfers, timers, the token cache, rates, the
 * sink of the effect), in an order that servers choose. With a flag for each fact there would be
 * thousands of combinations, of which only a dozen can occur. So the call has one state; the table
 * below says which state may follow which and what a call may hold in each; pdl_call_enter refuses
 * everything else. What happened before, as far as it matters later, is kept beside the state:
 * retries, fallbacks, what was shown.
 *
 * A request may have to wait four times before it is sent: for a call whose request begins alike
 * (pdl_follow_waits), for a token (pdl_call_send), for a rate slot (acquire_rate_slot), and for a
 * transfer (start_http). The poll for a job waits only for a transfer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/call.h"

#include <assert.h>

#include "base/hash.h"
#include "base/os.h"
#include "io/clock.h"
#include "model/ask/params.h"
#include "model/ask/processor.h"
#include "model/call/life.h"
#include "model/call/wire_log.h"

#include "base/banned.h"

enum { MOCK_PIECE_CP = 3 };

/* --- states ----------------------------------------------------------------------------------- */

/* Resources that a call may hold. SLOT: the call waits for a rate slot; TURN: the call has a rate
 * slot. */
enum { HTTP = 1, TIMER = 2, TOKEN = 4, SLOT = 8, TURN = 16, ALL = 31 };

#define TO(state) (1u << PDL_CALL_##state)

/* The states that may follow each state. Every state but the last two may also be cancelled, which
 * the rows do not repeat. */
static const struct {
    const char *name;
    unsigned holds;
    unsigned next;
} states[] = {
    [PDL_CALL_NEW] = {"new", 0, TO(WRITING)},
    [PDL_CALL_WRITING] = {"writing", 0,
                          TO(MOCKING) | TO(AWAITS_FIRST) | TO(AWAITS_TOKEN) | TO(AWAITS_SLOT) |
                              TO(SENT) | TO(FAILED)},
    [PDL_CALL_MOCKING] = {"mocking", TIMER, TO(FAILED) | TO(ENDED)},
    [PDL_CALL_AWAITS_FIRST] = {"awaits first", TIMER,
                               TO(WRITING) | TO(AWAITS_TOKEN) | TO(AWAITS_SLOT) | TO(SENT) |
                                   TO(FAILED)},
    [PDL_CALL_AWAITS_TOKEN] = {"awaits token", TOKEN | TIMER,
                               TO(AWAITS_SLOT) | TO(SENT) | TO(FAILED)},
    [PDL_CALL_AWAITS_SLOT] = {"awaits slot", SLOT | TURN, TO(SENT)},
    [PDL_CALL_SENT] = {"sent", HTTP | TURN,
                       TO(STREAMING) | TO(ONE_BODY) | TO(READING) | TO(FAILED)},
    [PDL_CALL_STREAMING] = {"streaming", HTTP | TURN, TO(READING) | TO(FAILED)},
    [PDL_CALL_ONE_BODY] = {"one body", HTTP | TURN, TO(READING) | TO(FAILED)},
    [PDL_CALL_READING] = {"reading", 0, TO(AWAITS_JOB) | TO(FAILED) | TO(ENDED)},
    [PDL_CALL_AWAITS_JOB] = {"awaits job", TIMER, TO(SENT)},
    [PDL_CALL_FAILED] = {"failed", 0, TO(WRITING) | TO(AWAITS_RETRY) | TO(ENDED)},
    [PDL_CALL_AWAITS_RETRY] = {"awaits retry", TIMER,
                               TO(WRITING) | TO(AWAITS_SLOT) | TO(SENT) | TO(FAILED)},
    [PDL_CALL_CANCELLED] = {"cancelled", ALL, TO(ENDED)},
    [PDL_CALL_ENDED] = {"ended", ALL, 0},
};
static_assert(sizeof states / sizeof states[0] == PDL_CALL_STATES, "one row per state");

static bool may_follow(pdl_call_state from, pdl_call_state to) {
    if (to == PDL_CALL_CANCELLED) return from != PDL_CALL_CANCELLED && from != PDL_CALL_ENDED;
    return (states[from].next & 1u << to) != 0;
}

static unsigned held_by(const pdl_call *c) {
    return (c->http_id ? HTTP : 0u) | (c->timer ? TIMER : 0u) | (c->token.token ? TOKEN : 0u) |
           (c->rate_slot.waits ? SLOT : 0u) | (c->rate_slot.inside ? TURN : 0u);
}

bool pdl_call_is_ok(const pdl_call *c) {
    return c->state < PDL_CALL_STATES && !(held_by(c) & ~states[c->state].holds) && *c->prev == c &&
           (!c->next || c->next->prev == &c->next) && c->calls->n_open > 0 &&
           c->replay_left <= c->shown_text.len && (c->n_polls == 0 || c->job.get.len > 0);
}

void pdl_call_enter(pdl_call *c, pdl_call_state next) {
    if (!may_follow(c->state, next))
        PDL_BUG("a model call goes from '%s' to '%s'", states[c->state].name, states[next].name);
    c->state = next;
    assert(pdl_call_is_ok(c));
    unsigned answered = TO(STREAMING) | TO(ONE_BODY) | TO(READING),
             over = TO(FAILED) | TO(CANCELLED) | TO(ENDED);
    if (c->leader && next != PDL_CALL_AWAITS_FIRST) pdl_follow_leave(c);
    if (c->leads && (answered | over) & 1u << next)
        pdl_follow_settle(c, (answered & 1u << next) != 0);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void unlink_call(pdl_call *c) {
    *c->prev = c->next;
    if (c->next)
        c->next->prev = c->prev;
    else
        c->calls->end = c->prev;
    c->calls->n_open--;
}

void pdl_call_release(pdl_call *c) {
    pdl_call_enter(c, PDL_CALL_ENDED);
    assert(!c->leader && !c->followers);
    const pdl_http_carrier *carrier = c->calls->opt.carrier;
    if (c->http_id && carrier)
        carrier->cancel(carrier->user, c->http_id);
    else if (c->http_id)
        pdl_http_cancel(c->calls->http, c->http_id);
    pdl_call_stop_waiting(c);
    pdl_token_cancel(&c->token);
    pdl_rates_leave(c->calls->rates, &c->rate_slot);
    pdl_buf_fini(&c->wire_text);
    pdl_job_best_effort_cancel(c);
    pdl_call_reset_answer(c);
    pdl_buf_fini(&c->shown_text);
    pdl_drop(c->attempts.list);
    pdl_call_reset(c);
    pdl_drop(c->given);
    pdl_drop(c->model);
    unlink_call(c);
    pdl_free(c);
}

void pdl_call_cancel(pdl_call *c) {
    if (c->state != PDL_CALL_CANCELLED) pdl_call_enter(c, PDL_CALL_CANCELLED);
    if (c->in_callback) return;
    pdl_effect *e = c->e;
    pdl_call_release(c);
    pdl_effect_free(e);
}

/* --- the transfer ----------------------------------------------------------------------------- */

bool pdl_call_is_streamed(const pdl_call *c) {
    return c->ask.stream && c->ask.provider &&
           c->ask.provider->dialect->framing != PDL_FRAMING_NONE;
}

static void on_done(void *user, const pdl_http_reply *r) {
    pdl_call *c = user;
    pdl_fault f = c->fault;
    bool began = c->state == PDL_CALL_STREAMING;
    assert(pdl_call_is_ok(c));
    c->fault = (pdl_fault){0};
    c->http_id = 0;
    if (r->end == PDL_HTTP_OK && c->e->sender)
        c->e->sender->answered(c->e->sender->user, c->e->id, r->status);
    pdl_wire_received(c, r);
    pdl_rates_on_reply(c->calls->rates, &c->rate_slot, r);
    if (f.kind == PDL_E_NONE && r->end != PDL_HTTP_OK)
        pdl_fault_of_transport(r, began, &f);
    else if (f.kind == PDL_E_NONE && (r->status < 200 || r->status > 299))
        pdl_fault_of_status(r, &f);
    if (f.kind != PDL_E_NONE)
        pdl_call_fail(c, &f);
    else
        pdl_call_read_reply(c, r);
}

/* Adds the header Idempotency-Key, by which the service recognises a repeated request. The value of
 * the header is a name that the sender of the effect makes. This name reveals nothing about the
 * program. */
static void put_name(pdl_call *c) {
    char name[33];
    /* the program sets the header itself */
    if (!c->is_named && pdl_headers_has(&c->headers, "Idempotency-Key")) return;
    c->is_named = true;
    uint32_t part = c->e->kind == PDL_EFFECT_embed ? c->e->seq : 0;
    c->e->sender->name(c->e->sender->user, c->e->id, part, name);
    pdl_headers_put(&c->headers, "Idempotency-Key", name);
}

/* Adds the header with which the service can continue the trace of the run. */
static void put_traceparent(pdl_call *c) {
    char text[56];
    const pdl_model_options *o = &c->calls->opt;
    if (!o->traceparent || (!c->is_traced && pdl_headers_has(&c->headers, "traceparent"))) return;
    c->is_traced = o->traceparent(o->user, c->e->id, text);
    if (!c->is_traced) return;
    pdl_headers_put(&c->headers, "traceparent", text);
    if (o->tracestate) pdl_headers_put(&c->headers, "tracestate", o->tracestate);
}

/* Sends the request, or the poll for the job that the request began. */
static void start_http(pdl_call *c) {
    bool poll = c->job.get.len > 0, stream = pdl_call_is_streamed(c);
    pdl_vref verify = pdl_dict_getz(c->given, "ssl_verify");
    pdl_call_reset_answer(c);
    if (c->e->sender && !poll) put_name(c);
    put_traceparent(c);
    pdl_http_request req = {
        .method = poll ? "GET" : "POST",
        .url = pdl_buf_z(poll ? &c->job.get : &c->url),
        .headers = (const char *const *)c->headers.p,
        .n_headers = c->headers.n,
        .body = poll ? (pdl_str){0} : pdl_buf_str(&c->body),
        .connect_ms = c->timing.connect,
        .first_ms = c->timing.first,
        .idle_ms = c->timing.idle,
        .total_ms = c->timing.total,
        .insecure = pdl_is_bool(verify) && !pdl_bool_of(verify),
        .compressed = !stream,
        .user = c,
        .data = stream ? pdl_call_on_data : NULL,
        .done = on_done,
    };
    pdl_call_enter(c, PDL_CALL_SENT);
    c->attempts.start_ns = pdl_clock_ns();
    pdl_wire_sent(c, &req);
    const pdl_http_carrier *carrier = c->calls->opt.carrier;
    c->http_id =
        carrier ? carrier->start(carrier->user, &req) : pdl_http_start(c->calls->http, &req);
}

/* --- the rates -------------------------------------------------------------------------------- */

static void on_slot(void *user) { start_http(user); }

static void put(pdl_buf *b, pdl_str s) {
    pdl_buf_clear(b);
    pdl_buf_put(b, s);
}

/* Returns the name of the rate bucket: provider, host and key. Most calls have the bucket of the
 * previous call, so its name is kept: hashing the key takes as long as writing the request. */
static pdl_str bucket_of(const pdl_call *c) {
    pdl_calls *k = c->calls;
    pdl_str host = pdl_url_host(pdl_buf_str(&c->url)), key = pdl_buf_str(&c->route.key);
    if (k->limited_by == c->route.provider && pdl_str_eq(pdl_buf_str(&k->limited_host), host) &&
        pdl_str_eq(pdl_buf_str(&k->limited_key), key))
        return pdl_buf_str(&k->bucket);
    char hex[65];
    pdl_hash_hex(key, hex);
    k->limited_by = c->route.provider;
    if (k->limited_key.p) pdl_os_wipe(k->limited_key.p, k->limited_key.cap);
    put(&k->limited_host, host);
    put(&k->limited_key, key);
    pdl_buf_clear(&k->bucket);
    pdl_buf_putf(&k->bucket, "%s %.*s %s", c->route.provider->prefix, PDL_FMT(host), hex);
    return pdl_buf_str(&k->bucket);
}

/* Fails the call and returns true when the service accepts no request before the time of the call
 * is over. */
static bool is_held_too_long(pdl_call *c) {
    if (!c->calls->opt.patience_ms) return false;
    double held = pdl_rates_held_s(c->calls->rates, bucket_of(c));
    if (held <= pdl_call_seconds_left(c)) return false;
    pdl_fault f = {0};
    pdl_fault_set(&f, PDL_E_rate_limit, 429, "the service asked to wait longer than there is time");
    f.retry_after = held;
    pdl_call_fail(c, &f);
    return true;
}

static void acquire_rate_slot(pdl_call *c) {
    if (is_held_too_long(c)) return;
    bool counts = c->calls->opt.rates.tokens_per_minute > 0;
    double tokens = counts ? (double)pdl_tokens_estimate(c->e->request) : 0;
    pdl_call_enter(c, PDL_CALL_AWAITS_SLOT);
    c->rate_slot.fn = on_slot;
    c->rate_slot.user = c;
    bool go = pdl_rates_enter(c->calls->rates, bucket_of(c), tokens, &c->rate_slot);
    if (go) start_http(c);
}

/* A poll for a job needs no rate slot, since it belongs to the request that began the job. A
 * request that is sent as a part of a batch needs no rate slot either, because the batches of a
 * provider have separate limits. */
void pdl_call_send_again(pdl_call *c) {
    if (c->job.get.len || c->calls->opt.carrier)
        start_http(c);
    else
        acquire_rate_slot(c);
}

/* --- the token -------------------------------------------------------------------------------- */

pdl_str pdl_call_token_id(const pdl_call *c) {
    return pdl_buf_str(c->token_id.len ? &c->token_id : &c->token_request);
}

static void on_token(void *user, pdl_fault *f) {
    pdl_call *c = user;
    pdl_call_stop_waiting(c);
    if (f)
        pdl_call_fail(c, f);
    else
        pdl_call_send(c);
}

static void await_token(pdl_call *c) {
    pdl_str url = pdl_buf_str(&c->token_url), form = pdl_buf_str(&c->token_request);
    if (c->state != PDL_CALL_AWAITS_TOKEN) pdl_call_enter(c, PDL_CALL_AWAITS_TOKEN);
    c->token.fn = on_token;
    c->token.user = c;
    pdl_token_acquire(&c->calls->tokens, url, pdl_call_token_id(c), form, &c->token);
    if (pdl_call_patience(c)) pdl_call_wait(c, pdl_call_patience(c));
}

void pdl_call_send(pdl_call *c) {
    pdl_str url = pdl_buf_str(&c->token_url);
    if (url.n && !pdl_headers_has(&c->headers, "Authorization")) {
        pdl_str token = pdl_token_find(&c->calls->tokens, url, pdl_call_token_id(c));
        if (token.n == 0) {
            await_token(c);
            return;
        }
        pdl_headers_bearer(&c->headers, token);
        pdl_headers_note(&c->headers, c->calls->opt.secrets);
    }
    pdl_call_send_again(c);
}

/* --- the request ------------------------------------------------------------------------------ */

static void answer_mock(pdl_call *c) {
    pdl_fault f = {0};
    pdl_val raw;
    pdl_vref t = pdl_dict_getz(c->given, "mock_timeout");
    pdl_call_enter(c, PDL_CALL_MOCKING);
    if (!pdl_is_absent(t) && pdl_val_truth(t))
        pdl_call_wait(c, pdl_call_patience(c));
    else if (!pdl_mock_read(&c->ask, &raw, &f))
        pdl_call_fail(c, &f);
    else if (pdl_call_show_whole(c, raw, MOCK_PIECE_CP))
        pdl_call_finish(c, raw, 0);
    else
        pdl_call_stop(c, raw);
}

void pdl_call_write_request(pdl_call *c) {
    pdl_err err = {0};
    pdl_call_enter(c, PDL_CALL_WRITING);
    c->job_shown = 0;
    if (!pdl_call_build(c, &err)) {
        c->ask.provider = c->route.provider;
        pdl_call_fail_early(c, &err);
    } else if (pdl_is_absent(c->ask.texts) && pdl_mock_is(&c->ask)) {
        answer_mock(c);
    } else if (!pdl_follow_waits(c)) {
        pdl_call_send(c);
    }
}

void pdl_call_start(pdl_calls *calls, pdl_effect *e) {
    pdl_call *c = PDL_NEW(pdl_call);
    pdl_vref params = pdl_dict_getz(e->request, "parameters"),
             model = pdl_dict_getz(e->request, "model");
    c->calls = calls;
    c->e = e;
    c->number = ++calls->n_made;
    c->start_ns = pdl_clock_ns();
    c->model = pdl_is_absent(model) ? pdl_null() : pdl_keep(model);
    if (!pdl_is_absent(pdl_processor_of(e->request)))
        c->given = pdl_processor_given(e->request);
    else
        c->given = pdl_is_dict(params) ? pdl_keep(params) : pdl_dict_new(0);
    c->clean = pdl_absent();
    c->messages = c->attempts.list = pdl_absent();
    c->shown_text = PDL_BUF;
    c->wire_text = PDL_BUF;
    c->prev = calls->end;
    *calls->end = c;
    calls->end = &c->next;
    calls->n_open++;
    pdl_call_write_request(c);
}
