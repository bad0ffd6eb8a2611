/* lastrun.h -- private to lsp: what a variable was in the last run, from the trace beside a file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_LASTRUN_H
#define PDL_LSP_LASTRUN_H

#include "lsp/server.h"

/* Appends the value of a variable in NAME_trace.json beside the program, cut, without keys. Returns
 * false when there is no such trace or it does not have the variable. */
bool pdl_lsp_last_value(const pdl_lsp *s, const lsp_doc *d, pdl_str name, pdl_buf *out);

#endif
