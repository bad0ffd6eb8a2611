/* rows_line.h -- shows the progress of a program that runs for each row of a table: on one line of
 * a terminal, which is rewritten and removed at the end, or on plain lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_ROWS_LINE_H
#define PDL_CLI_ROWS_LINE_H

#include "batch/batch.h"
#include "cli/options.h"

typedef struct rows_line {
    bool on_terminal, is_shown;
} rows_line;

/* Begins the progress that --progress requests. Returns the milliseconds between two calls of
 * `show`, or 0 when no progress is shown. */
uint32_t pdl_cli_rows_line_init(rows_line *l, const arguments *a);
void pdl_cli_rows_line_show(rows_line *l, const pdl_batch_totals *t);
/* Replaces the text of the line. The line is shown only after the first second. */
void pdl_cli_rows_line_put(rows_line *l, pdl_str text, double seconds);
/* Removes the line. Called before other text is written to the terminal. */
void pdl_cli_rows_line_clear(rows_line *l);

/* pdl_cli_put_count appends "1 row" or "2 rows"; pdl_cli_put_time appends seconds as people say
 * them. */
void pdl_cli_put_count(pdl_buf *out, uint64_t n, const char *one, const char *many);
void pdl_cli_put_time(pdl_buf *out, double s);

#endif
