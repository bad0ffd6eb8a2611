/* csv.c -- rows of comma-separated fields, with the tolerance of Python's csv.reader in its default
 * dialect.
 *
 * The fields are those of a reader that is not strict (base/csv_read.h). A run of CRs may precede
 * the end of a line.
 *
 * With a header, the first row has the names of the columns, and each other row is an object. Cells
 * are read according to the spec of the object.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/csv_read.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "parse/readers.h"
#include "value/json_read.h"

#include "base/banned.h"

enum { MAX_SHOWN = 100 };

/* Reads the end of the line: CRs, then LF or the end of the text. */
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
        (void)pdl_csv_cell(c, &cell); /* only a strict reader can fail */
        *row = pdl_list_push(*row, pdl_text(cell));
        more = c->pos < c->text.n && c->text.p[c->pos] == ',';
        c->pos += more;
    }
    return end_row(c, err);
}

/* --- records ---------------------------------------------------------------------------------- */

typedef struct records {
    const pdl_parser *parser;
    pdl_val names;   /* absent until the first row was read */
    unsigned *takes; /* the kinds of each column; 0 when the spec does not have the column */
} records;

static unsigned takes_of(const pdl_parser *p, pdl_str name) {
    for (uint32_t i = 0; i < p->n_columns; i++)
        if (pdl_str_eq(p->columns[i].name, name)) return p->columns[i].takes;
    return 0;
}

/* Takes row. */
static bool take_header(records *r, pdl_val row, pdl_err *err) {
    size_t n = pdl_list_len(row);
    bool ok = true;
    pdl_val seen = pdl_dict_new(n);
    r->names = row;
    r->takes = PDL_NEW_N(unsigned, n);
    for (size_t i = 0; ok && i < n; i++) {
        pdl_vref name = pdl_list_at(row, i);
        r->takes[i] = takes_of(r->parser, pdl_str_get(name));
        seen = pdl_dict_put(seen, pdl_keep(name), pdl_null());
        ok = pdl_dict_len(seen) == i + 1 ||
             pdl_err_host(err, "Error", "the header has the column '%.*s' twice",
                          PDL_FMT(pdl_utf8_cut(pdl_str_get(name), MAX_SHOWN)));
    }
    pdl_drop(seen);
    return ok;
}

static bool fits(pdl_vref v, unsigned takes) {
    return (pdl_is_bool(v) && (takes & PDL_CELL_boolean)) ||
           (pdl_is_int(v) && (takes & (PDL_CELL_integer | PDL_CELL_number))) ||
           (pdl_is(v, PDL_V_FLOAT) && (takes & PDL_CELL_number));
}

/* Reads a cell. A cell that cannot be read stays a text, which the spec then refuses. Returns
 * absent for an empty cell of a field that may be absent. */
static pdl_val cell_of(pdl_vref cell, unsigned takes) {
    pdl_str text = pdl_str_trim(pdl_str_get(cell));
    pdl_val v;
    pdl_err ignored = {0};
    if (!takes || (takes & PDL_CELL_text)) return pdl_keep(cell);
    if (!text.n && (takes & PDL_CELL_missing)) return pdl_absent();
    if (!text.n) return takes & PDL_CELL_null ? pdl_null() : pdl_keep(cell);
    if (pdl_str_eq_nocase(text, PDL_STR("true"))) text = PDL_STR("true");
    if (pdl_str_eq_nocase(text, PDL_STR("false"))) text = PDL_STR("false");
    if (!pdl_json_read(text, 0, &v, NULL, &ignored)) {
        pdl_err_fini(&ignored);
        return pdl_keep(cell);
    }
    if (fits(v, takes)) return v;
    pdl_drop(v);
    return pdl_keep(cell);
}

/* Makes an object of a row. Takes row. Errors name the number of the row, since its line in the
 * text is not known. */
static bool record_of(const records *r, pdl_val row, size_t number, pdl_val *out, pdl_err *err) {
    size_t n = pdl_list_len(row), names = pdl_list_len(r->names);
    bool ok = n == names || pdl_err_host(err, "Error", "row %zu has %zu cell%s, the header has %zu",
                                         number, n, PDL_PLURAL(n), names);
    pdl_val d = pdl_dict_new(n);
    for (size_t i = 0; ok && i < n; i++) {
        pdl_val cell = cell_of(pdl_list_at(row, i), r->takes[i]);
        if (!pdl_is_absent(cell)) d = pdl_dict_put(d, pdl_keep(pdl_list_at(r->names, i)), cell);
    }
    pdl_drop(row);
    if (ok)
        *out = d;
    else
        pdl_drop(d);
    return ok;
}

/* Adds the object of a row. Takes row; an empty line is no record. */
static bool add_record(records *r, pdl_val row, pdl_val *rows, pdl_err *err) {
    pdl_val record;
    if (!pdl_list_len(row)) {
        pdl_drop(row);
        return true;
    }
    if (pdl_is_absent(r->names)) return take_header(r, row, err);
    if (!record_of(r, row, pdl_list_len(*rows) + 1, &record, err)) return false;
    *rows = pdl_list_push(*rows, record);
    return true;
}

bool pdl_parse_csv(const pdl_parser *p, pdl_str text, pdl_val *out, pdl_err *err) {
    /* the byte order mark does not belong to the first name */
    if (p->header) text = pdl_utf8_unmarked(text);
    pdl_csv c = {.text = text, .separator = ',', .cell = PDL_BUF};
    records r = {.parser = p, .names = pdl_absent()};
    pdl_val rows = pdl_list_new(0);
    bool ok = true;
    for (size_t n = 0; ok && c.pos < text.n; n++) {
        pdl_val row = pdl_list_new(0);
        ok = pdl_check_cancel_at(n, err) && read_row(&c, &row, err);
        if (!ok)
            pdl_drop(row);
        else if (p->header)
            ok = add_record(&r, row, &rows, err);
        else
            rows = pdl_list_push(rows, row);
    }
    pdl_buf_fini(&c.cell);
    pdl_drop(r.names);
    pdl_free(r.takes);
    if (ok)
        *out = rows;
    else
        pdl_drop(rows);
    return ok;
}
