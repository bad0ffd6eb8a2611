/* pynames.h -- finds the variables of the program that Python code reads. Private to lsp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_PYNAMES_H
#define PDL_LSP_PYNAMES_H

#include "base/str.h"

/* A name at bytes [from, to) of the code. */
typedef struct lsp_pyname {
    size_t from, to;
    /* when the name is an argument's name in a call, the called function; empty when a value is
     * read */
    pdl_str callee;
} lsp_pyname;

/* Calls fn for the names that may be variables of the program, in order. */
void pdl_lsp_each_pyname(pdl_str code, void (*fn)(void *user, const lsp_pyname *n), void *user);

#endif
