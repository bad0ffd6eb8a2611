/* termsafe.h -- neutralises control sequences in untrusted text.
 *
 * A terminal executes the text that it gets. Text of a model, a tool or a file could move the
 * cursor, change colours or make the terminal type an answer. Text that people read on a terminal
 * therefore passes through here. Pipes and files get the bytes unchanged, because programs read
 * those.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_TERMSAFE_H
#define PDL_BASE_TERMSAFE_H

#include <stdio.h>

#include "base/buf.h"

/* Appends s with visible signs in place of characters that would move the cursor, set colours or
 * make a terminal answer. Control characters become U+2400 and following. U+0080 to U+009F become
 * U+FFFD, and so do characters that turn the direction of the text after them (such as U+202E).
 * Line ends and tabs stay. */
void pdl_buf_put_shown(pdl_buf *out, pdl_str s);

/* Returns true when f is a terminal. */
bool pdl_file_is_terminal(FILE *f);

/* Writes s to f, neutralised when f is a terminal, and unchanged otherwise. Returns false, with
 * errno, when not all was written. */
bool pdl_write_termsafe(FILE *f, pdl_str s);

#endif
