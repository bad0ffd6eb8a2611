/* request_log.c -- the log of requests, one line of JSON each; see request_log.h. One record
 * belongs to an exchange from its headers to its end, so that a request that was refused or
 * abandoned is logged and counted, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/request_log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "base/utf8.h"
#include "io/clock.h"
#include "value/json_put.h"

#include "base/banned.h"

enum { CLIENT_HAS_GONE = 499 }; /* other servers log this status, too, when no answer was sent */

/* Returns true for a text that is safe in headers, logs and shells. */
static bool is_plain(pdl_str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alnum && !pdl_byte_in(c, PDL_STR("-_.:/+="))) return false;
    }
    return s.n > 0;
}

void pdl_serve_record_begin(pdl_serve *s, pdl_exchange *x, const route *r) {
    record *c = PDL_NEW(record);
    pdl_str given = pdl_exchange_header(x, "X-Request-Id");
    c->began_ns = pdl_clock_ns();
    c->route = r;
    if (is_plain(given) && given.n < sizeof c->id)
        memcpy(c->id, given.p, given.n);
    else
        pdl_serve_make_id(s, "req_", c->id, sizeof c->id);
    pdl_exchange_set_record(x, c);
    pdl_exchange_add_header(x, "x-request-id", c->id);
}

void pdl_serve_record_model(pdl_exchange *x, const pdl_served *m) {
    record *r = pdl_exchange_record(x);
    if (r) r->model = m;
}

void pdl_serve_record_error(pdl_exchange *x, const char *kind) {
    record *r = pdl_exchange_record(x);
    if (r && !r->error[0]) snprintf(r->error, sizeof r->error, "%s", kind);
}

void pdl_serve_record_tokens(pdl_exchange *x, int64_t prompt, int64_t completion) {
    record *r = pdl_exchange_record(x);
    if (!r) return;
    r->prompt += prompt;
    r->completion += completion;
}

/* --- the log ---------------------------------------------------------------------------------- */

static void put_time(pdl_buf *b) {
    int64_t ns = pdl_clock_wall_ns();
    time_t t = (time_t)(ns / 1000000000);
    struct tm tm;
    if (!gmtime_r(&t, &tm)) tm = (struct tm){0};
    pdl_buf_putf(b, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ns / 1000000 % 1000));
}

static void put_begin(pdl_buf *b, const char *peer) {
    pdl_buf time = PDL_BUF;
    put_time(&time);
    pdl_json_open(b, '{');
    pdl_json_put_text(b, "time", pdl_buf_str(&time));
    pdl_json_put_text(b, "client", pdl_str_of(peer));
    pdl_buf_fini(&time);
}

/* Writes one object as a line. Paths and methods are text of the client, so secrets of this process
 * are replaced, and the length is bounded. */
static void write_line(const pdl_serve *s, const pdl_exchange *x, const record *r, int status,
                       double seconds) {
    enum { SHOWN = 512, PEER = 64 };
    pdl_buf b = PDL_BUF, path = PDL_BUF;
    char peer[PEER], number[PDL_NUM_MAX];
    pdl_session_redact(s->opt.session, pdl_exchange_path(x), &path);
    pdl_exchange_peer(x, peer, sizeof peer);
    size_t n = pdl_num_fixed(seconds, 6, number);
    put_begin(&b, peer);
    pdl_json_put_text(&b, "id", pdl_str_of(r->id));
    pdl_json_put_text(&b, "method", pdl_str_sub(pdl_exchange_method(x), 0, 32));
    pdl_json_put_text(&b, "path", pdl_utf8_cut(pdl_buf_str(&path), SHOWN));
    pdl_json_put_int(&b, "status", status);
    pdl_json_put_key(&b, "seconds");
    pdl_buf_put(&b, (pdl_str){number, n});
    pdl_json_put_int(&b, "bytes_in", (int64_t)pdl_exchange_body(x).n);
    pdl_json_put_int(&b, "bytes_out", (int64_t)pdl_exchange_sent(x));
    if (r->model) {
        pdl_json_put_text(&b, "model", r->model->name);
        pdl_json_put_int(&b, "prompt_tokens", r->prompt);
        pdl_json_put_int(&b, "completion_tokens", r->completion);
    }
    if (r->error[0]) pdl_json_put_text(&b, "error", pdl_str_of(r->error));
    PDL_PUT(&b, "}\n");
    s->opt.log(s->opt.log_user, pdl_buf_str(&b));
    pdl_buf_fini(&path);
    pdl_buf_fini(&b);
}

void pdl_serve_record_refused(void *user, const char *peer, int status, const char *why) {
    pdl_serve *s = user;
    record none = {.error = "not_http"};
    pdl_serve_metrics_count(s->metrics, s, &none, status, 0);
    if (!s->opt.log) return;
    pdl_buf b = PDL_BUF;
    put_begin(&b, peer);
    pdl_json_put_int(&b, "status", status);
    pdl_json_put_text(&b, "error", pdl_str_of(none.error));
    pdl_json_put_text(&b, "message", pdl_str_of(why));
    PDL_PUT(&b, "}\n");
    s->opt.log(s->opt.log_user, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

void pdl_serve_record_end(pdl_serve *s, pdl_exchange *x) {
    record *r = pdl_exchange_record(x);
    if (!r) return;
    int status = pdl_exchange_status(x);
    double seconds = (double)(pdl_clock_ns() - r->began_ns) / 1e9;
    if (!status) status = CLIENT_HAS_GONE;
    if (s->opt.log) write_line(s, x, r, status, seconds);
    pdl_serve_metrics_count(s->metrics, s, r, status, seconds);
    pdl_exchange_set_record(x, NULL);
    pdl_free(r);
}
