/* invalid_file.h -- finds mistakes in the readable rest of a file that is not valid YAML, so that
 * one missing quote does not hide all other mistakes. Private to lsp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_INVALID_FILE_H
#define PDL_LSP_INVALID_FILE_H

#include "lang/program.h"
#include "yaml/tree.h"

typedef struct lsp_span {
    uint32_t start, end;
} lsp_span;

/* The program that can be read in a text that failed as YAML. */
typedef struct lsp_broken {
    pdl_program *program;        /* NULL when the file cannot be read; the caller owns it */
    const pdl_source *src;       /* the source that the program was read from */
    pdl_str text;                /* the text of the file */
    const pdl_ytree_note *notes; /* mistakes of YAML */
    const lsp_span *damaged;     /* lines about which reports are only guesses */
    size_t n_notes, n_damaged;
} lsp_broken;

/* Reads the program. failed: the program that did not load. */
lsp_broken pdl_lsp_broken_read(const pdl_program *failed);
/* Called after the check: adds the mistakes of YAML to the diagnostics of the program, and removes
 * diagnostics that are only consequences of these mistakes. */
void pdl_lsp_broken_settle(const lsp_broken *b);

#endif
