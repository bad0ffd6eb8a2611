/* tool_arguments.h -- the arguments that a tool of a server takes besides those that its schema
 * names. A JSON Schema allows every other name, unless `additionalProperties` is false; then it
 * allows only the names that match `patternProperties`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_TOOL_ARGUMENTS_H
#define PDL_LANG_TOOL_ARGUMENTS_H

#include "base/err.h"
#include "value/val.h"

/* For an argument that the schema does not name: returns true when the schema allows this name. */
bool pdl_tool_allows(pdl_vref schema, pdl_str name);

/* Reports that the tool does not take an argument of this name, and what it takes. Returns false.
 */
bool pdl_tool_refuse(pdl_str tool, pdl_vref schema, pdl_str name, pdl_err *err);

/* Returns the schema for the values of arguments that `schema` does not name. Returns absent when
 * only the server can check these values. Owned. */
pdl_val pdl_tool_others_schema(pdl_vref schema);

/* Returns true when v has a reference. A reference points into the whole schema, so it has no
 * meaning in a part of it. */
bool pdl_tool_has_reference(pdl_vref v);

#endif
