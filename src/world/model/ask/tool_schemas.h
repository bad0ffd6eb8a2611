/* tool_schemas.h -- the schemas of a request's tools, in the form that services accept. Private to
 * model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_TOOL_SCHEMAS_H
#define PDL_MODEL_TOOL_SCHEMAS_H

#include "value/val.h"

/* Returns the list of tools of a request. Each schema becomes that of an object that has all its
 * properties at the root (tool_schema.h adds what is missing), and each array gets `items`. */
pdl_val pdl_tool_schemas(pdl_vref tools);

/* Returns true when the root has no keyword that services refuse there. */
bool pdl_tool_schema_has_plain_root(pdl_vref schema);

#endif
