/* preview.c -- builds the request of a call and shows it with its credentials replaced; see
 * preview.h. The call is released without being started.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/preview.h"

#include "model/call/call.h"
#include "value/json_read.h"

#include "base/banned.h"

#define STAND_IN "no-key-is-set"

static pdl_call *call_of(pdl_world *model, const pdl_effect *e) {
    pdl_vref params = pdl_dict_getz(e->request, "parameters"),
             name = pdl_dict_getz(e->request, "model");
    pdl_call *c = PDL_NEW(pdl_call);
    c->calls = (pdl_calls *)(void *)model;
    c->e = (pdl_effect *)(uintptr_t)e; /* the effect is only read here */
    c->model = pdl_is_absent(name) ? pdl_null() : pdl_keep(name);
    c->given = pdl_is_dict(params) ? pdl_keep(params) : pdl_dict_new(0);
    c->clean = pdl_absent();
    return c;
}

static void release(pdl_call *c) {
    pdl_call_reset(c);
    pdl_drop(c->given);
    pdl_drop(c->model);
    pdl_free(c);
}

static pdl_val hidden(const pdl_call *c, pdl_str text) {
    pdl_buf out = PDL_BUF;
    pdl_redact_text(c->calls->opt.secrets, text, &out);
    return pdl_text_of_buf(&out);
}

static pdl_val headers_of(const pdl_call *c) {
    pdl_val d = pdl_dict_new(c->headers.n);
    for (size_t i = 0; i < c->headers.n; i++) {
        pdl_str line = pdl_str_of(c->headers.p[i]);
        size_t colon = pdl_str_find(line, PDL_STR(":"), 0);
        if (colon == PDL_NOT_FOUND) continue;
        pdl_str name = pdl_str_sub(line, 0, colon),
                value = pdl_str_trim(pdl_str_sub(line, colon + 1, line.n));
        d = pdl_dict_puts(d, name,
                          pdl_is_secret_header(name) ? pdl_textz("***") : hidden(c, value));
    }
    if (c->token_url.len && !pdl_headers_has(&c->headers, "Authorization"))
        d = pdl_dict_putz(d, "Authorization",
                          /* the real key is exchanged for a token when a request is sent */
                          pdl_textz("Bearer ***"));
    return d;
}

static pdl_val body_of(const pdl_call *c) {
    pdl_val body;
    pdl_err ignored = {0};
    if (pdl_json_read(pdl_buf_str(&c->body), PDL_JSON_PYTHON, &body, NULL, &ignored))
        return pdl_redact_val(c->calls->opt.secrets, body);
    pdl_err_fini(&ignored);
    return hidden(c, pdl_buf_str(&c->body));
}

static pdl_val url_of(const pdl_call *c) {
    pdl_buf b = PDL_BUF;
    pdl_address_put(pdl_buf_str(&c->url), &b);
    pdl_val v = hidden(c, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return v;
}

static pdl_val shown(const pdl_call *c, pdl_val problem) {
    const char *prefix = c->route.provider ? c->route.provider->prefix : "";
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "provider", pdl_textz(prefix));
    if (!c->url.len) {
        pdl_drop(problem);
        return pdl_dict_putz(d, "mock", pdl_bool(true));
    }
    d = pdl_dict_putz(d, "method", pdl_textz("POST"));
    d = pdl_dict_putz(d, "url", url_of(c));
    d = pdl_dict_putz(d, "headers", headers_of(c));
    d = pdl_dict_putz(d, "body", body_of(c));
    return pdl_dict_putz(d, "problem", problem);
}

bool pdl_model_preview(pdl_world *model, const pdl_effect *e, pdl_val *out, pdl_err *err) {
    pdl_call *c = call_of(model, e);
    pdl_val problem = pdl_null();
    bool ok = pdl_call_build(c, err);
    if (!ok && err->kind == PDL_E_auth) {
        pdl_drop(problem);
        problem = pdl_textz(err->msg);
        pdl_err_fini(err);
        c->given = pdl_dict_putz(c->given, "api_key", pdl_textz(STAND_IN));
        ok = pdl_call_build(c, err);
    }
    if (ok)
        *out = shown(c, problem);
    else
        pdl_drop(problem);
    release(c);
    return ok;
}
