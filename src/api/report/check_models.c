/* check_models.c -- answers the questions that a check has about models (check/check.h), from the
 * tables of src/world/model and the environment of a session. The language does not know the tables
 * of providers. So the check gets functions in place of the tables, and a module without an
 * environment can give other functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/models.h"
#include "api/session/session_impl.h"

#include "base/banned.h"

/* Returns true when the parameters contain one of these names. An expression in place of the
 * parameters may give any of them. */
static bool may_give(const pdl_node *parameters, const char *const *names, size_t n) {
    if (parameters && parameters->kind != PDL_NODE_MAP) return true;
    for (size_t i = 0; parameters && i < n; i++)
        if (pdl_node_find(parameters, pdl_str_of(names[i]), NULL)) return true;
    return false;
}

static bool has_provider(void *user, pdl_str model, const pdl_node *parameters, pdl_buf *text,
                         pdl_buf *near) {
    static const char *const say_it[] = {"custom_llm_provider", "api_base", "base_url"};
    if (may_give(parameters, say_it, sizeof say_it / sizeof say_it[0])) return true;
    if (pdl_model_is_known(model, user, false, text)) return true;
    pdl_model_near(model, near);
    return false;
}

/* Returns false for a misspelt parameter. Services have other parameters, too, which are sent
 * unchanged. So a name counts as a mistake only when it is similar to a known name. */
static bool knows_parameter(void *user, pdl_str model, pdl_str name, pdl_str *near) {
    (void)user, (void)model;
    enum { MAX = 128 };
    size_t n;
    pdl_str names[MAX];
    if (pdl_model_param_find(name)) return true;
    const pdl_model_param *all = pdl_model_params(&n);
    for (size_t i = 0; i < n && i < MAX; i++) names[i] = pdl_str_of(all[i].name);
    *near = pdl_str_nearest(name, names, n < MAX ? n : MAX);
    size_t shorter = name.n < near->n ? name.n : near->n;
    return !near->n || shorter < 4 || pdl_str_distance(name, *near, 2) > 2;
}

static bool taken(pdl_str name, pdl_str *type, pdl_str *takes) {
    const pdl_model_param *p = pdl_model_param_find(name);
    if (!p) return false;
    *type = pdl_str_of(p->type);
    *takes = pdl_str_of(p->takes);
    return true;
}

/* Returns true when the key is set, or is not needed because the parameters of the call may give a
 * key or an address. */
static bool has_key(void *user, pdl_str model, const pdl_node *parameters, pdl_buf *text) {
    static const char *const given[] = {"api_key",
                                        "api_base",
                                        "base_url",
                                        "apikey",
                                        "url",
                                        "token",
                                        "zen_api_key",
                                        "azure_ad_token",
                                        "vertex_credentials",
                                        "aws_access_key_id",
                                        "headers",
                                        "extra_headers"};
    if (may_give(parameters, given, sizeof given / sizeof given[0])) return true;
    return pdl_model_is_known(model, user, true, text);
}

pdl_check_models pdl_models_for(const pdl_model_env *env, bool keys) {
    return (pdl_check_models){(void *)(uintptr_t)env, has_provider, knows_parameter, taken,
                              keys ? has_key : NULL};
}

pdl_check_models pdl_session_models(pdl_session *s, bool keys) {
    s->around.models_env = (pdl_model_env){pdl_session_env_of, s, pdl_session_env_of_file};
    return pdl_models_for(&s->around.models_env, keys);
}
