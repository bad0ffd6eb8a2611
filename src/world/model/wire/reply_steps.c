/* reply_steps.c -- the steps that every reply passes, streamed or not; see reply_builder.h (spec
 * providers 1-7, 4.6, 10, 15.3).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/reply_builder.h"

#include "base/fence.h"
#include "base/word_list.h"
#include "effect/reply_usage.h"
#include "model/ask/messages.h"
#include "model/ask/strict.h"
#include "model/wire/message_parts.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/peer_message.h"

#include "base/banned.h"

static const struct {
    const char *said, *meant;
} finish_reasons[] = {
    {"stop", "stop"},
    {"length", "length"},
    {"tool_calls", "tool_calls"},
    {"content_filter", "content_filter"},
    {"function_call", "function_call"},
    {"end_turn", "stop"},
    {"stop_sequence", "stop"},
    {"eos_token", "stop"},
    {"eos", "stop"},
    {"COMPLETE", "stop"},
    {"STOP", "stop"},
    {"FINISH_REASON_UNSPECIFIED", "stop"},
    {"max_tokens", "length"},
    {"MAX_TOKENS", "length"},
    {"compaction", "length"},
    {"model_context_window_exceeded", "length"},
    {"tool_use", "tool_calls"},
    {"refusal", "content_filter"},
    {"content_filtered", "content_filter"},
    {"guardrail_intervened", "content_filter"},
    {"ERROR_TOXIC", "content_filter"},
    {"SAFETY", "content_filter"},
    {"RECITATION", "content_filter"},
    {"LANGUAGE", "content_filter"},
    {"OTHER", "content_filter"},
    {"BLOCKLIST", "content_filter"},
    {"PROHIBITED_CONTENT", "content_filter"},
    {"SPII", "content_filter"},
    {"sensitive", "content_filter"},
};

const char *pdl_finish_reason(pdl_str s) {
    if (s.n == 0) return "stop";
    for (size_t i = 0; i < sizeof finish_reasons / sizeof finish_reasons[0]; i++)
        if (pdl_str_is(s, finish_reasons[i].said)) return finish_reasons[i].meant;
    return pdl_str_starts(s, PDL_STR("IMAGE_")) ? "content_filter" : NULL;
}

static pdl_vref first_choice(pdl_vref raw) {
    pdl_vref choices = pdl_member(raw, "choices");
    return pdl_is_list(choices) && pdl_list_len(choices) ? pdl_list_at(choices, 0) : pdl_absent();
}

static pdl_vref text_of(pdl_vref message, const char *key) {
    pdl_vref v = pdl_dict_getz(message, key);
    return pdl_is_str(v) ? v : pdl_absent();
}

/* Moves the thoughts in <think>...</think> at the start of the content to the reasoning, unless the
 * service has separated them. */
static pdl_val split_thinking(pdl_val m) {
    pdl_vref content = text_of(m, "content"), other = text_of(m, "reasoning");
    if (!pdl_is_absent(text_of(m, "reasoning_content"))) return m;
    if (!pdl_is_absent(other)) return pdl_dict_putz(m, "reasoning_content", pdl_keep(other));
    if (pdl_is_absent(content)) return m;
    pdl_str s = pdl_str_get(content), open = PDL_STR("<think>"), close = PDL_STR("</think>");
    size_t end = pdl_str_starts(s, open) ? pdl_str_find(s, close, open.n) : PDL_NOT_FOUND;
    if (end == PDL_NOT_FOUND) return m;
    pdl_val thought = pdl_text(pdl_str_sub(s, open.n, end)),
            rest = pdl_text(pdl_str_sub(s, end + close.n, s.n));
    m = pdl_dict_putz(m, "reasoning_content", thought);
    return pdl_dict_putz(m, "content", rest);
}

/* Takes the arguments of the schema tool, which the model was forced to call, as the content of the
 * message. */
static pdl_val unwrap_tool(pdl_val m, bool *unwrapped) {
    pdl_vref calls = pdl_dict_getz(m, "tool_calls");
    if (!pdl_is_list(calls) || pdl_list_len(calls) == 0 || !pdl_is_dict(pdl_list_at(calls, 0)))
        return m;
    pdl_vref f = pdl_dict_getz(pdl_list_at(calls, 0), "function");
    if (!pdl_is_dict(f) || !pdl_text_is(pdl_dict_getz(f, "name"), PDL_SCHEMA_TOOL)) return m;
    if (pdl_is_absent(text_of(f, "arguments"))) return m;
    pdl_val args = pdl_keep(text_of(f, "arguments")), key = pdl_textz("tool_calls");
    m = pdl_dict_putz(m, "content", args);
    m = pdl_dict_del(m, key);
    pdl_drop(key);
    *unwrapped = true;
    return m;
}

/* Reads the content of a message as JSON, also out of a fence. Returns false when it is not JSON.
 */
static bool content_as_json(pdl_vref m, pdl_val *out) {
    pdl_vref content = text_of(m, "content");
    pdl_err ignored = {0};
    bool ok = !pdl_is_absent(content) &&
              pdl_json_read(pdl_str_trim(pdl_fence_inside(pdl_str_get(content))), PDL_JSON_PYTHON,
                            out, NULL, &ignored);
    pdl_err_fini(&ignored);
    return ok;
}

/* Replaces {"value": x} by x; other values are unchanged. */
static pdl_val unwrap_value(pdl_val m, bool parsed) {
    pdl_val v;
    pdl_err err = {0};
    if (!content_as_json(m, &v)) return m;
    pdl_vref x = pdl_is_dict(v) ? pdl_dict_getz(v, "value") : pdl_absent();
    pdl_buf text = PDL_BUF;
    if (pdl_is_str(x) && !parsed)
        pdl_buf_put(&text, pdl_str_get(x));
    else if (pdl_is_absent(x) || !pdl_json_write(x, PDL_JSON_SPACED | PDL_JSON_NAN, 0, &text, &err))
        pdl_buf_put(&text, pdl_str_get(text_of(m, "content")));
    pdl_err_fini(&err);
    pdl_drop(v);
    return pdl_dict_putz(m, "content", pdl_text_of_buf(&text));
}

/* Removes the nulls that the strict form of the schema required. */
static pdl_val without_nulls(pdl_val m, pdl_vref schema) {
    pdl_val v;
    pdl_err err = {0};
    if (!content_as_json(m, &v)) return m;
    pdl_buf text = PDL_BUF;
    v = pdl_strict_undo(v, schema);
    bool ok = pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_NAN, 0, &text, &err);
    pdl_drop(v);
    if (ok) return pdl_dict_putz(m, "content", pdl_text_of_buf(&text));
    pdl_err_fini(&err);
    pdl_buf_fini(&text);
    return m;
}

/* Returns a new id that all services accept, including services that want short ids. */
static pdl_val made_id(unsigned how) {
    pdl_val id = pdl_call_fresh_id();
    if (!(how & PDL_REPLY_SHORT_IDS)) return id;
    pdl_val out = pdl_id_short(pdl_str_get(id));
    pdl_drop(id);
    return out;
}

/* Returns the arguments of a call as a text. Some servers send an object, and some send nothing
 * when there are no arguments. */
static pdl_val tidy_arguments(pdl_vref args) {
    pdl_buf text = PDL_BUF;
    if (pdl_is_str(args) && pdl_str_trim(pdl_str_get(args)).n) return pdl_keep(args);
    if (pdl_is_dict(args)) pdl_message_text(args, &text);
    return text.len ? pdl_text_of_buf(&text) : pdl_textz("{}");
}

/* Returns the function of a call, owned; absent when it has none. Some servers write its members
 * directly into the call. */
static pdl_val function_of(pdl_vref call) {
    pdl_vref f = pdl_member(call, "function"), name = pdl_member(call, "name"),
             args = pdl_member(call, "arguments");
    if (pdl_is_dict(f)) return pdl_keep(f);
    if (!pdl_is_str(name)) return pdl_absent();
    pdl_val out = pdl_dict_putz(pdl_dict_new(2), "name", pdl_keep(name));
    return pdl_is_absent(args) ? out : pdl_dict_putz(out, "arguments", pdl_keep(args));
}

/* Returns a call as programs read it: with a type, an id, and arguments as a text. The id is a text
 * that is not in *ids. Adds the id to *ids. */
static pdl_val tidy_call(pdl_vref call, unsigned how, pdl_val *ids) {
    pdl_vref given = pdl_member(call, "id");
    if (!pdl_is_dict(call)) return pdl_keep(call);
    pdl_buf text = PDL_BUF;
    if (pdl_is(given, PDL_V_INT)) pdl_message_text(given, &text);
    pdl_val id = text.len ? pdl_text_of_buf(&text) : pdl_keep(given);
    pdl_buf_fini(&text);
    if (!pdl_is_str(id) || pdl_str_get(id).n == 0 || !pdl_is_absent(pdl_dict_find(*ids, id))) {
        pdl_drop(id);
        id = made_id(how);
    }
    *ids = pdl_dict_put(*ids, pdl_keep(id), pdl_null());
    pdl_val out = pdl_dict_putz(pdl_keep(call), "id", id);
    pdl_val f = function_of(call);
    if (pdl_is_absent(f)) return out;
    pdl_val args = tidy_arguments(pdl_member(f, "arguments"));
    out = pdl_dict_putz(out, "function", pdl_dict_putz(f, "arguments", args));
    return pdl_call_typed(out);
}

static pdl_val with_tidy_calls(pdl_val m, unsigned how) {
    pdl_vref calls = pdl_dict_getz(m, "tool_calls");
    /* some servers send a single call without [] */
    bool is_one = pdl_is_dict(calls) && pdl_dict_len(calls);
    size_t n = is_one ? 1 : pdl_is_list(calls) ? pdl_list_len(calls) : 0;
    if (n == 0) return m;
    pdl_val list = pdl_list_new(n), ids = pdl_dict_new(4);
    for (size_t i = 0; i < n; i++)
        list = pdl_list_push(list, tidy_call(is_one ? calls : pdl_list_at(calls, i), how, &ids));
    pdl_drop(ids);
    return pdl_dict_putz(m, "tool_calls", list);
}

bool pdl_reply_is_void(pdl_vref v) {
    return pdl_is_null(v) || (pdl_is_list(v) && pdl_list_len(v) == 0) ||
           (pdl_is_dict(v) && pdl_dict_len(v) == 0);
}

/* Returns true when v is a part of a message: it has a type, or it has a text and nothing else. An
 * object without a type that has more than a text, such as {text, score}, is an answer, and must be
 * kept completely. */
static bool is_part(pdl_vref v) {
    if (pdl_member_str(v, "type").n > 0) return true;
    if (!pdl_is_str(pdl_member(v, "text"))) return false;
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        bool is_text = pdl_text_is(pdl_dict_key_at(v, i), "text");
        if (!is_text && !pdl_reply_is_void(pdl_dict_val_at(v, i))) return false;
    }
    return true;
}

bool pdl_reply_content_is_parts(pdl_vref content) {
    if (pdl_is_dict(content)) return is_part(content);
    for (size_t i = 0; pdl_is_list(content) && i < pdl_list_len(content); i++) {
        pdl_vref part = pdl_list_at(content, i);
        if (!pdl_is_str(part) && !is_part(part)) return false;
    }
    return pdl_is_list(content) && pdl_list_len(content) > 0;
}

/* Replaces a content that consists of parts by the text of the parts. The thoughts and images among
 * the parts become members of the message. */
static pdl_val without_parts(pdl_val m) {
    static const char *const beside[] = {"content", "reasoning_content", "refusal", "images"};
    pdl_vref content = pdl_dict_getz(m, "content");
    pdl_reply_builder d;
    if (!pdl_reply_content_is_parts(content)) return m;
    pdl_reply_builder_init(&d);
    d.think = PDL_THINK_NONE;
    pdl_reply_builder_parts(&d, content);
    pdl_val raw = pdl_reply_builder_take(&d);
    pdl_reply_builder_fini(&d);
    pdl_vref split = pdl_member(first_choice(raw), "message");
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        pdl_vref v = pdl_member(split, beside[i]), old = pdl_dict_getz(m, beside[i]);
        bool given = i && !pdl_is_absent(old) && !pdl_is_null(old);
        if (i == 0 && pdl_is_null(v))
            m = pdl_dict_putz(m, "content", pdl_textz(""));
        else if (!pdl_is_absent(v) && !given)
            m = pdl_dict_putz(m, beside[i], pdl_keep(v));
    }
    pdl_drop(raw);
    return m;
}

/* Adds members that programs may read even when the reply has no calls, as the reference does. */
static pdl_val with_nulls(pdl_val m) {
    static const char *const names[] = {"tool_calls", "function_call"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (pdl_is_absent(pdl_dict_getz(m, names[i]))) m = pdl_dict_putz(m, names[i], pdl_null());
    return m;
}

static bool has_tools(pdl_vref m) {
    pdl_vref calls = pdl_dict_getz(m, "tool_calls");
    return pdl_is_list(calls) && pdl_list_len(calls) > 0;
}

/* the members of a message that hold an answer; the content is first, and thoughts are last */
static const char *const said_in[] = {"content", "tool_calls", "function_call",     "refusal",
                                      "audio",   "images",     "reasoning_content", "reasoning"};
enum { N_SAID_IN = sizeof said_in / sizeof said_in[0], N_THOUGHTS = 2 };

static bool says_in(pdl_vref m, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        pdl_vref v = pdl_member(m, said_in[i]);
        if (!pdl_is_absent(v) && !pdl_is_null(v) && pdl_val_truth(v)) return true;
    }
    return false;
}

/* Returns true when a message has a text, a list or an object as its content, or another answer.
 * When `thoughts` is set, a thought alone suffices. */
static bool says_something(pdl_vref m, bool thoughts) {
    return says_in(m, 0, thoughts ? N_SAID_IN : N_SAID_IN - N_THOUGHTS);
}

/* Returns true for a finish reason with which an answer may be empty: the reason is known and does
 * not say that the model called a tool. */
static bool may_be_empty(pdl_str said) {
    static const char *const calling[] = {"tool_calls", "function_call"};
    const char *reason = pdl_finish_reason(said);
    return reason && !PDL_STR_IN(pdl_str_of(reason), calling);
}

/* Refuses a reply that has no answer although its finish reason requires one (spec providers
 * 10). */
static bool check_end(pdl_vref choice, pdl_err *err) {
    pdl_str said = pdl_member_str(choice, "finish_reason"),
            why = pdl_member_str(choice, "finish_message");
    if (may_be_empty(said) || says_something(pdl_member(choice, "message"), false)) return true;
    return pdl_err_set(err, PDL_E_server, (pdl_loc){0},
                       "the model ended without an answer, with the reason %.*s%s%.*s",
                       PDL_FMT(said), why.n ? ": " : "", PDL_FMT(why));
}

pdl_str pdl_reply_odd_reason(pdl_vref raw) {
    pdl_str said = pdl_member_str(first_choice(raw), "finish_reason");
    return pdl_finish_reason(said) ? (pdl_str){0} : said;
}

pdl_str pdl_reply_cut_call(pdl_vref raw) {
    pdl_vref choice = first_choice(raw),
             calls = pdl_member(pdl_member(choice, "message"), "tool_calls");
    const char *end = pdl_finish_reason(pdl_member_str(choice, "finish_reason"));
    if (!end || strcmp(end, "length") != 0 || !pdl_is_list(calls) || !pdl_list_len(calls))
        return (pdl_str){0};
    pdl_vref f = pdl_member(pdl_list_at(calls, pdl_list_len(calls) - 1), "function");
    pdl_err err = {0};
    pdl_val args;
    bool whole = pdl_json_read(pdl_member_str(f, "arguments"), PDL_JSON_PYTHON | PDL_JSON_CONTROL,
                               &args, NULL, &err);
    if (whole)
        pdl_drop(args);
    else
        pdl_err_fini(&err);
    return whole ? (pdl_str){0} : pdl_member_str(f, "name");
}

/* finish reasons that explain why an answer has no text */
static const struct {
    const char *reason, *why;
} lacks[] = {
    {"length", "it reached the limit of tokens (length); thoughts count as tokens, so give "
               "max_tokens a larger number"},
    {"content_filter", "a filter of the service kept it back (content_filter)"},
};

bool pdl_reply_put_lack(pdl_vref raw, pdl_buf *out) {
    pdl_vref choice = first_choice(raw), m = pdl_member(choice, "message");
    pdl_str refusal = pdl_str_trim(pdl_member_str(m, "refusal"));
    const char *end = pdl_finish_reason(pdl_member_str(choice, "finish_reason"));
    if (refusal.n && !has_tools(m) && !pdl_member_str(m, "content").n) {
        pdl_buf_putf(out, "the model refused: %.*s", PDL_FMT(refusal));
        return true;
    }
    if (says_something(m, false)) return false;
    for (size_t i = 0; end && i < sizeof lacks / sizeof lacks[0]; i++)
        if (strcmp(end, lacks[i].reason) == 0) {
            pdl_buf_put(out, pdl_str_of(lacks[i].why));
            return true;
        }
    if (!says_something(m, true)) return false;
    PDL_PUT(out, "the service sent thoughts only");
    return true;
}

static bool is_cut(pdl_vref choice) {
    const char *end = pdl_finish_reason(pdl_member_str(choice, "finish_reason"));
    return !end || strcmp(end, "length") == 0 || strcmp(end, "content_filter") == 0;
}

bool pdl_reply_is_cut(pdl_vref raw) { return is_cut(first_choice(raw)); }

static pdl_val finish_choice(pdl_val choice, unsigned how, pdl_vref schema) {
    pdl_vref m0 = pdl_dict_getz(choice, "message"), said = pdl_dict_getz(choice, "finish_reason");
    pdl_val m = pdl_is_dict(m0) ? pdl_keep(m0) : pdl_dict_new(0);
    const char *known = pdl_finish_reason(pdl_is_str(said) ? pdl_str_get(said) : (pdl_str){0}),
               *reason = known ? known : "stop";
    if (!known && pdl_is_absent(pdl_dict_getz(choice, "native_finish_reason")))
        choice = pdl_dict_putz(choice, "native_finish_reason", pdl_keep(said));
    bool unwrapped = false;
    m = without_parts(m);
    if (!(how & PDL_REPLY_PLAIN)) m = split_thinking(m);
    if (how & PDL_REPLY_TOOL) m = unwrap_tool(m, &unwrapped);
    if (how & PDL_REPLY_VALUE) m = unwrap_value(m, how & PDL_REPLY_PARSED);
    if (how & PDL_REPLY_NULLS) m = without_nulls(m, schema);
    m = with_tidy_calls(m, how);
    if (has_tools(m))
        reason = "tool_calls";
    else if (unwrapped && !is_cut(choice))
        reason = "stop";
    choice = pdl_dict_putz(choice, "message", with_nulls(m));
    return pdl_dict_putz(choice, "finish_reason", pdl_textz(reason));
}

/* Returns an object with only the members `keys` and signatures of thoughts, which Google's models
 * want back. Returns any other value unchanged. */
static pdl_val only(pdl_vref v, const char *const *keys, size_t n) {
    if (!pdl_is_dict(v)) return pdl_keep(v);
    pdl_val out = pdl_dict_new(n);
    for (size_t i = 0; i < n; i++) {
        pdl_vref member = pdl_member(v, keys[i]);
        if (!pdl_is_absent(member)) out = pdl_dict_putz(out, keys[i], pdl_keep(member));
    }
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i), member = pdl_dict_val_at(v, i);
        if (pdl_message_is_mark(key, member) && pdl_is_absent(pdl_dict_find(out, key)))
            out = pdl_dict_put(out, pdl_keep(key), pdl_keep(member));
    }
    return out;
}

/* Returns the calls of a message for the background, without members that services may not know and
 * would therefore refuse. */
static pdl_val tidy_calls(pdl_vref calls) {
    static const char *const keys[] = {"id", "type", "function", "custom"};
    static const char *const inner[] = {"name", "arguments"};
    pdl_val out = pdl_list_new(pdl_list_len(calls));
    for (size_t i = 0; i < pdl_list_len(calls); i++) {
        pdl_vref call = pdl_list_at(calls, i), f = pdl_member(call, "function");
        pdl_val kept = only(call, keys, sizeof keys / sizeof keys[0]);
        if (pdl_is_dict(f))
            kept = pdl_dict_putz(kept, "function", only(f, inner, sizeof inner / sizeof inner[0]));
        out = pdl_list_push(out, kept);
    }
    return out;
}

/* Returns the message for the background: a role, a content, and members that may be sent back to a
 * service (spec providers 4.5); no nulls. */
static pdl_val tidy_message(pdl_vref m) {
    pdl_vref role = text_of(m, "role"), content = pdl_dict_getz(m, "content");
    pdl_val out = pdl_dict_putz(pdl_dict_new(4), "role",
                                pdl_is_absent(role) ? pdl_textz("assistant") : pdl_keep(role));
    bool none = pdl_is_absent(content) || pdl_is_null(content);
    out = pdl_dict_putz(out, "content", none ? pdl_textz("") : pdl_keep(content));
    for (size_t i = 0; i < pdl_dict_len(m); i++) {
        pdl_vref k = pdl_dict_key_at(m, i), v = pdl_dict_val_at(m, i);
        if (pdl_is_null(v) || pdl_text_is(k, "role") || pdl_text_is(k, "content")) continue;
        if (!pdl_is_str(k) || !pdl_message_is_reply_key(pdl_str_get(k))) continue;
        bool calls = pdl_text_is(k, "tool_calls") && pdl_is_list(v);
        out = pdl_dict_put(out, pdl_keep(k), calls ? tidy_calls(v) : pdl_keep(v));
    }
    return out;
}

/* Copies the count of tokens read from a cache to the member where OpenAI has it. Takes raw. */
static pdl_val with_cached(pdl_val raw) {
    pdl_vref usage = pdl_dict_getz(raw, "usage"), timings = pdl_dict_getz(raw, "timings");
    if (!pdl_is_dict(usage)) return raw;
    pdl_vref details = pdl_dict_getz(usage, "prompt_tokens_details"),
             n = pdl_dict_getz(usage, "prompt_cache_hit_tokens");
    if (pdl_is_dict(details) && !pdl_is_absent(pdl_dict_getz(details, "cached_tokens"))) return raw;
    if (pdl_is_absent(n) && pdl_is_dict(timings))
        n = pdl_dict_getz(timings, "cache_n"); /* the name that llama.cpp uses */
    if (!pdl_is(n, PDL_V_INT)) return raw;
    pdl_val d = pdl_dict_putz(pdl_is_dict(details) ? pdl_keep(details) : pdl_dict_new(1),
                              "cached_tokens", pdl_keep(n));
    return pdl_dict_putz(raw, "usage", pdl_dict_putz(pdl_keep(usage), "prompt_tokens_details", d));
}

/* --- checks of a reply ------------------------------------------------------------------------ */

static pdl_val message_with(pdl_vref content) {
    pdl_val out = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("assistant"));
    return pdl_dict_putz(out, "content", pdl_keep(content));
}

static bool is_empty(pdl_vref v) { return !pdl_is_str(v) || !pdl_str_get(v).n; }

/* Returns true for an object with a member that messages have, even when it is null. */
static bool is_message(pdl_vref m) {
    bool is = !pdl_is_absent(pdl_member(m, "role"));
    for (size_t i = 0; i < N_SAID_IN; i++) is |= !pdl_is_absent(pdl_member(m, said_in[i]));
    return is;
}

/* Returns the message of a choice, which some servers put into another member. The first member
 * that says something is taken, or else the first that exists. */
static pdl_val message_of(pdl_vref choice) {
    pdl_vref m = pdl_member(choice, "message"), text = pdl_member(choice, "text"),
             delta = pdl_member(choice, "delta"), inner = pdl_member(m, "text");
    if (is_empty(text)) text = pdl_member(choice, "content");
    if (is_empty(text)) text = inner;
    if (says_something(m, true)) return pdl_keep(m);
    if (says_something(delta, true)) return pdl_keep(delta);
    bool fails = pdl_is_str(m) && pdl_peer_is_failure(choice); /* {code: 500, message: ".."} */
    if (pdl_is_str(m) && pdl_val_truth(m) && !fails) return message_with(m);
    if (pdl_is_str(text) && pdl_val_truth(text)) return message_with(text);
    if (fails) return pdl_absent();
    if (is_message(m)) return pdl_keep(m);
    if (is_message(delta)) return pdl_keep(delta);
    return pdl_is_str(text) ? message_with(text) : pdl_is_str(m) ? message_with(m) : pdl_absent();
}

/* Returns true when a content consists of parts and none of the parts can be read. */
static bool is_unread(pdl_vref content) {
    pdl_reply_builder d;
    if (!pdl_reply_content_is_parts(content)) return false;
    pdl_reply_builder_init(&d);
    pdl_reply_builder_parts(&d, content);
    bool is = pdl_reply_builder_is_unread(&d);
    pdl_reply_builder_fini(&d);
    return is;
}

static bool check_message(pdl_vref choice, pdl_vref m, pdl_err *err) {
    if (pdl_is_absent(m))
        return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "the answer has no message");
    if (!says_in(m, 1, N_SAID_IN) && !is_cut(choice) && is_unread(pdl_member(m, "content")))
        return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                           "the answer has no text that can be read");
    return pdl_member_str(choice, "finish_reason").n || says_something(m, true) ||
           pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                       "the answer is empty and does not say that the model ended");
}

bool pdl_reply_check(pdl_val *raw, pdl_err *err) {
    pdl_vref first = first_choice(*raw);
    if (!pdl_is_dict(first))
        return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "the answer has no choices");
    pdl_val m = message_of(first);
    bool ok = check_message(first, m, err);
    pdl_drop(m);
    if (!ok) return false;
    pdl_val choices = pdl_keep(pdl_member(*raw, "choices"));
    for (size_t i = 0; i < pdl_list_len(choices); i++) {
        pdl_vref c = pdl_list_at(choices, i);
        pdl_val own = message_of(c);
        if (pdl_is_absent(own) || says_something(pdl_member(c, "message"), true))
            pdl_drop(own);
        else
            choices = pdl_list_set(choices, i, pdl_dict_putz(pdl_keep(c), "message", own));
    }
    *raw = pdl_dict_putz(*raw, "choices", choices);
    return true;
}

bool pdl_reply_is_empty(pdl_vref raw) {
    return !says_something(pdl_member(first_choice(raw), "message"), true);
}

/* --- every reply ------------------------------------------------------------------------------ */

bool pdl_reply_finish(pdl_val raw, unsigned how, pdl_vref schema, pdl_val *out, pdl_err *err) {
    if (!check_end(first_choice(raw), err)) {
        pdl_drop(raw);
        return false;
    }
    pdl_vref choices0 = pdl_is_dict(raw) ? pdl_dict_getz(raw, "choices") : pdl_absent();
    if (!pdl_is_list(choices0) || pdl_list_len(choices0) == 0 ||
        !pdl_is_dict(pdl_list_at(choices0, 0))) {
        pdl_drop(raw);
        return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "the answer has no choices");
    }
    pdl_val choices = pdl_list_new(pdl_list_len(choices0));
    for (size_t i = 0; i < pdl_list_len(choices0); i++) {
        pdl_vref c = pdl_list_at(choices0, i);
        choices = pdl_list_push(choices, pdl_is_dict(c) ? finish_choice(pdl_keep(c), how, schema)
                                                        : pdl_keep(c));
    }
    raw = with_cached(raw);
    pdl_val message = tidy_message(pdl_dict_getz(pdl_list_at(choices, 0), "message"));
    pdl_vref content = pdl_dict_getz(message, "content"), usage = pdl_dict_getz(raw, "usage");
    pdl_val reply = pdl_dict_putz(pdl_dict_new(4), "content", pdl_keep(content));
    reply = pdl_dict_putz(reply, "message", message);
    reply =
        pdl_dict_putz(reply, "usage", pdl_is_dict(usage) ? pdl_usage_checked(usage) : pdl_null());
    *out = pdl_dict_putz(reply, "raw", pdl_dict_putz(raw, "choices", choices));
    return true;
}
