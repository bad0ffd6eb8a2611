/* mcp_http.c -- a server over streamable HTTP. Every message is a POST; the answer to a request is
 * JSON, or a stream of events that ends with the answer and may bring other messages first.
 *
 * Connections break and servers restart, so a stream that ends too early is resumed with a GET that
 * names its last event, a limited number of times. Another GET stays open as long as the session;
 * over it the server sends the messages that belong to no request. A server that forgets its
 * session (404, or what many servers answer instead) is initialised again, and the call is sent
 * again. That happens only once, because a tool may have acted already.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/limits.h"
#include "base/pace.h"
#include "base/utf8.h"
#include "io/sse.h"
#include "mcp/server_session.h"
#include "value/json_read.h"
#include "value/peer_message.h"

#include "base/banned.h"

enum {
    CONNECT_MS = 10000,
    RETRY_MS = 1000, /* pause before a stream is resumed, when the server does not give one */
    MIN_RETRY_MS = 100,
    MAX_RETRY_MS = 60000,
    MAX_TRIES = 5,       /* attempts to resume an answer, without an event in between */
    MAX_IGNORED = 65536, /* bytes of an ignored answer, before its connection is closed */
    SHOWN = 200,
    BAD_REQUEST = 400,
    UNAUTHORIZED = 401,
    GONE = 404,
    NOT_IMPLEMENTED = 501,
    SERVER_ERROR = -32000, /* the code of JSON-RPC that servers use for an unspecified error */
};

typedef enum { FORM_UNKNOWN, FORM_JSON, FORM_EVENTS } form;

/* A message in flight and its answer, or the stream of events that belongs to the session. */
typedef struct post {
    struct posts *of;
    uint64_t call; /* id of the call; 0 when the message is not a call */
    call_kind kind;
    uint64_t transfer; /* transfer of the message; 0 while the message waits for its turn */
    pdl_timer *wait;
    form form;
    pdl_buf sent, json;
    pdl_buf said; /* the beginning of the last text that was not a message */
    pdl_sse events;
    unsigned tries;  /* attempts since the last event */
    bool listens;    /* this is the stream of the session */
    bool again;      /* this is a GET, which resumes the stream after its last event */
    bool in_session; /* the request had a session id */
    bool reading, dead;
    size_t ignored;       /* bytes that were received and ignored after the reply was sent */
    char traceparent[56]; /* trace context of the effect; empty when there is none */
    struct post *next, *before;
    struct post *next_waiting;
} post;

typedef struct posts {
    session *s;
    char *session_id; /* owned; NULL when the server assigned none */
    post *first;
    /* transfer of the DELETE that ends the session; 0 when there is none */
    uint64_t delete_transfer;
    /* replies to the server that wait until a reply in flight has ended */
    post *waiting, **waiting_end;
    unsigned n_replies; /* number of replies in flight */
} posts;

static void post_free(post *p) {
    pdl_timer_stop(p->wait);
    pdl_buf_fini(&p->sent);
    pdl_buf_fini(&p->json);
    pdl_buf_fini(&p->said);
    pdl_sse_fini(&p->events);
    pdl_free(p);
}

static void unlink_post(post *p) {
    if (p->before)
        p->before->next = p->next;
    else
        p->of->first = p->next;
    if (p->next) p->next->before = p->before;
}

/* Returns true for a message that the server does not answer: our reply to one of its requests, or
 * a notification other than CALL_INITIALIZED. */
static bool is_reply(const post *p) { return !p->call && !p->listens; }

/* --- received messages ------------------------------------------------------------------------ */

static const char session_header[] = "Mcp-Session-Id";

static void note_session(const post *p, pdl_str id) {
    if (p->kind == CALL_INITIALIZE && !p->of->session_id && id.n)
        p->of->session_id = pdl_str_dup(id);
}

/* Appends the message in a text that the server sent, or the beginning of the text when it has no
 * message. */
static void put_said(const session *s, pdl_str text, pdl_buf *out) {
    pdl_buf words = PDL_BUF, clean = PDL_BUF;
    pdl_peer_words_in(text, SHOWN, &words);
    pdl_redact_cut(s->world->opt.secrets, pdl_utf8_cut(pdl_buf_str(&words), SHOWN), &clean);
    pdl_utf8_repair(out, pdl_buf_str(&clean));
    pdl_buf_fini(&words);
    pdl_buf_fini(&clean);
}

/* Handles one text of the server. A text that is not a message is kept, because an error may quote
 * it. */
static void take_text(post *p, pdl_str text) {
    session *s = p->of->s;
    s->expected = p->call;
    bool good = pdl_mcp_session_message(s, text);
    s->expected = 0;
    if (good || p->dead) return;
    pdl_buf_clear(&p->said);
    put_said(s, text, &p->said);
}

static bool on_event(void *user, pdl_str name, pdl_str data, pdl_err *err) {
    post *p = user;
    (void)name;
    (void)err;
    p->tries = 0;
    if (data.n) take_text(p, data); /* an event without data only has an id */
    return !p->dead;
}

static form form_of(pdl_str bytes) {
    pdl_str s = pdl_utf8_unmarked(pdl_str_trim(bytes));
    if (!s.n) return FORM_UNKNOWN;
    return s.p[0] == '{' || s.p[0] == '[' ? FORM_JSON : FORM_EVENTS;
}

static bool on_data(void *user, pdl_str bytes) {
    post *p = user;
    pdl_err err = {0};
    bool ok = true;
    if (is_reply(p)) return (p->ignored += bytes.n) <= MAX_IGNORED;
    note_session(p, pdl_http_seen(p->of->s->world->http, p->transfer, session_header));
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
    return true; /* the result of a cancelled post is not used */
}

/* Returns a parameter of WWW-Authenticate: NAME="text". */
static pdl_str challenge_part(pdl_str challenge, const char *name) {
    size_t at = pdl_str_find(challenge, pdl_str_of(name), 0), from = at + strlen(name) + 2;
    if (at == PDL_NOT_FOUND || from > challenge.n || challenge.p[from - 1] != '"' ||
        challenge.p[from - 2] != '=')
        return (pdl_str){0};
    size_t to = pdl_str_find(challenge, PDL_STR("\""), from);
    return pdl_str_sub(challenge, from, to == PDL_NOT_FOUND ? challenge.n : to);
}

static bool is_header(const char *line, pdl_str name) {
    return pdl_str_eq_nocase(pdl_str_sub(pdl_str_of(line), 0, name.n), name) && line[name.n] == ':';
}

/* Adds a hint about the token that is missing or wrong. */
static void hint_token(const session *s, const pdl_http_reply *r, pdl_err *err) {
    pdl_str challenge = pdl_http_header(r, "WWW-Authenticate");
    pdl_str why = challenge_part(challenge, "error_description");
    bool oauth = challenge_part(challenge, "resource_metadata").n > 0, has = false;
    pdl_buf b = PDL_BUF, clean = PDL_BUF;
    for (size_t i = 0; i < s->config.n_headers; i++)
        has |= is_header(s->config.headers[i], PDL_STR("Authorization"));
    if (has)
        PDL_PUT(&b, "the header Authorization of the configuration is refused");
    else
        PDL_PUT(&b, "a token is missing: give the server's entry \"headers\": {\"Authorization\": "
                    "\"Bearer ${NAME}\"}, and set NAME");
    put_said(s, why, &clean);
    if (why.n) pdl_buf_putf(&b, "; the server says: %s", pdl_buf_z(&clean));
    if (oauth)
        PDL_PUT(&b, "; it offers OAuth, which is not spoken here: get a token by other means");
    pdl_err_hint(err, "%s", pdl_buf_z(&b));
    pdl_buf_fini(&clean);
    pdl_buf_fini(&b);
}

/* Returns the error object of JSON-RPC in the body of a refusal, owned; absent when the body has
 * none. */
static pdl_val error_in(const pdl_http_reply *r) {
    pdl_val v = pdl_absent(), error = pdl_absent();
    pdl_err bad = {0};
    if (!pdl_json_read_document(r->body, 0, &v, &bad)) pdl_err_fini(&bad);
    pdl_vref at = pdl_is_dict(v) ? pdl_dict_getz(v, "error") : pdl_absent();
    if (pdl_is_dict(at)) error = pdl_keep(at);
    pdl_drop(v);
    return error;
}

/* Appends the server's reason for a refusal: the message of an error object of JSON-RPC, or else
 * the beginning of the body. */
static void put_refusal(const session *s, const pdl_http_reply *r, pdl_err *err) {
    pdl_val error = error_in(r);
    pdl_err bad = {0};
    pdl_buf b = PDL_BUF;
    if (!pdl_is_absent(error)) {
        pdl_mcp_rpc_error(error, &bad);
        pdl_buf_putf(&b, ": %s", bad.msg);
        pdl_err_fini(&bad);
    } else if (pdl_str_trim(r->body).n && pdl_str_trim(r->body).p[0] != '<') {
        PDL_PUT(&b, ": ");
        put_said(s, pdl_str_trim(r->body), &b);
    }
    const char *hint = r->status >= 300 && r->status < 400 ? " (redirects are not followed)" : "";
    pdl_mcp_server_error(s, err, "HTTP status %d%s%s", r->status, hint, pdl_buf_z(&b));
    if (r->status == UNAUTHORIZED) hint_token(s, r, err);
    pdl_buf_fini(&b);
    pdl_drop(error);
}

/* Returns true when the server does not know the session any more. The protocol prescribes 404.
 * Many servers answer 400 with the code of an unspecified server error, like the examples on which
 * they are based. That answer may have other reasons, too. */
static bool is_forgotten(const post *p, const pdl_http_reply *r) {
    if (r->end != PDL_HTTP_OK || !p->in_session) return false;
    if (r->status != BAD_REQUEST) return r->status == GONE;
    pdl_val error = error_in(r);
    pdl_vref code = pdl_is_absent(error) ? pdl_absent() : pdl_dict_getz(error, "code");
    bool found = pdl_is(code, PDL_V_INT) && pdl_int_of(code) == SERVER_ERROR;
    pdl_drop(error);
    return found;
}

/* Sends the call once more, in a new session, when the server has forgotten the session. Returns
 * false when the call is not sent again. */
static bool is_sent_again(session *s, const post *p, const pdl_http_reply *r) {
    bool may = !p->again && (p->kind == CALL_JOB || p->kind == CALL_LIST);
    return may && is_forgotten(p, r) && pdl_mcp_session_lost(s, p->call);
}

static void listen_to(session *s);

/* Decides what to do after an answer has ended. */
static void judge(session *s, const post *p, const pdl_http_reply *r) {
    pdl_err err = {0};
    bool good = r->end == PDL_HTTP_OK && r->status >= 200 && r->status <= 299;
    if (p->kind == CALL_INITIALIZED && good) {
        if (s->pushes) listen_to(s);
        pdl_mcp_session_greeted(s);
        return;
    }
    if (!p->call || !pdl_mcp_session_waits_for(s, p->call)) return;
    if (r->end != PDL_HTTP_OK) {
        pdl_mcp_server_error(s, &err, "%s", r->why);
        if (r->end == PDL_HTTP_TIMEOUT) err.kind = PDL_E_timeout;
        if (r->end == PDL_HTTP_TOO_LARGE) err.kind = PDL_E_limit;
    } else if (is_sent_again(s, p, r)) {
        return;
    } else if (r->status == GONE && p->in_session && !p->again) {
        pdl_mcp_server_error(s, &err, "the server forgets its sessions (HTTP status %d)", GONE);
    } else if (!good) {
        put_refusal(s, r, &err);
    } else {
        pdl_str aside = pdl_buf_str(&p->events.stray);
        pdl_buf said = PDL_BUF;
        if (p->said.len)
            pdl_buf_put(&said, pdl_buf_str(&p->said));
        else if (aside.n && aside.p[0] != '<')
            put_said(s, aside, &said);
        pdl_mcp_server_error(s, &err, "the reply holds no answer to the request%s%s",
                             said.len ? ": " : "", pdl_buf_z(&said));
        pdl_buf_fini(&said);
    }
    pdl_mcp_session_call_failed(s, p->call, &err);
    if (p->again && is_forgotten(p, r))
        pdl_mcp_session_expired(s); /* the call may have been executed, so it is not sent twice */
}

static void start(post *p);

static void on_wait(void *user) {
    post *p = user;
    p->wait = NULL;
    start(p);
}

/* Waits before the next attempt: for the time that the server asked for, or else twice as long as
 * the time before. */
static void start_later(post *p) {
    uint64_t ms = p->events.retry_ms ? p->events.retry_ms
                                     : (uint64_t)RETRY_MS << (p->tries < 7 ? p->tries : 7);
    p->tries++;
    p->transfer = 0;
    if (ms < MIN_RETRY_MS) ms = MIN_RETRY_MS;
    if (ms > MAX_RETRY_MS) ms = MAX_RETRY_MS;
    p->wait = pdl_timer_start(p->of->s->world->loop, pdl_pace_ms(ms), on_wait, p);
}

/* Returns true when a new request may get the rest of a stream that was cut. */
static bool is_cut(const pdl_http_reply *r) {
    bool good = r->status >= 200 && r->status <= 299, later = r->status > NOT_IMPLEMENTED;
    return r->end == PDL_HTTP_BROKEN || r->end == PDL_HTTP_CONNECT ||
           (r->end == PDL_HTTP_OK && (good || later));
}

/* Resumes a stream of an answer, or of the session, that has ended. Returns false when the stream
 * must not be resumed. */
static bool resume_stream(post *p, const pdl_http_reply *r) {
    session *s = p->of->s;
    bool wanted = p->listens || (p->call && pdl_mcp_session_waits_for(s, p->call) &&
                                 p->events.id.len && p->tries < MAX_TRIES);
    if (!wanted || !is_cut(r) || p->form == FORM_JSON) return false;
    pdl_sse old = p->events;
    p->events =
        (pdl_sse){.lines.max_line = old.lines.max_line, .id = old.id, .retry_ms = old.retry_ms};
    old.id = (pdl_buf){0};
    pdl_sse_fini(&old);
    p->again = true;
    start_later(p);
    PDL_TRACE(s->world->opt.debug, mcp, "%s: a stream ended, it is requested again",
              s->config.name);
    return true;
}

static void send_waiting(posts *all);

static void on_reply_done(post *p) {
    posts *all = p->of;
    all->n_replies--;
    unlink_post(p);
    post_free(p);
    send_waiting(all);
}

static void on_done(void *user, const pdl_http_reply *r) {
    post *p = user;
    session *s = p->of->s;
    pdl_err err = {0};
    if (is_reply(p)) {
        on_reply_done(p);
        return;
    }
    note_session(p, pdl_http_header(r, session_header));
    p->reading = true; /* keeps the post alive while messages are handled */
    if (p->form == FORM_JSON)
        take_text(p, pdl_buf_str(&p->json));
    else if (p->form == FORM_EVENTS && !pdl_sse_end(&p->events, on_event, p, &err))
        pdl_err_fini(&err);
    p->reading = false;
    if (!p->dead && resume_stream(p, r)) return;
    if (!p->dead) {
        bool over = p->listens && (r->status == GONE || p->again) &&
                    /* a 400 as the first answer means that the server has no such stream */
                    is_forgotten(p, r);
        unlink_post(p);
        if (over)
            pdl_mcp_session_expired(s);
        else if (!p->listens)
            judge(s, p, r);
    }
    post_free(p);
}

/* --- sent messages ---------------------------------------------------------------------------- */

enum { OWN_HEADERS = 7, OWN_TEXTS = 5 };

/* Adds the trace context as a header, for proxies and for servers that read headers; headers of the
 * configuration take precedence. */
static size_t put_trace(const post *p, const char **lines, pdl_buf text[2]) {
    const server_config *c = &p->of->s->config;
    const char *state = p->of->s->world->opt.tracestate;
    bool theirs = false;
    for (size_t i = 0; i < c->n_headers; i++)
        theirs |= is_header(c->headers[i], PDL_STR("traceparent"));
    if (theirs || !p->traceparent[0]) return 0;
    pdl_buf_putf(&text[0], "traceparent: %s", p->traceparent);
    lines[0] = pdl_buf_z(&text[0]);
    if (!state) return 1;
    pdl_buf_putf(&text[1], "tracestate: %s", state);
    lines[1] = pdl_buf_z(&text[1]);
    return 2;
}

/* Writes the headers of the configuration, and then the headers of the protocol. `lines` has space
 * for all of these lines. Each buffer of `text` holds one line. p: the message that is sent, or
 * NULL. */
static size_t put_headers(const session *s, const post *p, const char **lines,
                          pdl_buf text[OWN_TEXTS]) {
    pdl_str last_id = p ? pdl_buf_str(&p->events.id) : (pdl_str){0};
    size_t n = 0;
    for (size_t i = 0; i < s->config.n_headers; i++) lines[n++] = s->config.headers[i];
    if (p) n += put_trace(p, lines + n, text + 3);
    if (s->posts->session_id) {
        pdl_buf_putf(&text[0], "Mcp-Session-Id: %s", s->posts->session_id);
        lines[n++] = pdl_buf_z(&text[0]);
    }
    if (s->version) {
        pdl_buf_putf(&text[1], "MCP-Protocol-Version: %s", s->version);
        lines[n++] = pdl_buf_z(&text[1]);
    }
    if (last_id.n) {
        pdl_buf_putf(&text[2], "Last-Event-ID: %.*s", PDL_FMT(last_id));
        lines[n++] = pdl_buf_z(&text[2]);
    }
    return n;
}

static uint64_t transfer(session *s, pdl_http_request *r, const post *p) {
    mcp_world *m = s->world;
    if (!m->http) {
        pdl_http_options opt = {.debug = m->opt.debug};
        if (m->opt.env) {
            opt.ca_file = m->opt.env(m->opt.user, "SSL_CERT_FILE");
            opt.ca_fallback = m->opt.env(m->opt.user, "PDL_CA_FILE");
        }
        m->http = pdl_http_new(m->loop, &opt);
    }
    const char **lines = PDL_NEW_N(const char *, s->config.n_headers + OWN_HEADERS);
    pdl_buf text[OWN_TEXTS] = {PDL_BUF, PDL_BUF, PDL_BUF, PDL_BUF, PDL_BUF};
    size_t n = put_headers(s, p, lines, text);
    if (r->body.p) {
        lines[n++] = "Content-Type: application/json";
        lines[n++] = "Accept: application/json, text/event-stream";
    } else if (r->data) {
        lines[n++] = "Accept: text/event-stream";
    }
    r->headers = lines;
    r->n_headers = n;
    r->url = s->config.url;
    r->connect_ms = CONNECT_MS;
    uint64_t t = pdl_http_start(m->http, r);
    for (size_t i = 0; i < OWN_TEXTS; i++) pdl_buf_fini(&text[i]);
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

static post *new_post(session *s) {
    post *p = PDL_NEW(post);
    p->of = s->posts;
    p->kind = CALL_JOB;
    p->in_session = s->posts->session_id != NULL;
    p->json = p->sent = p->said = PDL_BUF;
    p->events.lines.max_line = PDL_MAX_REPLY_BYTES; /* the largest answer that is one object */
    p->next = s->posts->first;
    if (p->next) p->next->before = p;
    s->posts->first = p;
    return p;
}

/* Sends the message, or a GET for the stream. The stream of an answer may be silent for as long as
 * its call may take. The stream of the session may be silent without limit. */
static void start(post *p) {
    session *s = p->of->s;
    bool is_get = p->listens || p->again;
    uint64_t idle =
        s->config.timeout_ms > s->config.start_ms ? s->config.timeout_ms : s->config.start_ms;
    pdl_http_request r = {
        .method = is_get ? "GET" : "POST",
        .body = is_get ? (pdl_str){0} : pdl_buf_str(&p->sent),
        .user = p,
        .data = on_data,
        .done = on_done,
        .idle_ms = p->listens ? 0 : idle,
        .total_ms = is_reply(p) ? s->config.start_ms : 0,
    };
    p->transfer = transfer(s, &r, p);
}

/* Sends waiting replies. A server may send a thousand requests at once, and hold each of our
 * answers open, so the answers share a few connections. */
static void send_waiting(posts *all) {
    while (all->waiting && all->n_replies < PDL_MAX_TOOL_REPLIES) {
        post *p = all->waiting;
        all->waiting = p->next_waiting;
        all->n_replies++;
        start(p);
    }
}

static void send_reply(post *p) {
    posts *all = p->of;
    if (!all->waiting) all->waiting_end = &all->waiting;
    *all->waiting_end = p;
    all->waiting_end = &p->next_waiting;
    send_waiting(all);
}

static void send_post(session *s, pdl_str json, const call *c) {
    if (!s->posts) return;
    post *p = new_post(s);
    p->call = c ? c->id : 0;
    p->kind = c ? c->kind : CALL_JOB;
    /* the handshake and the list of tools are traced as a part of the effect that waits for them */
    const pdl_effect *why = c && c->job.e ? c->job.e : s->jobs.n ? s->jobs.p[0].e : NULL;
    if (!why || !pdl_mcp_traceparent(s, why, p->traceparent)) p->traceparent[0] = 0;
    pdl_buf_put(&p->sent, json);
    if (is_reply(p))
        send_reply(p);
    else
        start(p);
}

/* Opens the stream of the session. A server without such a stream answers 405. */
static void listen_to(session *s) {
    post *p = new_post(s);
    p->listens = true;
    start(p);
}

static void drop_post(post *p) {
    unlink_post(p);
    if (p->transfer) pdl_http_cancel(p->of->s->world->http, p->transfer);
    p->dead = true;
    if (!p->reading) post_free(p);
}

static void forget(session *s, const call *c) {
    for (post *p = s->posts ? s->posts->first : NULL; p; p = p->next)
        if (p->call == c->id && !p->listens) {
            drop_post(p);
            return;
        }
}

static void on_deleted(void *user, const pdl_http_reply *r) {
    posts *all = user;
    (void)r; /* 405: the server does not allow clients to end sessions */
    all->delete_transfer = 0;
}

static void finish(session *s) {
    posts *all = s->posts;
    for (post *p = all ? all->first : NULL, *next; p; p = next) {
        next = p->next;
        if (p->listens) drop_post(p);
    }
    if (!all || !all->session_id) return;
    pdl_http_request r = {
        .method = "DELETE", .user = all, .done = on_deleted, .idle_ms = CONNECT_MS};
    all->delete_transfer = transfer(s, &r, NULL);
}

static bool finished(const session *s) { return !s->posts || !s->posts->delete_transfer; }

static void insist(session *s, int sig) {
    (void)sig;
    if (!s->posts || !s->posts->delete_transfer) return;
    pdl_http_cancel(s->world->http, s->posts->delete_transfer);
    s->posts->delete_transfer = 0;
}

static void detach(session *s) {
    posts *all = s->posts;
    if (!all) return;
    insist(s, 0);
    all->waiting = NULL;
    while (all->first) drop_post(all->first);
    pdl_free(all->session_id);
    pdl_free(all);
    s->posts = NULL;
}

const transport pdl_mcp_transport_http = {false,  open_posts, send_post, forget,
                                          finish, finished,   insist,    detach};
