/* processor.h -- `platform: granite-io`, of which only the wire format is implemented: Granite
 * 3.2 and 3.3 get their prompts as text completions, other models get a chat. Private to model
 * (spec providers 14).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_PROCESSOR_H
#define PDL_MODEL_PROCESSOR_H

#include "model/wire/dialect.h"

/* Returns the processor of a request of this platform, or absent. Borrowed. */
pdl_vref pdl_processor_of(pdl_vref request);

/* Returns the parameters of the call in the form of every other platform: generate_inputs,
 * tools, the control keys, and address and key of the processor. Owned. */
pdl_val pdl_processor_given(pdl_vref request);

/* Finds the service that answers. Errors: bad_request (backend or model missing or of the wrong
 * form), unknown_provider. */
PDL_MUST bool pdl_processor_route(pdl_vref processor, pdl_vref given, pdl_str model,
                                  const pdl_env *env, pdl_route *r, pdl_err *err);

/* Returns the reply of the effect with `raw` in the form of this platform: {results:
 * [{next_message}]}. Takes reply. */
pdl_val pdl_processor_reply(pdl_val reply);

#endif
