/* completions.h -- the older interface of texts, and log-probabilities. Private to mock.
 *
 * Judges and planners ask how likely a model finds a text. The numbers are those that the user's
 * list of replies gives, so a program that reads them is tried without a model that has them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MOCK_COMPLETIONS_H
#define PDL_MOCK_COMPLETIONS_H

#include "mock/script.h"

/* Returns the choices that answer the prompts of a request (one text, or a list of texts). With
 * `echo` the text is the prompt, and the number of the longest text of the item's `scores` that the
 * prompt ends with is its last token's; without, it is the item's reply, or else the prompt. item
 * may be NULL. */
pdl_val pdl_mock_completions(const pdl_mock_item *item, pdl_vref request);

/* Returns the first of the prompts: what an item's `when` is looked for in. */
pdl_str pdl_mock_first_prompt(pdl_vref request);

/* Returns the member `logprobs` of a chat's choice: the answer as one token, with what might have
 * been said instead. */
pdl_val pdl_mock_logprobs(pdl_str answer, pdl_vref table);

#endif
