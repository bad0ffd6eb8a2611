/* catalog.h -- the facts about models that an editor shows: parameters of calls, and providers.
 * These facts come from the tables by which calls are made, so the editor shows what calls do.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_CATALOG_H
#define PDL_MODEL_CATALOG_H

#include "base/buf.h"
#include "base/str.h"

/* A parameter of model calls. Parameters that are not in the table are sent as they are. */
typedef struct pdl_model_param {
    const char *name;
    const char *type; /* number, integer, boolean; empty when the parameter has several forms */
    /* "0..1" or "1.." are bounds; "string|list" are types; "seconds" is a number that is not
     * negative, or a text with such a number; empty when any value of `type` is accepted */
    const char *takes;
    const char *doc; /* one sentence */
} pdl_model_param;

/* Returns the known parameters in order; *n is their number. */
const pdl_model_param *pdl_model_params(size_t *n);
/* Returns the row of a parameter, or NULL. */
const pdl_model_param *pdl_model_param_find(pdl_str name);

/* Returns the prefix of the ith provider ("ollama_chat"), or NULL when there are no more. */
const char *pdl_model_prefix(size_t i);
/* Appends a description, in Markdown, of the provider that has this prefix: its address, and the
 * environment variables from which address and key are taken. Returns false when there is no such
 * provider. Never writes a value of the environment. */
bool pdl_model_describe(pdl_str prefix, pdl_buf *out);

/* Access to environment variables; when get is NULL, none is read. */
typedef struct pdl_model_env {
    const char *(*get)(void *user, const char *name);
    void *user;
    /* Does what get does, but reads only the file `.env`, and not the environment of the process.
     * The result is the pointer that get returns, unless the process has the variable, too. When
     * the function is NULL, there is no such file. */
    const char *(*of_file)(void *user, const char *name);
} pdl_model_env;

/* Returns true when there is a provider for a model of this name. When `reach` is set, its address
 * and key must be set, too. When the result is false, appends the reason to `why`. */
bool pdl_model_is_known(pdl_str model, const pdl_model_env *env, bool reach, pdl_buf *why);
/* Appends the name that was probably meant: the model's name with the most similar prefix of a
 * provider, or PROVIDER/MODEL for PROVIDER:MODEL. Appends nothing when no provider is similar. */
void pdl_model_near(pdl_str model, pdl_buf *out);

#endif
