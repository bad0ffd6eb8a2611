/* secret.c -- see effect.h: names behind which secrets stand (spec execution 14.5) and the canonical form of
 * requests (10.5). */
#include "effect/effect.h"

#include <string.h>

#include "base/limits.h"
#include "effect/encode.h"

#include "base/banned.h"

static const char *const secret_names[] = {"api_key",          "apikey",         "token",
                                           "zen_api_key",      "azure_ad_token", "aws_secret_access_key",
                                           "openai_api_key", "access_token", "vertex_credentials",
                                           "aws_session_token"};

/* Parameters that steer the client, not the model (spec providers 4, execution 10.5): another time limit or
 * base URL asks the same. Some of them decide all the same what the model is asked, and so what may be answered for
 * another run. */
static const struct {
    const char *name;
    bool shapes; /* the request that goes out */
} controls[] = {
    {"api_key", false},
    {"api_base", false},
    {"base_url", false},
    {"api_version", false},
    {"timeout", false},
    {"request_timeout", false},
    {"stream_timeout", false},
    {"max_retries", false},
    {"num_retries", false},
    {"fallbacks", false},
    {"context_window_fallback_dict", false},
    {"drop_params", true},
    {"additional_drop_params", true},
    {"allowed_openai_params", true},
    {"custom_llm_provider", true},
    {"mock_response", false},
    {"mock_timeout", false},
    {"model_list", false},
    {"metadata", false},
    {"extra_headers", false},
    {"headers", false},
    {"roles", true},
    {"initial_prompt_value", true},
    {"final_prompt_value", true},
    {"bos_token", true},
    {"eos_token", true},
    {"input_cost_per_token", false},
    {"output_cost_per_token", false},
    {"cache", false},
    {"caching", false},
    {"organization", false},
    {"retry_policy", false},
    {"no-log", false},
    {"ssl_verify", false},
    {"stream", false},
    {"stream_options", false},
};

static bool listed(pdl_str name, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (pdl_str_eq_nocase(name, pdl_str_of(list[i]))) return true;
    return false;
}

static bool named_secret(pdl_str name) {
    return listed(name, secret_names, sizeof secret_names / sizeof secret_names[0]);
}
/* content: what shapes the request is none. */
static bool is_control(pdl_str name, bool content) {
    for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++)
        if (pdl_str_eq_nocase(name, pdl_str_of(controls[i].name))) return !content || !controls[i].shapes;
    return false;
}

static bool contains_nocase(pdl_str s, pdl_str word) {
    for (size_t i = 0; i + word.n <= s.n; i++)
        if (pdl_str_eq_nocase(pdl_str_sub(s, i, i + word.n), word)) return true;
    return false;
}

bool pdl_is_secret_key(pdl_str name) {
    return named_secret(name) || contains_nocase(name, PDL_STR("authorization")) ||
           contains_nocase(name, PDL_STR("key"));
}

/* Parameters of a model without what does not belong to its identity. */
static pdl_val model_params(pdl_vref given, bool content) {
    pdl_val d = pdl_dict_new(pdl_dict_len(given));
    for (size_t i = 0; i < pdl_dict_len(given); i++) {
        pdl_vref key = pdl_dict_key_at(given, i);
        if (pdl_is_str(key) && (is_control(pdl_str_get(key), content) || pdl_is_secret_key(pdl_str_get(key))))
            continue;
        d = pdl_dict_put(d, pdl_keep(key), pdl_keep(pdl_dict_val_at(given, i)));
    }
    return d;
}

static bool canonical(const pdl_effect *e, bool content, pdl_buf *out, pdl_err *err) {
    bool model = e->kind == PDL_EFFECT_model || e->kind == PDL_EFFECT_embed;
    pdl_val d = pdl_dict_new(pdl_dict_len(e->request));
    for (size_t i = 0; i < pdl_dict_len(e->request); i++) {
        pdl_vref key = pdl_dict_key_at(e->request, i), x = pdl_dict_val_at(e->request, i);
        if (model && pdl_text_is(key, "stream")) continue;
        if (e->kind == PDL_EFFECT_source && pdl_text_is(key, "under")) continue;
        bool params = model && pdl_text_is(key, "parameters") && pdl_is_dict(x);
        d = pdl_dict_put(d, pdl_keep(key), params ? model_params(x, content) : pdl_keep(x));
    }
    bool ok = pdl_effect_encode_with(d, PDL_ENC_SORT | PDL_ENC_REDACT, named_secret, out, err);
    pdl_drop(d);
    return ok;
}

bool pdl_effect_canonical(const pdl_effect *e, pdl_buf *out, pdl_err *err) { return canonical(e, false, out, err); }
bool pdl_effect_content(const pdl_effect *e, pdl_buf *out, pdl_err *err) { return canonical(e, true, out, err); }
