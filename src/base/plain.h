/* plain.h -- runs of text that stand in a JSON string as they are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PDL_BASE_PLAIN_H
#define PDL_BASE_PLAIN_H

#include <stdbool.h>

/* First quote, backslash or control character (below U+0020) at or after p; end when there is none.
 * *ascii becomes false when a byte that was passed is not ASCII, else it stays. */
const char *pdl_plain_end(const char *p, const char *end, bool *ascii);

#endif
