/* export.c -- batches of spans go to the collector.
 *
 * A batch is one message of OTLP that grows until it has BATCH spans or a second has passed. A few
 * are in flight at a time, the others wait in a queue. What cannot be sent is dropped: after a
 * failure nothing is tried for PAUSE_NS, and where MOST_BYTES wait the collector is too slow.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

#include "io/clock.h"
#include "base/pace.h"
#include "io/http.h"
#include "io/rand.h"
#include "telemetry/parts.h"

#include "base/banned.h"

enum {
    BATCH = 512,
    BATCH_BYTES = 1 << 20,
    MOST_BYTES = 64 << 20,
    MOST_SENDING = 4,
    TICK_MS = 1000,
    SEND_MS = 10000
};
static const uint64_t PAUSE_NS = 5000000000u;

#ifndef PDL_VERSION
#define PDL_VERSION "0.1.0"
#endif

/* A batch that waits or is in flight. */
typedef struct otlp_sending {
    pdl_otlp *o;
    pdl_buf body;
    size_t n;
    bool is_sent;
    struct otlp_sending *next; /* younger */
} sending;

static void note_failure(pdl_otlp *o, const char *why) {
    pdl_buf b = PDL_BUF;
    if (o->noted || !o->opt.note) return;
    o->noted = true;
    PDL_PUT(&b, "traces are not sent: ");
    pdl_address_put(pdl_str_of(o->config.url), &b);
    pdl_buf_putf(&b, ": %s", why);
    o->opt.note(o->opt.note_user, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

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

static void on_done(void *user, const pdl_http_reply *r) {
    sending *s = user;
    pdl_otlp *o = s->o;
    char why[64];
    snprintf(why, sizeof why, "the collector answered %d", r->status);
    bool ok = r->end == PDL_HTTP_OK && r->status >= 200 && r->status < 300;
    PDL_TRACE(o->opt.debug, http, "otlp: %zu spans, %s", s->n,
              ok                      ? "taken"
              : r->end == PDL_HTTP_OK ? why
                                      : r->why);
    if (!ok) {
        note_failure(o, r->end == PDL_HTTP_OK ? why : r->why);
        o->n_lost += s->n;
        o->retry_ns = pdl_clock_ns() + PAUSE_NS;
    }
    remove_sending(s);
    send_next(o);
}

static bool is_paused(const pdl_otlp *o) { return o->retry_ns && pdl_clock_ns() < o->retry_ns; }

/* What waits goes out, or is dropped after a failure. */
static void send_next(pdl_otlp *o) {
    sending *next;
    for (sending *s = o->sending; s && o->n_sending < MOST_SENDING; s = next) {
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

/* Its transfers have a turn; a timer sees to the next one. */
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

/* False: the system is out of descriptors. */
static bool open_loop(pdl_otlp *o) {
    if (o->loop) return true;
    o->loop = pdl_loop_try();
    if (!o->loop) return false;
    o->http = pdl_http_new(o->loop, &(pdl_http_options){.debug = o->opt.debug});
    o->watch = pdl_watch_background(o->opt.loop, pdl_loop_fd(o->loop), on_readable, o);
    return true;
}

/* --- batches ---------------------------------------------------------------------------------- */

static void begin_batch(pdl_otlp *o) {
    PDL_PUT(&o->batch, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    pdl_buf_put(&o->batch, pdl_buf_str(&o->config.resource));
    PDL_PUT(&o->batch,
            "]},\"scopeSpans\":[{\"scope\":{\"name\":\"libpdl\",\"version\":\"" PDL_VERSION
            "\"},\"spans\":[");
}

static void send_batch(pdl_otlp *o) {
    size_t n = o->n_batch;
    if (!n) return;
    o->n_batch = 0;
    bool paused = is_paused(o);
    if (paused || o->n_bytes > MOST_BYTES || !open_loop(o)) {
        if (!paused) note_failure(o, "the collector is too slow");
        o->n_lost += n;
        pdl_buf_clear(&o->batch);
        return;
    }
    PDL_PUT(&o->batch, "]}]}]}");
    sending *s = PDL_NEW(sending), **end = &o->sending;
    *s = (sending){.o = o, .body = PDL_BUF, .n = n};
    pdl_hide_text(o->opt.secrets, pdl_buf_str(&o->batch), &s->body);
    pdl_buf_clear(&o->batch);
    while (*end) end = &(*end)->next;
    *end = s;
    o->n_bytes += s->body.len;
    send_next(o);
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

/* Steps of splitmix64 from a seed of the system: every number comes once in 2^64. */
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
    o->opt.url = (pdl_str){0}; /* it is in the configuration */
    o->config = config;
    o->batch = PDL_BUF;
    o->next_id = pdl_rand_fresh_seed();
    *out = o;
    return true;
}

/* The end of a run waits no longer than this for a collector. */
static void send_last(pdl_otlp *o) {
    uint64_t end = pdl_clock_ns() + (uint64_t)PDL_OTLP_LAST_MS * 1000000;
    send_batch(o);
    while (o->sending) {
        uint64_t now = pdl_clock_ns();
        if (now >= end) break;
        pdl_loop_run(o->loop, (int)((end - now) / 1000000) + 1);
    }
    if (o->sending) note_failure(o, "the collector did not take them in time");
}

void pdl_otlp_free(pdl_otlp *o) {
    if (!o) return;
    send_last(o);
    pdl_timer_stop(o->timer);
    pdl_watch_stop(o->watch);
    pdl_http_free(o->http);
    while (o->sending) remove_sending(o->sending);
    pdl_loop_free(o->loop);
    pdl_buf_fini(&o->batch);
    pdl_otlp_config_fini(&o->config);
    pdl_idmap_fini(&o->effects);
    pdl_free(o);
}
