/* csv_cell.h -- one cell of a text of separated values: the only reader of quotes and separators.
 *
 * A cell that begins with a quote continues to its closing quote, over separators and line breaks;
 * a doubled quote in it is one quote, and a quote that is not closed is closed by the end of the
 * text. What is before the next cell, and what a row is, is the caller's: parse/csv.c takes
 * whatever Python's csv.reader takes, while batch/formats/csv_rows.c finds the ends of rows itself,
 * as they come, and refuses what other programs write wrongly instead of guessing what was meant.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_CSV_CELL_H
#define PDL_BASE_CSV_CELL_H

#include "base/buf.h"

typedef struct pdl_csv {
    pdl_str text;
    size_t pos;
    char separator;
    /* A strict reader gets one row and refuses text after a closing quote. The other one gets whole
     * files: a line break ends a cell, and text after a closing quote belongs to it. */
    bool strict;
    pdl_buf cell; /* scratch; the caller frees it */
} pdl_csv;

/* Reads the cell at c->pos, which is then at what ended it: a separator, a line break, or the end.
 * *out is a part of the text or of c->cell, and lives until the next call. Returns false when text
 * follows a closing quote and the reader is strict; *out is then what was quoted. */
bool pdl_csv_cell(pdl_csv *c, pdl_str *out);

#endif
