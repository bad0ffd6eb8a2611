/* parquet.c -- Parquet files as rows, and rows as Parquet files.
 *
 * DuckDB returns each row as a JSON object, in streams of some thousand rows. If rows were appended
 * to a Parquet file, a process that is killed could damage the file. So rows are gathered as JSONL
 * in OUT.rows; at the end the Parquet file is made from OUT.rows, and appears by a rename.
 *
 * A column that came from a Parquet file is written with its old type, and with the description in
 * the Arrow schema of that file (arrow.h). All other columns get the types of their JSON values. If
 * DuckDB guessed the types, texts that look like dates and UUIDs would become dates and UUIDs,
 * "2024-1-5" would be written in another form, and long integers would become floats. Only when
 * values do not fit their types does DuckDB guess, so that rows that were paid for always become a
 * file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/base64.h"
#include "batch/bytes.h"
#include "batch/duck.h"
#include "batch/formats/arrow.h"
#include "batch/formats/column_structure.h"
#include "batch/formats/parquet_footer.h"
#include "batch/output_impl.h"
#include "batch/rows_impl.h"
#include "io/file.h"
#include "value/json_read.h"

#include "base/banned.h"

/* --- reading ---------------------------------------------------------------------------------- */

typedef struct parquet_reader {
    pdl_rowset rows;
    duck *duck;
    bytes file;             /* stays open, so that changes of the file are noticed */
    PDL_VEC(char *) inside; /* the names that DuckDB gives to the columns; owned */
    bool renamed;           /* DuckDB's names differ from the real names */
    uint64_t number;
    pdl_json_keys keys;
} reader;

/* Replaces DuckDB's names by the real ones. For DuckDB, `word` and `Word` are one name, and it
 * calls the second column `Word_1`. */
static pdl_val with_names(const reader *r, pdl_val row) {
    if (!r->renamed || pdl_dict_len(row) != r->rows.columns.n) return row;
    pdl_val named = pdl_dict_new(r->rows.columns.n);
    for (size_t i = 0; i < r->rows.columns.n; i++)
        named = pdl_dict_puts(named, r->rows.columns.p[i], pdl_keep(pdl_dict_val_at(row, i)));
    pdl_drop(row);
    return named;
}

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
        out->columns = pdl_is_dict(v) ? with_names(r, v) : v;
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
    for (size_t i = 0; i < r->inside.n; i++) pdl_free(r->inside.p[i]);
    pdl_vec_fini(&r->inside);
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

static void on_name(void *user, pdl_str name) {
    reader *r = user;
    *pdl_vec_push(&r->inside) = pdl_str_dup(name);
}

/* Calls fn with the text of each row of a query. */
static bool each_text(duck *d, const char *sql, bool (*fn)(void *user, pdl_str text), void *user,
                      pdl_err *err) {
    pdl_str text;
    bool there = true, ok = pdl_batch_duck_begin(d, sql, err);
    while (ok && (ok = pdl_batch_duck_next(d, &text, &there, err)) && there)
        if (!fn(user, text)) break;
    return ok;
}

static bool on_type(void *user, pdl_str type) {
    reader *r = user;
    *pdl_vec_push(&r->rows.types) = pdl_str_dup(type);
    return true;
}

/* Finds the types of the columns, as DuckDB names them. */
static bool find_types(reader *r, const char *from, pdl_err *err) {
    pdl_buf sql = PDL_BUF;
    pdl_buf_putf(&sql, "SELECT column_type::VARCHAR FROM (DESCRIBE SELECT * FROM %s)", from);
    bool ok = each_text(r->duck, pdl_buf_z(&sql), on_type, r, err);
    pdl_buf_fini(&sql);
    return ok;
}

/* Types that DuckDB does not have and reads as other types. mark: the letter that put_schema_of
 * writes for the type, or 'x' when add_part finds the type itself. When lossy is set, the program
 * gets another value or name; otherwise only a Parquet output has another type. */
static const struct {
    char mark;
    bool lossy;
    const char *what;
} strange[] = {
    {'d', true, "decimals of more than 38 digits are read as floats"},
    {'x', true, "fields of objects whose names differ only in case get numbers (x, X_1)"},
    {'h', false, "half floats become floats"},
    {'f', false, "bytes of fixed length become bytes"},
    {'n', false, "columns without a type become texts"},
    {'t', false, "times in milliseconds become times in microseconds"},
};
enum { STRANGE = sizeof strange / sizeof *strange };

/* An element of the schema, some of whose parts were not read yet. */
typedef struct parquet_group {
    uint64_t left;
    pdl_map names; /* names of the parts that were read, in small letters */
} group;

/* The facts that the schema of the file has about its columns. */
typedef struct parquet_schema {
    PDL_VEC(char *) names;  /* owned */
    PDL_VEC(bool) millis;   /* for each column: whether it is a time without a zone, in ms */
    PDL_VEC(group) open;    /* groups that contain the next element, the innermost last */
    pdl_arena *arena;       /* owns the names in groups */
    pdl_buf found[STRANGE]; /* for each unusual type, the names of the columns that have it */
    size_t n_found[STRANGE], last_found[STRANGE];
    bool begun;
} schema;

static void note_strange(schema *s, char mark) {
    enum { SHOWN = 6 };
    for (size_t i = 0; i < STRANGE; i++) {
        if (strange[i].mark != mark || s->last_found[i] == s->names.n) continue;
        s->last_found[i] = s->names.n;
        if (s->n_found[i]++ > SHOWN) continue;
        bool more = s->n_found[i] > SHOWN;
        pdl_buf_putf(&s->found[i], "%s%s", s->n_found[i] > 1 ? ", " : "",
                     more ? "..." : s->names.p[s->names.n - 1]);
    }
}

/* Adds a part to the innermost group. */
static void add_part(schema *s, pdl_str name) {
    group *g = &s->open.p[s->open.n - 1];
    char *small = pdl_arena_get_n(s->arena, name.n + 1, 1);
    for (size_t i = 0; i < name.n; i++) small[i] = pdl_lower(name.p[i]);
    pdl_str key = {small, name.n};
    if (pdl_map_find(&g->names, key)) note_strange(s, 'x');
    (void)pdl_map_put(&g->names, key, s);
    g->left--;
}

static void close_groups(schema *s) {
    while (s->open.n && !s->open.p[s->open.n - 1].left) pdl_map_fini(&s->open.p[--s->open.n].names);
}

/* Reads an element: the number of its parts, its mark or "-", and its name. Parts follow their
 * group; the first element is the whole file. */
static bool on_element(void *user, pdl_str text) {
    schema *s = user;
    uint64_t parts = 0;
    size_t i = 0;
    for (; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        parts = parts * 10 + (uint64_t)(text.p[i] - '0');
    if (!s->begun) return s->begun = true;
    pdl_str name = pdl_str_sub(text, i + 1, text.n);
    char mark = i < text.n ? text.p[i] : '-';
    if (s->open.n) {
        add_part(s, name);
    } else {
        *pdl_vec_push(&s->names) = pdl_str_dup(name);
        *pdl_vec_push(&s->millis) = mark == 'm';
    }
    note_strange(s, mark);
    if (parts) *pdl_vec_push(&s->open) = (group){.left = parts};
    close_groups(s);
    return true;
}

static void schema_fini(schema *s) {
    for (size_t i = 0; i < s->names.n; i++) pdl_free(s->names.p[i]);
    for (size_t i = 0; i < s->open.n; i++) pdl_map_fini(&s->open.p[i].names);
    for (size_t i = 0; i < STRANGE; i++) pdl_buf_fini(&s->found[i]);
    pdl_vec_fini(&s->names);
    pdl_vec_fini(&s->millis);
    pdl_vec_fini(&s->open);
    pdl_arena_free(s->arena);
}

/* Returns the unusual types as one line; NULL when there are none. The caller owns the line. */
static char *strange_text(const schema *s, bool lossy) {
    pdl_buf out = PDL_BUF;
    for (size_t i = 0; i < STRANGE; i++)
        if (strange[i].lossy == lossy && s->n_found[i])
            pdl_buf_putf(&out, "%s%s: %s", out.len ? "; " : "", strange[i].what,
                         pdl_buf_z(&s->found[i]));
    if (out.len) return pdl_buf_take(&out);
    pdl_buf_fini(&out);
    return NULL;
}

/* Corrects the type of a column, because DuckDB reads times in milliseconds as if they were in
 * microseconds. */
static void set_millis(reader *r, size_t i) {
    if (strcmp(r->rows.types.p[i], "TIMESTAMP") != 0) return;
    pdl_free(r->rows.types.p[i]);
    r->rows.types.p[i] = pdl_str_dup(PDL_STR("TIMESTAMP_MS"));
}

static void put_schema_of(pdl_str path, pdl_buf *sql) {
    PDL_PUT(sql, "SELECT coalesce(num_children, 0)::VARCHAR || CASE "
                 "WHEN logical_type::VARCHAR LIKE "
                 "'TimestampType(isAdjustedToUTC=0,%MILLIS=MilliSeconds%' THEN 'm' "
                 "WHEN logical_type::VARCHAR LIKE 'Time%MILLIS=MilliSeconds%' THEN 't' "
                 "WHEN logical_type::VARCHAR LIKE 'Float16%' THEN 'h' "
                 "WHEN logical_type::VARCHAR LIKE 'NullType%' THEN 'n' "
                 "WHEN converted_type::VARCHAR = 'DECIMAL' AND precision > 38 THEN 'd' "
                 "WHEN type::VARCHAR = 'FIXED_LEN_BYTE_ARRAY' AND logical_type IS NULL "
                 "AND converted_type IS NULL THEN 'f' ELSE '-' "
                 "END || name FROM parquet_schema(");
    pdl_batch_duck_put_path(path, sql);
    PDL_PUT(sql, ")");
}

static bool find_names(reader *r, pdl_str path, pdl_err *err) {
    schema s = {.arena = pdl_arena_make()};
    pdl_buf sql = PDL_BUF;
    for (size_t i = 0; i < STRANGE; i++) s.found[i] = PDL_BUF;
    put_schema_of(path, &sql);
    bool ok = each_text(r->duck, pdl_buf_z(&sql), on_element, &s, err);
    bool own = s.names.n == r->inside.n && r->rows.types.n == r->inside.n;
    for (size_t i = 0; ok && i < r->inside.n; i++) {
        const char *name = own ? s.names.p[i] : r->inside.p[i];
        r->renamed = r->renamed || strcmp(name, r->inside.p[i]) != 0;
        ok = pdl_batch_rows_add_column(&r->rows, pdl_str_of(name), err);
        if (ok && own && s.millis.p[i]) set_millis(r, i);
    }
    r->rows.read_note = strange_text(&s, true);
    r->rows.kept_note = strange_text(&s, false);
    schema_fini(&s);
    pdl_buf_fini(&sql);
    return ok;
}

/* Decimals with more digits are read as texts, because floats in JSON cannot represent them. */
enum { FLOAT_DIGITS = 15 };

/* Returns the length of a long decimal such as "DECIMAL(38,10)" at the beginning of a type; 0 when
 * there is none. */
static size_t long_decimal(pdl_str type) {
    size_t i = strlen("DECIMAL(");
    int digits = 0;
    if (!pdl_str_starts(type, PDL_STR("DECIMAL("))) return 0;
    size_t end = pdl_str_find(type, PDL_STR(")"), i);
    if (end == PDL_NOT_FOUND) return 0;
    for (; type.p[i] >= '0' && type.p[i] <= '9' && digits <= FLOAT_DIGITS; i++)
        digits = digits * 10 + (type.p[i] - '0');
    return digits > FLOAT_DIGITS ? end + 1 : 0;
}

/* Returns the length of "BLOB" when a type begins with it; otherwise 0. */
static size_t blob(pdl_str type) {
    return pdl_str_starts(type, PDL_STR("BLOB")) ? strlen("BLOB") : 0;
}

/* Appends a type. The type VARCHAR replaces the parts that `find` finds, even inside lists and
 * structs. Returns true when the type has such parts. */
static bool put_texts_for(pdl_str type, size_t (*find)(pdl_str type), pdl_buf *out) {
    bool any = false, quoted = false; /* quoted: the byte is inside the name of a field */
    for (size_t i = 0; i < type.n;) {
        size_t n = quoted ? 0 : find(pdl_str_sub(type, i, type.n));
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
    for (size_t i = 0; i < r->rows.types.n && i < r->inside.n; i++) {
        pdl_buf type = PDL_BUF;
        if (put_texts_for(pdl_str_of(r->rows.types.p[i]), long_decimal, &type)) {
            pdl_buf_putf(out, "%s", before);
            pdl_batch_duck_put_name(pdl_str_of(r->inside.p[i]), out);
            pdl_buf_putf(out, "::%s AS ", pdl_buf_z(&type));
            pdl_batch_duck_put_name(pdl_str_of(r->inside.p[i]), out);
            before = ", ";
            after = ")";
        }
        pdl_buf_fini(&type);
    }
    pdl_buf_putf(out, "%s", after);
}

static bool is_inside(const reader *r, pdl_str name) {
    for (size_t i = 0; i < r->inside.n; i++)
        if (pdl_str_eq_nocase(pdl_str_of(r->inside.p[i]), name)) return true;
    return false;
}

/* Begins to read rows. In the query, the name of the whole row is a name that no column has. */
static bool begin_rows(reader *r, const char *from, pdl_err *err) {
    pdl_buf sql = PDL_BUF, row = PDL_BUF;
    PDL_PUT(&row, "pdl_row");
    while (is_inside(r, pdl_buf_str(&row))) pdl_buf_putc(&row, '_');
    pdl_buf_putf(&sql, "SELECT to_json(%s)::VARCHAR FROM (SELECT *", pdl_buf_z(&row));
    put_long_decimals(r, &sql);
    pdl_buf_putf(&sql, " FROM %s) %s", from, pdl_buf_z(&row));
    bool ok = pdl_batch_duck_begin(r->duck, pdl_buf_z(&sql), err);
    pdl_buf_fini(&sql);
    pdl_buf_fini(&row);
    return ok;
}

static bool begin(reader *r, const pdl_table *t, pdl_err *err) {
    pdl_buf from = PDL_BUF, look = PDL_BUF;
    PDL_PUT(&from, "read_parquet(");
    pdl_batch_duck_put_path(t->path, &from);
    PDL_PUT(&from, ", hive_partitioning = false)"); /* names of folders are not columns */
    pdl_buf_putf(&look, "SELECT * FROM %s LIMIT 0", pdl_buf_z(&from));
    bool ok = pdl_batch_bytes_open(&r->file, t->path, err) && pdl_batch_duck_open(&r->duck, err) &&
              /* long rows need more memory */
              pdl_batch_duck_run(r->duck, "SET memory_limit = '1GB'", err) &&
              pdl_batch_duck_columns(r->duck, pdl_buf_z(&look), on_name, r, err) &&
              find_types(r, pdl_buf_z(&from), err) && find_names(r, t->path, err) &&
              begin_rows(r, pdl_buf_z(&from), err);
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

/* Finds the length of the longest line. Stores LONG_LINE when no line is longer. DuckDB refuses
 * lines that are longer than the announced length, and reserves memory for that length. Returns
 * false when the file cannot be read. */
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

/* The ways to make columns from rows. Each way accepts rows that the previous way has refused. */
typedef struct parquet_how {
    bool arrow; /* the Arrow schema of the input is written, too */
    /* the columns of a Parquet input keep their types; other columns get the types of
     * their values */
    bool typed;
    bool guessed; /* DuckDB guesses all types */
} how;
static const how ways[] = {{.arrow = true, .typed = true}, {.typed = true}, {0}, {.guessed = true}};
enum { WAYS = sizeof ways / sizeof *ways };

static bool is_text_column(const pdl_batch_output *s, size_t i) {
    /* the last two columns are `error` and `place` */
    return i + 1 == s->columns.n || i + 2 == s->columns.n;
}

static const char *type_of_input(const pdl_batch_output *s, size_t i, const how *h) {
    return h->typed && i < s->types.n ? s->types.p[i] : "";
}

/* Appends the type with which a column of bytes is read. Bytes were written as a text, in which
 * \xFF replaces each byte that is not text. A cast understands this form, but read_json does not.
 * Returns false when the column has no bytes. */
static bool put_type_of_bytes(const pdl_batch_output *s, size_t i, const how *h, pdl_buf *out) {
    return put_texts_for(pdl_str_of(type_of_input(s, i, h)), blob, out);
}

/* Appends the type of a column. found: the types of the values; NULL when they are not known. */
static void put_column_type(const pdl_batch_output *s, size_t i, const structure *found,
                            const how *h, pdl_buf *out) {
    pdl_str given = pdl_str_of(type_of_input(s, i, h));
    if (!is_text_column(s, i) && given.n && !pdl_str_is(given, "\"NULL\""))
        pdl_buf_put(out, given);
    else if (is_text_column(s, i) || !found)
        PDL_PUT(out, "VARCHAR");
    else
        pdl_batch_structure_put(found, i, out);
}

static void put_source(const char *fn, const char *rows, size_t longest, pdl_buf *out) {
    pdl_buf_putf(out, "%s(", fn);
    pdl_batch_duck_put_path(pdl_str_of(rows), out);
    pdl_buf_putf(out, ", format = 'newline_delimited', maximum_object_size = %zu", longest);
}

/* Appends a table without rows. Its columns have the types of the input, or are texts. */
static void put_nothing(const pdl_batch_output *s, const how *h, pdl_buf *out) {
    PDL_PUT(out, "SELECT ");
    for (size_t i = 0; i < s->columns.n; i++) {
        pdl_buf_putf(out, "%sNULL::", i ? ", " : "");
        put_column_type(s, i, NULL, h, out);
        PDL_PUT(out, " AS ");
        pdl_batch_duck_put_name(pdl_str_of(pdl_batch_output_inside(s, i)), out);
    }
    PDL_PUT(out, " WHERE false");
}

static void put_select(const pdl_batch_output *s, const char *rows, size_t longest,
                       const structure *found, const how *h, pdl_buf *out) {
    if (!s->size) {
        put_nothing(s, h, out);
        return;
    }
    const char *before = " REPLACE (", *after = "";
    PDL_PUT(out, "SELECT *");
    for (size_t i = 0; i < s->columns.n; i++) {
        bool text = h->guessed && is_text_column(s, i);
        pdl_buf read = PDL_BUF;
        bool blobs = put_type_of_bytes(s, i, h, &read);
        pdl_buf_fini(&read);
        if (!text && !blobs) continue;
        pdl_buf_putf(out, "%s", before);
        pdl_batch_duck_put_name(pdl_str_of(pdl_batch_output_inside(s, i)), out);
        pdl_buf_putf(out, "::%s AS ", text ? "VARCHAR" : type_of_input(s, i, h));
        pdl_batch_duck_put_name(pdl_str_of(pdl_batch_output_inside(s, i)), out);
        before = ", ";
        after = ")";
    }
    pdl_buf_putf(out, "%s FROM ", after);
    put_source("read_json", rows, longest, out);
    pdl_buf_putf(out, "%s", h->guessed ? ", sample_size = -1" : ", columns = {");
    for (size_t i = 0; !h->guessed && i < s->columns.n; i++) {
        pdl_buf type = PDL_BUF;
        if (i) PDL_PUT(out, ", ");
        pdl_batch_duck_put_text(pdl_str_of(pdl_batch_output_inside(s, i)), out);
        PDL_PUT(out, ": ");
        if (!put_type_of_bytes(s, i, h, &type)) {
            pdl_buf_clear(&type);
            put_column_type(s, i, found, h, &type);
        }
        pdl_batch_duck_put_text(pdl_buf_str(&type), out);
        pdl_buf_fini(&type);
    }
    pdl_buf_putf(out, "%s", h->guessed ? ")" : "})");
}

/* Finds a type for each column that fits all its values. */
static bool find_structure(const pdl_batch_output *s, const char *rows, structure **out,
                           pdl_err *err) {
    PDL_VEC(pdl_str) names = {0};
    for (size_t i = 0; i < s->columns.n; i++)
        *pdl_vec_push(&names) = pdl_str_of(pdl_batch_output_inside(s, i));
    bool ok = pdl_batch_structure_find(rows, names.p, names.n, out, err);
    pdl_vec_fini(&names);
    return ok;
}

/* Gives DuckDB more memory for rows of many megabytes: each of its readers takes several times the
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

/* --- the schema of Arrow ---------------------------------------------------------------------- */

static bool on_metadata(void *user, pdl_str text) {
    pdl_buf *out = user;
    pdl_buf_clear(out);
    /* there is one row; a value that is not base64 counts as missing */
    return !pdl_base64_read(text, out);
}

/* Finds the metadata that the input has under `key`. Returns false when there is none. */
static bool find_metadata(duck *d, const pdl_batch_output *s, const char *key, pdl_buf *out,
                          pdl_err *err) {
    pdl_buf sql = PDL_BUF;
    PDL_PUT(&sql, "SELECT to_base64(value) FROM parquet_kv_metadata(");
    pdl_batch_duck_put_path(s->source, &sql);
    PDL_PUT(&sql, ") WHERE key = ");
    pdl_batch_duck_put_text(pdl_str_of(key), &sql);
    PDL_PUT(&sql, "::BLOB");
    bool ok = each_text(d, pdl_buf_z(&sql), on_metadata, out, err);
    pdl_buf_fini(&sql);
    return ok && out->len;
}

static void put_metadata(const char *key, pdl_str value, pdl_buf *out) {
    pdl_batch_duck_put_text(pdl_str_of(key), out);
    PDL_PUT(out, ": from_base64('");
    pdl_base64_put(value, false, out);
    PDL_PUT(out, "')");
}

static bool extend(const pdl_batch_output *s, const structure *found, const how *h, pdl_str message,
                   pdl_buf *out) {
    size_t n = s->columns.n - BATCH_OWN_COLUMNS;
    arrow_field more[BATCH_OWN_COLUMNS];
    pdl_buf types[BATCH_OWN_COLUMNS];
    PDL_VEC(pdl_str) names = {0};
    for (size_t i = 0; i < n; i++) *pdl_vec_push(&names) = pdl_str_of(s->columns.p[i]);
    for (size_t i = 0; i < BATCH_OWN_COLUMNS; i++) {
        types[i] = PDL_BUF;
        put_column_type(s, n + i, found, h, &types[i]);
        more[i] = (arrow_field){pdl_str_of(s->columns.p[n + i]), pdl_buf_str(&types[i])};
    }
    bool ok = pdl_batch_arrow_extend(message, names.p, n, more, BATCH_OWN_COLUMNS, out);
    for (size_t i = 0; i < BATCH_OWN_COLUMNS; i++) pdl_buf_fini(&types[i]);
    pdl_vec_fini(&names);
    return ok;
}

/* Appends the option of COPY with the Arrow schema, and with the index of pandas. Returns false
 * when the input has no schema that can be used. */
static bool put_arrow(duck *d, const pdl_batch_output *s, const structure *found, const how *h,
                      pdl_buf *out, pdl_err *err) {
    static const char schema_key[] = "ARROW:schema", pandas_key[] = "pandas";
    pdl_buf message = PDL_BUF, base64 = PDL_BUF, old = PDL_BUF, pandas = PDL_BUF;
    bool ok = s->source.n && s->types.n + BATCH_OWN_COLUMNS == s->columns.n &&
              find_metadata(d, s, schema_key, &base64, err) &&
              pdl_base64_read(pdl_buf_str(&base64), &old) &&
              extend(s, found, h, pdl_buf_str(&old), &message);
    pdl_err ignored = {0}; /* the file can be made without the Arrow schema */
    if (ok) {
        pdl_buf_clear(&base64);
        pdl_base64_put(pdl_buf_str(&message), false, &base64);
        PDL_PUT(out, ", KV_METADATA {");
        put_metadata(schema_key, pdl_buf_str(&base64), out);
        if (find_metadata(d, s, pandas_key, &pandas, &ignored)) {
            PDL_PUT(out, ", ");
            put_metadata(pandas_key, pdl_buf_str(&pandas), out);
        }
        PDL_PUT(out, "}");
    }
    pdl_err_fini(&ignored);
    pdl_buf_fini(&message);
    pdl_buf_fini(&base64);
    pdl_buf_fini(&old);
    pdl_buf_fini(&pandas);
    return ok;
}

/* The state of copying rows into a Parquet file. */
typedef struct {
    const char *path;
    size_t longest; /* length of the longest line, in bytes */
    structure *found;
} rows_file;

static bool copy(duck *d, const pdl_batch_output *s, const rows_file *rows, const how *h,
                 const char *made, pdl_err *err) {
    const structure *found = rows->found;
    pdl_buf sql = PDL_BUF;
    PDL_PUT(&sql, "COPY (");
    put_select(s, rows->path, rows->longest, found, h, &sql);
    PDL_PUT(&sql, ") TO ");
    pdl_batch_duck_put_text(pdl_str_of(made), &sql);
    PDL_PUT(&sql, " (FORMAT PARQUET");
    bool ok = !h->arrow || put_arrow(d, s, found, h, &sql, err);
    PDL_PUT(&sql, ")");
    ok = ok && pdl_batch_duck_run(d, pdl_buf_z(&sql), err);
    if (ok && s->inside.n) ok = pdl_batch_footer_name(made, s->columns.p, s->columns.n, err);
    pdl_buf_fini(&sql);
    return ok;
}

static bool convert(const pdl_batch_output *s, const char *path, const char *made, pdl_err *err) {
    duck *d;
    rows_file rows = {.path = path};
    pdl_err ignored = {0};
    if (s->size && !longest_line(path, &rows.longest, err)) return false;
    if (!pdl_batch_duck_open(&d, err)) return false;
    bool ok = make_room(d, rows.longest, err), done = false;
    if (ok && s->size && !find_structure(s, path, &rows.found, &ignored)) pdl_err_fini(&ignored);
    int i = s->size && !rows.found ? WAYS - 1 : 0;
    for (; ok && !done && i < WAYS; i++) {
        pdl_err_fini(err);
        done = copy(d, s, &rows, &ways[i], made, err);
    }
    pdl_batch_structure_free(rows.found);
    pdl_batch_duck_close(d);
    return ok && done;
}

/* Forces the file to the disk, so that a power failure cannot damage it. */
static bool reach_the_disk(const char *path, pdl_err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
    int failed = errno;
    if (fd >= 0) close(fd);
    return ok || pdl_file_errno(err, failed, path);
}

bool pdl_batch_parquet_finish(const pdl_batch_output *s, bool changed, pdl_err *err) {
    /* when the output is a link, the link stays and the file is made at its target */
    char *path = pdl_batch_output_target(s->table.path);
    char *rows = path_with(s->table.path, ".rows"), *made = path_with(pdl_str_of(path), ".part");
    bool there = pdl_file_kind_of(path) == PDL_FILE_REGULAR, ok = true;
    if (changed || !there)
        ok = convert(s, rows, made, err) && reach_the_disk(made, err) &&
             (rename(made, path) == 0 || pdl_file_errno(err, errno, path));
    if (ok) (void)unlink(rows);
    pdl_free(rows);
    pdl_free(made);
    pdl_free(path);
    return ok;
}
