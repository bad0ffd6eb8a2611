/* json_place.h -- finds the position of a value in the text of a JSON document, for messages.
 * Private to mcp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MCP_JSON_PLACE_H
#define PDL_MCP_JSON_PLACE_H

#include <stdbool.h>

#include "base/str.h"

/* Follows n keys (for arrays: numbers) from the root. Returns the offset of the value to which they
 * lead, or of the last value on that path that exists. text must be valid JSON. */
size_t pdl_mcp_json_place(pdl_str text, const pdl_str *path, size_t n);

/* A key that one object has twice. The reader of JSON keeps the last value, so the first would be
 * lost without notice. */
typedef struct pdl_mcp_json_repeat {
    /* the key with its quotes, as it is written the second time; it points into the text */
    pdl_str key;
    size_t first, second; /* offsets of the first and of the second key */
} pdl_mcp_json_repeat;
/* Finds a repeated key in the value at `at` and in values inside it, down to the depth `deep`. When
 * `only` is not empty, only this key, which has its quotes, is searched. */
bool pdl_mcp_json_repeats(pdl_str text, size_t at, unsigned deep, pdl_str only,
                          pdl_mcp_json_repeat *out);

/* Stores line and column, from 1, of an offset; columns count code points. */
void pdl_mcp_json_line(pdl_str text, size_t off, unsigned *line, unsigned *column);

#endif
