/* xeach.h -- private to lsp: every node of an expression or template, statements included.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_XEACH_H
#define PDL_LSP_XEACH_H

#include "expr/expr.h"

typedef void lsp_xnode_fn(void *user, const pdl_xnode *x);

/* Calls fn for x (NULL is fine) and everything below it. A node comes before its parts. */
void pdl_lsp_xnode_each(const pdl_xnode *x, lsp_xnode_fn *fn, void *user);

#endif
