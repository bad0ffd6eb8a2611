/* http.c -- a server over streamable HTTP: every message is a POST, the answer to a request is JSON or a
 * stream of events that ends with it. A stream may bring other messages first. */
#include <string.h>

#include "base/utf8.h"
#include "io/sse.h"
#include "mcp/room.h"
#include "value/json_read.h"

#include "base/banned.h"

enum { CONNECT_MS = 10000, SHOWN = 200, GONE = 404 };

typedef enum { FORM_UNKNOWN, FORM_JSON, FORM_EVENTS } form;

/* One message on its way, and its answer. */
typedef struct post {
    struct posts *of;
    uint64_t call; /* id; 0: none */
    call_kind kind;
    uint64_t transfer;
    form form;
    pdl_buf sent, json;
    pdl_sse events;
    bool in_session; /* it carried a session id */
    bool reading, dead;
    struct post *next;
} post;

typedef struct posts {
    session *s;
    char *session_id; /* owned; NULL: the server gave none */
    post *first;
    uint64_t farewell; /* transfer of the DELETE; 0: none */
} posts;

static void post_free(post *p) {
    pdl_buf_fini(&p->sent);
    pdl_buf_fini(&p->json);
    pdl_sse_fini(&p->events);
    pdl_free(p);
}

static void unlink_post(post *p) {
    post **at = &p->of->first;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
}

/* --- what comes ----------------------------------------------------------------------------------------- */

static const char session_header[] = "Mcp-Session-Id";

static void note_session(const post *p, pdl_str id) {
    if (p->kind == CALL_INITIALIZE && !p->of->session_id && id.n) p->of->session_id = pdl_str_dup(id);
}

static bool on_event(void *user, pdl_str name, pdl_str data, pdl_err *err) {
    post *p = user;
    (void)name;
    (void)err;
    session_message(p->of->s, data);
    return !p->dead;
}

static form form_of(pdl_str bytes) {
    pdl_str s = pdl_str_trim(bytes);
    if (!s.n) return FORM_UNKNOWN;
    return s.p[0] == '{' || s.p[0] == '[' ? FORM_JSON : FORM_EVENTS;
}

static bool on_data(void *user, pdl_str bytes) {
    post *p = user;
    pdl_err err = {0};
    bool ok = true;
    note_session(p, pdl_http_seen(p->of->s->room->http, p->transfer, session_header));
    if (p->form == FORM_UNKNOWN) p->form = form_of(bytes);
    if (p->form == FORM_JSON) {
        pdl_buf_put(&p->json, bytes);
    } else if (p->form == FORM_EVENTS) {
        p->reading = true;
        ok = pdl_sse_feed(&p->events, bytes, on_event, p, &err);
        p->reading = false;
    }
    pdl_err_fini(&err);
    if (!p->dead) return ok;
    post_free(p);
    return true; /* it was cancelled: nobody looks at this */
}

/* What the server says of a refusal: an error object of JSON-RPC, else the beginning of the text. */
static void put_refusal(const session *s, const pdl_http_reply *r, pdl_err *err) {
    pdl_val v = pdl_absent();
    pdl_err bad = {0};
    if (!pdl_json_read(r->body, 0, &v, NULL, &bad)) pdl_err_fini(&bad);
    pdl_vref error = pdl_is_dict(v) ? pdl_dict_getz(v, "error") : pdl_absent();
    pdl_buf b = PDL_BUF;
    if (pdl_is_dict(error)) {
        rpc_error(error, &bad);
        pdl_buf_putf(&b, ": %s", bad.msg);
        pdl_err_fini(&bad);
    } else if (pdl_str_trim(r->body).n && pdl_str_trim(r->body).p[0] != '<') {
        PDL_PUT(&b, ": ");
        pdl_utf8_repair(&b, pdl_str_sub(pdl_str_trim(r->body), 0, SHOWN));
    }
    const char *hint = r->status == 401   ? " (headers in the configuration may carry an Authorization)"
                       : r->status < 400 ? " (redirects are not followed)"
                                          : "";
    server_error(s, err, "HTTP status %d%s%s", r->status, hint, pdl_buf_z(&b));
    pdl_buf_fini(&b);
    pdl_drop(v);
}

/* The answer is over. */
static void judge(session *s, const post *p, const pdl_http_reply *r) {
    pdl_err err = {0};
    bool good = r->end == PDL_HTTP_OK && r->status >= 200 && r->status <= 299;
    if (p->kind == CALL_INITIALIZED && good) {
        session_greeted(s);
        return;
    }
    if (!p->call || !session_waits_for(s, p->call)) return;
    if (r->end != PDL_HTTP_OK) {
        server_error(s, &err, "%s", r->why);
        if (r->end == PDL_HTTP_TIMEOUT) err.kind = PDL_E_timeout;
        if (r->end == PDL_HTTP_TOO_LARGE) err.kind = PDL_E_limit;
    } else if (r->status == GONE && p->in_session && p->kind == CALL_JOB) {
        session_lost(s, p->call);
        return;
    } else if (!good) {
        put_refusal(s, r, &err);
    } else {
        server_error(s, &err, "the reply holds no answer to the request");
    }
    session_call_failed(s, p->call, &err);
}

static void on_done(void *user, const pdl_http_reply *r) {
    post *p = user;
    session *s = p->of->s;
    pdl_err err = {0};
    note_session(p, pdl_http_header(r, session_header));
    p->reading = true; /* keeps it alive, wherever the messages lead */
    if (p->form == FORM_JSON) session_message(s, pdl_buf_str(&p->json));
    else if (p->form == FORM_EVENTS && !pdl_sse_end(&p->events, on_event, p, &err)) pdl_err_fini(&err);
    p->reading = false;
    if (!p->dead) {
        unlink_post(p);
        judge(s, p, r);
    }
    post_free(p);
}

/* --- what is sent --------------------------------------------------------------------------------------- */

enum { OWN_HEADERS = 4 };

/* Headers of the configuration, then ours; lines has room for all, id and version for one line each. */
static size_t put_headers(const session *s, const char **lines, pdl_buf *id, pdl_buf *version) {
    size_t n = 0;
    for (size_t i = 0; i < s->config.n_headers; i++) lines[n++] = s->config.headers[i];
    if (s->posts->session_id) {
        pdl_buf_putf(id, "Mcp-Session-Id: %s", s->posts->session_id);
        lines[n++] = pdl_buf_z(id);
    }
    if (s->version) {
        pdl_buf_putf(version, "MCP-Protocol-Version: %s", s->version);
        lines[n++] = pdl_buf_z(version);
    }
    return n;
}

static uint64_t transfer(session *s, pdl_http_request *r) {
    room *m = s->room;
    if (!m->http) {
        const char *ca = m->opt.env ? m->opt.env(m->opt.user, "SSL_CERT_FILE") : NULL;
        m->http = pdl_http_new(m->loop, &(pdl_http_options){.ca_file = ca, .debug = m->opt.debug});
    }
    const char **lines = PDL_NEW_N(const char *, s->config.n_headers + OWN_HEADERS);
    pdl_buf id = PDL_BUF, version = PDL_BUF;
    size_t n = put_headers(s, lines, &id, &version);
    if (r->body.p) {
        lines[n++] = "Content-Type: application/json";
        lines[n++] = "Accept: application/json, text/event-stream";
    }
    r->headers = lines;
    r->n_headers = n;
    r->url = s->config.url;
    r->connect_ms = CONNECT_MS;
    uint64_t t = pdl_http_start(m->http, r);
    pdl_buf_fini(&id);
    pdl_buf_fini(&version);
    pdl_free(lines);
    return t;
}

static bool open_posts(session *s, pdl_err *err) {
    (void)err;
    s->posts = PDL_NEW(posts);
    s->posts->s = s;
    s->version = NULL;
    return true;
}

static void send_post(session *s, pdl_str json, const call *c) {
    if (!s->posts) return;
    post *p = PDL_NEW(post);
    p->of = s->posts;
    p->call = c ? c->id : 0;
    p->kind = c ? c->kind : CALL_JOB;
    p->in_session = s->posts->session_id != NULL;
    p->json = p->sent = PDL_BUF;
    pdl_buf_put(&p->sent, json);
    p->next = s->posts->first;
    s->posts->first = p;
    pdl_http_request r = {
        .method = "POST", .body = pdl_buf_str(&p->sent), .user = p, .data = on_data, .done = on_done,
        .idle_ms = s->config.timeout_ms > s->config.start_ms ? s->config.timeout_ms : s->config.start_ms,
    };
    p->transfer = transfer(s, &r);
}

static void drop_post(post *p) {
    unlink_post(p);
    pdl_http_cancel(p->of->s->room->http, p->transfer);
    p->dead = true;
    if (!p->reading) post_free(p);
}

static void forget(session *s, const call *c) {
    for (post *p = s->posts ? s->posts->first : NULL; p; p = p->next)
        if (p->call == c->id) {
            drop_post(p);
            return;
        }
}

static void on_farewell(void *user, const pdl_http_reply *r) {
    posts *all = user;
    (void)r; /* 405: the server does not let sessions be ended */
    all->farewell = 0;
}

static void finish(session *s) {
    posts *all = s->posts;
    if (!all || !all->session_id) return;
    pdl_http_request r = {.method = "DELETE", .user = all, .done = on_farewell, .idle_ms = CONNECT_MS};
    all->farewell = transfer(s, &r);
}

static bool finished(const session *s) { return !s->posts || !s->posts->farewell; }

static void insist(session *s, int sig) {
    (void)sig;
    if (!s->posts || !s->posts->farewell) return;
    pdl_http_cancel(s->room->http, s->posts->farewell);
    s->posts->farewell = 0;
}

static void let_go(session *s) {
    posts *all = s->posts;
    if (!all) return;
    insist(s, 0);
    while (all->first) drop_post(all->first);
    pdl_free(all->session_id);
    pdl_free(all);
    s->posts = NULL;
}

const transport transport_http = {false, open_posts, send_post, forget, finish, finished, insist, let_go};
