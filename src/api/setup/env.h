/* env.h -- the environment of a run: variables of the process, then lines of a `.env` file found
 * from the working directory upwards. Private to api. Variables of the process are not overridden.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_ENV_H
#define PDL_API_ENV_H

#include "effect/secret.h"

typedef struct pdl_environ pdl_environ;

/* Receives notes about lines that set nothing and about a file that cannot be read; both are
 * borrowed. */
typedef struct pdl_environ_notes {
    void (*fn)(void *user, pdl_str text);
    void *user;
} pdl_environ_notes;

/* Loads the environment and registers its secrets (borrowed for the call). When notes is NULL,
 * notes are dropped. */
pdl_environ *pdl_environ_load(pdl_secrets *secrets, const pdl_environ_notes *notes);
/* Calls fn for each variable whose name shows that its value is a key. */
void pdl_environ_each_key(const pdl_environ *e, void (*fn)(void *user, pdl_str name, pdl_str value),
                          void *user);
void pdl_environ_free(pdl_environ *e);

/* Returns the value of a variable; NULL when it is not set. Borrowed from e. The function can be
 * used as pdl_model_options.env. */
const char *pdl_environ_get(void *env, const char *name);
/* Returns the value of a variable in the file `.env` alone, which may have come with the program;
 * NULL when the file does not set it. When the process does not have the variable, pdl_environ_get
 * returns the same pointer. */
const char *pdl_environ_of_file(void *env, const char *name);

#endif
