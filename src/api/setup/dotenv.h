/* dotenv.h -- reads the lines of a `.env` file in the same way as the package python-dotenv.
 * Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_DOTENV_H
#define PDL_API_DOTENV_H

#include "base/str.h"

/* The functions that receive the lines, in the order of the file. Texts live during the call. */
typedef struct pdl_dotenv_user {
    void *user;
    /* Sets a variable. Neither text contains a NUL. When the variable is not set, returns the
     * reason; otherwise returns NULL. */
    const char *(*put)(void *user, pdl_str name, pdl_str value);
    /* Returns a variable that a value names as ${NAME}; NULL when it is not set. */
    const char *(*get)(void *user, const char *name);
    /* Reports that the statement which begins on this line sets nothing. */
    void (*wrong)(void *user, unsigned line, const char *why);
} pdl_dotenv_user;

void pdl_dotenv_read(pdl_str text, const pdl_dotenv_user *to);

#endif
