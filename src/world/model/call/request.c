/* request.c -- writes the request of a call from its effect: route, parameters, URL, headers, body.
 * Everything that can be refused without asking a service is refused here; see call.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/os.h"
#include "base/word_list.h"
#include "model/ask/data_address.h"
#include "model/ask/endpoint.h"
#include "model/ask/messages.h"
#include "model/ask/params.h"
#include "model/ask/processor.h"
#include "model/ask/score.h"
#include "model/ask/structured.h"
#include "model/call/life.h"
#include "model/wire/cache_marks.h"
#include "model/wire/message_parts.h"
#include "value/json_write.h"

#include "base/banned.h"

/* Returns true for one line of text. A second line would become another header. */
static bool is_line(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 && s.p[i] != '\t') return false;
    return true;
}

/* Headers written by the program win over ours. */
static bool add_given(pdl_call *c, const char *key, pdl_err *err) {
    pdl_vref d = pdl_dict_getz(c->given, key);
    bool ok = true;
    for (size_t i = 0; ok && pdl_is_dict(d) && i < pdl_dict_len(d); i++) {
        pdl_vref k = pdl_dict_key_at(d, i), v = pdl_dict_val_at(d, i);
        pdl_buf text = PDL_BUF;
        if (!pdl_is_str(k) || pdl_is_null(v) || pdl_headers_has(&c->headers, pdl_str_get(k).p))
            continue;
        pdl_message_text(v, &text);
        ok = is_line(pdl_str_get(k)) && is_line(pdl_buf_str(&text));
        if (ok)
            pdl_headers_add(&c->headers, "%s: %s", pdl_str_get(k).p, pdl_buf_z(&text));
        else
            pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                        "a header of %s holds a line end or a control character", key);
        pdl_buf_fini(&text);
    }
    return ok;
}

static void add_env(pdl_call *c, const char *name, const char *variable) {
    const char *v = pdl_env_get(&c->calls->env, variable);
    if (v) pdl_headers_default(&c->headers, name, v);
}

static bool write_headers(pdl_call *c, pdl_err *err) {
    unsigned quirks = c->route.provider->quirks;
    pdl_vref org = pdl_dict_getz(c->given, "organization");
    if (!add_given(c, "extra_headers", err) || !add_given(c, "headers", err)) return false;
    pdl_headers_default(&c->headers, "Content-Type", "application/json");
    pdl_headers_default(&c->headers, "Accept", "application/json");
    if (quirks & PDL_Q_ORG && pdl_is_str(org))
        pdl_headers_add(&c->headers, "OpenAI-Organization: %s", pdl_str_get(org).p);
    else if (quirks & PDL_Q_ORG)
        add_env(c, "OpenAI-Organization", "OPENAI_ORGANIZATION");
    if (quirks & PDL_Q_OPENROUTER) {
        add_env(c, "HTTP-Referer", "OR_SITE_URL");
        add_env(c, "X-Title", "OR_APP_NAME");
    }
    return true;
}

static bool sign(pdl_call *c, pdl_err *err) {
    const pdl_dialect *d = c->route.provider->dialect;
    pdl_sign s = {.ask = &c->ask,
                  .key = pdl_buf_str(&c->route.key),
                  .url = pdl_buf_str(&c->url),
                  .body = pdl_buf_str(&c->body),
                  .headers = &c->headers,
                  .secrets = c->calls->opt.secrets,
                  .token_url = &c->token_url,
                  .token_request = &c->token_request,
                  .token_id = &c->token_id};
    c->token_url = c->token_request = c->token_id = PDL_BUF;
    if (d->sign) return d->sign(&s, err);
    if (s.key.n) pdl_headers_bearer(&c->headers, s.key);
    return true;
}

static bool find_platform(pdl_vref request, char out[16], pdl_err *err) {
    pdl_vref v = pdl_dict_getz(request, "platform");
    pdl_str s = pdl_is_str(v) ? pdl_str_get(v) : (pdl_str){0};
    if (s.n >= 16) s.n = 15;
    for (size_t i = 0; i < s.n; i++) out[i] = pdl_lower(s.p[i]);
    out[s.n] = 0;
    static const char *const known[] = {"", "litellm", "openai", "granite-io"};
    if (PDL_STR_IN(pdl_str_of(out), known)) return true;
    return pdl_err_set(err, PDL_E_config, (pdl_loc){0}, "platform %s is not supported", out);
}

static void fill_ask(pdl_call *c, bool plain) {
    pdl_vref request = c->e->request, stream = pdl_dict_getz(request, "stream"),
             schema = pdl_dict_getz(request, "schema"), parsed = pdl_dict_getz(request, "parsed");
    bool no_schema = c->ask.no_schema;
    c->ask = (pdl_ask){
        .provider = c->route.provider,
        .env = &c->env,
        .name = c->route.name,
        .plain = plain,
        .stream = pdl_is_bool(stream) && pdl_bool_of(stream),
        .no_schema = no_schema,
        .parsed = pdl_is_bool(parsed) && pdl_bool_of(parsed),
        .messages = pdl_dict_getz(request, "messages"),
        .params = c->clean,
        .given = c->given,
        .schema = pdl_is_dict(schema) ? schema : pdl_absent(),
        .request = request,
        .texts = c->e->kind == PDL_EFFECT_embed ? pdl_dict_getz(request, "input") : pdl_absent(),
    };
}

/* Describes the schema in the prompt when no field of the request can carry it. A prompt of the
 * program that mentions JSON already stays unchanged. */
static void ask_in_words(pdl_call *c) {
    pdl_ask *a = &c->ask;
    const pdl_dialect *dialect = a->provider->dialect;
    if (dialect->few_names && pdl_is_dict(a->schema) && !pdl_structured_has_few_names(a->schema))
        a->no_schema = true;
    bool in_words = a->no_schema || dialect->by_prompt || a->provider->quirks & PDL_Q_JSON_OBJECT;
    if (!in_words || a->plain || !pdl_is_dict(a->schema) || pdl_structured_is_text(a->schema))
        return;
    if (pdl_structured_is_own(a)) return;
    a->structured = PDL_BY_OWN;
    if (pdl_structured_says_json(a->messages)) return;
    pdl_val said = pdl_structured_prompt(a->messages, a->schema);
    pdl_drop(c->messages);
    c->messages = said;
    a->messages = c->messages;
    a->structured = PDL_BY_PROMPT;
}

/* Refuses a part that the service does not support: leaving it out would give an answer to another
 * question. */
static bool check_part(const pdl_call *c, const pdl_part *p, pdl_err *err) {
    static const struct {
        const char *what;
        unsigned whole, far;
    } kinds[] = {
        [PDL_PART_TEXT] = {NULL, 0, 0},
        [PDL_PART_IMAGE] = {"images", PDL_MEDIA_IMAGE, PDL_MEDIA_IMAGE_URL},
        [PDL_PART_AUDIO] = {"audio", PDL_MEDIA_AUDIO, PDL_MEDIA_AUDIO},
        [PDL_PART_FILE] = {"documents", PDL_MEDIA_FILE, PDL_MEDIA_FILE_URL},
        [PDL_PART_OTHER] = {NULL, 0, 0},
    };
    const pdl_provider *by = c->route.provider;
    unsigned can = by->quirks & PDL_Q_FLAT ? 0 : by->dialect->media;
    if (!kinds[p->kind].what) return true;
    if (!(can & kinds[p->kind].whole))
        return pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0}, "%s takes no %s in messages",
                           by->prefix, kinds[p->kind].what);
    return p->data.n || can & kinds[p->kind].far ||
           pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                       "%s takes %s by their data only: give data:TYPE;base64,DATA", by->prefix,
                       kinds[p->kind].what);
}

static bool check_media(const pdl_call *c, pdl_err *err) {
    pdl_vref list = c->ask.messages;
    bool ok = true;
    if (c->route.provider->dialect->media == PDL_MEDIA_ANY &&
        !(c->route.provider->quirks & PDL_Q_FLAT))
        return true;
    for (size_t i = 0; ok && pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_vref m = pdl_list_at(list, i),
                 content = pdl_is_dict(m) ? pdl_dict_getz(m, "content") : pdl_absent();
        for (size_t k = 0; ok && pdl_message_is_parts(content) && k < pdl_list_len(content); k++) {
            pdl_part p = pdl_parts_at(content, k, NULL);
            ok = check_part(c, &p, err);
        }
    }
    return ok;
}

static bool ask_dialect(pdl_call *c, pdl_val *body, pdl_err *err) {
    const pdl_dialect *d = c->route.provider->dialect;
    if (pdl_is_absent(c->ask.texts)) return d->write(&c->ask, &c->url, body, err);
    if (!d->embedder)
        return pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0}, "texts cannot be embedded there");
    return d->embedder->write(&c->ask, &c->url, body, err);
}

/* Reads the parameter `cache`. "auto" requests marks and "off" forbids them. Both values override
 * the option of the run, and set *own. A value that is not a text is a setting for another engine,
 * and is ignored. */
static bool wants_marks(const pdl_call *c, bool *wants, bool *own, pdl_err *err) {
    pdl_vref v = pdl_dict_getz(c->given, "cache");
    *wants = c->calls->opt.prefix.marks;
    *own = pdl_is_str(v);
    if (!*own) return true;
    *wants = pdl_text_is(v, "auto");
    return *wants || pdl_text_is(v, "off") ||
           pdl_err_set(err, PDL_E_config, (pdl_loc){0}, "parameters.cache is auto or off");
}

static bool put_marks(const pdl_call *c, pdl_val *body, pdl_err *err) {
    const pdl_mark_form *form = c->route.provider->dialect->marks;
    unsigned most = pdl_prefix_facts_of(pdl_str_of(c->route.provider->prefix))->marks;
    bool wants, own;
    if (!wants_marks(c, &wants, &own, err)) return false;
    if (wants && form && most && pdl_is_absent(c->ask.texts) && pdl_is_dict(*body))
        *body = pdl_marks_put(form, most, c->ask.name, own, *body);
    return true;
}

static bool write_body(pdl_call *c, pdl_err *err) {
    pdl_val body;
    pdl_str given = pdl_buf_str(&c->route.base),
            base = pdl_str_sub(given, 0, pdl_endpoint_base(given));
    c->url = c->body = PDL_BUF;
    pdl_buf_put(&c->url, base);
    c->ask.base = pdl_buf_str(&c->route.base);
    c->ask.base_given = c->route.base_given;
    if (!ask_dialect(c, &body, err)) return false;
    if (pdl_url_leaves(pdl_buf_str(&c->url), base)) {
        pdl_drop(body);
        return pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0},
                           "'%.*s' cannot be a part of an address: it would lead to another one",
                           PDL_FMT(c->route.name));
    }
    pdl_endpoint_query(&c->url, given);
    pdl_follow_read(c, body);
    bool ok = put_marks(c, &body, err) && pdl_json_write(body, PDL_JSON_LOOSE, 0, &c->body, err);
    pdl_drop(body);
    if (!ok && !pdl_err_is_cancel(err)) err->kind = PDL_E_bad_request;
    return ok;
}

static bool find_route(pdl_call *c, const char *platform, pdl_err *err) {
    pdl_str model = pdl_is_str(c->model) ? pdl_str_get(c->model) : (pdl_str){0};
    if (pdl_str_is(pdl_str_of(platform), "granite-io"))
        return pdl_processor_route(pdl_processor_of(c->e->request), c->given, model, &c->calls->env,
                                   &c->route, err);
    return pdl_route_find(model, pdl_str_of(platform), c->given, &c->calls->env, &c->route, err);
}

/* Refuses keys that contain a line end or a NUL: they would be sent truncated, or as another
 * header. */
static bool check_keys(const pdl_call *c, pdl_err *err) {
    for (size_t i = 0; i < pdl_dict_len(c->given); i++) {
        pdl_vref k = pdl_dict_key_at(c->given, i), v = pdl_dict_val_at(c->given, i);
        if (!pdl_is_str(k) || !pdl_is_str(v) || !pdl_is_secret_parameter(pdl_str_get(k))) continue;
        if (!is_line(pdl_str_get(v)) && !pdl_text_is(k, "vertex_credentials"))
            return pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                               "parameters.%s holds a line end or a control character",
                               pdl_str_get(k).p);
    }
    return is_line(pdl_buf_str(&c->route.key)) ||
           pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                       "the key of %s holds a line end or a control character: check %s",
                       c->route.provider->prefix, c->route.provider->key_env);
}

/* Registers every secret in the request before the request is sent, wherever the secret came
 * from. */
static void note_secrets(const pdl_call *c) {
    pdl_secrets *s = c->calls->opt.secrets;
    pdl_secrets_note_parameters(s, c->given);
    pdl_secrets_note(s, pdl_buf_str(&c->route.key));
    pdl_secrets_note_address(s, pdl_buf_str(&c->url));
    pdl_headers_note(&c->headers, s);
}

bool pdl_call_build(pdl_call *c, pdl_err *err) {
    char platform[16];
    pdl_call_reset(c);
    c->env = c->calls->env;
    c->env.keeps_keys = c->e->keeps_keys;
    if (!find_platform(c->e->request, platform, err)) return false;
    if (!find_route(c, platform, err)) return false;
    c->clean = pdl_params_clean(c->given);
    fill_ask(c, pdl_str_is(pdl_str_of(platform), "openai"));
    pdl_val named =
        pdl_messages_identified(c->ask.messages, c->route.provider->quirks & PDL_Q_SHORT_IDS);
    if (!pdl_messages_addressed(named, &c->messages, err)) return false;
    c->ask.messages = c->messages;
    bool pieces = c->ask.stream && c->route.provider->dialect->framing != PDL_FRAMING_NONE;
    const pdl_timing_sources limits = {c->route.provider, c->given, &c->calls->env,
                                       c->calls->opt.timeouts};
    if (!pdl_timing_of(&limits, pieces, &c->timing, err)) return false;
    if (pdl_is_absent(c->ask.texts) && pdl_mock_is(&c->ask)) return true;
    ask_in_words(c);
    if (!pdl_score_check(&c->ask, err)) return false;
    /* a score has no text to show */
    if (!pdl_is_absent(pdl_score_of(&c->ask))) c->ask.stream = false;
    if (!check_media(c, err)) return false;
    if (!pdl_route_reach(&c->route, c->given, &c->env, err) || !write_body(c, err)) return false;
    if (!check_keys(c, err) || !write_headers(c, err) || !sign(c, err)) return false;
    note_secrets(c);
    return pdl_headers_check(&c->headers, err);
}

void pdl_call_reset(pdl_call *c) {
    pdl_drop(c->clean);
    c->clean = pdl_absent();
    pdl_drop(c->messages);
    c->messages = pdl_absent();
    pdl_buf_fini(&c->url);
    pdl_buf_fini(&c->body);
    pdl_headers_fini(&c->headers);
    c->is_named = false;
    pdl_buf_fini(&c->token_url);
    pdl_buf_fini(&c->token_id);
    if (c->token_request.p) pdl_os_wipe(c->token_request.p, c->token_request.cap);
    pdl_buf_fini(&c->token_request);
    pdl_route_fini(&c->route);
}
