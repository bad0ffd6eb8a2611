/* web.c -- makes the headers and the body of a request, collects the answer up to its limit, and
 * decodes the answer when it is text; see web.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "web/web.h"

#include <assert.h>

#include "base/base64.h"
#include "base/glob.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "base/version.h"
#include "base/web_address.h"
#include "io/clock.h"
#include "io/http.h"
#include "value/int.h"
#include "web/charset.h"

#include "base/banned.h"

enum { MAX_SECONDS = 3600, CONNECT_MS = 10000, MIN_COOKIE = 12 };

typedef struct web_world web_world;

/* A request in flight. */
typedef struct exchange {
    web_world *web;
    pdl_effect *e;
    uint64_t transfer;
    pdl_buf body; /* the bytes that have arrived */
    size_t most;
    uint64_t start_ns;
    struct exchange *prev, *next;
} exchange;

struct web_world {
    pdl_world base;
    pdl_loop *loop;
    pdl_web_options opt;
    pdl_http *http;              /* NULL until the first request */
    char *ca_file, *ca_fallback; /* owned */
    exchange *first;
};

/* The header lines of a request, while it is being started. */
typedef struct header_lines {
    PDL_VEC(char *) lines; /* owned */
} header_lines;

static pdl_vref get(const pdl_effect *e, const char *key) { return pdl_dict_getz(e->request, key); }

static pdl_str text_of(pdl_vref v) { return pdl_is_str(v) ? pdl_str_get(v) : (pdl_str){"", 0}; }

static pdl_str host_of(const pdl_effect *e) {
    return pdl_web_address_authority(text_of(get(e, "url")));
}

static const char *variable(const web_world *w, pdl_str name) {
    char *z = pdl_str_dup(name);
    const char *value = w->opt.env && z[0] ? w->opt.env(w->opt.user, z) : NULL;
    pdl_free(z);
    return value && *value ? value : NULL;
}

static void forget(exchange *x) {
    if (x->prev)
        x->prev->next = x->next;
    else
        x->web->first = x->next;
    if (x->next) x->next->prev = x->prev;
    pdl_buf_fini(&x->body);
    pdl_free(x);
}

/* --- the request ------------------------------------------------------------------------------ */

static bool has(const header_lines *h, pdl_str name) {
    for (size_t i = 0; i < h->lines.n; i++) {
        pdl_str line = pdl_str_of(h->lines.p[i]);
        if (line.n > name.n && line.p[name.n] == ':' &&
            pdl_str_eq_nocase(pdl_str_sub(line, 0, name.n), name))
            return true;
    }
    return false;
}

static void add_line(header_lines *h, pdl_str name, pdl_str prefix, pdl_str value) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%.*s: %.*s%.*s", PDL_FMT(name), PDL_FMT(prefix), PDL_FMT(value));
    *pdl_vec_push(&h->lines) = pdl_str_dup(pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

static void add_default(header_lines *h, const char *name, pdl_str value) {
    if (!has(h, pdl_str_of(name))) add_line(h, pdl_str_of(name), PDL_STR(""), value);
}

static bool has_line_end(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\r' || s.p[i] == '\n' || !s.p[i]) return true;
    return false;
}

/* --- where a key may go ----------------------------------------------------------------------- */

/* Appends text in small letters. */
static void put_lower(pdl_str s, pdl_buf *out) {
    for (size_t i = 0; i < s.n; i++)
        pdl_buf_putc(out, s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] | 32) : s.p[i]);
}

/* Returns true when one of the patterns, which are separated by blanks or commas, fits the host of
 * a request, with or without its port. */
static bool names_host(pdl_str given, const pdl_effect *e) {
    pdl_str url = text_of(get(e, "url")), host = pdl_web_address_host(url);
    pdl_str authority = pdl_web_address_authority(url), separators = PDL_STR(" ,\t");
    pdl_buf lower = PDL_BUF;
    bool found = false;
    put_lower(given, &lower);
    pdl_str patterns = pdl_buf_str(&lower);
    for (size_t i = 0; i < patterns.n && !found; i++) {
        size_t from = i;
        while (i < patterns.n && !pdl_byte_in(patterns.p[i], separators)) i++;
        pdl_str one = pdl_str_sub(patterns, from, i);
        found = one.n && (pdl_glob_fits(one, host, 0) || pdl_glob_fits(one, authority, 0));
    }
    pdl_buf_fini(&lower);
    return found;
}

/* Refuses to send a key to a host for which it was not meant. The owner of a key in the variable
 * NAME lists its hosts in the variable NAME_HOSTS. Without such a list, the key of a model's
 * service is refused for all hosts, because such keys are the most valuable ones and belong to
 * their services. A request of confined code gets no key without such a list, because the code may
 * have chosen the host. */
static bool may_have_key(const web_world *w, const pdl_effect *e, pdl_str name, pdl_err *err) {
    pdl_buf hosts_name = PDL_BUF;
    pdl_buf_putf(&hosts_name, "%.*s_HOSTS", PDL_FMT(name));
    const char *hosts = variable(w, pdl_buf_str(&hosts_name));
    bool is_service = w->opt.is_model_key && w->opt.is_model_key(name);
    bool is_free = !hosts && !is_service && !e->keeps_keys;
    bool ok = is_free || (hosts && names_host(pdl_str_of(hosts), e));
    if (!ok) {
        const char *why = hosts        ? "other hosts are named for it"
                          : is_service ? "it is the key of a service of models"
                                       : "code in a sandbox asks for it";
        pdl_err_set(err, PDL_E_config, (pdl_loc){0}, "the key of %.*s is not sent to %.*s: %s",
                    PDL_FMT(name), PDL_FMT(host_of(e)), why);
        pdl_err_hint(err, "the variable %s names the hosts that it may go to",
                     pdl_buf_z(&hosts_name));
    }
    pdl_buf_fini(&hosts_name);
    return ok;
}

/* Adds the header whose value is in an environment variable. The program never gets the value: it
 * is not in the request of the effect, in the journal or in messages. */
static bool add_auth(const web_world *w, const pdl_effect *e, header_lines *h, pdl_err *err) {
    pdl_vref auth = get(e, "auth");
    if (!pdl_is_dict(auth)) return true;
    pdl_str name = text_of(pdl_dict_getz(auth, "variable"));
    pdl_str host = host_of(e);
    if (!may_have_key(w, e, name, err)) return false;
    const char *value = variable(w, name);
    if (!value) {
        pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                    "the variable %.*s, which has the key for %.*s, is not set", PDL_FMT(name),
                    PDL_FMT(host));
        pdl_err_hint(err, "set it in the environment, or in a file .env");
        return false;
    }
    if (has_line_end(pdl_str_of(value)))
        return pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                           "the variable %.*s has a line end, so it is no key", PDL_FMT(name));
    pdl_secrets_add(w->opt.secrets, pdl_str_of(value));
    add_line(h, text_of(pdl_dict_getz(auth, "header")), text_of(pdl_dict_getz(auth, "prefix")),
             pdl_str_of(value));
    return true;
}

/* Adds the headers that the program gave (the native function has checked them), and then the
 * headers that are missing. */
static bool make_headers(const web_world *w, const pdl_effect *e, header_lines *h, pdl_err *err) {
    pdl_vref given = get(e, "headers");
    char name[33], trace[56];
    for (size_t i = 0; pdl_is_dict(given) && i < pdl_dict_len(given); i++) {
        pdl_str key = text_of(pdl_dict_key_at(given, i));
        pdl_str value = text_of(pdl_dict_val_at(given, i));
        if (!key.n || has_line_end(key) || has_line_end(value))
            return pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                               "a header of the request to %.*s is no header", PDL_FMT(host_of(e)));
        pdl_secrets_note_header(w->opt.secrets, key, value);
        add_line(h, key, PDL_STR(""), value);
    }
    if (!add_auth(w, e, h, err)) return false;
    add_default(h, "User-Agent", PDL_STR("pdl/" PDL_VERSION));
    if (pdl_effect_acts(e) && e->sender) {
        e->sender->name(e->sender->user, e->id, 0, name);
        add_default(h, "Idempotency-Key", pdl_str_of(name));
    }
    if (w->opt.traceparent && w->opt.traceparent(w->opt.trace_user, e->id, trace))
        add_default(h, "traceparent", pdl_str_of(trace));
    return true;
}

/* --- the answer ------------------------------------------------------------------------------- */

static bool on_data(void *user, pdl_str bytes) {
    exchange *x = user;
    if (bytes.n > x->most - x->body.len) return false;
    pdl_buf_put(&x->body, bytes);
    return true;
}

/* Registers the value of a cookie as a secret, because anyone who knows it can use the session. */
static void note_cookie(const web_world *w, pdl_str value) {
    size_t eq = pdl_str_find(value, PDL_STR("="), 0), end = pdl_str_find(value, PDL_STR(";"), 0);
    if (eq == PDL_NOT_FOUND) return;
    pdl_str cookie = pdl_str_trim(pdl_str_sub(value, eq + 1, end == PDL_NOT_FOUND ? value.n : end));
    if (cookie.n >= MIN_COOKIE) pdl_secrets_note(w->opt.secrets, cookie);
}

/* Adds one header line to the dict; a repeated one is joined to the first. Takes and returns d. */
static pdl_val add_header(const web_world *w, pdl_val d, pdl_str line) {
    size_t colon = pdl_str_find(line, PDL_STR(":"), 0);
    if (colon == PDL_NOT_FOUND) return d;
    pdl_buf name = PDL_BUF, value = PDL_BUF;
    put_lower(pdl_str_trim(pdl_str_sub(line, 0, colon)), &name);
    pdl_str said = pdl_str_trim(pdl_str_sub(line, colon + 1, line.n));
    if (pdl_str_is(pdl_buf_str(&name), "set-cookie")) note_cookie(w, said);
    if (name.len && pdl_utf8_check(pdl_buf_str(&name)) == PDL_NOT_FOUND) {
        pdl_vref before = pdl_dict_getz(d, pdl_buf_z(&name));
        if (pdl_is_str(before)) {
            pdl_buf_put(&value, pdl_str_get(before));
            PDL_PUT(&value, ", ");
        }
        pdl_utf8_repair(&value, said);
        d = pdl_dict_puts(d, pdl_buf_str(&name), pdl_text(pdl_buf_str(&value)));
    }
    pdl_buf_fini(&name);
    pdl_buf_fini(&value);
    return d;
}

static pdl_val headers_of(const web_world *w, pdl_str text) {
    pdl_val d = pdl_dict_new(16);
    for (size_t pos = 0; pos < text.n;) {
        size_t end = pdl_str_find(text, PDL_STR("\n"), pos);
        if (end == PDL_NOT_FOUND) end = text.n;
        pdl_str line = pdl_str_sub(text, pos, end);
        if (!pdl_str_starts(line, PDL_STR("HTTP/"))) d = add_header(w, d, line);
        pos = end + 1;
    }
    return d;
}

/* Returns the parameter charset of Content-Type. */
static pdl_str charset_of(pdl_str content_type) {
    for (size_t from = pdl_str_find(content_type, PDL_STR(";"), 0); from != PDL_NOT_FOUND;
         from = pdl_str_find(content_type, PDL_STR(";"), from)) {
        from++;
        size_t end = pdl_str_find(content_type, PDL_STR(";"), from);
        pdl_str part = pdl_str_trim(
            pdl_str_sub(content_type, from, end == PDL_NOT_FOUND ? content_type.n : end));
        if (!pdl_str_eq_nocase(pdl_str_sub(part, 0, 8), PDL_STR("charset="))) continue;
        pdl_str name = pdl_str_sub(part, 8, part.n);
        bool quoted = name.n > 1 && name.p[0] == '"' && name.p[name.n - 1] == '"';
        return quoted ? pdl_str_sub(name, 1, name.n - 1) : name;
    }
    return (pdl_str){0};
}

/* Adds type, charset, text and base64. Takes and returns d. */
static pdl_val add_body(pdl_val d, pdl_str content_type, pdl_str body) {
    pdl_buf type = PDL_BUF, text = PDL_BUF;
    size_t end = pdl_str_find(content_type, PDL_STR(";"), 0);
    put_lower(pdl_str_trim(pdl_str_sub(content_type, 0, end)), &type);
    if (pdl_utf8_check(pdl_buf_str(&type)) != PDL_NOT_FOUND) pdl_buf_clear(&type);
    pdl_str named = charset_of(content_type);
    const char *charset = pdl_web_is_text(pdl_buf_str(&type), body)
                              ? pdl_web_decode(pdl_buf_str(&type), named, body, &text)
                              : NULL;
    d = pdl_dict_putz(d, "type", pdl_text_of_buf(&type));
    d = pdl_dict_putz(d, "charset", charset ? pdl_textz(charset) : pdl_null());
    if (charset) {
        d = pdl_dict_putz(d, "text", pdl_text_of_buf(&text));
        return pdl_dict_putz(d, "base64", pdl_null());
    }
    pdl_buf_clear(&text);
    pdl_base64_put(body, false, &text);
    d = pdl_dict_putz(d, "text", pdl_null());
    return pdl_dict_putz(d, "base64", pdl_text_of_buf(&text));
}

static pdl_val reply_of(const exchange *x, const pdl_http_reply *r) {
    pdl_str body = x->body.len ? pdl_buf_str(&x->body) : r->body;
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "status", pdl_int(r->status));
    d = pdl_dict_putz(d, "headers", headers_of(x->web, r->header_text));
    return add_body(d, pdl_http_header(r, "Content-Type"), body);
}

/* Fills err with the reason why there is no answer. */
static void explain_end(const exchange *x, const pdl_http_reply *r, pdl_err *err) {
    pdl_str host = host_of(x->e);
    bool too_large = r->end == PDL_HTTP_TOO_LARGE || r->end == PDL_HTTP_STOPPED;
    pdl_buf why = PDL_BUF;
    pdl_redact_text(x->web->opt.secrets, pdl_str_of(r->why), &why);
    if (too_large)
        pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "the answer of %.*s is longer than %zu bytes",
                    PDL_FMT(host), x->most);
    else if (r->end == PDL_HTTP_TIMEOUT)
        pdl_err_set(err, PDL_E_timeout, (pdl_loc){0}, "%.*s gave no whole answer in time",
                    PDL_FMT(host));
    else
        pdl_err_set(err,
                    r->end == PDL_HTTP_CONNECT       ? PDL_E_connection
                    : r->end == PDL_HTTP_BAD_REQUEST ? PDL_E_bad_request
                                                     : PDL_E_protocol,
                    (pdl_loc){0}, "%s %.*s: %s",
                    r->end == PDL_HTTP_CONNECT ? "no connection to" : "no whole answer from",
                    PDL_FMT(host), pdl_buf_z(&why));
    if (too_large) pdl_err_hint(err, "max_bytes allows more");
    if (r->end == PDL_HTTP_TIMEOUT) pdl_err_hint(err, "timeout allows more seconds");
    pdl_buf_fini(&why);
}

static void on_done(void *user, const pdl_http_reply *r) {
    exchange *x = user;
    pdl_effect *e = x->e;
    pdl_err err = {0};
    double seconds = (double)(pdl_clock_ns() - x->start_ns) / 1e9;
    bool fits = r->body.n <= x->most;
    pdl_http_reply too_long = {.end = PDL_HTTP_TOO_LARGE, .why = ""};
    pdl_val reply = pdl_absent();
    if (r->end == PDL_HTTP_OK && e->sender) e->sender->answered(e->sender->user, e->id, r->status);
    if (r->end == PDL_HTTP_OK && fits)
        reply = reply_of(x, r);
    else
        explain_end(x, r->end == PDL_HTTP_OK ? &too_long : r, &err);
    forget(x);
    if (err.kind)
        pdl_effect_refuse_after(e, &err, seconds);
    else
        pdl_effect_answer(e, reply, seconds);
}

/* --- the world -------------------------------------------------------------------------------- */

static pdl_http *http_of(web_world *w) {
    if (w->http) return w->http;
    const char *file = variable(w, PDL_STR("SSL_CERT_FILE"));
    if (file) w->ca_file = pdl_str_dup(pdl_str_of(file));
    const char *fallback = variable(w, PDL_STR("PDL_CA_FILE"));
    if (fallback) w->ca_fallback = pdl_str_dup(pdl_str_of(fallback));
    w->http = pdl_http_new(w->loop, &(pdl_http_options){.ca_file = w->ca_file,
                                                        .ca_fallback = w->ca_fallback,
                                                        .debug = w->opt.debug,
                                                        .max_reply_bytes = PDL_MAX_REPLY_BYTES});
    return w->http;
}

static void send_request(web_world *w, pdl_effect *e, const header_lines *h) {
    pdl_vref body = get(e, "body");
    int64_t most = 0;
    double seconds = pdl_num_to_double(get(e, "timeout"));
    exchange *x = PDL_NEW(exchange);
    bool known = pdl_int_get(get(e, "max_bytes"), &most) && most > 0;
    *x = (exchange){.web = w, .e = e, .body = PDL_BUF, .next = w->first};
    size_t ceiling = (size_t)PDL_MAX_REPLY_BYTES;
    x->most = known && (uint64_t)most < ceiling ? (size_t)most : ceiling;
    x->start_ns = pdl_clock_ns();
    if (w->first) w->first->prev = x;
    w->first = x;
    if (!(seconds > 0 && seconds < MAX_SECONDS)) seconds = MAX_SECONDS;
    const pdl_http_request r = {
        .method = text_of(get(e, "method")).p,
        .url = text_of(get(e, "url")).p,
        .headers = (const char *const *)h->lines.p,
        .n_headers = h->lines.n,
        .body = pdl_is_str(body) ? pdl_str_get(body) : (pdl_str){0},
        .connect_ms = CONNECT_MS,
        .total_ms = (uint64_t)(seconds * 1000) + 1,
        .compressed = true,
        .once = pdl_effect_acts(e),
        .user = x,
        .data = on_data,
        .done = on_done,
    };
    x->transfer = pdl_http_start(http_of(w), &r);
}

static void start(pdl_world *world, pdl_effect *e) {
    web_world *w = (web_world *)(void *)world;
    header_lines h = {0};
    pdl_err err = {0};
    assert(e->kind != PDL_EFFECT_http || pdl_effect_is_request(e->kind, e->request));
    if (e->kind != PDL_EFFECT_http)
        pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0}, "the web does not answer this");
    if (err.kind || !make_headers(w, e, &h, &err))
        pdl_effect_refuse(e, &err);
    else
        send_request(w, e, &h);
    for (size_t i = 0; i < h.lines.n; i++) pdl_free(h.lines.p[i]);
    pdl_vec_fini(&h.lines);
}

static void cancel(pdl_world *world, uint32_t id) {
    web_world *w = (web_world *)(void *)world;
    exchange *x = w->first;
    while (x && x->e->id != id) x = x->next;
    if (!x) return;
    pdl_http_cancel(w->http, x->transfer);
    pdl_effect_free(x->e);
    forget(x);
}

static bool poll(pdl_world *world, int timeout_ms) {
    return pdl_loop_run(((web_world *)(void *)world)->loop, timeout_ms);
}

static void close(pdl_world *world) {
    web_world *w = (web_world *)(void *)world;
    pdl_http_free(w->http); /* cancels all */
    while (w->first) {
        pdl_effect_free(w->first->e);
        forget(w->first);
    }
    pdl_free(w->ca_file);
    pdl_free(w->ca_fallback);
    pdl_free(w);
}

static const pdl_world_ops ops = {.start = start, .cancel = cancel, .poll = poll, .close = close};

pdl_world *pdl_web_world_new(pdl_loop *loop, const pdl_web_options *opt) {
    web_world *w = PDL_NEW(web_world);
    w->base.ops = &ops;
    w->loop = loop;
    w->opt = *opt;
    return &w->base;
}
