/* secret.c -- see effect.h: names behind which secrets stand (spec execution 14.5) and the canonical form of
 * requests (10.5). */
#include "effect/effect.h"

#include <string.h>

#include "base/limits.h"
#include "effect/encode.h"

#include "base/banned.h"

typedef enum { STEERS, SHAPES, SECRET, PLACE, FORM } control;

static const struct {
    const char *name;
    control what;
} controls[] = {
#define C(name, what) {#name, what},
#include "effect/control.def"
#undef C
};

/* Letter case does not matter: a secret is one however it is spelt. */
static bool find_control(pdl_str name, control *what) {
    for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++)
        if (pdl_str_eq_nocase(name, pdl_str_of(controls[i].name))) {
            *what = controls[i].what;
            return true;
        }
    return false;
}

static bool named_secret(pdl_str name) {
    control c;
    return find_control(name, &c) && c == SECRET;
}

/* Another value asks the same of the model. content: what decides the request that goes out does not. */
static bool asks_the_same(pdl_str name, bool content) {
    control c;
    return find_control(name, &c) && c != PLACE && !(content && c == SHAPES);
}

bool pdl_is_control_key(pdl_str name) {
    for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++)
        if (pdl_str_is(name, controls[i].name)) return controls[i].what != FORM;
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
        if (pdl_is_str(key) && (asks_the_same(pdl_str_get(key), content) || pdl_is_secret_key(pdl_str_get(key))))
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
        if (model && (pdl_text_is(key, "stream") || pdl_text_is(key, "parsed"))) continue;
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
