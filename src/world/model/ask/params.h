/* params.h -- sampling parameters: which are sent, under which name, and which the route does not
 * support. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_PARAMS_H
#define PDL_MODEL_PARAMS_H

#include "model/wire/dialect.h"

typedef enum { PDL_PARAM_ANY, PDL_PARAM_NUM, PDL_PARAM_INT, PDL_PARAM_BOOL } pdl_param_type;
typedef enum {
    PDL_OLLAMA_OPT,
    PDL_OLLAMA_PREDICT,
    PDL_OLLAMA_NO,
    PDL_OLLAMA_SKIP,
    PDL_OLLAMA_TOP,
    PDL_OLLAMA_OWN,
} pdl_param_ollama;

typedef struct pdl_param {
    const char *name;
    pdl_param_type type;
    pdl_param_ollama ollama;
    bool oseries, gpt5;
} pdl_param;

/* The row of a known parameter or NULL. */
const pdl_param *pdl_param_find(pdl_str name);

/* What is left of the program's parameters to be sent: without nulls, control keys (spec providers
 * 4) and additional_drop_params; numbers and booleans written as text converted. */
pdl_val pdl_params_clean(pdl_vref given);

/* Unsupported parameters being gathered (spec providers 4.4). */
typedef struct pdl_unsupported {
    pdl_val names; /* list of str, or absent */
} pdl_unsupported;

/* May `name` go out although the route cannot express it (allowed_openai_params)? */
bool pdl_params_allowed(pdl_vref given, pdl_str name);
void pdl_unsupported_add(pdl_unsupported *u, pdl_str name);
/* Returns true when nothing was added or drop_params is true; else sets the error
 * unsupported_params. Releases u. */
PDL_MUST bool pdl_unsupported_end(pdl_unsupported *u, const pdl_ask *a, pdl_err *err);
/* drop_params: true? */
bool pdl_params_drop(pdl_vref given);

/* The position of a parameter in a dialect with different names. */
typedef enum {
    PDL_TO_TOP,     /* top level of the body */
    PDL_TO_INNER,   /* the object of generation parameters */
    PDL_TO_OWN,     /* the dialect handles it */
    PDL_TO_NOBODY,  /* dropped without a word */
    PDL_TO_REFUSED, /* the route cannot express it */
} pdl_param_to;

typedef struct pdl_param_rule {
    const char *name, *as; /* as: name on the wire, NULL: the same */
    pdl_param_to to;
    bool list; /* a single value becomes a list of one */
} pdl_param_rule;

/* Puts the parameters of a into *top and *inner (dicts, taken and returned, also on failure); those
 * without a rule go to rest. extra_body and guided_json are left out. Error: unsupported_params. */
PDL_MUST bool pdl_params_place(pdl_ask *a, const pdl_param_rule *rules, size_t n, pdl_param_to rest,
                               pdl_val *top, pdl_val *inner, pdl_err *err);

/* OpenAI's reasoning models, by name after an optional prefix. */
typedef enum { PDL_FAMILY_PLAIN, PDL_FAMILY_O, PDL_FAMILY_GPT5 } pdl_family;
pdl_family pdl_params_family(pdl_str name);

/* Limit of the answer for Anthropic's models when the program gives none. */
enum { PDL_ANSWER_TOKENS = 4096 };

/* Thinking tokens for a reasoning_effort with Anthropic's models; 0: none. */
int64_t pdl_params_budget(pdl_vref effort);

/* A number of seconds or the like, from a number or a text that is one; dflt when it is neither. */
double pdl_params_number(pdl_vref given, const char *key, double dflt);

#endif
