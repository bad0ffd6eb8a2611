/* lastrun.h -- the value that a variable had in the last run of a file, which hover shows. Private
 * to lsp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_LASTRUN_H
#define PDL_LSP_LASTRUN_H

#include "lsp/server.h"

/* Appends the value of a variable, shortened and without keys, from NAME_trace.json beside the
 * program or from a journal that is newer. Returns false when neither file has the variable. */
bool pdl_lsp_last_value(const pdl_lsp *s, const lsp_doc *d, pdl_str name, pdl_buf *out);

#endif
