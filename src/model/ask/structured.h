/* structured.h -- the schema of a spec as the constraint a service understands (spec 15). Inside of
 * model only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_STRUCTURED_H
#define PDL_MODEL_STRUCTURED_H

#include "model/wire/dialect.h"

/* response_format {type: json_schema, json_schema: {name: schema, schema, strict: true}}. */
pdl_val pdl_structured_format(pdl_vref schema);

/* Names of the forms, for the trace. */
#define PDL_BY_STRICT "json_schema, strict"
#define PDL_BY_SCHEMA "json_schema"
#define PDL_BY_OBJECT "json_object and prompt"
#define PDL_BY_TOOL   "forced tool"
#define PDL_BY_FORMAT "format"
#define PDL_BY_GEMINI "response_json_schema"
#define PDL_BY_PROMPT "prompt"
#define PDL_BY_OWN    "prompt of the program" /* it asks for JSON itself */

/* Does the program say itself how the answer is to look: by response_format, guided_..., a
 * grammar? */
bool pdl_structured_is_own(const pdl_ask *a);

/* The schema of the block's spec when it is to go out as a field of the request; absent when there
 * is none, when the program has a constraint of its own, when the service refused it. Borrowed. */
pdl_vref pdl_structured_wanted(const pdl_ask *a);

/* The same for services that know no schemas but tools: of the response_format, or of the block.
 * Notes the form, and whether the value stands in an object because its schema is none of an
 * object. Owned; absent: none. */
pdl_val pdl_structured_for_tool(pdl_ask *a);

/* {value: schema}, for services that want an object at the root. */
pdl_val pdl_structured_wrap(pdl_vref schema);
/* May text of this schema be anything? Then it constrains nothing. */
bool pdl_structured_is_text(pdl_vref schema);

/* The conversation with a sentence behind its last text that asks for JSON of this schema. */
pdl_val pdl_structured_prompt(pdl_vref messages, pdl_vref schema);

/* For api.openai.com, which refuses most schemas: the strict form (strict.h), else the same with
 * strict: false; in {value: schema} when the root is no object. Notes the form, and whether
 * optional properties come as null. */
pdl_val pdl_structured_openai(pdl_ask *a);

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
