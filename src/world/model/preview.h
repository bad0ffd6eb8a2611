/* preview.h -- the request of a call, without sending it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_PREVIEW_H
#define PDL_MODEL_PREVIEW_H

#include "effect/effect.h"

/* Of an effect model or embed, by the world of pdl_model_world_new: {provider, method, url,
 * headers: {name: value}, body, problem|null}, credentials replaced by ***. A key that is not set
 * is a problem, not an error: the request is shown as it would be with one. For mock_response:
 * {provider, mock: true}. Errors: why no request can be written. */
PDL_MUST bool pdl_model_preview(pdl_world *model, const pdl_effect *e, pdl_val *out, pdl_err *err);

#endif
