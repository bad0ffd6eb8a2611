/* http.c -- see http.h.
 *
 * libcurl forbids most calls from inside its callbacks, but the callbacks of our user must be free
 * to start and cancel transfers. So libcurl's callbacks only record events, and the user is called
 * after libcurl has returned.
 *
 *    socket or timer ready -> curl_multi_socket_action -> pdl_http_on_body, pdl_http_on_header:
 *                             append, queue
 *                          -> curl_multi_info_read: mark ended, queue
 *                          -> deliver: for each in the queue data(), then done()
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/http_impl.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "io/clock.h"

#include "base/banned.h"

enum {
    /* number of transfers in a lane; libcurl searches all connections of a multi handle for a free
     * one */
    LANE_TRANSFERS = 16,
    /* with TLS a lane has more transfers, because they share a connection, which is slow to make */
    LANE_SHARED = 128,
    /* number of spare transfers that are kept; this many may end in one turn */
    SPARE_TRANSFERS = 1000,
    /* number of spare transfers whose setup is compared with the wanted one */
    SPARE_LOOKED_AT = 8,
    KEPT_BYTES = 16384,  /* a spare transfer releases a buffer that is longer than this */
    HANDLE_BYTES = 5376, /* size of libcurl 7.88's easy handle; it need not be exact */
    /* size of the object that the user of a transfer keeps for it; it need not be exact, either */
    USER_BYTES = 1536,
};

/* --- queue of things to report ---------------------------------------------------------------- */

static void enqueue(transfer *t) {
    assert(transfer_ok(t));
    if (t->queued) return;
    t->queued = true;
    t->next = NULL;
    *t->http->queue_end = t;
    t->http->queue_end = &t->next;
}

static void end_with(transfer *t, pdl_http_end end, const char *said) {
    if (t->ended) return;
    t->ended = true;
    t->end = end;
    t->said = said;
    enqueue(t);
}

static const char *reason(const transfer *t) {
    return t->end == PDL_HTTP_OK ? "" : t->said ? t->said : t->why;
}

/* Removes a transfer from libcurl. After that no callback of libcurl names it. */
static void detach(transfer *t) {
    pdl_http *h = t->http;
    pdl_timer_stop(t->idle);
    t->idle = NULL;
    if (!t->easy) return;
    if (t->lane) {
        h->curl.multi_remove_handle(t->lane->multi, t->easy);
        t->lane->n--;
        h->roomy = t->lane;
        t->lane = NULL;
    }
}

static void leave_table(transfer *t) {
    pdl_http *h = t->http;
    uint32_t slot = (uint32_t)t->id - 1;
    assert(transfer_ok(t));
    h->slots.p[slot] = NULL;
    *pdl_vec_push(&h->vacant) = slot;
    h->open--;
}

static void destroy(transfer *t) {
    if (t->easy) {
        pdl_http_clear_setup(t);
        t->http->curl.easy_cleanup(t->easy);
    }
    pdl_buf_fini(&t->setup);
    pdl_buf_fini(&t->head);
    pdl_buf_fini(&t->body);
    pdl_free(t);
}

static void keep_buffer(pdl_buf *b) {
    pdl_buf_clear(b);
    if (b->cap > KEPT_BYTES) pdl_buf_fini(b);
}

/* Keeps the transfer for the next request, which usually needs the same options. Setting all
 * options again would take as long as writing the request. A handle whose transfer failed is not
 * used again. */
static void release(transfer *t) {
    pdl_http *h = t->http;
    if (!t->easy || t->end != PDL_HTTP_OK || !t->ended || h->spare.n >= SPARE_TRANSFERS) {
        destroy(t);
        return;
    }
    transfer kept = {.http = h,
                     .easy = t->easy,
                     .headers = t->headers,
                     .setup = t->setup,
                     .head = t->head,
                     .body = t->body};
    keep_buffer(&kept.head);
    keep_buffer(&kept.body);
    *t = kept;
    *pdl_vec_push(&h->spare) = t;
}

/* --- silence ---------------------------------------------------------------------------------- */

static void deliver(pdl_http *h);
static void on_idle(void *user);

static uint64_t quiet_limit(const transfer *t) { return t->got ? t->req.idle_ms : t->req.first_ms; }

static void watch_silence(transfer *t, uint64_t passed_ms) {
    uint64_t limit = quiet_limit(t);
    pdl_timer_stop(t->idle);
    t->idle = limit ? pdl_timer_start(t->http->loop, limit - passed_ms, on_idle, t) : NULL;
}

/* Ends a silent transfer. A byte does not restart the timer. Instead, when the timer fires too
 * early after the last byte, it is started again. */
static void on_idle(void *user) {
    transfer *t = user;
    pdl_http *h = t->http;
    uint64_t quiet_ms = (pdl_clock_ns() - (t->got ? t->last_ns : t->start_ns)) / 1000000;
    t->idle = NULL;
    if (t->ended || t->dead) return;
    if (quiet_ms < quiet_limit(t)) {
        watch_silence(t, quiet_ms);
        return;
    }
    t->limit = t->got ? PDL_HTTP_IDLE_MS : PDL_HTTP_FIRST_MS;
    end_with(t, PDL_HTTP_TIMEOUT, "no data in time");
    deliver(h);
}

/* --- callbacks of libcurl --------------------------------------------------------------------- */

/* Returns true when enough of a refusal was read. The status is known, and a message shows only the
 * beginning of the text, so the transfer does not wait for the rest of a long or slow text. */
static bool is_enough(const transfer *t) {
    uint64_t ms = t->req.first_ms;
    return t->status >= 400 && (t->body.len > (size_t)PDL_MAX_MESSAGE_BYTES ||
                                (ms && t->last_ns - t->start_ns > ms * 1000000));
}

size_t pdl_http_on_body(char *p, size_t size, size_t n, void *user) {
    transfer *t = user;
    const pdl_debug *d = t->http->opt.debug;
    (void)size; /* always 1 */
    assert(transfer_ok(t));
    bool first = t->got == 0;
    t->got += n;
    t->last_ns = pdl_clock_ns();
    /* from the first byte on, the silence is limited by idle_ms and not by first_ms */
    if (first && n) watch_silence(t, 0);
    if (d && d->drop_after >= 0 && t->got > (size_t)d->drop_after) {
        end_with(t, PDL_HTTP_BROKEN, "dropped by PDL_STRESS");
        return 0;
    }
    if (t->got > max_reply(t->http)) {
        end_with(t, PDL_HTTP_TOO_LARGE, "the answer is longer than the limit");
        return 0;
    }
    pdl_buf_put(&t->body, (pdl_str){p, n});
    if (is_enough(t)) {
        end_with(t, PDL_HTTP_OK, NULL);
        return 0;
    }
    if (t->req.data) enqueue(t);
    return n;
}

static int status_of(pdl_str line) {
    size_t blank = pdl_str_find(line, PDL_STR(" "), 0);
    int status = 0;
    if (blank == PDL_NOT_FOUND) return 0;
    for (size_t i = blank + 1; i < line.n && i < blank + 4 && line.p[i] >= '0' && line.p[i] <= '9';
         i++)
        status = status * 10 + (line.p[i] - '0');
    return status;
}

size_t pdl_http_on_header(char *p, size_t size, size_t n, void *user) {
    transfer *t = user;
    pdl_str line = {p, n};
    (void)size;
    assert(transfer_ok(t));
    t->last_ns = pdl_clock_ns();
    if (pdl_str_starts(line, PDL_STR("HTTP/"))) {
        /* This is a new answer. The previous one was 100 Continue, or an answer of a proxy. */
        pdl_buf_clear(&t->head);
        t->status = status_of(line);
    }
    if (n > (size_t)PDL_MAX_HEADER_BYTES - t->head.len) {
        end_with(t, PDL_HTTP_TOO_LARGE, "the headers of the answer are too long");
        return 0;
    }
    pdl_buf_put(&t->head, line);
    return n;
}

static void act(lane *l, curl_socket_t fd, int mask);

static int watch_socket(CURL *e, curl_socket_t fd, int what, void *user, void *mine) {
    lane *l = user;
    transfer *t = NULL;
    pdl_http *h = l->http;
    (void)mine;
    int failed = pdl_curl_socket_watch(&h->sockets, fd, what, l);
    if (!(what & CURL_POLL_IN) || failed) return failed;
    if (h->curl.easy_getinfo(e, CURLINFO_PRIVATE, (char **)(void *)&t) == CURLE_OK && t) {
        const pdl_curl_near near[PDL_CURL_NEAR] = {
            {t, sizeof *t}, {e, HANDLE_BYTES}, {t->req.user, USER_BYTES}};
        pdl_curl_socket_near(&h->sockets, fd, near);
    }
    return 0;
}

static void on_socket(void *user, curl_socket_t fd, int mask) { act(user, fd, mask); }

static void on_lane_timer(void *user) {
    lane *l = user;
    l->timer = NULL;
    act(l, CURL_SOCKET_TIMEOUT, 0);
}

static int set_lane_timer(CURLM *m, long ms, void *user) {
    lane *l = user;
    (void)m;
    pdl_timer_stop(l->timer);
    l->timer = ms < 0 ? NULL : pdl_timer_start(l->http->loop, (uint64_t)ms, on_lane_timer, l);
    return 0;
}

/* --- delivery --------------------------------------------------------------------------------- */

static const struct {
    CURLcode code;
    pdl_http_end end;
} ends[] = {
    {CURLE_OK, PDL_HTTP_OK},
    {CURLE_OPERATION_TIMEDOUT, PDL_HTTP_TIMEOUT},
    {CURLE_FILESIZE_EXCEEDED, PDL_HTTP_TOO_LARGE},
    {CURLE_COULDNT_RESOLVE_PROXY, PDL_HTTP_CONNECT},
    {CURLE_COULDNT_RESOLVE_HOST, PDL_HTTP_CONNECT},
    {CURLE_COULDNT_CONNECT, PDL_HTTP_CONNECT},
    {CURLE_PROXY, PDL_HTTP_CONNECT},
    {CURLE_INTERFACE_FAILED, PDL_HTTP_CONNECT},
    {CURLE_SSL_CONNECT_ERROR, PDL_HTTP_CONNECT},
    {CURLE_SSL_ENGINE_NOTFOUND, PDL_HTTP_CONNECT},
    {CURLE_SSL_CERTPROBLEM, PDL_HTTP_CONNECT},
    {CURLE_SSL_CIPHER, PDL_HTTP_CONNECT},
    {CURLE_PEER_FAILED_VERIFICATION, PDL_HTTP_CONNECT},
    {CURLE_SSL_CACERT_BADFILE, PDL_HTTP_CONNECT},
    {CURLE_SSL_ISSUER_ERROR, PDL_HTTP_CONNECT},
    {CURLE_SSL_PINNEDPUBKEYNOTMATCH, PDL_HTTP_CONNECT},
    {CURLE_SSL_INVALIDCERTSTATUS, PDL_HTTP_CONNECT},
    {CURLE_URL_MALFORMAT, PDL_HTTP_BAD_REQUEST},
    {CURLE_UNSUPPORTED_PROTOCOL, PDL_HTTP_BAD_REQUEST},
};

/* libcurl reports "unsupported protocol" for a wrong URL and for an answer that is not HTTP.
 * Returns true in the second case, in which the request was sent. */
static bool is_answered(const pdl_curl *c, CURL *easy) {
    long sent = 0;
    return c->easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent) == CURLE_OK && sent > 0;
}

static pdl_http_end end_of(const pdl_curl *c, CURL *easy, CURLcode code) {
    if (code == CURLE_UNSUPPORTED_PROTOCOL && is_answered(c, easy)) return PDL_HTTP_BROKEN;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (ends[i].code == code) return ends[i].end;
    return PDL_HTTP_BROKEN;
}

/* Passes pieces of a 2xx body to the user. Returns false when the user stops the transfer. */
static bool give_data(transfer *t) {
    pdl_http *h = t->http;
    if (!t->req.data || t->body.len == 0 || t->status < 200 || t->status > 299) return true;
    bool go = true;
    t->in_callback = true;
    pdl_str s = pdl_buf_str(&t->body);
    if (h->opt.debug && h->opt.debug->split)
        for (size_t i = 0; i < s.n && go && !t->dead; i++)
            go = t->req.data(t->req.user, (pdl_str){s.p + i, 1});
    else
        go = t->req.data(t->req.user, s);
    t->in_callback = false;
    pdl_buf_clear(&t->body);
    return go;
}

/* Finds out which limit was exceeded, because libcurl only reports that one was. */
static pdl_http_limit limit_of(const transfer *t) {
    if (t->end != PDL_HTTP_TIMEOUT || t->limit != PDL_HTTP_NO_LIMIT) return t->limit;
    uint64_t ms = (pdl_clock_ns() - t->start_ns) / 1000000;
    return t->req.total_ms && ms >= t->req.total_ms ? PDL_HTTP_TOTAL_MS : PDL_HTTP_CONNECT_MS;
}

static void give_end(transfer *t) {
    PDL_TRACE(t->http->opt.debug, http, "#%llx %s: end %d, status %d, %zu bytes %s",
              (unsigned long long)t->id, t->req.method, (int)t->end, t->status, t->got, reason(t));
    pdl_http_reply r = {
        t->end, limit_of(t), t->status, pdl_buf_str(&t->body), pdl_buf_str(&t->head), reason(t)};
    t->dead = true; /* a cancellation in the callback must not find the transfer */
    t->req.done(t->req.user, &r);
}

static void deliver_one(transfer *t) {
    assert(transfer_ok(t));
    if (!t->dead && !give_data(t)) {
        t->ended = true;
        t->end = PDL_HTTP_STOPPED;
        t->said = "stopped";
    }
    if (!t->dead && !t->ended) return;
    detach(t);
    leave_table(t);
    if (!t->dead) give_end(t);
    release(t);
}

static void deliver(pdl_http *h) {
    if (h->delivering) return;
    h->delivering = true;
    while (h->queue) {
        transfer *t = h->queue;
        h->queue = t->next;
        if (!h->queue) h->queue_end = &h->queue;
        t->queued = false;
        deliver_one(t);
    }
    h->delivering = false;
}

/* Names the variable whose file libcurl could not use, because libcurl's message names only the
 * file. */
static void blame_certificates(transfer *t) {
    const char *file = t->http->opt.ca_file;
    if (file)
        snprintf(t->why, sizeof t->why,
                 "SSL_CERT_FILE names %.180s, which is no file of certificates", file);
}

static void collect_ends(lane *l) {
    const pdl_curl *c = &l->http->curl;
    int left;
    for (CURLMsg *m; (m = c->multi_info_read(l->multi, &left));) {
        transfer *t = NULL;
        if (m->msg != CURLMSG_DONE) continue;
        if (c->easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)(void *)&t) != CURLE_OK ||
            !t)
            continue;
        if (m->data.result == CURLE_SSL_CACERT_BADFILE) blame_certificates(t);
        end_with(t, end_of(c, m->easy_handle, m->data.result),
                 t->why[0] ? NULL : c->easy_strerror(m->data.result));
    }
}

static void act(lane *l, curl_socket_t fd, int mask) {
    int running;
    l->http->curl.multi_socket_action(l->multi, fd, mask, &running);
    collect_ends(l);
    deliver(l->http);
}

static void on_kick(void *user) {
    pdl_http *h = user;
    h->kick = NULL;
    deliver(h);
}

/* --- start ------------------------------------------------------------------------------------ */

static void set_up_library(pdl_http *h) {
    h->tried = true;
    if (!pdl_curl_open(&h->curl)) return;
    pdl_certificates_choose(&h->curl, h->opt.ca_file, h->opt.ca_fallback, &h->certificates);
    h->share = h->curl.share_init();
    if (h->share) {
        h->curl.share_setopt(h->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
        h->curl.share_setopt(h->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    }
    h->ready = true;
}

static size_t lane_room(bool tls) { return tls ? LANE_SHARED : LANE_TRANSFERS; }

static bool has_room(const lane *l, bool tls) { return l->tls == tls && l->n < lane_room(tls); }

/* Returns the lane that a transfer left last, since its connection is idle now. When that lane is
 * full, returns the first lane with room, or else a new lane. Few lanes are used, so that idle
 * connections are found again. */
static lane *find_lane(pdl_http *h, bool tls) {
    if (h->roomy && has_room(h->roomy, tls)) return h->roomy;
    for (size_t i = 0; i < h->lanes.n; i++)
        if (has_room(h->lanes.p[i], tls)) return h->lanes.p[i];
    lane *l = PDL_NEW(lane);
    l->http = h;
    l->tls = tls;
    l->multi = h->curl.multi_init();
    /* curl_multi_init fails only when there is no memory */
    if (!l->multi) pdl_out_of_memory(sizeof *l);
    h->curl.multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    h->curl.multi_setopt(l->multi, CURLMOPT_SOCKETDATA, l);
    h->curl.multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, set_lane_timer);
    h->curl.multi_setopt(l->multi, CURLMOPT_TIMERDATA, l);
    /* By default libcurl keeps four idle connections for each open transfer. When many transfers
     * end in one turn, as rows of a batch do, it would close connections that the next transfers
     * need. */
    h->curl.multi_setopt(l->multi, CURLMOPT_MAXCONNECTS, (long)lane_room(tls));
    *pdl_vec_push(&h->lanes) = l;
    return l;
}

/* Returns a spare transfer, if possible one whose setup is h->setup. Returns a new transfer when
 * there is no spare one. */
static transfer *take_transfer(pdl_http *h) {
    size_t at = h->spare.n;
    pdl_str setup = pdl_buf_str(&h->setup);
    if (!at) {
        transfer *fresh = PDL_NEW(transfer);
        fresh->http = h;
        fresh->setup = fresh->head = fresh->body = PDL_BUF;
        return fresh;
    }
    for (size_t i = 0; i < SPARE_LOOKED_AT && i < h->spare.n && at == h->spare.n; i++)
        if (pdl_str_eq(pdl_buf_str(&h->spare.p[h->spare.n - 1 - i]->setup), setup))
            at = h->spare.n - 1 - i;
    if (at == h->spare.n) at--;
    transfer *t = h->spare.p[at];
    h->spare.p[at] = h->spare.p[--h->spare.n];
    return t;
}

static uint32_t take_slot(pdl_http *h) {
    if (h->vacant.n) return h->vacant.p[--h->vacant.n];
    *pdl_vec_push(&h->slots) = NULL;
    return (uint32_t)(h->slots.n - 1);
}

/* Returns the host and the path of a URL, without the user's name and the query. */
static pdl_str shown_address(const char *url) {
    pdl_str s = pdl_str_of(url);
    size_t host = pdl_str_find(s, PDL_STR("://"), 0);
    s = pdl_str_sub(s, host == PDL_NOT_FOUND ? 0 : host + 3, pdl_str_find(s, PDL_STR("?"), 0));
    size_t user = pdl_str_rfind(pdl_str_sub(s, 0, pdl_str_find(s, PDL_STR("/"), 0)), PDL_STR("@"));
    return user == PDL_NOT_FOUND ? s : pdl_str_sub(s, user + 1, s.n);
}

uint64_t pdl_http_start(pdl_http *h, const pdl_http_request *req) {
    if (!h->tried) set_up_library(h);
    pdl_buf_clear(&h->setup);
    pdl_http_put_setup(req, &h->setup);
    transfer *t = take_transfer(h);
    uint32_t slot = take_slot(h);
    t->id = (uint64_t)++h->uses << 32 | (slot + 1);
    t->req = *req;
    t->req.url = NULL; /* the caller owns the URL and may free it after this call */
    t->req.headers = NULL;
    /* no limit is needed, because the callbacks check the ceilings */
    t->head.limit = t->body.limit = (size_t)-1 >> 2;
    t->start_ns = t->last_ns = pdl_clock_ns();
    h->slots.p[slot] = t;
    h->open++;
    if (h->opt.debug) {
        pdl_str shown = shown_address(req->url);
        PDL_TRACE(h->opt.debug, http, "#%llx %s %.*s, body %zu bytes", (unsigned long long)t->id,
                  req->method, PDL_FMT(shown), req->body.n);
    }
    if (h->ready) {
        bool safe = pdl_http_set_up(t, req);
        lane *l = find_lane(h, has_tls(req->url));
        if (safe && h->curl.multi_add_handle(l->multi, t->easy) == CURLM_OK) {
            t->lane = l;
            l->n++;
            watch_silence(t, 0);
            return t->id;
        }
    }
    end_with(t, PDL_HTTP_BAD_REQUEST,
             h->ready ? "the request could not be set up"
                      : "libcurl (libcurl.so.4) cannot be loaded");
    if (!h->kick) h->kick = pdl_timer_start(h->loop, 0, on_kick, h);
    return t->id;
}

void pdl_http_cancel(pdl_http *h, uint64_t id) {
    uint32_t slot = (uint32_t)id - 1;
    transfer *t = slot < h->slots.n ? h->slots.p[slot] : NULL;
    if (!t || t->id != id || t->dead) return;
    t->dead = true;
    /* a queued transfer is released when it is taken from the queue */
    if (t->queued || t->in_callback) return;
    detach(t);
    leave_table(t);
    release(t);
}

size_t pdl_http_open(const pdl_http *h) { return h->open; }

/* --- life cycle ------------------------------------------------------------------------------- */

pdl_http *pdl_http_new(pdl_loop *loop, const pdl_http_options *opt) {
    pdl_http *h = PDL_NEW(pdl_http);
    h->loop = loop;
    if (opt) h->opt = *opt;
    h->queue_end = &h->queue;
    h->setup = PDL_BUF;
    h->sockets = (pdl_curl_sockets){.loop = loop, .ready = on_socket};
    return h;
}

void pdl_http_free(pdl_http *h) {
    if (!h) return;
    assert(!h->delivering);
    for (size_t i = 0; i < h->slots.n; i++) {
        transfer *t = h->slots.p[i];
        if (!t) continue;
        detach(t);
        destroy(t);
    }
    for (size_t i = 0; i < h->spare.n; i++) destroy(h->spare.p[i]);
    if (h->setup.p) pdl_os_wipe(h->setup.p, h->setup.cap);
    pdl_buf_fini(&h->setup);
    for (size_t i = 0; i < h->lanes.n; i++) {
        h->curl.multi_cleanup(h->lanes.p[i]->multi); /* this closes the idle connections */
        pdl_timer_stop(h->lanes.p[i]->timer);
        pdl_free(h->lanes.p[i]);
    }
    pdl_curl_sockets_fini(&h->sockets);
    if (h->share) h->curl.share_cleanup(h->share);
    if (h->parts) h->curl.url_cleanup(h->parts);
    pdl_free(h->address);
    if (h->ready) h->curl.global_cleanup();
    pdl_timer_stop(h->kick);
    pdl_vec_fini(&h->lanes);
    pdl_vec_fini(&h->spare);
    pdl_vec_fini(&h->slots);
    pdl_vec_fini(&h->vacant);
    pdl_free(h);
}

/* --- headers ---------------------------------------------------------------------------------- */

static pdl_str find_header(pdl_str text, const char *name) {
    pdl_str want = pdl_str_of(name), found = {0};
    for (size_t pos = 0; pos < text.n;) {
        size_t end = pdl_str_find(text, PDL_STR("\n"), pos);
        if (end == PDL_NOT_FOUND) end = text.n;
        pdl_str line = pdl_str_sub(text, pos, end);
        if (line.n > want.n && line.p[want.n] == ':' &&
            pdl_str_eq_nocase(pdl_str_sub(line, 0, want.n), want)) {
            found = pdl_str_trim(pdl_str_sub(line, want.n + 1, line.n));
            if (!found.p) found.p = "";
        }
        pos = end + 1;
    }
    return found;
}

pdl_str pdl_http_header(const pdl_http_reply *r, const char *name) {
    return find_header(r->header_text, name);
}

pdl_str pdl_http_seen(const pdl_http *h, uint64_t id, const char *name) {
    uint32_t slot = (uint32_t)id - 1;
    const transfer *t = slot < h->slots.n ? h->slots.p[slot] : NULL;
    return t && t->id == id ? find_header(pdl_buf_str(&t->head), name) : (pdl_str){0};
}
