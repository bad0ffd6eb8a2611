/* rows.c -- reads the names of tables, their columns and their cells, and opens the reader for each
 * format; see rows.h. A name such as "people.db:names" or "-" says where a table is and which
 * format it has. Readers of the formats add only how records become rows (rows_impl.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/rows.h"

#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "batch/rows_impl.h"
#include "io/file.h"
#include "value/int.h"

#include "base/banned.h"

/* --- names of tables -------------------------------------------------------------------------- */

const char *pdl_table_form_name(pdl_table_form f) {
    static const char *const names[] = {
#define X(id, name, doc) name,
        PDL_TABLE_FORMS(X)
#undef X
    };
    return names[f];
}

bool pdl_table_has_header(pdl_table_form f) { return f != PDL_TABLE_jsonl; }

bool pdl_table_is_query(const pdl_table *t) {
    static const char *const words[] = {"select", "with", "values"};
    pdl_str text = pdl_str_trim(t->table);
    for (size_t i = 0; t->form == PDL_TABLE_sqlite && i < sizeof words / sizeof *words; i++) {
        pdl_str word = pdl_str_of(words[i]);
        if (text.n > word.n && pdl_str_eq_nocase(pdl_str_sub(text, 0, word.n), word) &&
            pdl_byte_in(text.p[word.n], PDL_STR(" \t\r\n*(/-\"'")))
            return true;
    }
    return false;
}

/* The formats of tables, which the end of a name or --format selects. */
static const struct {
    const char *word;
    pdl_table_form form;
    char separator;
} table_words[] = {{"jsonl", PDL_TABLE_jsonl, 0},
                   {"ndjson", PDL_TABLE_jsonl, 0},
                   {"csv", PDL_TABLE_csv, ','},
                   {"tsv", PDL_TABLE_csv, '\t'},
                   {"parquet", PDL_TABLE_parquet, 0}};

static bool form_of_word(pdl_str word, pdl_table *t) {
    for (size_t i = 0; i < sizeof table_words / sizeof *table_words; i++)
        if (pdl_str_eq_nocase(word, pdl_str_of(table_words[i].word))) {
            t->form = table_words[i].form;
            t->separator = table_words[i].separator;
            return true;
        }
    return false;
}

static bool form_of_suffix(pdl_str path, pdl_table *t) {
    size_t dot = pdl_str_rfind(path, PDL_STR("."));
    return dot != PDL_NOT_FOUND && form_of_word(pdl_str_sub(path, dot + 1, path.n), t);
}

/* Adds advice on how a file of another kind is converted to a table. */
static void advise(pdl_str name, pdl_err *err) {
    static const struct {
        const char *suffix, *way;
    } ways[] = {{".json", "of a JSON list, `jq -c '.[]' FILE.json > FILE.jsonl` makes a table"},
                {".gz", "`gzip -dc FILE | pdl batch ... --input -` reads what is compressed, "
                        "`pdl batch ... --output - | gzip` writes it"},
                {".bz2", "`bzip2 -dc FILE | pdl batch ... --input -` reads what is compressed, "
                         "`pdl batch ... --output - | bzip2` writes it"},
                {".xz", "`xz -dc FILE | pdl batch ... --input -` reads what is compressed, "
                        "`pdl batch ... --output - | xz` writes it"},
                {".zst", "`zstd -dc FILE | pdl batch ... --input -` reads what is compressed, "
                         "`pdl batch ... --output - | zstd` writes it"},
                {".xlsx", "spreadsheets read and write CSV UTF-8"},
                {".xls", "spreadsheets read and write CSV UTF-8"}};
    static const char *const sqlite[] = {".db", ".sqlite"};
    for (size_t i = 0; i < sizeof sqlite / sizeof *sqlite; i++)
        if (pdl_str_ends(name, pdl_str_of(sqlite[i])))
            pdl_err_hint(err, "a table of a SQLite file is %.*s:TABLE", PDL_FMT(name));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (pdl_str_ends(name, pdl_str_of(ways[i].suffix))) pdl_err_hint(err, "%s", ways[i].way);
}

static bool is_stream(const pdl_table *t) {
    struct stat st;
    bool device = pdl_str_starts(t->path, PDL_STR("/dev/"));
    char *path = pdl_str_dup(t->path);
    bool is = stat(path, &st) == 0 &&
              (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || (device && S_ISCHR(st.st_mode)));
    pdl_free(path);
    return is || t->standard;
}

bool pdl_table_is_standard(const pdl_table *t) {
    return t->standard || (t->is_open && t->fd <= STDOUT_FILENO);
}

pdl_str pdl_table_shown(const pdl_table *t) {
    return t->standard ? PDL_STR("standard input") : t->name;
}

bool pdl_table_refuse_twice(const pdl_table *t, const char *option, pdl_err *err) {
    return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s needs a file: %.*s cannot be read twice",
                       option, PDL_FMT(pdl_table_shown(t)));
}

/* Splits a name such as file.db:table or file.db:SELECT ... */
static bool split_sqlite(pdl_table *t) {
    static const char *const suffixes[] = {".db:", ".sqlite:", ".sqlite3:"};
    size_t first = PDL_NOT_FOUND;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t at = pdl_str_find(t->name, pdl_str_of(suffixes[i]), 0);
        size_t colon = at == PDL_NOT_FOUND ? at : at + strlen(suffixes[i]) - 1;
        if (colon < first) first = colon;
    }
    if (first == PDL_NOT_FOUND) return false;
    t->form = PDL_TABLE_sqlite;
    t->path = pdl_str_sub(t->name, 0, first);
    t->table = pdl_str_trim(pdl_str_sub(t->name, first + 1, t->name.n));
    return true;
}

bool pdl_table_of(pdl_str name, pdl_str form, pdl_table *out, pdl_err *err) {
    pdl_table t = {.name = name, .path = name, .standard = pdl_str_is(name, "-"), .separator = ','};
    if (t.standard) t.path = (pdl_str){0};
    t.is_open = pdl_file_descriptor(name, &t.fd);
    bool known =
        split_sqlite(&t) ||
        (form.n ? form_of_word(form, &t) : pdl_table_is_standard(&t) || form_of_suffix(name, &t));
    if (!known) {
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                    "the form of the table %.*s is not known: its name ends in .jsonl, .csv, .tsv "
                    "or .parquet, is FILE.db:TABLE, or --format says it",
                    PDL_FMT(name));
        advise(name, err);
        return false;
    }
    if (t.form == PDL_TABLE_sqlite && !t.table.n)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "%.*s: expected FILE.db:TABLE or FILE.db:SELECT ...", PDL_FMT(name));
    t.stream = is_stream(&t);
    *out = t;
    return true;
}

/* --- columns and cells ------------------------------------------------------------------------ */

bool pdl_batch_rows_add_column(pdl_rowset *r, pdl_str name, pdl_err *err) {
    if (!name.n)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: column %zu has no name", r->name,
                           r->columns.n + 1);
    if (pdl_map_find(&r->seen, name))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: two columns are named '%.*s'",
                           r->name, PDL_FMT(name));
    char *own = pdl_str_dup(name);
    pdl_map_put(&r->seen, (pdl_str){own, name.n}, own);
    *pdl_vec_push(&r->names) = own;
    *pdl_vec_push(&r->columns) = (pdl_str){own, name.n};
    return true;
}

/* Returns true for a text that may be a number. 007 may be an article number, so it stays a text;
 * +1 and 1_000 stay texts, too. */
static bool is_number(pdl_str s) {
    if (s.n && s.p[0] == '-') s = pdl_str_sub(s, 1, s.n);
    if (!s.n || s.p[0] < '0' || s.p[0] > '9') return false;
    if (s.n > 1 && s.p[0] == '0' && s.p[1] >= '0' && s.p[1] <= '9') return false;
    for (size_t i = 0; i < s.n; i++)
        if (!pdl_byte_in(s.p[i], PDL_STR("0123456789.eE+-"))) return false;
    return true;
}

pdl_val pdl_batch_cell(pdl_str text, bool types) {
    pdl_val whole;
    double d;
    if (!types) return pdl_text(text);
    if (!text.n) return pdl_null();
    if (pdl_str_eq_nocase(text, PDL_STR("true"))) return pdl_bool(true);
    if (pdl_str_eq_nocase(text, PDL_STR("false"))) return pdl_bool(false);
    if (!is_number(text)) return pdl_text(text);
    if (pdl_int_read_decimal(text, &whole)) return whole; /* a long number keeps all its digits */
    return pdl_num_read_double(text, &d) ? pdl_float(d) : pdl_text(text);
}

void pdl_batch_row_broken(pdl_row *row, const char *fmt, ...) {
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    pdl_free(row->problem);
    row->problem = pdl_buf_take(&b);
}

void pdl_row_fini(pdl_row *r) {
    pdl_drop(r->columns);
    pdl_free(r->problem);
    *r = (pdl_row){.columns = pdl_absent()};
}

/* --- records ---------------------------------------------------------------------------------- */

static void hand_out(bytes *b, size_t n, pdl_str *out) {
    *out = pdl_str_sub(pdl_batch_bytes_rest(b), 0, n);
    b->pos += n;
}

/* Drops the beginning of a record that is too long, so that memory stays bounded. */
static void forget(bytes *b) { b->pos = b->buf.len; }

pdl_rows_step pdl_batch_record(bytes *b, bytes_end_fn *end, void *user, bool wait, pdl_str *out,
                               pdl_err *err) {
    for (;;) {
        pdl_str rest = pdl_batch_bytes_rest(b);
        size_t n = end(user, rest, b->ended);
        if (n) {
            hand_out(b, n, out);
            return PDL_ROWS_ROW;
        }
        if (b->ended) return PDL_ROWS_END;
        if (rest.n > BATCH_MAX_ROW) {
            b->too_long = true;
            forget(b);
        }
        switch (pdl_batch_bytes_fill(b, wait, err)) {
        case BYTES_MORE:
        case BYTES_END: break;
        case BYTES_LATER: return PDL_ROWS_LATER;
        case BYTES_FAIL: return PDL_ROWS_FAIL;
        }
    }
}

/* --- readers ---------------------------------------------------------------------------------- */

bool pdl_rows_open(const pdl_table *t, bool types, pdl_rowset **out, pdl_err *err) {
    switch (t->form) {
    case PDL_TABLE_jsonl: return pdl_batch_jsonl_open(t, out, err);
    case PDL_TABLE_csv: return pdl_batch_csv_open(t, types, out, err);
    case PDL_TABLE_sqlite: return pdl_batch_sqlite_open(t, out, err);
    case PDL_TABLE_parquet: return pdl_batch_parquet_open(t, out, err);
    case PDL_TABLE_COUNT: break;
    }
    PDL_BUG("form of table %d", (int)t->form);
}

void pdl_rows_close(pdl_rowset *r) {
    if (!r) return;
    for (size_t i = 0; i < r->names.n; i++) pdl_free(r->names.p[i]);
    for (size_t i = 0; i < r->types.n; i++) pdl_free(r->types.p[i]);
    pdl_vec_fini(&r->names);
    pdl_vec_fini(&r->types);
    pdl_vec_fini(&r->columns);
    pdl_map_fini(&r->seen);
    pdl_free(r->name);
    pdl_free(r->read_note);
    pdl_free(r->kept_note);
    r->ops->close(r);
}

const pdl_str *pdl_rows_columns(const pdl_rowset *r, size_t *n) {
    *n = r->columns.n;
    return r->fixed ? r->columns.p : NULL;
}

bool pdl_rows_put_note(const pdl_rowset *r, pdl_table_form output, pdl_buf *out) {
    const char *kept = output == PDL_TABLE_parquet ? r->kept_note : NULL;
    if (r->read_note) pdl_buf_putf(out, "%s", r->read_note);
    if (kept) pdl_buf_putf(out, "%s%s", r->read_note ? "; " : "", kept);
    return r->read_note || kept;
}

const char *pdl_rows_type(const pdl_rowset *r, size_t i) {
    return i < r->types.n ? r->types.p[i] : NULL;
}

pdl_rows_step pdl_rows_next(pdl_rowset *r, bool wait, pdl_row *out, pdl_err *err) {
    *out = (pdl_row){.columns = pdl_absent()};
    pdl_rows_step step = r->ops->next(r, wait, out, err);
    if (step != PDL_ROWS_ROW) pdl_row_fini(out);
    return step;
}

bool pdl_rows_each(const pdl_table *t, bool types, uint64_t limit,
                   bool (*fn)(void *user, const pdl_rowset *r, const pdl_row *row, pdl_err *err),
                   void *user, pdl_err *err) {
    pdl_rowset *r;
    if (!pdl_rows_open(t, types, &r, err)) return false;
    bool ok = true;
    for (uint64_t n = 0; ok && (!limit || n < limit); n++) {
        pdl_row row;
        pdl_rows_step step = pdl_rows_next(r, true, &row, err);
        ok = step != PDL_ROWS_FAIL;
        if (step != PDL_ROWS_ROW) break;
        ok = fn(user, r, &row, err);
        pdl_row_fini(&row);
    }
    pdl_rows_close(r);
    return ok;
}

void pdl_rows_progress(const pdl_rowset *r, uint64_t *done, uint64_t *all) {
    r->ops->progress(r, done, all);
}

bool pdl_rows_unchanged(const pdl_rowset *r, pdl_err *err) { return r->ops->unchanged(r, err); }

void pdl_rows_put_place(const pdl_rowset *r, const pdl_row *row, pdl_buf *out) {
    if (row->line)
        pdl_buf_putf(out, "%s:%llu", r->name, (unsigned long long)row->line);
    else
        pdl_buf_putf(out, "%s, row %llu", r->name, (unsigned long long)row->number);
}
