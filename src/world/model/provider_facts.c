/* provider_facts.c -- reports for which providers the environment has keys or addresses, without a
 * call; `pdl doctor` shows it. See model.h. The variables are those of the rows in providers.c,
 * which calls use, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/word_list.h"
#include "model/model.h"
#include "model/providers.h"

#include "base/banned.h"

enum { MAX_NAME = 64 };

/* Finds the first variable of the list that is set, with its value. Returns false when no variable
 * of the list is set. */
static bool find_set(const char *names, const pdl_env *env, char name[MAX_NAME],
                     const char **value) {
    for (pdl_str rest = pdl_str_of(names); rest.n;) {
        pdl_str word = pdl_str_take(&rest, PDL_STR(" "));
        if (!word.n || word.n >= MAX_NAME) continue;
        memcpy(name, word.p, word.n);
        name[word.n] = 0;
        if ((*value = pdl_env_get(env, name))) return true;
    }
    return false;
}

void pdl_model_each_provider(const char *(*env)(void *user, const char *name), void *env_user,
                             const char *(*of_file)(void *user, const char *name),
                             void (*fn)(void *user, const pdl_provider_facts *f), void *user) {
    pdl_env e = {.get = env, .user = env_user, .of_file = of_file}, of_file_alone = e;
    const pdl_provider *p;
    of_file_alone.file_keys_only = true;
    for (size_t i = 0; (p = pdl_provider_at(i)); i++) {
        char key[MAX_NAME], base[MAX_NAME];
        const char *secret, *address;
        bool has_base = find_set(p->base_env, &e, base, &address);
        bool is_of_file = has_base && of_file(env_user, base) == address;
        bool has_any = find_set(p->key_env, &e, key, &secret);
        bool withheld = has_any && is_of_file && secret != of_file(env_user, key);
        char key_of_file[MAX_NAME];
        if (withheld && find_set(p->key_env, &of_file_alone, key_of_file, &secret)) {
            memcpy(key, key_of_file, sizeof key);
            withheld = false;
        }
        bool has_key = has_any && !withheld;
        if (!has_any && !has_base) continue;
        bool has_holes = p->base && strchr(p->base, '$');
        pdl_provider_facts f = {
            .prefix = p->prefix,
            .key = has_key ? pdl_str_of(key) : (pdl_str){0},
            .key_is_exported = has_key && secret != of_file(env_user, key),
            .withheld = withheld ? pdl_str_of(key) : (pdl_str){0},
            .needs_key = (p->quirks & PDL_Q_KEY) != 0,
            .address = pdl_str_of(has_base    ? address
                                  : has_holes ? NULL
                                              : p->base),
        };
        fn(user, &f);
    }
}

/* Variables with keys that a dialect reads in addition to those in the row of its provider. */
static const char *const other_keys[] = {
    "ANTHROPIC_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_AD_TOKEN",
    "GRANITE_IO_API_KEY",   "VERTEXAI_ACCESS_TOKEN", "WATSONX_TOKEN",
};

bool pdl_model_is_key(pdl_str variable) {
    if (PDL_STR_IN(variable, other_keys)) return true;
    const pdl_provider *p;
    for (size_t i = 0; (p = pdl_provider_at(i)); i++)
        for (pdl_str rest = pdl_str_of(p->key_env); rest.n;)
            if (pdl_str_eq(pdl_str_take(&rest, PDL_STR(" ")), variable)) return true;
    return false;
}

unsigned pdl_provider_takes(const pdl_provider *p) {
    enum { N = PDL_TAKES_N, SEED = PDL_TAKES_SEED };
    static const struct {
        const char *prefix;
        unsigned takes;
    } rows[] = {
#define P(provider, takes) {provider, takes},
#include "model/takes.def"
#undef P
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].prefix, p->prefix) == 0) return rows[i].takes;
    return 0;
}

unsigned pdl_model_takes(pdl_str model, pdl_str platform, pdl_vref parameters,
                         const char *(*env)(void *user, const char *name), void *env_user) {
    pdl_env e = {.get = env, .user = env_user};
    pdl_route route = {0};
    pdl_err err = {0};
    bool found = pdl_route_find(model, platform, parameters, &e, &route, &err);
    unsigned takes = found ? pdl_provider_takes(route.provider) : 0;
    pdl_err_fini(&err);
    pdl_route_fini(&route);
    return takes;
}
