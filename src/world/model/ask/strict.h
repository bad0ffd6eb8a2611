/* strict.h -- converts a schema into OpenAI's strict form, in which every property is required, and
 * turns answers back. OpenAI guarantees an answer only for such schemas. Private to model (spec
 * providers 15.1).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_STRICT_H
#define PDL_MODEL_STRICT_H

#include "value/val.h"

/* Returns the schema in which every object has additionalProperties: false and requires all its
 * properties, and every part has a type. An optional property may then be null; *nullable is set
 * when null was added to a property for this reason. Returns absent when the schema has no strict
 * form: an object allows any properties, an array any items, or a keyword is not in the form. */
pdl_val pdl_strict_form(pdl_vref schema, bool *nullable);

/* Returns true when a schema is in the strict form already. */
bool pdl_strict_is_form(pdl_vref schema);

/* Turns v, an answer to the strict form, into an answer to the schema: removes optional properties
 * that are null. Takes v. */
pdl_val pdl_strict_undo(pdl_val v, pdl_vref schema);

#endif
