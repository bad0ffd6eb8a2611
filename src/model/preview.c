/* preview.c -- see preview.h. */
#include "model/preview.h"

#include "model/call.h"
#include "value/json_read.h"

#include "base/banned.h"

#define STAND_IN "no-key-is-set"

static pdl_call *call_of(pdl_world *model, const pdl_effect *e) {
    pdl_vref params = pdl_dict_getz(e->request, "parameters"), name = pdl_dict_getz(e->request, "model");
    pdl_call *c = PDL_NEW(pdl_call);
    c->calls = (pdl_calls *)(void *)model;
    c->e = (pdl_effect *)(uintptr_t)e; /* only read */
    c->model = pdl_is_absent(name) ? pdl_null() : pdl_keep(name);
    c->given = pdl_is_dict(params) ? pdl_keep(params) : pdl_dict_new(0);
    c->clean = pdl_absent();
    return c;
}

static void release(pdl_call *c) {
    pdl_call_unwrite(c);
    pdl_drop(c->given);
    pdl_drop(c->model);
    pdl_free(c);
}

/* Text with the key of the route replaced. */
static pdl_val without_key(const pdl_call *c, pdl_str text) {
    pdl_str key = pdl_buf_str(&c->route.key);
    pdl_buf out = PDL_BUF;
    size_t from = 0;
    for (size_t at; key.n && (at = pdl_str_find(text, key, from)) != PDL_NOT_FOUND; from = at + key.n) {
        pdl_buf_put(&out, pdl_str_sub(text, from, at));
        PDL_PUT(&out, "***");
    }
    pdl_buf_put(&out, pdl_str_sub(text, from, text.n));
    return pdl_text_of_buf(&out);
}

static pdl_val headers_of(const pdl_call *c) {
    pdl_val d = pdl_dict_new(c->headers.n);
    for (size_t i = 0; i < c->headers.n; i++) {
        pdl_str line = pdl_str_of(c->headers.p[i]), secret;
        size_t colon = pdl_str_find(line, PDL_STR(":"), 0);
        if (colon == PDL_NOT_FOUND) continue;
        bool hidden = pdl_headers_is_secret(c->headers.p[i], &secret);
        pdl_str value = pdl_str_trim(pdl_str_sub(line, colon + 1, line.n));
        d = pdl_dict_puts(d, pdl_str_sub(line, 0, colon), hidden ? pdl_textz("***") : without_key(c, value));
    }
    if (c->token_url.len && !pdl_headers_has(&c->headers, "Authorization"))
        d = pdl_dict_putz(d, "Authorization", pdl_textz("Bearer ***")); /* exchanged for the key when it is sent */
    return d;
}

static pdl_val body_of(const pdl_call *c) {
    pdl_val body, text = without_key(c, pdl_buf_str(&c->body));
    pdl_err ignored = {0};
    if (!pdl_json_read(pdl_str_get(text), PDL_JSON_PYTHON, &body, NULL, &ignored)) {
        pdl_err_fini(&ignored);
        return text;
    }
    pdl_drop(text);
    return body;
}

static pdl_val shown(const pdl_call *c, pdl_val problem) {
    const char *prefix = c->route.provider ? c->route.provider->prefix : "";
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "provider", pdl_textz(prefix));
    if (!c->url.len) {
        pdl_drop(problem);
        return pdl_dict_putz(d, "mock", pdl_bool(true));
    }
    d = pdl_dict_putz(d, "method", pdl_textz("POST"));
    d = pdl_dict_putz(d, "url", without_key(c, pdl_buf_str(&c->url)));
    d = pdl_dict_putz(d, "headers", headers_of(c));
    d = pdl_dict_putz(d, "body", body_of(c));
    return pdl_dict_putz(d, "problem", problem);
}

bool pdl_model_preview(pdl_world *model, const pdl_effect *e, pdl_val *out, pdl_err *err) {
    pdl_call *c = call_of(model, e);
    pdl_val problem = pdl_null();
    bool ok = pdl_call_write(c, err);
    if (!ok && err->kind == PDL_E_auth) {
        pdl_drop(problem);
        problem = pdl_textz(err->msg);
        pdl_err_fini(err);
        c->given = pdl_dict_putz(c->given, "api_key", pdl_textz(STAND_IN));
        ok = pdl_call_write(c, err);
    }
    if (ok) *out = shown(c, problem);
    else pdl_drop(problem);
    release(c);
    return ok;
}
