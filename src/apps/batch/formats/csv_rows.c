/* csv_rows.c -- rows of cells, separated by commas or by the user's separator. The first row names
 * the columns.
 *
 * Cells may contain line breaks (base/csv_read.h), so a small state machine finds the end of a row;
 * it reads each byte once, even when the bytes arrive in pieces. A row is broken, and its content
 * is never guessed, when it has a quote that is not closed, text after a closing quote, or too few
 * or too many cells.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/csv_read.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "batch/rows_impl.h"

#include "base/banned.h"

typedef enum { AT_START, IN_PLAIN, IN_QUOTED, AFTER_QUOTE } csv_state;

typedef struct csv {
    pdl_rowset rows;
    bytes bytes;
    csv_state state; /* state in the current row, at the byte `looked` of the rest */
    size_t looked;
    uint64_t breaks; /* number of line breaks inside the current row */
    uint64_t number;
    bool types;
    char separator;
    /* a CR alone ends a line, as in files of old Macs and of some programs that export tables */
    bool cr;
    pdl_csv cells; /* cells of the current row */
} csv;

static csv_state after(csv_state s, char c, char separator) {
    if (s == IN_QUOTED) return c == '"' ? AFTER_QUOTE : IN_QUOTED;
    if (c == separator) return AT_START;
    if (c == '"' && (s == AT_START || s == AFTER_QUOTE)) return IN_QUOTED;
    return s == AFTER_QUOTE ? AFTER_QUOTE : IN_PLAIN;
}

/* Returns true when a CR alone ends the row. If the header did not end with a CR alone, a CR is a
 * part of a cell. *wait: the next byte has not been read yet. */
static bool ends_by_cr(csv *v, pdl_str rest, size_t i, bool last, bool *wait) {
    if (rest.p[i] != '\r' || v->state == IN_QUOTED || (v->rows.columns.n && !v->cr)) return false;
    *wait = i + 1 == rest.n && !last;
    bool bare_cr = i + 1 < rest.n && rest.p[i + 1] != '\n';
    v->cr = v->cr || bare_cr;
    return bare_cr;
}

/* Returns the position where the search for the end of the row continues: `looked`, or the end of a
 * byte order mark. The mark is not a part of the first cell, which may begin with a quote. *wait:
 * more bytes are needed to see whether this is a mark. */
static size_t mark_at(const csv *v, pdl_str rest, bool last, bool *wait) {
    static const pdl_str bom = {"\xef\xbb\xbf", 3};
    bool first = v->bytes.line == 1 && !v->looked;
    *wait = first && !last && rest.n < bom.n && pdl_str_starts(bom, rest);
    return first && pdl_str_starts(rest, bom) ? bom.n : v->looked;
}

static size_t row_end(void *user, pdl_str rest, bool last) {
    csv *v = user;
    bool unknown;
    if (v->looked > rest.n) v->looked = 0; /* the beginning of a row that is too long was dropped */
    v->looked = mark_at(v, rest, last, &unknown);
    if (unknown) return 0;
    for (size_t i = v->looked; i < rest.n; i++) {
        bool wait = false, cr = ends_by_cr(v, rest, i, last, &wait);
        if (cr || (rest.p[i] == '\n' && v->state != IN_QUOTED)) {
            v->looked = 0;
            return i + 1;
        }
        if (wait) {
            v->looked = i;
            return 0;
        }
        v->breaks += rest.p[i] == '\n';
        v->state = after(v->state, rest.p[i], v->separator);
    }
    v->looked = last ? 0 : rest.n;
    return last ? rest.n : 0;
}

/* Reads the next record, without its line break. *open: the record has a quote that is
 * not closed. */
static pdl_rows_step next_record(csv *v, bool wait, pdl_str *out, uint64_t *line, bool *open,
                                 pdl_err *err) {
    for (;;) {
        pdl_rows_step step = pdl_batch_record(&v->bytes, row_end, v, wait, out, err);
        if (step != PDL_ROWS_ROW) return step;
        *line = v->bytes.line;
        *open = v->state == IN_QUOTED;
        v->bytes.line += v->breaks + 1;
        v->breaks = 0;
        v->state = AT_START;
        if (*line == 1) *out = pdl_utf8_unmarked(*out);
        while (out->n && (out->p[out->n - 1] == '\n' || out->p[out->n - 1] == '\r')) out->n--;
        if (out->n || v->bytes.too_long) return PDL_ROWS_ROW;
    }
}

/* Begins to read the cells of a row. */
static void take_row(csv *v, pdl_str row) {
    v->cells.text = row;
    v->cells.pos = 0;
    v->cells.separator = v->separator;
}

/* Reads the next cell. *more: another cell follows it. Returns false when text follows a closing
 * quote. */
static bool read_cell(csv *v, pdl_str *out, bool *more) {
    bool ok = pdl_csv_cell(&v->cells, out);
    *more = v->cells.pos < v->cells.text.n;
    v->cells.pos += *more;
    return ok;
}

static pdl_val value_of(const csv *v, pdl_str cell) {
    return pdl_utf8_check(cell) == PDL_NOT_FOUND ? pdl_batch_cell(cell, v->types) : pdl_null();
}

static void read_cells(csv *v, pdl_str row, pdl_row *out) {
    size_t n = 0;
    bool ok = true, more = true;
    pdl_str cell;
    take_row(v, row);
    for (; ok && more; n++) {
        ok = read_cell(v, &cell, &more);
        if (n < v->rows.columns.n)
            out->columns = pdl_dict_puts(out->columns, v->rows.columns.p[n], value_of(v, cell));
    }
    if (!ok)
        pdl_batch_row_broken(out, "text follows the closing quote of cell %zu", n);
    else if (n != v->rows.columns.n)
        pdl_batch_row_broken(out, "the row has %zu cell%s, the header has %zu", n, PDL_PLURAL(n),
                             v->rows.columns.n);
}

static uint64_t breaks_in(pdl_str row) {
    uint64_t n = 0;
    for (size_t i = 0; i < row.n; i++) n += row.p[i] == '\n';
    return n;
}

static pdl_rows_step next(pdl_rowset *r, bool wait, pdl_row *out, pdl_err *err) {
    csv *v = (csv *)(void *)r;
    pdl_str row;
    bool open;
    pdl_rows_step step = next_record(v, wait, &row, &out->line, &open, err);
    if (step != PDL_ROWS_ROW) return step;
    out->number = ++v->number;
    out->columns = pdl_dict_new(r->columns.n);
    size_t bad = pdl_utf8_check(row);
    if (!v->bytes.too_long && !open) read_cells(v, row, out);
    if (v->bytes.too_long)
        pdl_batch_row_broken(out, "the row is longer than %d MB", BATCH_MAX_ROW >> 20);
    else if (open)
        pdl_batch_row_broken(out,
                             "a quote of the row is not closed before the end of the file: it "
                             "holds the lines to %llu",
                             (unsigned long long)(out->line + breaks_in(row)));
    else if (bad != PDL_NOT_FOUND)
        pdl_batch_row_broken(out, "the row is not UTF-8 (byte %zu)", bad + 1);
    v->bytes.too_long = false;
    return PDL_ROWS_ROW;
}

/* Returns true for a line such as "sep=;" before the header, and sets the separator. Excel reads
 * and writes such lines. */
static bool is_separator_line(csv *v, pdl_str row) {
    if (row.n != 5 || !pdl_str_starts(row, PDL_STR("sep=")) || row.p[4] == '"') return false;
    v->separator = row.p[4];
    return true;
}

static bool read_header(csv *v, pdl_err *err) {
    pdl_str row, cell;
    uint64_t line;
    bool open, more = true;
    pdl_rows_step step = next_record(v, true, &row, &line, &open, err);
    if (step == PDL_ROWS_ROW && is_separator_line(v, row))
        step = next_record(v, true, &row, &line, &open, err);
    if (step == PDL_ROWS_FAIL) return false;
    if (step == PDL_ROWS_ROW && !pdl_batch_bytes_are_text(row, v->rows.name, err)) return false;
    if (step != PDL_ROWS_ROW)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "%s is empty: the first row names the columns", v->rows.name);
    bool foreign = pdl_utf8_check(row) != PDL_NOT_FOUND;
    if (v->bytes.too_long || open || foreign) {
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s:%llu: the header cannot be read: %s",
                    v->rows.name, (unsigned long long)line,
                    foreign             ? "it is not UTF-8"
                    : v->bytes.too_long ? "it is too long"
                                        : "a quote is not closed");
        /* the encoding is never guessed; the message says how the file is converted to UTF-8 */
        if (foreign)
            pdl_err_hint(err, "`iconv -f WINDOWS-1252 -t UTF-8 %s` writes it as UTF-8",
                         v->rows.name);
        return false;
    }
    take_row(v, row);
    while (more) {
        if (!read_cell(v, &cell, &more))
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "%s:%llu: the header cannot be read: text follows a closing quote",
                               v->rows.name, (unsigned long long)line);
        if (!pdl_batch_rows_add_column(&v->rows, cell, err)) return false;
    }
    return true;
}

static void close_csv(pdl_rowset *r) {
    csv *v = (csv *)(void *)r;
    pdl_batch_bytes_close(&v->bytes);
    pdl_buf_fini(&v->cells.cell);
    pdl_free(v);
}

static void progress(const pdl_rowset *r, uint64_t *done, uint64_t *all) {
    const csv *v = (const csv *)(const void *)r;
    *done = v->bytes.gone + v->bytes.pos;
    *all = v->bytes.regular ? (uint64_t)v->bytes.opened.st_size : 0;
}

static bool unchanged(const pdl_rowset *r, pdl_err *err) {
    return pdl_batch_bytes_unchanged(&((const csv *)(const void *)r)->bytes, err);
}

static const rows_ops ops = {next, close_csv, progress, unchanged};

bool pdl_batch_csv_open(const pdl_table *t, bool types, pdl_rowset **out, pdl_err *err) {
    csv *v = PDL_NEW(csv);
    v->rows.ops = &ops;
    v->rows.name = pdl_str_dup(t->name);
    v->rows.fixed = true;
    v->types = types;
    v->separator = t->separator;
    v->cells = (pdl_csv){.strict = true, .cell = PDL_BUF};
    if (!pdl_batch_bytes_open(&v->bytes, t->path, err) || !read_header(v, err)) {
        pdl_rows_close(&v->rows);
        return false;
    }
    *out = &v->rows;
    return true;
}
