/* csv.c -- rows of comma-separated fields, with the tolerance of Python's csv.reader in its default
 * dialect.
 *
 * The fields are those of a reader that is not strict (base/csv_cell.h). A run of CRs may precede
 * the end of a line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/csv_cell.h"
#include "parse/readers.h"

#include "base/banned.h"

/* The end of the line: CRs, then LF or the end of the text. */
static bool end_row(pdl_csv *c, pdl_err *err) {
    size_t from = c->pos;
    while (c->pos < c->text.n && c->text.p[c->pos] == '\r') c->pos++;
    bool ended = c->pos >= c->text.n || c->pos == from;
    if (c->pos < c->text.n && c->text.p[c->pos] == '\n') {
        c->pos++;
        ended = true;
    }
    return ended ||
           pdl_err_host(
               err, "Error",
               "new-line character seen in unquoted field - do you need to open the file in "
               "universal-newline mode?");
}

static bool read_row(pdl_csv *c, pdl_val *row, pdl_err *err) {
    pdl_str cell;
    bool more = c->text.p[c->pos] != '\n' && c->text.p[c->pos] != '\r';
    while (more) {
        (void)pdl_csv_cell(c, &cell); /* fails only when it is strict */
        *row = pdl_list_push(*row, pdl_text(cell));
        more = c->pos < c->text.n && c->text.p[c->pos] == ',';
        c->pos += more;
    }
    return end_row(c, err);
}

bool pdl_parse_csv(pdl_str text, pdl_val *out, pdl_err *err) {
    pdl_csv c = {.text = text, .separator = ',', .cell = PDL_BUF};
    pdl_val rows = pdl_list_new(0);
    bool ok = true;
    while (ok && c.pos < text.n) {
        pdl_val row = pdl_list_new(0);
        ok = pdl_check_cancel_at(pdl_list_len(rows), err) && read_row(&c, &row, err);
        rows = pdl_list_push(rows, row);
    }
    pdl_buf_fini(&c.cell);
    if (ok)
        *out = rows;
    else
        pdl_drop(rows);
    return ok;
}
