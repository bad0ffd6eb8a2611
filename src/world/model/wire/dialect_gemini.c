/* dialect_gemini.c -- Google's generateContent, at Gemini and at Vertex AI (spec providers 13.3).
 * The service has contents with typed parts instead of messages. It requires a user message, and
 * wants the signatures of its calls and thoughts back. Vertex AI differs from Gemini only in its
 * address and its credentials.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "model/ask/messages.h"
#include "model/ask/params.h"
#include "model/ask/structured.h"
#include "model/ask/thinking.h"
#include "model/call/embedding_calls.h"
#include "model/wire/gemini_schema.h"
#include "model/wire/google.h"
#include "model/wire/message_parts.h"
#include "model/wire/partial_arguments.h"
#include "value/member.h"

#include "base/banned.h"

/* --- messages --------------------------------------------------------------------------------- */

static pdl_val object_with(const char *key, pdl_val v) {
    return pdl_dict_putz(pdl_dict_new(2), key, v);
}

/* Returns the MIME type of a part. When the part does not name the type, guesses it from the end of
 * the address. */
static pdl_str mime_of(const pdl_part *p) {
    static const struct {
        const char *end, *mime;
    } known[] = {{".png", "image/png"},       {".jpg", "image/jpeg"}, {".jpeg", "image/jpeg"},
                 {".webp", "image/webp"},     {".gif", "image/gif"},  {".mp4", "video/mp4"},
                 {".pdf", "application/pdf"}, {".mp3", "audio/mpeg"}, {".wav", "audio/wav"}};
    if (p->mime.n) return p->mime;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (pdl_str_ends(p->url, pdl_str_of(known[i].end))) return pdl_str_of(known[i].mime);
    return p->kind == PDL_PART_IMAGE ? PDL_STR("image/jpeg") : PDL_STR("application/octet-stream");
}

static pdl_val part_of(const pdl_part *p) {
    if (p->kind == PDL_PART_TEXT)
        return p->text.n ? object_with("text", pdl_text(p->text)) : pdl_absent();
    if (p->kind == PDL_PART_OTHER) return pdl_keep(p->value);
    pdl_val media = object_with("mime_type", pdl_text(mime_of(p)));
    if (p->data.n)
        return object_with("inline_data", pdl_dict_putz(media, "data", pdl_text(p->data)));
    return object_with("file_data", pdl_dict_putz(media, "file_uri", pdl_text(p->url)));
}

/* Adds the parts of a message. The content of a system message becomes one text. */
static pdl_val parts_of(pdl_vref message, pdl_val list) {
    pdl_vref content = pdl_dict_getz(message, "content");
    pdl_str role = pdl_message_role(message);
    if (!pdl_str_is(role, "system") && !pdl_str_is(role, "developer"))
        return pdl_parts_push(list, content, part_of);
    pdl_buf text = PDL_BUF;
    pdl_message_text(content, &text);
    if (text.len) return pdl_list_push(list, object_with("text", pdl_text_of_buf(&text)));
    pdl_buf_fini(&text);
    return list;
}

/* Returns the object that holds the text of a result; a text that is a JSON object is sent as that
 * object. The service takes a `$ref` in the object for the name of a part, and refuses the request.
 * So an object with a `$ref`, such as a result that contains a schema, is sent as a text. */
static pdl_val response_of(pdl_vref content) {
    pdl_buf text = PDL_BUF;
    pdl_err err = {0};
    pdl_val v;
    pdl_message_text(content, &text);
    bool has_ref = pdl_str_find(pdl_buf_str(&text), PDL_STR("\"$ref\""), 0) != PDL_NOT_FOUND;
    if (!has_ref && pdl_json_read(pdl_buf_str(&text), PDL_JSON_PYTHON, &v, NULL, &err)) {
        if (pdl_is_dict(v)) {
            pdl_buf_fini(&text);
            return v;
        }
        pdl_drop(v);
    }
    pdl_err_fini(&err);
    return object_with("content", pdl_text_of_buf(&text));
}

/* Returns a result together with the name of its function, which the service requires. The name is
 * in the message, or else in the call. */
static pdl_val result_of(pdl_vref messages, size_t i) {
    pdl_vref m = pdl_list_at(messages, i), name = pdl_dict_getz(m, "name"),
             id = pdl_dict_getz(m, "tool_call_id");
    pdl_str n = pdl_is_str(name) ? pdl_str_get(name) : (pdl_str){0};
    if (n.n == 0 && pdl_is_str(id)) n = pdl_call_name_of(messages, i, pdl_str_get(id));
    pdl_val f = object_with("name", pdl_text(n));
    return object_with("function_response",
                       pdl_dict_putz(f, "response", response_of(pdl_dict_getz(m, "content"))));
}

/* Returns a call with the signature that the service gave it and wants to get back. */
static pdl_val call_of(pdl_vref m, size_t i) {
    pdl_vref call = pdl_list_at(pdl_message_calls(m), i),
             marks = pdl_dict_getz(m, "thought_signatures");
    pdl_vref mark =
        pdl_is_list(marks) && i < pdl_list_len(marks) ? pdl_list_at(marks, i) : pdl_absent();
    pdl_val f = object_with("name", pdl_text(pdl_call_name(call)));
    pdl_val part = object_with("function_call", pdl_dict_putz(f, "args", pdl_call_input(call)));
    return pdl_is_str(mark) ? pdl_dict_putz(part, "thoughtSignature", pdl_keep(mark)) : part;
}

static const pdl_turns_form turns = {
    .key = "parts", .assistant = "model", .parts = parts_of, .call = call_of, .result = result_of};

/* Returns the placeholder of the reference for a user message. The service requires a user message,
 * so the placeholder is used when there are only system messages. */
static pdl_val placeholder_part(void) {
    pdl_val m = object_with("role", pdl_textz("user"));
    return pdl_dict_putz(m, "parts",
                         pdl_list_push(pdl_list_new(1), object_with("text", pdl_textz("."))));
}

static pdl_val put_messages(const pdl_ask *a, pdl_val body) {
    pdl_turns t = pdl_turns_write(&turns, a->messages);
    if (pdl_list_len(t.done) == 0 && pdl_list_len(t.head))
        t.done = pdl_list_push(t.done, placeholder_part());
    body = pdl_dict_putz(body, "contents", t.done);
    if (pdl_list_len(t.head))
        return pdl_dict_putz(body, "system_instruction", object_with("parts", t.head));
    pdl_drop(t.head);
    return body;
}

/* --- tools and schema ------------------------------------------------------------------------- */

static bool is_first_generation(const pdl_ask *a) {
    return pdl_str_starts(a->name, PDL_STR("gemini-1."));
}

/* Returns false for the schema of an object without properties, which Gemini refuses. */
static bool takes_arguments(pdl_vref schema) {
    static const char *const others[] = {"$ref", "allOf", "anyOf", "oneOf"};
    pdl_vref props = pdl_member(schema, "properties");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (!pdl_is_absent(pdl_member(schema, others[i]))) return true;
    return pdl_is_dict(props) && pdl_dict_len(props) > 0;
}

/* Adds the parameters of a function in the form that can express them. The first generation of
 * models has one form only. */
static pdl_val put_parameters(const pdl_ask *a, pdl_vref schema, pdl_val declaration) {
    static const char *const refused[] = {"additionalProperties", "strict", "$schema", NULL};
    pdl_val reduced = pdl_structured_without(schema, refused);
    if (is_first_generation(a) || pdl_gemini_schema_is_plain(reduced))
        return pdl_dict_putz(declaration, "parameters", reduced);
    pdl_drop(reduced);
    return pdl_dict_putz(declaration, "parameters_json_schema", pdl_keep(schema));
}

static pdl_val declaration_of(const pdl_ask *a, pdl_vref f) {
    static const char *const kept[] = {"name", "description"};
    pdl_val out = pdl_dict_new(3);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        pdl_vref v = pdl_dict_getz(f, kept[i]);
        if (pdl_is_str(v)) out = pdl_dict_putz(out, kept[i], pdl_keep(v));
    }
    pdl_vref schema = pdl_dict_getz(f, "parameters");
    return takes_arguments(schema) ? put_parameters(a, schema, out) : out;
}

static pdl_val put_tools(const pdl_ask *a, pdl_val body) {
    pdl_vref given = pdl_dict_getz(a->params, "tools");
    pdl_val functions = pdl_list_new(2), tools = pdl_list_new(1);
    for (size_t i = 0; pdl_is_list(given) && i < pdl_list_len(given); i++) {
        pdl_vref tool = pdl_list_at(given, i), f = pdl_tool_function(tool);
        if (pdl_is_dict(f))
            functions = pdl_list_push(functions, declaration_of(a, f));
        else
            /* the service itself provides this tool */
            tools = pdl_list_push(tools, pdl_keep(tool));
    }
    if (pdl_list_len(functions))
        tools = pdl_list_push(tools, object_with("function_declarations", functions));
    else
        pdl_drop(functions);
    if (pdl_list_len(tools)) return pdl_dict_putz(body, "tools", tools);
    pdl_drop(tools);
    return body;
}

static pdl_val put_choice(const pdl_ask *a, pdl_val body) {
    pdl_vref choice = pdl_dict_getz(a->params, "tool_choice");
    pdl_str name = pdl_call_name(choice);
    if (pdl_is_absent(choice)) return body;
    bool any = name.n || pdl_text_is(choice, "required");
    pdl_val c = object_with("mode", pdl_textz(any                           ? "ANY"
                                              : pdl_text_is(choice, "none") ? "NONE"
                                                                            : "AUTO"));
    if (name.n)
        c = pdl_dict_putz(c, "allowed_function_names",
                          pdl_list_push(pdl_list_new(1), pdl_text(name)));
    return pdl_dict_putz(body, "toolConfig", object_with("functionCallingConfig", c));
}

/* Adds a schema. The first generation of models supports only a part of the schema language, under
 * another name. */
static pdl_val put_schema(const pdl_ask *a, pdl_vref schema, pdl_val config) {
    static const char *const refused[] = {"additionalProperties", "strict", "$schema", NULL};
    config = pdl_dict_putz(config, "response_mime_type", pdl_textz("application/json"));
    if (is_first_generation(a))
        return pdl_dict_putz(config, "response_schema", pdl_structured_without(schema, refused));
    return pdl_dict_putz(config, "response_json_schema", pdl_keep(schema));
}

static pdl_val put_format(pdl_ask *a, pdl_val config) {
    pdl_vref format = pdl_dict_getz(a->params, "response_format"),
             schema = pdl_structured_schema(format);
    if (pdl_is_dict(schema)) return put_schema(a, schema, config);
    if (pdl_is_dict(format) && pdl_text_is(pdl_dict_getz(format, "type"), "json_object"))
        return pdl_dict_putz(config, "response_mime_type", pdl_textz("application/json"));
    if (pdl_is_absent(pdl_structured_wanted(a))) return config;
    a->structured = PDL_BY_GEMINI;
    return put_schema(a, a->schema, config);
}

/* --- request ---------------------------------------------------------------------------------- */

static const pdl_param_rule rules[] = {
    {.name = "max_tokens", .as = "max_output_tokens", .to = PDL_TO_INNER},
    {.name = "max_completion_tokens", .as = "max_output_tokens", .to = PDL_TO_INNER},
    {.name = "stop", .as = "stop_sequences", .to = PDL_TO_INNER, .list = true},
    {.name = "n", .as = "candidate_count", .to = PDL_TO_INNER},
    {.name = "logprobs", .as = "responseLogprobs", .to = PDL_TO_INNER},
    {.name = "top_logprobs", .as = "logprobs", .to = PDL_TO_INNER},
    {.name = "modalities", .to = PDL_TO_OWN},
    {.name = "thinking", .to = PDL_TO_OWN},
    {.name = "reasoning_effort", .to = PDL_TO_OWN},
    {.name = "response_format", .to = PDL_TO_OWN},
    {.name = "tools", .to = PDL_TO_OWN},
    {.name = "tool_choice", .to = PDL_TO_OWN},
    {.name = "safety_settings", .as = "safetySettings", .to = PDL_TO_TOP},
    {.name = "safetySettings", .to = PDL_TO_TOP},
    {.name = "cachedContent", .to = PDL_TO_TOP},
    {.name = "cached_content", .as = "cachedContent", .to = PDL_TO_TOP},
    {.name = "labels", .to = PDL_TO_TOP},
    {.name = "user", .to = PDL_TO_NOBODY},
    {.name = "parallel_tool_calls", .to = PDL_TO_NOBODY},
    {.name = "min_p", .to = PDL_TO_NOBODY},
    {.name = "repetition_penalty", .to = PDL_TO_NOBODY},
    {.name = "stream_options", .to = PDL_TO_NOBODY},
    {.name = "logit_bias", .to = PDL_TO_REFUSED},
};

/* Returns the number of thinking tokens; -1 when the program says nothing about it. */
static int64_t thinking_budget(const pdl_ask *a) {
    pdl_vref own = pdl_dict_getz(a->params, "thinking");
    int64_t budget = pdl_thinking_google_tokens(pdl_dict_getz(a->params, "reasoning_effort"));
    if (budget >= 0) return budget;
    return pdl_is_dict(own) ? pdl_count_of(own, "budget_tokens", -1) : -1;
}

static pdl_val put_thinking(const pdl_ask *a, pdl_val config) {
    int64_t budget = thinking_budget(a);
    pdl_thinking form = pdl_thinking_of(a->name);
    if (budget < 0 || !pdl_is_absent(pdl_dict_getz(config, "thinkingConfig"))) return config;
    pdl_val level = form == PDL_THINKING_BUDGET
                        ? pdl_absent()
                        : pdl_thinking_level(form, pdl_dict_getz(a->params, "reasoning_effort"));
    pdl_val t = pdl_is_absent(level) ? object_with("thinkingBudget", pdl_int(budget))
                                     : object_with("thinkingLevel", level);
    return pdl_dict_putz(config, "thinkingConfig",
                         pdl_dict_putz(t, "includeThoughts", pdl_bool(budget > 0)));
}

/* Adds the modalities in capitals: OpenAI writes ["text", "image"]. */
static pdl_val put_modalities(const pdl_ask *a, pdl_val config) {
    pdl_vref given = pdl_dict_getz(a->params, "modalities");
    if (!pdl_is_list(given)) return config;
    pdl_val list = pdl_list_new(2);
    for (size_t i = 0; i < pdl_list_len(given); i++) {
        pdl_buf upper = PDL_BUF;
        if (pdl_is_str(pdl_list_at(given, i)))
            pdl_utf8_upper(&upper, pdl_str_get(pdl_list_at(given, i)));
        list = pdl_list_push(list, pdl_text_of_buf(&upper));
    }
    return pdl_dict_putz(config, "responseModalities", list);
}

static void put_model(const pdl_ask *a, pdl_buf *path) {
    PDL_PUT(path, "models/");
    pdl_url_quote(a->name, "/", path);
}

static void put_method(const pdl_ask *a, pdl_buf *path) {
    pdl_buf_put(path, a->stream ? PDL_STR(":streamGenerateContent?alt=sse")
                                : PDL_STR(":generateContent"));
}

static bool write_body(pdl_ask *a, pdl_val *body, pdl_err *err) {
    pdl_vref extra = pdl_dict_getz(a->params, "extra_body");
    pdl_val b = put_messages(a, pdl_dict_new(6)), config = pdl_dict_new(8);
    if (!pdl_params_place(a, PDL_PARAM_RULES(rules, PDL_TO_INNER), &b, &config, err)) {
        pdl_drop(b);
        pdl_drop(config);
        return false;
    }
    config = put_modalities(a, put_thinking(a, put_format(a, config)));
    if (pdl_dict_len(config))
        b = pdl_dict_putz(b, "generationConfig", config);
    else
        pdl_drop(config);
    b = put_choice(a, put_tools(a, b));
    *body = pdl_is_dict(extra) ? pdl_dict_merge(b, extra) : b;
    return true;
}

static bool write(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    pdl_buf_putc(path, '/');
    put_model(a, path);
    put_method(a, path);
    return write_body(a, body, err);
}

static bool sign(const pdl_sign *s, pdl_err *err) {
    (void)err;
    if (!pdl_headers_has(s->headers, "x-goog-api-key") &&
        !pdl_headers_has(s->headers, "Authorization"))
        pdl_headers_add(s->headers, "x-goog-api-key: %.*s", PDL_FMT(s->key));
    return true;
}

/* --- Vertex AI -------------------------------------------------------------------------------- */

/* Appends the project: from the parameters or the environment, or else from the credentials. Error:
 * config when none of them has it. */
static bool project_of(const pdl_ask *a, pdl_buf *out, pdl_err *err) {
    pdl_str named = pdl_setting("vertex_project VERTEXAI_PROJECT VERTEX_PROJECT", a->given, a->env);
    pdl_val c = pdl_absent();
    pdl_buf_put(out, named);
    if (named.n) return true;
    if (!pdl_google_credentials(a, &c, err)) return false;
    pdl_vref own = pdl_is_dict(c) ? pdl_dict_getz(c, "project_id") : pdl_absent();
    if (pdl_is_str(own)) pdl_buf_put(out, pdl_str_get(own));
    pdl_drop(c);
    return out->len || pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                                   "set VERTEXAI_PROJECT or give parameters.vertex_project");
}

/* Signs with a token that the program gives, or exchanges the credentials for one. */
static bool sign_vertex(const pdl_sign *s, pdl_err *err) {
    pdl_val c = pdl_absent();
    if (pdl_headers_has(s->headers, "Authorization")) return true;
    if (s->key.n) {
        pdl_headers_bearer(s->headers, s->key);
        return true;
    }
    if (!pdl_google_credentials(s->ask, &c, err)) return false;
    bool ok = pdl_is_dict(c)
                  ? pdl_google_exchange(s, c, err)
                  : pdl_err_set(err, PDL_E_auth, (pdl_loc){0},
                                "Missing credentials: set GOOGLE_APPLICATION_CREDENTIALS or "
                                "VERTEXAI_ACCESS_TOKEN, or give parameters.api_key");
    pdl_drop(c);
    return ok;
}

bool pdl_vertex_path(const pdl_ask *a, pdl_buf *path, pdl_err *err) {
    static const char global[] = "https://global-aiplatform.";
    pdl_buf project = PDL_BUF;
    pdl_str place =
        pdl_setting("vertex_location VERTEXAI_LOCATION VERTEX_LOCATION", a->given, a->env);
    if (!project_of(a, &project, err)) {
        pdl_buf_fini(&project);
        return false;
    }
    if (place.n == 0) place = PDL_STR("global");
    if (pdl_str_starts(pdl_buf_str(path),
                       pdl_str_of(global))) { /* the location "global" has a host without prefix */
        pdl_buf_clear(path);
        PDL_PUT(path, "https://aiplatform.googleapis.com");
    }
    pdl_buf_put(path, pdl_str_ends(pdl_buf_str(path), PDL_STR("/v1")) ? PDL_STR("/projects/")
                                                                      : PDL_STR("/v1/projects/"));
    pdl_url_quote(pdl_buf_str(&project), "", path);
    pdl_buf_fini(&project);
    PDL_PUT(path, "/locations/");
    pdl_url_quote(place, "", path);
    PDL_PUT(path, "/publishers/google/");
    put_model(a, path);
    return true;
}

static bool write_vertex(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    if (!pdl_vertex_path(a, path, err)) return false;
    put_method(a, path);
    return write_body(a, body, err);
}

/* --- replies ---------------------------------------------------------------------------------- */

static pdl_vref get(pdl_vref v, const char *a, const char *b) {
    pdl_vref x = pdl_is_dict(v) ? pdl_dict_getz(v, a) : pdl_absent();
    return pdl_is_absent(x) && b && pdl_is_dict(v) ? pdl_dict_getz(v, b) : x;
}

/* Adds a call. A call without a name continues the one before: Vertex AI may send the name first
 * and the arguments in further parts, of which the last has neither. */
static void add_call(pdl_vref part, pdl_vref f, pdl_reply_builder *d) {
    pdl_vref mark = get(part, "thoughtSignature", "thought_signature"), old,
             partial = get(f, "partialArgs", "partial_args");
    pdl_vref name = get(f, "name", NULL);
    bool named = pdl_is_str(name) && pdl_str_get(name).n;
    if (!named) {
        if (d->tools.n)
            pdl_reply_builder_continue(d, get(f, "args", NULL), partial);
        else
            d->has_unread = true;
        return;
    }
    pdl_val call = pdl_call_new(get(f, "id", NULL), get(f, "name", NULL), get(f, "args", NULL));
    call = pdl_dict_putz(call, "index", pdl_int((int64_t)d->tools.n));
    pdl_val list = pdl_list_push(pdl_list_new(1), call);
    pdl_reply_builder_tools(d, list);
    pdl_drop(list);
    pdl_reply_builder_continue(d, pdl_absent(), partial);
    old = pdl_dict_getz(d->extra, "thought_signatures");
    if (!pdl_is_str(mark) && !pdl_is_list(old)) return;
    pdl_val marks = pdl_is_list(old) ? pdl_keep(old) : pdl_list_new(1);
    while (pdl_list_len(marks) + 1 < d->tools.n) marks = pdl_list_push(marks, pdl_null());
    marks = pdl_list_push(marks, pdl_is_str(mark) ? pdl_keep(mark) : pdl_null());
    d->extra = pdl_dict_putz(d->extra, "thought_signatures", marks);
}

/* Adds an image that the model made, besides the text: {type: image_url, image_url: {url:
 * "data:..."}} in `images`. */
static void add_image(pdl_vref media, pdl_reply_builder *d) {
    pdl_vref mime = get(media, "mimeType", "mime_type"), data = get(media, "data", NULL),
             old = pdl_dict_getz(d->extra, "images");
    if (!pdl_is_str(mime) || !pdl_is_str(data)) return;
    pdl_val url =
        pdl_textf("data:%.*s;base64,%.*s", PDL_FMT(pdl_str_get(mime)), PDL_FMT(pdl_str_get(data)));
    pdl_val image = pdl_dict_putz(object_with("type", pdl_textz("image_url")), "image_url",
                                  object_with("url", url));
    pdl_val list = pdl_list_push(pdl_is_list(old) ? pdl_keep(old) : pdl_list_new(1), image);
    d->extra = pdl_dict_putz(d->extra, "images", list);
    d->arrived++;
}

/* Returns true for a part that has nothing but the marks of a thought. */
static bool is_mark_alone(pdl_vref part) {
    static const char *const marks[] = {"thought", "thoughtSignature", "thought_signature"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        n += !pdl_is_absent(get(part, marks[i], NULL));
    return n && pdl_dict_len(part) == n;
}

static void add_part_of_reply(pdl_vref part, pdl_reply_builder *d) {
    pdl_vref text = get(part, "text", NULL), f = get(part, "functionCall", "function_call"),
             thought = get(part, "thought", NULL), media = get(part, "inlineData", "inline_data");
    if (pdl_is_dict(f)) {
        add_call(part, f, d);
    } else if (pdl_is_dict(media)) {
        add_image(media, d);
    } else if (pdl_is_str(text) && pdl_is_bool(thought) && pdl_bool_of(thought)) {
        pdl_reply_builder_reasoning(d, pdl_str_get(text));
    } else if (!is_mark_alone(part)) {
        pdl_reply_builder_parts(d, part);
    }
}

/* Adds the content of a candidate. Gateways also write one part, or a text. */
static void add_content(pdl_vref candidate, pdl_reply_builder *d) {
    pdl_vref content = get(candidate, "content", NULL), parts = get(content, "parts", "text");
    if (pdl_is_absent(content)) parts = get(candidate, "text", "output");
    if (pdl_is_str(content) || pdl_is_list(content)) parts = content;
    for (size_t i = 0; pdl_is_list(parts) && i < pdl_list_len(parts); i++)
        add_part_of_reply(pdl_list_at(parts, i), d);
    if (!pdl_is_list(parts)) add_part_of_reply(parts, d);
}

static pdl_val token_of(pdl_vref t) {
    pdl_vref text = get(t, "token", NULL), p = get(t, "logProbability", NULL);
    pdl_val out = object_with("token", pdl_is_str(text) ? pdl_keep(text) : pdl_textz(""));
    return pdl_dict_putz(out, "logprob", pdl_is_absent(p) ? pdl_null() : pdl_keep(p));
}

/* Adds {chosenCandidates: [token], topCandidates: [{candidates: [token]}]} in OpenAI's form. */
static void add_logprobs(pdl_vref v, pdl_reply_builder *d) {
    pdl_vref chosen = get(v, "chosenCandidates", NULL), tops = get(v, "topCandidates", NULL);
    if (!pdl_is_list(chosen)) return;
    pdl_val content = pdl_list_new(pdl_list_len(chosen));
    for (size_t i = 0; i < pdl_list_len(chosen); i++) {
        pdl_vref others = pdl_is_list(tops) && i < pdl_list_len(tops)
                              ? get(pdl_list_at(tops, i), "candidates", NULL)
                              : pdl_absent();
        pdl_val top = pdl_list_new(2);
        for (size_t k = 0; pdl_is_list(others) && k < pdl_list_len(others); k++)
            top = pdl_list_push(top, token_of(pdl_list_at(others, k)));
        content = pdl_list_push(
            content, pdl_dict_putz(token_of(pdl_list_at(chosen, i)), "top_logprobs", top));
    }
    pdl_val all = object_with("content", content);
    pdl_reply_builder_logprobs(d, all);
    pdl_drop(all);
}

static void add_candidate(pdl_vref c, pdl_reply_builder *d) {
    pdl_vref finish = get(c, "finishReason", "finish_reason");
    add_content(c, d);
    pdl_reply_builder_finish(d, finish);
    pdl_vref why = get(c, "finishMessage", "finish_message");
    if (pdl_is_str(why)) pdl_reply_builder_set(&d->finish_message, pdl_keep(why));
    add_logprobs(get(c, "logprobsResult", NULL), d);
}

/* Makes an error of an answer without candidates, which means that the service refused the prompt.
 * The answer gives the reason. When there are candidates, the reason only explains why the text
 * ends. */
static void add_block(pdl_vref json, pdl_reply_builder *d) {
    pdl_vref feedback = get(json, "promptFeedback", "prompt_feedback"),
             reason = get(feedback, "blockReason", "block_reason"),
             why = get(feedback, "blockReasonMessage", "block_reason_message"),
             list = get(json, "candidates", NULL);
    if (!pdl_is_str(reason)) return;
    pdl_reply_builder_set(&d->finish, pdl_textz("content_filter"));
    if (d->begun || (pdl_is_list(list) && pdl_list_len(list))) return;
    pdl_buf text = PDL_BUF;
    pdl_buf_putf(&text, "the prompt was blocked, with the reason %.*s",
                 PDL_FMT(pdl_str_get(reason)));
    if (pdl_is_str(why)) pdl_buf_putf(&text, ": %.*s", PDL_FMT(pdl_str_get(why)));
    pdl_val error = object_with("code", pdl_textz("content_filter"));
    error = pdl_dict_putz(error, "message", pdl_text_of_buf(&text));
    pdl_reply_builder_set(&d->error, object_with("error", error));
}

static void add_head(pdl_vref json, pdl_reply_builder *d) {
    pdl_vref u = get(json, "usageMetadata", "usage_metadata"),
             model = get(json, "modelVersion", NULL), id = get(json, "responseId", NULL);
    if (pdl_is_str(id)) d->head = pdl_dict_putz(d->head, "id", pdl_keep(id));
    if (pdl_is_str(model)) d->head = pdl_dict_putz(d->head, "model", pdl_keep(model));
    add_block(json, d);
    if (!pdl_is_dict(u)) return;
    int64_t thoughts = pdl_count_of(u, "thoughtsTokenCount", -1);
    int64_t out = pdl_count_of(u, "candidatesTokenCount", 0) + (thoughts > 0 ? thoughts : 0);
    int64_t in =
        pdl_count_of(u, "promptTokenCount", 0) + pdl_count_of(u, "toolUsePromptTokenCount", 0);
    pdl_reply_builder_set(
        &d->usage,
        pdl_usage_new(in, out, pdl_count_of(u, "cachedContentTokenCount", -1), thoughts));
}

/* Adds a choice for a candidate after the first. */
static pdl_val add_choice(pdl_val raw, pdl_vref candidate, size_t index) {
    pdl_reply_builder d;
    pdl_reply_builder_init(&d);
    add_candidate(candidate, &d);
    pdl_val other = pdl_reply_builder_take(&d);
    pdl_reply_builder_fini(&d);
    pdl_val choice = pdl_keep(pdl_list_at(pdl_dict_getz(other, "choices"), 0));
    choice = pdl_dict_putz(choice, "index", pdl_int((int64_t)index));
    pdl_drop(other);
    pdl_val choices = pdl_list_push(pdl_keep(pdl_dict_getz(raw, "choices")), choice);
    return pdl_dict_putz(raw, "choices", choices);
}

static bool read(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err) {
    pdl_reply_builder d;
    pdl_vref list = get(json, "candidates", NULL);
    size_t n = pdl_is_list(list) ? pdl_list_len(list) : 0;
    (void)a;
    pdl_reply_builder_init(&d);
    if (pdl_is_dict(json)) add_head(json, &d);
    if (n) add_candidate(pdl_list_at(list, 0), &d);
    pdl_str blocked = pdl_member_str(pdl_member(d.error, "error"), "message");
    bool ok = blocked.n
                  ? pdl_err_set(err, PDL_E_content_policy, (pdl_loc){0}, "%.*s", PDL_FMT(blocked))
              : n ? pdl_reply_builder_check(&d, err)
                  : pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "the answer has no candidates");
    if (ok) *raw = pdl_reply_builder_take(&d);
    for (size_t i = 1; ok && i < n; i++) *raw = add_choice(*raw, pdl_list_at(list, i), i);
    pdl_reply_builder_fini(&d);
    pdl_drop(json);
    return ok;
}

static void add_candidate_event(const pdl_ask *a, pdl_vref candidate, pdl_reply_builder *d) {
    (void)a;
    add_candidate(candidate, d);
}

static void add_event(const pdl_ask *a, pdl_vref json, pdl_reply_builder *d) {
    pdl_reply_builder_choices(d, a, pdl_dict_getz(json, "candidates"), add_candidate_event);
    add_head(json, d);
}

static bool is_ours(pdl_vref json) {
    return pdl_is_list(get(json, "candidates", NULL)) ||
           pdl_is_dict(get(json, "usageMetadata", "usage_metadata")) ||
           pdl_is_dict(get(json, "promptFeedback", NULL));
}

static bool event(const pdl_ask *a, pdl_str text, pdl_reply_builder *d, pdl_err *err) {
    return pdl_reply_builder_event(d, a, text, is_ours, add_event, err);
}

const pdl_dialect pdl_dialect_gemini = {.name = "gemini",
                                        .media = PDL_MEDIA_ANY,
                                        .write = write,
                                        .read = read,
                                        .event = event,
                                        .sign = sign,
                                        .embedder = &pdl_embedder_gemini};
const pdl_dialect pdl_dialect_vertex = {.name = "vertex",
                                        .media = PDL_MEDIA_ANY,
                                        .write = write_vertex,
                                        .read = read,
                                        .event = event,
                                        .sign = sign_vertex,
                                        .embedder = &pdl_embedder_vertex};
