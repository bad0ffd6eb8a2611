/* features.h -- private to lsp: the requests of the protocol, one function each.
 *
 * A function is given the params of its request (of any form) and returns the result, owned; after
 * pdl_lsp_fail it returns absent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_FEATURES_H
#define PDL_LSP_FEATURES_H

#include "lsp/server.h"

typedef pdl_val lsp_handler(pdl_lsp *s, pdl_vref params);

/* diagnose.c */
lsp_handler pdl_lsp_on_pull, pdl_lsp_on_workspace_pull;
/* complete.c */
lsp_handler pdl_lsp_on_completion, pdl_lsp_on_resolve_completion;
/* hover.c */
lsp_handler pdl_lsp_on_hover;
/* symbols.c */
lsp_handler pdl_lsp_on_document_symbols, pdl_lsp_on_workspace_symbols;

#endif
