/* structured.h -- the schema of a spec as the constraint a service understands (spec 15). Inside of model
 * only. */
#ifndef PDL_MODEL_STRUCTURED_H
#define PDL_MODEL_STRUCTURED_H

#include "model/dialect.h"

/* response_format {type: json_schema, json_schema: {name: schema, schema, strict: true}}. */
pdl_val pdl_structured_format(pdl_vref schema);

/* For api.openai.com, which refuses most schemas: the strict form (additionalProperties false in each object)
 * when every property is required, else the same with strict: false. Absent when the root is not an object.
 */
pdl_val pdl_structured_openai(pdl_vref schema);

/* The schema inside a response_format of type json_schema, or absent. Borrowed. */
pdl_vref pdl_structured_schema(pdl_vref response_format);

/* The tool that stands for the schema, and the tool_choice that forces it. */
pdl_val pdl_structured_tool(pdl_vref schema);
pdl_val pdl_structured_choice(void);

/* The schema without the keywords named (NULL ends the list), at every level. */
pdl_val pdl_structured_without(pdl_vref schema, const char *const *keywords);

/* Does the word json occur in a message? Services with plain json_object mode want it. */
bool pdl_structured_says_json(pdl_vref messages);

#endif
