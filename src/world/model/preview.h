/* preview.h -- shows the request that a call would send, for `pdl explain`, without sending it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_PREVIEW_H
#define PDL_MODEL_PREVIEW_H

#include "effect/effect.h"

/* Stores in *out what the world of pdl_model_world_new would send for an effect model or embed:
 * {provider, method, url, headers: {name: value}, body, problem|null}, with credentials replaced by
 * ***. A key that is not set is reported as a problem, and the request is shown as it would be with
 * a key. For mock_response it stores {provider, mock: true}. The error says why no request can be
 * written. */
PDL_MUST bool pdl_model_preview(pdl_world *model, const pdl_effect *e, pdl_val *out, pdl_err *err);

#endif
