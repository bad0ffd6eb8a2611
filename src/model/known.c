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
