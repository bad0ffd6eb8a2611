/* duck.c -- loads DuckDB and wraps the functions that are needed; see duck.h. The functions are
 * found by name when the first Parquet file is opened, so that the command starts without the
 * library and reports clearly when it is missing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/duck.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/libraries.h"

#include "base/banned.h"

/* A struct of duckdb.h, whose binary interface is stable. */
typedef struct duck_result {
    uint64_t unused[3];
    void *unused_columns;
    char *unused_error;
    void *inside;
} duck_result;

/* A text in a vector of DuckDB. A short text is in this struct; for a longer text, the struct has
 * its first four bytes and its address. */
typedef struct duck_text {
    uint32_t n;
    char text[12];
} duck_text;
enum { SHORT_TEXT = 12 };
static_assert(sizeof(duck_text) == 16, "as in duckdb.h");

/* The functions of the library that are used. */
typedef struct duck_api {
    int (*open)(const char *path, void **db);
    void (*close)(void **db);
    int (*connect)(void *db, void **con);
    void (*disconnect)(void **con);
    int (*query)(void *con, const char *sql, duck_result *out);
    void (*destroy_result)(duck_result *r);
    const char *(*result_error)(duck_result *r);
    uint64_t (*column_count)(duck_result *r);
    const char *(*column_name)(duck_result *r, uint64_t i);
    int (*prepare)(void *con, const char *sql, void **out);
    void (*destroy_prepare)(void **st);
    const char *(*prepare_error)(void *st);
    int (*execute_prepared_streaming)(void *st, duck_result *out);
    void *(*fetch_chunk)(duck_result r);
    void (*destroy_data_chunk)(void **chunk);
    uint64_t (*data_chunk_get_size)(void *chunk);
    void *(*data_chunk_get_vector)(void *chunk, uint64_t i);
    void *(*vector_get_data)(void *vector);
} duck_api;

#define ROW(f)                                                                                     \
    { "duckdb_" #f, offsetof(duck_api, f) }
static const pdl_library_symbol symbols[] = {
    ROW(open),
    ROW(close),
    ROW(connect),
    ROW(disconnect),
    ROW(query),
    ROW(destroy_result),
    ROW(result_error),
    ROW(column_count),
    ROW(column_name),
    ROW(prepare),
    ROW(destroy_prepare),
    ROW(prepare_error),
    ROW(execute_prepared_streaming),
    ROW(fetch_chunk),
    ROW(destroy_data_chunk),
    ROW(data_chunk_get_size),
    ROW(data_chunk_get_vector),
    ROW(vector_get_data),
};

struct batch_duck {
    duck_api api;
    void *library, *db, *con;
    void *statement;    /* the statement of the current query */
    duck_result result; /* the result of the current query */
    bool begun;
    void *chunk;
    uint64_t n, at; /* number of rows in the chunk; index of the next row */
};

static bool load_library(duck *d, pdl_err *err) {
    static const char *const names[] = {PDL_DUCKDB_NAMES};
    const char *own = getenv("PDL_DUCKDB");
    bool named = own && *own;
    if (named && !(d->library = dlopen(own, RTLD_LAZY | RTLD_LOCAL)))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "Parquet files need the library libduckdb, and PDL_DUCKDB names %s, "
                           "which cannot be loaded",
                           own);
    for (size_t i = 0; i < sizeof names / sizeof *names && !d->library; i++)
        d->library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    if (!d->library)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "Parquet files need the library libduckdb, which is not there: install "
                           "it, or set PDL_DUCKDB to its file");
    const char *missing =
        pdl_library_find(d->library, symbols, sizeof symbols / sizeof *symbols, &d->api);
    return !missing || pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                                   "libduckdb is too old: it has no %s", missing);
}

bool pdl_batch_duck_check(pdl_err *err) {
    duck d = {0};
    return load_library(&d, err);
}

/* The settings. A file must not be able to make DuckDB download extensions. */
static const char settings[] = "SET threads = 2; SET memory_limit = '256MB'; "
                               "SET autoinstall_known_extensions = false";

/* Settings that not every version of the library has. Times with a zone are in UTC, so that a batch
 * that continues under another TZ reads the same rows. A group of rows may be gigabytes long, so
 * one page of it is kept in memory instead of the whole group. */
static const char *const wishes[] = {"SET TimeZone = 'UTC'",
                                     "SET disable_parquet_prefetching = true",
                                     "SET enable_external_file_cache = false"};

bool pdl_batch_duck_open(duck **out, pdl_err *err) {
    pdl_err ignored = {0};
    duck *d = PDL_NEW(duck);
    bool ok = load_library(d, err);
    if (ok && (d->api.open(NULL, &d->db) != 0 || d->api.connect(d->db, &d->con) != 0))
        ok = pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "DuckDB cannot be started");
    ok = ok && pdl_batch_duck_run(d, settings, err);
    for (size_t i = 0; ok && i < sizeof wishes / sizeof *wishes; i++)
        if (!pdl_batch_duck_run(d, wishes[i], &ignored)) pdl_err_fini(&ignored);
    if (ok)
        *out = d;
    else
        pdl_batch_duck_close(d);
    return ok;
}

static void end_query(duck *d) {
    if (d->chunk) d->api.destroy_data_chunk(&d->chunk);
    if (d->begun) d->api.destroy_result(&d->result);
    if (d->statement) d->api.destroy_prepare(&d->statement);
    d->begun = false;
    d->n = d->at = 0;
}

/* Closes the database. The library stays loaded, because its threads may still be ending. */
void pdl_batch_duck_close(duck *d) {
    if (!d) return;
    if (d->con) {
        end_query(d);
        d->api.disconnect(&d->con);
    }
    if (d->db) d->api.close(&d->db);
    pdl_free(d);
}

static bool failed(const char *why, pdl_err *err) {
    pdl_str s = pdl_str_of(why ? why : "no reason is known");
    size_t line = pdl_str_find(s, PDL_STR("\n"), 0);
    return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "DuckDB: %.*s",
                       PDL_FMT(pdl_str_sub(s, 0, line == PDL_NOT_FOUND ? s.n : line)));
}

bool pdl_batch_duck_run(duck *d, const char *sql, pdl_err *err) {
    duck_result r = {0};
    end_query(d);
    bool ok = d->api.query(d->con, sql, &r) == 0 || failed(d->api.result_error(&r), err);
    d->api.destroy_result(&r);
    return ok;
}

bool pdl_batch_duck_columns(duck *d, const char *sql, void (*fn)(void *user, pdl_str name),
                            void *user, pdl_err *err) {
    duck_result r = {0};
    bool ok = d->api.query(d->con, sql, &r) == 0 || failed(d->api.result_error(&r), err);
    for (uint64_t i = 0; ok && i < d->api.column_count(&r); i++)
        fn(user, pdl_str_of(d->api.column_name(&r, i)));
    d->api.destroy_result(&r);
    return ok;
}

bool pdl_batch_duck_begin(duck *d, const char *sql, pdl_err *err) {
    end_query(d);
    if (d->api.prepare(d->con, sql, &d->statement) != 0)
        return failed(d->api.prepare_error(d->statement), err);
    d->result = (duck_result){0};
    d->begun = true;
    return d->api.execute_prepared_streaming(d->statement, &d->result) == 0 ||
           failed(d->api.result_error(&d->result), err);
}

/* Fetches the next chunk. At the end, n is 0. Returns false when the query has failed. */
static bool next_chunk(duck *d, pdl_err *err) {
    if (d->chunk) d->api.destroy_data_chunk(&d->chunk);
    d->at = d->n = 0;
    d->chunk = d->api.fetch_chunk(d->result);
    if (d->chunk) d->n = d->api.data_chunk_get_size(d->chunk);
    const char *why = d->chunk ? NULL : d->api.result_error(&d->result);
    return !why || !*why || failed(why, err);
}

bool pdl_batch_duck_next(duck *d, pdl_str *text, bool *there, pdl_err *err) {
    if (d->at == d->n && !next_chunk(d, err)) return false;
    *there = d->at < d->n;
    if (!*there) return true;
    const duck_text *all = d->api.vector_get_data(d->api.data_chunk_get_vector(d->chunk, 0));
    const duck_text *t = &all[d->at++];
    const char *far;
    memcpy(&far, t->text + SHORT_TEXT - sizeof far, sizeof far);
    *text = (pdl_str){t->n <= SHORT_TEXT ? t->text : far, t->n};
    return true;
}

static void put_quoted(pdl_str s, char quote, pdl_buf *out) {
    pdl_buf_putc(out, quote);
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == quote) pdl_buf_putc(out, quote);
        pdl_buf_putc(out, s.p[i]);
    }
    pdl_buf_putc(out, quote);
}

void pdl_batch_duck_put_text(pdl_str s, pdl_buf *out) { put_quoted(s, '\'', out); }
void pdl_batch_duck_put_path(pdl_str path, pdl_buf *out) {
    pdl_buf plain = PDL_BUF;
    for (size_t i = 0; i < path.n; i++) {
        bool special = pdl_byte_in(path.p[i], PDL_STR("*?["));
        pdl_buf_putf(&plain, special ? "[%c]" : "%c", path.p[i]);
    }
    put_quoted(pdl_buf_str(&plain), '\'', out);
    pdl_buf_fini(&plain);
}
void pdl_batch_duck_put_name(pdl_str s, pdl_buf *out) { put_quoted(s, '"', out); }
