/* known_models.c -- tests whether a model can be called, by the lookup that calls use but without
 * sending anything; see catalog.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/catalog.h"
#include "model/providers.h"
#include "model/wire/dialect.h"
#include "model/wire/headers.h"

#include "base/banned.h"

static const char *nothing(void *user, const char *name) {
    (void)user, (void)name;
    return NULL;
}

/* Returns false when credentials are missing. Some services have credentials other than a key,
 * which are looked up only when a request is signed. So a request that is never sent is signed
 * here. Errors other than missing credentials are ignored. */
static bool can_sign(const pdl_route *r, pdl_vref params, const pdl_env *env, pdl_err *err) {
    const pdl_dialect *d = r->provider->dialect;
    pdl_headers headers = {0};
    pdl_buf url = PDL_BUF, token_url = PDL_BUF, request = PDL_BUF, id = PDL_BUF;
    pdl_ask ask = {.provider = r->provider,
                   .env = env,
                   .name = r->name,
                   .base = pdl_buf_str(&r->base),
                   .base_given = r->base_given,
                   .messages = pdl_absent(),
                   .params = params,
                   .given = params,
                   .schema = pdl_absent(),
                   .request = params,
                   .texts = pdl_absent()};
    bool ok = true;
    pdl_buf_put(&url, pdl_buf_str(&r->base));
    PDL_PUT(&url, "/");
    if (d->sign)
        ok = d->sign(&(pdl_sign){.ask = &ask,
                                 .key = pdl_buf_str(&r->key),
                                 .url = pdl_buf_str(&url),
                                 .body = PDL_STR("{}"),
                                 .headers = &headers,
                                 .token_url = &token_url,
                                 .token_request = &request,
                                 .token_id = &id},
                     err) ||
             err->kind != PDL_E_auth;
    if (ok) pdl_err_fini(err);
    pdl_headers_fini(&headers);
    pdl_buf_fini(&url);
    pdl_buf_fini(&token_url);
    pdl_buf_fini(&request);
    pdl_buf_fini(&id);
    return ok;
}

bool pdl_model_is_known(pdl_str model, const pdl_model_env *env, bool reach, pdl_buf *why) {
    pdl_env from = {.get = env && env->get ? env->get : nothing};
    if (env) from.user = env->user;
    if (env && env->get) from.of_file = env->of_file;
    pdl_route route = {0};
    pdl_err err = {0};
    pdl_val params = pdl_dict_new(0);
    bool ok = pdl_route_find(model, (pdl_str){0}, params, &from, &route, &err) &&
              (!reach || (pdl_route_reach(&route, params, &from, &err) &&
                          can_sign(&route, params, &from, &err)));
    if (!ok) pdl_buf_put(why, pdl_str_of(err.msg));
    pdl_err_fini(&err);
    pdl_route_fini(&route);
    pdl_drop(params);
    return ok;
}

enum { MAX_PROVIDERS = 256 };

/* Appends PROVIDER/MODEL for the form PROVIDER:MODEL of other tools. The tags of ollama have the
 * same form (mistral:7b, mistral:instruct). Such tags begin with a digit, or have no hyphen. */
static void put_with_slash(pdl_str model, pdl_buf *out) {
    size_t colon = pdl_str_find(model, PDL_STR(":"), 0);
    if (colon == PDL_NOT_FOUND || !pdl_provider_find(pdl_str_sub(model, 0, colon))) return;
    pdl_str rest = pdl_str_sub(model, colon + 1, model.n);
    bool is_tag = !rest.n || (rest.p[0] >= '0' && rest.p[0] <= '9') || !pdl_byte_in('-', rest);
    if (!is_tag) pdl_buf_putf(out, "%.*s/%.*s", (int)colon, model.p, PDL_FMT(rest));
}

void pdl_model_near(pdl_str model, pdl_buf *out) {
    pdl_str names[MAX_PROVIDERS];
    size_t n = 0, slash = pdl_str_find(model, PDL_STR("/"), 0);
    if (slash == PDL_NOT_FOUND) {
        put_with_slash(model, out);
        return;
    }
    for (const pdl_provider *p; n < MAX_PROVIDERS && (p = pdl_provider_at(n)); n++)
        names[n] = pdl_str_of(p->prefix);
    pdl_str near = pdl_str_nearest(pdl_str_sub(model, 0, slash), names, n);
    if (!near.n) return;
    pdl_buf_put(out, near);
    pdl_buf_putf(out, "/%.*s", PDL_FMT(pdl_str_trim(pdl_str_sub(model, slash + 1, model.n))));
}
