/* env.h -- the environment of a run: variables of the process, then lines of a `.env` file found from the
 * working directory upwards. Private to api. Existing variables are not overridden. */
#ifndef PDL_API_ENV_H
#define PDL_API_ENV_H

#include "base/str.h"

typedef struct pdl_environ pdl_environ;

pdl_environ *pdl_environ_load(void);
void pdl_environ_free(pdl_environ *e);

/* Value of a variable, NULL when not set; borrowed from e. Fits pdl_model_options.env. */
const char *pdl_environ_get(void *env, const char *name);

/* Values that must never be shown: those of variables whose names say key, token, secret or password.
 * Borrowed. */
const pdl_str *pdl_environ_secrets(const pdl_environ *e, size_t *n);

/* One more variable that may hold a secret; always: it does, whatever its name. env is a pdl_environ. */
void pdl_environ_note(void *env, pdl_str name, pdl_str value, bool always);

#endif
