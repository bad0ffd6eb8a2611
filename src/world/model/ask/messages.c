/* messages.c -- rewrites the background messages of a program into what a service accepts.
 * Services refuse members that they do not know, so a message is rebuilt without them; one that
 * needs no change is shared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/messages.h"

#include "base/word_list.h"
#include "model/providers.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

bool pdl_message_is_parts(pdl_vref content) {
    if (!pdl_is_list(content) || pdl_list_len(content) == 0) return false;
    for (size_t i = 0; i < pdl_list_len(content); i++) {
        pdl_vref part = pdl_list_at(content, i);
        if (!pdl_is_dict(part) || !pdl_is_str(pdl_dict_getz(part, "type"))) return false;
    }
    return true;
}

/* Appends the JSON of v. A value that JSON does not have (a date, an object of Python) is written
 * as its text. The text has quotes inside a list, and no quotes at the top. A context is written as
 * the list of its messages. */
static void put_json(pdl_vref v, pdl_buf *out) {
    const int flags = PDL_JSON_LOOSE | PDL_JSON_NAN | PDL_JSON_SPACED | PDL_JSON_CONTEXT;
    pdl_err err = {0};
    size_t len = out->len;
    bool ok = pdl_json_write(v, flags, 0, out, &err);
    if (ok && out->len > len && out->p[len] == '"') {
        pdl_buf_cut(out, len);
        ok = pdl_val_str(v, out, &err);
    }
    if (ok) return;
    pdl_err_fini(&err); /* no service can read a value that is too deep for this function */
    pdl_buf_cut(out, len);
}

void pdl_message_text(pdl_vref content, pdl_buf *out) {
    if (pdl_is_absent(content) || pdl_is_null(content)) return;
    if (pdl_is_str(content)) {
        pdl_buf_put(out, pdl_str_get(content));
    } else if (pdl_message_is_parts(content)) {
        for (size_t i = 0; i < pdl_list_len(content); i++) {
            pdl_vref text = pdl_dict_getz(pdl_list_at(content, i), "text");
            if (pdl_is_str(text)) pdl_buf_put(out, pdl_str_get(text));
        }
    } else {
        put_json(content, out);
    }
}

pdl_str pdl_message_role(pdl_vref message) {
    pdl_vref role = pdl_is_dict(message) ? pdl_dict_getz(message, "role") : pdl_absent();
    return pdl_is_str(role) ? pdl_str_get(role) : (pdl_str){0};
}

/* --- chat ------------------------------------------------------------------------------------- */

/* The service's requirements for messages. */
typedef struct wish {
    unsigned quirks;
    unsigned traits; /* PDL_TRAIT_... */
    /* index of the message after the last message of the user; there a loop of tool calls begins */
    size_t loop;
} wish;

/* The members that replies bring besides text and calls (spec providers 4.5), and the services
 * that accept them in a later request. Services refuse members that they do not know, and a
 * conversation may continue with another service. No service takes thinking_blocks and
 * thought_signatures here, because their dialects send these two back themselves. */
static const struct {
    const char *key;
    unsigned takers; /* quirks of the services that accept the member */
    bool in_loop;    /* the member is sent only within a loop of tool calls */
} reply_keys[] = {
    {"reasoning_content", PDL_Q_TAKES_THOUGHTS, true},
    {"refusal", PDL_Q_TAKES_REFUSALS, false},
    {"audio", PDL_Q_TAKES_REFUSALS, false},
    {"reasoning", 0, false},
    {"reasoning_details", PDL_Q_TAKES_DETAILS, false},
    {"thinking_blocks", 0, false},
    {"thought_signatures", 0, false},
    {"annotations", 0, false},
    {"images", 0, false},
    {"provider_specific_fields", 0, false},
    {"citations", 0, false},
    {"search_results", 0, false},
    {"executed_tools", 0, false},
    {"tool_plan", 0, false},
    {"parsed", 0, false},
    {"thinking", 0, false},
};

static size_t find_reply_key(pdl_str key) {
    size_t i = 0;
    while (i < sizeof reply_keys / sizeof reply_keys[0] && !pdl_str_is(key, reply_keys[i].key)) i++;
    return i;
}

bool pdl_message_is_reply_key(pdl_str key) {
    static const char *const own[] = {"role", "content", "name", "tool_calls", "function_call"};
    if (PDL_STR_IN(key, own)) return true;
    return find_reply_key(key) < sizeof reply_keys / sizeof reply_keys[0];
}

static bool is_empty(pdl_vref v) {
    return pdl_is_null(v) || (pdl_is_list(v) && pdl_list_len(v) == 0);
}

/* Returns true when this member of the assistant message at index i is sent back to the service. */
static bool goes_back(pdl_vref key, pdl_vref v, size_t i, const wish *w) {
    size_t k = find_reply_key(pdl_str_get(key));
    if (pdl_text_is(key, "tool_calls") || pdl_text_is(key, "function_call")) return !is_empty(v);
    if (k == sizeof reply_keys / sizeof reply_keys[0]) return true;
    return !pdl_is_null(v) && reply_keys[k].takers & w->quirks &&
           (!reply_keys[k].in_loop || i >= w->loop);
}

bool pdl_message_is_mark(pdl_vref key, pdl_vref v) {
    static const char name[] = "thought_signature";
    return pdl_text_is(key, "extra_content") || pdl_text_is(key, name) ||
           !pdl_is_absent(pdl_member(v, name));
}

/* Returns true for a member that replies bring inside of a call or of its function, and that is not
 * sent back. The signature of a thought is sent back to services that may have Google's models. */
static bool is_brought_by_call(pdl_vref key, pdl_vref v, const wish *w) {
    static const char *const keys[] = {
        "index",  "provider_specific_fields", "extra_content", "thought_signature",
        "caller", "parsed_arguments",         "output"};
    bool is_known = pdl_is_str(key) && PDL_STR_IN(pdl_str_get(key), keys);
    return is_known && !(w->traits & PDL_TRAIT_GOOGLE && pdl_message_is_mark(key, v));
}

/* Returns v without the members for which is_brought_by_call returns true. */
static pdl_val without_brought(pdl_vref v, const wish *w) {
    pdl_val out = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i), inner = pdl_dict_val_at(v, i);
        bool is_function = pdl_text_is(key, "function") && pdl_is_dict(inner);
        if (is_brought_by_call(key, inner, w)) continue;
        out = pdl_dict_put(out, pdl_keep(key),
                           is_function ? without_brought(inner, w) : pdl_keep(inner));
    }
    return out;
}

static pdl_val calls_of(pdl_vref calls, const wish *w) {
    pdl_val out = pdl_list_new(pdl_list_len(calls));
    for (size_t i = 0; i < pdl_list_len(calls); i++) {
        pdl_vref call = pdl_list_at(calls, i);
        out = pdl_list_push(out, pdl_is_dict(call) ? without_brought(call, w) : pdl_keep(call));
    }
    return out;
}

static bool has_brought(pdl_vref v, const wish *w) {
    for (size_t i = 0; pdl_is_dict(v) && i < pdl_dict_len(v); i++)
        if (is_brought_by_call(pdl_dict_key_at(v, i), pdl_dict_val_at(v, i), w)) return true;
    return false;
}

/* Returns true when calls are sent as they are. */
static bool calls_fit(pdl_vref calls, const wish *w) {
    for (size_t i = 0; pdl_is_list(calls) && i < pdl_list_len(calls); i++) {
        pdl_vref call = pdl_list_at(calls, i);
        if (has_brought(call, w)) return false;
        if (pdl_is_dict(call) && has_brought(pdl_dict_getz(call, "function"), w)) return false;
    }
    return true;
}

/* Returns true for audio that the service made: only the id of such audio is sent. */
static bool is_audio(pdl_vref key, pdl_vref v) {
    return pdl_text_is(key, "audio") && pdl_is_dict(v) && pdl_dict_len(v) > 1 &&
           !pdl_is_absent(pdl_dict_getz(v, "id"));
}

static bool all_go_back(pdl_vref m, size_t i, const wish *w) {
    if (!pdl_str_is(pdl_message_role(m), "assistant")) return true;
    for (size_t k = 0; k < pdl_dict_len(m); k++) {
        pdl_vref key = pdl_dict_key_at(m, k), v = pdl_dict_val_at(m, k);
        if (!pdl_is_str(key)) continue;
        if (!goes_back(key, v, i, w) || is_audio(key, v)) return false;
        if (pdl_text_is(key, "tool_calls") && !calls_fit(v, w)) return false;
    }
    return true;
}

/* Returns true for a part {image_url: text}. Services do not accept this form, so the part is
 * rewritten to {image_url: {url: text}}. */
static bool is_short_image(pdl_vref part) {
    return pdl_text_is(pdl_dict_getz(part, "type"), "image_url") &&
           pdl_is_str(pdl_dict_getz(part, "image_url"));
}

static bool content_fits(pdl_vref c, const wish *w) {
    if (pdl_is_str(c) || pdl_is_absent(c)) return true;
    if (w->quirks & PDL_Q_FLAT || !pdl_message_is_parts(c)) return false;
    for (size_t i = 0; i < pdl_list_len(c); i++)
        if (is_short_image(pdl_list_at(c, i))) return false;
    return true;
}

static bool fits(pdl_vref m, size_t i, const wish *w) {
    bool named = !pdl_is_absent(pdl_dict_getz(m, "name"));
    pdl_str role = pdl_message_role(m);
    if (!pdl_is_absent(pdl_dict_getz(m, "pdl__defsite"))) return false;
    if (named && w->quirks & PDL_Q_NO_NAME && !pdl_str_is(role, "tool")) return false;
    if (!(w->traits & PDL_TRAIT_DEVELOPER) && pdl_str_is(role, "developer")) return false;
    if (!all_go_back(m, i, w)) return false;
    return content_fits(pdl_dict_getz(m, "content"), w);
}

static pdl_val content_of(pdl_vref c, const wish *w) {
    if (content_fits(c, w)) return pdl_keep(c);
    if (w->quirks & PDL_Q_FLAT || !pdl_message_is_parts(c)) {
        pdl_buf text = PDL_BUF;
        pdl_message_text(c, &text);
        return pdl_text_of_buf(&text);
    }
    pdl_val list = pdl_list_new(pdl_list_len(c));
    for (size_t i = 0; i < pdl_list_len(c); i++) {
        pdl_val part = pdl_keep(pdl_list_at(c, i));
        if (is_short_image(part)) {
            pdl_val image =
                pdl_dict_putz(pdl_dict_new(1), "url", pdl_keep(pdl_dict_getz(part, "image_url")));
            part = pdl_dict_putz(part, "image_url", image);
        }
        list = pdl_list_push(list, part);
    }
    return list;
}

static pdl_val member_of(pdl_vref k, pdl_vref v, bool renamed, const wish *w) {
    if (renamed) return pdl_textz("system");
    if (pdl_text_is(k, "content")) return content_of(v, w);
    if (pdl_text_is(k, "tool_calls") && !calls_fit(v, w)) return calls_of(v, w);
    if (is_audio(k, v))
        return pdl_dict_putz(pdl_dict_new(1), "id", pdl_keep(pdl_dict_getz(v, "id")));
    return pdl_keep(v);
}

static pdl_val changed(pdl_vref m, size_t place, const wish *w) {
    pdl_val out = pdl_dict_new(pdl_dict_len(m));
    pdl_str role = pdl_message_role(m);
    bool no_name = w->quirks & PDL_Q_NO_NAME && !pdl_str_is(role, "tool"),
         answer = pdl_str_is(role, "assistant");
    for (size_t i = 0; i < pdl_dict_len(m); i++) {
        pdl_vref k = pdl_dict_key_at(m, i), v = pdl_dict_val_at(m, i);
        if (pdl_text_is(k, "pdl__defsite") || (no_name && pdl_text_is(k, "name")) ||
            (pdl_text_is(k, "content") && pdl_is_null(v)))
            continue;
        if (answer && pdl_is_str(k) && !goes_back(k, v, place, w)) continue;
        bool renamed = pdl_text_is(k, "role") && !(w->traits & PDL_TRAIT_DEVELOPER) &&
                       pdl_str_is(role, "developer");
        out = pdl_dict_put(out, pdl_keep(k), member_of(k, v, renamed, w));
    }
    return out;
}

pdl_val pdl_messages_chat(pdl_vref messages, unsigned quirks, unsigned traits) {
    wish w = {quirks, traits, 0};
    size_t n = pdl_is_list(messages) ? pdl_list_len(messages) : 0, i = 0;
    for (w.loop = n; w.loop > 0; w.loop--)
        if (pdl_str_is(pdl_message_role(pdl_list_at(messages, w.loop - 1)), "user")) break;
    while (i < n && pdl_is_dict(pdl_list_at(messages, i)) && fits(pdl_list_at(messages, i), i, &w))
        i++;
    if (i == n && pdl_is_list(messages)) return pdl_keep(messages);
    pdl_val out = pdl_list_new(n);
    for (i = 0; i < n; i++) {
        pdl_vref m = pdl_list_at(messages, i);
        bool same = !pdl_is_dict(m) || fits(m, i, &w);
        out = pdl_list_push(out, same ? pdl_keep(m) : changed(m, i, &w));
    }
    return out;
}

/* --- images ----------------------------------------------------------------------------------- */

pdl_val pdl_message_images(pdl_vref content, pdl_val list) {
    if (!pdl_message_is_parts(content)) return list;
    for (size_t i = 0; i < pdl_list_len(content); i++) {
        pdl_vref part = pdl_list_at(content, i), image = pdl_dict_getz(part, "image_url");
        pdl_vref url = pdl_is_dict(image) ? pdl_dict_getz(image, "url") : image;
        if (!pdl_text_is(pdl_dict_getz(part, "type"), "image_url") || !pdl_is_str(url)) continue;
        pdl_str s = pdl_str_get(url);
        size_t at = pdl_str_starts(s, PDL_STR("data:")) ? pdl_str_find(s, PDL_STR("base64,"), 0)
                                                        : PDL_NOT_FOUND;
        list = pdl_list_push(list, pdl_text(at == PDL_NOT_FOUND ? s : pdl_str_sub(s, at + 7, s.n)));
    }
    return list;
}

/* --- text prompt by template ------------------------------------------------------------------ */

static void put_text(pdl_vref dict, const char *key, pdl_buf *out) {
    pdl_vref v = pdl_is_dict(dict) ? pdl_dict_getz(dict, key) : pdl_absent();
    if (pdl_is_str(v)) pdl_buf_put(out, pdl_str_get(v));
}

void pdl_messages_by_roles(pdl_vref messages, pdl_vref params, pdl_buf *out) {
    pdl_vref roles = pdl_dict_getz(params, "roles");
    bool after_assistant = false;
    put_text(params, "bos_token", out);
    put_text(params, "initial_prompt_value", out);
    for (size_t i = 0; i < pdl_list_len(messages); i++) {
        pdl_vref m = pdl_list_at(messages, i);
        pdl_str role = pdl_message_role(m);
        bool opens = pdl_str_is(role, "system") || pdl_str_is(role, "human");
        pdl_vref form = pdl_is_dict(roles) ? pdl_dict_gets(roles, role) : pdl_absent();
        if (!pdl_is_dict(m)) continue;
        if (opens && after_assistant) put_text(params, "bos_token", out);
        put_text(form, "pre_message", out);
        pdl_message_text(pdl_dict_getz(m, "content"), out);
        put_text(form, "post_message", out);
        after_assistant = pdl_str_is(role, "assistant");
        if (after_assistant) put_text(params, "eos_token", out);
    }
    put_text(params, "final_prompt_value", out);
}

/* --- the order of messages -------------------------------------------------------------------- */

pdl_val pdl_messages_bridged(pdl_val messages) {
    size_t n = pdl_list_len(messages);
    pdl_val out = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) {
        pdl_vref m = pdl_list_at(messages, i);
        bool follows = i && pdl_str_is(pdl_message_role(pdl_list_at(messages, i - 1)), "tool");
        if (follows && pdl_str_is(pdl_message_role(m), "user")) {
            pdl_val bridge = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("assistant"));
            out = pdl_list_push(out, pdl_dict_putz(bridge, "content", pdl_textz("OK.")));
        }
        bool last = i + 1 == n && pdl_str_is(pdl_message_role(m), "assistant") &&
                    pdl_is_absent(pdl_member(m, "prefix"));
        out = pdl_list_push(out, last ? pdl_dict_putz(pdl_keep(m), "prefix", pdl_bool(true))
                                      : pdl_keep(m));
    }
    pdl_drop(messages);
    return out;
}
