/* env_settings.h -- the variables of the environment whose values are checked before a run begins,
 * as the values of options are. Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_SETUP_ENV_SETTINGS_H
#define PDL_API_SETUP_ENV_SETTINGS_H

#include "api/session.h"

/* Variables with limits for code; each is a number greater than 0. */
typedef enum pdl_code_limit {
    PDL_CODE_LIMIT_MS,
    PDL_CODE_LIMIT_BYTES,
    PDL_CODE_LIMIT_COUNT
} pdl_code_limit;

typedef const char *pdl_setting_env_fn(void *user, const char *name);

/* Reads the limit; 0 when its variable is not set. Error: usage. */
PDL_MUST bool pdl_code_limit_read(pdl_code_limit which, pdl_setting_env_fn *env, void *user,
                                  uint64_t *out, pdl_err *err);

/* Checks the variables with limits for code, PDL_CA_FILE, PDL_COMMAND and PDL_TIMEOUT. Error:
 * usage. */
PDL_MUST bool pdl_settings_check(pdl_setting_env_fn *env, void *user, pdl_err *err);

#endif
