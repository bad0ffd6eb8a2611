/* pynames.h -- private to lsp: variables of the program that Python code reads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_PYNAMES_H
#define PDL_LSP_PYNAMES_H

#include "base/str.h"

/* A name at bytes [from, to) of the code. */
typedef struct lsp_pyname {
    size_t from, to;
    pdl_str callee; /* it is an argument by name of a call of this; empty: a value is read */
} lsp_pyname;

/* Calls back for the names that may be variables of the program, in order. */
void pdl_lsp_each_pyname(pdl_str code, void (*fn)(void *user, const lsp_pyname *n), void *user);

#endif
