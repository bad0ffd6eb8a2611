/* score.h -- the model parameter `score`, which asks for the likelihood of given continuations
 * of a prompt instead of an answer (spec patterns 2). Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_SCORE_H
#define PDL_MODEL_SCORE_H

#include "model/wire/dialect.h"

/* Returns the list of continuations; absent when the program asks for no score. */
pdl_vref pdl_score_of(const pdl_ask *a);
/* Checks that the route can rate continuations, if the program asks for that. Errors:
 * unsupported_params, bad_request. */
PDL_MUST bool pdl_score_check(const pdl_ask *a, pdl_err *err);
/* Returns the body of a text completion that rates the continuations of its prompt instead of
 * extending it. Takes body. */
pdl_val pdl_score_write(const pdl_ask *a, pdl_val body);
/* Stores in *content {scores: [number]}, in the order of the continuations, from the choices of
 * a reply with echoed tokens. */
PDL_MUST bool pdl_score_read(const pdl_ask *a, pdl_vref prompt, pdl_vref choices, pdl_val *content,
                             pdl_err *err);

#endif
