/* catalog.h -- what an editor shows of models: parameters of calls and providers, from the tables
 * by which calls are made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_CATALOG_H
#define PDL_MODEL_CATALOG_H

#include "base/buf.h"
#include "base/str.h"

/* A parameter of model calls. Others are sent as they are. */
typedef struct pdl_model_param {
    const char *name;
    const char *type;  /* number, integer, boolean; empty: it has several forms */
    const char *takes; /* "0..1", "1..": bounds; "string|list": types; "seconds": a number
                        * without which the call fails; empty: anything of `type` */
    const char *doc;  /* one sentence */
} pdl_model_param;

/* The parameters that are known, in order; *n their number. */
const pdl_model_param *pdl_model_params(size_t *n);
/* The row of a parameter, or NULL. */
const pdl_model_param *pdl_model_param_find(pdl_str name);

/* The prefix of the ith provider ("ollama_chat"), or NULL when there are no more. */
const char *pdl_model_prefix(size_t i);
/* Appends what is known of the provider with that prefix, as Markdown: its address, and the
 * variables of the environment from which address and key are taken. Returns false when there is
 * no such provider. Never writes a value of the environment. */
bool pdl_model_describe(pdl_str prefix, pdl_buf *out);

/* Variables of the environment; get NULL: none is read. */
typedef struct pdl_model_env {
    const char *(*get)(void *user, const char *name);
    void *user;
} pdl_model_env;

/* Is there a provider for a model of this name, and, with reach, are its address and key there?
 * False: why is appended. */
bool pdl_model_is_known(pdl_str model, const pdl_model_env *env, bool reach, pdl_buf *why);
/* Appends the name with the provider that is most like the one that it has; nothing: none is. */
void pdl_model_near(pdl_str model, pdl_buf *out);

#endif
