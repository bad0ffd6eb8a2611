/* canonical_request.c -- see effect.h: the canonical form of requests (spec execution 10.5).
 * Secrets are left out, and so are parameters that do not change the question.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "effect/control.h"
#include "effect/effect.h"
#include "effect/encode.h"

#include "base/banned.h"

/* Returns true when the parameter does not change the question to the model. When `content` is set,
 * a parameter of the kind SHAPES (control.def) changes the question. */
static bool asks_the_same(pdl_str name, bool content) {
    pdl_control c;
    return pdl_control_find(name, &c) && c != PDL_CONTROL_PLACE &&
           !(content && c == PDL_CONTROL_SHAPES);
}

/* Returns the parameters of a model call that belong to the question. content: see
 * asks_the_same. */
static pdl_val model_params(pdl_vref given, bool content) {
    pdl_val d = pdl_dict_new(pdl_dict_len(given));
    for (size_t i = 0; i < pdl_dict_len(given); i++) {
        pdl_vref key = pdl_dict_key_at(given, i);
        if (pdl_is_str(key) &&
            (asks_the_same(pdl_str_get(key), content) || pdl_is_secret_key(pdl_str_get(key))))
            continue;
        d = pdl_dict_put(d, pdl_keep(key), pdl_keep(pdl_dict_val_at(given, i)));
    }
    return d;
}

static bool canonical(pdl_effect_kind kind, pdl_vref request, const pdl_secrets *secrets,
                      bool content, pdl_buf *out, pdl_err *err) {
    bool model = kind == PDL_EFFECT_model || kind == PDL_EFFECT_embed;
    pdl_val d = pdl_dict_new(pdl_dict_len(request));
    for (size_t i = 0; i < pdl_dict_len(request); i++) {
        pdl_vref key = pdl_dict_key_at(request, i), x = pdl_dict_val_at(request, i);
        if (model && (pdl_text_is(key, "stream") || pdl_text_is(key, "parsed"))) continue;
        if (kind == PDL_EFFECT_source && pdl_text_is(key, "under")) continue;
        if (kind == PDL_EFFECT_http && pdl_text_is(key, "timeout")) continue;
        bool params = model && pdl_text_is(key, "parameters") && pdl_is_dict(x);
        d = pdl_dict_put(d, pdl_keep(key), params ? model_params(x, content) : pdl_keep(x));
    }
    bool ok = pdl_effect_encode_with(d, PDL_ENC_SORT | PDL_ENC_REDACT, secrets, out, err);
    pdl_drop(d);
    return ok;
}

bool pdl_effect_canonical(pdl_effect_kind kind, pdl_vref request, const pdl_secrets *secrets,
                          pdl_buf *out, pdl_err *err) {
    return canonical(kind, request, secrets, false, out, err);
}

bool pdl_effect_content(const pdl_effect *e, const pdl_secrets *secrets, pdl_buf *out,
                        pdl_err *err) {
    return canonical(e->kind, e->request, secrets, true, out, err);
}
