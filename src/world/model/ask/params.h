/* params.h -- decides which sampling parameters of a call are sent, under which names, and which of
 * them the route does not support. Every dialect has a table of rules that says where each
 * parameter goes. Private to model.
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

/* Returns the row of a known parameter or NULL. */
const pdl_param *pdl_param_find(pdl_str name);

/* Returns the parameters of the program that are candidates for sending: without nulls, control
 * keys (spec providers 4), additional_drop_params, and parameters about an empty list of tools.
 * Numbers and booleans that are written as text are converted. */
pdl_val pdl_params_clean(pdl_vref given);

/* The unsupported parameters of a call, while they are gathered (spec providers 4.4). */
typedef struct pdl_unsupported {
    pdl_val names; /* list of str, or absent */
} pdl_unsupported;

/* Returns true when the program lists `name` in allowed_openai_params: it is then sent although the
 * route cannot express it. */
bool pdl_params_allowed(pdl_vref given, pdl_str name);
void pdl_unsupported_add(pdl_unsupported *u, pdl_str name);
/* Returns true when nothing was added or drop_params is true; else sets the error
 * unsupported_params. Releases u. */
PDL_MUST bool pdl_unsupported_end(pdl_unsupported *u, const pdl_ask *a, pdl_err *err);
/* Returns true when the parameter drop_params is true. */
bool pdl_params_drop(pdl_vref given);

/* Where a dialect with different names puts a parameter. */
typedef enum {
    PDL_TO_TOP,     /* top level of the body */
    PDL_TO_INNER,   /* the object of generation parameters */
    PDL_TO_OWN,     /* the dialect places the parameter itself */
    PDL_TO_NOBODY,  /* dropped silently */
    PDL_TO_REFUSED, /* an error: the route cannot express the parameter */
} pdl_param_to;

typedef struct pdl_param_rule {
    /* the parameter's name, and its name on the wire (NULL when it is the same name) */
    const char *name, *as;
    pdl_param_to to;
    bool list; /* a value that is not a list becomes a list with this one element */
} pdl_param_rule;

/* The rules by which a dialect places parameters. Parameters without a rule go to `rest`. */
typedef struct pdl_param_rules {
    const pdl_param_rule *p; /* n rules */
    size_t n;
    pdl_param_to rest;
    /* The service refuses the parameters of sampling that a Claude model does not take
     * (pdl_sampling_of). Other services that have these models accept or map the parameters. */
    bool checks_sampling;
} pdl_param_rules;

/* The rules of an array. Parameters without a rule go to `to`. */
#define PDL_PARAM_RULES(array, to)                                                                 \
    (&(pdl_param_rules){array, sizeof(array) / sizeof(array)[0], to, false})
/* The rules of an array for a service that checks the parameters of sampling. */
#define PDL_SAMPLING_RULES(array, to)                                                              \
    (&(pdl_param_rules){array, sizeof(array) / sizeof(array)[0], to, true})

/* Puts the parameters of the call `a` into *top and *inner (dicts, taken and returned, also on
 * failure). extra_body and guided_json are left out. Error: unsupported_params. */
PDL_MUST bool pdl_params_place(pdl_ask *a, const pdl_param_rules *rules, pdl_val *top,
                               pdl_val *inner, pdl_err *err);

/* The family of an OpenAI model. The name of the model, after an optional prefix, decides. */
typedef enum { PDL_FAMILY_PLAIN, PDL_FAMILY_O, PDL_FAMILY_GPT5 } pdl_family;
pdl_family pdl_params_family(pdl_str name);

/* The maximum length of an answer of Anthropic's models when the program gives no limit. */
enum { PDL_ANSWER_TOKENS = 4096 };

/* Returns a parameter that is a number, or a text that is a number, such as a count of seconds.
 * Returns dflt for any other value. */
double pdl_params_number(pdl_vref given, const char *key, double dflt);

#endif
