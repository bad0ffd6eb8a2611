/* provider_wire.c -- the two protocols of batches: OpenAI's files and batches, which other services
 * use, too, and Anthropic's message batches. The address of the calls decides which one is used.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "base/plural.h"
#include "base/utf8.h"
#include "base/word_list.h"
#include "batch/provider_impl.h"
#include "io/http.h"
#include "value/json_put.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/member.h"

#include "base/banned.h"

/* --- one blocking request -------------------------------------------------------------------- */

typedef struct provider_exchange {
    bool over, ok;
    int status;
    pdl_buf body;
    char *why; /* owned */
} exchange;

static void on_done(void *user, const pdl_http_reply *r) {
    exchange *x = user;
    x->over = true;
    x->ok = r->end == PDL_HTTP_OK;
    x->status = r->status;
    pdl_buf_put(&x->body, r->body);
    if (!x->ok) x->why = pdl_str_dup(pdl_str_of(r->why));
}

static bool is_header(const char *line, const char *name) {
    pdl_str s = pdl_str_of(line), n = pdl_str_of(name);
    return s.n > n.n && s.p[n.n] == ':' && pdl_str_eq_nocase(pdl_str_sub(s, 0, n.n), n);
}

/* Returns true for a header of a call that is also sent with the upload, such as the key. Headers
 * that describe only the call are left out. */
static bool is_kept(const char *line) {
    static const char *const dropped[] = {"Content-Type",    "Content-Length", "Accept",
                                          "Idempotency-Key", "traceparent",    "tracestate"};
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        if (is_header(line, dropped[i])) return false;
    return true;
}

/* Returns true for a status which means that nothing was created, and that a later attempt may
 * succeed; 529 is a status of Anthropic. After other server errors it is not certain whether
 * something was created. */
static bool is_not_now(int status) { return status == 429 || status == 503 || status == 529; }

/* A request to the interface for batches. */
typedef struct wire_request {
    const char *method, *url, *type; /* type: content type of the body */
    pdl_str body;                    /* .p is NULL when there is no body */
} wire_request;

static bool refused(const exchange *x, const wire_request *q, pdl_err *err) {
    enum { SHOWN = 300 };
    pdl_err_kind kind = x->status == 401 || x->status == 403   ? PDL_E_auth
                        : x->status == 404 || x->status == 410 ? PDL_E_not_found
                        : is_not_now(x->status)                ? PDL_E_rate_limit
                        : x->status >= 500                     ? PDL_E_server
                                                               : PDL_E_protocol;
    if (!x->ok)
        return pdl_err_set(err, PDL_E_connection, (pdl_loc){0}, "%s %s: %s", q->method, q->url,
                           x->why);
    pdl_buf shown = PDL_BUF;
    pdl_utf8_repair(&shown, pdl_str_sub(pdl_buf_str(&x->body), 0, SHOWN));
    pdl_err_set(err, kind, (pdl_loc){0}, "%s %s: status %d: %s", q->method, q->url, x->status,
                pdl_buf_z(&shown));
    pdl_buf_fini(&shown);
    bool unknown = x->status == 400 || x->status == 404 || x->status == 405 || x->status == 501;
    if (unknown && strcmp(q->method, "POST") == 0)
        pdl_err_hint(err, "a server that has no batch interface answers so; without "
                          "--provider-batch its rows are asked one by one");
    return false;
}

/* Sends a request once. Appends the body of the answer to out. A request with a body creates an
 * object, and its answer has the id of that object. Without the id the object would be lost and
 * paid for again, so the budget never ends such a request. */
static bool ask_once(pdl_batch_provider *p, const wire_request *q, pdl_buf *out, pdl_err *err) {
    enum { LOOK_MS = 100, TOTAL_MS = 600000, MAX_WORDS = 1 << 24, MAX_RESULTS = 1 << 30 };
    const item *like = p->items.p[0];
    PDL_VEC(const char *) headers = {0};
    pdl_buf content = PDL_BUF;
    /* the answer to a request with a body has no results */
    pdl_http *http = pdl_http_new(
        p->use.loop, &(pdl_http_options){.max_reply_bytes = q->body.p ? MAX_WORDS : MAX_RESULTS});
    exchange x = {.body = PDL_BUF};
    for (size_t i = 0; i < like->headers.n; i++)
        if (is_kept(like->headers.p[i])) *pdl_vec_push(&headers) = like->headers.p[i];
    pdl_buf_putf(&content, "Content-Type: %s", q->type);
    if (q->body.p) *pdl_vec_push(&headers) = pdl_buf_z(&content);
    pdl_http_start(http, &(pdl_http_request){.method = q->method,
                                             .url = q->url,
                                             .headers = headers.p,
                                             .n_headers = headers.n,
                                             .body = q->body,
                                             .total_ms = TOTAL_MS,
                                             .compressed = true,
                                             .user = &x,
                                             .done = on_done});
    bool stopped = false;
    while (!x.over && !stopped) {
        pdl_loop_run(p->use.loop, LOOK_MS);
        stopped = !x.over && (q->body.p ? pdl_batch_provider_interrupted(p, err)
                                        : pdl_batch_provider_stopped(p, err));
    }
    bool ok = !stopped && x.ok && x.status >= 200 && x.status < 300;
    if (ok)
        pdl_buf_put(out, pdl_buf_str(&x.body));
    else if (!stopped)
        refused(&x, q, err);
    pdl_http_free(http);
    pdl_vec_fini(&headers);
    pdl_buf_fini(&content);
    pdl_buf_fini(&x.body);
    pdl_free(x.why);
    return ok;
}

/* Sends a request, and sends it again when the provider was busy. Polls are not sent again here,
 * because the caller repeats them. */
static bool ask(pdl_batch_provider *p, const wire_request *q, pdl_buf *out, pdl_err *err) {
    enum { MAX_AGAIN = 10, FIRST_MS = 250, LONGEST_MS = 60000 };
    uint64_t ms = FIRST_MS;
    for (int n = 0; !ask_once(p, q, out, err); n++) {
        bool again = err->kind == PDL_E_rate_limit && strcmp(q->method, "POST") == 0;
        if (!again || n == MAX_AGAIN) return false;
        if (n == 0) pdl_batch_provider_note_again(p, err);
        pdl_err_fini(err);
        if (!pdl_batch_provider_rest(p, ms, err)) return false;
        ms = ms * 3 < LONGEST_MS ? ms * 3 : LONGEST_MS;
    }
    return true;
}

static bool ask_json(pdl_batch_provider *p, const wire_request *q, pdl_val *out, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    bool ok = ask(p, q, &text, err);
    if (ok && !pdl_json_read_document(pdl_buf_str(&text), PDL_JSON_PYTHON, out, err)) {
        pdl_err_fini(err);
        ok = pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "%s %s: the answer is not JSON",
                         q->method, q->url);
    }
    pdl_buf_fini(&text);
    if (ok && !pdl_is_dict(*out)) {
        pdl_drop(*out);
        ok = pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "%s %s: the answer is no object",
                         q->method, q->url);
    }
    return ok;
}

/* Checks that a created object has an id. Without an id it could not be polled. */
static bool has_id(pdl_vref made, const char *url, pdl_err *err) {
    if (pdl_member_str(made, "id").n) return true;
    return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "POST %s: the answer has no id", url);
}

static pdl_val upload_of(pdl_str id, const char *form, pdl_str url, const item *const *items,
                         size_t n) {
    pdl_val names = pdl_dict_new(n), d = pdl_dict_new(5);
    for (size_t i = 0; i < n; i++) names = pdl_dict_putz(names, items[i]->name, pdl_null());
    d = pdl_dict_putz(d, "id", pdl_text(id));
    d = pdl_dict_putz(d, "form", pdl_textz(form));
    d = pdl_dict_putz(d, "url", pdl_text(url));
    d = pdl_dict_putz(d, "names", names);
    return pdl_dict_putz(d, "fetched", pdl_bool(false));
}

static void note_upload(const pdl_batch_provider *p, size_t n, pdl_str id) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%zu request%s given to the provider as batch %.*s", n, PDL_PLURAL(n),
                 PDL_FMT(id));
    if (p->use.note) p->use.note(p->use.user, pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

/* --- OpenAI: a file of requests, a batch of the file, a file of answers ----------------------- */

#define BOUNDARY "pdl-9a5c1f7e2b8d4036"

/* Returns the path of the calls from /v1/ on, as the description of a batch names it. Returns
 * /v1/chat/completions when the address has no /v1/. */
static pdl_str endpoint_of(pdl_str url) {
    size_t v1 = pdl_str_find(url, PDL_STR("/v1/"), 0);
    return v1 == PDL_NOT_FOUND ? PDL_STR("/v1/chat/completions") : pdl_str_sub(url, v1, url.n);
}

/* Returns the address without its last parts, such as https://host/v1; empty when the address has
 * none of these ends. */
static pdl_str base_of(pdl_str url) {
    static const char *const ends[] = {"/chat/completions", "/embeddings", "/responses"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (pdl_str_ends(url, pdl_str_of(ends[i])))
            return pdl_str_sub(url, 0, url.n - strlen(ends[i]));
    return (pdl_str){0};
}

static void put_file(const item *const *items, size_t n, pdl_str endpoint, pdl_buf *out) {
    PDL_PUT(out, "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch"
                 "\r\n--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"file\"; "
                 "filename=\"requests.jsonl\"\r\nContent-Type: application/jsonl\r\n\r\n");
    for (size_t i = 0; i < n; i++) {
        pdl_buf_putc(out, '{');
        pdl_json_put_text(out, "custom_id", pdl_str_of(items[i]->name));
        pdl_json_put_text(out, "method", PDL_STR("POST"));
        pdl_json_put_text(out, "url", endpoint);
        pdl_json_put_key(out, "body");
        pdl_buf_put(out, pdl_str_of(items[i]->body));
        PDL_PUT(out, "}\n");
    }
    PDL_PUT(out, "\r\n--" BOUNDARY "--\r\n");
}

static bool create_openai(pdl_batch_provider *p, pdl_str base, pdl_str endpoint, pdl_str file,
                          pdl_val *out, pdl_err *err) {
    pdl_buf url = PDL_BUF, body = PDL_BUF;
    pdl_buf_putf(&url, "%.*s/batches", PDL_FMT(base));
    pdl_json_open(&body, '{');
    pdl_json_put_text(&body, "input_file_id", file);
    pdl_json_put_text(&body, "endpoint", endpoint);
    pdl_json_put_text(&body, "completion_window", PDL_STR("24h"));
    pdl_buf_putc(&body, '}');
    bool ok = ask_json(
        p, &(wire_request){"POST", pdl_buf_z(&url), "application/json", pdl_buf_str(&body)}, out,
        err);
    if (ok && !has_id(*out, pdl_buf_z(&url), err)) {
        pdl_drop(*out);
        ok = false;
    }
    pdl_buf_fini(&url);
    pdl_buf_fini(&body);
    return ok;
}

static bool upload_openai(pdl_batch_provider *p, pdl_str base, const item *const *items, size_t n,
                          pdl_val *made, pdl_err *err) {
    pdl_str endpoint = endpoint_of(pdl_str_of(items[0]->url));
    pdl_buf url = PDL_BUF, body = PDL_BUF;
    pdl_val file, batch;
    pdl_buf_putf(&url, "%.*s/files", PDL_FMT(base));
    put_file(items, n, endpoint, &body);
    bool ok =
        ask_json(p,
                 &(wire_request){"POST", pdl_buf_z(&url), "multipart/form-data; boundary=" BOUNDARY,
                                 pdl_buf_str(&body)},
                 &file, err);
    bool named = ok && has_id(file, pdl_buf_z(&url), err);
    pdl_buf_fini(&url);
    pdl_buf_fini(&body);
    if (!ok) return false;
    ok = named && create_openai(p, base, endpoint, pdl_member_str(file, "id"), &batch, err);
    pdl_drop(file);
    if (!ok) return false;
    *made = upload_of(pdl_member_str(batch, "id"), "openai", base, items, n);
    note_upload(p, n, pdl_member_str(batch, "id"));
    pdl_drop(batch);
    return true;
}

/* Reads {custom_id, response: {status_code, body}, error}. */
static void read_openai(pdl_batch_provider *p, pdl_vref line) {
    pdl_vref response = pdl_dict_getz(line, "response"), error = pdl_dict_getz(line, "error");
    pdl_vref code = pdl_is_dict(response) ? pdl_dict_getz(response, "status_code") : pdl_absent();
    pdl_buf body = PDL_BUF;
    pdl_err ignored = {0};
    bool answered = pdl_is_dict(response) && pdl_is(code, PDL_V_INT);
    pdl_val all = answered ? pdl_keep(pdl_dict_getz(response, "body"))
                           : pdl_dict_putz(pdl_dict_new(1), "error",
                                           pdl_is_dict(error)
                                               ? pdl_keep(error)
                                               : pdl_textz("the batch has no response for it"));
    if (!pdl_json_write(all, PDL_JSON_NAN | PDL_JSON_LOOSE, 0, &body, &ignored))
        pdl_err_fini(&ignored);
    int status = answered ? (int)pdl_int_of(code) : 400;
    pdl_batch_provider_answer(p, pdl_member_str(line, "custom_id"), status, pdl_buf_str(&body));
    pdl_drop(all);
    pdl_buf_fini(&body);
}

/* --- Anthropic: a batch of requests, a stream of results -------------------------------------- */

static void put_requests(const item *const *items, size_t n, pdl_buf *out) {
    pdl_json_open(out, '{');
    pdl_json_put_key(out, "requests");
    pdl_json_open(out, '[');
    for (size_t i = 0; i < n; i++) {
        pdl_json_open(out, '{');
        pdl_json_put_text(out, "custom_id", pdl_str_of(items[i]->name));
        pdl_json_put_key(out, "params");
        pdl_buf_put(out, pdl_str_of(items[i]->body));
        pdl_buf_putc(out, '}');
    }
    PDL_PUT(out, "]}");
}

static bool upload_anthropic(pdl_batch_provider *p, const item *const *items, size_t n,
                             pdl_val *made, pdl_err *err) {
    pdl_buf url = PDL_BUF, body = PDL_BUF;
    pdl_val batch;
    pdl_buf_putf(&url, "%s/batches", items[0]->url);
    put_requests(items, n, &body);
    bool ok = ask_json(
        p, &(wire_request){"POST", pdl_buf_z(&url), "application/json", pdl_buf_str(&body)}, &batch,
        err);
    bool named = ok && has_id(batch, pdl_buf_z(&url), err);
    if (named) {
        *made = upload_of(pdl_member_str(batch, "id"), "anthropic", pdl_buf_str(&url), items, n);
        note_upload(p, n, pdl_member_str(batch, "id"));
    }
    if (ok) pdl_drop(batch);
    pdl_buf_fini(&url);
    pdl_buf_fini(&body);
    return named;
}

static int status_of(pdl_str type) {
    static const struct {
        const char *type;
        int status;
    } rows[] = {
        {"authentication_error", 401}, {"permission_error", 403}, {"not_found_error", 404},
        {"rate_limit_error", 429},     {"api_error", 500},        {"overloaded_error", 529}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (pdl_str_is(type, rows[i].type)) return rows[i].status;
    return 400;
}

/* Reads {custom_id, result: {type: succeeded, message} | {type: errored, error} | {type:
 * expired}}. */
static void read_anthropic(pdl_batch_provider *p, pdl_vref line) {
    pdl_vref result = pdl_dict_getz(line, "result");
    pdl_str how = pdl_is_dict(result) ? pdl_member_str(result, "type") : PDL_STR("no result");
    bool ok = pdl_str_is(how, "succeeded");
    pdl_vref inner =
        pdl_is_dict(result) ? pdl_dict_getz(result, ok ? "message" : "error") : pdl_absent();
    ok = ok && pdl_is_dict(inner);
    pdl_vref error = pdl_is_dict(inner) ? pdl_dict_getz(inner, "error") : pdl_absent();
    pdl_buf body = PDL_BUF;
    pdl_err ignored = {0};
    if (pdl_is_dict(inner)) {
        if (!pdl_json_write(inner, PDL_JSON_NAN | PDL_JSON_LOOSE, 0, &body, &ignored))
            pdl_err_fini(&ignored);
    } else {
        pdl_buf why = PDL_BUF;
        pdl_buf_putf(&why, "the batch has no message for it (%.*s)", PDL_FMT(how));
        pdl_json_open(&body, '{');
        pdl_json_put_text(&body, "type", PDL_STR("error"));
        pdl_json_put_key(&body, "error");
        pdl_json_open(&body, '{');
        pdl_json_put_text(&body, "type", PDL_STR("invalid_request_error"));
        pdl_json_put_text(&body, "message", pdl_buf_str(&why));
        PDL_PUT(&body, "}}");
        pdl_buf_fini(&why);
    }
    pdl_batch_provider_answer(p, pdl_member_str(line, "custom_id"),
                              ok ? 200 : status_of(pdl_member_str(error, "type")),
                              pdl_buf_str(&body));
    pdl_buf_fini(&body);
}

/* --- both ------------------------------------------------------------------------------------- */

bool pdl_batch_provider_upload(pdl_batch_provider *p, const item *const *items, size_t n,
                               pdl_val *made, pdl_err *err) {
    pdl_str url = pdl_str_of(items[0]->url), base = base_of(url);
    if (base.n) return upload_openai(p, base, items, n, made, err);
    if (pdl_str_ends(url, PDL_STR("/v1/messages"))) return upload_anthropic(p, items, n, made, err);
    return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "--provider-batch: the service at %.*s has no batches that are known",
                       PDL_FMT(url));
}

/* Reads the answers, one on each line. A line that cannot be read counts as missing. */
static void read_lines(pdl_batch_provider *p, bool openai, pdl_str text) {
    text = pdl_utf8_unmarked(text);
    while (text.n) {
        size_t nl = pdl_str_find(text, PDL_STR("\n"), 0), n = nl == PDL_NOT_FOUND ? text.n : nl;
        pdl_str line = pdl_str_trim(pdl_str_sub(text, 0, n));
        pdl_val v;
        pdl_err ignored = {0};
        text = pdl_str_sub(text, n + 1, text.n);
        if (!line.n || pdl_utf8_check(line) != PDL_NOT_FOUND) continue;
        if (!pdl_json_read(line, PDL_JSON_PYTHON, &v, NULL, &ignored)) {
            pdl_err_fini(&ignored);
            continue;
        }
        if (pdl_is_dict(v) && openai) read_openai(p, v);
        if (pdl_is_dict(v) && !openai) read_anthropic(p, v);
        pdl_drop(v);
    }
}

static bool fetch_file(pdl_batch_provider *p, const char *url, bool openai, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    bool ok = ask(p, &(wire_request){.method = "GET", .url = url, .type = ""}, &text, err);
    if (ok) read_lines(p, openai, pdl_buf_str(&text));
    pdl_buf_fini(&text);
    return ok;
}

/* Writes to `out` the reason why a batch failed: the first message in "errors": {"data":
 * [{"message": ...}]} when the whole batch was refused; otherwise its status, such as expired.
 * Leaves `out` empty when the batch is completed. */
static void put_failure(pdl_vref batch, pdl_buf *out) {
    pdl_vref errors = pdl_dict_getz(batch, "errors"),
             data = pdl_is_dict(errors) ? pdl_dict_getz(errors, "data") : pdl_absent();
    pdl_buf_clear(out);
    if (pdl_is_list(data) && pdl_list_len(data) && pdl_is_dict(pdl_list_at(data, 0)))
        pdl_buf_put(out, pdl_member_str(pdl_list_at(data, 0), "message"));
    pdl_str status = pdl_member_str(batch, "status");
    if (!out->len && !pdl_str_is(status, "completed")) pdl_buf_put(out, status);
}

static bool fetch_openai(pdl_batch_provider *p, pdl_str base, pdl_vref batch, bool *ended,
                         pdl_err *err) {
    static const char *const files[] = {"output_file_id", "error_file_id"};
    static const char *const ends[] = {"completed", "failed", "expired", "cancelled"};
    bool ok = true;
    put_failure(batch, &p->why);
    *ended = *ended || PDL_STR_IN(pdl_member_str(batch, "status"), ends);
    for (size_t i = 0; ok && *ended && i < sizeof files / sizeof *files; i++) {
        pdl_str file = pdl_member_str(batch, files[i]);
        pdl_buf url = PDL_BUF;
        pdl_buf_putf(&url, "%.*s/files/%.*s/content", PDL_FMT(base), PDL_FMT(file));
        if (file.n) ok = fetch_file(p, pdl_buf_z(&url), true, err);
        pdl_buf_fini(&url);
    }
    return ok;
}

static bool fetch_anthropic(pdl_batch_provider *p, pdl_str url, pdl_vref batch, bool *ended,
                            pdl_err *err) {
    pdl_buf results = PDL_BUF;
    pdl_buf_clear(&p->why);
    *ended = pdl_str_is(pdl_member_str(batch, "processing_status"), "ended");
    /* The service names an address for the results, but the key is sent only to the address of the
     * calls. */
    pdl_buf_putf(&results, "%.*s/%.*s/results", PDL_FMT(url), PDL_FMT(pdl_member_str(batch, "id")));
    bool ok = !*ended || fetch_file(p, pdl_buf_z(&results), false, err);
    pdl_buf_fini(&results);
    return ok;
}

bool pdl_batch_provider_fetch(pdl_batch_provider *p, pdl_vref upload, bool *ended, pdl_err *err) {
    pdl_str id = pdl_member_str(upload, "id"), url = pdl_member_str(upload, "url");
    bool openai = pdl_str_is(pdl_member_str(upload, "form"), "openai");
    pdl_buf at = PDL_BUF;
    pdl_val batch;
    *ended = false;
    pdl_buf_putf(&at, openai ? "%.*s/batches/%.*s" : "%.*s/%.*s", PDL_FMT(url), PDL_FMT(id));
    bool ok = ask_json(p, &(wire_request){.method = "GET", .url = pdl_buf_z(&at), .type = ""},
                       &batch, err);
    pdl_buf_fini(&at);
    if (!ok) return false;
    ok = openai ? fetch_openai(p, url, batch, ended, err)
                : fetch_anthropic(p, url, batch, ended, err);
    pdl_drop(batch);
    return ok;
}
