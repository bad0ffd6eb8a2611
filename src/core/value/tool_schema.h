/* tool_schema.h -- the schema of a tool's arguments, as services of models accept it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_TOOL_SCHEMA_H
#define PDL_VALUE_TOOL_SCHEMA_H

#include "value/val.h"

/* Returns the schema as the schema of an object with `properties`, which most services require. A
 * schema that describes arguments is kept, except that its type becomes "object" and keywords whose
 * value is null are left out. Any other value becomes the schema of an object without
 * properties. */
pdl_val pdl_tool_schema_whole(pdl_vref schema);

/* Returns the schema, which is a dict, in the form of draft 2020-12. A keyword whose value has no
 * such form is left out. */
pdl_val pdl_tool_schema_of_draft(pdl_vref schema);

/* Returns the schema that the reference names: "#", or "#/$defs/NAME" or "#/definitions/NAME".
 * Borrowed from root; absent for any other reference. */
pdl_vref pdl_schema_local(pdl_vref root, pdl_vref ref);

/* Returns true when the type of a schema is this one, or is a list with this one. */
bool pdl_schema_has_type(pdl_vref schema, const char *name);

/* Returns true when v is a list with an item that equals x. */
bool pdl_schema_lists(pdl_vref v, pdl_vref x);

/* Returns true when `properties` has each name that the list `required` has. */
bool pdl_schema_describes(pdl_vref properties, pdl_vref required);

/* Returns a dict whose keys are the texts of a list, for the search of many names. It is empty for
 * any other value. */
pdl_val pdl_schema_names(pdl_vref list);

/* Returns the list of tools of a request with whole schemas of draft 2020-12. A `parameters` that
 * is null is left out. */
pdl_val pdl_tools_whole(pdl_vref tools);

#endif
