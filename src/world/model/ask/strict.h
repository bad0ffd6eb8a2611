/* strict.h -- OpenAI's strict form of a schema, in which every property is required, and the way
 * back. Private to model (spec providers 15.1).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_STRICT_H
#define PDL_MODEL_STRICT_H

#include "value/val.h"

/* The schema with additionalProperties: false in every object and every property required; an
 * optional one may be null (*nullable is set when there is one). Absent when the schema has no
 * strict form, because an object allows any properties. */
pdl_val pdl_strict_form(pdl_vref schema, bool *nullable);

/* Does a schema have this form already? */
bool pdl_strict_is_form(pdl_vref schema);

/* An answer to the strict form (taken) as an answer to the schema: without optional properties that
 * are null. */
pdl_val pdl_strict_undo(pdl_val v, pdl_vref schema);

#endif
