/* span_attributes.c -- attributes of spans: facts about effects, by OpenTelemetry's conventions for
 * generative AI when they have a name, and under `pdl.` otherwise. Texts of requests and answers
 * are content, which is sent only when the user asked for it: it may be private.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/num.h"
#include "base/utf8.h"
#include "base/web_address.h"
#include "telemetry/parts.h"
#include "value/int.h"
#include "value/json_put.h"
#include "value/json_write.h"

#include "base/banned.h"

/* --- attributes ------------------------------------------------------------------------------- */

static void begin(pdl_buf *out, const char *key, const char *type) {
    if (out->len && out->p[out->len - 1] == '}') pdl_buf_putc(out, ',');
    pdl_buf_putc(out, '{');
    pdl_json_put_text(out, "key", pdl_str_of(key));
    pdl_json_put_key(out, "value");
    pdl_buf_putc(out, '{');
    pdl_json_put_key(out, type);
}

static pdl_str cut(pdl_str s) {
    if (s.n <= PDL_OTLP_TEXT) return s;
    s.n = PDL_OTLP_TEXT;
    /* the text is not cut inside a character */
    while (s.n && ((unsigned char)s.p[s.n] & 0xC0) == 0x80) s.n--;
    return s;
}

void pdl_otlp_put_text(pdl_buf *out, const char *key, pdl_str text) {
    pdl_buf repaired = PDL_BUF;
    pdl_utf8_fault fault;
    text = cut(text);
    if (pdl_utf8_find_fault(text, &fault)) { /* text of the environment may be invalid */
        pdl_utf8_repair(&repaired, text);
        text = pdl_buf_str(&repaired);
    }
    begin(out, key, "stringValue");
    pdl_json_quote(text, 0, out);
    PDL_PUT(out, "}}");
    pdl_buf_fini(&repaired);
}

void pdl_otlp_put_int(pdl_buf *out, const char *key, int64_t n) {
    begin(out, key, "intValue");
    pdl_buf_putf(out, "\"%lld\"}}", (long long)n); /* protobuf in JSON writes 64 bits as a text */
}

static void put_double(pdl_buf *out, const char *key, double n) {
    char text[PDL_NUM_MAX];
    if (!(n - n == 0)) return; /* JSON cannot express a number that is infinite or not a number */
    begin(out, key, "doubleValue");
    pdl_buf_put(out, (pdl_str){text, pdl_num_double(n, text)});
    PDL_PUT(out, "}}");
}

/* Adds a text that is not content. When the policy redacts the text, the name of its label replaces
 * it. */
void pdl_otlp_put_shown(pdl_otlp_facts *to, const char *key, pdl_str text, pdl_label label) {
    pdl_buf hidden = PDL_BUF;
    if (pdl_redaction_covers(to->redaction, label)) {
        pdl_redaction_put(to->redaction, label, &hidden);
        text = pdl_buf_str(&hidden);
    }
    pdl_otlp_put_text(to->out, key, text);
    pdl_buf_fini(&hidden);
}

static void put_texts(pdl_buf *out, const char *key, pdl_vref list) {
    begin(out, key, "arrayValue");
    pdl_json_open(out, '{');
    pdl_json_put_key(out, "values");
    pdl_json_open(out, '[');
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref v = pdl_list_at(list, i);
        if (!pdl_is_str(v)) continue;
        pdl_json_open(out, '{');
        pdl_json_put_text(out, "stringValue", cut(pdl_str_get(v)));
        pdl_buf_putc(out, '}');
    }
    PDL_PUT(out, "]}}}");
}

/* Adds any value as the text of its JSON. */
static void put_json(pdl_buf *out, const char *key, pdl_vref v) {
    pdl_buf text = PDL_BUF_INIT(16 * PDL_OTLP_TEXT);
    pdl_err ignored = {0};
    int flags = PDL_JSON_LOOSE | PDL_JSON_CUT | PDL_JSON_CONTEXT | PDL_JSON_NAN;
    if (pdl_json_write(v, flags, 0, &text, &ignored))
        pdl_otlp_put_text(out, key, pdl_buf_str(&text));
    pdl_err_fini(&ignored);
    pdl_buf_fini(&text);
}

static pdl_vref member(pdl_vref v, const char *name) {
    return pdl_is_dict(v) ? pdl_dict_getz(v, name) : pdl_absent();
}

static pdl_str text_of(pdl_vref v) {
    return !pdl_is_absent(v) && pdl_is_str(v) ? pdl_str_get(v) : (pdl_str){0};
}

/* Adds a member that is a text. around: labels of the value that contains v. */
static void put_if_text(pdl_otlp_facts *to, const char *key, pdl_vref v, pdl_label around) {
    pdl_str s = text_of(v);
    if (s.n) pdl_otlp_put_shown(to, key, s, pdl_label_of(v) | around);
}

static void put_if_int(pdl_buf *out, const char *key, pdl_vref v) {
    int64_t n;
    if (!pdl_is_absent(v) && pdl_is_int(v) && pdl_int_get(v, &n)) pdl_otlp_put_int(out, key, n);
}

/* --- models ----------------------------------------------------------------------------------- */

/* The names that the conventions have for providers. Other providers keep libpdl's names. */
static const struct {
    const char *ours, *theirs;
} providers[] = {
    {"azure", "azure.ai.openai"},
    {"azure_ai", "azure.ai.inference"},
    {"bedrock", "aws.bedrock"},
    {"gemini", "gcp.gemini"},
    {"mistral", "mistral_ai"},
    {"vertex_ai", "gcp.vertex_ai"},
    {"watsonx", "ibm.watsonx.ai"},
    {"watsonx_text", "ibm.watsonx.ai"},
    {"xai", "x_ai"},
};

static void put_model(pdl_vref model, pdl_label around, pdl_otlp_facts *to) {
    pdl_str name = text_of(model);
    pdl_label label = pdl_label_of(model) | around;
    size_t slash = pdl_str_find(name, PDL_STR("/"), 0);
    if (slash == PDL_NOT_FOUND) {
        if (name.n) pdl_otlp_put_shown(to, "gen_ai.request.model", name, label);
        return;
    }
    pdl_str provider = pdl_str_sub(name, 0, slash);
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
        if (pdl_str_is(provider, providers[i].ours)) provider = pdl_str_of(providers[i].theirs);
    pdl_otlp_put_shown(to, "gen_ai.provider.name", provider, label);
    pdl_otlp_put_shown(to, "gen_ai.request.model", pdl_str_sub(name, slash + 1, name.n), label);
}

typedef enum { FORM_INT, FORM_NUMBER, FORM_TEXTS } form;
static const struct {
    const char *ours, *theirs;
    form form;
} parameters[] = {
    {"temperature", "gen_ai.request.temperature", FORM_NUMBER},
    {"top_p", "gen_ai.request.top_p", FORM_NUMBER},
    {"top_k", "gen_ai.request.top_k", FORM_NUMBER},
    {"max_tokens", "gen_ai.request.max_tokens", FORM_INT},
    {"max_completion_tokens", "gen_ai.request.max_tokens", FORM_INT},
    {"frequency_penalty", "gen_ai.request.frequency_penalty", FORM_NUMBER},
    {"presence_penalty", "gen_ai.request.presence_penalty", FORM_NUMBER},
    {"seed", "gen_ai.request.seed", FORM_INT},
    {"n", "gen_ai.request.choice.count", FORM_INT},
    {"stop", "gen_ai.request.stop_sequences", FORM_TEXTS},
};

static bool is_number(pdl_vref v) {
    return !pdl_is_absent(v) && (pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT));
}

static void put_parameters(pdl_vref given, pdl_label around, pdl_otlp_facts *to) {
    pdl_buf *out = to->out;
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        pdl_vref v = member(given, parameters[i].ours);
        if (pdl_redaction_covers(to->redaction,
                                 pdl_label_of(v) | pdl_label_of_part(given) | around))
            continue;
        switch (parameters[i].form) {
        case FORM_INT: put_if_int(out, parameters[i].theirs, v); break;
        case FORM_NUMBER:
            if (is_number(v)) put_double(out, parameters[i].theirs, pdl_num_to_double(v));
            break;
        case FORM_TEXTS:
            if (!pdl_is_absent(v) && pdl_is_list(v)) put_texts(out, parameters[i].theirs, v);
            break;
        }
    }
}

/* Returns {role, content} as {role, parts: [{type: text, content}]}. */
static pdl_val message_of(pdl_vref m) {
    pdl_vref content = member(m, "content");
    pdl_val out = pdl_dict_putz(
        pdl_dict_new(2), "role",
        pdl_text(text_of(member(m, "role")).n ? text_of(member(m, "role")) : PDL_STR("user")));
    bool text = !pdl_is_absent(content) && pdl_is_str(content);
    pdl_val part = pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz(text ? "text" : "data"));
    part = pdl_dict_putz(part, "content", pdl_is_absent(content) ? pdl_null() : pdl_keep(content));
    return pdl_dict_putz(out, "parts", pdl_list_push(pdl_list_new(1), part));
}

static void put_messages(pdl_vref list, pdl_buf *out) {
    pdl_val all = pdl_list_new(pdl_is_list(list) ? pdl_list_len(list) : 0);
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++)
        all = pdl_list_push(all, message_of(pdl_list_at(list, i)));
    put_json(out, "gen_ai.input.messages", all);
    pdl_drop(all);
}

static void put_answer(pdl_vref reply, pdl_buf *out) {
    pdl_vref message = member(reply, "message");
    pdl_val one =
        pdl_is_dict(message)
            ? pdl_keep(message)
            : pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("assistant")),
                            "content", pdl_keep(member(reply, "content")));
    pdl_val all = pdl_list_push(pdl_list_new(1), message_of(one));
    put_json(out, "gen_ai.output.messages", all);
    pdl_drop(one);
    pdl_drop(all);
}

static void put_finish_reasons(pdl_vref raw, pdl_buf *out) {
    pdl_vref choices = member(raw, "choices");
    if (pdl_is_absent(choices) || !pdl_is_list(choices)) return;
    pdl_val reasons = pdl_list_new(pdl_list_len(choices));
    for (size_t i = 0; i < pdl_list_len(choices); i++) {
        pdl_vref why = member(pdl_list_at(choices, i), "finish_reason");
        if (text_of(why).n) reasons = pdl_list_push(reasons, pdl_keep(why));
    }
    if (pdl_list_len(reasons)) put_texts(out, "gen_ai.response.finish_reasons", reasons);
    pdl_drop(reasons);
}

/* Adds a reply. label: labels of the whole reply. */
static void put_model_reply(pdl_vref reply, pdl_label label, pdl_otlp_facts *to) {
    pdl_vref raw = member(reply, "raw"), usage = member(reply, "usage");
    pdl_buf *out = to->out;
    put_if_text(to, "gen_ai.response.id", member(raw, "id"), label);
    put_if_text(to, "gen_ai.response.model", member(raw, "model"), label);
    if (!pdl_redaction_covers(to->redaction, label)) put_finish_reasons(raw, out);
    put_if_int(out, "gen_ai.usage.input_tokens", member(usage, "prompt_tokens"));
    put_if_int(out, "gen_ai.usage.output_tokens", member(usage, "completion_tokens"));
    if (is_number(member(usage, "cost")))
        put_double(out, "pdl.usage.cost", pdl_num_to_double(member(usage, "cost")));
    if (to->content) put_answer(reply, out);
}

/* --- effects ---------------------------------------------------------------------------------- */

static pdl_vref first_word(const pdl_effect *e) {
    pdl_vref argv = pdl_dict_getz(e->request, "argv");
    bool any = pdl_is_list(argv) && pdl_list_len(argv);
    return any ? pdl_list_at(argv, 0) : pdl_absent();
}

/* Appends the operation and its object: "chat MODEL", "execute_tool NAME", "command WORD". */
void pdl_otlp_put_name(const pdl_effect *e, const pdl_redaction *redaction, pdl_buf *out) {
    pdl_vref r = e->request, what = pdl_absent();
    const char *done = pdl_effect_kind_name(e->kind);
    bool asks = e->kind == PDL_EFFECT_model || e->kind == PDL_EFFECT_embed;
    if (asks) {
        done = e->kind == PDL_EFFECT_model ? "chat" : "embeddings";
        what = member(r, "model");
    } else if (e->kind == PDL_EFFECT_tool) {
        bool calls = pdl_text_is(member(r, "op"), "call");
        done = calls ? "execute_tool" : "tools";
        what = member(r, calls ? "name" : "server");
    } else if (e->kind == PDL_EFFECT_http) {
        done = text_of(member(r, "method")).p;
        what = member(r, "url");
    } else if (e->kind == PDL_EFFECT_code) {
        what = member(r, "lang");
    } else if (e->kind == PDL_EFFECT_command) {
        what = first_word(e);
    }
    pdl_str name = text_of(what);
    size_t slash = asks ? pdl_str_find(name, PDL_STR("/"), 0) : PDL_NOT_FOUND;
    if (e->kind == PDL_EFFECT_http) name = pdl_web_address_host(name);
    if (slash != PDL_NOT_FOUND) name = pdl_str_sub(name, slash + 1, name.n);
    pdl_label label = pdl_label_of(what) | pdl_label_of_part(r);
    pdl_buf_put(out, pdl_str_of(done));
    if (name.n) pdl_buf_putc(out, ' ');
    if (name.n && pdl_redaction_covers(redaction, label))
        pdl_redaction_put(redaction, label, out);
    else
        pdl_buf_put(out, cut(name));
}

static void put_operation(const pdl_effect *e, pdl_buf *out) {
    if (e->kind == PDL_EFFECT_model)
        pdl_otlp_put_text(out, "gen_ai.operation.name", PDL_STR("chat"));
    else if (e->kind == PDL_EFFECT_embed)
        pdl_otlp_put_text(out, "gen_ai.operation.name", PDL_STR("embeddings"));
    else if (e->kind == PDL_EFFECT_tool && pdl_text_is(member(e->request, "op"), "call"))
        pdl_otlp_put_text(out, "gen_ai.operation.name", PDL_STR("execute_tool"));
    pdl_otlp_put_text(out, "pdl.effect", pdl_str_of(pdl_effect_kind_name(e->kind)));
}

/* Appends method and host of a request to the web. The rest of its address is content. */
static void put_address(pdl_vref request, pdl_otlp_facts *to) {
    pdl_vref url = member(request, "url");
    pdl_val host = pdl_with_label(pdl_text(pdl_web_address_host(text_of(url))), pdl_label_of(url));
    put_if_text(to, "http.request.method", member(request, "method"), pdl_label_of_part(request));
    put_if_text(to, "server.address", host, pdl_label_of_part(request));
    pdl_drop(host);
}

void pdl_otlp_put_request(const pdl_effect *e, pdl_otlp_facts *to) {
    pdl_vref r = e->request;
    pdl_label around = pdl_label_of_part(r);
    put_operation(e, to->out);
    if (e->kind == PDL_EFFECT_model || e->kind == PDL_EFFECT_embed) {
        put_model(member(r, "model"), around, to);
        put_parameters(member(r, "parameters"), around, to);
    }
    if (e->kind == PDL_EFFECT_http) put_address(r, to);
    if (e->kind == PDL_EFFECT_tool) {
        put_if_text(to, "gen_ai.tool.name", member(r, "name"), around);
        put_if_text(to, "pdl.tool.server", member(r, "server"), around);
        if (to->content && !pdl_is_absent(member(r, "arguments")))
            put_json(to->out, "gen_ai.tool.call.arguments", member(r, "arguments"));
    } else if (e->kind == PDL_EFFECT_model) {
        if (to->content) put_messages(member(r, "messages"), to->out);
    } else if (to->content) {
        put_json(to->out, "pdl.request", r);
    }
}

void pdl_otlp_put_reply(const pdl_effect *e, const pdl_reply *r, pdl_otlp_facts *to) {
    pdl_vref v = r->value;
    pdl_buf *out = to->out;
    double waited = e->kind == PDL_EFFECT_model ? pdl_reply_waited(r) : 0;
    if (waited > 0) put_double(out, "pdl.waited_seconds", waited);
    if (r->err.kind) return;
    if (e->kind == PDL_EFFECT_model) {
        put_model_reply(v, pdl_effect_label(e), to);
    } else if (e->kind == PDL_EFFECT_embed) {
        put_if_int(out, "gen_ai.usage.input_tokens", member(member(v, "usage"), "prompt_tokens"));
    } else {
        if (e->kind == PDL_EFFECT_command)
            put_if_int(out, "process.exit.code", member(v, "status"));
        if (e->kind == PDL_EFFECT_http)
            put_if_int(out, "http.response.status_code", member(v, "status"));
        if (to->content)
            put_json(out, e->kind == PDL_EFFECT_tool ? "gen_ai.tool.call.result" : "pdl.reply", v);
    }
}
