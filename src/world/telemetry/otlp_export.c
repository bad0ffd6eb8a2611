/* otlp_export.c -- sends batches of spans to the collector.
 *
 * A batch is one message of OTLP that grows until it is full (BATCH, BATCH_BYTES) or a second has
 * passed. A few batches are in flight at a time, the others wait in a queue. A batch that the
 * collector may accept later is sent again (is_passing, wait_of). Batches that cannot be sent are
 * dropped. After a failure, nothing is sent for PAUSE_NS. When more than MAX_BYTES wait, the
 * collector counts as too slow.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/pace.h"
#include "base/utf8.h"
#include "base/version.h"
#include "io/clock.h"
#include "io/entropy.h"
#include "io/http.h"
#include "telemetry/parts.h"
#include "value/json_put.h"
#include "value/json_read.h"
#include "value/member.h"
#include "value/peer_message.h"

#include "base/banned.h"

enum {
    BATCH = 512,
    BATCH_BYTES = 1 << 20,
    MAX_BYTES = 64 << 20,
    MAX_SENDING = 4,
    TICK_MS = 1000,
    SEND_MS = 10000,
    MAX_LAST_MS = 10000,
    MAX_TRIES = 5,
    FIRST_WAIT_MS = 500,
    LONGEST_S = 60,
    SHOWN = 200 /* bytes of the collector's message that are shown */
};
static const uint64_t PAUSE_NS = 5000000000u;

/* A batch that waits or is in flight. */
typedef struct otlp_sending {
    pdl_otlp *o;
    pdl_buf body;
    size_t n;
    bool is_sent;
    unsigned tries;            /* number of answers that asked to send the batch again */
    struct otlp_sending *next; /* the next batch, which is younger */
} sending;

bool pdl_otlp_ok(const pdl_otlp *o) {
    size_t sent = 0, bytes = 0;
    for (const sending *s = o->sending; s; s = s->next) {
        if (s->o != o || !s->n) return false;
        sent += s->is_sent;
        bytes += s->body.len;
    }
    return sent == o->n_sending && sent <= MAX_SENDING && bytes == o->n_bytes &&
           (!o->sending || o->loop) && (!o->n_batch || o->batch.len);
}

/* Notifies the user of what became of traces. Later calls do nothing. what: the beginning of the
 * sentence. */
static void note_once(pdl_otlp *o, const char *what, const char *why) {
    pdl_buf b = PDL_BUF;
    if (o->noted || !o->opt.note) return;
    o->noted = true;
    pdl_buf_putf(&b, "%s: ", what);
    pdl_address_put(pdl_str_of(o->config.url), &b);
    pdl_buf_putf(&b, ": %s", why);
    o->opt.note(o->opt.note_user, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

static void note_failure(pdl_otlp *o, const char *why) { note_once(o, "traces are not sent", why); }

static void remove_sending(sending *s) {
    sending **at = &s->o->sending;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    s->o->n_sending -= s->is_sent;
    s->o->n_bytes -= s->body.len;
    pdl_buf_fini(&s->body);
    pdl_free(s);
}

static void send_next(pdl_otlp *o);

/* Returns true for answers after which the same batch may be accepted (OTLP over HTTP). */
static bool is_passing(const pdl_http_reply *r) {
    static const int statuses[] = {429, 502, 503, 504};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (r->end == PDL_HTTP_OK && r->status == statuses[i]) return true;
    return false;
}

/* Returns the ms to wait: the time that the collector asks for (*named is set then), or else a time
 * that grows with each attempt. */
static uint64_t wait_of(const pdl_http_reply *r, unsigned tries, bool *named) {
    bool is_date;
    double seconds = pdl_http_retry_after(r, (double)pdl_clock_wall_ns() / 1e9, &is_date);
    *named = seconds >= 0;
    if (*named) return seconds < LONGEST_S ? (uint64_t)(seconds * 1000) : LONGEST_S * 1000;
    return (uint64_t)FIRST_WAIT_MS << (tries < 6 ? tries : 6);
}

static void on_later(void *user) {
    pdl_otlp *o = user;
    o->later = NULL;
    send_next(o);
}

/* Puts the batch back into the queue. Until the wait has ended, no batch is sent. */
static void send_later(sending *s, const pdl_http_reply *r) {
    pdl_otlp *o = s->o;
    bool named;
    uint64_t ms = wait_of(r, s->tries++, &named);
    s->is_sent = false;
    o->n_sending--;
    o->hold_ns = pdl_clock_ns() + ms * 1000000;
    o->named_ns = named ? o->hold_ns : 0;
    pdl_timer_stop(o->later);
    o->later = pdl_timer_start(o->loop, ms, on_later, o);
}

/* Appends words of the collector, which may repeat a key that was sent to it. */
static void put_words(const pdl_otlp *o, pdl_str words, pdl_buf *out) {
    if (!words.n) return;
    PDL_PUT(out, ": ");
    pdl_redact_cut(o->opt.secrets, pdl_utf8_cut(words, SHOWN), out);
}

/* Returns a member. `other` is its name in the definition of the protocol, which some collectors
 * use. */
static pdl_vref member(pdl_vref v, const char *name, const char *other) {
    pdl_vref found = pdl_member(v, name);
    return pdl_is_absent(found) ? pdl_member(v, other) : found;
}

/* Returns how many of n_sent spans the collector rejected. Appends its message to text. */
static size_t read_partial(const pdl_otlp *o, pdl_vref json, size_t n_sent, pdl_buf *text) {
    pdl_vref part = member(json, "partialSuccess", "partial_success");
    pdl_vref count = member(part, "rejectedSpans", "rejected_spans"),
             why = member(part, "errorMessage", "error_message");
    int64_t n = pdl_is(count, PDL_V_INT) ? pdl_int_of(count) : 0;
    if (pdl_is_str(count) && !pdl_num_read_int(pdl_str_get(count), &n)) n = 0;
    bool says = pdl_is_str(why) && pdl_str_get(why).n;
    if (n > 0) pdl_buf_putf(text, "the collector rejected %lld spans", (long long)n);
    if (says && n <= 0) PDL_PUT(text, "the collector warns");
    if (says) put_words(o, pdl_str_get(why), text);
    return n <= 0 ? 0 : (uint64_t)n < n_sent ? (size_t)n : n_sent;
}

/* Appends the text of a body, unless the body is a page. */
static void put_body(const pdl_otlp *o, pdl_str body, pdl_buf *out) {
    pdl_buf words = PDL_BUF;
    body = pdl_str_trim(body);
    if (body.n && body.p[0] != '<' && pdl_peer_words_in(body, body.n, &words))
        put_words(o, pdl_buf_str(&words), out);
    pdl_buf_fini(&words);
}

/* Returns true for an error in place of an answer. A collector's own errors have codes of gRPC. */
static bool is_error(pdl_vref json) {
    enum { LAST_CODE = 16 };
    int64_t code = pdl_member_int(json, "code", 0);
    bool is_status = code > 0 && code <= LAST_CODE && pdl_member_str(json, "message").n;
    return is_status || pdl_peer_is_failure(json);
}

/* Reads the answer to a message of n spans that was taken as a whole or in part. An error or a page
 * with status 200 comes from something that is no collector. */
static void read_success(pdl_otlp *o, const pdl_http_reply *r, size_t n) {
    pdl_val json = pdl_absent();
    pdl_err err = {0};
    pdl_buf text = PDL_BUF;
    pdl_str body = pdl_str_trim(r->body);
    if (!pdl_json_read_document(r->body, 0, &json, &err)) pdl_err_fini(&err);
    bool is_page = body.n && body.p[0] == '<', is_lost = is_page || is_error(json);
    if (is_lost) {
        pdl_buf_putf(&text, "the collector answered %d with %s", r->status,
                     is_page ? "a page" : "an error");
        put_body(o, body, &text);
        o->n_lost += n;
    } else {
        o->n_lost += read_partial(o, json, n, &text);
    }
    if (text.len) note_once(o, is_lost ? "traces are not sent" : "traces", pdl_buf_z(&text));
    pdl_buf_fini(&text);
    pdl_drop(json);
}

static void put_why(const pdl_otlp *o, const pdl_http_reply *r, pdl_buf *out) {
    if (r->end != PDL_HTTP_OK) {
        pdl_buf_put(out, pdl_str_of(r->why));
        return;
    }
    pdl_buf_putf(out, "the collector answered %d", r->status);
    put_body(o, r->body, out);
}

static void on_done(void *user, const pdl_http_reply *r) {
    sending *s = user;
    pdl_otlp *o = s->o;
    pdl_buf why = PDL_BUF;
    bool ok = r->end == PDL_HTTP_OK && r->status >= 200 && r->status < 300;
    put_why(o, r, &why);
    PDL_TRACE(o->opt.debug, http, "otlp: %zu spans, %s", s->n, ok ? "taken" : pdl_buf_z(&why));
    if (!ok && is_passing(r) && s->tries < MAX_TRIES) {
        pdl_buf_clear(&o->why);
        pdl_buf_put(&o->why, pdl_buf_str(&why));
        send_later(s, r);
    } else {
        if (ok) read_success(o, r, s->n);
        if (!ok) {
            note_failure(o, pdl_buf_z(&why));
            o->n_lost += s->n;
            o->retry_ns = pdl_clock_ns() + PAUSE_NS;
        }
        remove_sending(s);
        send_next(o);
    }
    pdl_buf_fini(&why);
    assert(pdl_otlp_ok(o));
}

static bool is_paused(const pdl_otlp *o) { return o->retry_ns && pdl_clock_ns() < o->retry_ns; }

/* Sends waiting batches, or drops them after a failure. */
static void send_next(pdl_otlp *o) {
    sending *next;
    if (pdl_clock_ns() < o->hold_ns) return; /* the collector asked to wait; see send_later */
    for (sending *s = o->sending; s && o->n_sending < MAX_SENDING; s = next) {
        next = s->next;
        if (s->is_sent) continue;
        if (is_paused(o)) {
            o->n_lost += s->n;
            remove_sending(s);
            continue;
        }
        s->is_sent = true;
        o->n_sending++;
        pdl_http_request req = {.method = "POST",
                                .url = o->config.url,
                                .headers = (const char *const *)o->config.headers.p,
                                .n_headers = o->config.headers.n,
                                .body = pdl_buf_str(&s->body),
                                .total_ms = SEND_MS,
                                .user = s,
                                .done = on_done};
        pdl_http_start(o->http, &req);
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

static void send_batch(pdl_otlp *o);
static void turn(pdl_otlp *o);

static void on_tick(void *user) {
    pdl_otlp *o = user;
    o->timer = NULL;
    send_batch(o);
    turn(o);
}

/* Steps the transfers; a timer calls this again. */
static void turn(pdl_otlp *o) {
    if (o->busy) return;
    o->busy = true;
    if (o->loop) pdl_loop_run(o->loop, 0);
    o->busy = false;
    if (!o->timer && (o->n_batch || o->sending))
        o->timer = pdl_timer_background(o->opt.loop, pdl_pace_ms(TICK_MS), on_tick, o);
}

static void on_readable(void *user, int events) {
    (void)events;
    turn(user);
}

/* Opens the separate loop. Returns false when the system has no more descriptors. */
static bool open_loop(pdl_otlp *o) {
    if (o->loop) return true;
    o->loop = pdl_loop_try();
    if (!o->loop) return false;
    o->http =
        pdl_http_new(o->loop, &(pdl_http_options){.debug = o->opt.debug,
                                                  .max_reply_bytes = PDL_MAX_COLLECTOR_BYTES});
    o->watch = pdl_watch_background(o->opt.loop, pdl_loop_fd(o->loop), on_readable, o);
    return true;
}

/* --- batches ---------------------------------------------------------------------------------- */

static void open_list(pdl_buf *b, const char *name) {
    pdl_json_put_key(b, name);
    pdl_json_open(b, '[');
}

static void open_list_of_one(pdl_buf *b, const char *name) {
    open_list(b, name);
    pdl_json_open(b, '{');
}

static void begin_batch(pdl_otlp *o) {
    pdl_buf *b = &o->batch;
    pdl_json_open(b, '{');
    open_list_of_one(b, "resourceSpans");
    pdl_json_put_key(b, "resource");
    pdl_json_open(b, '{');
    open_list(b, "attributes");
    pdl_buf_put(b, pdl_buf_str(&o->config.resource));
    PDL_PUT(b, "]}");
    open_list_of_one(b, "scopeSpans");
    pdl_json_put_key(b, "scope");
    pdl_json_open(b, '{');
    pdl_json_put_text(b, "name", PDL_STR("libpdl"));
    pdl_json_put_text(b, "version", PDL_STR(PDL_VERSION));
    pdl_buf_putc(b, '}');
    open_list(b, "spans");
}

static void send_batch(pdl_otlp *o) {
    size_t n = o->n_batch;
    if (!n) return;
    o->n_batch = 0;
    bool paused = is_paused(o), full = o->n_bytes > MAX_BYTES;
    if (paused || full || !open_loop(o)) {
        if (!paused)
            note_failure(o, full ? "the collector is too slow"
                                 : "the process has no more file descriptors");
        o->n_lost += n;
        pdl_buf_clear(&o->batch);
        return;
    }
    PDL_PUT(&o->batch, "]}]}]}"); /* ends what begin_batch opened */
    sending *s = PDL_NEW(sending), **end = &o->sending;
    *s = (sending){.o = o, .body = PDL_BUF, .n = n};
    pdl_redact_text(o->opt.secrets, pdl_buf_str(&o->batch), &s->body);
    pdl_buf_clear(&o->batch);
    while (*end) end = &(*end)->next;
    *end = s;
    o->n_bytes += s->body.len;
    send_next(o);
    assert(pdl_otlp_ok(o));
}

pdl_buf *pdl_otlp_span_room(pdl_otlp *o) {
    if (o->n_batch)
        pdl_buf_putc(&o->batch, ',');
    else
        begin_batch(o);
    return &o->batch;
}

void pdl_otlp_span_done(pdl_otlp *o) {
    o->n_batch++;
    if (o->n_batch >= BATCH || o->batch.len >= BATCH_BYTES) {
        send_batch(o);
        turn(o);
    } else if (!o->timer) {
        o->timer = pdl_timer_background(o->opt.loop, pdl_pace_ms(TICK_MS), on_tick, o);
    }
}

/* --- ids -------------------------------------------------------------------------------------- */

/* Makes an id by splitmix64 from a seed of the system: every number occurs once in 2^64. */
void pdl_otlp_make_id(pdl_otlp *o, char out[17]) {
    uint64_t x;
    do {
        x = o->next_id += 0x9E3779B97F4A7C15u;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        x ^= x >> 31;
    } while (!x);
    snprintf(out, 17, "%016llx", (unsigned long long)x);
}

/* --- life ------------------------------------------------------------------------------------- */

bool pdl_otlp_new(const pdl_otlp_options *options, pdl_otlp **out, pdl_err *err) {
    otlp_config config;
    *out = NULL;
    bool ok = pdl_otlp_configure(options, &config, err);
    if (!ok || !config.url) {
        pdl_otlp_config_fini(&config);
        return ok;
    }
    pdl_otlp *o = PDL_NEW(pdl_otlp);
    o->opt = *options;
    o->opt.url = (pdl_str){0}; /* the configuration has its own copy now */
    o->config = config;
    o->batch = o->why = PDL_BUF;
    o->next_id = pdl_rand_fresh_seed();
    *out = o;
    return true;
}

/* Sends the remaining spans. The end of a run waits PDL_OTLP_LAST_MS for the collector. When the
 * collector has named a time at which spans may be sent again, the wait begins at that time, unless
 * it would then end after MAX_LAST_MS. */
static void send_last(pdl_otlp *o) {
    const uint64_t last = (uint64_t)PDL_OTLP_LAST_MS * 1000000,
                   most = (uint64_t)MAX_LAST_MS * 1000000;
    uint64_t begin = pdl_clock_ns();
    send_batch(o);
    while (o->sending) {
        uint64_t now = pdl_clock_ns(), end = (o->named_ns > begin ? o->named_ns : begin) + last;
        if (end > begin + most) end = begin + last;
        if (now >= end) break;
        pdl_loop_run(o->loop, (int)((end - now) / 1000000) + 1);
    }
    if (o->sending && o->why.len)
        note_failure(o, pdl_buf_z(&o->why)); /* the failure that began earlier has not ended */
    else if (o->sending)
        note_failure(o, "the collector did not take them in time");
}

void pdl_otlp_free(pdl_otlp *o) {
    if (!o) return;
    assert(pdl_otlp_ok(o));
    send_last(o);
    pdl_timer_stop(o->timer);
    pdl_timer_stop(o->later);
    pdl_watch_stop(o->watch);
    pdl_http_free(o->http);
    while (o->sending) remove_sending(o->sending);
    pdl_loop_free(o->loop);
    pdl_buf_fini(&o->batch);
    pdl_buf_fini(&o->why);
    pdl_otlp_config_fini(&o->config);
    pdl_idmap_fini(&o->effects);
    pdl_free(o);
}
