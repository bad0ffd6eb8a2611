/* dialect_bedrock.c -- the Converse interface of AWS Bedrock (spec providers 13.5). One form of
 * requests serves the models of many vendors; fields that Converse does not have are passed to the
 * model unchanged. Requests are signed with AWS keys or carry a bearer key, and the events of a
 * stream are frames (eventstream.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/hash.h"
#include "base/word_list.h"
#include "io/clock.h"
#include "model/ask/messages.h"
#include "model/ask/params.h"
#include "model/ask/structured.h"
#include "model/ask/thinking.h"
#include "model/wire/message_parts.h"
#include "model/wire/sigv4.h"

#include "base/banned.h"

/* --- messages --------------------------------------------------------------------------------- */

static pdl_val object_with(const char *key, pdl_val v) {
    return pdl_dict_putz(pdl_dict_new(2), key, v);
}

/* Returns the name of a format: the last word of its MIME type, translated where the service has
 * another word. */
static pdl_str format_of(pdl_str mime) {
    static const struct {
        const char *word, *format;
    } formats[] = {
        {"jpg", "jpeg"},
        {"plain", "txt"},
        {"markdown", "md"},
        {"msword", "doc"},
        {"vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"},
        {"vnd.ms-excel", "xls"},
        {"vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"},
    };
    size_t slash = pdl_str_find(mime, PDL_STR("/"), 0);
    pdl_str word = slash == PDL_NOT_FOUND ? PDL_STR("png") : pdl_str_sub(mime, slash + 1, mime.n);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (pdl_str_is(word, formats[i].word)) return pdl_str_of(formats[i].format);
    return word;
}

enum { NAME_SAMPLE = 64 << 10, NAME_DIGITS = 16 };

/* Returns the name of a document. Names must be unique in a conversation and convey nothing to the
 * model. So the name has a hash of the data's beginning and length, as in the reference. */
static pdl_val name_of(pdl_str data, pdl_str format) {
    char hex[65];
    pdl_buf sample = PDL_BUF;
    pdl_buf_put(&sample, pdl_str_sub(data, 0, NAME_SAMPLE));
    pdl_buf_putf(&sample, "%zu", data.n);
    pdl_hash_hex(pdl_buf_str(&sample), hex);
    pdl_buf_fini(&sample);
    return pdl_textf("DocumentPDFmessages_%.*s_%.*s", NAME_DIGITS, hex, PDL_FMT(format));
}

static pdl_val media_block(const pdl_part *p) {
    pdl_str format = format_of(p->mime);
    pdl_val m = object_with("format", pdl_text(format));
    if (p->kind == PDL_PART_FILE) m = pdl_dict_putz(m, "name", name_of(p->data, format));
    m = pdl_dict_putz(m, "source", object_with("bytes", pdl_text(p->data)));
    return object_with(p->kind == PDL_PART_FILE ? "document" : "image", m);
}

/* Returns the block of a part; absent for a blank text, which the service refuses. */
static pdl_val block_of_part(const pdl_part *p) {
    switch (p->kind) {
    case PDL_PART_TEXT:
        return pdl_part_is_blank(p) ? pdl_absent() : object_with("text", pdl_text(p->text));
    case PDL_PART_IMAGE:
    case PDL_PART_FILE: return media_block(p);
    case PDL_PART_AUDIO:
    case PDL_PART_OTHER: return pdl_keep(p->value);
    }
    return pdl_absent();
}

static pdl_val blocks_of(pdl_vref message, pdl_val list) {
    return pdl_parts_push(list, pdl_dict_getz(message, "content"), block_of_part);
}

static pdl_val result_of(pdl_vref messages, size_t i) {
    pdl_vref m = pdl_list_at(messages, i);
    pdl_val r = object_with("toolUseId", pdl_turns_id(pdl_dict_getz(m, "tool_call_id"), "_-.:"));
    return object_with("toolResult", pdl_dict_putz(r, "content", blocks_of(m, pdl_list_new(1))));
}

static pdl_val call_of(pdl_vref m, size_t i) {
    pdl_vref call = pdl_list_at(pdl_message_calls(m), i);
    pdl_val u = object_with("toolUseId", pdl_turns_id(pdl_dict_getz(call, "id"), "_-.:"));
    u = pdl_dict_putz(u, "name", pdl_text(pdl_call_name(call)));
    return object_with("toolUse", pdl_dict_putz(u, "input", pdl_call_input(call)));
}

static pdl_val thought_of(pdl_vref block) {
    pdl_vref text = pdl_is_dict(block) ? pdl_dict_getz(block, "thinking") : pdl_absent(),
             mark = pdl_is_dict(block) ? pdl_dict_getz(block, "signature") : pdl_absent(),
             data = pdl_is_dict(block) ? pdl_dict_getz(block, "data") : pdl_absent();
    if (pdl_is_str(data))
        return object_with("reasoningContent", object_with("redactedContent", pdl_keep(data)));
    /* a thought without a signature was made by another service */
    if (!pdl_is_str(text) || !pdl_is_str(mark)) return pdl_absent();
    pdl_val r = object_with("text", pdl_keep(text));
    r = pdl_dict_putz(r, "signature", pdl_keep(mark));
    return object_with("reasoningContent", object_with("reasoningText", r));
}

/* Returns true when the model accepts signed thoughts. Only Claude signs them, and models of other
 * vendors refuse a request that has one. The address of a profile (arn:...) may not name its model.
 */
static bool takes_thoughts(pdl_str model) {
    return pdl_str_find(model, PDL_STR("claude"), 0) != PDL_NOT_FOUND ||
           pdl_str_find(model, PDL_STR("."), 0) == PDL_NOT_FOUND;
}

static const pdl_turns_form turns = {.key = "content",
                                     .assistant = "assistant",
                                     .parts = blocks_of,
                                     .thought = thought_of,
                                     .call = call_of,
                                     .result = result_of};

static bool put_messages(const pdl_ask *a, pdl_val *body, pdl_err *err) {
    pdl_turns_form form = turns;
    if (!takes_thoughts(a->name)) form.thought = NULL;
    pdl_turns t = pdl_turns_write(&form, a->messages);
    return pdl_turns_put(&t, body) ||
           pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                       "bedrock requires at least one non-system message");
}

/* --- tools and schema ------------------------------------------------------------------------- */

static pdl_val spec_of(const char *name, pdl_vref function, pdl_val schema) {
    pdl_vref text = pdl_dict_getz(function, "description");
    pdl_val s = object_with("inputSchema", object_with("json", schema));
    s = pdl_dict_putz(s, "name", pdl_textz(name));
    if (pdl_is_str(text) && pdl_str_get(text).n)
        s = pdl_dict_putz(s, "description", pdl_keep(text));
    return object_with("toolSpec", s);
}

static pdl_val tool_of(pdl_vref tool) {
    pdl_vref f = pdl_tool_function(tool);
    if (!pdl_is_dict(f)) return pdl_keep(tool);
    pdl_vref name = pdl_dict_getz(f, "name");
    return spec_of(pdl_is_str(name) ? pdl_str_get(name).p : "", f, pdl_tool_schema(f));
}

/* Returns the tool that represents a schema. The description of the tool is the same as in the
 * reference. */
static pdl_val schema_tool(pdl_vref schema) {
    pdl_val f = object_with("description", pdl_textz(PDL_SCHEMA_TOOL)),
            spec = spec_of(PDL_SCHEMA_TOOL, f, pdl_keep(schema));
    pdl_drop(f);
    return spec;
}

/* Returns the choice of tools; absent when the service cannot express it. */
static pdl_val choice_of(pdl_vref choice) {
    pdl_str name = pdl_call_name(choice);
    if (name.n) return object_with("tool", object_with("name", pdl_text(name)));
    if (pdl_text_is(choice, "required")) return object_with("any", pdl_dict_new(0));
    if (pdl_text_is(choice, "auto")) return object_with("auto", pdl_dict_new(0));
    return pdl_absent();
}

/* Adds a tool for each function that was called before. The service wants tools wherever the
 * messages have calls, also in a request that offers none. Takes tools. */
static pdl_val add_past_tools(pdl_vref messages, pdl_val tools) {
    pdl_val about = object_with("description", pdl_textz("It was called before. It is not "
                                                         "available any more.")),
            seen = pdl_dict_new(2);
    for (size_t i = 0; pdl_is_list(messages) && i < pdl_list_len(messages); i++) {
        pdl_vref calls = pdl_message_calls(pdl_list_at(messages, i));
        for (size_t k = 0; pdl_is_list(calls) && k < pdl_list_len(calls); k++) {
            pdl_val name = pdl_text(pdl_call_name(pdl_list_at(calls, k)));
            if (pdl_str_get(name).n && pdl_is_absent(pdl_dict_find(seen, name)))
                tools = pdl_list_push(
                    tools, spec_of(pdl_str_get(name).p, about, pdl_tool_schema(pdl_absent())));
            seen = pdl_dict_put(seen, name, pdl_null());
        }
    }
    pdl_drop(seen);
    pdl_drop(about);
    return tools;
}

static pdl_val put_tools(pdl_ask *a, pdl_val body) {
    pdl_vref given = pdl_dict_getz(a->params, "tools"),
             choice = pdl_dict_getz(a->params, "tool_choice");
    pdl_val tools = pdl_list_new(2), how = choice_of(choice), schema = pdl_structured_for_tool(a);
    pdl_vref fields = pdl_dict_getz(body, "additionalModelRequestFields");
    bool thinks = pdl_thinking_is_on(pdl_thinking_of(a->name), fields);
    for (size_t i = 0; pdl_is_list(given) && i < pdl_list_len(given); i++)
        tools = pdl_list_push(tools, tool_of(pdl_list_at(given, i)));
    if (pdl_is_dict(schema)) {
        bool is_only = pdl_list_len(tools) == 0;
        tools = pdl_list_push(tools, schema_tool(schema));
        a->forced_tool = true;
        if (is_only && pdl_is_absent(how) && !thinks)
            how = object_with("tool", object_with("name", pdl_textz(PDL_SCHEMA_TOOL)));
    }
    pdl_drop(schema);
    if (pdl_list_len(tools) == 0) tools = add_past_tools(a->messages, tools);
    if (pdl_list_len(tools) == 0) {
        pdl_drop(tools);
        pdl_drop(how);
        return body;
    }
    pdl_val config = object_with("tools", tools);
    if (!pdl_is_absent(how)) config = pdl_dict_putz(config, "toolChoice", how);
    return pdl_dict_putz(body, "toolConfig", config);
}

/* --- request ---------------------------------------------------------------------------------- */

static const pdl_param_rule rules[] = {
    {.name = "max_tokens", .as = "maxTokens", .to = PDL_TO_INNER},
    {.name = "max_completion_tokens", .as = "maxTokens", .to = PDL_TO_INNER},
    {.name = "temperature", .to = PDL_TO_INNER},
    {.name = "top_p", .as = "topP", .to = PDL_TO_INNER},
    {.name = "stop", .as = "stopSequences", .to = PDL_TO_INNER, .list = true},
    {.name = "tools", .to = PDL_TO_OWN},
    {.name = "tool_choice", .to = PDL_TO_OWN},
    {.name = "response_format", .to = PDL_TO_OWN},
    {.name = "reasoning_effort", .to = PDL_TO_OWN},
    {.name = "aws_bedrock_runtime_endpoint", .to = PDL_TO_NOBODY},
    {.name = "user", .to = PDL_TO_NOBODY},
    {.name = "stream_options", .to = PDL_TO_NOBODY},
    {.name = "parallel_tool_calls", .to = PDL_TO_NOBODY},
    {.name = "n", .to = PDL_TO_REFUSED},
    {.name = "seed", .to = PDL_TO_REFUSED},
    {.name = "logprobs", .to = PDL_TO_REFUSED},
    {.name = "top_logprobs", .to = PDL_TO_REFUSED},
    {.name = "presence_penalty", .to = PDL_TO_REFUSED},
    {.name = "frequency_penalty", .to = PDL_TO_REFUSED},
    {.name = "logit_bias", .to = PDL_TO_REFUSED},
};

/* Returns true for fields of Converse; other fields are passed to the model. */
static bool is_converse_field(pdl_str k) {
    static const char *const names[] = {"guardrailConfig",
                                        "performanceConfig",
                                        "requestMetadata",
                                        "promptVariables",
                                        "additionalModelResponseFieldPaths",
                                        "additionalModelRequestFields"};
    return PDL_STR_IN(k, names);
}

static pdl_val put_rest(const pdl_ask *a, pdl_val body, pdl_val rest) {
    pdl_vref effort = pdl_dict_getz(a->params, "reasoning_effort");
    pdl_val fields = pdl_dict_new(2);
    for (size_t i = 0; i < pdl_dict_len(rest); i++) {
        pdl_vref k = pdl_dict_key_at(rest, i), v = pdl_dict_val_at(rest, i);
        if (is_converse_field(pdl_str_get(k)))
            body = pdl_dict_put(body, pdl_keep(k), pdl_keep(v));
        else
            fields = pdl_dict_put(fields, pdl_keep(k), pdl_keep(v));
    }
    fields = pdl_thinking_put(pdl_thinking_of(a->name), effort, fields);
    pdl_drop(rest);
    pdl_vref own = pdl_dict_getz(body, "additionalModelRequestFields");
    if (pdl_is_dict(own)) fields = pdl_dict_merge(fields, own);
    if (pdl_dict_len(fields)) return pdl_dict_putz(body, "additionalModelRequestFields", fields);
    pdl_drop(fields);
    return body;
}

/* When there is a budget for thoughts and the program sets no limit of the answer, sets the limit:
 * the budget plus the default. */
static pdl_val put_limit(const pdl_ask *a, pdl_val config) {
    pdl_vref own = pdl_dict_getz(a->params, "thinking");
    int64_t budget = pdl_is_dict(own) && !pdl_text_is(pdl_dict_getz(own, "type"), "disabled")
                         ? pdl_count_of(own, "budget_tokens", 0)
                         : 0;
    if (budget == 0) budget = pdl_thinking_tokens(pdl_dict_getz(a->params, "reasoning_effort"));
    if (budget == 0 || !pdl_is_absent(pdl_dict_getz(config, "maxTokens"))) return config;
    return pdl_dict_putz(config, "maxTokens", pdl_int(budget + PDL_ANSWER_TOKENS));
}

/* Refuses the choice "none", which the service cannot express: the model would be free to call any
 * tool of the list. */
static bool check_choice(const pdl_ask *a, pdl_err *err) {
    pdl_unsupported u = {pdl_absent()};
    if (pdl_text_is(pdl_dict_getz(a->params, "tool_choice"), "none"))
        pdl_unsupported_add(&u, PDL_STR("tool_choice"));
    return pdl_unsupported_end(&u, a, err);
}

static bool write(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    pdl_vref extra = pdl_dict_getz(a->params, "extra_body");
    pdl_str name = a->name, converse = PDL_STR("converse/");
    pdl_val b = pdl_dict_new(6), config = pdl_dict_new(4), rest = pdl_dict_new(2);
    if (pdl_str_starts(name, converse)) name = pdl_str_sub(name, converse.n, name.n);
    PDL_PUT(path, "/model/");
    pdl_url_quote(name, "", path);
    pdl_buf_put(path, a->stream ? PDL_STR("/converse-stream") : PDL_STR("/converse"));
    if (!put_messages(a, &b, err) || !check_choice(a, err) ||
        !pdl_params_place(a, PDL_SAMPLING_RULES(rules, PDL_TO_TOP), &rest, &config, err)) {
        pdl_drop(b);
        pdl_drop(config);
        pdl_drop(rest);
        return false;
    }
    b = put_rest(a, pdl_dict_putz(b, "inferenceConfig", put_limit(a, config)), rest);
    b = put_tools(a, b);
    *body = pdl_is_dict(extra) ? pdl_dict_merge(b, extra) : b;
    return true;
}

/* Signs the request: with a bearer key of the service, or with a signature made from AWS keys. */
static bool sign(const pdl_sign *s, pdl_err *err) {
    const pdl_ask *a = s->ask;
    pdl_buf time = PDL_BUF, value = PDL_BUF;
    if (pdl_headers_has(s->headers, "Authorization")) return true;
    pdl_sigv4 v = {
        .access_key = pdl_setting("aws_access_key_id AWS_ACCESS_KEY_ID", a->given, a->env),
        .secret_key = pdl_setting("aws_secret_access_key AWS_SECRET_ACCESS_KEY", a->given, a->env),
        .session_token = pdl_setting("aws_session_token AWS_SESSION_TOKEN", a->given, a->env),
        .region = pdl_setting("aws_region_name AWS_REGION_NAME AWS_REGION AWS_DEFAULT_REGION",
                              a->given, a->env),
        .service = PDL_STR("bedrock"),
        .host = pdl_url_host(s->url),
        .path = pdl_url_path(s->url),
        .content_type = pdl_headers_get(s->headers, "Content-Type"),
        .body = s->body,
    };
    bool given = pdl_setting("aws_access_key_id", a->given, a->env).n > 0;
    if (s->key.n && !given) {
        pdl_headers_bearer(s->headers, s->key);
        return true;
    }
    if (v.access_key.n == 0 || v.secret_key.n == 0)
        return pdl_err_set(
            err, PDL_E_auth, (pdl_loc){0},
            "Missing credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
            "AWS_BEARER_TOKEN_BEDROCK");
    if (v.region.n == 0)
        return pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                           "set AWS_REGION or give parameters.aws_region_name");
    /* The session token of the environment is used only together with the keys of the
     * environment. */
    if (given) v.session_token = pdl_setting("aws_session_token", a->given, a->env);
    pdl_sigv4_time(pdl_clock_wall_ns(), &time);
    v.timestamp = pdl_buf_str(&time);
    pdl_sigv4_write(&v, &value);
    pdl_headers_add(s->headers, "x-amz-date: %s", pdl_buf_z(&time));
    if (v.session_token.n)
        pdl_headers_add(s->headers, "x-amz-security-token: %.*s", PDL_FMT(v.session_token));
    pdl_headers_add(s->headers, "Authorization: %s", pdl_buf_z(&value));
    pdl_buf_fini(&time);
    pdl_buf_fini(&value);
    return true;
}

/* --- replies ---------------------------------------------------------------------------------- */

static pdl_vref get(pdl_vref v, const char *key) {
    return pdl_is_dict(v) ? pdl_dict_getz(v, key) : pdl_absent();
}

/* Adds counts of tokens. Tokens read from or written to a cache belong to the prompt. */
static void add_usage(pdl_vref u, pdl_reply_builder *d) {
    if (!pdl_is_dict(u)) return;
    int64_t read = pdl_count_of(u, "cacheReadInputTokens", -1),
            written = pdl_count_of(u, "cacheWriteInputTokens", -1),
            prompt = pdl_count_of(u, "inputTokens", 0);
    prompt += (read > 0 ? read : 0) + (written > 0 ? written : 0);
    pdl_val usage = pdl_usage_new(prompt, pdl_count_of(u, "outputTokens", 0), read, -1);
    if (written >= 0) usage = pdl_dict_putz(usage, "cache_creation_input_tokens", pdl_int(written));
    pdl_reply_builder_set(&d->usage, usage);
}

static void add_call(pdl_vref use, int64_t index, pdl_vref input, pdl_reply_builder *d) {
    pdl_val call = pdl_call_new(get(use, "toolUseId"), get(use, "name"), input);
    pdl_val list = pdl_list_push(pdl_list_new(1), pdl_dict_putz(call, "index", pdl_int(index)));
    pdl_reply_builder_tools(d, list);
    pdl_drop(list);
}

static void add_thought(pdl_vref text, pdl_vref mark, pdl_reply_builder *d) {
    pdl_val b = object_with("type", pdl_textz("thinking"));
    b = pdl_dict_putz(b, "thinking", pdl_is_str(text) ? pdl_keep(text) : pdl_textz(""));
    if (pdl_is_str(mark)) b = pdl_dict_putz(b, "signature", pdl_keep(mark));
    pdl_reply_builder_thought(d, b);
}

/* Adds an encrypted thought, which is only sent back. */
static void add_hidden_thought(pdl_vref data, pdl_reply_builder *d) {
    if (!pdl_is_str(data)) return;
    pdl_val b = object_with("type", pdl_textz("redacted_thinking"));
    pdl_reply_builder_thought(d, pdl_dict_putz(b, "data", pdl_keep(data)));
}

static void add_block_of_reply(pdl_vref block, int64_t index, pdl_reply_builder *d) {
    pdl_vref use = get(block, "toolUse"), cited = get(block, "citationsContent"),
             thought = get(get(block, "reasoningContent"), "reasoningText");
    bool is_other = pdl_is_dict(use) || pdl_is_dict(get(block, "reasoningContent"));
    if (!is_other || pdl_is_str(get(block, "text")))
        pdl_reply_builder_parts(d, pdl_is_dict(cited) ? get(cited, "content") : block);
    if (pdl_is_dict(use)) add_call(use, index, get(use, "input"), d);
    if (pdl_is_str(get(thought, "text"))) {
        pdl_reply_builder_reasoning(d, pdl_str_get(get(thought, "text")));
        add_thought(get(thought, "text"), get(thought, "signature"), d);
    }
    add_hidden_thought(get(get(block, "reasoningContent"), "redactedContent"), d);
}

static bool read(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err) {
    pdl_reply_builder d;
    pdl_vref content = get(get(get(json, "output"), "message"), "content");
    if (!pdl_is_list(content) && !pdl_is_str(content) && !pdl_is_dict(content)) {
        pdl_drop(json);
        return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "the answer has no output.message");
    }
    pdl_reply_builder_init(&d);
    d.head = pdl_dict_putz(d.head, "model", pdl_text(a->name));
    for (size_t i = 0; pdl_is_list(content) && i < pdl_list_len(content); i++)
        add_block_of_reply(pdl_list_at(content, i), (int64_t)i, &d);
    if (!pdl_is_list(content)) add_block_of_reply(content, 0, &d);
    pdl_reply_builder_stop(&d, get(json, "stopReason"));
    add_usage(get(json, "usage"), &d);
    return pdl_reply_builder_end(&d, json, raw, err);
}

/* --- stream ----------------------------------------------------------------------------------- */

static void add_delta(const pdl_ask *a, int64_t index, pdl_vref delta, pdl_reply_builder *d) {
    pdl_vref text = get(delta, "text"), input = get(get(delta, "toolUse"), "input"),
             thought = get(delta, "reasoningContent");
    pdl_reply_builder_parts(d, pdl_is_str(delta) ? delta : text);
    pdl_reply_builder_arguments(d, index, input, a->forced_tool);
    if (pdl_is_str(get(thought, "text")))
        pdl_reply_builder_reasoning(d, pdl_str_get(get(thought, "text")));
    add_hidden_thought(get(thought, "redactedContent"), d);
    if (!pdl_is_str(get(thought, "signature"))) return;
    /* The signature is the last part of a thought. */
    pdl_val all = pdl_text(pdl_str_sub(pdl_buf_str(&d->reasoning), d->mark, d->reasoning.len));
    add_thought(all, get(thought, "signature"), d);
    d->mark = d->reasoning.len;
    pdl_drop(all);
}

static void add_event(const pdl_ask *a, pdl_vref json, pdl_reply_builder *d) {
    pdl_vref delta = get(json, "contentBlockDelta"), start = get(json, "contentBlockStart"),
             stop = get(json, "messageStop"), meta = get(json, "metadata");
    if (pdl_is_absent(pdl_dict_getz(d->head, "model")))
        d->head = pdl_dict_putz(d->head, "model", pdl_text(a->name));
    if (pdl_is_dict(delta)) {
        add_delta(a, pdl_count_of(delta, "contentBlockIndex", 0), get(delta, "delta"), d);
    } else if (pdl_is_dict(start)) {
        pdl_vref use = get(get(start, "start"), "toolUse");
        bool schema = a->forced_tool && pdl_text_is(get(use, "name"), PDL_SCHEMA_TOOL);
        if (pdl_is_dict(use))
            pdl_reply_builder_call(d, pdl_count_of(start, "contentBlockIndex", 0),
                                   get(use, "toolUseId"), get(use, "name"), get(use, "input"),
                                   schema);
    } else if (pdl_is_dict(stop)) {
        pdl_reply_builder_stop(d, get(stop, "stopReason"));
    } else if (pdl_is_dict(meta)) {
        add_usage(get(meta, "usage"), d);
    }
}

/* Every frame belongs to this dialect, because a frame names the kind of its payload; new kinds are
 * ignored. */
static bool is_ours(pdl_vref json) {
    (void)json;
    return true;
}

static bool event(const pdl_ask *a, pdl_str text, pdl_reply_builder *d, pdl_err *err) {
    return pdl_reply_builder_event(d, a, text, is_ours, add_event, err);
}

/* --- marks ------------------------------------------------------------------------------------ */

/* Returns where this model accepts marks. The address of an inference profile does not contain the
 * name of its model. With such an address, only texts get marks, and only when the program requests
 * marks (`own`). */
static pdl_mark_places mark_places(pdl_str model, bool own) {
    static const struct {
        const char *word;
        pdl_mark_places places;
    } rows[] = {
#define M(word, places) {word, PDL_MARKS_##places},
#include "model/wire/bedrock_cache_marks.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (pdl_str_find(model, pdl_str_of(rows[i].word), 0) != PDL_NOT_FOUND)
            return rows[i].places;
    bool hidden = pdl_str_find(model, PDL_STR("arn:aws"), 0) != PDL_NOT_FOUND;
    return own && hidden ? PDL_MARKS_TEXT : PDL_MARKS_NOWHERE;
}

static const pdl_mark_form marks = {.tools_in = "toolConfig",
                                    .key = "cachePoint",
                                    .type = "default",
                                    .places = mark_places,
                                    .own_block = true};

const pdl_dialect pdl_dialect_bedrock = {.name = "bedrock",
                                         .media = PDL_MEDIA_IMAGE | PDL_MEDIA_FILE,
                                         .framing = PDL_FRAMING_FRAMES,
                                         .few_names = true,
                                         .resign = true,
                                         .write = write,
                                         .read = read,
                                         .event = event,
                                         .sign = sign,
                                         .embedder = &pdl_embedder_bedrock,
                                         .marks = &marks};
