/* csv_read.h -- reads one cell of a text of separated values. No other code reads the quotes and
 * separators of such a text. A cell that begins with a quote continues to its closing quote, over
 * separators and line breaks. A doubled quote in it is one quote, and the end of the text closes a
 * quote that is still open. The caller decides what may precede the next cell and what a row is.
 * parse/csv.c accepts everything that Python's csv.reader accepts. batch/formats/csv_rows.c finds
 * the ends of rows itself, as the bytes arrive, and refuses malformed cells.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_CSV_READ_H
#define PDL_BASE_CSV_READ_H

#include "base/buf.h"

typedef struct pdl_csv {
    pdl_str text;
    size_t pos;
    char separator;
    /* A strict reader gets one row and refuses text after a closing quote. A lenient reader gets
     * whole files. There a line break ends a cell, and text after a closing quote belongs to the
     * cell. */
    bool strict;
    pdl_buf cell; /* scratch memory, which the caller frees */
} pdl_csv;

/* Reads the cell at c->pos, and moves c->pos to the byte that ended it: a separator, a line break,
 * or the end. *out is a part of the text or of c->cell, and lives until the next call. Returns
 * false when the reader is strict and text follows a closing quote; *out is then the quoted text.
 */
bool pdl_csv_cell(pdl_csv *c, pdl_str *out);

#endif
