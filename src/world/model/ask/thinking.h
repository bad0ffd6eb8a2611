/* thinking.h -- how models of Anthropic and Google are asked to think more or less. The request of
 * a program has one word, reasoning_effort; the form that a service takes depends on the model, and
 * so does whether it takes temperature, top_p and top_k.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_THINKING_H
#define PDL_MODEL_THINKING_H

#include "value/val.h"

typedef enum pdl_thinking {
    PDL_THINKING_BUDGET, /* a number of tokens; the form of models without a row */
    /* the model decides how much it thinks, if the request asks it to think; a budget is refused */
    PDL_THINKING_ADAPTIVE,
    /* the model always decides how much it thinks; a budget and a forced tool are refused */
    PDL_THINKING_ALWAYS,
    PDL_THINKING_LEVEL,     /* a word from low to high */
    PDL_THINKING_LEVEL_TWO, /* low or high */
    PDL_THINKING_LEVEL_ALL, /* a word from minimal to high */
} pdl_thinking;

/* Finds the form by the name of the model, which may have a prefix and an end: Bedrock has
 * us.anthropic.claude-opus-5-v1:0. */
pdl_thinking pdl_thinking_of(pdl_str model);

typedef enum pdl_sampling {
    PDL_SAMPLING_ALL,  /* the model takes temperature, top_p and top_k */
    PDL_SAMPLING_ONE,  /* the model refuses temperature and top_p in the same request */
    PDL_SAMPLING_NONE, /* the model refuses temperature, top_p and top_k */
} pdl_sampling;

pdl_sampling pdl_sampling_of(pdl_str model);

/* Returns the number of thinking tokens for a reasoning_effort with Anthropic's models. Returns 0
 * for an effort without thinking ("none"), and for an unknown word. */
int64_t pdl_thinking_tokens(pdl_vref effort);
/* Returns the number of thinking tokens for Google's models without levels; -1 without a
 * reasoning_effort. */
int64_t pdl_thinking_google_tokens(pdl_vref effort);

/* Adds what a model of Anthropic needs for a reasoning_effort to the fields of a request, which
 * may have `thinking` and `output_config` from the program. Takes the fields. */
pdl_val pdl_thinking_put(pdl_thinking form, pdl_vref effort, pdl_val fields);

/* Returns true when a model of Anthropic thinks if the request has these fields; then no tool can
 * be forced. */
bool pdl_thinking_is_on(pdl_thinking form, pdl_vref fields);

/* Returns the level of a model of Google; absent for a word without one. */
pdl_val pdl_thinking_level(pdl_thinking form, pdl_vref effort);

#endif
