/* env.h -- the environment of a run: variables of the process, then lines of a `.env` file found
 * from the working directory upwards. Private to api. Existing variables are not overridden.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_ENV_H
#define PDL_API_ENV_H

#include "effect/secret.h"

typedef struct pdl_environ pdl_environ;

/* Who hears of lines that set nothing and of a file that cannot be read; both borrowed. */
typedef struct pdl_environ_notes {
    void (*fn)(void *user, pdl_str text);
    void *user;
} pdl_environ_notes;

/* Registers what of it is secret (secrets borrowed for the call). notes: NULL: they are dropped. */
pdl_environ *pdl_environ_load(pdl_secrets *secrets, const pdl_environ_notes *notes);
/* Variables whose names say that their values are keys. */
void pdl_environ_each_key(const pdl_environ *e,
                          void (*fn)(void *user, pdl_str name, pdl_str value), void *user);
void pdl_environ_free(pdl_environ *e);

/* Value of a variable, NULL when not set; borrowed from e. Fits pdl_model_options.env. */
const char *pdl_environ_get(void *env, const char *name);

#endif
