/* route.c -- the table of paths, and which clients may use them.
 *
 * Without a token only programs of this machine are served. A page in a browser is such a program,
 * too: any web site could use the server through its visitor. So requests with the origin of
 * another page (Origin), or with another hostname than ours (Host, against DNS rebinding), are
 * refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/utf8.h"
#include "base/word_list.h"
#include "serve/mcp_server.h"
#include "serve/request_log.h"
#include "value/json_write.h"
#include "value/text.h"

#include "base/banned.h"

/* --- answers ---------------------------------------------------------------------------------- */

static void put_error_at(pdl_str message, const char *type, const char *param, const char *code,
                         pdl_buf *out) {
    pdl_buf whole = PDL_BUF;
    pdl_err err = {0};
    pdl_utf8_repair(&whole, message); /* clients read JSON, so the text must be UTF-8 */
    pdl_val e = pdl_dict_putz(pdl_dict_new(4), "message", pdl_text_of_buf(&whole));
    e = pdl_dict_putz(e, "type", pdl_textz(type));
    e = pdl_dict_putz(e, "param", param ? pdl_textz(param) : pdl_null());
    e = pdl_dict_putz(e, "code", code ? pdl_textz(code) : pdl_null());
    pdl_val d = pdl_dict_putz(pdl_dict_new(1), "error", e);
    if (!pdl_json_write(d, 0, 0, out, &err)) PDL_BUG("an error is not JSON: %s", err.msg);
    pdl_drop(d);
}

void pdl_serve_put_error(pdl_str message, const char *type, const char *code, pdl_buf *out) {
    put_error_at(message, type, NULL, code, out);
}

static const pdl_answer_header json = {"Content-Type", "application/json"};

static void answer_at(pdl_exchange *x, int status, const char *type, const char *param,
                      const char *code, pdl_str message) {
    static const struct {
        int status;
        pdl_answer_header header;
    } more[] = {
        {401, {"WWW-Authenticate", "Bearer"}},
        {503, {"Retry-After", "1"}},
    };
    pdl_answer_header headers[2] = {json};
    size_t n = 1;
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        if (more[i].status == status) headers[n++] = more[i].header;
    pdl_buf b = PDL_BUF;
    pdl_serve_record_error(x, code ? code : type);
    put_error_at(message, type, param, code, &b);
    pdl_exchange_answer(x, status, headers, n, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

void pdl_serve_answer_error(pdl_exchange *x, int status, const char *type, const char *code,
                            pdl_str message) {
    answer_at(x, status, type, NULL, code, message);
}

void pdl_serve_answer_wrong(pdl_exchange *x, const char *param, const char *code, pdl_str message) {
    answer_at(x, 400, SERVE_INVALID, param, code, message);
}

void pdl_serve_answer_json(pdl_exchange *x, pdl_val v) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    if (pdl_json_write(v, PDL_JSON_LOOSE | PDL_JSON_NAN_NULL, 0, &b, &err))
        pdl_exchange_answer(x, 200, &json, 1, pdl_buf_str(&b));
    else
        pdl_serve_answer_error(x, 500, "server_error", NULL, pdl_str_of(err.msg));
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_drop(v);
}

/* --- clients ---------------------------------------------------------------------------------- */

/* Returns the host without its port, for example of "127.0.0.1:8000" or "[::1]:8000". */
static pdl_str host_of(pdl_str s) {
    size_t bracket = pdl_str_rfind(s, PDL_STR("]")), colon = pdl_str_rfind(s, PDL_STR(":"));
    if (colon == PDL_NOT_FOUND || (bracket != PDL_NOT_FOUND && colon < bracket)) return s;
    return pdl_str_sub(s, 0, colon);
}

bool pdl_serve_is_loopback(pdl_str host) {
    static const char *const names[] = {"localhost", "::1", "[::1]"};
    if (PDL_STR_IN_NOCASE(host, names)) return true;
    if (!pdl_str_starts(host, PDL_STR("127."))) return false;
    for (size_t i = 0; i < host.n; i++)
        if (host.p[i] != '.' && (host.p[i] < '0' || host.p[i] > '9')) return false;
    return true;
}

/* Returns true when the texts are equal. The time depends on the length of `a`, but not on how many
 * of its bytes are right, so it reveals nothing about the content of the token. */
static bool is_same(pdl_str a, pdl_str b) {
    unsigned char differs = a.n != b.n;
    for (size_t i = 0; i < a.n; i++) differs |= (unsigned char)(a.p[i] ^ b.p[b.n ? i % b.n : 0]);
    return !differs;
}

static bool bears_token(const pdl_serve *s, const pdl_exchange *x) {
    pdl_str said = pdl_exchange_header(x, "Authorization");
    bool bearer = pdl_str_eq_nocase(pdl_str_sub(said, 0, 7), PDL_STR("Bearer "));
    return bearer && is_same(pdl_str_trim(pdl_str_sub(said, 7, said.n)), s->opt.token);
}

/* Returns true when Host is a name of this machine, and Origin is absent, is this server, or is an
 * origin of --allow-origin. */
static bool is_near(const pdl_serve *s, const pdl_exchange *x) {
    pdl_str host = pdl_exchange_header(x, "Host"), origin = pdl_exchange_header(x, "Origin");
    if (!pdl_serve_is_loopback(host_of(host))) return false;
    if (pdl_serve_cors_allows(s, origin)) return true;
    size_t slashes = pdl_str_find(origin, PDL_STR("//"), 0);
    pdl_str from = slashes == PDL_NOT_FOUND ? origin : pdl_str_sub(origin, slashes + 2, origin.n);
    return !origin.p || pdl_str_eq(from, host);
}

static bool may_ask(const pdl_serve *s, pdl_exchange *x) {
    if (s->opt.token.n) {
        if (bears_token(s, x)) return true;
        pdl_serve_answer_error(x, 401, SERVE_INVALID, "invalid_api_key",
                               PDL_STR("the token is missing or wrong"));
        return false;
    }
    if (is_near(s, x)) return true;
    pdl_serve_answer_error(x, 403, SERVE_INVALID, NULL,
                           PDL_STR("only programs of this machine are served without a token"));
    return false;
}

/* --- routes ----------------------------------------------------------------------------------- */

static pdl_val model_card(const pdl_served *m) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "id", pdl_text(m->name));
    d = pdl_dict_putz(d, "object", pdl_textz("model"));
    d = pdl_dict_putz(d, "created", pdl_int(m->created));
    return pdl_dict_putz(d, "owned_by", pdl_textz("pdl"));
}

static void list_models(pdl_serve *s, pdl_exchange *x) {
    pdl_val list = pdl_list_new(s->opt.n_models);
    for (size_t i = 0; i < s->opt.n_models; i++)
        list = pdl_list_push(list, model_card(&s->opt.models[i]));
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "object", pdl_textz("list"));
    pdl_serve_answer_json(x, pdl_dict_putz(d, "data", list));
}

pdl_str pdl_serve_name_after(const pdl_exchange *x, const char *before) {
    pdl_str path = pdl_exchange_path(x), name = pdl_str_sub(path, strlen(before), path.n);
    bool more = name.n > 1 && name.p[name.n - 1] == '/';
    return more ? pdl_str_sub(name, 0, name.n - 1) : name;
}

static void show_model(pdl_serve *s, pdl_exchange *x) {
    const pdl_served *m = pdl_serve_ask_model(s, x, pdl_serve_name_after(x, "/v1/models/"));
    if (m) pdl_serve_answer_json(x, model_card(m));
}

static void show_health(pdl_serve *s, pdl_exchange *x) {
    (void)s;
    pdl_serve_answer_json(x, pdl_dict_putz(pdl_dict_new(1), "status", pdl_textz("ok")));
}

static void show_paths(pdl_serve *s, pdl_exchange *x);

/* The routes. HEAD is answered where GET is; the Allow header of a 405 is made from the rows. A
 * path that ends with a slash is followed by a name. Each path may be requested with an additional
 * slash at its end. */
static const route routes[] = {
    {"GET", "/", true, show_paths, "these paths"},
    {"GET", "/health", true, show_health, "is the server there?"},
    {"GET", "/metrics", false, pdl_serve_show_metrics, "counts of requests for Prometheus"},
    {"GET", "/v1/models", false, list_models, "the programs"},
    {"GET", "/v1/models/", false, show_model, "one of them"},
    {"POST", "/v1/chat/completions", false, pdl_serve_answer_chat, "runs a program"},
    {"POST", "/mcp", false, pdl_serve_answer_mcp, "programs as tools (MCP)"},
    {"POST", "/v1/responses", false, pdl_serve_answer_response, "the same, in the newer form"},
    {"GET", "/v1/responses/", false, pdl_serve_show_response, "a response that is kept"},
    {"DELETE", "/v1/responses/", false, pdl_serve_delete_response, "forgets it"},
    {"POST", "/v1/completions", false, pdl_serve_answer_completion, "the same, in the older form"},
    {"POST", "/v1/embeddings", false, pdl_serve_answer_embeddings,
     "runs a program that makes vectors"},
};
enum { N_ROUTES = sizeof routes / sizeof routes[0] };

static void show_paths(pdl_serve *s, pdl_exchange *x) {
    pdl_val list = pdl_list_new(N_ROUTES);
    (void)s;
    for (size_t i = 0; i < N_ROUTES; i++) {
        pdl_val d = pdl_dict_putz(pdl_dict_new(3), "method", pdl_textz(routes[i].method));
        d = pdl_dict_putz(d, "path", pdl_textz(routes[i].path));
        list = pdl_list_push(list, pdl_dict_putz(d, "about", pdl_textz(routes[i].doc)));
    }
    pdl_serve_answer_json(x, pdl_dict_putz(pdl_dict_new(1), "paths", list));
}

static bool is_at(const route *r, pdl_str path) {
    pdl_str own = pdl_str_of(r->path);
    if (own.n > 1 && own.p[own.n - 1] == '/') return path.n > own.n && pdl_str_starts(path, own);
    bool more = own.n > 1 && path.n == own.n + 1 && path.p[own.n] == '/';
    return pdl_str_eq(more ? pdl_str_sub(path, 0, own.n) : path, own);
}

static bool takes_method(const route *r, pdl_str method) {
    return pdl_str_is(method, r->method) ||
           (pdl_str_is(method, "HEAD") && !strcmp(r->method, "GET"));
}

/* Finds the route; NULL when there is none. *any: a route with this path, whatever its method; NULL
 * when there is none. */
static const route *find_route(const pdl_exchange *x, const route **any) {
    const route *found = NULL;
    *any = NULL;
    for (size_t i = 0; i < N_ROUTES; i++) {
        if (!is_at(&routes[i], pdl_exchange_path(x))) continue;
        *any = &routes[i];
        if (takes_method(&routes[i], pdl_exchange_method(x))) found = &routes[i];
    }
    return found;
}

/* Appends method and path of a request, for messages. HEAD is recorded as GET, because its answer
 * has the length that a GET would have. */
static void put_asked(const pdl_exchange *x, pdl_buf *out) {
    enum { METHOD = 20, PATH = 100 };
    pdl_str path = pdl_exchange_path(x), method = pdl_exchange_method(x);
    if (pdl_str_is(method, "HEAD")) method = PDL_STR("GET");
    pdl_buf_put(out, pdl_str_sub(method, 0, METHOD));
    pdl_buf_putc(out, ' ');
    pdl_buf_put(out, pdl_utf8_cut(path, PATH));
    if (path.n > PATH) PDL_PUT(out, "...");
}

static void answer_no_route(pdl_exchange *x, bool other_methods) {
    pdl_buf b = PDL_BUF, allow = PDL_BUF;
    for (size_t i = 0; other_methods && i < N_ROUTES; i++) {
        if (!is_at(&routes[i], pdl_exchange_path(x))) continue;
        pdl_buf_putf(&allow, "%s%s", allow.len ? ", " : "", routes[i].method);
        if (!strcmp(routes[i].method, "GET")) PDL_PUT(&allow, ", HEAD");
    }
    put_asked(x, &b);
    if (other_methods) {
        pdl_exchange_add_header(x, "Allow", pdl_buf_z(&allow));
        pdl_buf_putf(&b, ": this path takes %s", pdl_buf_z(&allow));
    } else
        PDL_PUT(&b, ": there is nothing at this path");
    pdl_serve_answer_error(x, other_methods ? 405 : 404, SERVE_INVALID, NULL, pdl_buf_str(&b));
    pdl_buf_fini(&allow);
    pdl_buf_fini(&b);
}

/* Returns true when the body has no content encoding that must be undone. Otherwise refuses the
 * request and returns false. */
static bool is_readable(pdl_exchange *x) {
    pdl_str encoding = pdl_exchange_header(x, "Content-Encoding");
    if (!encoding.n || pdl_str_eq_nocase(encoding, PDL_STR("identity"))) return true;
    pdl_exchange_add_header(x, "Accept-Encoding", "identity");
    pdl_serve_answer_error(x, 415, SERVE_INVALID, NULL,
                           PDL_STR("the body is compressed; send it as it is"));
    return false;
}

void pdl_serve_head(void *user, pdl_exchange *x) {
    pdl_serve *s = user;
    const route *any, *r = find_route(x, &any);
    pdl_serve_record_begin(s, x, r);
    if (pdl_serve_cors_head(s, x)) return;
    if (!(any && any->open) && !may_ask(s, x)) return;
    if (!r)
        answer_no_route(x, any != NULL);
    else if (!pdl_exchange_has_body(x))
        return;
    else if (strcmp(r->method, "POST") != 0)
        r->answer(s, x); /* the body of the request is ignored */
    else
        (void)is_readable(x);
}

void pdl_serve_route(void *user, pdl_exchange *x) {
    const route *any, *r = find_route(x, &any);
    if (r) r->answer(user, x); /* pdl_serve_head has checked that there is a route */
}

void pdl_serve_over(void *user, pdl_exchange *x) {
    /* the exchange ended without an answer */
    if (pdl_exchange_get(x)) pdl_serve_record_error(x, "client_gone");
    pdl_serve_chat_over(x);
    pdl_serve_record_end(user, x);
}
