/* peer_message.c -- finds the explanation in the body of a failed answer; see peer_message.h.
 *
 * Services have many forms of error objects, and gateways put these into others. The search follows
 * the usual names of members. Its depth and its steps are limited, since a hostile peer may send a
 * body that is slow to search.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/peer_message.h"

#include "base/num.h"
#include "base/utf8.h"
#include "base/word_list.h"
#include "value/int.h"
#include "value/json_read.h"
#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

/* DEEPEST: number of errors inside errors that are followed. VISITED: number of values that one
 * search visits; it bounds the time for a body that was made to be slow. */
enum { DEEPEST = 8, VISITED = 20000 };

typedef struct peer_search {
    size_t left; /* number of values that may still be visited */
    pdl_buf *out;
} search;

static bool find_words(search *s, pdl_vref v, unsigned depth);
static bool fails_within(search *s, pdl_vref v, unsigned depth);

static bool may_visit(search *s, unsigned depth) {
    if (depth > DEEPEST || s->left == 0) return false;
    s->left--;
    return true;
}

static bool put_text(pdl_vref v, pdl_buf *out) {
    if (!pdl_is_str(v) || pdl_str_trim(pdl_str_get(v)).n == 0) return false;
    pdl_buf_put(out, pdl_str_get(v));
    return true;
}

/* Appends all elements of a list. In FastAPI's errors, these are {msg, loc}. */
static bool put_list(search *s, pdl_vref list, unsigned depth) {
    pdl_buf *out = s->out;
    size_t start = out->len;
    for (size_t i = 0; s->left && i < pdl_list_len(list); i++) {
        size_t before = out->len;
        if (before > start) PDL_PUT(out, "; ");
        size_t from = out->len;
        if (!find_words(s, pdl_list_at(list, i), depth + 1) && from > before)
            pdl_buf_cut(out, before);
    }
    return out->len > start;
}

static bool put_any(search *s, pdl_vref v, unsigned depth) {
    if (pdl_is_absent(v) || !may_visit(s, depth)) return false;
    if (pdl_is_list(v)) return put_list(s, v, depth);
    return pdl_is_dict(v) ? find_words(s, v, depth + 1) : put_text(v, s->out);
}

/* Appends the words of a service that a gateway (OpenRouter) has called. They are in metadata.raw,
 * as text or as JSON. */
static void put_inner_words(search *s, pdl_vref v) {
    pdl_buf *out = s->out;
    pdl_vref meta = pdl_member(v, "metadata"), raw = pdl_member(meta, "raw");
    pdl_str name = pdl_member_str(meta, "provider_name");
    pdl_buf inner = PDL_BUF;
    search within = {s->left, &inner};
    bool any = pdl_is_str(raw) ? pdl_peer_words_in(pdl_str_get(raw), pdl_str_get(raw).n, &inner)
                               : (pdl_is_dict(raw) || pdl_is_list(raw)) && put_any(&within, raw, 1);
    if (any && pdl_str_find(pdl_buf_str(out), pdl_buf_str(&inner), 0) == PDL_NOT_FOUND) {
        if (name.n) pdl_buf_putf(out, " (%.*s)", PDL_FMT(name));
        PDL_PUT(out, ": ");
        pdl_buf_put(out, pdl_buf_str(&inner));
    }
    pdl_buf_clear(&inner);
    pdl_vref reasons = pdl_member(meta, "reasons");
    if (pdl_is_list(reasons) && put_any(&within, reasons, 1))
        pdl_buf_putf(out, ": %s", pdl_buf_z(&inner));
    s->left = within.left;
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

/* Appends which part of the request was wrong, when `loc` names it, as in FastAPI's
 * {"loc": ["body", "messages", 0, "role"], "msg": "Field required"}. */
static void put_place(pdl_vref v, pdl_buf *out) {
    enum { MAX_PARTS = 8, LONGEST = 60 };
    pdl_vref loc = pdl_member(v, "loc");
    if (!pdl_is_list(loc) || pdl_list_len(loc) < 2) return;
    pdl_buf b = PDL_BUF;
    for (size_t i = 1; i < pdl_list_len(loc) && i <= MAX_PARTS; i++) {
        pdl_vref part = pdl_list_at(loc, i);
        int64_t n;
        if (b.len) pdl_buf_putc(&b, '.');
        if (pdl_is_str(part))
            pdl_buf_put(&b, pdl_utf8_cut(pdl_str_get(part), LONGEST));
        else if (pdl_int_get(part, &n))
            pdl_buf_putf(&b, "%lld", (long long)n);
    }
    if (b.len) pdl_buf_putf(out, " (at %s)", pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

/* members that hold an answer or a part of an answer; an error that came instead may be in one of
 * them, too */
static const char *const envelopes[] = {"response", "data",       "output",  "result",  "body",
                                        "message",  "candidates", "content", "parts",   "results",
                                        "choices",  "delta",      "error",   "messages"};
enum { N_ENVELOPES = sizeof envelopes / sizeof envelopes[0] };

/* Appends the words of an error that is inside an envelope. */
static bool find_in_envelope(search *s, pdl_vref v, unsigned depth) {
    for (size_t i = 0; i < N_ENVELOPES; i++) {
        pdl_vref inner = pdl_member(v, envelopes[i]);
        if (fails_within(s, inner, 1) && put_any(s, inner, depth)) return true;
    }
    return false;
}

/* How an object describes its outcome. Many services write a code into every answer, and only a
 * few of these codes are known. */
typedef enum { CODE_NONE, CODE_GOOD, CODE_UNKNOWN, CODE_BAD } code;

static code code_of_number(int64_t n) {
    if (n == 0 || (n >= 200 && n < 300)) return CODE_GOOD;
    return n < 0 || (n >= 400 && n < 600) ? CODE_BAD : CODE_UNKNOWN;
}

static code code_of_word(pdl_str word) {
    static const char *const good[] = {"ok", "success", "succeeded", "completed"},
                             *const bad[] = {"fail",      "error",      "invalid",
                                             "denied",    "exceeded",   "unauthorized",
                                             "forbidden", "unavailable"};
    if (PDL_STR_IN_NOCASE(word, good)) return CODE_GOOD;
    for (size_t at = 0; at < word.n; at++)
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            pdl_str end = pdl_str_sub(word, at, word.n), w = pdl_str_of(bad[i]);
            if (end.n >= w.n && pdl_str_eq_nocase(pdl_str_sub(end, 0, w.n), w)) return CODE_BAD;
        }
    return CODE_UNKNOWN;
}

/* Returns the code in one member: a number, a number as text, or a word. */
static code code_in(pdl_vref v) {
    pdl_str text = pdl_is_str(v) ? pdl_str_trim(pdl_str_get(v)) : (pdl_str){0};
    int64_t n;
    if (pdl_int_get(v, &n) || pdl_num_read_int(text, &n)) return code_of_number(n);
    return text.n ? code_of_word(text) : CODE_NONE;
}

static code code_of(pdl_vref v) {
    static const char *const errors[] = {"error_code", "errcode"}, *const keys[] = {"code",
                                                                                    "status_code",
                                                                                    "status"};
    pdl_vref success = pdl_member(v, "success");
    if (pdl_is_bool(success)) return pdl_bool_of(success) ? CODE_GOOD : CODE_BAD;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        code c = code_in(pdl_member(v, errors[i]));
        if (c != CODE_NONE) return c == CODE_GOOD ? CODE_GOOD : CODE_BAD;
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        code c = code_in(pdl_member(v, keys[i]));
        if (c != CODE_NONE) return c;
    }
    return CODE_NONE;
}

/* Appends the words of the first member in `keys` that has words. */
static bool find_in_object(search *s, pdl_vref v, unsigned depth) {
    static const char *const keys[] = {
        "error",        "message",           "errors",  "detail",     "msg",
        "errorMessage", "error_msg",         "Message", "err_msg",    "originalMessage",
        "base_resp",    "error_description", "reason",  "status_msg", "statusText",
        "title",        "exception",         "fault",   "failure",    "failed_reason",
        "faultstring",  "choices",           "errmsg",  "Error",      "cause"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (!put_any(s, pdl_member(v, keys[i]), depth)) continue;
        if (i == 0 && pdl_is_str(pdl_member(v, "error"))) put_beside(v, s->out);
        if (pdl_is_str(pdl_member(v, "msg"))) put_place(v, s->out);
        return true;
    }
    if (find_in_envelope(s, v, depth)) return true;
    return code_of(v) >= CODE_UNKNOWN && put_text(pdl_member(v, "text"), s->out);
}

static bool find_words(search *s, pdl_vref v, unsigned depth) {
    if (!pdl_is_dict(v)) return put_any(s, v, depth);
    if (!may_visit(s, 0) || !find_in_object(s, v, depth)) return false;
    put_inner_words(s, v);
    return true;
}

bool pdl_peer_words(pdl_vref body, pdl_buf *out) {
    search s = {VISITED, out};
    return find_words(&s, body, 0);
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

static bool has_words(pdl_vref v) {
    static const char *const texts[] = {"message", "text",    "msg",        "reason",
                                        "title",   "Message", "statusText", "status_msg"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (pdl_str_trim(pdl_member_str(v, texts[i])).n) return true;
    return false;
}

bool pdl_peer_is_failure(pdl_vref v) {
    static const char *const keys[] = {"Error",   "error_description", "faultstring", "fault",
                                       "failure", "failed_reason",     "exception"};
    if (!pdl_is_dict(v)) return false;
    if (pdl_peer_fails(v) || code_of(pdl_member(v, "base_resp")) >= CODE_UNKNOWN) return true;
    code c = code_of(v);
    if (c != CODE_GOOD && has_any(v, keys, sizeof keys / sizeof keys[0])) return true;
    return (c == CODE_BAD && (has_words(v) || !pdl_is_absent(pdl_member(v, "errmsg")))) ||
           (has_words(v) && (pdl_text_is(pdl_member(v, "object"), "error") ||
                             pdl_text_is(pdl_member(v, "type"), "error")));
}

/* Returns true when an object has words that occur in failures, but in answers, too. So they mean a
 * failure only where an answer is missing. */
static bool may_be_failure(pdl_vref v) {
    static const char *const keys[] = {"detail",  "msg",     "errorMessage",
                                       "Message", "err_msg", "originalMessage",
                                       "cause",   "errmsg",  "error_msg"};
    code c = code_of(v);
    return c != CODE_GOOD &&
           (has_any(v, keys, sizeof keys / sizeof keys[0]) || (c != CODE_NONE && has_words(v)));
}

/* Returns true when a body has a place for the answer. Words beside that place may be a note, and
 * need not mean a failure. */
static bool has_place(pdl_vref v) {
    for (size_t i = 0; i < N_ENVELOPES; i++) {
        pdl_vref inner = pdl_member(v, envelopes[i]);
        if (pdl_is_list(inner) ? pdl_list_len(inner) : pdl_is_dict(inner)) return true;
    }
    return pdl_is_str(pdl_member(v, "response"));
}

/* At depth 0, an object with one member is a message of a stream, such as AWS sends. The key is its
 * kind, and the value its content. */
static bool fails_within(search *s, pdl_vref v, unsigned depth) {
    if (pdl_is_absent(v) || !may_visit(s, depth)) return false;
    for (size_t i = 0; pdl_is_list(v) && s->left && i < pdl_list_len(v); i++)
        if (fails_within(s, pdl_list_at(v, i), depth + 1)) return true;
    if (!pdl_is_dict(v)) return false;
    if (pdl_peer_is_failure(v)) return true;
    if ((depth || !has_place(v)) && may_be_failure(v)) return true;
    if (depth == 0 && pdl_dict_len(v) == 1) return fails_within(s, pdl_dict_val_at(v, 0), 1);
    for (size_t i = 0; i < N_ENVELOPES; i++)
        if (fails_within(s, pdl_member(v, envelopes[i]), depth + 1)) return true;
    return false;
}

bool pdl_peer_fails_within(pdl_vref body) {
    search s = {.left = VISITED};
    return fails_within(&s, body, 0);
}

bool pdl_peer_fails(pdl_vref body) {
    return has_content(pdl_member(body, "error")) || has_content(pdl_member(body, "errors"));
}

bool pdl_peer_has_note(pdl_vref body) {
    static const char *const keys[] = {"message", "detail"};
    pdl_buf words = PDL_BUF;
    bool found = false;
    for (size_t i = 0; !found && i < sizeof keys / sizeof *keys; i++) {
        pdl_vref v = pdl_member(body, keys[i]);
        /* a `message` that is an object is a part of an answer */
        found = pdl_is_str(v) ? pdl_str_trim(pdl_str_get(v)).n > 0
                              : i > 0 && !pdl_is_absent(v) && pdl_peer_words(body, &words);
    }
    pdl_buf_fini(&words);
    return found;
}
