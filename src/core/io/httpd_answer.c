/* httpd_answer.c -- writes the answers of a server: heads, and bodies in one piece or in chunks. It
 * also sends as many bytes as the socket takes. httpd.c decides when an answer is due.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <sys/socket.h>
#include <time.h>

#include "io/httpd_impl.h"

#include "base/banned.h"

bool pdl_httpd_is_full(const client *c) {
    return c->phase == ANSWER && (c->in.len >= PDL_HTTP_MAX_HEAD || c->no_more);
}

void pdl_httpd_watch(client *c) {
    if (c->in_turn) return;               /* changing the watched events costs system calls */
    if (!c->in.len) pdl_buf_fini(&c->in); /* a waiting connection holds no memory */
    bool writes = c->out.len > c->out_at && c->phase != READ_BODY;
    pdl_watch_set(c->watch,
                  (pdl_httpd_is_full(c) ? 0 : PDL_WATCH_READ) | (writes ? PDL_WATCH_WRITE : 0));
}

/* Returns the output buffer. When the buffer was empty, this starts the time limit within which the
 * client must take its bytes. */
static pdl_buf *out(client *c) {
    if (c->out.len == c->out_at && c->phase == ANSWER) c->end_ms = now_ms() + c->h->opt.send_ms;
    return &c->out;
}

bool pdl_httpd_flush(client *c) {
    while (c->out.len > c->out_at) {
        ssize_t n =
            send(c->fd, c->out.p + c->out_at, c->out.len - c->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        c->out_at += (size_t)n;
        c->end_ms = now_ms() + c->h->opt.send_ms;
    }
    if (c->out_at >= c->out.len / 2) { /* each byte is moved at most once */
        pdl_buf_shift(&c->out, c->out_at);
        c->out_at = 0;
    }
    if (!c->out.len) pdl_buf_fini(&c->out); /* an idle connection holds no memory */
    return true;
}

static const char *reason_of(int status) {
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {100, "Continue"},
        {200, "OK"},
        {202, "Accepted"},
        {204, "No Content"},
        {303, "See Other"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].status == status) return reasons[i].reason;
    return "Status"; /* clients read the number and not this word */
}

static void put_date(pdl_buf *b) {
    static const char days[] = "SunMonTueWedThuFriSat",
                      months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t t = (time_t)(pdl_clock_wall_ns() / 1000000000);
    struct tm tm;
    if (!gmtime_r(&t, &tm)) return;
    pdl_buf_putf(b, "Date: %.3s, %02d %.3s %d %02d:%02d:%02d GMT\r\n", days + 3 * tm.tm_wday,
                 tm.tm_mday, months + 3 * tm.tm_mon, tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
                 tm.tm_sec);
}

void pdl_httpd_put_status(client *c, int status) {
    pdl_buf *b = out(c);
    pdl_buf_putf(b, "HTTP/1.1 %d %s\r\n", status, reason_of(status));
    put_date(b);
    if (c->closes) PDL_PUT(b, "Connection: close\r\n");
}

void pdl_httpd_put_header(pdl_buf *b, const char *name, const char *value) {
    pdl_buf_putf(b, "%s: ", name);
    for (const char *p = value; *p; p++)
        if (*p != '\r' && *p != '\n') pdl_buf_putc(b, *p);
    PDL_PUT(b, "\r\n");
}

bool pdl_httpd_still_arrives(const pdl_exchange *x) {
    return x->client->phase != ANSWER &&
           (x->left > 0 || (x->head.length < 0 && x->chunks.at != CHUNK_END));
}

static void put_head(pdl_exchange *x, int status, const pdl_answer_header *headers, size_t n) {
    client *c = x->client;
    if (x->status) PDL_BUG("a second answer to a request");
    x->status = status;
    c->closes = c->closes || !x->head.keep_alive ||
                (pdl_httpd_still_arrives(x) && (!x->at_head || x->left > SMALL_BODY ||
                                                x->head.length < 0 || x->head.expects_continue)) ||
                (x->streams && x->head.is_1_0);
    pdl_httpd_put_status(c, status);
    if (!c->closes && x->head.is_1_0) PDL_PUT(&c->out, "Connection: keep-alive\r\n");
    for (size_t i = 0; i < n; i++) pdl_httpd_put_header(&c->out, headers[i].name, headers[i].value);
    pdl_buf_put(&c->out, pdl_buf_str(&x->headers));
}

static bool has_no_body(const pdl_exchange *x) {
    return pdl_str_is(x->head.method, "HEAD") || x->status == 204;
}

void pdl_exchange_add_header(pdl_exchange *x, const char *name, const char *value) {
    pdl_httpd_put_header(&x->headers, name, value);
}

void pdl_exchange_answer(pdl_exchange *x, int status, const pdl_answer_header *headers, size_t n,
                         pdl_str body) {
    pdl_buf *b = &x->client->out;
    put_head(x, status, headers, n);
    if (status != 204) pdl_buf_putf(b, "Content-Length: %zu\r\n", body.n);
    PDL_PUT(b, "\r\n");
    if (!has_no_body(x)) {
        pdl_buf_put(b, body);
        x->sent = body.n;
    }
    x->ended = true;
    pdl_httpd_watch(x->client);
}

void pdl_exchange_begin(pdl_exchange *x, int status, const pdl_answer_header *headers, size_t n) {
    x->streams = true;
    put_head(x, status, headers, n);
    if (!x->head.is_1_0) PDL_PUT(&x->client->out, "Transfer-Encoding: chunked\r\n");
    PDL_PUT(&x->client->out, "\r\n");
    pdl_httpd_watch(x->client);
}

void pdl_exchange_put(pdl_exchange *x, pdl_str bytes) {
    if (!bytes.n || has_no_body(x)) return;
    pdl_buf *b = out(x->client);
    if (!x->head.is_1_0) pdl_buf_putf(b, "%zx\r\n", bytes.n);
    pdl_buf_put(b, bytes);
    if (!x->head.is_1_0) PDL_PUT(b, "\r\n");
    x->sent += bytes.n;
    pdl_httpd_watch(x->client);
}

void pdl_exchange_end(pdl_exchange *x) {
    if (!x->head.is_1_0 && !has_no_body(x)) PDL_PUT(out(x->client), "0\r\n\r\n");
    x->ended = true;
    if (!x->client->in_turn) /* this wakes the connection, even when nothing is left to send */
        pdl_watch_set(x->client->watch, PDL_WATCH_READ | PDL_WATCH_WRITE);
}

size_t pdl_exchange_pending(const pdl_exchange *x) {
    return x->client->out.len - x->client->out_at;
}
int pdl_exchange_status(const pdl_exchange *x) { return x->status; }
uint64_t pdl_exchange_sent(const pdl_exchange *x) { return x->sent; }
