/* parquet.c -- Parquet files as rows, and rows as Parquet files.
 *
 * DuckDB gives each row as a JSON object, in streams of some thousand rows. A Parquet file cannot
 * grow by rows that survive a kill, so rows are gathered as JSONL in OUT.rows; at the end that is
 * made into the file, which appears by a rename.
 *
 * A column that came from a Parquet file goes back with its type. The types of the others are those
 * of their JSON values: DuckDB's own guesses would make dates and UUIDs of texts that look like
 * them, and write "2024-1-5" in another way, and would make floats of long integers. What does not
 * fit the types is left to those guesses, so that rows that are paid for always become a file.
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

/* The types of the columns, as DuckDB names them. */
static bool find_types(reader *r, const char *from, pdl_err *err) {
    pdl_buf sql = PDL_BUF;
    pdl_str text;
    bool there = true;
    pdl_buf_putf(&sql, "SELECT column_type::VARCHAR FROM (DESCRIBE SELECT * FROM %s)", from);
    bool ok = pdl_batch_duck_begin(r->duck, pdl_buf_z(&sql), err);
    while (ok && (ok = pdl_batch_duck_next(r->duck, &text, &there, err)) && there)
        *pdl_vec_push(&r->rows.types) = pdl_str_dup(text);
    pdl_buf_fini(&sql);
    return ok;
}

/* Decimals of so many digits are texts: the floats of JSON do not hold more. */
enum { FLOAT_DIGITS = 15 };

/* The bytes of the long decimal that a type begins with, "DECIMAL(38,10)"; 0: it is none. */
static size_t long_decimal(pdl_str type) {
    size_t i = strlen("DECIMAL("), end = pdl_str_find(type, PDL_STR(")"), 0);
    int digits = 0;
    if (!pdl_str_starts(type, PDL_STR("DECIMAL(")) || end == PDL_NOT_FOUND) return 0;
    for (; type.p[i] >= '0' && type.p[i] <= '9' && digits <= FLOAT_DIGITS; i++)
        digits = digits * 10 + (type.p[i] - '0');
    return digits > FLOAT_DIGITS ? end + 1 : 0;
}

/* A type with texts in place of its long decimals, also inside of lists and structs. Returns
 * whether it has any. */
static bool put_without_decimals(pdl_str type, pdl_buf *out) {
    bool any = false, quoted = false; /* inside of the name of a field */
    for (size_t i = 0; i < type.n;) {
        size_t n = quoted ? 0 : long_decimal(pdl_str_sub(type, i, type.n));
        quoted = quoted != (type.p[i] == '"');
        if (n)
            PDL_PUT(out, "VARCHAR");
        else
            pdl_buf_putc(out, type.p[i]);
        any = any || n;
        i += n ? n : 1;
    }
    return any;
}

static void put_long_decimals(const reader *r, pdl_buf *out) {
    const char *before = " REPLACE (", *after = "";
    for (size_t i = 0; i < r->rows.types.n && i < r->rows.columns.n; i++) {
        pdl_buf type = PDL_BUF;
        if (put_without_decimals(pdl_str_of(r->rows.types.p[i]), &type)) {
            pdl_buf_putf(out, "%s", before);
            pdl_batch_duck_put_name(r->rows.columns.p[i], out);
            pdl_buf_putf(out, "::%s AS ", pdl_buf_z(&type));
            pdl_batch_duck_put_name(r->rows.columns.p[i], out);
            before = ", ";
            after = ")";
        }
        pdl_buf_fini(&type);
    }
    pdl_buf_putf(out, "%s", after);
}

static bool begin_rows(reader *r, const char *from, pdl_err *err) {
    pdl_buf sql = PDL_BUF;
    PDL_PUT(&sql, "SELECT to_json(t)::VARCHAR FROM (SELECT *");
    put_long_decimals(r, &sql);
    pdl_buf_putf(&sql, " FROM %s) t", from);
    bool ok = pdl_batch_duck_begin(r->duck, pdl_buf_z(&sql), err);
    pdl_buf_fini(&sql);
    return ok;
}

static bool begin(reader *r, const pdl_table *t, pdl_err *err) {
    pdl_buf from = PDL_BUF, look = PDL_BUF;
    naming n = {.r = r, .ok = true, .err = err};
    PDL_PUT(&from, "read_parquet(");
    pdl_batch_duck_put_path(t->path, &from);
    PDL_PUT(&from, ", hive_partitioning = false)"); /* names of folders are no columns */
    pdl_buf_putf(&look, "SELECT * FROM %s LIMIT 0", pdl_buf_z(&from));
    bool ok = pdl_batch_bytes_open(&r->file, t->path, err) && pdl_batch_duck_open(&r->duck, err) &&
              pdl_batch_duck_run(r->duck, "SET memory_limit = '1GB'", err) && /* for long rows */
              pdl_batch_duck_columns(r->duck, pdl_buf_z(&look), on_name, &n, err) && n.ok &&
              find_types(r, pdl_buf_z(&from), err) && begin_rows(r, pdl_buf_z(&from), err);
    pdl_buf_fini(&from);
    pdl_buf_fini(&look);
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

/* How rows become columns; each way takes what the one before did not. */
typedef enum {
    AS_TYPED,   /* columns of a Parquet input have its types, the others those of their values */
    AS_FOUND,   /* all have those of their values; whole numbers are of 64 bits */
    AS_EXACTLY, /* the same with longer whole numbers */
    AS_GUESSED, /* by DuckDB */
    WAYS
} how;

enum { MOST_KEYS = 200, MOST_DEEP = 64 };

/* Are there names that DuckDB takes for one? */
static bool has_twins(pdl_vref d) {
    for (size_t i = 0; i < pdl_dict_len(d); i++)
        for (size_t k = 0; k < i; k++)
            if (pdl_str_eq_nocase(pdl_str_get(pdl_dict_key_at(d, i)),
                                  pdl_str_get(pdl_dict_key_at(d, k))))
                return true;
    return false;
}

static void put_simple(pdl_str found, how h, pdl_buf *out) {
    bool huge = pdl_str_is(found, "HUGEINT"),
         whole = huge || pdl_str_is(found, "UBIGINT") || pdl_str_is(found, "BIGINT");
    if (pdl_str_is(found, "NULL"))
        PDL_PUT(out, "VARCHAR");
    else if (whole && h != AS_EXACTLY)
        PDL_PUT(out, "BIGINT");
    else if (huge)
        PDL_PUT(out, "DECIMAL(38, 0)"); /* Parquet has no such integers */
    else
        pdl_buf_put(out, found);
}

/* The type of what json_group_structure found: a name, [type], or {key: type}. What has no type of
 * its own is JSON text: an object with keys as data, or nothing in it. */
static void put_type(pdl_vref found, how h, int deep, pdl_buf *out) {
    size_t n = pdl_is_dict(found) ? pdl_dict_len(found) : 0;
    if (pdl_is_str(found)) {
        put_simple(pdl_str_get(found), h, out);
    } else if (pdl_is_list(found) && pdl_list_len(found) == 1 && deep < MOST_DEEP) {
        put_type(pdl_list_at(found, 0), h, deep + 1, out);
        PDL_PUT(out, "[]");
    } else if (!n || n > MOST_KEYS || deep >= MOST_DEEP || has_twins(found)) {
        PDL_PUT(out, "JSON");
    } else {
        PDL_PUT(out, "STRUCT(");
        for (size_t i = 0; i < n; i++) {
            if (i) PDL_PUT(out, ", ");
            pdl_batch_duck_put_name(pdl_str_get(pdl_dict_key_at(found, i)), out);
            pdl_buf_putc(out, ' ');
            put_type(pdl_dict_val_at(found, i), h, deep + 1, out);
        }
        pdl_buf_putc(out, ')');
    }
}

static bool is_text_column(const sheet *s, size_t i) {
    return i + 1 == s->columns.n || i + 2 == s->columns.n; /* error, place */
}

static const char *type_of_input(const sheet *s, size_t i, how h) {
    return h == AS_TYPED && i < s->types.n ? s->types.p[i] : "";
}

/* Bytes came as text with \xFF for what is none, which a cast reads and read_json does not. */
static bool is_blob(const sheet *s, size_t i, how h) {
    return strcmp(type_of_input(s, i, h), "BLOB") == 0;
}

/* found: the types of the values, a dict; absent: there are no rows. */
static void put_column_type(const sheet *s, size_t i, pdl_vref found, how h, pdl_buf *out) {
    pdl_vref type = pdl_is_dict(found) ? pdl_dict_getz(found, s->columns.p[i]) : pdl_absent();
    pdl_str given = pdl_str_of(type_of_input(s, i, h));
    if (is_text_column(s, i))
        PDL_PUT(out, "VARCHAR");
    else if (given.n && !pdl_str_is(given, "\"NULL\""))
        pdl_buf_put(out, given);
    else if (pdl_is_absent(type))
        PDL_PUT(out, "VARCHAR");
    else
        put_type(type, h, 0, out);
}

static void put_source(const char *fn, const char *rows, size_t longest, pdl_buf *out) {
    pdl_buf_putf(out, "%s(", fn);
    pdl_batch_duck_put_path(pdl_str_of(rows), out);
    pdl_buf_putf(out, ", format = 'newline_delimited', maximum_object_size = %zu", longest);
}

/* A table without rows has the types of its input, or texts. */
static void put_nothing(const sheet *s, pdl_buf *out) {
    PDL_PUT(out, "SELECT ");
    for (size_t i = 0; i < s->columns.n; i++) {
        pdl_buf_putf(out, "%sNULL::", i ? ", " : "");
        put_column_type(s, i, pdl_absent(), AS_TYPED, out);
        PDL_PUT(out, " AS ");
        pdl_batch_duck_put_name(pdl_str_of(s->columns.p[i]), out);
    }
    PDL_PUT(out, " WHERE false");
}

static void put_select(const sheet *s, const char *rows, size_t longest, pdl_vref found, how h,
                       pdl_buf *out) {
    if (!s->size) {
        put_nothing(s, out);
        return;
    }
    const char *before = " REPLACE (", *after = "";
    PDL_PUT(out, "SELECT *");
    for (size_t i = 0; i < s->columns.n; i++) {
        bool text = h == AS_GUESSED && is_text_column(s, i);
        if (!text && !is_blob(s, i, h)) continue;
        pdl_buf_putf(out, "%s", before);
        pdl_batch_duck_put_name(pdl_str_of(s->columns.p[i]), out);
        pdl_buf_putf(out, "::%s AS ", text ? "VARCHAR" : "BLOB");
        pdl_batch_duck_put_name(pdl_str_of(s->columns.p[i]), out);
        before = ", ";
        after = ")";
    }
    pdl_buf_putf(out, "%s FROM ", after);
    put_source("read_json", rows, longest, out);
    pdl_buf_putf(out, "%s", h == AS_GUESSED ? ", sample_size = -1" : ", columns = {");
    for (size_t i = 0; h != AS_GUESSED && i < s->columns.n; i++) {
        pdl_buf type = PDL_BUF;
        if (i) PDL_PUT(out, ", ");
        pdl_batch_duck_put_text(pdl_str_of(s->columns.p[i]), out);
        PDL_PUT(out, ": ");
        if (is_blob(s, i, h))
            PDL_PUT(&type, "VARCHAR");
        else
            put_column_type(s, i, found, h, &type);
        pdl_batch_duck_put_text(pdl_buf_str(&type), out);
        pdl_buf_fini(&type);
    }
    pdl_buf_putf(out, "%s", h == AS_GUESSED ? ")" : "})");
}

/* The types of all values of each column; *out is a dict, owned. */
static bool find_structure(duck *d, const char *rows, size_t longest, pdl_val *out, pdl_err *err) {
    pdl_buf sql = PDL_BUF;
    pdl_str text;
    bool there = false;
    PDL_PUT(&sql, "SELECT json_group_structure(json)::VARCHAR FROM ");
    put_source("read_json_objects", rows, longest, &sql);
    PDL_PUT(&sql, ")");
    bool ok = pdl_batch_duck_begin(d, pdl_buf_z(&sql), err) &&
              pdl_batch_duck_next(d, &text, &there, err) && there &&
              pdl_json_read(text, 0, out, NULL, err);
    pdl_buf_fini(&sql);
    return ok;
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

static bool copy(duck *d, const sheet *s, const char *rows, size_t longest, pdl_vref found, how h,
                 const char *made, pdl_err *err) {
    pdl_buf sql = PDL_BUF;
    PDL_PUT(&sql, "COPY (");
    put_select(s, rows, longest, found, h, &sql);
    PDL_PUT(&sql, ") TO ");
    pdl_batch_duck_put_text(pdl_str_of(made), &sql);
    PDL_PUT(&sql, " (FORMAT PARQUET)");
    bool ok = pdl_batch_duck_run(d, pdl_buf_z(&sql), err);
    pdl_buf_fini(&sql);
    return ok;
}

static bool convert(const sheet *s, const char *rows, const char *made, pdl_err *err) {
    duck *d;
    size_t longest = 0;
    pdl_val found = pdl_absent();
    pdl_err ignored = {0};
    if (s->size && !longest_line(rows, &longest, err)) return false;
    if (!pdl_batch_duck_open(&d, err)) return false;
    bool ok = make_room(d, longest, err), done = false;
    if (ok && s->size && !find_structure(d, rows, longest, &found, &ignored))
        pdl_err_fini(&ignored);
    int h = s->size && pdl_is_absent(found) ? AS_GUESSED : AS_TYPED;
    for (; ok && !done && h < WAYS; h++) {
        pdl_err_fini(err);
        done = copy(d, s, rows, longest, found, (how)h, made, err);
    }
    if (!pdl_is_absent(found)) pdl_drop(found);
    pdl_batch_duck_close(d);
    return ok && done;
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
