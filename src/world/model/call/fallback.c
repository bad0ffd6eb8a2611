/* fallback.c -- selects another model for a call that failed, from the parameters fallbacks and
 * context_window_fallback_dict; see call.h (spec providers 8). A key that the block gives for one
 * provider is not sent to another one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/call.h"

#include "base/banned.h"

/* Returns the next entry of a list or map of models; absent when no further model is named. */
static pdl_vref find_fallback(pdl_call *c, pdl_vref given, const pdl_fault *f) {
    pdl_vref list = pdl_dict_getz(given, "fallbacks"),
             longer = pdl_dict_getz(given, "context_window_fallback_dict");
    if (f->kind == PDL_E_context_window && pdl_is_dict(longer) &&
        !(c->tried & PDL_TRIED_LONG_MODEL) && pdl_is_str(c->model)) {
        pdl_vref next = pdl_dict_find(longer, c->model);
        if (!pdl_is_absent(next)) {
            c->tried |= PDL_TRIED_LONG_MODEL;
            return next;
        }
    }
    return pdl_is_list(list) && c->n_fallback < pdl_list_len(list)
               ? pdl_list_at(list, c->n_fallback++)
               : pdl_absent();
}

/* Removes the keys that the block gives, so that they are not sent to another provider. Keeps them
 * when the next model has the same provider or the block gives an address, and keeps a key that the
 * entry `own` gives. Takes given. */
static pdl_val without_key(const pdl_call *c, pdl_val given, pdl_vref own) {
    static const char *const names[] = {"api_key", "apikey", "token", "zen_api_key",
                                        "azure_ad_token"};
    pdl_route next = {0};
    pdl_err err = {0};
    pdl_str model = pdl_is_str(c->model) ? pdl_str_get(c->model) : (pdl_str){0};
    bool same = pdl_route_find(model, PDL_STR(""), given, &c->calls->env, &next, &err) &&
                next.provider == c->route.provider;
    bool placed = !pdl_is_absent(pdl_dict_getz(given, "api_base")) ||
                  !pdl_is_absent(pdl_dict_getz(given, "base_url"));
    pdl_err_fini(&err);
    pdl_route_fini(&next);
    for (size_t i = 0; !same && !placed && i < sizeof names / sizeof names[0]; i++) {
        if (pdl_is_dict(own) && !pdl_is_absent(pdl_dict_getz(own, names[i]))) continue;
        pdl_val key = pdl_textz(names[i]);
        given = pdl_dict_del(given, key);
        pdl_drop(key);
    }
    return given;
}

bool pdl_call_fall_back(pdl_call *c, const pdl_fault *f) {
    pdl_vref given = pdl_dict_getz(c->e->request, "parameters");
    if (c->has_shown || c->ask.plain || !pdl_is_dict(given)) return false;
    pdl_vref next = find_fallback(c, given, f),
             name = pdl_is_dict(next) ? pdl_dict_getz(next, "model") : next;
    if (pdl_is_absent(next)) return false;
    pdl_val params = pdl_is_dict(next) ? pdl_dict_merge(pdl_keep(given), next) : pdl_keep(given);
    if (pdl_is_str(name)) pdl_reply_builder_set(&c->model, pdl_keep(name));
    pdl_reply_builder_set(&c->given, without_key(c, params, next));
    c->tried |= PDL_TRIED_FALLBACK;
    c->attempt = 0;
    return true;
}
