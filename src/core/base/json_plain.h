/* json_plain.h -- runs of text that a JSON string holds without escapes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_JSON_PLAIN_H
#define PDL_BASE_JSON_PLAIN_H

#include <stdbool.h>

/* Returns the first quote, backslash or control character (below U+0020) at or after p, or end.
 * Clears *ascii when one of the bytes before the result is not ASCII. */
const char *pdl_plain_end(const char *p, const char *end, bool *ascii);

#endif
