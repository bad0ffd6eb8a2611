/* diff.h -- two texts as a unified diff, the format of `diff -u` and `patch`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_FMT_DIFF_H
#define PDL_FMT_DIFF_H

#include "base/buf.h"

/* Appends the headers with the name, and the hunks with three lines of context. The texts must
 * differ. */
void pdl_diff(pdl_str name, pdl_str before, pdl_str after, pdl_buf *out);

#endif
