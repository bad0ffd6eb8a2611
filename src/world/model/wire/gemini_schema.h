/* gemini_schema.h -- the two forms in which Gemini takes the parameters of a function. Private to
 * model (spec providers 13.3).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_GEMINI_SCHEMA_H
#define PDL_MODEL_GEMINI_SCHEMA_H

#include "value/val.h"

/* Returns true when a schema keeps to the keywords and values of `parameters`, which is a subset of
 * OpenAPI's Schema. Any other schema goes into `parameters_json_schema`, because the service
 * refuses `parameters` that contain $ref, const or a list of types. */
bool pdl_gemini_schema_is_plain(pdl_vref schema);

#endif
