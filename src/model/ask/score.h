/* score.h -- the model parameter `score`: how likely given continuations of a prompt are (spec
 * patterns 2). Inside of model only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_SCORE_H
#define PDL_MODEL_SCORE_H

#include "model/wire/dialect.h"

/* The list of continuations, or absent. */
pdl_vref pdl_score_of(const pdl_ask *a);
/* Does the route rate continuations, when that is asked for? Errors: unsupported_params,
 * bad_request. */
PDL_MUST bool pdl_score_check(const pdl_ask *a, pdl_err *err);
/* The body of a text completion that rates the continuations of its prompt instead of going on.
 * Takes body. */
pdl_val pdl_score_write(const pdl_ask *a, pdl_val body);
/* The content that a reply (choices with echoed tokens) gives: {scores: [number]}, in the order
 * that was asked for. */
PDL_MUST bool pdl_score_read(const pdl_ask *a, pdl_vref prompt, pdl_vref choices, pdl_val *content,
                             pdl_err *err);

#endif
