/* fault.c -- turns answers, transport errors and error objects into faults; see fault.h (spec
 * providers 9).
 *
 * Services report one failure by different statuses, names and texts. So rules in a fixed order
 * find its kind.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/fault.h"

#include <stdlib.h>

#include "base/num.h"
#include "base/utf8.h"
#include "base/word_list.h"
#include "io/clock.h"
#include "value/json_read.h"
#include "value/member.h"
#include "value/peer_message.h"
#include "value/text.h"

#include "base/banned.h"

enum { RAW_TEXT = 2000 }; /* bytes of an unreadable answer that a message quotes */

void pdl_fault_fini(pdl_fault *f) {
    pdl_buf_fini(&f->msg);
    *f = (pdl_fault){0};
}

static void start(pdl_fault *out, pdl_err_kind kind, int status) {
    pdl_fault_fini(out);
    *out = (pdl_fault){
        .kind = kind, .status = status, .msg = PDL_BUF, .retry_after = -1, .should_retry = -1};
}

void pdl_fault_set(pdl_fault *out, pdl_err_kind kind, int status, const char *fmt, ...) {
    va_list ap;
    start(out, kind, status);
    va_start(ap, fmt);
    pdl_buf_vputf(&out->msg, fmt, ap);
    va_end(ap);
}

static pdl_vref first(pdl_vref v) {
    return pdl_is_list(v) && pdl_list_len(v) ? pdl_list_at(v, 0) : pdl_absent();
}

/* --- the kind --------------------------------------------------------------------------------- */

static bool has(pdl_str s, const char *needle) {
    return pdl_str_find(s, pdl_str_of(needle), 0) != PDL_NOT_FOUND;
}

static bool is_context_window(pdl_str low, pdl_str code, pdl_str type) {
    static const char *const phrases[] = {
        "this model's maximum context length is",
        "model's maximum context limit",
        "exceed context limit",
        "is longer than the model's context length",
        "input tokens exceed the configured limit",
        "`inputs` tokens + `max_new_tokens` must be",
        "exceeds the available context size",
        "exceeds the maximum number of tokens allowed",
        "prompt is too long",
        "input is too long",
        "too many tokens",
    };
    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++)
        if (has(low, phrases[i])) return true;
    if (has(low, "current length is") && has(low, "while limit is")) return true;
    if (has(low, "maximum input length is") && has(low, "tokens")) return true;
    if (has(low, "string too long. expected a string with maximum length") && !has(low, "'user'"))
        return true;
    return pdl_str_is(code, "context_length_exceeded") ||
           pdl_str_is(type, "exceed_context_size_error");
}

static bool is_content_policy(pdl_str low, pdl_str code, pdl_str type) {
    static const char *const phrases[] = {
        "your request was rejected as a result of our safety system",
        "triggering azure openai's content management",
        "responsibleaipolicyviolation",
        "content filtering policy",
    };
    static const char *const names[] = {"content_policy_violation", "content_filter"};
    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++)
        if (has(low, phrases[i])) return true;
    return PDL_STR_IN(code, names) || PDL_STR_IN(type, names);
}

static const struct {
    int status;
    pdl_err_kind kind;
} status_kinds[] = {
    {401, PDL_E_auth},        {402, PDL_E_quota},   {403, PDL_E_permission},
    {404, PDL_E_not_found},   {408, PDL_E_timeout}, {429, PDL_E_rate_limit},
    {503, PDL_E_unavailable}, {504, PDL_E_timeout}, {529, PDL_E_unavailable},
};

static pdl_err_kind kind_of_status(int status) {
    for (size_t i = 0; i < sizeof status_kinds / sizeof status_kinds[0]; i++)
        if (status_kinds[i].status == status) return status_kinds[i].kind;
    if (status >= 500) return PDL_E_server;
    return status >= 400 ? PDL_E_bad_request : PDL_E_protocol;
}

/* Returns true for error names that mean throttling; such a name is more reliable than the status
 * of the answer. */
static bool is_throttling(pdl_str name) {
    return pdl_str_eq_nocase(name, PDL_STR("ThrottlingException")) ||
           pdl_str_is(name, "RESOURCE_EXHAUSTED");
}

/* Error names that services send inside a stream, where there is no status, and their kinds. */
static const struct {
    const char *name;
    pdl_err_kind kind;
} name_kinds[] = {
    {"insufficient_quota", PDL_E_quota},
    {"rate_limit_exceeded", PDL_E_rate_limit},
    {"rate_limit_error", PDL_E_rate_limit},
    {"RESOURCE_EXHAUSTED", PDL_E_rate_limit},
    {"ThrottlingException", PDL_E_rate_limit},
    {"throttlingException", PDL_E_rate_limit},
    {"validationException", PDL_E_bad_request},
    {"accessDeniedException", PDL_E_permission},
    {"serviceUnavailableException", PDL_E_unavailable},
    {"internalServerException", PDL_E_server},
    {"modelStreamErrorException", PDL_E_server},
    {"modelTimeoutException", PDL_E_timeout},
    {"overloaded_error", PDL_E_unavailable},
    {"invalid_api_key", PDL_E_auth},
    {"authentication_error", PDL_E_auth},
    {"permission_error", PDL_E_permission},
    {"not_found_error", PDL_E_not_found},
    {"model_not_found", PDL_E_not_found},
    {"invalid_request_error", PDL_E_bad_request},
    {"BadRequestError", PDL_E_bad_request},
    {"timeout_error", PDL_E_timeout},
    {"billing_error", PDL_E_quota},
    {"server_error", PDL_E_server},
    {"api_error", PDL_E_server},
};

static pdl_err_kind kind_of_name(pdl_str name) {
    for (size_t i = 0; i < sizeof name_kinds / sizeof name_kinds[0]; i++)
        if (pdl_str_is(name, name_kinds[i].name)) return name_kinds[i].kind;
    return PDL_E_NONE;
}

static pdl_str text_or_none(pdl_vref v) { return pdl_is_str(v) ? pdl_str_get(v) : (pdl_str){0}; }

/* Returns the status of a failure (400..599) that is given as a number or as a text of digits; 0
 * for any other value. */
static int failing_status(pdl_vref v) {
    int64_t n = pdl_is(v, PDL_V_INT) ? pdl_int_of(v) : 0;
    pdl_str s = text_or_none(v);
    if (s.n == 3 && !pdl_num_read_int(s, &n)) n = 0;
    return n >= 400 && n <= 599 ? (int)n : 0;
}

/* Returns the object in an answer that describes the failure. */
static pdl_vref description_of(pdl_vref json) {
    pdl_vref body = pdl_is_list(json) ? first(json) : json, error = pdl_member(body, "error"),
             one = first(pdl_member(body, "errors"));
    return pdl_is_dict(error) ? error : pdl_is_dict(one) ? one : body;
}

int pdl_fault_code(pdl_vref json) {
    static const char *const keys[] = {"code", "status_code", "statusCode", "status"};
    const pdl_vref where[] = {description_of(json), pdl_is_list(json) ? first(json) : json};
    for (size_t i = 0; i < sizeof where / sizeof where[0]; i++)
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            int status = failing_status(pdl_member(where[i], keys[k]));
            if (status) return status;
        }
    return 0;
}

/* The names that an answer gives to its failure. */
typedef struct names {
    pdl_str code, type, status, inner, header;
} names;

static names names_of(pdl_vref json, pdl_str header) {
    pdl_vref from = description_of(json);
    pdl_vref inner = pdl_member(from, "innererror");
    return (names){
        .code = text_or_none(pdl_member(from, "code")),
        .type = text_or_none(pdl_member(from, "type")),
        .status = text_or_none(pdl_member(from, "status")),
        .inner = text_or_none(pdl_member(inner, "code")),
        /* the header may be "Name:http://..." */
        .header = pdl_str_sub(header, 0, pdl_str_find(header, PDL_STR(":"), 0)),
    };
}

static pdl_err_kind kind_of_names(const names *n) {
    const pdl_str all[] = {n->code, n->type, n->status, n->header};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        pdl_err_kind kind = kind_of_name(all[i]);
        if (kind != PDL_E_NONE) return kind;
    }
    return PDL_E_NONE;
}

/* Applies the rules in their order (spec providers 9). status: of the answer, or the code of an
 * error object inside a 2xx answer (0 when there is none); low: the message in lower case. */
static pdl_err_kind kind_of(int status, const names *n, pdl_str low) {
    bool quota =
        pdl_str_is(n->code, "insufficient_quota") || pdl_str_is(n->type, "insufficient_quota");
    if (is_context_window(low, n->code, n->type)) return PDL_E_context_window;
    if (is_content_policy(low, n->code, n->type) ||
        pdl_str_is(n->inner, "ResponsibleAIPolicyViolation"))
        return PDL_E_content_policy;
    if (status == 429 && (quota || kind_of_names(n) == PDL_E_quota)) return PDL_E_quota;
    if (is_throttling(n->code) || is_throttling(n->type) || is_throttling(n->status) ||
        is_throttling(n->header))
        return PDL_E_rate_limit;
    if (status == 400 && has(low, "api key not valid")) return PDL_E_auth;
    pdl_err_kind kind = status ? kind_of_status(status) : kind_of_names(n);
    bool vague = kind == PDL_E_bad_request || kind == PDL_E_unavailable || kind == PDL_E_server;
    if (vague && has(low, "request timed out")) return PDL_E_timeout;
    return kind == PDL_E_NONE ? PDL_E_server : kind;
}

static pdl_err_kind classify(int status, pdl_vref json, pdl_str header, pdl_str msg) {
    names n = names_of(json, header);
    pdl_buf low = PDL_BUF;
    for (size_t i = 0; i < msg.n; i++) pdl_buf_putc(&low, pdl_lower(msg.p[i]));
    pdl_err_kind kind = kind_of(status, &n, pdl_buf_str(&low));
    pdl_buf_fini(&low);
    return kind;
}

/* --- sources of faults ------------------------------------------------------------------------ */

void pdl_fault_of_status(const pdl_http_reply *r, pdl_fault *out) {
    pdl_val json = pdl_absent();
    pdl_err err = {0};
    pdl_str retry = pdl_http_header(r, "x-should-retry");
    start(out, PDL_E_server, r->status);
    pdl_str body = pdl_utf8_unmarked(pdl_str_trim(r->body));
    if (pdl_utf8_check(body) == PDL_NOT_FOUND &&
        !pdl_json_read(body, PDL_JSON_PYTHON, &json, NULL, &err))
        pdl_err_fini(&err);
    if (!pdl_peer_words(json, &out->msg)) pdl_utf8_repair(&out->msg, pdl_utf8_cut(body, RAW_TEXT));
    if (out->msg.len == 0) pdl_buf_putf(&out->msg, "status %d without a text", r->status);
    out->kind =
        classify(r->status, json, pdl_http_header(r, "x-amzn-errortype"), pdl_buf_str(&out->msg));
    out->retry_after =
        pdl_backoff_header(r, (double)pdl_clock_wall_ns() / 1e9, &out->retry_is_date);
    if (out->retry_after < 0) out->retry_after = pdl_backoff_details(description_of(json));
    out->should_retry = pdl_str_is(retry, "true") ? 1 : pdl_str_is(retry, "false") ? 0 : -1;
    pdl_drop(json);
}

void pdl_fault_of_limit(pdl_http_limit limit, pdl_fault *out) {
    static const char *const why[] = {
        [PDL_HTTP_NO_LIMIT] = "",
        [PDL_HTTP_CONNECT_MS] = " No connection was made in time (limit: connect)",
        [PDL_HTTP_FIRST_MS] = " The answer did not begin in time (limit: first)",
        [PDL_HTTP_IDLE_MS] = " The answer stopped coming (limit: idle)",
        [PDL_HTTP_TOTAL_MS] = " The answer was not complete in time (limit: total)",
    };
    pdl_fault_set(out, PDL_E_timeout, 0, "Request timed out.%s", why[limit]);
}

void pdl_fault_of_transport(const pdl_http_reply *r, bool began, pdl_fault *out) {
    switch (r->end) {
    case PDL_HTTP_TIMEOUT: pdl_fault_of_limit(r->limit, out); return;
    case PDL_HTTP_TOO_LARGE: pdl_fault_set(out, PDL_E_protocol, r->status, "%s", r->why); return;
    case PDL_HTTP_BAD_REQUEST: pdl_fault_set(out, PDL_E_config, 0, "%s", r->why); return;
    case PDL_HTTP_BROKEN:
        if (began)
            pdl_fault_set(out, PDL_E_stream, r->status, "the stream broke: %s", r->why);
        else
            pdl_fault_set(out, PDL_E_connection, r->status, "Connection error: %s", r->why);
        return;
    case PDL_HTTP_OK:
    case PDL_HTTP_CONNECT:
    case PDL_HTTP_STOPPED:
        pdl_fault_set(out, PDL_E_connection, 0, "Connection error: %s", r->why);
        return;
    }
}

void pdl_fault_of_object(int status, pdl_vref json, pdl_fault *out) {
    start(out, PDL_E_server, status);
    if (!pdl_peer_words(json, &out->msg)) pdl_val_show(json, false, RAW_TEXT, &out->msg);
    out->kind = classify(pdl_fault_code(json), json, (pdl_str){0}, pdl_buf_str(&out->msg));
    out->retry_after = pdl_backoff_details(description_of(json));
}

void pdl_fault_of_text(int status, pdl_str text, pdl_fault *out) {
    pdl_val json = pdl_absent();
    pdl_err err = {0};
    text = pdl_utf8_unmarked(pdl_str_trim(text));
    if (pdl_json_read(text, PDL_JSON_PYTHON, &json, NULL, &err) && !pdl_is_null(json)) {
        pdl_fault_of_object(status, json, out);
        pdl_drop(json);
        return;
    }
    pdl_err_fini(&err);
    start(out, PDL_E_server, status);
    if (text.n == 0) text = PDL_STR("an error without a text");
    pdl_buf_put(&out->msg, pdl_utf8_cut(text, RAW_TEXT));
    out->kind = classify(0, pdl_absent(), (pdl_str){0}, pdl_buf_str(&out->msg));
}

void pdl_fault_of_err(pdl_err *err, int status, pdl_fault *out) {
    pdl_fault_set(out, err->kind, status, "%s", err->msg ? err->msg : "");
    pdl_err_fini(err);
}
