/* termsafe.h -- text as people see it: on a terminal it controls nothing, in a pipe or file it is
 * what it is. SPDX-License-Identifier: Apache-2.0 */
#ifndef PDL_BASE_TERMSAFE_H
#define PDL_BASE_TERMSAFE_H

#include <stdio.h>

#include "base/buf.h"

/* Append s with pictures in place of what would move the cursor, set colours or make a terminal
 * answer: U+2400 and what follows for control characters, U+FFFD for U+0080 to U+009F. Line ends
 * and tabs stay. */
void pdl_buf_put_shown(pdl_buf *out, pdl_str s);

/* Does f lead to a terminal? */
bool pdl_file_is_terminal(FILE *f);

/* Write s to f: shown on a terminal, byte for byte elsewhere. False, with errno, when it was not
 * written whole. */
bool pdl_write_termsafe(FILE *f, pdl_str s);

#endif
