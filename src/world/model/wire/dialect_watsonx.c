/* dialect_watsonx.c -- IBM watsonx.ai: chat, and text generation by prompt (spec providers 12). A
 * chat has the form of OpenAI's chats, while text generation gets a prompt in the form that the
 * model was trained on (prompt_forms.h). Both need a project or a space, and a token for which the
 * key is exchanged.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/word_list.h"
#include "model/ask/messages.h"
#include "model/ask/params.h"
#include "model/ask/prompt_forms.h"
#include "model/ask/structured.h"
#include "model/call/embedding_calls.h"
#include "model/wire/message_parts.h"
#include "value/member.h"

#include "base/banned.h"

#define DEPLOYMENT PDL_STR("deployment/")
#define IAM        "https://iam.cloud.ibm.com/identity/token"

/* --- addresses and credentials ---------------------------------------------------------------- */

/* Appends the path for `what`: "text/chat", "text/generation" or "text/embeddings". */
static void put_path(const pdl_ask *a, const char *what, pdl_buf *path) {
    pdl_str version = pdl_setting("api_version", a->given, a->env);
    if (version.n == 0) version = PDL_STR("2024-03-13");
    PDL_PUT(path, "/ml/v1/");
    if (pdl_str_starts(a->name, DEPLOYMENT)) {
        PDL_PUT(path, "deployments/");
        pdl_url_quote(pdl_str_sub(a->name, DEPLOYMENT.n, a->name.n), "", path);
        pdl_buf_putc(path, '/');
    }
    pdl_buf_putf(path, "%s%s?version=", what, a->stream ? "_stream" : "");
    pdl_url_quote(version, "", path);
}

/* Adds model_id and the project, or else the space, to *body. A deployment has a model and a
 * project already, so nothing is added for it. Error: config when both settings are missing. */
static bool put_model(const pdl_ask *a, pdl_val *body, pdl_err *err) {
    if (pdl_str_starts(a->name, DEPLOYMENT)) return true;
    pdl_str project = pdl_setting(
        "project_id watsonx_project WATSONX_PROJECT_ID WX_PROJECT_ID PROJECT_ID", a->given, a->env);
    *body = pdl_dict_putz(*body, "model_id", pdl_text(a->name));
    if (project.n) {
        *body = pdl_dict_putz(*body, "project_id", pdl_text(project));
        return true;
    }
    pdl_str space =
        pdl_setting("space_id WATSONX_DEPLOYMENT_SPACE_ID WATSONX_SPACE_ID WX_SPACE_ID SPACE_ID",
                    a->given, a->env);
    if (space.n == 0)
        return pdl_err_set(
            err, PDL_E_config, (pdl_loc){0},
            "Watsonx project_id and space_id not set. Set WX_PROJECT_ID or WX_SPACE_ID in "
            "environment variables or pass in as a parameter.");
    *body = pdl_dict_putz(*body, "space_id", pdl_text(space));
    return true;
}

bool pdl_watsonx_head(const pdl_ask *a, const char *what, pdl_buf *path, pdl_val *body,
                      pdl_err *err) {
    put_path(a, what, path);
    return put_model(a, body, err);
}

/* Signs with a header of the program, a token of the program or the environment, a Zen key, or a
 * token for which the key is exchanged. */
static bool sign(const pdl_sign *s, pdl_err *err) {
    const pdl_ask *a = s->ask;
    if (pdl_headers_has(s->headers, "Authorization")) return true;
    pdl_str token = pdl_setting("token WATSONX_TOKEN", a->given, a->env);
    if (token.n) {
        pdl_headers_bearer(s->headers, token);
        return true;
    }
    pdl_str zen = pdl_setting("zen_api_key WATSONX_ZENAPIKEY", a->given, a->env);
    if (zen.n) {
        pdl_headers_add(s->headers, "Authorization: ZenApiKey %.*s", PDL_FMT(zen));
        return true;
    }
    if (s->key.n == 0) return pdl_key_missing(a->provider, err);
    pdl_str url = pdl_setting("WATSONX_IAM_URL", a->given, a->env);
    pdl_buf_put(s->token_url, url.n ? url : PDL_STR(IAM));
    PDL_PUT(s->token_request,
            "grant_type=urn%3Aibm%3Aparams%3Aoauth%3Agrant-type%3Aapikey&apikey=");
    pdl_url_quote(s->key, "", s->token_request);
    return true;
}

/* --- chat ------------------------------------------------------------------------------------- */

static const pdl_param_rule chat_rules[] = {
    {.name = "max_completion_tokens", .to = PDL_TO_REFUSED},
    {.name = "parallel_tool_calls", .to = PDL_TO_REFUSED},
    {.name = "logit_bias", .to = PDL_TO_REFUSED},
    {.name = "user", .to = PDL_TO_NOBODY},
    {.name = "stream_options", .to = PDL_TO_NOBODY},
    {.name = "tools", .to = PDL_TO_OWN},
    {.name = "tool_choice", .to = PDL_TO_OWN},
    {.name = "top_k", .to = PDL_TO_OWN},
    {.name = "repetition_penalty", .to = PDL_TO_OWN},
    {.name = "url", .to = PDL_TO_NOBODY},
    {.name = "project_id", .to = PDL_TO_NOBODY},
    {.name = "watsonx_project", .to = PDL_TO_NOBODY},
    {.name = "space_id", .to = PDL_TO_NOBODY},
};

static pdl_val put_tools(const pdl_ask *a, pdl_val body) {
    static const char *const refused[] = {"additionalProperties", "strict", NULL};
    pdl_vref tools = pdl_dict_getz(a->params, "tools"),
             choice = pdl_dict_getz(a->params, "tool_choice");
    if (pdl_is_list(tools)) {
        pdl_val list = pdl_list_new(pdl_list_len(tools));
        for (size_t i = 0; i < pdl_list_len(tools); i++)
            list = pdl_list_push(list, pdl_structured_without(pdl_list_at(tools, i), refused));
        body = pdl_dict_putz(body, "tools", list);
    }
    if (pdl_is_str(choice)) return pdl_dict_putz(body, "tool_choice_option", pdl_keep(choice));
    return pdl_is_absent(choice) ? body : pdl_dict_putz(body, "tool_choice", pdl_keep(choice));
}

static bool check_text_only(const pdl_ask *a, pdl_err *err) {
    static const char *const names[] = {"top_k", "repetition_penalty"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!pdl_is_absent(pdl_dict_getz(a->params, names[i])) && !pdl_params_drop(a->given))
            return pdl_err_set(
                err, PDL_E_unsupported_params, (pdl_loc){0},
                "watsonx does not support the parameter in chat. Please use the watsonx_text "
                "provider instead, to call the /text/generation endpoint. Param: %s",
                names[i]);
    return true;
}

static pdl_val put_schema(pdl_ask *a, pdl_val body) {
    if (pdl_is_absent(pdl_structured_wanted(a))) return body;
    a->structured = PDL_BY_SCHEMA;
    return pdl_dict_putz(body, "response_format", pdl_structured_format(a->schema));
}

static pdl_val merge_extra(const pdl_ask *a, pdl_val body) {
    pdl_vref extra = pdl_dict_getz(a->params, "extra_body");
    return pdl_is_dict(extra) ? pdl_dict_merge(body, extra) : body;
}

static bool write_chat(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    pdl_val b = pdl_dict_new(8), none = pdl_dict_new(0);
    put_path(a, "text/chat", path);
    b = pdl_dict_putz(b, "messages", pdl_messages_chat(a->messages, a->provider->quirks, 0));
    bool ok = put_model(a, &b, err) && check_text_only(a, err) &&
              pdl_params_place(a, PDL_PARAM_RULES(chat_rules, PDL_TO_TOP), &b, &none, err);
    pdl_drop(none);
    if (!ok) {
        pdl_drop(b);
        return false;
    }
    *body = merge_extra(a, put_schema(a, put_tools(a, b)));
    return true;
}

/* Returns true for a reason that means a limit here. Other services give these reasons for an
 * abort, or have no such words. */
static bool is_limit(pdl_vref reason) {
    static const char *const limits[] = {"cancelled", "time_limit", "token_limit"};
    return pdl_is_str(reason) && PDL_STR_IN(pdl_str_get(reason), limits);
}

/* Replaces each finish reason that means a limit by `length`. Takes raw. */
static pdl_val with_limits(pdl_val raw) {
    pdl_vref choices = pdl_member(raw, "choices");
    bool any = false;
    for (size_t i = 0; pdl_is_list(choices) && i < pdl_list_len(choices); i++)
        any = any || is_limit(pdl_member(pdl_list_at(choices, i), "finish_reason"));
    if (!any) return raw;
    pdl_val list = pdl_list_new(pdl_list_len(choices));
    for (size_t i = 0; i < pdl_list_len(choices); i++) {
        pdl_val choice = pdl_keep(pdl_list_at(choices, i));
        if (is_limit(pdl_member(choice, "finish_reason")))
            choice = pdl_dict_putz(choice, "finish_reason", pdl_textz("length"));
        list = pdl_list_push(list, choice);
    }
    return pdl_dict_putz(raw, "choices", list);
}

static bool read_chat(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err) {
    if (!pdl_dialect_openai.read(a, json, raw, err)) return false;
    *raw = with_limits(*raw);
    return true;
}

static bool event_chat(const pdl_ask *a, pdl_str text, pdl_reply_builder *d, pdl_err *err) {
    bool ok = pdl_dialect_openai.event(a, text, d, err);
    if (is_limit(d->finish)) pdl_reply_builder_set(&d->finish, pdl_textz("length"));
    return ok;
}

/* --- text generation -------------------------------------------------------------------------- */

static const pdl_param_rule text_rules[] = {
    {.name = "max_tokens", .as = "max_new_tokens", .to = PDL_TO_INNER},
    {.name = "max_completion_tokens", .as = "max_new_tokens", .to = PDL_TO_INNER},
    {.name = "stop", .as = "stop_sequences", .to = PDL_TO_INNER, .list = true},
    {.name = "seed", .as = "random_seed", .to = PDL_TO_INNER},
    {.name = "frequency_penalty", .as = "repetition_penalty", .to = PDL_TO_INNER},
    {.name = "moderations", .to = PDL_TO_TOP},
    {.name = "response_format", .to = PDL_TO_NOBODY},
    {.name = "user", .to = PDL_TO_NOBODY},
    {.name = "stream_options", .to = PDL_TO_NOBODY},
    {.name = "n", .to = PDL_TO_REFUSED},
    {.name = "presence_penalty", .to = PDL_TO_REFUSED},
    {.name = "logit_bias", .to = PDL_TO_REFUSED},
    {.name = "logprobs", .to = PDL_TO_REFUSED},
    {.name = "top_logprobs", .to = PDL_TO_REFUSED},
    {.name = "tools", .to = PDL_TO_REFUSED},
    {.name = "tool_choice", .to = PDL_TO_REFUSED},
    {.name = "parallel_tool_calls", .to = PDL_TO_REFUSED},
    {.name = "reasoning_effort", .to = PDL_TO_REFUSED},
    {.name = "url", .to = PDL_TO_NOBODY},
    {.name = "project_id", .to = PDL_TO_NOBODY},
    {.name = "watsonx_project", .to = PDL_TO_NOBODY},
    {.name = "space_id", .to = PDL_TO_NOBODY},
};

static bool has(pdl_str s, const char *needle) {
    return pdl_str_find(s, pdl_str_of(needle), 0) != PDL_NOT_FOUND;
}

static pdl_prompt_form form_of(pdl_str name) {
    bool instruct = has(name, "instruct");
    if (has(name, "granite") && has(name, "chat")) return PDL_PROMPT_GRANITE;
    if (pdl_str_starts(name, PDL_STR("mistralai/"))) return PDL_PROMPT_MISTRAL;
    if (instruct && (has(name, "mistral") || has(name, "mixtral"))) return PDL_PROMPT_MISTRAL;
    return instruct && has(name, "llama-3") ? PDL_PROMPT_LLAMA3 : PDL_PROMPT_JOIN;
}

static bool write_text(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    pdl_buf prompt = PDL_BUF;
    pdl_val b = pdl_dict_new(4), inner = pdl_dict_new(8);
    put_path(a, "text/generation", path);
    pdl_prompt_write(a->messages, a->given, form_of(a->name), &prompt);
    b = pdl_dict_putz(b, "input", pdl_text_of_buf(&prompt));
    bool ok = put_model(a, &b, err) &&
              pdl_params_place(a, PDL_PARAM_RULES(text_rules, PDL_TO_INNER), &b, &inner, err);
    if (!ok) {
        pdl_drop(b);
        pdl_drop(inner);
        return false;
    }
    *body = merge_extra(a, pdl_dict_putz(b, "parameters", inner));
    return true;
}

/* Adds token counts. For the prompt the largest count is kept, for the answer the last one. */
static void add_counts(pdl_vref result, pdl_reply_builder *d) {
    int64_t in = pdl_count_of(result, "input_token_count", -1),
            out = pdl_count_of(result, "generated_token_count", -1);
    if (in < 0 && out < 0) return;
    int64_t was_in = pdl_is_dict(d->usage) ? pdl_count_of(d->usage, "prompt_tokens", 0) : 0,
            was_out = pdl_is_dict(d->usage) ? pdl_count_of(d->usage, "completion_tokens", 0) : 0;
    pdl_reply_builder_set(
        &d->usage, pdl_usage_new(in > was_in ? in : was_in, out < 0 ? was_out : out, -1, -1));
}

/* Sets why the text ended. */
static void add_stop(pdl_vref stop, pdl_reply_builder *d) {
    pdl_val length = pdl_textz("length");
    if (!pdl_text_is(stop, "not_finished"))
        pdl_reply_builder_finish(d, is_limit(stop) ? length : stop);
    pdl_drop(length);
}

static bool add_results(pdl_vref json, pdl_reply_builder *d) {
    static const char *const kept[] = {"model_id", "created_at", "system"};
    pdl_vref results = pdl_dict_getz(json, "results");
    pdl_vref r = pdl_is_list(results) && pdl_list_len(results) ? pdl_list_at(results, 0) : results;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        pdl_vref v = pdl_dict_getz(json, kept[i]);
        if (!pdl_is_absent(v)) d->head = pdl_dict_putz(d->head, i ? kept[i] : "model", pdl_keep(v));
    }
    if (pdl_is_str(r)) pdl_reply_builder_text(d, pdl_str_get(r));
    if (!pdl_is_dict(r)) return pdl_is_str(r);
    pdl_vref text = pdl_dict_getz(r, "generated_text"), stop = pdl_dict_getz(r, "stop_reason");
    pdl_reply_builder_parts(d, pdl_is_absent(text) ? pdl_dict_getz(r, "text") : text);
    add_stop(stop, d);
    add_counts(r, d);
    return true;
}

static bool read_text(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err) {
    pdl_reply_builder d;
    (void)a;
    pdl_reply_builder_init(&d);
    bool ok = pdl_is_dict(json) && add_results(json, &d) && d.has_content
                  ? pdl_reply_builder_check(&d, err)
                  : pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "the answer has no results");
    if (ok) *raw = pdl_reply_builder_take(&d);
    pdl_reply_builder_fini(&d);
    pdl_drop(json);
    return ok;
}

static bool is_ours(pdl_vref json) {
    pdl_vref results = pdl_dict_getz(json, "results");
    return pdl_is_list(results) || !pdl_is_absent(pdl_member(results, "generated_text")) ||
           pdl_is_dict(pdl_dict_getz(json, "system"));
}

static void add_event(const pdl_ask *a, pdl_vref json, pdl_reply_builder *d) {
    (void)a;
    (void)add_results(json, d);
}

static bool event_text(const pdl_ask *a, pdl_str text, pdl_reply_builder *d, pdl_err *err) {
    return pdl_reply_builder_event(d, a, text, is_ours, add_event, err);
}

const pdl_dialect pdl_dialect_watsonx = {.name = "watsonx",
                                         .media = PDL_MEDIA_ANY,
                                         .write = write_chat,
                                         .read = read_chat,
                                         .event = event_chat,
                                         .sign = sign,
                                         .embedder = &pdl_embedder_watsonx};
const pdl_dialect pdl_dialect_watsonx_text = {.name = "watsonx_text",
                                              .by_prompt = true,
                                              .write = write_text,
                                              .read = read_text,
                                              .event = event_text,
                                              .sign = sign,
                                              .embedder = &pdl_embedder_watsonx};
