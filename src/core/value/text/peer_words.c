/* peer_words.c -- see peer_words.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/peer_words.h"

#include "base/utf8.h"
#include "value/int.h"
#include "value/json_read.h"
#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

enum { DEEPEST = 8 }; /* number of errors inside errors that are followed */

static bool find_words(pdl_vref v, unsigned depth, pdl_buf *out);

static bool put_text(pdl_vref v, pdl_buf *out) {
    if (!pdl_is_str(v) || pdl_str_trim(pdl_str_get(v)).n == 0) return false;
    pdl_buf_put(out, pdl_str_get(v));
    return true;
}

/* Appends all elements of a list. In FastAPI's errors, these are {msg, loc}. */
static bool put_list(pdl_vref list, unsigned depth, pdl_buf *out) {
    size_t start = out->len;
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        size_t before = out->len;
        if (before > start) PDL_PUT(out, "; ");
        size_t from = out->len;
        if (!find_words(pdl_list_at(list, i), depth + 1, out) && from > before)
            pdl_buf_cut(out, before);
    }
    return out->len > start;
}

static bool put_any(pdl_vref v, unsigned depth, pdl_buf *out) {
    if (depth > DEEPEST) return false;
    if (pdl_is_list(v)) return put_list(v, depth, out);
    return pdl_is_dict(v) ? find_words(v, depth + 1, out) : put_text(v, out);
}

/* Appends the words of a service that a gateway (OpenRouter) has called. They are in metadata.raw,
 * as text or as JSON. */
static void put_inner_words(pdl_vref v, pdl_buf *out) {
    pdl_vref meta = pdl_member(v, "metadata"), raw = pdl_member(meta, "raw");
    pdl_str name = pdl_member_str(meta, "provider_name");
    pdl_buf inner = PDL_BUF;
    bool any = pdl_is_str(raw)
                   ? pdl_peer_words_in(pdl_str_get(raw), pdl_str_get(raw).n, &inner)
                   : (pdl_is_dict(raw) || pdl_is_list(raw)) && put_any(raw, 1, &inner);
    if (any && pdl_str_find(pdl_buf_str(out), pdl_buf_str(&inner), 0) == PDL_NOT_FOUND) {
        if (name.n) pdl_buf_putf(out, " (%.*s)", PDL_FMT(name));
        PDL_PUT(out, ": ");
        pdl_buf_put(out, pdl_buf_str(&inner));
    }
    pdl_buf_clear(&inner);
    if (pdl_is_list(pdl_member(meta, "reasons")) && put_any(pdl_member(meta, "reasons"), 1, &inner))
        pdl_buf_putf(out, ": %s", pdl_buf_z(&inner));
    pdl_buf_fini(&inner);
}

/* Appends the member that explains an `error` which is a text: error_description of OAuth, or
 * `message` when `error` is the name of a status. */
static void put_beside(pdl_vref v, pdl_buf *out) {
    static const char *const keys[] = {"error_description", "message"};
    pdl_str error = pdl_str_trim(pdl_member_str(v, "error"));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        pdl_str more = pdl_str_trim(pdl_member_str(v, keys[i]));
        if (!more.n || pdl_str_find(error, more, 0) != PDL_NOT_FOUND) continue;
        pdl_buf_putf(out, ": %.*s", PDL_FMT(more));
        return;
    }
}

/* members that hold an answer, or a part of one, and so the error that came in its place */
static const char *const envelopes[] = {"response", "data",       "output",  "result",  "body",
                                        "message",  "candidates", "content", "parts",   "results",
                                        "choices",  "delta",      "error",   "messages"};
enum { N_ENVELOPES = sizeof envelopes / sizeof envelopes[0] };

/* Appends the words of an error that is inside an envelope. */
static bool find_in_envelope(pdl_vref v, unsigned depth, pdl_buf *out) {
    for (size_t i = 0; i < N_ENVELOPES; i++) {
        pdl_vref inner = pdl_member(v, envelopes[i]);
        if (pdl_peer_fails_within(inner) && put_any(inner, depth, out)) return true;
    }
    return false;
}

/* How an object describes its outcome. Many services write a code into every answer. */
typedef enum { CODE_NONE, CODE_GOOD, CODE_BAD } code;

static code code_of(pdl_vref v) {
    static const char *const keys[] = {"code", "error_code", "errcode", "status_code", "status"};
    static const char *const good[] = {"0", "200", "ok", "success", "succeeded"};
    pdl_vref success = pdl_member(v, "success");
    if (pdl_is_bool(success)) return pdl_bool_of(success) ? CODE_GOOD : CODE_BAD;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        pdl_vref c = pdl_member(v, keys[i]);
        pdl_str text = pdl_is_str(c) ? pdl_str_trim(pdl_str_get(c)) : (pdl_str){0};
        int64_t n;
        if (pdl_int_get(c, &n)) return n == 0 || n == 200 ? CODE_GOOD : CODE_BAD;
        if (!text.n) continue;
        for (size_t k = 0; k < sizeof good / sizeof good[0]; k++)
            if (pdl_str_eq_nocase(text, pdl_str_of(good[k]))) return CODE_GOOD;
        /* a status that is a word may be that of an answer */
        bool is_status = pdl_str_is(pdl_str_of(keys[i]), "status");
        return is_status && !pdl_str_starts(text, PDL_STR("fail")) && !pdl_str_is(text, "error")
                   ? CODE_NONE
                   : CODE_BAD;
    }
    return CODE_NONE;
}

/* Appends the words of the first of these members that has words. */
static bool find_in_object(pdl_vref v, unsigned depth, pdl_buf *out) {
    static const char *const keys[] = {
        "error",         "message",           "errors",      "detail",     "msg",
        "errorMessage",  "error_msg",         "Message",     "err_msg",    "originalMessage",
        "base_resp",     "error_description", "reason",      "status_msg", "statusText",
        "title",         "exception",         "fault",       "failure",    "failed_reason",
        "faultstring",   "choices",           "errmsg",      "Error",      "cause"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (!put_any(pdl_member(v, keys[i]), depth, out)) continue;
        if (i == 0 && pdl_is_str(pdl_member(v, "error"))) put_beside(v, out);
        return true;
    }
    if (find_in_envelope(v, depth, out)) return true;
    return code_of(v) == CODE_BAD && put_text(pdl_member(v, "text"), out);
}

static bool find_words(pdl_vref v, unsigned depth, pdl_buf *out) {
    if (!pdl_is_dict(v)) return put_any(v, depth, out);
    if (!find_in_object(v, depth, out)) return false;
    put_inner_words(v, out);
    return true;
}

bool pdl_peer_words(pdl_vref body, pdl_buf *out) {
    return find_words(body, 0, out);
}

bool pdl_peer_words_in(pdl_str bytes, size_t most, pdl_buf *out) {
    pdl_val json = pdl_absent();
    pdl_err err = {0};
    size_t start = out->len;
    bytes = pdl_utf8_unmarked(pdl_str_trim(bytes));
    if (pdl_utf8_check(bytes) == PDL_NOT_FOUND &&
        !pdl_json_read(bytes, PDL_JSON_PYTHON, &json, NULL, &err))
        pdl_err_fini(&err);
    if (!pdl_peer_words(json, out)) pdl_utf8_repair(out, pdl_utf8_cut(bytes, most));
    pdl_drop(json);
    return out->len > start;
}

static bool has_content(pdl_vref v) {
    return !pdl_is_absent(v) && !pdl_is_null(v) && pdl_val_truth(v);
}

static bool has_any(pdl_vref v, const char *const *keys, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (has_content(pdl_member(v, keys[i]))) return true;
    return false;
}

bool pdl_peer_is_failure(pdl_vref v) {
    static const char *const texts[] = {"message", "text", "msg",        "reason",
                                        "title",   "Message", "statusText", "status_msg"};
    if (!pdl_is_dict(v)) return false;
    bool has_text = false;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        has_text |= pdl_str_trim(pdl_member_str(v, texts[i])).n > 0;
    if (code_of(pdl_member(v, "base_resp")) == CODE_BAD) return true;
    return has_text && (code_of(v) == CODE_BAD || pdl_text_is(pdl_member(v, "object"), "error") ||
                        pdl_text_is(pdl_member(v, "type"), "error"));
}

/* Returns true when an object itself, and not one inside of it, is a failure. */
static bool fails_itself(pdl_vref v) {
    static const char *const keys[] = {
        "detail",    "msg",         "errorMessage",    "error_msg",         "Message",
        "err_msg",   "errmsg",      "originalMessage", "error_description", "faultstring",
        "fault",     "failure",     "failed_reason",   "exception",         "Error",
        "cause"};
    if (pdl_peer_fails(v) || pdl_peer_is_failure(v)) return true;
    return code_of(v) != CODE_GOOD && has_any(v, keys, sizeof keys / sizeof keys[0]);
}

/* An object with one member is a message of a stream, such as that of AWS. The key is its kind, and
 * the value its content. */
static bool fails_within(pdl_vref v, unsigned depth) {
    if (depth > DEEPEST) return false;
    for (size_t i = 0; pdl_is_list(v) && i < pdl_list_len(v); i++)
        if (fails_within(pdl_list_at(v, i), depth + 1)) return true;
    if (!pdl_is_dict(v)) return false;
    if (fails_itself(v)) return true;
    if (pdl_dict_len(v) == 1) return fails_within(pdl_dict_val_at(v, 0), depth + 1);
    for (size_t i = 0; i < N_ENVELOPES; i++)
        if (fails_within(pdl_member(v, envelopes[i]), depth + 1)) return true;
    return false;
}

bool pdl_peer_fails_within(pdl_vref body) { return fails_within(body, 0); }

bool pdl_peer_fails(pdl_vref body) {
    return has_content(pdl_member(body, "error")) || has_content(pdl_member(body, "errors"));
}
