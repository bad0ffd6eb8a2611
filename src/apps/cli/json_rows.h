/* json_rows.h -- the rows that commands print with --json. The rows are made as values and written
 * by the one writer, so no command quotes or escapes anything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_JSON_ROWS_H
#define PDL_CLI_JSON_ROWS_H

#include "base/buf.h"
#include "value/val.h"

/* Appends a row as one line with a blank after each comma and colon. Takes row. */
void pdl_cli_put_json(pdl_val row, pdl_buf *out);
/* These functions begin and end the object around rows. pdl_cli_open_rows takes the dict head,
 * appends its members, and begins the list `key`; the caller appends the rows and the separators
 * between them. pdl_cli_close_rows ends list, object and line. */
void pdl_cli_open_rows(pdl_val head, const char *key, pdl_buf *out);
void pdl_cli_close_rows(pdl_buf *out);
/* Returns a number with at most nine digits. A whole number has no decimal point. */
pdl_val pdl_cli_json_number(double n);
/* Returns the text as a value; null when text is NULL. */
pdl_val pdl_cli_json_text(const char *text);

#endif
