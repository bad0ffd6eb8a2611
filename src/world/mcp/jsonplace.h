/* jsonplace.h -- finds the position of a value in the text of a JSON document, for messages.
 * Private to mcp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MCP_JSONPLACE_H
#define PDL_MCP_JSONPLACE_H

#include <stdbool.h>

#include "base/str.h"

/* Returns the offset of the value to which n keys (of arrays: numbers) lead, or of the last one
 * that exists on that way. text must be valid JSON. */
size_t pdl_mcp_json_place(pdl_str text, const pdl_str *path, size_t n);

/* A key that an object has twice: the reader of JSON keeps the last value, so the first is lost. */
typedef struct pdl_mcp_json_repeat {
    pdl_str key;          /* with its quotes, as written the second time; inside the text */
    size_t first, second; /* offsets of both */
} pdl_mcp_json_repeat;
/* Finds one in the value at `at`, down to the depth `deep`. only: this key, quoted; empty: any
 * key. */
bool pdl_mcp_json_repeats(pdl_str text, size_t at, unsigned deep, pdl_str only,
                          pdl_mcp_json_repeat *out);

/* Stores line and column, from 1, of an offset; columns count code points. */
void pdl_mcp_json_line(pdl_str text, size_t off, unsigned *line, unsigned *column);

#endif
