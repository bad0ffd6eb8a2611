/* lastrun.h -- private to lsp: what a variable was in the last run of a file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_LASTRUN_H
#define PDL_LSP_LASTRUN_H

#include "lsp/server.h"

/* Appends the value of a variable in NAME_trace.json beside the program, or in a journal that is
 * newer, cut, without keys. Returns false when there is neither or the variable is not in it. */
bool pdl_lsp_last_value(const pdl_lsp *s, const lsp_doc *d, pdl_str name, pdl_buf *out);

#endif
