/* response_input.c -- turns a request for a response into a chat: input items become messages, and
 * the other fields get their names in a chat, so that a program need not know in which form the
 * request was sent. The messages of the conversation that the request continues
 * (previous_response_id) come first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/response.h"
#include "serve/stored_responses.h"
#include "value/int.h"

#include "base/banned.h"

/* --- contents --------------------------------------------------------------------------------- */

static pdl_vref at(pdl_vref d, const char *key) {
    return pdl_is_dict(d) ? pdl_dict_getz(d, key) : pdl_absent();
}

static bool is_given(pdl_vref v) { return !pdl_is_absent(v) && !pdl_is_null(v); }

static bool is_text_part(pdl_vref part) {
    pdl_vref type = at(part, "type");
    return (pdl_text_is(type, "input_text") || pdl_text_is(type, "output_text") ||
            pdl_text_is(type, "text")) &&
           pdl_is_str(at(part, "text"));
}

static pdl_val image_part(pdl_vref part) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "url", pdl_keep(at(part, "image_url")));
    if (is_given(at(part, "detail"))) d = pdl_dict_putz(d, "detail", pdl_keep(at(part, "detail")));
    return pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("image_url")),
                         "image_url", d);
}

static pdl_val file_part(pdl_vref part) {
    static const char *const names[] = {"file_id", "filename", "file_data", "file_url"};
    pdl_val d = pdl_dict_new(2);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_given(at(part, names[i])))
            d = pdl_dict_putz(d, names[i], pdl_keep(at(part, names[i])));
    return pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("file")), "file", d);
}

/* Returns a part in the form that a chat has. Parts that are equal in both forms do not change. */
static pdl_val part_of(pdl_vref part) {
    pdl_vref type = at(part, "type");
    if (is_text_part(part)) {
        pdl_val d = pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("text"));
        return pdl_dict_putz(d, "text", pdl_keep(at(part, "text")));
    }
    if (pdl_text_is(type, "input_image") && pdl_is_str(at(part, "image_url")))
        return image_part(part);
    if (pdl_text_is(type, "input_file")) return file_part(part);
    return pdl_keep(part);
}

/* Returns a text, or a list of parts. A list that contains only texts becomes one text. */
static pdl_val content_of(pdl_vref content) {
    if (!pdl_is_list(content)) return pdl_keep(content);
    size_t n = pdl_list_len(content), texts = 0;
    while (texts < n && is_text_part(pdl_list_at(content, texts))) texts++;
    if (texts == n) {
        pdl_buf b = PDL_BUF;
        for (size_t i = 0; i < n; i++)
            pdl_buf_put(&b, pdl_str_get(at(pdl_list_at(content, i), "text")));
        return pdl_text_of_buf(&b);
    }
    pdl_val list = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) list = pdl_list_push(list, part_of(pdl_list_at(content, i)));
    return list;
}

/* --- items ------------------------------------------------------------------------------------ */

static pdl_val new_message(const char *role, pdl_val content) {
    return pdl_dict_putz(pdl_dict_putz(pdl_dict_new(3), "role", pdl_textz(role)), "content",
                         content);
}

static pdl_val call_of(pdl_vref item) {
    pdl_val f = pdl_dict_putz(pdl_dict_new(2), "name", pdl_keep(at(item, "name")));
    f = pdl_dict_putz(f, "arguments", pdl_keep(at(item, "arguments")));
    pdl_val c = pdl_dict_putz(pdl_dict_new(3), "id", pdl_keep(at(item, "call_id")));
    c = pdl_dict_putz(c, "type", pdl_textz("function"));
    return pdl_dict_putz(c, "function", f);
}

/* Adds a call. Calls of one turn are in one message, with the text before them. Takes messages. */
static pdl_val add_call(pdl_val messages, pdl_vref item) {
    size_t n = pdl_list_len(messages);
    pdl_vref last = n ? pdl_list_at(messages, n - 1) : pdl_absent();
    bool joins = pdl_text_is(at(last, "role"), "assistant");
    pdl_val m = joins ? pdl_keep(last) : new_message("assistant", pdl_null());
    pdl_vref before = at(m, "tool_calls");
    pdl_val calls =
        pdl_list_push(pdl_is_list(before) ? pdl_keep(before) : pdl_list_new(1), call_of(item));
    m = pdl_dict_putz(m, "tool_calls", calls);
    return joins ? pdl_list_set(messages, n - 1, m) : pdl_list_push(messages, m);
}

static bool is_call(pdl_vref item) {
    return pdl_is_str(at(item, "call_id")) && pdl_is_str(at(item, "name")) &&
           pdl_is_str(at(item, "arguments"));
}

static bool wrong_item(pdl_exchange *x, size_t i, const char *why) {
    pdl_buf b = PDL_BUF, param = PDL_BUF;
    pdl_buf_putf(&param, "input[%zu]", i);
    pdl_buf_putf(&b, "Invalid '%s': %s", pdl_buf_z(&param), why);
    pdl_serve_answer_wrong(x, pdl_buf_z(&param), "invalid_value", pdl_buf_str(&b));
    pdl_buf_fini(&b);
    pdl_buf_fini(&param);
    return false;
}

static bool add_item(pdl_exchange *x, pdl_val *messages, pdl_vref item, size_t i) {
    pdl_vref type = at(item, "type");
    if (!pdl_is_dict(item)) return wrong_item(x, i, "expected an object");
    if (pdl_text_is(type, "reasoning")) return true; /* thoughts are not sent to models again */
    if (pdl_text_is(type, "function_call")) {
        if (!is_call(item))
            return wrong_item(x, i,
                              "a function_call has call_id, name and arguments, which are strings");
        *messages = add_call(*messages, item);
        return true;
    }
    if (pdl_text_is(type, "function_call_output")) {
        if (!pdl_is_str(at(item, "call_id")))
            return wrong_item(x, i, "a function_call_output has a call_id");
        pdl_val m = new_message("tool", content_of(at(item, "output")));
        *messages = pdl_list_push(*messages,
                                  pdl_dict_putz(m, "tool_call_id", pdl_keep(at(item, "call_id"))));
        return true;
    }
    if (!pdl_is_str(at(item, "role")) || (is_given(type) && !pdl_text_is(type, "message")))
        return wrong_item(x, i,
                          "items are messages, function_call, function_call_output or reasoning");
    pdl_val m = pdl_dict_putz(pdl_dict_new(2), "role", pdl_keep(at(item, "role")));
    pdl_vref content = at(item, "content");
    *messages = pdl_list_push(
        *messages,
        pdl_dict_putz(m, "content", is_given(content) ? content_of(content) : pdl_textz("")));
    return true;
}

static bool add_input(pdl_exchange *x, pdl_val *messages, pdl_vref input) {
    if (pdl_is_str(input)) {
        *messages = pdl_list_push(*messages, new_message("user", pdl_keep(input)));
        return true;
    }
    if (!pdl_is_list(input)) {
        pdl_serve_answer_wrong(x, "input", "invalid_type",
                               PDL_STR("input should be a string or an array of items"));
        return false;
    }
    for (size_t i = 0; i < pdl_list_len(input); i++)
        if (!add_item(x, messages, pdl_list_at(input, i), i)) return false;
    return true;
}

/* --- other fields ----------------------------------------------------------------------------- */

/* Turns {type: function, name, ...} into {type: function, function: {name, ...}}; other kinds of
 * tools do not change. */
static pdl_val tool_of(pdl_vref tool) {
    static const char *const names[] = {"name", "description", "parameters", "strict"};
    if (!pdl_text_is(at(tool, "type"), "function") || pdl_is_dict(at(tool, "function")))
        return pdl_keep(tool);
    pdl_val f = pdl_dict_new(4);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_given(at(tool, names[i])))
            f = pdl_dict_putz(f, names[i], pdl_keep(at(tool, names[i])));
    return pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("function")), "function",
                         f);
}

static pdl_val tools_of(pdl_vref tools) {
    if (!pdl_is_list(tools)) return pdl_keep(tools);
    pdl_val list = pdl_list_new(pdl_list_len(tools));
    for (size_t i = 0; i < pdl_list_len(tools); i++)
        list = pdl_list_push(list, tool_of(pdl_list_at(tools, i)));
    return list;
}

/* Returns the format of the text as response_format; absent when the text has no special format. */
static pdl_val format_of(pdl_vref text) {
    static const char *const names[] = {"name", "description", "schema", "strict"};
    pdl_vref format = at(text, "format");
    if (!pdl_is_dict(format) || pdl_text_is(at(format, "type"), "text")) return pdl_absent();
    if (!pdl_text_is(at(format, "type"), "json_schema")) return pdl_keep(format);
    pdl_val schema = pdl_dict_new(4);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_given(at(format, names[i])))
            schema = pdl_dict_putz(schema, names[i], pdl_keep(at(format, names[i])));
    return pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("json_schema")),
                         "json_schema", schema);
}

static pdl_val choice_of(pdl_vref v) { return pdl_is_dict(v) ? tool_of(v) : pdl_keep(v); }
static pdl_val same(pdl_vref v) { return pdl_keep(v); }
static pdl_val effort_of(pdl_vref v) {
    return is_given(at(v, "effort")) ? pdl_keep(at(v, "effort")) : pdl_absent();
}
static pdl_val nothing(pdl_vref v) {
    (void)v;
    return pdl_absent();
}

static const struct {
    const char *name, *in_chat;
    pdl_val (*value)(pdl_vref v); /* result is owned; absent when the field is left out */
} renamed[] = {
    {"max_output_tokens", "max_completion_tokens", same},
    {"tools", "tools", tools_of},
    {"tool_choice", "tool_choice", choice_of},
    {"text", "response_format", format_of},
    {"reasoning", "reasoning_effort", effort_of},
    {"input", NULL, nothing},
    {"instructions", NULL, nothing},
    {"previous_response_id", NULL, nothing},
    {"include", NULL, nothing},
    {"store", NULL, nothing},
    {"truncation", NULL, nothing},
    {"n", NULL, nothing},
};

static pdl_val put_field(pdl_val d, pdl_vref key, pdl_vref v) {
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++) {
        if (!pdl_text_is(key, renamed[i].name)) continue;
        pdl_val now = is_given(v) ? renamed[i].value(v) : pdl_absent();
        return pdl_is_absent(now) ? d : pdl_dict_putz(d, renamed[i].in_chat, now);
    }
    return pdl_dict_put(d, pdl_keep(key), pdl_keep(v));
}

static pdl_val other_fields(pdl_vref body) {
    int64_t n;
    pdl_val d = pdl_dict_new(pdl_dict_len(body));
    for (size_t i = 0; i < pdl_dict_len(body); i++)
        d = put_field(d, pdl_dict_key_at(body, i), pdl_dict_val_at(body, i));
    pdl_vref top = at(body, "top_logprobs");
    bool wants = pdl_is_int(top) && pdl_int_get(top, &n) && n > 0;
    return wants ? pdl_dict_putz(d, "logprobs", pdl_bool(true)) : d;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Adds the earlier messages of the conversation. When these messages are not stored, answers the
 * request and returns false. */
static bool add_before(pdl_serve *s, pdl_exchange *x, pdl_val *messages, pdl_vref id) {
    enum { SHOWN = 60 };
    if (!is_given(id)) return true;
    pdl_vref before = pdl_is_str(id)
                          ? pdl_serve_conversations_messages(s->conversations, pdl_str_get(id))
                          : pdl_absent();
    if (pdl_is_list(before)) {
        *messages = pdl_list_concat(*messages, before);
        return true;
    }
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "Previous response with id '%.*s' not found.",
                 PDL_FMT(pdl_str_sub(pdl_is_str(id) ? pdl_str_get(id) : PDL_STR("?"), 0, SHOWN)));
    pdl_serve_answer_wrong(x, "previous_response_id", "previous_response_not_found",
                           pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return false;
}

bool pdl_serve_response_read(pdl_serve *s, pdl_exchange *x, pdl_vref body, pdl_val *asked) {
    pdl_vref instructions = at(body, "instructions");
    pdl_val messages = pdl_list_new(2);
    if (pdl_is_str(instructions))
        messages = pdl_list_push(messages, new_message("system", pdl_keep(instructions)));
    if (!add_before(s, x, &messages, at(body, "previous_response_id")) ||
        !add_input(x, &messages, at(body, "input"))) {
        pdl_drop(messages);
        return false;
    }
    *asked = pdl_dict_putz(other_fields(body), "messages", messages);
    return true;
}
