/* env_settings.c -- checks variables of the environment; see env_settings.h. A wrong value is found
 * even when the program turns out not to need it, as with a wrong option.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/setup/env_settings.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/num.h"
#include "io/file.h"
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

/* Says what is wrong with the file that a variable names. Returns false. */
static bool wrong_file(const char *name, const char *path, const char *why, pdl_err *err) {
    return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: '%.200s' %s", name, path, why);
}

static bool has_certificate(const char *path, bool *has, pdl_err *err) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES);
    bool ok = pdl_file_read(path, &text, err);
    *has = pdl_str_find(pdl_buf_str(&text), PDL_STR("CERTIFICATE-----"), 0) != PDL_NOT_FOUND;
    pdl_buf_fini(&text);
    return ok;
}

/* Checks a variable that names a file: a command, or else a file with certificates. */
static bool check_file(const char *name, bool is_command, pdl_setting_env_fn *env, void *user,
                       pdl_err *err) {
    const char *path = env(user, name);
    if (!path || !*path) return true;
    pdl_file_kind kind = pdl_file_kind_of(path);
    if (kind == PDL_FILE_NONE) return wrong_file(name, path, "is not there", err);
    if (kind == PDL_FILE_DIR) return wrong_file(name, path, "is a folder", err);
    if (is_command)
        return access(path, X_OK) == 0 ||
               wrong_file(name, path, "is not a command: it may not be run", err);
    if (access(path, R_OK) != 0) return wrong_file(name, path, "may not be read", err);
    bool has = true;
    if (kind == PDL_FILE_REGULAR && !has_certificate(path, &has, err)) return false;
    return has || wrong_file(name, path, "has no certificate in PEM form", err);
}

/* Checks that a file with certificates is no pipe. The file is opened for each connection, and a
 * pipe without a writer would then stop the whole run. */
static bool check_pipe(const char *name, pdl_setting_env_fn *env, void *user, pdl_err *err) {
    const char *path = env(user, name);
    struct stat st;
    if (!path || !*path || stat(path, &st) != 0 || !S_ISFIFO(st.st_mode)) return true;
    return wrong_file(name, path, "is a pipe: expected a file, which is read more than once", err);
}

bool pdl_settings_check(pdl_setting_env_fn *env, void *user, pdl_err *err) {
    uint64_t unused;
    if (!check_pipe("PDL_CA_FILE", env, user, err) ||
        !check_pipe("SSL_CERT_FILE", env, user, err) ||
        !check_file("PDL_CA_FILE", false, env, user, err) ||
        !check_file("PDL_COMMAND", true, env, user, err))
        return false;
    for (int i = 0; i < PDL_CODE_LIMIT_COUNT; i++)
        if (!pdl_code_limit_read((pdl_code_limit)i, env, user, &unused, err)) return false;
    return check_timing(env, user, err);
}
