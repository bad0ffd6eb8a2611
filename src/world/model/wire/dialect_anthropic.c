/* dialect_anthropic.c -- the messages interface of Anthropic (spec providers 13.2). The content of
 * a message is a list of blocks: texts, media, calls, results and thoughts. A schema becomes a
 * tool, which the model must call when the program has no other tool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base64.h"
#include "base/num.h"
#include "base/utf8.h"
#include "model/ask/endpoint.h"
#include "model/ask/messages.h"
#include "model/ask/params.h"
#include "model/ask/structured.h"
#include "model/ask/thinking.h"
#include "model/wire/message_parts.h"
#include "value/member.h"
#include "value/peer_message.h"

#include "base/banned.h"

/* --- messages --------------------------------------------------------------------------------- */

static pdl_val block_of(const char *type) {
    return pdl_dict_putz(pdl_dict_new(4), "type", pdl_textz(type));
}

static pdl_val text_block(pdl_str text) {
    return pdl_dict_putz(block_of("text"), "text", pdl_text(text));
}

static pdl_val with_cache(pdl_val block, pdl_vref from) {
    pdl_vref mark = pdl_is_dict(from) ? pdl_dict_getz(from, "cache_control") : pdl_absent();
    return pdl_is_dict(mark) ? pdl_dict_putz(block, "cache_control", pdl_keep(mark)) : block;
}

/* Returns the source of a document whose data is text; the text is sent unencoded. */
static pdl_val text_source(const pdl_part *p) {
    pdl_buf bytes = PDL_BUF, text = PDL_BUF;
    if (pdl_base64_read(p->data, &bytes)) pdl_utf8_repair(&text, pdl_buf_str(&bytes));
    pdl_buf_fini(&bytes);
    pdl_val source = pdl_dict_putz(block_of("text"), "media_type", pdl_textz("text/plain"));
    return pdl_dict_putz(source, "data", pdl_text_of_buf(&text));
}

/* Returns the source of a media part without data: an address, or else the name of a file that the
 * service stores. */
static pdl_val far_source(const pdl_part *p) {
    bool address = pdl_str_find(p->url, PDL_STR("://"), 0) != PDL_NOT_FOUND;
    return pdl_dict_putz(block_of(address ? "url" : "file"), address ? "url" : "file_id",
                         pdl_text(p->url));
}

/* Returns the block of an image or document, with its data or its address. */
static pdl_val media_block(const pdl_part *p) {
    bool image = p->kind == PDL_PART_IMAGE;
    pdl_val source;
    if (p->data.n == 0) {
        source = far_source(p);
    } else if (!image && pdl_str_starts(p->mime, PDL_STR("text/"))) {
        source = text_source(p);
    } else {
        source = pdl_dict_putz(block_of("base64"), "media_type", pdl_text(p->mime));
        source = pdl_dict_putz(source, "data", pdl_text(p->data));
    }
    return pdl_dict_putz(block_of(image ? "image" : "document"), "source", source);
}

/* Returns the block of a part; absent for a blank text, which the service refuses. */
static pdl_val block_of_part(const pdl_part *p) {
    switch (p->kind) {
    case PDL_PART_TEXT:
        return pdl_part_is_blank(p) ? pdl_absent() : with_cache(text_block(p->text), p->value);
    case PDL_PART_IMAGE:
    case PDL_PART_FILE: return with_cache(media_block(p), p->value);
    case PDL_PART_AUDIO:
    case PDL_PART_OTHER: return pdl_keep(p->value);
    }
    return pdl_absent();
}

static pdl_val blocks_of(pdl_vref message, pdl_val list) {
    pdl_vref content = pdl_dict_getz(message, "content");
    size_t n = pdl_parts_count(content);
    pdl_buf scratch = PDL_BUF;
    for (size_t i = 0; i < n; i++) {
        pdl_part p = pdl_parts_at(content, i, &scratch);
        pdl_val block = block_of_part(&p);
        if (pdl_is_absent(block)) continue;
        list = pdl_list_push(list, pdl_is_absent(p.value) ? with_cache(block, message) : block);
    }
    pdl_buf_fini(&scratch);
    return list;
}

static pdl_val result_of(pdl_vref messages, size_t i) {
    pdl_vref m = pdl_list_at(messages, i), content = pdl_dict_getz(m, "content");
    pdl_val b = pdl_dict_putz(block_of("tool_result"), "tool_use_id",
                              pdl_turns_id(pdl_dict_getz(m, "tool_call_id"), "_-"));
    if (pdl_message_is_parts(content)) {
        b = pdl_dict_putz(b, "content", blocks_of(m, pdl_list_new(2)));
    } else {
        pdl_buf text = PDL_BUF;
        pdl_message_text(content, &text);
        b = pdl_dict_putz(b, "content", pdl_text_of_buf(&text));
    }
    return with_cache(b, m);
}

static pdl_val call_of(pdl_vref m, size_t i) {
    pdl_vref call = pdl_list_at(pdl_message_calls(m), i);
    pdl_val b =
        pdl_dict_putz(block_of("tool_use"), "id", pdl_turns_id(pdl_dict_getz(call, "id"), "_-"));
    b = pdl_dict_putz(b, "name", pdl_text(pdl_call_name(call)));
    return pdl_dict_putz(b, "input", pdl_call_input(call));
}

/* Returns a thought unchanged, with its signature, if this service made the thought. The service
 * refuses thoughts that it has not signed. */
static pdl_val thought_of(pdl_vref block) {
    bool own = pdl_member_str(block, "signature").n ||
               pdl_str_is(pdl_member_str(block, "type"), "redacted_thinking");
    return own ? pdl_keep(block) : pdl_absent();
}

static const pdl_turns_form turns = {.key = "content",
                                     .assistant = "assistant",
                                     .parts = blocks_of,
                                     .thought = thought_of,
                                     .call = call_of,
                                     .result = result_of};

/* Removes blanks at the end of the conversation when the assistant's text is last. That text is the
 * beginning of the answer, and the service refuses blanks at its end. */
static void trim_prefill(pdl_turns *t) {
    size_t n = pdl_list_len(t->done), k;
    if (n == 0 || !pdl_text_is(pdl_dict_getz(pdl_list_at(t->done, n - 1), "role"), "assistant"))
        return;
    pdl_vref m = pdl_list_at(t->done, n - 1), blocks = pdl_dict_getz(m, "content");
    k = pdl_list_len(blocks);
    pdl_vref last = pdl_list_at(blocks, k - 1), text = pdl_dict_getz(last, "text");
    if (!pdl_is_str(text)) return;
    pdl_str s = pdl_str_get(text);
    size_t end = s.n;
    while (end && strchr(" \t\r\n", s.p[end - 1])) end--;
    if (end == s.n) return;
    pdl_val list = pdl_keep(blocks);
    list =
        end ? pdl_list_set(list, k - 1,
                           pdl_dict_putz(pdl_keep(last), "text", pdl_text(pdl_str_sub(s, 0, end))))
            : pdl_list_remove(list, k - 1);
    if (pdl_list_len(list)) {
        pdl_val changed = pdl_dict_putz(pdl_keep(m), "content", list);
        t->done = pdl_list_set(t->done, n - 1, changed);
    } else {
        pdl_drop(list);
        t->done = pdl_list_remove(t->done, n - 1);
    }
}

static bool put_messages(const pdl_ask *a, pdl_val *body, pdl_err *err) {
    pdl_turns t = pdl_turns_write(&turns, a->messages);
    trim_prefill(&t);
    return pdl_turns_put(&t, body) ||
           pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                       "Anthropic requires at least one non-system message.");
}

/* --- tools and schema ------------------------------------------------------------------------- */

static pdl_val tool_of(pdl_vref tool) {
    pdl_vref f = pdl_tool_function(tool), text;
    if (!pdl_is_dict(f)) return pdl_keep(tool); /* the service itself provides this tool */
    text = pdl_dict_getz(f, "description");
    pdl_vref name = pdl_dict_getz(f, "name");
    pdl_val out =
        pdl_dict_putz(pdl_dict_new(4), "name", pdl_is_str(name) ? pdl_keep(name) : pdl_textz(""));
    if (pdl_is_str(text)) out = pdl_dict_putz(out, "description", pdl_keep(text));
    out = pdl_dict_putz(out, "input_schema", pdl_tool_schema(f));
    return with_cache(pdl_dict_putz(out, "type", pdl_textz("custom")), tool);
}

static pdl_val choice_of(pdl_vref choice) {
    if (pdl_text_is(choice, "required")) return block_of("any");
    if (pdl_text_is(choice, "none")) return block_of("none");
    pdl_str name = pdl_call_name(choice);
    if (name.n) return pdl_dict_putz(block_of("tool"), "name", pdl_text(name));
    return pdl_is_dict(choice) ? pdl_keep(choice) : block_of("auto");
}

static pdl_val schema_tool(pdl_vref schema) {
    pdl_val out = pdl_dict_putz(pdl_dict_new(2), "name", pdl_textz(PDL_SCHEMA_TOOL));
    return pdl_dict_putz(out, "input_schema", pdl_keep(schema));
}

/* Adds the tools of the program and the tool that represents a schema. The model is forced to call
 * the tool of the schema when there is no other tool. */
static pdl_val put_tools(pdl_ask *a, pdl_val body) {
    pdl_vref given = pdl_dict_getz(a->params, "tools"),
             choice = pdl_dict_getz(a->params, "tool_choice"),
             parallel = pdl_dict_getz(a->params, "parallel_tool_calls");
    pdl_val tools = pdl_list_new(2), how = pdl_absent(), schema = pdl_structured_for_tool(a);
    bool thinks = pdl_thinking_is_on(pdl_thinking_of(a->name), body);
    for (size_t i = 0; pdl_is_list(given) && i < pdl_list_len(given); i++)
        tools = pdl_list_push(tools, tool_of(pdl_list_at(given, i)));
    if (!pdl_is_absent(choice)) how = choice_of(choice);
    if (pdl_is_dict(schema)) {
        bool is_only = pdl_list_len(tools) == 0;
        tools = pdl_list_push(tools, schema_tool(schema));
        a->forced_tool = true;
        /* The service refuses to force a tool while the model thinks. */
        if (is_only && pdl_is_absent(how) && !thinks)
            how = pdl_dict_putz(block_of("tool"), "name", pdl_textz(PDL_SCHEMA_TOOL));
    }
    pdl_drop(schema);
    if (pdl_is_bool(parallel) && !pdl_bool_of(parallel) && pdl_list_len(tools)) {
        if (pdl_is_absent(how)) how = block_of("auto");
        how = pdl_dict_putz(how, "disable_parallel_tool_use", pdl_bool(true));
    }
    if (pdl_list_len(tools) == 0)
        pdl_drop(tools);
    else
        body = pdl_dict_putz(body, "tools", tools);
    return pdl_is_absent(how) ? body : pdl_dict_putz(body, "tool_choice", how);
}

/* --- request ---------------------------------------------------------------------------------- */

static const pdl_param_rule rules[] = {
    {.name = "max_completion_tokens", .as = "max_tokens", .to = PDL_TO_TOP},
    {.name = "stop", .as = "stop_sequences", .to = PDL_TO_TOP, .list = true},
    {.name = "user", .to = PDL_TO_OWN},
    {.name = "tools", .to = PDL_TO_OWN},
    {.name = "tool_choice", .to = PDL_TO_OWN},
    {.name = "parallel_tool_calls", .to = PDL_TO_OWN},
    {.name = "response_format", .to = PDL_TO_OWN},
    {.name = "reasoning_effort", .to = PDL_TO_OWN},
    {.name = "stream_options", .to = PDL_TO_NOBODY},
    {.name = "n", .to = PDL_TO_REFUSED},
    {.name = "seed", .to = PDL_TO_REFUSED},
    {.name = "logprobs", .to = PDL_TO_REFUSED},
    {.name = "top_logprobs", .to = PDL_TO_REFUSED},
    {.name = "presence_penalty", .to = PDL_TO_REFUSED},
    {.name = "frequency_penalty", .to = PDL_TO_REFUSED},
    {.name = "logit_bias", .to = PDL_TO_REFUSED},
};

/* Sets max_tokens, which is required. The tokens of thoughts are added to the default. */
static pdl_val put_limits(const pdl_ask *a, pdl_val body) {
    pdl_thinking form = pdl_thinking_of(a->name);
    pdl_vref effort = pdl_dict_getz(a->params, "reasoning_effort");
    int64_t most = PDL_ANSWER_TOKENS, thoughts = 0, n;
    pdl_str set = pdl_setting("DEFAULT_ANTHROPIC_CHAT_MAX_TOKENS", a->given, a->env);
    if (pdl_num_read_int(set, &n) && n > 0) most = n;
    body = pdl_thinking_put(form, effort, body);
    if (pdl_thinking_is_on(form, body)) {
        pdl_vref own = pdl_dict_getz(body, "thinking");
        thoughts = pdl_thinking_tokens(effort);
        if (pdl_is_dict(own)) thoughts = pdl_count_of(own, "budget_tokens", thoughts);
    }
    if (pdl_is_absent(pdl_dict_getz(body, "max_tokens")))
        body = pdl_dict_putz(body, "max_tokens", pdl_int(most + thoughts));
    return body;
}

static bool write(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    pdl_vref user = pdl_dict_getz(a->params, "user"),
             extra = pdl_dict_getz(a->params, "extra_body");
    pdl_val b = pdl_dict_putz(pdl_dict_new(8), "model", pdl_text(a->name)), none = pdl_dict_new(0);
    pdl_endpoint_add(path, "/v1/messages");
    bool ok = put_messages(a, &b, err) &&
              pdl_params_place(a, PDL_SAMPLING_RULES(rules, PDL_TO_TOP), &b, &none, err);
    pdl_drop(none);
    if (!ok) {
        pdl_drop(b);
        return false;
    }
    if (!pdl_is_absent(user) && pdl_is_absent(pdl_dict_getz(b, "metadata")))
        b = pdl_dict_putz(b, "metadata", pdl_dict_putz(pdl_dict_new(1), "user_id", pdl_keep(user)));
    b = put_tools(a, put_limits(a, b));
    if (a->stream) b = pdl_dict_putz(b, "stream", pdl_bool(true));
    *body = pdl_is_dict(extra) ? pdl_dict_merge(b, extra) : b;
    return true;
}

static bool sign(const pdl_sign *s, pdl_err *err) {
    pdl_headers_default(s->headers, "anthropic-version", "2023-06-01");
    if (pdl_str_find(s->body, PDL_STR("\"file_id\":"), 0) != PDL_NOT_FOUND)
        pdl_headers_default(s->headers, "anthropic-beta", "files-api-2025-04-14");
    if (pdl_headers_has(s->headers, "x-api-key") || pdl_headers_has(s->headers, "Authorization"))
        return true;
    pdl_str token = pdl_setting("ANTHROPIC_AUTH_TOKEN", s->ask->given, s->ask->env);
    if (s->key.n)
        pdl_headers_add(s->headers, "x-api-key: %.*s", PDL_FMT(s->key));
    else if (token.n)
        pdl_headers_bearer(s->headers, token);
    else
        return pdl_key_missing(s->ask->provider, err);
    return true;
}

/* --- replies ---------------------------------------------------------------------------------- */

/* Adds token counts. The counts for the prompt arrive first, and those for the answer later. */
static void add_usage(pdl_vref u, pdl_reply_builder *d) {
    static const char *const kept[] = {"cache_creation_input_tokens", "cache_read_input_tokens"};
    if (!pdl_is_dict(u)) return;
    int64_t in = pdl_count_of(u, "input_tokens", -1), out = pdl_count_of(u, "output_tokens", -1);
    int64_t made = pdl_count_of(u, kept[0], -1), used = pdl_count_of(u, kept[1], -1);
    bool had = pdl_is_dict(d->usage);
    if (in < 0 && had) {
        int64_t prompt = pdl_count_of(d->usage, "prompt_tokens", 0);
        if (out < 0) return;
        d->usage = pdl_dict_putz(d->usage, "completion_tokens", pdl_int(out));
        d->usage = pdl_dict_putz(d->usage, "total_tokens", pdl_int(prompt + out));
        return;
    }
    if (in < 0 && out < 0) return;
    int64_t prompt = (in > 0 ? in : 0) + (made > 0 ? made : 0) + (used > 0 ? used : 0);
    if (out < 0) out = had ? pdl_count_of(d->usage, "completion_tokens", 0) : 0;
    pdl_val usage = pdl_usage_new(prompt, out, used, -1);
    if (made >= 0) usage = pdl_dict_putz(usage, kept[0], pdl_int(made));
    if (used >= 0) usage = pdl_dict_putz(usage, kept[1], pdl_int(used));
    pdl_reply_builder_set(&d->usage, usage);
}

static void add_head(pdl_vref m, pdl_reply_builder *d) {
    static const char *const kept[] = {"id", "model"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        pdl_vref v = pdl_dict_getz(m, kept[i]);
        if (pdl_is_str(v)) d->head = pdl_dict_putz(d->head, kept[i], pdl_keep(v));
    }
    add_usage(pdl_dict_getz(m, "usage"), d);
}

/* Sets a field of the latest thought. */
static void set_thought(pdl_reply_builder *d, const char *key, pdl_str text) {
    pdl_vref list = pdl_dict_getz(d->extra, "thinking_blocks");
    size_t n = pdl_is_list(list) ? pdl_list_len(list) : 0;
    if (n == 0) return;
    pdl_val changed = pdl_dict_putz(pdl_keep(pdl_list_at(list, n - 1)), key, pdl_text(text));
    d->extra =
        pdl_dict_putz(d->extra, "thinking_blocks", pdl_list_set(pdl_keep(list), n - 1, changed));
}

static void add_call(pdl_vref block, int64_t index, pdl_vref input, pdl_reply_builder *d) {
    pdl_val call = pdl_call_new(pdl_dict_getz(block, "id"), pdl_dict_getz(block, "name"), input);
    call = pdl_dict_putz(call, "index", pdl_int(index));
    pdl_reply_builder_tools(d, call);
    pdl_drop(call);
}

/* Adds a block of a whole answer, or the beginning of a block in a stream. */
static void add_block_of_reply(const pdl_ask *a, pdl_vref block, int64_t index, bool whole,
                               pdl_reply_builder *d) {
    pdl_str type = pdl_member_str(block, "type");
    if (pdl_str_is(type, "thinking") || pdl_str_is(type, "redacted_thinking")) {
        d->mark = d->reasoning.len;
        if (pdl_member_str(block, "thinking").n)
            pdl_reply_builder_reasoning(d, pdl_member_str(block, "thinking"));
        pdl_reply_builder_thought(d, pdl_keep(block));
    } else if (pdl_str_is(type, "tool_use")) {
        pdl_vref input = pdl_dict_getz(block, "input");
        bool schema = a->forced_tool && pdl_str_is(pdl_member_str(block, "name"), PDL_SCHEMA_TOOL);
        if (whole)
            add_call(block, index, input, d);
        else
            pdl_reply_builder_call(d, index, pdl_dict_getz(block, "id"),
                                   pdl_dict_getz(block, "name"), input, schema);
    } else {
        pdl_reply_builder_parts(d, block);
    }
}

/* Adds the content of a whole answer, which gateways also send as a text or as one block. */
static void add_content(const pdl_ask *a, pdl_vref content, pdl_reply_builder *d) {
    if (pdl_is_str(content)) pdl_reply_builder_parts(d, content);
    if (pdl_is_dict(content)) add_block_of_reply(a, content, 0, true, d);
    for (size_t i = 0; pdl_is_list(content) && i < pdl_list_len(content); i++) {
        pdl_vref block = pdl_list_at(content, i);
        if (pdl_is_dict(block))
            add_block_of_reply(a, block, (int64_t)i, true, d);
        else
            pdl_reply_builder_parts(d, block);
    }
}

static bool read(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err) {
    pdl_reply_builder d;
    pdl_vref content = pdl_is_dict(json) ? pdl_dict_getz(json, "content") : pdl_absent();
    if (!pdl_is_list(content) && !pdl_is_str(content) && !pdl_is_dict(content)) {
        pdl_drop(json);
        return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "the answer has no content");
    }
    pdl_reply_builder_init(&d);
    add_head(json, &d);
    add_content(a, content, &d);
    pdl_reply_builder_stop(&d, pdl_dict_getz(json, "stop_reason"));
    return pdl_reply_builder_end(&d, json, raw, err);
}

/* --- stream ----------------------------------------------------------------------------------- */

static void add_delta(const pdl_ask *a, int64_t index, pdl_vref delta, pdl_reply_builder *d) {
    pdl_str type = pdl_member_str(delta, "type");
    if (pdl_str_is(type, "input_json_delta")) {
        pdl_reply_builder_arguments(d, index, pdl_member(delta, "partial_json"), a->forced_tool);
    } else if (pdl_str_is(type, "thinking_delta")) {
        pdl_reply_builder_reasoning(d, pdl_member_str(delta, "thinking"));
    } else if (pdl_str_is(type, "signature_delta")) {
        set_thought(d, "signature", pdl_member_str(delta, "signature"));
    } else if (!type.n || !pdl_is_absent(pdl_member(delta, "text"))) {
        pdl_reply_builder_parts(d, pdl_is_str(delta) ? delta : pdl_member(delta, "text"));
    }
}

static void add_event(const pdl_ask *a, pdl_vref json, pdl_reply_builder *d) {
    pdl_str type = pdl_member_str(json, "type");
    int64_t index = pdl_count_of(json, "index", 0);
    pdl_vref message = pdl_dict_getz(json, "message"), block = pdl_dict_getz(json, "content_block"),
             delta = pdl_dict_getz(json, "delta");
    if (pdl_str_is(type, "message_start") && pdl_is_dict(message)) {
        add_head(message, d);
        add_content(a, pdl_dict_getz(message, "content"), d);
    } else if (pdl_str_is(type, "content_block_start") && pdl_is_dict(block)) {
        d->begun = true;
        add_block_of_reply(a, block, index, false, d);
    } else if (pdl_str_is(type, "content_block_delta")) {
        add_delta(a, index, delta, d);
    } else if (pdl_str_is(type, "content_block_stop")) {
        if (d->reasoning.len > d->mark)
            set_thought(d, "thinking",
                        pdl_str_sub(pdl_buf_str(&d->reasoning), d->mark, d->reasoning.len));
        d->mark = d->reasoning.len;
    } else if (pdl_str_is(type, "message_delta")) {
        if (pdl_is_dict(delta)) pdl_reply_builder_stop(d, pdl_dict_getz(delta, "stop_reason"));
        add_usage(pdl_dict_getz(json, "usage"), d);
    } else if (pdl_str_is(type, "message_stop")) {
        d->done = true;
    }
}

/* Returns true for an event of this dialect; events of types that are newer than this code are
 * ignored. Any other object comes from a proxy. */
static bool is_ours(pdl_vref json) {
    pdl_str type = pdl_member_str(json, "type");
    pdl_buf words = PDL_BUF;
    bool ours = type.n && !pdl_str_is(type, "error") &&
                (pdl_is_dict(pdl_dict_getz(json, "message")) || !pdl_peer_words(json, &words));
    pdl_buf_fini(&words);
    return ours;
}

static bool event(const pdl_ask *a, pdl_str text, pdl_reply_builder *d, pdl_err *err) {
    return pdl_reply_builder_event(d, a, text, is_ours, add_event, err);
}

static const pdl_mark_form marks = {.key = "cache_control", .type = "ephemeral"};

const pdl_dialect pdl_dialect_anthropic = {.name = "anthropic",
                                           .media = PDL_MEDIA_ANY & ~(unsigned)PDL_MEDIA_AUDIO,
                                           .few_names = true,
                                           .write = write,
                                           .read = read,
                                           .event = event,
                                           .sign = sign,
                                           .marks = &marks};
