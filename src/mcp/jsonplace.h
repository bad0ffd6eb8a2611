/* jsonplace.h -- finds the position of a value in the text of a JSON document, for messages.
 * Private to mcp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MCP_JSONPLACE_H
#define PDL_MCP_JSONPLACE_H

#include "base/str.h"

/* Offset of the value that n keys (of arrays: numbers) lead to, or of the last one that exists on
 * that way. text must be valid JSON. */
size_t pdl_mcp_json_place(pdl_str text, const pdl_str *path, size_t n);

/* Line and column, from 1, of an offset; columns count code points. */
void pdl_mcp_json_line(pdl_str text, size_t off, unsigned *line, unsigned *column);

#endif
