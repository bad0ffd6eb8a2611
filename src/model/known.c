/* known.c -- see catalog.h: can a model be asked? By the lookup by which calls are made, without
 * asking.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/catalog.h"
#include "model/providers.h"

#include "base/banned.h"

static const char *nothing(void *user, const char *name) {
    (void)user, (void)name;
    return NULL;
}

bool pdl_model_is_known(pdl_str model, const pdl_model_env *env, bool reach, pdl_buf *why) {
    pdl_env from = {env && env->get ? env->get : nothing, env ? env->user : NULL};
    pdl_route route = {0};
    pdl_err err = {0};
    pdl_val params = pdl_dict_new(0);
    bool ok = pdl_route_find(model, (pdl_str){0}, params, &from, &route, &err) &&
              (!reach || pdl_route_reach(&route, params, &from, &err));
    if (!ok) pdl_buf_put(why, pdl_str_of(err.msg));
    pdl_err_fini(&err);
    pdl_route_fini(&route);
    pdl_drop(params);
    return ok;
}

enum { MOST_PROVIDERS = 256 };

void pdl_model_near(pdl_str model, pdl_buf *out) {
    pdl_str names[MOST_PROVIDERS];
    size_t n = 0, slash = pdl_str_find(model, PDL_STR("/"), 0);
    if (slash == PDL_NOT_FOUND) return;
    for (const pdl_provider *p; n < MOST_PROVIDERS && (p = pdl_provider_at(n)); n++)
        names[n] = pdl_str_of(p->prefix);
    pdl_str near = pdl_str_nearest(pdl_str_sub(model, 0, slash), names, n);
    if (!near.n) return;
    pdl_buf_put(out, near);
    pdl_buf_put(out, pdl_str_sub(model, slash, model.n));
}
