/* row_docs.h -- documentation of rows of the tables, as Markdown. Private to lsp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_ROW_DOCS_H
#define PDL_LSP_ROW_DOCS_H

#include "lang/block.h"
#include "native/native.h"

/* Each function appends the documentation of its argument. */
void pdl_lsp_document_field(const pdl_field *f, pdl_buf *out);
void pdl_lsp_document_kind(pdl_block_kind kind, pdl_buf *out);
void pdl_lsp_document_native(const char *title, const pdl_native *row, pdl_buf *out);

#endif
