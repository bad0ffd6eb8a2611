/* httpd.c -- see httpd.h. A connection is a state machine of four phases:
 *
 *                  head is read        body is read          answer was sent
 *      READ_HEAD ------------> READ_BODY ---------> ANSWER -----------------> READ_HEAD, or
 *          \___________________________\___________ LINGER: discards input, then closes
 *
 * A connection reads no more than it can store; otherwise a client could fill the memory. While a
 * request is being answered, the next bytes wait in `in`, up to the size of a head, and further
 * bytes wait in the kernel. A request that is refused while its body still arrives is answered at
 * once; the connection then lingers, because closing it with unread bytes would reset it, and the
 * client would lose the answer. What must stay true: every buffer of a connection is bounded, and
 * every phase has a time limit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/httpd_impl.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/linked.h"
#include "base/os.h"
#include "base/pace.h"

#include "base/banned.h"

enum {
    BACKLOG = 1024,
    ACCEPTS = 64, /* number of connections that are accepted in one turn of the loop */
    SWEEP_MS = 1000,
    LINGER_MS = 5000, /* limit for a silence of the client */
};

/* --- lists ------------------------------------------------------------------------------------ */

static void take_out(client *c) { pdl_linked_remove(c->list, c); }

static void put_in(client *c, clients *l) {
    c->list = l;
    pdl_linked_append(l, c);
}

static void move(client *c, clients *l) {
    take_out(c);
    put_in(c, l);
}

/* --- the end of exchanges and connections ----------------------------------------------------- */

static void free_exchange(client *c) {
    pdl_exchange *x = c->x;
    c->x = NULL;
    if (!x) return;
    c->h->opt.over(c->h->opt.user, x);
    assert(c->h->body_bytes >= x->body.cap);
    c->h->body_bytes -= x->body.cap;
    pdl_http_head_fini(&x->head);
    pdl_buf_fini(&x->bytes);
    pdl_buf_fini(&x->body);
    pdl_buf_fini(&x->headers);
    pdl_free(x);
}

static turn end(client *c) {
    pdl_httpd *h = c->h;
    free_exchange(c);
    take_out(c);
    pdl_watch_stop(c->watch);
    close(c->fd);
    pdl_buf_fini(&c->in);
    pdl_buf_fini(&c->out);
    pdl_free(c);
    assert(h->n_clients > 0);
    h->n_clients--;
    pdl_watch_set(h->watch, PDL_WATCH_READ);
    return GONE;
}

/* Discards input until the client has closed the connection, or until a time limit passes. */
static turn linger(client *c) {
    free_exchange(c);
    if (c->no_more || shutdown(c->fd, SHUT_WR) != 0) return end(c);
    c->phase = LINGER;
    c->last_ms = now_ms() + c->h->opt.receive_ms;
    c->end_ms = now_ms() + LINGER_MS;
    pdl_buf_fini(&c->in);
    move(c, &c->h->idle);
    return WAIT;
}

/* --- refusals --------------------------------------------------------------------------------- */

static void put_error(pdl_buf *b, const char *why) {
    pdl_buf_putf(b,
                 "{\"error\":{\"message\":\"%s\",\"type\":\"invalid_request_error\",\"param\":null,"
                 "\"code\":null}}",
                 why);
}

static void write_peer(const client *c, char *to, size_t size) {
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    bool known =
        getpeername(c->fd, (struct sockaddr *)&at, &n) == 0 &&
        getnameinfo((struct sockaddr *)&at, n, to, (socklen_t)size, NULL, 0, NI_NUMERICHOST) == 0;
    if (!known) to[0] = 0;
}

static void report_refusal(const client *c, int status, const char *why) {
    char peer[NI_MAXHOST];
    PDL_TRACE(c->h->opt.debug, http, "refused: %d %s", status, why);
    if (!c->h->opt.refused) return;
    write_peer(c, peer, sizeof peer);
    c->h->opt.refused(c->h->opt.user, peer, status, why);
}

/* Refuses bytes that are not a request, or a request that did not arrive in time, and closes the
 * connection. The user has not seen this request. */
static turn refuse(client *c, int status, const char *why) {
    pdl_buf b = PDL_BUF;
    report_refusal(c, status, why);
    put_error(&b, why);
    c->closes = true;
    c->phase = ANSWER;
    pdl_httpd_put_status(c, status);
    pdl_httpd_put_header(&c->out, "Content-Type", "application/json");
    pdl_buf_putf(&c->out, "Content-Length: %zu\r\n\r\n", b.len);
    if (!c->wants_head) pdl_buf_put(&c->out, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return GO;
}

static void drop_body(pdl_exchange *x) {
    x->client->h->body_bytes -= x->body.cap;
    pdl_buf_fini(&x->body);
}

/* Refuses a request whose headers the user has seen. */
static turn refuse_body(pdl_exchange *x, int status, const char *why) {
    static const pdl_answer_header headers[] = {{"Content-Type", "application/json"},
                                                {"Retry-After", "1"}};
    pdl_buf b = PDL_BUF;
    put_error(&b, why);
    if (!x->status) pdl_exchange_answer(x, status, headers, status == 503 ? 2 : 1, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    if (!x->at_head) x->client->phase = ANSWER;
    drop_body(x);
    return GO;
}

/* --- requests --------------------------------------------------------------------------------- */

pdl_str pdl_exchange_method(const pdl_exchange *x) { return x->head.method; }
pdl_str pdl_exchange_path(const pdl_exchange *x) { return pdl_str_of(x->head.path); }
bool pdl_exchange_parameter(const pdl_exchange *x, const char *name, pdl_buf *out) {
    return pdl_http_head_parameter(&x->head, name, out);
}
pdl_str pdl_exchange_body(const pdl_exchange *x) { return pdl_buf_str(&x->body); }
pdl_str pdl_exchange_header(const pdl_exchange *x, const char *name) {
    return pdl_http_head_field(&x->head, name);
}
bool pdl_exchange_has_body(const pdl_exchange *x) { return x->head.length != 0; }
void pdl_exchange_set(pdl_exchange *x, void *data) { x->data = data; }
void *pdl_exchange_get(const pdl_exchange *x) { return x->data; }
void pdl_exchange_set_record(pdl_exchange *x, void *record) { x->record = record; }
void *pdl_exchange_record(const pdl_exchange *x) { return x->record; }

void pdl_exchange_peer(const pdl_exchange *x, char *to, size_t size) {
    write_peer(x->client, to, size);
}

static void show_head(client *c) {
    pdl_httpd *h = c->h;
    pdl_exchange *x = c->x;
    x->at_head = true;
    if (h->opt.head) h->opt.head(h->opt.user, x);
    if (!x->status && x->head.length > 0 && (uint64_t)x->head.length > h->opt.max_body)
        (void)refuse_body(x, 413, "The body of the request is too long");
    x->at_head = false;
    bool waits = x->head.expects_continue && !x->status && pdl_httpd_still_arrives(x) && !c->in.len;
    pdl_str proceed = PDL_STR("HTTP/1.1 100 Continue\r\n\r\n");
    /* All earlier answers were sent. So the buffer of the socket has room, unless the client is
     * gone. */
    if (waits &&
        send(c->fd, proceed.p, proceed.n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)proceed.n)
        c->closes = true;
}

/* Handles the phase READ_HEAD, which ends when the head is complete. Waits while bytes
 * are missing. */
static turn read_head(client *c) {
    size_t blank = 0;
    while (blank + 1 < c->in.len && c->in.p[blank] == '\r' && c->in.p[blank + 1] == '\n')
        blank += 2;
    if (blank) pdl_buf_shift(&c->in, blank); /* skips empty lines before a request */
    c->wants_head = pdl_str_starts(pdl_buf_str(&c->in), PDL_STR("HEAD "));
    const char *nonsense = pdl_http_head_nonsense(pdl_buf_str(&c->in));
    if (nonsense) return refuse(c, 400, nonsense);
    size_t end_at = pdl_http_head_end(pdl_buf_str(&c->in), &c->scanned);
    if (end_at == PDL_NOT_FOUND) return refuse(c, 400, "the lines of a request end with CR LF");
    if (end_at > PDL_HTTP_MAX_HEAD || (!end_at && c->in.len >= PDL_HTTP_MAX_HEAD))
        return refuse(c, 431, "the headers of the request are too long");
    if (!end_at) return WAIT;
    pdl_exchange *x = PDL_NEW(pdl_exchange);
    const char *why;
    x->client = c;
    x->bytes = x->body = x->headers = PDL_BUF;
    pdl_buf_put(&x->bytes, pdl_str_sub(pdl_buf_str(&c->in), 0, end_at));
    pdl_buf_shift(&c->in, end_at);
    c->scanned = 0;
    int status = pdl_http_head_read(pdl_buf_str(&x->bytes), &x->head, &why);
    if (status) {
        pdl_http_head_fini(&x->head);
        pdl_buf_fini(&x->bytes);
        pdl_free(x);
        return refuse(c, status, why);
    }
    x->left = x->head.length < 0 ? 0 : x->head.length;
    c->x = x;
    c->phase = READ_BODY;
    show_head(c);
    if (c->closes && x->status)
        c->phase = ANSWER; /* the rest of the body is discarded */
    else if (!x->status)
        move(c, &c->h->receiving);
    return GO;
}

/* Stores a piece of the body. Growth is by half, as in any buffer; its memory is counted. */
static turn keep(pdl_exchange *x, pdl_str piece) {
    pdl_httpd *h = x->client->h;
    size_t before = x->body.cap, after = x->body.len + piece.n;
    if (x->status) return GO; /* the body is discarded */
    if (after > h->opt.max_body) return refuse_body(x, 413, "The body of the request is too long");
    bool over = after > before && after > SMALL_BODY &&
                h->body_bytes - before + after + after / 2 > h->opt.max_bodies;
    if (over) return refuse_body(x, 503, "The bodies of the requests in flight are too long");
    pdl_buf_put(&x->body, piece);
    h->body_bytes += x->body.cap - before;
    return GO;
}

static turn read_body(client *c) {
    pdl_exchange *x = c->x;
    pdl_str in = pdl_buf_str(&c->in);
    while (c->phase == READ_BODY && in.n && pdl_httpd_still_arrives(x)) {
        pdl_str piece = pdl_str_sub(in, 0, (uint64_t)x->left < in.n ? (size_t)x->left : in.n);
        if (x->head.length >= 0) {
            in = pdl_str_sub(in, piece.n, in.n);
            x->left -= (int64_t)piece.n;
        } else if (!pdl_chunks_take(&x->chunks, &in, &piece)) {
            return refuse_body(x, 400, "the body is not in valid chunks");
        }
        if (piece.n) (void)keep(x, piece);
    }
    pdl_buf_shift(&c->in, c->in.len - in.n);
    if (c->phase == READ_BODY && pdl_httpd_still_arrives(x)) return WAIT;
    if (c->phase == ANSWER) return GO; /* the request was refused while its body arrived */
    c->phase = ANSWER;
    c->end_ms = 0;
    move(c, &c->h->busy);
    if (x->status) {
        c->end_ms = now_ms() + c->h->opt.send_ms;
        return GO;
    }
    PDL_TRACE(c->h->opt.debug, http, "request %.*s %s, %zu bytes", PDL_FMT(x->head.method),
              x->head.path, x->body.len);
    c->h->opt.request(c->h->opt.user, x);
    return GO;
}

static void await_request(client *c) {
    c->phase = READ_HEAD;
    c->end_ms = now_ms() + c->h->opt.receive_ms;
    move(c, &c->h->idle);
}

/* Handles the phase ANSWER: sends the output that is ready. */
static turn give(client *c) {
    if (!pdl_httpd_flush(c)) return end(c);
    bool done = !c->out.len && (!c->x || c->x->ended);
    /* from here on the connection waits for the user's answer */
    if (!c->out.len && c->x && !done) c->end_ms = 0;
    if (!done) return WAIT;
    if (c->closes) return linger(c);
    free_exchange(c);
    if (c->no_more) return end(c);
    await_request(c);
    return c->in.len ? GO : WAIT;
}

static void advance(client *c) {
    turn t = GO;
    c->in_turn = true;
    while (t == GO) {
        switch (c->phase) {
        case READ_HEAD: t = read_head(c); break;
        case READ_BODY: t = read_body(c); break;
        case ANSWER: t = give(c); break;
        case LINGER: t = WAIT; break;
        }
    }
    if (t == GONE) return;
    assert(client_ok(c));
    c->in_turn = false;
    pdl_httpd_watch(c);
}

/* --- sockets ---------------------------------------------------------------------------------- */

/* Called when the client sends nothing more. A request that is incomplete, or waits for an answer,
 * is dropped. */
static turn on_end(client *c) {
    bool takes = c->phase == ANSWER && (!c->x || c->x->ended);
    if (!takes) return end(c);
    c->no_more = true;
    return GO;
}

static turn receive(client *c) {
    pdl_httpd *h = c->h;
    bool heads = c->phase == ANSWER || c->phase == READ_HEAD;
    size_t size = heads ? PDL_HTTP_MAX_HEAD - c->in.len : HTTPD_SCRATCH;
    if (h->opt.debug && h->opt.debug->split) size = 1;
    ssize_t n = recv(c->fd, h->scratch, size, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return WAIT;
    if (n < 0) return end(c);
    if (n == 0) return on_end(c);
    if (c->phase == LINGER) {
        c->end_ms = now_ms() + LINGER_MS;
        return WAIT;
    }
    bool begins =
        c->phase == READ_HEAD && !c->in.len && !pdl_byte_in(h->scratch[0], PDL_STR("\r\n"));
    if (begins) c->end_ms = now_ms() + h->opt.receive_ms;
    pdl_buf_put(&c->in, (pdl_str){h->scratch, (size_t)n});
    return GO;
}

static void on_socket(void *user, int events) {
    client *c = user;
    turn t = GO;
    assert(client_ok(c));
    if ((events & PDL_WATCH_READ) && !pdl_httpd_is_full(c)) t = receive(c);
    if (t == GO || (t == WAIT && (events & PDL_WATCH_WRITE))) advance(c);
}

/* To make room, closes the connection of `idle` that was active longest ago or, when there is none,
 * that of `receiving`. */
static bool make_room(pdl_httpd *h) {
    client *c = h->idle.first ? h->idle.first : h->receiving.first;
    if (c) (void)end(c);
    return c != NULL;
}

static void sweep(void *user);

static void add_client(pdl_httpd *h, int fd) {
    int one = 1;
    client *c = PDL_NEW(client);
    c->h = h;
    c->fd = fd;
    c->in = c->out = PDL_BUF;
    put_in(c, &h->idle);
    h->n_clients++;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    c->watch = pdl_watch_start(h->loop, fd, PDL_WATCH_READ, on_socket, c);
    if (!c->watch) {
        (void)end(c);
        return;
    }
    await_request(c);
    if (!h->timer) h->timer = pdl_timer_start(h->loop, pdl_pace_ms(SWEEP_MS), sweep, h);
}

static int accept_one(pdl_httpd *h) {
    int fd = pdl_os_accept(h->fd);
    bool none = fd < 0 && (errno == EMFILE || errno == ENFILE) &&
                make_room(h); /* when no descriptor is free, closing a connection frees one */
    return none ? pdl_os_accept(h->fd) : fd;
}

/* Called when accept has failed. If a connection was waiting, there was no free descriptor for it.
 * Accepting then stops until one may be free. */
static void stop_accepting(pdl_httpd *h) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    pdl_watch_set(h->watch, 0);
    if (!h->timer) h->timer = pdl_timer_start(h->loop, pdl_pace_ms(SWEEP_MS), sweep, h);
}

static void on_listen(void *user, int events) {
    pdl_httpd *h = user;
    (void)events;
    for (int i = 0; i < ACCEPTS; i++) {
        if (h->n_clients >= h->opt.max_connections && !make_room(h)) {
            pdl_watch_set(h->watch, 0); /* accepts no connection until another one ends */
            return;
        }
        int fd = accept_one(h);
        if (fd >= 0)
            add_client(h, fd);
        else if (errno != EINTR && errno != ECONNABORTED) {
            stop_accepting(h);
            return;
        }
    }
}

/* --- time ------------------------------------------------------------------------------------- */

static void time_out(client *c) {
    PDL_TRACE(c->h->opt.debug, http,
              "a connection is closed: its time to send or to receive is over");
    bool partly = (c->phase == READ_HEAD && c->in.len) || (c->phase == READ_BODY && !c->x->status);
    if (!partly) {
        (void)end(c);
        return;
    }
    (void)(c->x ? refuse_body(c->x, 408, "the request did not arrive in time")
                : refuse(c, 408, "the request did not arrive in time"));
    c->end_ms = now_ms() + LINGER_MS;
    advance(c);
}

/* Returns true when the client of a connection with a full buffer is gone. Such a connection is not
 * read, so its end is only noticed by polling. */
static bool has_gone(const client *c) {
    return pdl_httpd_is_full(c) && !c->no_more && pdl_os_is_left(c->fd);
}

static void sweep_list(clients *l, uint64_t now) {
    for (client *c = l->first, *next; c; c = next) {
        /* a step ends only c, or moves c to another list or to the end of this one */
        next = c->next;
        bool late = (c->end_ms && now >= c->end_ms) || (c->phase == LINGER && now >= c->last_ms);
        if (has_gone(c) && (!c->x || !c->x->ended))
            (void)end(c);
        else if (late)
            time_out(c);
    }
}

static void sweep(void *user) {
    pdl_httpd *h = user;
    uint64_t now = now_ms();
    h->timer = NULL;
    sweep_list(&h->busy, now);
    sweep_list(&h->receiving, now);
    sweep_list(&h->idle, now);
    pdl_watch_set(h->watch, PDL_WATCH_READ); /* descriptors may be free again */
    if (h->n_clients) h->timer = pdl_timer_start(h->loop, pdl_pace_ms(SWEEP_MS), sweep, h);
}

/* --- life ------------------------------------------------------------------------------------- */

/* Sets the error of a failed listen. is_address says that this machine does not have the address,
 * which is a mistake of the caller; any other failure is one of the system. */
static bool listen_failed(const pdl_httpd_options *o, bool is_address, const char *why,
                          pdl_err *err) {
    return pdl_err_set(err, is_address ? PDL_E_usage : PDL_E_io, (pdl_loc){0},
                       "cannot listen at %s port %u: %s", o->host, (unsigned)o->port, why);
}

static bool listen_at(const pdl_httpd_options *o, int *to, uint16_t *port, pdl_err *err) {
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list;
    char number[8];
    snprintf(number, sizeof number, "%u", (unsigned)o->port);
    int e = getaddrinfo(o->host, number, &hints, &list), fd = -1, one = 1;
    if (e != 0) return listen_failed(o, e != EAI_MEMORY && e != EAI_SYSTEM, gai_strerror(e), err);
    e = 0;
    for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
        fd = pdl_os_socket(a->ai_family, SOCK_STREAM, 0, true);
        if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (fd >= 0 && bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) break;
        e = errno;
        if (fd >= 0) close(fd);
        fd = -1;
    }
    freeaddrinfo(list);
    if (fd < 0) return listen_failed(o, e == EADDRNOTAVAIL, strerror(e), err);
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    *port = o->port;
    if (getsockname(fd, (struct sockaddr *)&at, &n) == 0) {
        if (getnameinfo((struct sockaddr *)&at, n, NULL, 0, number, sizeof number,
                        NI_NUMERICSERV) == 0)
            *port = (uint16_t)strtoul(number, NULL, 10);
    }
    *to = fd;
    return true;
}

/* Limits the number of connections, because programs need descriptors, too. */
static unsigned most_connections(unsigned wanted) {
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur == RLIM_INFINITY ||
        r.rlim_cur / 2 >= wanted)
        return wanted;
    return r.rlim_cur > 2 ? (unsigned)(r.rlim_cur / 2) : 1;
}

void pdl_httpd_put_origin(pdl_str host, uint16_t port, pdl_buf *out) {
    bool v6 = memchr(host.p, ':', host.n) != NULL;
    pdl_buf_putf(out, "http://%s%.*s%s:%u", v6 ? "[" : "", PDL_FMT(host), v6 ? "]" : "",
                 (unsigned)port);
}

bool pdl_httpd_start(pdl_loop *loop, const pdl_httpd_options *opt, pdl_httpd **to, pdl_err *err) {
    pdl_httpd *h = PDL_NEW(pdl_httpd);
    h->loop = loop;
    h->opt = *opt;
    h->fd = -1;
    h->opt.max_connections = most_connections(opt->max_connections);
    bool ok = listen_at(opt, &h->fd, &h->port, err);
    if (ok) h->watch = pdl_watch_start(loop, h->fd, PDL_WATCH_READ, on_listen, h);
    if (!ok || (!h->watch && !listen_failed(opt, false, "its descriptor cannot be watched", err))) {
        pdl_httpd_free(h);
        return false;
    }
    *to = h;
    return true;
}

uint16_t pdl_httpd_port(const pdl_httpd *h) { return h->port; }
unsigned pdl_httpd_connections(const pdl_httpd *h) { return h->n_clients; }

void pdl_httpd_free(pdl_httpd *h) {
    if (!h) return;
    clients *const lists[] = {&h->busy, &h->receiving, &h->idle};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        while (lists[i]->first) (void)end(lists[i]->first);
    pdl_watch_stop(h->watch);
    pdl_timer_stop(h->timer);
    if (h->fd >= 0) close(h->fd);
    pdl_free(h);
}
