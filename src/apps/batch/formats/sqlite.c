/* sqlite.c -- tables of SQLite as rows, and rows as tables of SQLite.
 *
 * A table is read in pages by its rowid, so that no transaction is open for hours. Other processes
 * can use the file meanwhile, and so can the output, which may be another table of the same file.
 * Views, queries and tables without rowids are first copied into a temporary table, which SQLite
 * keeps on the disk.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/formats/sqlite.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/num.h"
#include "base/utf8.h"
#include "batch/rows_impl.h"
#include "io/file.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

void pdl_batch_sqlite_put_name(pdl_str name, pdl_buf *out) {
    pdl_buf_putc(out, '"');
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '"') pdl_buf_putc(out, '"');
        pdl_buf_putc(out, name.p[i]);
    }
    pdl_buf_putc(out, '"');
}

/* SQLite's names for the number of a row. A table may have columns with these names. */
static const char *const rowids[] = {"rowid", "_rowid_", "oid"};
enum { ROWIDS = sizeof rowids / sizeof *rowids };

static const char *const looks[] = {
    "SELECT type, sql FROM sqlite_master WHERE name = ? AND type IN ('table', 'view')",
    "SELECT name FROM pragma_table_info(?)"};
static const sql_use looking = {PDL_E_io, "cannot read ", "", looks, 2};

/* The things that a name in a SQLite file may mean: nothing, a table, or a view. */
typedef struct sqlite_thing {
    bool there, paged; /* paged: the rows have rowids */
    bool taken[ROWIDS];
} thing;

/* Returns true when the statement has the word WITHOUT (of WITHOUT ROWID) in letters of any case.
 * When the word is only in a comment or a name, a needless copy is made, which does no harm. */
static bool says_without(pdl_str made_by) {
    pdl_str word = PDL_STR("WITHOUT");
    for (size_t i = 0; i + word.n <= made_by.n; i++)
        if (pdl_str_eq_nocase(pdl_str_sub(made_by, i, i + word.n), word)) return true;
    return false;
}

static bool on_thing(void *user, sql *q, sql_row *row) {
    thing *t = user;
    t->there = true;
    t->paged =
        pdl_str_is(pdl_sql_text(q, row, 0), "table") && !says_without(pdl_sql_text(q, row, 1));
    return false;
}

static void take_name(bool taken[ROWIDS], pdl_str column) {
    for (size_t i = 0; i < ROWIDS; i++)
        taken[i] = taken[i] || pdl_str_eq_nocase(column, pdl_str_of(rowids[i]));
}

static bool on_column(void *user, sql *q, sql_row *row) {
    take_name(((thing *)user)->taken, pdl_sql_bytes(q, row, 0));
    return true;
}

/* Returns one of SQLite's names for the row number that is not the name of a column; NULL when all
 * of them are names of columns. */
static const char *free_rowid(const bool taken[ROWIDS]) {
    for (size_t i = 0; i < ROWIDS; i++)
        if (!taken[i]) return rowids[i];
    return NULL;
}

static bool look(pdl_str path, pdl_str table, thing *out, pdl_err *err) {
    sql *q;
    *out = (thing){0};
    if (!pdl_sql_open(path, &looking, &q, err)) return false;
    const sql_arg name[] = {SQL_S(table)};
    bool ok = pdl_sql_run(q, 0, name, 1, (sql_rows){on_thing, out}, err) &&
              pdl_sql_run(q, 1, name, 1, (sql_rows){on_column, out}, err);
    out->paged = out->paged && free_rowid(out->taken);
    pdl_sql_close(q);
    return ok;
}

bool pdl_batch_sqlite_has_table(pdl_str path, pdl_str table, bool *there, pdl_err *err) {
    thing t;
    if (!look(path, table, &t, err)) return false;
    *there = t.there;
    return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

enum { PAGE = 256, ST_PAGE = 0, ST_VERSION, ST_ROWS, ST_READER };

typedef struct sqlite_reader {
    pdl_rowset rows;
    sql *q;
    sql_use use;
    const char *statements[ST_READER];
    char *page_text, *count_text; /* owned */
    pdl_row page[PAGE];
    size_t n, taken; /* number of rows in the page, and of rows that were returned */
    int64_t last;    /* rowid of the last row that was read */
    uint64_t number, all;
    uint64_t hash; /* hash of all values that were read */
    long version;
    bool ended, copied;
} reader;

static pdl_val text_of(pdl_str s, pdl_row *out, pdl_str column) {
    size_t bad = pdl_utf8_check(s);
    if (bad == PDL_NOT_FOUND) return pdl_text(s);
    pdl_batch_row_broken(out, "the column '%.*s' is not UTF-8 (byte %zu)", PDL_FMT(column),
                         bad + 1);
    return pdl_null();
}

static pdl_val value_of(sql *q, sql_row *row, int i, pdl_row *out, pdl_str column) {
    switch (pdl_sql_kind(q, row, i)) {
    case SQL_VALUE_INT: return pdl_int(pdl_sql_int(q, row, i));
    case SQL_VALUE_NUM: return pdl_float(pdl_sql_num(q, row, i));
    case SQL_VALUE_TEXT: return text_of(pdl_sql_bytes(q, row, i), out, column);
    case SQL_VALUE_BYTES:
        pdl_batch_row_broken(out,
                             "the column '%.*s' holds bytes, not text; a query can leave it out, "
                             "or take hex(%.*s)",
                             PDL_FMT(column), PDL_FMT(column));
        return pdl_null();
    case SQL_VALUE_NULL: break;
    }
    return pdl_null();
}

static uint32_t hash_value(sql *q, sql_row *row, int i) {
    double d;
    uint64_t bits;
    switch (pdl_sql_kind(q, row, i)) {
    case SQL_VALUE_INT: return pdl_hash_u64((uint64_t)pdl_sql_int(q, row, i));
    case SQL_VALUE_NUM:
        d = pdl_sql_num(q, row, i);
        memcpy(&bits, &d, sizeof bits);
        return pdl_hash_u64(~bits);
    case SQL_VALUE_TEXT:
    case SQL_VALUE_BYTES: return pdl_hash_str(pdl_sql_bytes(q, row, i));
    case SQL_VALUE_NULL: break;
    }
    return 0;
}

/* Adds the values of a row, and its rowid, to a hash. */
static uint64_t hash_row(uint64_t hash, sql *q, sql_row *row, size_t columns) {
    for (size_t i = 0; i <= columns; i++) {
        hash = (hash ^ hash_value(q, row, (int)i)) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static bool on_page_row(void *user, sql *q, sql_row *row) {
    reader *r = user;
    pdl_row *out = &r->page[r->n++];
    *out = (pdl_row){.number = ++r->number, .columns = pdl_dict_new(r->rows.columns.n)};
    r->last = pdl_sql_int(q, row, 0);
    r->hash = hash_row(r->hash, q, row, r->rows.columns.n);
    for (size_t i = 0; i < r->rows.columns.n; i++) {
        pdl_str column = r->rows.columns.p[i];
        out->columns =
            pdl_dict_puts(out->columns, column, value_of(q, row, (int)i + 1, out, column));
    }
    return r->n < PAGE;
}

static pdl_rows_step next(pdl_rowset *base, bool wait, pdl_row *out, pdl_err *err) {
    reader *r = (reader *)(void *)base;
    (void)wait;
    if (r->taken == r->n && !r->ended) {
        r->taken = r->n = 0;
        if (!pdl_sql_run(r->q, ST_PAGE, (sql_arg[]){SQL_I(r->last)}, 1, (sql_rows){on_page_row, r},
                         err))
            return PDL_ROWS_FAIL;
        r->ended = r->n < PAGE;
    }
    if (r->taken == r->n) return PDL_ROWS_END;
    *out = r->page[r->taken++];
    return PDL_ROWS_ROW;
}

static void close_reader(pdl_rowset *base) {
    reader *r = (reader *)(void *)base;
    for (; r->taken < r->n; r->taken++) pdl_row_fini(&r->page[r->taken]);
    pdl_sql_close(r->q);
    pdl_free(r->page_text);
    pdl_free(r->count_text);
    pdl_free(r);
}

static void progress(const pdl_rowset *base, uint64_t *done, uint64_t *all) {
    const reader *r = (const reader *)(const void *)base;
    *done = r->number - (r->n - r->taken);
    *all = r->all;
}

typedef struct sqlite_second_look {
    const reader *r;
    uint64_t n, hash; /* number and hash of the rows that were read again */
    int64_t last;
    size_t in_page;
} second_look;

static bool on_second_row(void *user, sql *q, sql_row *row) {
    second_look *k = user;
    if (k->n == k->r->number) return false;
    k->n++;
    k->in_page++;
    k->last = pdl_sql_int(q, row, 0);
    k->hash = hash_row(k->hash, q, row, k->r->rows.columns.n);
    return true;
}

/* Reads the rows again. Sets *same to whether their values are still those that were read. */
static bool compare_rows(const reader *r, bool *same, pdl_err *err) {
    second_look k = {.r = r, .last = INT64_MIN, .in_page = PAGE};
    while (k.in_page == PAGE && k.n < r->number) {
        k.in_page = 0;
        if (!pdl_sql_run(r->q, ST_PAGE, (sql_arg[]){SQL_I(k.last)}, 1,
                         (sql_rows){on_second_row, &k}, err))
            return false;
    }
    *same = k.n == r->number && k.hash == r->hash;
    return true;
}

/* Returns false when the table has another number of rows than before, or a row that was read has
 * other values. The file itself may change, since the output may be another table in it. */
static bool unchanged(const pdl_rowset *base, pdl_err *err) {
    const reader *r = (const reader *)(const void *)base;
    long version = 0, rows = 0;
    bool same = true;
    if (r->copied) return true;
    if (!pdl_sql_number(r->q, "PRAGMA data_version", &version, err)) return false;
    if (version == r->version) return true;
    if (!pdl_sql_number(r->q, r->count_text, &rows, err)) return false;
    if ((uint64_t)rows != r->all)
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                           "%s was changed while it was read: it had %llu rows, and has %ld",
                           base->name, (unsigned long long)r->all, rows);
    if (!compare_rows(r, &same, err)) return false;
    return same || pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                               "%s was changed while it was read: some rows may be from before and "
                               "some from after the change",
                               base->name);
}

static const rows_ops ops = {next, close_reader, progress, unchanged};

typedef struct sqlite_naming {
    reader *r;
    size_t n; /* number of columns that were read; the first column is the rowid */
    bool ok;
    pdl_err *err;
} naming;

static void on_name(void *user, pdl_str name) {
    naming *n = user;
    if (n->n++ == 0) return;
    n->ok = n->ok && pdl_batch_rows_add_column(&n->r->rows, name, n->err);
}

/* Returns the end of the string, name or comment that begins at i. Any other byte is a token by
 * itself. */
static size_t skip_token(pdl_str s, size_t i) {
    pdl_str end = {0};
    size_t from = i + 1;
    if (pdl_byte_in(s.p[i], PDL_STR("'\"`"))) end = (pdl_str){s.p + i, 1};
    if (s.p[i] == '[') end = PDL_STR("]");
    if (pdl_str_starts(pdl_str_sub(s, i, s.n), PDL_STR("--"))) end = PDL_STR("\n");
    if (pdl_str_starts(pdl_str_sub(s, i, s.n), PDL_STR("/*"))) end = PDL_STR("*/"), from++;
    if (!end.n) return i + 1;
    size_t at = pdl_str_find(s, end, from);
    return at == PDL_NOT_FOUND ? s.n : at + end.n;
}

/* Refuses a query with several statements, because the text after a semicolon would be executed,
 * too. */
static bool check_query(const pdl_table *t, pdl_err *err) {
    bool ended = false;
    pdl_str s = t->table;
    for (size_t i = 0; i < s.n;) {
        size_t next = skip_token(s, i);
        bool nothing =
            (unsigned char)s.p[i] <= ' ' || (next > i + 1 && pdl_byte_in(s.p[i], PDL_STR("-/")));
        if (ended && !nothing && s.p[i] != ';')
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "the query for %.*s is more than one statement", PDL_FMT(t->path));
        ended = ended || s.p[i] == ';';
        i = next;
    }
    return true;
}

/* Copies the rows of a query, a view or a table without rowids into a temporary table. */
static bool copy_rows(reader *r, const pdl_table *t, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    PDL_PUT(&text, "PRAGMA temp_store = FILE; CREATE TEMP TABLE pdl_batch_rows AS ");
    if (pdl_table_is_query(t)) {
        pdl_buf_put(&text, t->table);
    } else {
        PDL_PUT(&text, "SELECT * FROM ");
        pdl_batch_sqlite_put_name(t->table, &text);
    }
    r->copied = true;
    bool ok = pdl_sql_exec(r->q, pdl_buf_z(&text), err);
    if (!ok && pdl_table_is_query(t)) err->kind = PDL_E_usage;
    pdl_buf_fini(&text);
    return ok;
}

static bool begin(reader *r, const pdl_table *t, pdl_err *err) {
    thing what = {0};
    long all = 0;
    bool query = pdl_table_is_query(t);
    if (query && !check_query(t, err)) return false;
    if (!query && !look(t->path, t->table, &what, err)) return false;
    if (!query && !what.there)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s has no table '%.*s'",
                           PDL_FMT(t->path), PDL_FMT(t->table));
    pdl_buf from = PDL_BUF, page = PDL_BUF, count = PDL_BUF;
    if (what.paged)
        pdl_batch_sqlite_put_name(t->table, &from);
    else
        PDL_PUT(&from, "temp.pdl_batch_rows");
    const char *id = what.paged ? free_rowid(what.taken) : "_rowid_";
    pdl_buf_putf(&page, "SELECT %s, * FROM %s WHERE %s > ? ORDER BY %s LIMIT %d", id,
                 pdl_buf_z(&from), id, id, (int)PAGE);
    pdl_buf_putf(&count, "SELECT count(*) FROM %s", pdl_buf_z(&from));
    pdl_buf_fini(&from);
    r->statements[ST_PAGE] = r->page_text = pdl_buf_take(&page);
    r->statements[ST_VERSION] = "PRAGMA data_version";
    r->statements[ST_ROWS] = r->count_text = pdl_buf_take(&count);
    r->use = (sql_use){PDL_E_io, "cannot read ", "", r->statements, ST_READER};
    r->last = INT64_MIN;
    naming n = {.r = r, .ok = true, .err = err};
    bool ok = pdl_sql_open(t->path, &r->use, &r->q, err) && (what.paged || copy_rows(r, t, err)) &&
              pdl_sql_exec(r->q, "PRAGMA query_only = ON", err) &&
              pdl_sql_names(r->q, ST_PAGE, on_name, &n, err) && n.ok &&
              pdl_sql_number(r->q, "PRAGMA data_version", &r->version, err) &&
              pdl_sql_number(r->q, r->count_text, &all, err);
    r->all = (uint64_t)all;
    return ok;
}

bool pdl_batch_sqlite_open(const pdl_table *t, pdl_rowset **out, pdl_err *err) {
    reader *r = PDL_NEW(reader);
    r->rows.ops = &ops;
    r->rows.name = pdl_str_dup(t->name);
    r->rows.fixed = true;
    if (!begin(r, t, err)) {
        pdl_rows_close(&r->rows);
        return false;
    }
    *out = &r->rows;
    return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

enum { ST_BEGIN, ST_COMMIT, ST_CUT, ST_PUT, ST_WRITER };

typedef struct sqlite_writer {
    pdl_batch_output output;
    sql *q;
    sql_use use;
    const char *statements[ST_WRITER];
    char *cut_text, *put_text; /* owned */
    uint64_t put;              /* number of rows, including rows that were not committed yet */
    bool in_transaction;
} sqlite_writer;

/* Sets the statements of the writer, and appends the statement that creates the table. */
static void put_statements(sqlite_writer *w, pdl_buf *create) {
    pdl_buf cut = PDL_BUF, put = PDL_BUF;
    bool taken[ROWIDS] = {0};
    for (size_t i = 0; i < w->output.columns.n; i++)
        take_name(taken, pdl_str_of(w->output.columns.p[i]));
    const char *id = free_rowid(taken);
    if (!id) id = rowids[0]; /* when no name is free, SQLite reports the error */
    PDL_PUT(create, "CREATE TABLE IF NOT EXISTS ");
    pdl_batch_sqlite_put_name(w->output.table.table, create);
    PDL_PUT(&cut, "DELETE FROM ");
    pdl_batch_sqlite_put_name(w->output.table.table, &cut);
    pdl_buf_putf(&cut, " WHERE %s > ?", id);
    PDL_PUT(&put, "INSERT INTO ");
    pdl_batch_sqlite_put_name(w->output.table.table, &put);
    pdl_buf_putf(&put, "(%s", id);
    for (size_t i = 0; i < w->output.columns.n; i++) {
        pdl_str name = pdl_str_of(w->output.columns.p[i]);
        pdl_buf_putf(create, i ? ", " : "(");
        pdl_batch_sqlite_put_name(name, create);
        PDL_PUT(&put, ", ");
        pdl_batch_sqlite_put_name(name, &put);
    }
    PDL_PUT(create, ")");
    PDL_PUT(&put, ") VALUES(?");
    for (size_t i = 0; i < w->output.columns.n; i++) PDL_PUT(&put, ", ?");
    PDL_PUT(&put, ")");
    w->statements[ST_BEGIN] = "BEGIN IMMEDIATE";
    w->statements[ST_COMMIT] = "COMMIT";
    w->statements[ST_CUT] = w->cut_text = pdl_buf_take(&cut);
    w->statements[ST_PUT] = w->put_text = pdl_buf_take(&put);
    w->use = (sql_use){PDL_E_io, "cannot write ", "", w->statements, ST_WRITER};
}

static bool enter(sqlite_writer *w, pdl_err *err) {
    if (w->in_transaction) return true;
    return w->in_transaction = pdl_sql_run(w->q, ST_BEGIN, NULL, 0, SQL_NO_ROWS, err);
}

/* Binds a value. Types that SQLite has are stored directly. Lists, objects and results are stored
 * as JSON. `text` holds that JSON until the statement was run. */
static bool bind_value(pdl_vref v, bool as_json, pdl_buf *text, sql_arg *out, pdl_err *err) {
    *out = SQL_S(((pdl_str){0}));
    if (pdl_is_absent(v) || (pdl_is_null(v) && !as_json)) return true;
    if (!as_json && pdl_is(v, PDL_V_INT))
        *out = SQL_I(pdl_int_of(v));
    else if (!as_json && pdl_is_bool(v))
        *out = SQL_I(pdl_bool_of(v));
    else if (!as_json && pdl_is(v, PDL_V_FLOAT))
        *out = SQL_D(pdl_float_of(v));
    else if (!as_json && pdl_is_str(v))
        *out = SQL_S(pdl_str_get(v));
    else {
        if (!pdl_json_write(v, PDL_JSON_SPACED, 0, text, err)) return false;
        *out = SQL_S(pdl_buf_str(text));
    }
    return true;
}

static bool put_row(pdl_batch_output *base, pdl_str json, pdl_err *err) {
    sqlite_writer *w = (sqlite_writer *)(void *)base;
    pdl_val row;
    if (!enter(w, err) || !pdl_json_read(json, PDL_JSON_PYTHON, &row, NULL, err)) return false;
    size_t n = base->columns.n;
    sql_arg *args = PDL_NEW_N(sql_arg, n + 1);
    pdl_buf *texts = PDL_NEW_N(pdl_buf, n);
    bool ok = true, failed = !pdl_is_null(pdl_dict_getz(row, pdl_batch_own_column(BATCH_ERROR)));
    args[0] = SQL_I((int64_t)++w->put);
    for (size_t i = 0; ok && i < n; i++) {
        texts[i] = PDL_BUF;
        bool result = pdl_batch_output_is_result(base, i) && !failed;
        ok = bind_value(pdl_dict_getz(row, base->columns.p[i]), result, &texts[i], &args[i + 1],
                        err);
    }
    ok = ok && pdl_sql_run(w->q, ST_PUT, args, n + 1, SQL_NO_ROWS, err);
    for (size_t i = 0; i < n; i++) pdl_buf_fini(&texts[i]);
    pdl_free(texts);
    pdl_free(args);
    pdl_drop(row);
    return ok;
}

static bool flush(pdl_batch_output *base, bool sync, pdl_err *err) {
    sqlite_writer *w = (sqlite_writer *)(void *)base;
    (void)sync; /* every commit of SQLite syncs the file */
    if (w->in_transaction && !pdl_sql_run(w->q, ST_COMMIT, NULL, 0, SQL_NO_ROWS, err)) return false;
    w->in_transaction = false;
    base->size = w->put;
    return true;
}

static void close_writer(pdl_batch_output *base) {
    sqlite_writer *w = (sqlite_writer *)(void *)base;
    pdl_sql_close(w->q);
    pdl_free(w->cut_text);
    pdl_free(w->put_text);
    pdl_free(w);
}

static const output_ops writing = {put_row, flush, close_writer};

pdl_batch_output *pdl_batch_output_sqlite_new(void) {
    sqlite_writer *w = PDL_NEW(sqlite_writer);
    w->output.ops = &writing;
    return &w->output;
}

/* Makes a missing file with the usual permissions of an output. An output is a file of the user,
 * and not private like a journal. */
static bool make_file(pdl_str path, pdl_err *err) {
    char *name = pdl_str_dup(path);
    if (pdl_file_kind_of(name) == PDL_FILE_NONE) {
        int fd = pdl_file_open(name, O_WRONLY | O_CREAT, 0666, err);
        if (fd >= 0) close(fd);
    }
    pdl_free(name);
    return !err->kind;
}

/* Continues a table after its first `keep` rows. When keep is 0, begins a new table: an existing
 * table of the same name may have other columns, so it is dropped. */
bool pdl_batch_output_sqlite_begin(pdl_batch_output *base, uint64_t keep, pdl_err *err) {
    sqlite_writer *w = (sqlite_writer *)(void *)base;
    pdl_buf create = PDL_BUF;
    /* the old table stays when the new one cannot be made */
    PDL_PUT(&create, "BEGIN IMMEDIATE; ");
    if (!keep) {
        PDL_PUT(&create, "DROP TABLE IF EXISTS ");
        pdl_batch_sqlite_put_name(base->table.table, &create);
        PDL_PUT(&create, "; ");
    }
    put_statements(w, &create);
    PDL_PUT(&create, "; COMMIT");
    w->put = base->size = keep;
    bool ok = make_file(base->table.path, err) && pdl_sql_make(base->table.path, NULL, err) &&
              pdl_sql_open(base->table.path, &w->use, &w->q, err) &&
              pdl_sql_exec(w->q, pdl_buf_z(&create), err) &&
              pdl_sql_run(w->q, ST_CUT, (sql_arg[]){SQL_I((int64_t)keep)}, 1, SQL_NO_ROWS, err);
    pdl_buf_fini(&create);
    return ok;
}

bool pdl_batch_output_sqlite_size(const pdl_table *t, uint64_t *size) {
    pdl_err ignored = {0};
    thing what = {0};
    sql *q = NULL;
    long rows = 0;
    char *path = pdl_str_dup(t->path);
    pdl_buf text = PDL_BUF;
    bool file = pdl_file_kind_of(path) == PDL_FILE_REGULAR,
         there = file && look(t->path, t->table, &what, &ignored) && what.there;
    const char *id = free_rowid(what.taken);
    pdl_buf_putf(&text, "SELECT coalesce(max(%s), 0) FROM ", id ? id : rowids[0]);
    pdl_batch_sqlite_put_name(t->table, &text);
    if (there && pdl_sql_open(t->path, &looking, &q, &ignored) &&
        pdl_sql_number(q, pdl_buf_z(&text), &rows, &ignored))
        *size = (uint64_t)rows;
    pdl_sql_close(q);
    pdl_err_fini(&ignored);
    pdl_buf_fini(&text);
    pdl_free(path);
    return there;
}
