/* shlex.h -- splits text into words by the quoting rules of POSIX shells, as Python's shlex.split
 * does (no comments, no expansion).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_SHLEX_H
#define PDL_BASE_SHLEX_H

#include "base/err.h"
#include "base/str.h"

/* Calls word(user, w) for each word in order; w is borrowed for the call. When `word` returns
 * false, the splitting ends without an error. Blanks are space, tab, CR and LF. Error:
 * PDL_E_expression, py_class "ValueError", "No closing quotation" or "No escaped character"; the
 * words before the error were passed on. */
PDL_MUST bool pdl_shlex_split(pdl_str text, bool (*word)(void *user, pdl_str w), void *user,
                              pdl_err *err);

#endif
