/* structured.h -- structured output: the schema of a spec as the constraint that a service
 * understands (spec providers 15). Private to model.
 *
 * A block with a `spec` wants a value of that form. Services have different ways to get it: a
 * response format, a strict variant of it, a forced tool, a grammar, or only words in the prompt.
 * Always asking in words would waste what services can guarantee; always sending the field would
 * fail where it is unknown. So the dialect selects the strongest form that its service has, and the
 * call records it for the trace. When a service refuses the field, the field is dropped, and the
 * prompt asks for the form in words. What must stay true: the program gets the same value in every
 * form, and the machine still checks the spec, because no service can be trusted to follow it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_STRUCTURED_H
#define PDL_MODEL_STRUCTURED_H

#include "model/wire/dialect.h"

/* Returns response_format {type: json_schema, json_schema: {name: "schema", schema, strict}}.
 * strict is true only for a schema that keeps OpenAI's rules (strict.h). */
pdl_val pdl_structured_format(pdl_vref schema);
/* Returns the response_format for servers at the user's address, which get the schema unchanged.
 * strict is true when the schema already requires all its properties, because a service may refuse
 * other schemas as strict. */
pdl_val pdl_structured_plain(pdl_vref schema);

/* The names of the forms, for the trace. */
#define PDL_BY_STRICT "json_schema, strict"
#define PDL_BY_SCHEMA "json_schema"
#define PDL_BY_OBJECT "json_object and prompt"
#define PDL_BY_TOOL   "forced tool"
#define PDL_BY_FORMAT "format"
#define PDL_BY_GEMINI "response_json_schema"
#define PDL_BY_PROMPT "prompt"
#define PDL_BY_OWN    "prompt of the program" /* the program itself asks for JSON */

/* Returns true when the program itself prescribes the form of the answer: by response_format,
 * guided_..., a grammar. */
bool pdl_structured_is_own(const pdl_ask *a);

/* Returns the schema of the block's spec when it is to be sent as a field of the request. Returns
 * absent when the block has no such schema, when the program has another constraint, or when the
 * service refused the field. Borrowed. */
pdl_vref pdl_structured_wanted(const pdl_ask *a);

/* Returns the schema of the response_format or of the block for services that support tools but no
 * schemas. Records the form, and whether the value is wrapped because its schema does not describe
 * an object. Owned; absent when neither the response_format nor the block has a schema. */
pdl_val pdl_structured_for_tool(pdl_ask *a);

/* Returns the schema of an object whose only property, `value`, has the given schema. Services that
 * require an object at the root get this schema. */
pdl_val pdl_structured_wrap(pdl_vref schema);
/* Returns true when the names of all properties have 1 to 64 letters, digits and "_.-". */
bool pdl_structured_has_few_names(pdl_vref schema);
/* Returns true when any text is valid against this schema, so that it constrains nothing. */
bool pdl_structured_is_text(pdl_vref schema);

/* Returns the conversation with a sentence at the end of its last text. The sentence asks for JSON
 * of this schema. */
pdl_val pdl_structured_prompt(pdl_vref messages, pdl_vref schema);

/* Returns the response_format for api.openai.com, which refuses most schemas: the strict form
 * (strict.h) when the schema has one, otherwise the schema with strict: false. A schema whose root
 * is not an object is wrapped as {value: schema}. Records the form, and whether absent optional
 * properties arrive as null. */
pdl_val pdl_structured_openai(pdl_ask *a);

/* Returns the schema inside a response_format of type json_schema, or absent. Borrowed. */
pdl_vref pdl_structured_schema(pdl_vref response_format);

/* Returns the tool that represents the schema; pdl_structured_choice returns the tool_choice that
 * forces the model to call this tool. */
pdl_val pdl_structured_tool(pdl_vref schema);
pdl_val pdl_structured_choice(void);

/* Returns the schema without `keywords`, at every level. NULL ends the list of keywords. */
pdl_val pdl_structured_without(pdl_vref schema, const char *const *keywords);

/* Returns the schema in which each array has `items`. OpenAI refuses an array without it. */
pdl_val pdl_structured_with_items(pdl_vref schema);

/* Returns true when a message contains the word json, which services with plain json_object mode
 * require. */
bool pdl_structured_says_json(pdl_vref messages);

#endif
