/* model.h -- the world that answers MODEL and EMBED effects: provider table, wire formats, streams,
 * retries, errors (spec providers 1).
 *
 * The way of a call: name -> row of providers.c -> the dialect writes the request -> io/http -> the
 * dialect reads the answer, or its events into a reply builder -> one response in OpenAI's shape ->
 * {content, message, raw, usage}. Inside there is only this one shape, because programs read `raw`
 * and must not depend on the provider. Not thread-safe: everything runs on the loop's thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_MODEL_H
#define PDL_MODEL_MODEL_H

#include "base/debug.h"
#include "effect/effect.h"
#include "io/loop.h"
#include "model/prices.h"
#include "model/prompt_cache.h"
#include "value/label.h"

/* The options of a world. When all members are zero, the world has no environment. */
typedef struct pdl_model_options {
    /* Returns the value of an environment variable (or of a line of .env), or NULL when it is not
     * set. The value is borrowed until the next call. Keys and addresses have no other source. When
     * the function is NULL, no variable is set. */
    const char *(*env)(void *user, const char *name);
    void *user;
    /* Does what env does, but reads only the file `.env`, and not the environment of the process.
     * The result is the pointer that env returns, unless the process has the variable, too. When
     * the function is NULL, there is no such file. */
    const char *(*env_of_file)(void *user, const char *name);
    const pdl_debug *debug; /* categories http, sse; borrowed */
    /* Time limits of the run, as pdl_timing_check reads them; borrowed. NULL means PDL_TIMEOUT, or
     * else the defaults. */
    const char *timeouts;
    const pdl_prices *prices; /* used for usage.cost; borrowed; may be NULL */
    /* Keys of requests are registered here and redacted in messages and logs; borrowed. When it is
     * NULL, the world has a private register. */
    pdl_secrets *secrets;
    pdl_rate_limits rates; /* limits that count for all calls of the world together */
    pdl_prefix_options prefix;
    /* The longest wait that a service may request. A longer wait fails the call. With 0, any wait
     * is accepted. */
    uint64_t patience_ms;
    /* Receives a log of literal requests and replies without keys. When the function is NULL, no
     * log is written. */
    void (*wire)(void *user, pdl_str text);
    /* The log does not get calls whose request has a label that this redaction covers, and `note`
     * gets no words about them. Borrowed; may be NULL. */
    const pdl_redaction *redaction;
    /* Receives messages for the user about calls that did not fail, without keys. When the function
     * is NULL, they are dropped. */
    void (*note)(void *user, pdl_str text);
    /* Takes the requests of calls instead of sending them; borrowed; NULL when the requests are
     * sent. */
    const struct pdl_http_carrier *carrier;
    /* Writes the header `traceparent` of a request for this effect, ending with a NUL; returns
     * false when the effect has none. When the function is NULL, no request has the header. */
    bool (*traceparent)(void *user, uint32_t effect, char out[56]);
    /* the header `tracestate` for the same requests; borrowed; may be NULL */
    const char *tracestate;
} pdl_model_options;

/* Checks a list of time limits: a number of seconds, or connect=S,first=S,idle=S,total=S. Error:
 * bad_request. */
PDL_MUST bool pdl_timing_check(pdl_str text, pdl_err *err);

/* Answers effects of the kinds model and embed (embedding_calls.c). Request of model: {model,
 * platform|null, messages, parameters, schema|null, stream}; `parameters` are complete (defaults
 * applied). Reply: {content: str, message: dict, raw: dict, usage: dict|null}. Pieces are text as
 * it arrives, only when stream is true. A failure has the whole text for users in msg ("Error
 * during 'M' model call: KIND: PROVIDER - MESSAGE"). Its kind and status have the same meanings for
 * all model calls (spec providers 9). Its detail is the JSON {provider, model, retry_after_seconds,
 * attempts?}. Other kinds of effects are refused. Borrows loop. The function `poll` of the world
 * steps the loop, and `close` cancels open calls. */
pdl_world *pdl_model_world_new(pdl_loop *loop, const pdl_model_options *opt);

/* Returns the number of open calls. */
size_t pdl_model_world_open(const pdl_world *w);

/* The settings of a provider in the environment. Borrowed for the call. */
typedef struct pdl_provider_facts {
    const char *prefix;
    /* the variable that holds the provider's key; empty when no such variable is set */
    pdl_str key;
    bool key_is_exported; /* the variable is in the environment of the process, not in .env */
    /* the variable of the process whose key is not sent because .env names the address; empty when
     * there is no such variable */
    pdl_str withheld;
    bool needs_key;
    pdl_str address; /* the address to which calls go; empty when it depends on the call */
} pdl_provider_facts;

/* Calls fn for each provider that has a key or an address in the environment. of_file returns the
 * value of a variable in a file `.env`, as in pdl_model_options. */
void pdl_model_each_provider(const char *(*env)(void *user, const char *name), void *env_user,
                             const char *(*of_file)(void *user, const char *name),
                             void (*fn)(void *user, const pdl_provider_facts *f), void *user);

/* Returns true for a variable of the table that holds the key of a provider. */
bool pdl_model_is_key(pdl_str variable);

/* Parameters that some providers take and others refuse or ignore. */
enum {
    PDL_TAKES_N = 1,   /* several answers to one request */
    PDL_TAKES_SEED = 2 /* a seed for the random choices */
};
/* Returns which of these parameters the provider of a model takes; 0 when the provider is
 * unknown. */
unsigned pdl_model_takes(pdl_str model, pdl_str platform, pdl_vref parameters,
                         const char *(*env)(void *user, const char *name), void *env_user);

/* Returns true for a call that its parameters answer (mock_response, mock_timeout). Such a call
 * needs no service. */
bool pdl_model_is_mocked(const pdl_effect *e);

/* Makes the reply to a model call from an answer that another program has: a chat completion in
 * OpenAI's form (taken, also on failure). The text of the answer is not changed. Error: protocol
 * when there is no choice. */
PDL_MUST bool pdl_model_reply(pdl_val completion, pdl_val *out, pdl_err *err);

/* --- default parameters (params_defaults.c; pure) --------------------------------------------- */

/* Returns the built-in value of the program variable pdl_model_default_parameters: a list of
 * {glob: {parameter: value}}. */
pdl_val pdl_model_defaults(void);

/* Stores in *out the parameters of a call to `model`, with the defaults of `list` in place of
 * parameters that are absent or null (spec providers 2). Takes params (a dict; it is released on
 * failure). Error: PDL_E_runtime "invalid defaults VALUE for model matcher GLOB". */
PDL_MUST bool pdl_model_defaults_apply(pdl_vref list, pdl_str model, pdl_val params, pdl_val *out,
                                       pdl_err *err);

/* Checks at the start of a run that all defaults of the list are objects. The error is the one that
 * pdl_model_defaults_apply would give. */
PDL_MUST bool pdl_model_defaults_check(pdl_vref list, pdl_err *err);

#endif
