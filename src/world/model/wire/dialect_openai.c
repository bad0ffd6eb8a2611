/* dialect_openai.c -- chat completions of OpenAI and all compatible services (spec providers 4, 5,
 * 6). A difference of a provider is a quirk in its row of providers.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/endpoint.h"
#include "model/ask/grammar.h"
#include "model/ask/messages.h"
#include "model/ask/params.h"
#include "model/ask/structured.h"
#include "model/wire/chunk.h"
#include "value/member.h"
#include "value/peer_message.h"
#include "value/text.h"

#include "base/banned.h"

/* --- request ---------------------------------------------------------------------------------- */

/* The body while it is written. */
typedef struct openai_writer {
    pdl_ask *ask;
    unsigned quirks;
    pdl_family family;
    pdl_val body;
    pdl_val tools; /* list, or absent */
    pdl_val messages;
    pdl_unsupported unsupported;
} writer;

static void put(writer *w, const char *key, pdl_val v) { w->body = pdl_dict_putz(w->body, key, v); }

static bool refused_by_family(const writer *w, const pdl_param *p) {
    if (!p || w->family == PDL_FAMILY_PLAIN) return false;
    return w->family == PDL_FAMILY_O ? !p->oseries : !p->gpt5;
}

/* Writes the temperature. Reasoning models accept only 1, but gpt-5 accepts any value when it does
 * not reason. */
static bool put_temperature(writer *w, pdl_vref v, pdl_err *err) {
    double t = pdl_is(v, PDL_V_INT)     ? (double)pdl_int_of(v)
               : pdl_is(v, PDL_V_FLOAT) ? pdl_float_of(v)
                                        : 1;
    bool none = pdl_text_is(pdl_dict_getz(w->ask->params, "reasoning_effort"), "none");
    if (w->family == PDL_FAMILY_PLAIN || t == 1 || (w->family == PDL_FAMILY_GPT5 && none)) {
        put(w, "temperature", w->quirks & PDL_Q_COOL && t > 1 ? pdl_int(1) : pdl_keep(v));
        return true;
    }
    if (pdl_params_drop(w->ask->given)) return true;
    pdl_buf shown = PDL_BUF;
    pdl_val_show(v, false, 40, &shown);
    pdl_err_set(err, PDL_E_unsupported_params, (pdl_loc){0},
                "%s models don't support temperature=%s. Only temperature=1 is supported. To drop "
                "unsupported openai params "
                "from the call, set drop_params: true",
                w->family == PDL_FAMILY_O ? "O-series" : "gpt-5", pdl_buf_z(&shown));
    pdl_buf_fini(&shown);
    return false;
}

static void ask_for_tool(writer *w) {
    pdl_val m = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("user"));
    m = pdl_dict_putz(m, "content", pdl_textz("Please select a tool to handle the current issue."));
    w->messages = pdl_list_push(w->messages, m);
}

static void put_tool_choice(writer *w, pdl_vref v) {
    bool required = pdl_text_is(v, "required"), named = pdl_is_dict(v);
    if (w->quirks & PDL_Q_CHOICE_ANY && named) return;
    /* "auto" is the default of the service */
    if (w->quirks & PDL_Q_CHOICE_AUTO && pdl_text_is(v, "auto")) return;
    if (w->quirks & PDL_Q_CHOICE_AUTO && (required || named)) {
        pdl_unsupported_add(&w->unsupported, PDL_STR("tool_choice"));
        return;
    }
    if (w->quirks & PDL_Q_CHOICE_TEXT && required) {
        ask_for_tool(w);
        return;
    }
    put(w, "tool_choice",
        required && w->quirks & PDL_Q_CHOICE_ANY ? pdl_textz("any") : pdl_keep(v));
}

static void put_effort(writer *w, pdl_vref v) {
    bool none = pdl_text_is(v, "none");
    if (w->quirks & PDL_Q_THINKING)
        put(w, "thinking",
            pdl_dict_putz(pdl_dict_new(1), "type", pdl_textz(none ? "disabled" : "enabled")));
    else
        put(w, "reasoning_effort",
            w->quirks & PDL_Q_EFFORT_HIGH && !none ? pdl_textz("high") : pdl_keep(v));
}

/* Returns true for servers that take a grammar. Servers at the user's address are treated as
 * llama.cpp (spec providers 15.1). */
static bool takes_grammar(const writer *w) {
    return w->quirks & PDL_Q_GRAMMAR ||
           (w->quirks & PDL_Q_OPENAI_NAMES && !(w->quirks & PDL_Q_STRICT) && w->ask->base_given);
}

static bool put_grammar(writer *w, pdl_str kind, pdl_vref v, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    bool ok = true;
    if (pdl_str_is(kind, "choice"))
        ok = pdl_grammar_of_choice(v, &text, err);
    else if (!pdl_is_str(v))
        ok = pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0}, "guided_%.*s should be a text",
                         PDL_FMT(kind));
    else if (pdl_str_is(kind, "regex"))
        ok = pdl_grammar_of_regex(pdl_str_get(v), &text, err);
    else
        pdl_buf_put(&text, pdl_str_get(v));
    if (ok)
        put(w, "grammar", pdl_text_of_buf(&text));
    else
        pdl_buf_fini(&text);
    return ok;
}

/* Writes guided_json, guided_regex, guided_choice and guided_grammar, from the program or from the
 * schema as in the reference. Since version 0.12 vLLM has new names for the last three and ignores
 * the old names. */
static bool put_guided(writer *w, pdl_vref key, pdl_vref v, pdl_err *err) {
    pdl_str kind = pdl_str_sub(pdl_str_get(key), strlen("guided_"), pdl_str_get(key).n);
    bool json = pdl_str_is(kind, "json"), known = pdl_param_find(pdl_str_get(key)) != NULL;
    if (w->quirks & PDL_Q_GUIDED || !known) {
        w->body = pdl_dict_put(w->body, pdl_keep(key), pdl_keep(v));
        pdl_vref old = pdl_dict_getz(w->body, "structured_outputs");
        if (known && !json && pdl_is_absent(old) &&
            pdl_is_absent(pdl_dict_getz(w->ask->params, "structured_outputs")))
            put(w, "structured_outputs",
                pdl_dict_put(pdl_dict_new(1), pdl_text(kind), pdl_keep(v)));
    } else if (!json && takes_grammar(w)) {
        return put_grammar(w, kind, v, err);
    } else if (!json) {
        pdl_unsupported_add(&w->unsupported, pdl_str_get(key));
    }
    return true;
}

/* Returns true for models of groq that need a forced tool; the others support json_schema
 * (documented). */
static bool forces_tool(const writer *w) {
    static const char *const native[] = {"openai/gpt-oss", "moonshotai/kimi-k2",
                                         "meta-llama/llama-4"};
    if (!(w->quirks & PDL_Q_FORCED_TOOL)) return false;
    for (size_t i = 0; i < sizeof native / sizeof native[0]; i++)
        if (pdl_str_starts(w->ask->name, pdl_str_of(native[i]))) return false;
    return true;
}

static void put_forced_tool(writer *w, pdl_vref schema) {
    bool is_only = pdl_is_absent(w->tools);
    if (is_only) w->tools = pdl_list_new(1);
    w->tools = pdl_list_push(w->tools, pdl_structured_tool(schema));
    if (is_only) put(w, "tool_choice", pdl_structured_choice());
    w->ask->forced_tool = true;
}

static void put_response_format(writer *w, pdl_vref v) {
    pdl_vref schema = pdl_structured_schema(v);
    if (!pdl_is_absent(schema) && forces_tool(w))
        put_forced_tool(w, schema);
    else
        put(w, "response_format", pdl_keep(v));
}

static bool is_openai_name(const writer *w) {
    static const char *const known[] = {"gpt-", "chatgpt-", "ft:gpt-"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (pdl_str_starts(w->ask->name, pdl_str_of(known[i]))) return true;
    return w->family != PDL_FAMILY_PLAIN;
}

/* Returns true when a model of OpenAI answers, directly or through a gateway. OpenAI's strict mode
 * has special rules. */
static bool is_openai(const writer *w) {
    if (w->quirks & (PDL_Q_STRICT | PDL_Q_GATEWAY)) return true;
    if (w->quirks & PDL_Q_OPENAI_NAMES)
        return !w->ask->base_given || (is_openai_name(w) && !w->ask->plain);
    return pdl_str_starts(w->ask->name, PDL_STR("openai/"));
}

/* Writes the schema of the block's spec (spec providers 15.1). Servers at the user's address get it
 * unchanged. */
static void put_schema(writer *w) {
    pdl_ask *a = w->ask;
    pdl_vref schema = pdl_structured_wanted(a);
    if (pdl_is_absent(schema)) return;
    if (forces_tool(w)) {
        pdl_val tool = pdl_structured_for_tool(a);
        if (pdl_is_dict(tool)) put_forced_tool(w, tool);
        pdl_drop(tool);
    } else if (w->quirks & PDL_Q_JSON_OBJECT) {
        if (!pdl_structured_says_json(a->messages)) return;
        put(w, "response_format", pdl_dict_putz(pdl_dict_new(1), "type", pdl_textz("json_object")));
        a->structured = PDL_BY_OBJECT;
    } else if (is_openai(w)) {
        if (!pdl_structured_is_text(schema)) put(w, "response_format", pdl_structured_openai(a));
    } else {
        put(w, "response_format",
            w->quirks & PDL_Q_OPENAI_NAMES ? pdl_structured_plain(schema)
                                           : pdl_structured_format(schema));
        a->structured = PDL_BY_SCHEMA;
    }
}

/* Returns true when `user` is sent: to services that always take it, and for OpenAI's model names.
 * Local servers may refuse `user` (spec providers 4.3). */
static bool sends_user(const writer *w) {
    if (w->quirks & PDL_Q_USER) return true;
    return w->quirks & PDL_Q_OPENAI_NAMES && is_openai_name(w);
}

/* Writes one parameter under the name and in the form that the provider requires. */
static bool put_param(writer *w, pdl_vref key, pdl_vref v, pdl_err *err) {
    pdl_str k = pdl_str_get(key);
    const pdl_param *p = pdl_param_find(k);
    bool forced = pdl_params_allowed(w->ask->given, k),
         guided = pdl_str_starts(k, PDL_STR("guided_"));
    if (pdl_str_is(k, "extra_body") || (pdl_str_is(k, "stream_options") && !w->ask->stream))
        return true;
    if (w->ask->plain) {
        w->body = pdl_dict_put(w->body, pdl_keep(key), pdl_keep(v));
    } else if (pdl_str_is(k, "temperature") && !forced) {
        return put_temperature(w, v, err);
    } else if (refused_by_family(w, p) && !forced) {
        pdl_unsupported_add(&w->unsupported, k);
    } else if (guided && !forced) {
        return put_guided(w, key, v, err);
    } else if (pdl_str_is(k, "user") && !sends_user(w) && !forced) {
        return true;
    } else if (pdl_str_is(k, "max_tokens") && w->family != PDL_FAMILY_PLAIN) {
        put(w, "max_completion_tokens", pdl_keep(v));
    } else if (pdl_str_is(k, "max_completion_tokens") && w->quirks & PDL_Q_MAX_TOKENS) {
        put(w, "max_tokens", pdl_keep(v));
    } else if (pdl_str_is(k, "seed") && w->quirks & PDL_Q_RANDOM_SEED) {
        put(w, "random_seed", pdl_keep(v));
    } else if (pdl_str_is(k, "tool_choice")) {
        put_tool_choice(w, v);
    } else if (pdl_str_is(k, "reasoning_effort")) {
        put_effort(w, v);
    } else if (pdl_str_is(k, "response_format")) {
        put_response_format(w, v);
    } else if (pdl_str_is(k, "tools") && pdl_is_list(v)) {
        w->tools = pdl_is_absent(w->tools) ? pdl_keep(v) : pdl_list_concat(w->tools, v);
    } else {
        w->body = pdl_dict_put(w->body, pdl_keep(key), pdl_keep(v));
    }
    return true;
}

static pdl_val model_name(const writer *w) {
    pdl_str name = w->ask->name;
    size_t slash = pdl_str_find(name, PDL_STR("/"), 0);
    if (w->quirks & PDL_Q_FIREWORKS && slash == PDL_NOT_FOUND)
        return pdl_textf("accounts/fireworks/models/%.*s", PDL_FMT(name));
    if (w->quirks & PDL_Q_HUB && !w->ask->base_given && slash != PDL_NOT_FOUND &&
        pdl_str_find(name, PDL_STR("/"), slash + 1) != PDL_NOT_FOUND)
        return pdl_textf("%.*s:%.*s", PDL_FMT(pdl_str_sub(name, slash + 1, name.n)),
                         PDL_FMT(pdl_str_sub(name, 0, slash)));
    return pdl_text(name);
}

/* Turns system messages into user messages for the first two o1 models, which have no system
 * role. */
static void rename_system(writer *w) {
    if (!pdl_str_starts(w->ask->name, PDL_STR("o1-mini")) &&
        !pdl_str_starts(w->ask->name, PDL_STR("o1-preview")))
        return;
    for (size_t i = 0; i < pdl_list_len(w->messages); i++) {
        pdl_vref m = pdl_list_at(w->messages, i);
        if (!pdl_str_is(pdl_message_role(m), "system")) continue;
        w->messages =
            pdl_list_set(w->messages, i, pdl_dict_putz(pdl_keep(m), "role", pdl_textz("user")));
    }
}

static void put_stream(writer *w) {
    pdl_ask *a = w->ask;
    if (a->stream) put(w, "stream", pdl_bool(true));
    /* A null written by the program means that the field is not sent. */
    bool own = !pdl_is_absent(pdl_dict_getz(a->given, "stream_options"));
    if (a->stream && !own && !(w->quirks & PDL_Q_NO_USAGE_OPT))
        put(w, "stream_options", pdl_dict_putz(pdl_dict_new(1), "include_usage", pdl_bool(true)));
    if (w->quirks & PDL_Q_OPENROUTER && pdl_is_absent(pdl_dict_getz(w->body, "usage")))
        put(w, "usage", pdl_dict_putz(pdl_dict_new(1), "include", pdl_bool(true)));
}

static bool put_params(writer *w, pdl_err *err) {
    pdl_vref params = w->ask->params;
    for (size_t i = 0; i < pdl_dict_len(params); i++)
        if (!put_param(w, pdl_dict_key_at(params, i), pdl_dict_val_at(params, i), err))
            return false;
    return pdl_unsupported_end(&w->unsupported, w->ask, err);
}

static bool says_gemini(pdl_str name) {
    static const pdl_str word = {"gemini", 6};
    for (size_t i = 0; i + word.n <= name.n; i++)
        if (pdl_str_eq_nocase(pdl_str_sub(name, i, i + word.n), word)) return true;
    return false;
}

/* Returns true when the service wants the signature of a thought back, or may forward the signature
 * to a model that wants it. Google's models want it, and an alias of a gateway may mean any model.
 * Services that refuse a name in messages also refuse unknown members, so they get no
 * signatures. */
static bool wants_marks(const pdl_ask *a) {
    unsigned quirks = a->provider->quirks;
    if (quirks & PDL_Q_NO_NAME) return false;
    return quirks & (PDL_Q_GATEWAY | PDL_Q_OPENROUTER) || says_gemini(a->name) ||
           pdl_str_ends(pdl_url_host(a->base), PDL_STR(".googleapis.com"));
}

static unsigned traits_of(const writer *w) {
    const pdl_ask *a = w->ask;
    unsigned traits = a->plain || w->family != PDL_FAMILY_PLAIN ? PDL_TRAIT_DEVELOPER : 0;
    return traits | (wants_marks(a) ? PDL_TRAIT_GOOGLE : 0u);
}

static bool write(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err) {
    writer w = {.ask = a,
                .quirks = a->plain ? PDL_Q_OPENAI_NAMES : a->provider->quirks,
                .family = a->plain                                   ? PDL_FAMILY_PLAIN
                          : a->provider->quirks & PDL_Q_OPENAI_NAMES ? pdl_params_family(a->name)
                                                                     : PDL_FAMILY_PLAIN,
                .body = pdl_dict_new(8),
                .tools = pdl_absent(),
                .unsupported = {pdl_absent()}};
    pdl_vref extra = pdl_dict_getz(a->params, "extra_body");
    w.messages = pdl_messages_chat(a->messages, a->provider->quirks, traits_of(&w));
    if (w.quirks & PDL_Q_SHORT_IDS) w.messages = pdl_messages_bridged(w.messages);
    pdl_endpoint_add(path, "/chat/completions");
    put(&w, "model", model_name(&w));
    rename_system(&w);
    put(&w, "messages", pdl_null()); /* reserves the place; parameters may add a message */
    bool ok = put_params(&w, err);
    if (ok) put_schema(&w);
    if (!pdl_is_absent(w.tools)) put(&w, "tools", w.tools);
    put(&w, "messages", w.messages);
    put_stream(&w);
    if (pdl_is_dict(extra)) w.body = pdl_dict_merge(w.body, extra);
    pdl_drop(w.unsupported.names);
    if (ok)
        *body = w.body;
    else
        pdl_drop(w.body);
    return ok;
}

/* --- reply ------------------------------------------------------------------------------------ */

static bool read(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err) {
    (void)a;
    (void)err;
    *raw = json;
    return true;
}

/* --- stream ----------------------------------------------------------------------------------- */

static bool is_null(pdl_vref v) { return pdl_is_absent(v) || pdl_is_null(v); }

/* Adds a content that is no text. A value from which no text can be read, such as an object that is
 * the answer itself, is kept unchanged. */
static void add_content(pdl_reply_builder *d, pdl_vref key, pdl_vref v) {
    size_t before = d->arrived;
    bool was_unread = d->has_unread;
    pdl_reply_builder_parts(d, v);
    if (d->arrived != before || pdl_reply_content_is_parts(v)) return;
    d->has_unread = was_unread;
    d->extra = pdl_dict_put(d->extra, pdl_keep(key), pdl_keep(v));
}

static void add_delta_field(pdl_reply_builder *d, pdl_vref key, pdl_vref v) {
    pdl_str k = pdl_str_get(key);
    if (pdl_str_is(k, "content") ? pdl_reply_is_void(v) : pdl_is_null(v)) return;
    if (pdl_str_is(k, "content") && pdl_is_str(v)) {
        pdl_reply_builder_text(d, pdl_str_get(v));
    } else if (pdl_str_is(k, "role")) {
        if (pdl_is_absent(d->role) && pdl_is_str(v)) d->role = pdl_keep(v);
    } else if (pdl_str_is(k, "tool_calls")) {
        pdl_reply_builder_tools(d, v);
    } else if ((pdl_str_is(k, "reasoning_content") || pdl_str_is(k, "reasoning")) &&
               pdl_is_str(v)) {
        pdl_reply_builder_reasoning(d, pdl_str_get(v));
    } else if (pdl_str_is(k, "content")) {
        add_content(d, key, v);
    } else if (pdl_str_is(k, "function_call") && pdl_is_dict(v)) {
        pdl_reply_builder_function(d, v);
    } else if (pdl_str_is(k, "refusal") && pdl_is_str(v)) {
        pdl_reply_builder_refusal(d, pdl_str_get(v));
    } else if (pdl_str_is(k, "reasoning_details") && pdl_is_list(v)) {
        pdl_reply_details_add(d, v);
    } else {
        d->extra = pdl_dict_put(d->extra, pdl_keep(key), pdl_keep(v));
    }
}

/* Returns true when earlier pieces have brought this member, so that the whole message only repeats
 * it. */
static bool has_had(const pdl_reply_builder *d, pdl_str key) {
    if (d->by_message) return false;
    if (pdl_str_is(key, "content") || pdl_str_is(key, "text")) return d->content.len;
    if (pdl_str_is(key, "tool_calls")) return d->tools.n > d->n_older;
    if (pdl_str_is(key, "function_call")) return d->n_older;
    if (pdl_str_is(key, "refusal")) return d->refusal.len;
    if (pdl_str_is(key, "reasoning_details")) return pdl_reply_details_any(d);
    bool thought = pdl_str_is(key, "reasoning") || pdl_str_is(key, "reasoning_content");
    return thought && d->reasoning.len;
}

/* Adds the members of a delta, or those of a `message` that a server sends instead. A message that
 * follows deltas is the whole message, so members that the deltas have brought are skipped. */
static void add_fields(pdl_reply_builder *d, pdl_vref delta, bool is_message) {
    bool is_plain =
        pdl_is_str(pdl_dict_getz(delta, "text")) && is_null(pdl_dict_getz(delta, "content"));
    bool begins = !d->content.len && !d->reasoning.len && !d->tools.n && !d->refusal.len;
    if (is_message && begins) d->by_message = true;
    for (size_t i = 0; i < pdl_dict_len(delta); i++) {
        pdl_vref key = pdl_dict_key_at(delta, i), v = pdl_dict_val_at(delta, i);
        if (is_message && has_had(d, pdl_str_get(key))) continue;
        if (is_plain && pdl_text_is(key, "text"))
            pdl_reply_builder_text(d, pdl_str_get(v));
        else
            add_delta_field(d, key, v);
    }
}

static void add_choice(const pdl_ask *a, pdl_vref choice, pdl_reply_builder *d) {
    (void)a;
    pdl_vref delta = pdl_dict_getz(choice, "delta"), m = pdl_dict_getz(choice, "message");
    bool is_empty = is_null(delta) || (pdl_is_dict(delta) && pdl_dict_len(delta) == 0);
    /* the text in {code: 500, message: ".."} is no answer */
    if (pdl_peer_fails(choice) || (is_empty && pdl_is_str(m) && pdl_peer_is_failure(choice))) {
        pdl_reply_builder_set(&d->error, pdl_keep(choice));
        return;
    }
    if (is_empty) delta = m;
    if (pdl_peer_fails(delta)) {
        pdl_reply_builder_set(&d->error, pdl_keep(delta));
        return;
    }
    if (pdl_is_str(delta)) pdl_reply_builder_text(d, pdl_str_get(delta));
    if (pdl_is_dict(delta)) add_fields(d, delta, is_empty);
    if (pdl_is_list(delta) && pdl_list_len(delta)) d->has_unread = true;
    pdl_vref text = pdl_dict_getz(choice, is_null(delta) ? "content" : "text");
    if (!pdl_is_str(text)) text = pdl_dict_getz(choice, "text");
    pdl_vref finish = pdl_dict_getz(choice, "finish_reason");
    pdl_vref logprobs = pdl_dict_getz(choice, "logprobs");
    if (is_null(delta) && pdl_reply_content_is_parts(text)) pdl_reply_builder_parts(d, text);
    if (pdl_is_str(text)) pdl_reply_builder_text(d, pdl_str_get(text));
    pdl_reply_builder_finish(d, finish);
    if (!is_null(logprobs)) pdl_reply_builder_logprobs(d, logprobs);
}

/* Adds the fields beside the choices: the first id, time and model, and the latest value of every
 * other field. */
static void add_head(pdl_reply_builder *d, pdl_vref chunk) {
    for (size_t i = 0; i < pdl_dict_len(chunk); i++) {
        pdl_vref key = pdl_dict_key_at(chunk, i), v = pdl_dict_val_at(chunk, i);
        pdl_str k = pdl_str_get(key);
        bool once = pdl_str_is(k, "id") || pdl_str_is(k, "created") || pdl_str_is(k, "model");
        if (pdl_is_null(v) || pdl_str_is(k, "choices") || pdl_str_is(k, "object")) continue;
        if (pdl_str_is(k, "usage"))
            pdl_reply_builder_set(&d->usage, pdl_keep(v));
        else if (!once || pdl_is_absent(pdl_dict_find(d->head, key)))
            d->head = pdl_dict_put(d->head, pdl_keep(key), pdl_keep(v));
    }
}

/* Returns true for an event that has choices or a usage, or that calls itself a chunk and reports
 * nothing: some gateways send such chunks while they wait. */
static bool is_ours(pdl_vref chunk) {
    pdl_vref object = pdl_dict_getz(chunk, "object");
    if (pdl_is_list(pdl_dict_getz(chunk, "choices")) || pdl_is_dict(pdl_dict_getz(chunk, "usage")))
        return true;
    return pdl_is_str(object) && pdl_str_ends(pdl_str_get(object), PDL_STR(".chunk")) &&
           !pdl_peer_has_note(chunk) && !pdl_peer_fails_within(chunk);
}

/* Adds a usage that is not beside the choices: Moonshot writes it into the choice, Groq into
 * `x_groq`. */
static void add_inner_usage(pdl_reply_builder *d, pdl_vref chunk) {
    pdl_vref list = pdl_dict_getz(chunk, "choices"),
             choice = pdl_is_list(list) && pdl_list_len(list) ? pdl_list_at(list, 0) : pdl_absent();
    const pdl_vref holders[] = {choice, pdl_dict_getz(chunk, "x_groq")};
    for (size_t i = 0; i < sizeof holders / sizeof holders[0]; i++) {
        pdl_vref usage = pdl_member(holders[i], "usage");
        if (pdl_is_dict(usage) && !pdl_is_dict(d->usage))
            pdl_reply_builder_set(&d->usage, pdl_keep(usage));
    }
}

static void add_event(const pdl_ask *a, pdl_vref chunk, pdl_reply_builder *d) {
    pdl_reply_builder_choices(d, a, pdl_dict_getz(chunk, "choices"), add_choice);
    add_head(d, chunk);
    add_inner_usage(d, chunk);
}

static bool event(const pdl_ask *a, pdl_str text, pdl_reply_builder *d, pdl_err *err) {
    text = pdl_str_trim(text);
    if (pdl_str_is(text, "[DONE]")) {
        d->done = true;
        return true;
    }
    if (text.n == 0 || d->done || pdl_chunk_read(text, d)) return true;
    return pdl_reply_builder_event(d, a, text, is_ours, add_event, err);
}

const pdl_dialect pdl_dialect_openai = {.name = "openai",
                                        .media = PDL_MEDIA_ANY,
                                        .write = write,
                                        .read = read,
                                        .event = event,
                                        .embedder = &pdl_embedder_openai};
/* Chats are those of OpenAI; embeddings have another form. */
const pdl_dialect pdl_dialect_huggingface = {.name = "huggingface",
                                             .media = PDL_MEDIA_ANY,
                                             .write = write,
                                             .read = read,
                                             .event = event,
                                             .embedder = &pdl_embedder_huggingface};
