/* env_settings.c -- checks variables of the environment; see env_settings.h. A wrong value is found
 * even when the program turns out not to need it, as with a wrong option.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/setup/env_settings.h"

#include "base/num.h"
#include "model/model.h"

#include "base/banned.h"

static const struct {
    const char *name, *what;
    double unit;
} code_limits[PDL_CODE_LIMIT_COUNT] = {
    [PDL_CODE_LIMIT_MS] = {"PDL_CODE_TIMEOUT", "a number of seconds", 1000},
    [PDL_CODE_LIMIT_BYTES] = {"PDL_CODE_MEMORY", "a number of megabytes", 1 << 20},
};

bool pdl_code_limit_read(pdl_code_limit which, pdl_setting_env_fn *env, void *user, uint64_t *out,
                         pdl_err *err) {
    static const double too_large = 1e15;
    const char *name = code_limits[which].name, *text = env(user, name);
    double n = 0, unit = code_limits[which].unit;
    *out = 0;
    if (!text || !*text) return true;
    if (!pdl_num_read_double(pdl_str_of(text), &n) || !(n > 0) || n * unit >= too_large)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: expected %s, not '%.40s'", name,
                           code_limits[which].what, text);
    *out = n * unit < 1 ? 1 : (uint64_t)(n * unit);
    return true;
}

static bool check_timing(pdl_setting_env_fn *env, void *user, pdl_err *err) {
    static const char name[] = "PDL_TIMEOUT";
    const char *text = env(user, name);
    if (!text || pdl_timing_check(pdl_str_of(text), err)) return true;
    err->kind = PDL_E_usage;
    if (!err->hint) pdl_err_hint(err, "%s in the environment says so", name);
    return false;
}

bool pdl_settings_check(pdl_setting_env_fn *env, void *user, pdl_err *err) {
    uint64_t unused;
    for (int i = 0; i < PDL_CODE_LIMIT_COUNT; i++)
        if (!pdl_code_limit_read((pdl_code_limit)i, env, user, &unused, err)) return false;
    return check_timing(env, user, err);
}
