/* dialect_ollama.c -- the native interface of Ollama: /api/chat and /api/generate (spec providers
 * 11). /api/chat takes messages. /api/generate takes one prompt, so messages are written as a text
 * there, and calls of tools are emulated: an instruction asks for a JSON object, which is read from
 * the answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/num.h"
#include "base/word_list.h"
#include "model/ask/endpoint.h"
#include "model/ask/messages.h"
#include "model/ask/params.h"
#include "model/ask/structured.h"
#include "model/wire/message_parts.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

/* --- parameters ------------------------------------------------------------------------------- */

typedef struct ollama_writer {
    pdl_ask *ask;
    bool generate;
    pdl_val body, options;
    pdl_unsupported unsupported;
} writer;

static void put(writer *w, const char *key, pdl_val v) { w->body = pdl_dict_putz(w->body, key, v); }

static void put_format(writer *w, pdl_vref v) {
    pdl_vref schema = pdl_structured_schema(v);
    if (!pdl_is_absent(schema))
        put(w, "format", pdl_keep(schema));
    else if (pdl_is_dict(v) && pdl_text_is(pdl_dict_getz(v, "type"), "json_object"))
        put(w, "format", pdl_textz("json"));
}

static void put_effort(writer *w, pdl_vref v) {
    bool on = pdl_text_is(v, "low") || pdl_text_is(v, "medium") || pdl_text_is(v, "high");
    put(w, "think", pdl_str_starts(w->ask->name, PDL_STR("gpt-oss")) ? pdl_keep(v) : pdl_bool(on));
}

/* Returns true for fields of /api/generate that are written beside the prompt. */
static bool is_generate_field(pdl_str k) {
    static const char *const fields[] = {"raw", "system", "template", "suffix", "context"};
    return PDL_STR_IN(k, fields);
}

/* Writes a parameter that a column of params.def cannot describe. */
static void put_own(writer *w, pdl_str k, pdl_vref v) {
    if (pdl_str_is(k, "response_format")) {
        put_format(w, v);
    } else if (pdl_str_is(k, "reasoning_effort")) {
        put_effort(w, v);
    } else if (pdl_str_is(k, "tools")) {
        if (!w->generate) put(w, "tools", pdl_keep(v));
    } else if (pdl_str_is(k, "frequency_penalty")) {
        const char *name = w->generate ? "frequency_penalty" : "repeat_penalty";
        if (pdl_is_absent(pdl_dict_getz(w->ask->params, name)) || w->generate)
            w->options = pdl_dict_putz(w->options, name, pdl_keep(v));
    }
}

static void put_param(writer *w, pdl_vref key, pdl_vref v) {
    pdl_str k = pdl_str_get(key);
    const pdl_param *p = pdl_param_find(k);
    pdl_param_ollama where = p ? p->ollama : PDL_OLLAMA_OPT;
    if (pdl_str_is(k, "extra_body") || pdl_str_is(k, "stream_options")) return;
    if (w->generate && is_generate_field(k)) where = PDL_OLLAMA_TOP;
    if (where == PDL_OLLAMA_NO && pdl_params_allowed(w->ask->given, k)) where = PDL_OLLAMA_OPT;
    switch (where) {
    case PDL_OLLAMA_OPT: w->options = pdl_dict_put(w->options, pdl_keep(key), pdl_keep(v)); return;
    case PDL_OLLAMA_PREDICT:
        w->options = pdl_dict_putz(w->options, "num_predict", pdl_keep(v));
        return;
    case PDL_OLLAMA_NO: pdl_unsupported_add(&w->unsupported, k); return;
    case PDL_OLLAMA_SKIP: return;
    case PDL_OLLAMA_TOP: w->body = pdl_dict_put(w->body, pdl_keep(key), pdl_keep(v)); return;
    case PDL_OLLAMA_OWN: put_own(w, k, v); return;
    }
}

/* Writes everything after messages or prompt. Takes the content of w. */
static bool put_params(writer *w, pdl_val *body, pdl_err *err) {
    pdl_ask *a = w->ask;
    pdl_vref extra = pdl_dict_getz(a->params, "extra_body");
    for (size_t i = 0; i < pdl_dict_len(a->params); i++)
        put_param(w, pdl_dict_key_at(a->params, i), pdl_dict_val_at(a->params, i));
    if (!pdl_unsupported_end(&w->unsupported, a, err)) {
        pdl_drop(w->body);
        pdl_drop(w->options);
        return false;
    }
    pdl_vref schema = pdl_structured_wanted(a);
    if (!pdl_is_absent(schema)) {
        put(w, "format", pdl_keep(schema));
        a->structured = PDL_BY_FORMAT;
    }
    put(w, "options", w->options);
    put(w, "stream", pdl_bool(a->stream));
    *body = pdl_is_dict(extra) ? pdl_dict_merge(w->body, extra) : w->body;
    return true;
}

static writer writer_of(pdl_ask *a, bool generate) {
    writer w = {
        .ask = a, .generate = generate, .options = pdl_dict_new(4), .unsupported = {pdl_absent()}};
    w.body = pdl_dict_putz(pdl_dict_new(6), "model", pdl_text(a->name));
    return w;
}

/* --- /api/chat: request ----------------------------------------------------------------------- */

static pdl_val chat_calls(pdl_vref calls) {
    pdl_val out = pdl_list_new(pdl_list_len(calls));
    for (size_t i = 0; i < pdl_list_len(calls); i++) {
        pdl_vref call = pdl_list_at(calls, i),
                 f = pdl_is_dict(call) ? pdl_dict_getz(call, "function") : pdl_absent();
        if (!pdl_is_dict(f)) continue;
        pdl_vref name = pdl_dict_getz(f, "name");
        pdl_val g = pdl_dict_putz(pdl_dict_new(2), "name",
                                  pdl_is_absent(name) ? pdl_textz("") : pdl_keep(name));
        g = pdl_dict_putz(g, "arguments", pdl_call_arguments(call));
        out = pdl_list_push(out, pdl_dict_putz(pdl_dict_new(1), "function", g));
    }
    return out;
}

static pdl_val chat_message(pdl_vref m) {
    pdl_vref role = pdl_dict_getz(m, "role"), content = pdl_dict_getz(m, "content"),
             calls = pdl_dict_getz(m, "tool_calls");
    pdl_vref thought = pdl_dict_getz(m, "reasoning_content"), id = pdl_dict_getz(m, "tool_call_id");
    pdl_buf text = PDL_BUF;
    pdl_message_text(content, &text);
    bool developer = pdl_text_is(role, "developer"); /* Ollama's templates do not know the role */
    pdl_val who = developer             ? pdl_textz("system")
                  : pdl_is_absent(role) ? pdl_textz("user")
                                        : pdl_keep(role);
    pdl_val out = pdl_dict_putz(pdl_dict_new(4), "role", who);
    out = pdl_dict_putz(out, "content", pdl_text_of_buf(&text));
    pdl_val images = pdl_message_images(content, pdl_list_new(0));
    if (pdl_list_len(images))
        out = pdl_dict_putz(out, "images", images);
    else
        pdl_drop(images);
    if (pdl_is_str(thought)) out = pdl_dict_putz(out, "thinking", pdl_keep(thought));
    if (pdl_is_list(calls)) out = pdl_dict_putz(out, "tool_calls", chat_calls(calls));
    if (pdl_is_str(id)) out = pdl_dict_putz(out, "tool_call_id", pdl_keep(id));
    return out;
}

static bool write_chat(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    writer w = writer_of(a, false);
    pdl_val messages = pdl_list_new(4);
    pdl_endpoint_add(path, "/api/chat");
    for (size_t i = 0; pdl_is_list(a->messages) && i < pdl_list_len(a->messages); i++)
        if (pdl_is_dict(pdl_list_at(a->messages, i)))
            messages = pdl_list_push(messages, chat_message(pdl_list_at(a->messages, i)));
    put(&w, "messages", messages);
    return put_params(&w, body, err);
}

/* --- /api/generate: request ------------------------------------------------------------------- */

typedef enum { TURN_USER, TURN_SYSTEM, TURN_ASSISTANT } turn;

static turn turn_of(pdl_vref m) {
    pdl_str role = pdl_message_role(m);
    if (pdl_str_is(role, "system") || pdl_str_is(role, "developer")) return TURN_SYSTEM;
    return pdl_str_is(role, "assistant") ? TURN_ASSISTANT : TURN_USER;
}

/* Writes each call of an assistant's message as a line of JSON. */
static void put_calls(pdl_vref m, pdl_buf *out) {
    pdl_vref calls = pdl_dict_getz(m, "tool_calls");
    pdl_val list = pdl_is_list(calls) ? chat_calls(calls) : pdl_list_new(0);
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_err err = {0};
        if (out->len) pdl_buf_putc(out, '\n');
        if (!pdl_json_write(pdl_dict_getz(pdl_list_at(list, i), "function"),
                            PDL_JSON_SPACED | PDL_JSON_LOOSE | PDL_JSON_NAN, 0, out, &err))
            pdl_err_fini(&err);
    }
    pdl_drop(list);
}

/* Writes the instruction that replaces tools (spec providers 11.2). */
static void put_tools(pdl_vref tools, pdl_buf *out) {
    PDL_PUT(out,
            "To call a function, reply with JSON ONLY in this format {\"name\": \"function_name\", "
            "\"arguments\":{\"argument_name\": \"argument_value\"}}. Once a function result "
            "answers the request, "
            "reply to the user in "
            "plain text instead of calling a function again. The following functions are available "
            "to you:\n");
    for (size_t i = 0; i < pdl_list_len(tools); i++) {
        pdl_err err = {0};
        if (!pdl_val_repr(pdl_list_at(tools, i), out, &err)) pdl_err_fini(&err);
        pdl_buf_putc(out, '\n');
    }
}

/* Writes the texts of a user's message, one per line, without empty texts. */
static void put_lines(pdl_vref content, pdl_buf *out) {
    pdl_buf scratch = PDL_BUF;
    for (size_t i = 0; i < pdl_parts_count(content); i++) {
        pdl_part p = pdl_parts_at(content, i, &scratch);
        if (p.text.n && out->len) pdl_buf_putc(out, '\n');
        pdl_buf_put(out, p.text);
    }
    pdl_buf_fini(&scratch);
}

/* Writes a sequence of messages of the same kind, from *i on. */
static void put_turn(pdl_vref messages, size_t *i, pdl_vref tools, bool *tools_said, pdl_buf *out) {
    static const char *const titles[] = {"User", "System", "Assistant"};
    size_t n = pdl_list_len(messages);
    turn t = turn_of(pdl_list_at(messages, *i));
    pdl_buf text = PDL_BUF;
    for (; *i < n && turn_of(pdl_list_at(messages, *i)) == t; (*i)++) {
        pdl_vref m = pdl_list_at(messages, *i),
                 content = pdl_is_dict(m) ? pdl_dict_getz(m, "content") : pdl_absent();
        if (t == TURN_USER)
            put_lines(content, &text);
        else
            pdl_message_text(content, &text);
        if (t == TURN_ASSISTANT && pdl_is_dict(m)) put_calls(m, &text);
    }
    if (t == TURN_SYSTEM && pdl_is_list(tools) && !*tools_said) {
        pdl_buf_putc(&text, ' ');
        put_tools(tools, &text);
        *tools_said = true;
    }
    if (text.len) {
        pdl_buf_putf(out, "### %s:\n", titles[t]);
        pdl_buf_put(out, pdl_buf_str(&text));
        PDL_PUT(out, "\n\n");
    }
    pdl_buf_fini(&text);
}

/* Writes the whole prompt. Without a system message the tools are written last. */
static void put_prompt(const pdl_ask *a, pdl_buf *out) {
    pdl_vref tools = pdl_dict_getz(a->params, "tools");
    size_t n = pdl_is_list(a->messages) ? pdl_list_len(a->messages) : 0;
    bool said = false;
    if (n && pdl_is_dict(pdl_dict_getz(a->given, "roles"))) {
        pdl_messages_by_roles(a->messages, a->given, out);
        return;
    }
    for (size_t i = 0; i < n;) put_turn(a->messages, &i, tools, &said, out);
    if (said || !pdl_is_list(tools)) return;
    PDL_PUT(out, "### System:\n");
    put_tools(tools, out);
    PDL_PUT(out, "\n\n");
}

static bool write_generate(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    writer w = writer_of(a, true);
    pdl_buf prompt = PDL_BUF;
    pdl_val images = pdl_list_new(0);
    pdl_endpoint_add(path, "/api/generate");
    put_prompt(a, &prompt);
    put(&w, "prompt", pdl_text_of_buf(&prompt));
    for (size_t i = 0; pdl_is_list(a->messages) && i < pdl_list_len(a->messages); i++) {
        pdl_vref m = pdl_list_at(a->messages, i);
        if (pdl_is_dict(m)) images = pdl_message_images(pdl_dict_getz(m, "content"), images);
    }
    if (pdl_list_len(images))
        put(&w, "images", images);
    else
        pdl_drop(images);
    if (pdl_is_list(pdl_dict_getz(a->params, "tools"))) put(&w, "format", pdl_textz("json"));
    return put_params(&w, body, err);
}

/* --- replies ---------------------------------------------------------------------------------- */

/* Turns {function: {name, arguments: {...}}} into {id, type, function: {name, arguments: text}}. */
static pdl_val openai_call(pdl_vref call) {
    pdl_vref f = pdl_is_dict(call) ? pdl_dict_getz(call, "function") : pdl_absent();
    if (!pdl_is_dict(f)) return pdl_call_new(pdl_absent(), pdl_absent(), pdl_absent());
    return pdl_call_new(pdl_dict_getz(call, "id"), pdl_dict_getz(f, "name"),
                        pdl_dict_getz(f, "arguments"));
}

static pdl_val openai_calls(pdl_vref calls) {
    pdl_val out = pdl_list_new(pdl_list_len(calls));
    for (size_t i = 0; i < pdl_list_len(calls); i++)
        out = pdl_list_push(out, openai_call(pdl_list_at(calls, i)));
    return out;
}

/* Returns the usage, in which a missing count is 0; absent when both counts are missing. */
static pdl_val usage_of(pdl_vref json) {
    pdl_vref in = pdl_dict_getz(json, "prompt_eval_count"), out = pdl_dict_getz(json, "eval_count");
    if (!pdl_is(in, PDL_V_INT) && !pdl_is(out, PDL_V_INT)) return pdl_absent();
    int64_t a = pdl_is(in, PDL_V_INT) ? pdl_int_of(in) : 0,
            b = pdl_is(out, PDL_V_INT) ? pdl_int_of(out) : 0;
    pdl_val u = pdl_dict_putz(pdl_dict_new(3), "prompt_tokens", pdl_int(a));
    u = pdl_dict_putz(u, "completion_tokens", pdl_int(b));
    return pdl_dict_putz(u, "total_tokens", pdl_int(a + b));
}

static void add_common(pdl_vref json, pdl_reply_builder *d) {
    static const char *const kept[] = {"model", "created_at"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        pdl_vref v = pdl_dict_getz(json, kept[i]);
        if (pdl_is_str(v) && pdl_is_absent(pdl_dict_getz(d->head, kept[i])))
            d->head = pdl_dict_putz(d->head, kept[i], pdl_keep(v));
    }
    pdl_vref done = pdl_dict_getz(json, "done"), reason = pdl_dict_getz(json, "done_reason");
    if (!pdl_is_bool(done) || !pdl_bool_of(done)) return;
    d->done = true;
    pdl_reply_builder_finish(d, reason);
    pdl_reply_builder_set(&d->usage, usage_of(json));
}

static bool is_done(pdl_vref json) {
    pdl_vref done = pdl_dict_getz(json, "done");
    return pdl_is_bool(done) && pdl_bool_of(done);
}

static void add_chat(pdl_vref json, pdl_reply_builder *d) {
    pdl_vref m = pdl_dict_getz(json, "message");
    d->has_unread |= !pdl_is_dict(m) && !is_done(json);
    if (!pdl_is_dict(m)) return;
    d->begun = true;
    pdl_vref content = pdl_dict_getz(m, "content"), thought = pdl_dict_getz(m, "thinking"),
             calls = pdl_dict_getz(m, "tool_calls");
    if (pdl_is_absent(content)) content = pdl_dict_getz(m, "text");
    if (pdl_is_absent(content)) content = pdl_dict_getz(m, "parts");
    if (pdl_is_str(thought) && pdl_str_get(thought).n)
        pdl_reply_builder_reasoning(d, pdl_str_get(thought));
    pdl_reply_builder_parts(d, content);
    if (!pdl_is_list(calls)) return;
    pdl_val list = openai_calls(calls); /* calls arrive complete; each gets an id */
    pdl_reply_builder_tools(d, list);
    pdl_drop(list);
}

static bool is_said(pdl_vref text) { return pdl_is_str(text) || pdl_reply_content_is_parts(text); }

static void add_generate(pdl_vref json, pdl_reply_builder *d) {
    pdl_vref text = pdl_dict_getz(json, "response"), thought = pdl_dict_getz(json, "thinking");
    d->begun |= is_said(text);
    d->has_unread |= !is_said(text) && !is_done(json);
    if (pdl_is_str(thought) && pdl_str_get(thought).n)
        pdl_reply_builder_reasoning(d, pdl_str_get(thought));
    pdl_reply_builder_parts(d, text);
}

static bool emulates_tools(const pdl_ask *a) {
    return pdl_is_list(pdl_dict_getz(a->params, "tools"));
}

/* Ends the emulation of tools. A text that is an object {name, arguments} is the call that the
 * instruction asked for; any other text is shown now. */
static void end_emulation(pdl_reply_builder *d) {
    pdl_err err = {0};
    pdl_val v = pdl_null();
    d->quiet = false;
    if (!pdl_json_read(pdl_buf_str(&d->content), PDL_JSON_PYTHON, &v, NULL, &err))
        pdl_err_fini(&err);
    if (pdl_is_dict(v) && pdl_is_str(pdl_dict_getz(v, "name")) &&
        !pdl_is_absent(pdl_dict_getz(v, "arguments"))) {
        pdl_val call =
            pdl_call_new(pdl_absent(), pdl_dict_getz(v, "name"), pdl_dict_getz(v, "arguments"));
        pdl_val list = pdl_list_push(pdl_list_new(1), call);
        pdl_reply_builder_tools(d, list);
        pdl_drop(list);
        pdl_buf_clear(&d->content);
    } else {
        pdl_buf_put(&d->piece, pdl_buf_str(&d->content));
    }
    pdl_drop(v);
}

/* Returns true for an object with a member that messages have, and for an empty object. Other
 * objects come from a proxy. */
static bool is_message(pdl_vref m) {
    static const char *const keys[] = {"role",       "content", "thinking",
                                       "tool_calls", "images",  "reasoning"};
    bool is = pdl_is_dict(m) && pdl_dict_len(m) == 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        is |= !pdl_is_absent(pdl_member(m, keys[i]));
    return is;
}

/* Returns true for a message of an answer. {message: {text: ".."}} alone may be an error. */
static bool is_message_of(pdl_vref json) {
    pdl_vref m = pdl_member(json, "message"), text = pdl_member(m, "text");
    bool is_marked = pdl_is_bool(pdl_member(json, "done"));
    return is_message(m) || (is_marked && pdl_is_str(text));
}

static bool is_chat(pdl_vref json) {
    pdl_vref m = pdl_dict_getz(json, "message");
    bool is_bare = pdl_is_absent(m) || !pdl_val_truth(m) || pdl_is_dict(m);
    return is_message_of(json) || (is_bare && pdl_is_bool(pdl_dict_getz(json, "done")));
}

static bool is_generated(pdl_vref json) {
    return pdl_is_str(pdl_dict_getz(json, "response")) || pdl_is_bool(pdl_dict_getz(json, "done"));
}

static bool read_with(const pdl_ask *a, bool generate, pdl_val json, pdl_val *raw, pdl_err *err) {
    pdl_reply_builder d;
    pdl_vref part = pdl_member(json, generate ? "response" : "message");
    if (generate ? !is_said(part) : !is_message_of(json)) {
        pdl_drop(json);
        return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "the answer has no %s",
                           generate ? "response" : "message");
    }
    pdl_reply_builder_init(&d);
    (generate ? add_generate : add_chat)(json, &d);
    add_common(json, &d);
    if (generate && emulates_tools(a)) end_emulation(&d);
    return pdl_reply_builder_end(&d, json, raw, err);
}

static bool read_chat(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err) {
    return read_with(a, false, json, raw, err);
}

static bool read_generate(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err) {
    return read_with(a, true, json, raw, err);
}

static void add_chat_event(const pdl_ask *a, pdl_vref json, pdl_reply_builder *d) {
    (void)a;
    d->quiet = false;
    add_chat(json, d);
    add_common(json, d);
}

static void add_generate_event(const pdl_ask *a, pdl_vref json, pdl_reply_builder *d) {
    d->quiet = emulates_tools(a);
    add_generate(json, d);
    add_common(json, d);
    if (d->quiet && d->done) end_emulation(d);
}

static bool event_chat(const pdl_ask *a, pdl_str text, pdl_reply_builder *d, pdl_err *err) {
    return pdl_reply_builder_event(d, a, text, is_chat, add_chat_event, err);
}

static bool event_generate(const pdl_ask *a, pdl_str text, pdl_reply_builder *d, pdl_err *err) {
    return pdl_reply_builder_event(d, a, text, is_generated, add_generate_event, err);
}

const pdl_dialect pdl_dialect_ollama_chat = {.name = "ollama_chat",
                                             .media = PDL_MEDIA_IMAGE,
                                             .framing = PDL_FRAMING_LINES,
                                             .write = write_chat,
                                             .read = read_chat,
                                             .event = event_chat,
                                             .embedder = &pdl_embedder_ollama};
const pdl_dialect pdl_dialect_ollama = {.name = "ollama",
                                        .media = PDL_MEDIA_IMAGE,
                                        .framing = PDL_FRAMING_LINES,
                                        .write = write_generate,
                                        .read = read_generate,
                                        .event = event_generate,
                                        .embedder = &pdl_embedder_ollama};
