/* mock_response.c -- answers a call without a service, for tests of programs: parameters
 * mock_response and mock_timeout; see call.h (spec providers 13.7). The errors and the usage are
 * those of LiteLLM's mocks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/params.h"
#include "model/call/call.h"

#include "base/banned.h"

static const struct {
    const char *text;
    pdl_err_kind kind;
    const char *msg;
} mock_faults[] = {
    {"litellm.RateLimitError", PDL_E_rate_limit, "this is a mock rate limit error"},
    {"litellm.ContextWindowExceededError", PDL_E_context_window,
     "this is a mock context window exceeded error"},
    {"litellm.InternalServerError", PDL_E_server, "this is a mock internal server error"},
};

bool pdl_mock_is(const pdl_ask *a) {
    pdl_vref v = pdl_dict_getz(a->given, "mock_response"),
             t = pdl_dict_getz(a->given, "mock_timeout");
    if (a->plain) return false;
    return pdl_is_str(v) || pdl_is_dict(v) || (!pdl_is_absent(t) && pdl_val_truth(t));
}

bool pdl_model_is_mocked(const pdl_effect *e) {
    pdl_vref params = pdl_dict_getz(e->request, "parameters"),
             platform = pdl_dict_getz(e->request, "platform");
    bool plain =
        pdl_is_str(platform) && pdl_str_eq_nocase(pdl_str_get(platform), PDL_STR("openai"));
    return e->kind == PDL_EFFECT_model && pdl_is_dict(params) &&
           pdl_mock_is(&(pdl_ask){.given = params, .plain = plain});
}

static pdl_val usage(void) {
    pdl_val u = pdl_dict_putz(pdl_dict_new(3), "prompt_tokens", pdl_int(10));
    u = pdl_dict_putz(u, "completion_tokens", pdl_int(20));
    return pdl_dict_putz(u, "total_tokens", pdl_int(30));
}

static pdl_val choice(int64_t index, pdl_vref text) {
    pdl_val m = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("assistant"));
    m = pdl_dict_putz(m, "content", pdl_keep(text));
    pdl_val c = pdl_dict_putz(pdl_dict_new(3), "index", pdl_int(index));
    c = pdl_dict_putz(c, "message", m);
    return pdl_dict_putz(c, "finish_reason", pdl_textz("stop"));
}

bool pdl_mock_read(const pdl_ask *a, pdl_val *raw, pdl_fault *f) {
    pdl_vref v = pdl_dict_getz(a->given, "mock_response");
    if (pdl_is_dict(v)) {
        *raw = pdl_keep(v);
        return true;
    }
    pdl_str s = pdl_str_get(v);
    for (size_t i = 0; i < sizeof mock_faults / sizeof mock_faults[0]; i++)
        if (pdl_str_is(s, mock_faults[i].text)) {
            pdl_fault_set(f, mock_faults[i].kind, 0, "%s", mock_faults[i].msg);
            return false;
        }
    if (pdl_str_starts(s, PDL_STR("Exception: content_filter_policy"))) {
        pdl_fault_set(f, PDL_E_content_policy, 0, "%.*s", PDL_FMT(s));
        return false;
    }
    pdl_val choices = pdl_list_new(1);
    int64_t n = (int64_t)pdl_params_number(a->given, "n", 1);
    for (int64_t i = 0; i < n && i < 128; i++) choices = pdl_list_push(choices, choice(i, v));
    pdl_val out = pdl_dict_putz(pdl_dict_new(6), "id", pdl_textz("chatcmpl-mock"));
    out = pdl_dict_putz(out, "object", pdl_textz("chat.completion"));
    out = pdl_dict_putz(out, "created", pdl_int(0));
    out = pdl_dict_putz(out, "model", pdl_text(a->name));
    out = pdl_dict_putz(out, "choices", choices);
    *raw = pdl_dict_putz(out, "usage", usage());
    return true;
}
