/* httpd.c -- see httpd.h. libmicrohttpd parses and writes; its epoll descriptor hangs on the loop.
 *
 * A connection without an answer yet is suspended: libmicrohttpd then does not look at it, so its socket is
 * watched here for the client's leaving. An answer resumes it. What is read too slowly waits in `out`.
 */
#include "io/httpd.h"

#ifdef PDL_HAVE_MICROHTTPD

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "base/buf.h"
#include "base/num.h"

#include "base/banned.h"

enum { BACKLOG = 1024, PIECE = 16384, HEADERS = 32768 };

/* --- libmicrohttpd by name ------------------------------------------------------------------------------ */

typedef struct mhd_api {
    struct MHD_Daemon *(*start_daemon)(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback apc,
                                       void *apc_user, MHD_AccessHandlerCallback handler, void *user, ...);
    void (*stop_daemon)(struct MHD_Daemon *d);
    enum MHD_Result (*run)(struct MHD_Daemon *d);
    enum MHD_Result (*get_timeout)(struct MHD_Daemon *d, MHD_UNSIGNED_LONG_LONG *ms);
    const union MHD_DaemonInfo *(*get_daemon_info)(struct MHD_Daemon *d, enum MHD_DaemonInfoType t, ...);
    const union MHD_ConnectionInfo *(*get_connection_info)(struct MHD_Connection *c,
                                                           enum MHD_ConnectionInfoType t, ...);
    const char *(*lookup_connection_value)(struct MHD_Connection *c, enum MHD_ValueKind kind,
                                           const char *key);
    enum MHD_Result (*queue_response)(struct MHD_Connection *c, unsigned status, struct MHD_Response *r);
    struct MHD_Response *(*create_response_from_buffer)(size_t size, void *p,
                                                        enum MHD_ResponseMemoryMode mode);
    struct MHD_Response *(*create_response_from_callback)(uint64_t size, size_t block,
                                                          MHD_ContentReaderCallback crc, void *user,
                                                          MHD_ContentReaderFreeCallback free_fn);
    enum MHD_Result (*add_response_header)(struct MHD_Response *r, const char *name, const char *value);
    void (*destroy_response)(struct MHD_Response *r);
    void (*suspend_connection)(struct MHD_Connection *c);
    void (*resume_connection)(struct MHD_Connection *c);
} mhd_api;

static const struct {
    const char *symbol;
    size_t at;
} mhd_symbols[] = {
/* clang-format off */
#define S(name) {"MHD_" #name, offsetof(mhd_api, name)}
    S(start_daemon), S(stop_daemon), S(run), S(get_timeout), S(get_daemon_info), S(get_connection_info),
    S(lookup_connection_value), S(queue_response), S(create_response_from_buffer),
    S(create_response_from_callback), S(add_response_header), S(destroy_response), S(suspend_connection),
    S(resume_connection),
#undef S
    /* clang-format on */
};

static bool open_mhd(mhd_api *api, pdl_err *err) {
    void *lib = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    bool ok = lib != NULL;
    for (size_t i = 0; ok && i < sizeof mhd_symbols / sizeof mhd_symbols[0]; i++) {
        void *p = dlsym(lib, mhd_symbols[i].symbol);
        ok = p != NULL;
        if (ok) memcpy((char *)api + mhd_symbols[i].at, &p, sizeof p);
    }
    return ok || pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                             "no HTTP server: the library libmicrohttpd (package libmicrohttpd12) is missing");
}

/* --- types ---------------------------------------------------------------------------------------------- */

/* A connection, from its beginning to its end. */
typedef struct client {
    pdl_httpd *h;
    int fd;
    pdl_timer *limit; /* for a request to arrive */
} client;

/* handed: the user knows of it; suspended: libmicrohttpd does not look at it, and the socket is watched. */
struct pdl_exchange {
    pdl_httpd *h;
    struct MHD_Connection *conn;
    client *client;
    char *method, *path;
    pdl_buf body;
    struct MHD_Response *response; /* not queued yet */
    int status;
    pdl_buf out; /* of an answer in pieces; taken up to out_at */
    size_t out_at;
    pdl_watch *watch;
    void *data;
    bool handed, suspended, streams, ended, gone;
    pdl_exchange *prev, *next;
};

struct pdl_httpd {
    pdl_httpd_options opt;
    pdl_loop *loop;
    mhd_api mhd;
    struct MHD_Daemon *daemon;
    pdl_watch *watch;
    pdl_timer *timer;
    uint16_t port;
    pdl_exchange *first;
    bool closing;
};

/* --- turns of the library ------------------------------------------------------------------------------- */

static void turn(pdl_httpd *h);

static void on_timer(void *user) {
    pdl_httpd *h = user;
    h->timer = NULL;
    turn(h);
}

static void wake_in(pdl_httpd *h, uint64_t ms) {
    pdl_timer_stop(h->timer);
    h->timer = pdl_timer_start(h->loop, ms, on_timer, h);
}

static void turn(pdl_httpd *h) {
    MHD_UNSIGNED_LONG_LONG ms;
    h->mhd.run(h->daemon);
    if (h->mhd.get_timeout(h->daemon, &ms) == MHD_YES) wake_in(h, ms);
}

static void on_ready(void *user, int events) {
    (void)events;
    turn(user);
}

/* --- suspended connections ------------------------------------------------------------------------------ */

static void resume(pdl_exchange *x) {
    if (!x->suspended) return;
    x->suspended = false;
    pdl_watch_set(x->watch, 0);
    x->h->mhd.resume_connection(x->conn);
    if (!x->h->closing) wake_in(x->h, 0);
}

/* The socket of a suspended connection: the client has gone, or sends what nobody has asked for. */
static void on_socket(void *user, int events) {
    pdl_exchange *x = user;
    char c;
    (void)events;
    ssize_t n = recv(x->client->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n > 0) {
        pdl_watch_set(x->watch, 0); /* a next request: it waits its turn */
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        x->gone = true;
        resume(x);
    }
}

static void suspend(pdl_exchange *x) {
    x->suspended = true;
    x->h->mhd.suspend_connection(x->conn);
    if (!x->watch) x->watch = pdl_watch_start(x->h->loop, x->client->fd, PDL_WATCH_READ, on_socket, x);
    else pdl_watch_set(x->watch, PDL_WATCH_READ);
}

/* --- answers -------------------------------------------------------------------------------------------- */

static ssize_t read_out(void *user, uint64_t pos, char *to, size_t max) {
    pdl_exchange *x = user;
    (void)pos;
    if (x->gone) return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t left = x->out.len - x->out_at, n = left < max ? left : max;
    if (n) {
        memcpy(to, x->out.p + x->out_at, n);
        x->out_at += n;
        if (x->out_at >= x->out.len / 2) { /* each byte is moved once at most */
            pdl_buf_shift(&x->out, x->out_at);
            x->out_at = 0;
        }
        return (ssize_t)n;
    }
    if (x->ended) return MHD_CONTENT_READER_END_OF_STREAM;
    suspend(x);
    return 0;
}

static void set_response(pdl_exchange *x, struct MHD_Response *r, int status,
                         const pdl_answer_header *headers, size_t n) {
    for (size_t i = 0; i < n; i++) x->h->mhd.add_response_header(r, headers[i].name, headers[i].value);
    x->response = r;
    x->status = status;
    resume(x);
}

void pdl_exchange_answer(pdl_exchange *x, int status, const pdl_answer_header *headers, size_t n,
                         pdl_str body) {
    struct MHD_Response *r =
        x->h->mhd.create_response_from_buffer(body.n, (void *)(uintptr_t)body.p, MHD_RESPMEM_MUST_COPY);
    if (!r) PDL_BUG("no memory for an answer");
    set_response(x, r, status, headers, n);
}

void pdl_exchange_begin(pdl_exchange *x, int status, const pdl_answer_header *headers, size_t n) {
    struct MHD_Response *r =
        x->h->mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, read_out, x, NULL);
    if (!r) PDL_BUG("no memory for an answer");
    x->streams = true;
    set_response(x, r, status, headers, n);
}

void pdl_exchange_put(pdl_exchange *x, pdl_str bytes) {
    pdl_buf_put(&x->out, bytes);
    if (bytes.n) resume(x);
}

void pdl_exchange_end(pdl_exchange *x) {
    x->ended = true;
    resume(x);
}

size_t pdl_exchange_pending(const pdl_exchange *x) { return x->out.len - x->out_at; }

static enum MHD_Result send_response(pdl_exchange *x) {
    enum MHD_Result ok = x->h->mhd.queue_response(x->conn, (unsigned)x->status, x->response);
    x->h->mhd.destroy_response(x->response); /* the connection keeps it */
    x->response = NULL;
    return ok;
}

/* --- requests ------------------------------------------------------------------------------------------- */

pdl_str pdl_exchange_method(const pdl_exchange *x) { return pdl_str_of(x->method); }
pdl_str pdl_exchange_path(const pdl_exchange *x) { return pdl_str_of(x->path); }
pdl_str pdl_exchange_body(const pdl_exchange *x) { return pdl_buf_str(&x->body); }

pdl_str pdl_exchange_header(const pdl_exchange *x, const char *name) {
    return pdl_str_of(x->h->mhd.lookup_connection_value(x->conn, MHD_HEADER_KIND, name));
}

void pdl_exchange_set(pdl_exchange *x, void *data) { x->data = data; }
void *pdl_exchange_get(const pdl_exchange *x) { return x->data; }

static void on_late(void *user) {
    client *c = user;
    c->limit = NULL;
    shutdown(c->fd, SHUT_RDWR); /* libmicrohttpd sees the end and closes it */
}

static void await_request(client *c) {
    pdl_timer_stop(c->limit);
    c->limit = pdl_timer_start(c->h->loop, c->h->opt.receive_ms, on_late, c);
}

static pdl_exchange *new_exchange(pdl_httpd *h, struct MHD_Connection *conn, const char *method,
                                  const char *url) {
    pdl_exchange *x = PDL_NEW(pdl_exchange);
    x->h = h;
    x->conn = conn;
    x->client = h->mhd.get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    x->method = pdl_str_dup(pdl_str_of(method));
    x->path = pdl_str_dup(pdl_str_of(url));
    x->body = PDL_BUF;
    x->out = PDL_BUF;
    x->next = h->first;
    if (h->first) h->first->prev = x;
    h->first = x;
    return x;
}

static void free_exchange(pdl_exchange *x) {
    if (x->prev) x->prev->next = x->next;
    else x->h->first = x->next;
    if (x->next) x->next->prev = x->prev;
    if (x->response) x->h->mhd.destroy_response(x->response);
    pdl_watch_stop(x->watch);
    pdl_buf_fini(&x->body);
    pdl_buf_fini(&x->out);
    pdl_free(x->method);
    pdl_free(x->path);
    pdl_free(x);
}

/* Does the request say that its body is too long? */
static bool is_too_long(const pdl_exchange *x) {
    pdl_str said = pdl_exchange_header(x, "Content-Length");
    int64_t n = 0;
    return said.n && (!pdl_num_read_int(said, &n) || n < 0 || (uint64_t)n > x->h->opt.max_body);
}

static enum MHD_Result refuse_long(pdl_exchange *x) {
    static const pdl_answer_header json = {"Content-Type", "application/json"};
    pdl_exchange_answer(x, 413, &json, 1,
                        PDL_STR("{\"error\":{\"message\":\"The body of the request is too long\","
                                "\"type\":\"invalid_request_error\",\"param\":null,\"code\":null}}"));
    return send_response(x);
}

static enum MHD_Result on_access(void *user, struct MHD_Connection *conn, const char *url, const char *method,
                                 const char *version, const char *data, size_t *n, void **state) {
    pdl_httpd *h = user;
    pdl_exchange *x = *state;
    (void)version;
    if (!x) { /* the headers have arrived */
        *state = x = new_exchange(h, conn, method, url);
        return is_too_long(x) ? refuse_long(x) : MHD_YES;
    }
    if (*n) {
        if (x->body.len + *n > h->opt.max_body) return MHD_NO; /* it did not say so before */
        pdl_buf_put(&x->body, (pdl_str){data, *n});
        *n = 0;
        return MHD_YES;
    }
    if (!x->handed && !h->closing) {
        x->handed = true;
        pdl_timer_stop(x->client->limit);
        x->client->limit = NULL;
        PDL_TRACE(h->opt.debug, http, "request %s %s, %zu bytes", x->method, x->path, x->body.len);
        h->opt.request(h->opt.user, x);
    }
    if (x->gone || h->closing) return MHD_NO;
    if (x->response) return send_response(x);
    suspend(x);
    return MHD_YES;
}

static void on_completed(void *user, struct MHD_Connection *conn, void **state,
                         enum MHD_RequestTerminationCode how) {
    pdl_httpd *h = user;
    pdl_exchange *x = *state;
    (void)conn;
    (void)how;
    if (!x) return;
    *state = NULL;
    if (x->handed) h->opt.over(h->opt.user, x);
    if (!h->closing) await_request(x->client);
    free_exchange(x);
}

static void on_connection(void *user, struct MHD_Connection *conn, void **context,
                          enum MHD_ConnectionNotificationCode what) {
    pdl_httpd *h = user;
    client *c = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = c = PDL_NEW(client);
        c->h = h;
        c->fd = h->mhd.get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        await_request(c);
    } else if (c) {
        pdl_timer_stop(c->limit);
        pdl_free(c);
        *context = NULL;
    }
}

/* --- life ----------------------------------------------------------------------------------------------- */

static bool listen_failed(const char *host, unsigned port, const char *why, pdl_err *err) {
    return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot listen at %s port %u: %s", host, port, why);
}

static bool listen_at(const pdl_httpd_options *o, int *out, uint16_t *port, pdl_err *err) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list;
    char number[8];
    snprintf(number, sizeof number, "%u", (unsigned)o->port);
    int e = getaddrinfo(o->host, number, &hints, &list), fd = -1, one = 1;
    if (e != 0) return listen_failed(o->host, o->port, gai_strerror(e), err);
    e = 0;
    for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (fd >= 0 && bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) break;
        e = errno;
        if (fd >= 0) close(fd);
        fd = -1;
    }
    freeaddrinfo(list);
    if (fd < 0) return listen_failed(o->host, o->port, strerror(e), err);
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    *port = o->port;
    if (getsockname(fd, (struct sockaddr *)&at, &n) == 0) {
        if (getnameinfo((struct sockaddr *)&at, n, NULL, 0, number, sizeof number, NI_NUMERICSERV) == 0)
            *port = (uint16_t)strtoul(number, NULL, 10);
    }
    *out = fd;
    return true;
}

static bool start_daemon(pdl_httpd *h, int fd, pdl_err *err) {
    const pdl_httpd_options *o = &h->opt;
    h->daemon = h->mhd.start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_access, h, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, o->max_connections, MHD_OPTION_CONNECTION_TIMEOUT, o->send_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
    if (!h->daemon) {
        close(fd);
        return listen_failed(o->host, o->port, "the server does not start", err);
    }
    int ready = h->mhd.get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    h->watch = pdl_watch_start(h->loop, ready, PDL_WATCH_READ, on_ready, h);
    return h->watch || listen_failed(o->host, o->port, "its descriptor cannot be watched", err);
}

bool pdl_httpd_start(pdl_loop *loop, const pdl_httpd_options *opt, pdl_httpd **out, pdl_err *err) {
    pdl_httpd *h = PDL_NEW(pdl_httpd);
    int fd = -1;
    h->loop = loop;
    h->opt = *opt;
    if (!open_mhd(&h->mhd, err) || !listen_at(opt, &fd, &h->port, err) || !start_daemon(h, fd, err)) {
        pdl_httpd_free(h);
        return false;
    }
    *out = h;
    return true;
}

uint16_t pdl_httpd_port(const pdl_httpd *h) { return h->port; }

void pdl_httpd_free(pdl_httpd *h) {
    if (!h) return;
    h->closing = true;
    for (pdl_exchange *x = h->first; x; x = x->next) {
        x->gone = true;
        resume(x); /* libmicrohttpd does not stop while connections are suspended */
    }
    if (h->daemon) {
        h->mhd.run(h->daemon);
        h->mhd.stop_daemon(h->daemon);
    }
    pdl_watch_stop(h->watch);
    pdl_timer_stop(h->timer);
    pdl_free(h);
}

#else /* built without: no server starts, so there are no exchanges */

#include "base/banned.h"

bool pdl_httpd_start(pdl_loop *loop, const pdl_httpd_options *opt, pdl_httpd **out, pdl_err *err) {
    (void)loop;
    (void)opt;
    (void)out;
    return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "no HTTP server: built without libmicrohttpd");
}

static void none(void) { PDL_BUG("an exchange without a server"); }

uint16_t pdl_httpd_port(const pdl_httpd *h) { return (void)h, (uint16_t)0; }
void pdl_httpd_free(pdl_httpd *h) { (void)h; }
pdl_str pdl_exchange_method(const pdl_exchange *x) { return (void)x, none(), (pdl_str){0}; }
pdl_str pdl_exchange_path(const pdl_exchange *x) { return (void)x, none(), (pdl_str){0}; }
pdl_str pdl_exchange_header(const pdl_exchange *x, const char *n) { return (void)x, (void)n, none(), (pdl_str){0}; }
pdl_str pdl_exchange_body(const pdl_exchange *x) { return (void)x, none(), (pdl_str){0}; }
void pdl_exchange_set(pdl_exchange *x, void *data) { (void)x, (void)data, none(); }
void *pdl_exchange_get(const pdl_exchange *x) { return (void)x, none(), NULL; }
void pdl_exchange_answer(pdl_exchange *x, int status, const pdl_answer_header *headers, size_t n,
                         pdl_str body) {
    (void)x, (void)status, (void)headers, (void)n, (void)body, none();
}
void pdl_exchange_begin(pdl_exchange *x, int status, const pdl_answer_header *headers, size_t n) {
    (void)x, (void)status, (void)headers, (void)n, none();
}
void pdl_exchange_put(pdl_exchange *x, pdl_str bytes) { (void)x, (void)bytes, none(); }
void pdl_exchange_end(pdl_exchange *x) { (void)x, none(); }
size_t pdl_exchange_pending(const pdl_exchange *x) { return (void)x, none(), (size_t)0; }

#endif
