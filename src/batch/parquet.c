/* parquet.c -- Parquet files as rows, and rows as Parquet files.
 *
 * DuckDB gives each row as a JSON object, in streams of some thousand rows. A Parquet file cannot
 * grow by rows that survive a kill, so rows are gathered as JSONL in OUT.rows; at the end that is
 * made into the file, which appears by a rename.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "batch/bytes.h"
#include "batch/duck.h"
#include "batch/rows_impl.h"
#include "batch/sheet_impl.h"
#include "io/file.h"
#include "value/json_read.h"

#include "base/banned.h"

/* --- reading ---------------------------------------------------------------------------------- */

typedef struct parquet_reader {
    pdl_rowset rows;
    duck *duck;
    bytes file; /* open all the time, to see whether it changes */
    uint64_t number;
    pdl_json_keys keys;
} reader;

static pdl_rows_step next(pdl_rowset *base, bool wait, pdl_row *out, pdl_err *err) {
    reader *r = (reader *)(void *)base;
    pdl_str text;
    bool there;
    pdl_err why = {0};
    pdl_val v;
    (void)wait;
    if (!pdl_batch_duck_next(r->duck, &text, &there, err)) return PDL_ROWS_FAIL;
    if (!there) return PDL_ROWS_END;
    out->number = ++r->number;
    if (pdl_json_read_with(text, PDL_JSON_PYTHON, &r->keys, &v, NULL, &why)) {
        out->columns = v;
    } else {
        out->columns = pdl_dict_new(0);
        pdl_batch_row_broken(out, "the row cannot be read: %s", why.msg);
    }
    pdl_err_fini(&why);
    return PDL_ROWS_ROW;
}

static void close_reader(pdl_rowset *base) {
    reader *r = (reader *)(void *)base;
    pdl_batch_duck_close(r->duck);
    pdl_batch_bytes_close(&r->file);
    pdl_json_keys_fini(&r->keys);
    pdl_free(r);
}

static void progress(const pdl_rowset *base, uint64_t *done, uint64_t *all) {
    *done = ((const reader *)(const void *)base)->number;
    *all = 0;
}

static bool unchanged(const pdl_rowset *base, pdl_err *err) {
    return pdl_batch_bytes_unchanged(&((const reader *)(const void *)base)->file, err);
}

static const rows_ops reading = {next, close_reader, progress, unchanged};

typedef struct parquet_naming {
    reader *r;
    bool ok;
    pdl_err *err;
} naming;

static void on_name(void *user, pdl_str name) {
    naming *n = user;
    n->ok = n->ok && pdl_batch_rows_add_column(&n->r->rows, name, n->err);
}

static bool begin(reader *r, const pdl_table *t, pdl_err *err) {
    pdl_buf from = PDL_BUF, look = PDL_BUF, query = PDL_BUF;
    naming n = {.r = r, .ok = true, .err = err};
    PDL_PUT(&from, "read_parquet(");
    pdl_batch_duck_put_text(t->path, &from);
    PDL_PUT(&from, ")");
    pdl_buf_putf(&look, "SELECT * FROM %s LIMIT 0", pdl_buf_z(&from));
    pdl_buf_putf(&query, "SELECT to_json(t)::VARCHAR FROM (SELECT * FROM %s) t", pdl_buf_z(&from));
    bool ok = pdl_batch_bytes_open(&r->file, t->path, err) && pdl_batch_duck_open(&r->duck, err) &&
              pdl_batch_duck_columns(r->duck, pdl_buf_z(&look), on_name, &n, err) && n.ok &&
              pdl_batch_duck_begin(r->duck, pdl_buf_z(&query), err);
    pdl_buf_fini(&from);
    pdl_buf_fini(&look);
    pdl_buf_fini(&query);
    return ok;
}

bool pdl_batch_parquet_open(const pdl_table *t, pdl_rowset **out, pdl_err *err) {
    reader *r = PDL_NEW(reader);
    r->rows.ops = &reading;
    r->rows.name = pdl_str_dup(t->name);
    r->rows.fixed = true;
    r->file.fd = -1;
    if (!begin(r, t, err)) {
        pdl_rows_close(&r->rows);
        return false;
    }
    *out = &r->rows;
    return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

static char *path_with(pdl_str path, const char *suffix) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%.*s%s", PDL_FMT(path), suffix);
    return pdl_buf_take(&b);
}

char *pdl_batch_parquet_rows(const pdl_table *t) { return path_with(t->path, ".rows"); }

enum { LONG_LINE = 1 << 24 };

/* DuckDB refuses a longer line than was announced, and sets aside as much as was announced. False:
 * the file cannot be read. */
static bool longest_line(const char *path, size_t *most, pdl_err *err) {
    enum { PIECE = 1 << 17 };
    FILE *f = fopen(path, "re");
    if (!f) return pdl_file_errno(err, errno, path);
    char *piece = pdl_alloc(PIECE);
    size_t n, line = 0;
    *most = LONG_LINE;
    while ((n = fread(piece, 1, PIECE, f)) > 0)
        for (size_t at = 0; at < n;) {
            const char *nl = memchr(piece + at, '\n', n - at);
            size_t end = nl ? (size_t)(nl - piece) + 1 : n;
            line += end - at;
            if (line > *most) *most = line;
            if (nl) line = 0;
            at = end;
        }
    bool ok = !ferror(f) || pdl_file_errno(err, errno, path);
    (void)fclose(f);
    pdl_free(piece);
    return ok;
}

/* Types are found from all rows; a table without rows has texts. */
static void put_select(const sheet *s, const char *rows, size_t longest, pdl_buf *out) {
    if (s->size) {
        pdl_buf_putf(out, "SELECT * REPLACE (error::VARCHAR AS error, place::VARCHAR AS place) "
                          "FROM read_json(");
        pdl_batch_duck_put_text(pdl_str_of(rows), out);
        pdl_buf_putf(out,
                     ", format = 'newline_delimited', sample_size = -1, maximum_object_size = %zu)",
                     longest);
        return;
    }
    PDL_PUT(out, "SELECT ");
    for (size_t i = 0; i < s->columns.n; i++) {
        pdl_buf_putf(out, "%sNULL::VARCHAR AS ", i ? ", " : "");
        pdl_batch_duck_put_name(pdl_str_of(s->columns.p[i]), out);
    }
    PDL_PUT(out, " WHERE false");
}

/* Rows of many megabytes need more memory than others: each of its readers takes several times the
 * longest line. */
static bool make_room(duck *d, size_t longest, pdl_err *err) {
    enum { TIMES = 16, USUAL = 256 };
    pdl_buf sql = PDL_BUF;
    if (longest <= LONG_LINE) return true;
    pdl_buf_putf(&sql, "SET threads = 1; SET memory_limit = '%zuMB'",
                 USUAL + (longest >> 20) * TIMES);
    bool ok = pdl_batch_duck_run(d, pdl_buf_z(&sql), err);
    pdl_buf_fini(&sql);
    return ok;
}

static bool convert(const sheet *s, const char *rows, const char *made, pdl_err *err) {
    duck *d;
    size_t longest = 0;
    pdl_buf sql = PDL_BUF;
    if (s->size && !longest_line(rows, &longest, err)) return false;
    if (!pdl_batch_duck_open(&d, err)) return false;
    PDL_PUT(&sql, "COPY (");
    put_select(s, rows, longest, &sql);
    PDL_PUT(&sql, ") TO ");
    pdl_batch_duck_put_text(pdl_str_of(made), &sql);
    PDL_PUT(&sql, " (FORMAT PARQUET)");
    bool ok = make_room(d, longest, err) && pdl_batch_duck_run(d, pdl_buf_z(&sql), err);
    pdl_buf_fini(&sql);
    pdl_batch_duck_close(d);
    return ok;
}

bool pdl_batch_parquet_finish(const sheet *s, bool changed, pdl_err *err) {
    /* a link stays, and the file appears where it leads */
    char *path = pdl_batch_sheet_target(s->table.path);
    char *rows = path_with(s->table.path, ".rows"), *made = path_with(pdl_str_of(path), ".part");
    bool there = pdl_file_kind_of(path) == PDL_FILE_REGULAR, ok = true;
    if (changed || !there)
        ok = convert(s, rows, made, err) &&
             (rename(made, path) == 0 || pdl_file_errno(err, errno, path));
    if (ok) (void)unlink(rows);
    pdl_free(rows);
    pdl_free(made);
    pdl_free(path);
    return ok;
}
