/* broken.h -- private to lsp: what is wrong in the rest of a file that is no YAML.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_BROKEN_H
#define PDL_LSP_BROKEN_H

#include "lang/program.h"
#include "yaml/tree.h"

/* A program of what can be read in a text that failed as YAML. */
typedef struct lsp_broken {
    pdl_program *program; /* NULL: nothing can be read; the caller owns it */
    const pdl_ytree *tree;
} lsp_broken;

/* failed: the program that did not load. */
lsp_broken pdl_lsp_broken_read(const pdl_program *failed);
/* After the check: the mistakes of YAML join the others, and what only follows from them goes. */
void pdl_lsp_broken_settle(const lsp_broken *b);

#endif
