/* prices.h -- costs of calls, from the user's table: {"model glob": {"input": $, "output": $,
 * "cached_input": $, "cache_write": $}}, each for one token (spec providers 17), or LiteLLM's own
 * table. There is no built-in table: an unknown price is unknown, never zero.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_PRICES_H
#define PDL_MODEL_PRICES_H

#include "base/err.h"
#include "value/val.h"

typedef struct pdl_prices pdl_prices;

/* Reads the text of a table. name: name of its file, for messages. Error: config, which says what
 * is accepted. */
PDL_MUST bool pdl_prices_read(pdl_str text, const char *name, pdl_prices **out, pdl_err *err);
void pdl_prices_free(pdl_prices *p); /* p may be NULL */

typedef struct pdl_price {
    double input, output, cached_input, cache_write; /* dollars for one token */
} pdl_price;

/* Finds the price of a call to model with parameters (a dict, or absent): input_cost_per_token and
 * output_cost_per_token of the parameters, or else the last matching glob of the table (which may
 * be NULL). Returns false when the price is unknown. */
bool pdl_price_find(const pdl_prices *p, pdl_str model, pdl_vref parameters, pdl_price *out);

/* Returns the most that one token of a prompt can cost: a token that the service writes into its
 * cache may cost more than others. */
double pdl_price_of_prompt(const pdl_price *price);

/* Computes the cost of a usage (prompt_tokens, completion_tokens,
 * prompt_tokens_details.cached_tokens, cache_creation_input_tokens). Returns false when the usage
 * has no counts. */
bool pdl_price_of(const pdl_price *price, pdl_vref usage, double *out);

/* Adds usage.cost to a reply in OpenAI's form (taken) when the price is known and the service
 * gave no cost. */
pdl_val pdl_prices_mark(const pdl_prices *p, pdl_str model, pdl_vref parameters, pdl_val raw);

/* The estimate for each part of a message that is not text. pdl_tokens_estimate counts one token
 * for four ASCII letters or one other character, and some for each message; real tokenizers
 * differ from each other by a third. */
enum { PDL_TOKENS_OF_MEDIA = 800 };
int64_t pdl_tokens_estimate(pdl_vref request);
/* Returns the maximum length of the answer according to the parameters; 0 when they set no maximum.
 */
int64_t pdl_tokens_allowed(pdl_vref parameters);

#endif
