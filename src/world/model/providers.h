/* providers.h -- finds which provider answers a model name, and where its address and key are. A
 * provider is one row of a table; most rows differ only in a few quirks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_PROVIDERS_H
#define PDL_MODEL_PROVIDERS_H

#include "base/buf.h"
#include "base/err.h"
#include "value/val.h"

/* Differences between a provider and OpenAI (spec providers 4.1, 4.3). */
enum {
    PDL_Q_KEY = 1u << 0, /* a key is required */
    /* models with OpenAI's names (o3, gpt-5) follow OpenAI's special rules */
    PDL_Q_OPENAI_NAMES = 1u << 1,
    PDL_Q_ORG = 1u << 2,          /* organization header */
    PDL_Q_NO_USAGE_OPT = 1u << 3, /* no stream_options */
    PDL_Q_MAX_TOKENS = 1u << 4,   /* max_completion_tokens is sent as max_tokens */
    PDL_Q_RANDOM_SEED = 1u << 5,  /* seed is sent as random_seed */
    /* tool_choice "required" is sent as "any"; a named function cannot be requested */
    PDL_Q_CHOICE_ANY = 1u << 6,
    PDL_Q_CHOICE_AUTO = 1u << 7,  /* tool_choice is only auto or none */
    PDL_Q_CHOICE_TEXT = 1u << 8,  /* tool_choice "required" becomes a user message */
    PDL_Q_NO_NAME = 1u << 9,      /* the service knows `name` only in tool messages */
    PDL_Q_FLAT = 1u << 10,        /* content lists are sent as strings */
    PDL_Q_FORCED_TOOL = 1u << 12, /* a schema is sent as a forced tool */
    PDL_Q_JSON_OBJECT = 1u << 13, /* the service knows only response_format json_object */
    PDL_Q_THINKING = 1u << 14,    /* reasoning_effort is sent as thinking: {type: enabled} */
    PDL_Q_EFFORT_HIGH = 1u << 15, /* every reasoning_effort is sent as "high" */
    PDL_Q_COOL = 1u << 16,        /* temperature is at most 1 */
    PDL_Q_USER = 1u << 17,        /* `user` is sent for every model */
    /* the service takes guided_json; guided_regex, guided_choice and guided_grammar are also sent
     * as structured_outputs */
    PDL_Q_GUIDED = 1u << 18,
    /* guided_regex, guided_choice and guided_grammar are sent as a grammar of llama.cpp */
    PDL_Q_GRAMMAR = 1u << 26,
    PDL_Q_FIREWORKS = 1u << 19, /* short names get the prefix accounts/fireworks/models/ */
    /* without api_base, the model has the form <org>/<model>:<inference provider> */
    PDL_Q_HUB = 1u << 20,
    /* usage: {include: true} requests the cost; the headers HTTP-Referer and X-Title are set from
     * OR_SITE_URL and OR_APP_NAME */
    PDL_Q_OPENROUTER = 1u << 21,
    PDL_Q_WATSONX = 1u << 23,     /* `url` and `apikey` are other names of api_base and api_key */
    PDL_Q_SMALL_BATCH = 1u << 25, /* at most ten texts are embedded per request */
    PDL_Q_STRICT = 1u << 24,      /* schemas are sent in OpenAI's strict form to every address */
    PDL_Q_SHORT_IDS = 1u << 27,   /* ids of calls are nine letters or digits */
    /* the gateway forwards to OpenAI's models: schemas are sent in the strict form */
    PDL_Q_GATEWAY = 1u << 30,
    /* The members of a reply that are sent back (spec providers 4.5), see messages.c: */
    PDL_Q_TAKES_THOUGHTS = 1u << 28, /* reasoning_content, within a loop of tools */
    PDL_Q_TAKES_REFUSALS = 1u << 29, /* refusal, audio: {id} */
    PDL_Q_TAKES_DETAILS = 1u << 11,  /* reasoning_details */
};

typedef struct pdl_dialect pdl_dialect;

typedef struct pdl_provider {
    const char *prefix;
    /* The default address; NULL when the user must give one. ${A B} is replaced by the first of the
     * settings A and B that is set; see pdl_setting. */
    const char *base;
    const char *base_env; /* variables that may hold the address, separated by blanks */
    const char *key_env;  /* variables that may hold the key */
    const pdl_dialect *dialect;
    unsigned quirks;
} pdl_provider;

/* The source from which settings are read. */
typedef struct pdl_env {
    const char *(*get)(void *user, const char *name);
    void *user;
    /* Does what get does, but reads only the file `.env`, and not the environment of the process.
     * The result is the pointer that get returns, unless the process has the variable, too. When
     * the function is NULL, there is no such file. */
    const char *(*of_file)(void *user, const char *name);
    /* Keys are read from the file `.env` alone, because the address comes from it. */
    bool file_keys_only;
    /* No key is read when the parameters of the call name the address (pdl_effect.keeps_keys). */
    bool keeps_keys;
} pdl_env;

/* Returns the value of a variable that is set, not empty, and allowed to be read; otherwise NULL.
 */
const char *pdl_env_get(const pdl_env *env, const char *name);

/* Returns the value of the variable <PREFIX><end> of a provider, for example
 * OLLAMA_CHAT_API_BASE. Returns NULL when it is not set. */
const char *pdl_provider_env(const struct pdl_provider *p, const char *end, const pdl_env *env);
/* Puts the name of the variable <PREFIX><end> before the message of err, which says why the value
 * of the variable is wrong. */
void pdl_provider_name_env(const struct pdl_provider *p, const char *end, pdl_err *err);

/* Returns the first setting that is a non-empty text. names are separated by blanks: parameters in
 * lower case, variables in upper case. Returns a slice with p == NULL when there is no such
 * setting. Borrowed until the next call. */
pdl_str pdl_setting(const char *names, pdl_vref params, const pdl_env *env);

/* The provider, address and key of a call. A route is empty when all members are zero. Release with
 * pdl_route_fini. */
typedef struct pdl_route {
    const pdl_provider *provider;
    pdl_str name;    /* the model as the service knows it; borrowed from the call */
    pdl_buf base;    /* the address, without a slash at the end */
    bool base_given; /* the base is not the provider's default */
    bool base_named; /* the parameters of the call name the base */
    /* The variable of a file `.env` that names the address to which the key goes. May be empty.
     * Such a file may have come with the program, so only keys of that file go there. */
    char file_variable[80];
    pdl_buf key; /* empty when there is no key */
} pdl_route;

/* Finds the provider of model (spec providers 3). platform is "", "litellm" or "openai"; params is
 * the dict of the call. Error: unknown_provider, with the reference's text. */
PDL_MUST bool pdl_route_find(pdl_str model, pdl_str platform, pdl_vref params, const pdl_env *env,
                             pdl_route *r, pdl_err *err);
/* Finds address and key of a route whose provider is known. When the address comes from a file
 * `.env`, env gives only keys of that file from then on. Errors: auth (no key), config (no
 * address, or a key that may not go there). */
PDL_MUST bool pdl_route_reach(pdl_route *r, pdl_vref params, pdl_env *env, pdl_err *err);
void pdl_route_fini(pdl_route *r);

/* Sets the error auth for a provider without a key. Always returns false. */
PDL_MUST bool pdl_key_missing(const pdl_provider *p, pdl_err *err);

/* Returns the parameters PDL_TAKES_... that a provider takes (takes.def). */
unsigned pdl_provider_takes(const pdl_provider *p);

/* Returns the i-th row of the table, or NULL when there are no more. */
const pdl_provider *pdl_provider_at(size_t i);
/* Returns the row with this prefix or NULL. */
const pdl_provider *pdl_provider_find(pdl_str prefix);

#endif
