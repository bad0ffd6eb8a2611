/* sql.c -- opens databases with SQLite, and runs their statements; see sql.h.
 *
 * SQLite is loaded when the first file is opened, because most runs need no database. A file may
 * come from others, so SQLite's protections against crafted files are switched on, and the files
 * beside a database are checked before SQLite opens them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sqlite/sql.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/libraries.h"
#include "base/packed_files.h"
#include "base/utf8.h"
#include "sqlite/db_files.h"

#include "base/banned.h"

/* The functions of the library that are used. */
typedef struct sqlite_api {
    int (*open_v2)(const char *, sqlite3 **, int, const char *);
    int (*close)(sqlite3 *);
    int (*exec)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
    int (*prepare_v2)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
    int (*bind_text)(sqlite3_stmt *, int, const char *, int, void (*)(void *));
    int (*bind_int64)(sqlite3_stmt *, int, sqlite3_int64);
    int (*bind_double)(sqlite3_stmt *, int, double);
    int (*bind_null)(sqlite3_stmt *, int);
    int (*step)(sqlite3_stmt *);
    int (*reset)(sqlite3_stmt *);
    int (*finalize)(sqlite3_stmt *);
    const unsigned char *(*column_text)(sqlite3_stmt *, int);
    int (*column_bytes)(sqlite3_stmt *, int);
    sqlite3_int64 (*column_int64)(sqlite3_stmt *, int);
    double (*column_double)(sqlite3_stmt *, int);
    int (*column_type)(sqlite3_stmt *, int);
    int (*column_count)(sqlite3_stmt *);
    const char *(*column_name)(sqlite3_stmt *, int);
    const char *(*errmsg)(sqlite3 *);
    int (*errcode)(sqlite3 *);
    sqlite3_int64 (*last_insert_rowid)(sqlite3 *);
    int (*changes)(sqlite3 *);
    int (*db_config)(sqlite3 *, int, ...);
    void (*progress_handler)(sqlite3 *, int, int (*)(void *), void *);
    int (*busy_handler)(sqlite3 *, int (*)(void *, int), void *);
} sqlite_api;

#define ROW(f)                                                                                     \
    { "sqlite3_" #f, offsetof(sqlite_api, f) }
static const pdl_library_symbol symbols[] = {
    ROW(open_v2),      ROW(close),        ROW(exec),
    ROW(prepare_v2),   ROW(bind_text),    ROW(bind_int64),
    ROW(bind_double),  ROW(bind_null),    ROW(step),
    ROW(reset),        ROW(finalize),     ROW(column_text),
    ROW(column_bytes), ROW(column_int64), ROW(column_double),
    ROW(column_type),  ROW(column_count), ROW(column_name),
    ROW(errmsg),       ROW(errcode),      ROW(last_insert_rowid),
    ROW(changes),      ROW(db_config),    ROW(progress_handler),
    ROW(busy_handler),
};

struct sql {
    sqlite_api api;
    void *library;
    sqlite3 *handle;
    const sql_use *use;
    /* owned array with a prepared statement for each statement of the use; a statement is NULL
     * until it is needed */
    sqlite3_stmt **st;
    size_t n_st;
    char *path;       /* owned */
    pdl_err stopped;  /* the reason why the current statement was stopped */
    bool bad_text;    /* a column was not UTF-8 */
    bool busy;        /* the last failure was caused by a lock of another process */
    int64_t until_ms; /* the time at which the wait for the lock ends */
};

static bool load_library(sql *q, pdl_err *err) {
    static const char *const names[] = {PDL_SQLITE_NAMES};
    q->library = pdl_library_open(names, sizeof names / sizeof *names);
    if (!q->library)
        return pdl_err_set(
            err, PDL_E_io, (pdl_loc){0},
            "journals, caches and tables of SQLite need the library libsqlite3, which cannot be "
            "loaded");
    const char *missing =
        pdl_library_find(q->library, symbols, sizeof symbols / sizeof *symbols, &q->api);
    return !missing ||
           pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "libsqlite3 is too old: it has no %s", missing);
}

bool pdl_sql_library(pdl_buf *out) {
    sql q = {0};
    pdl_err err = {0};
    bool ok = load_library(&q, &err);
    const char *(*version)(void) = NULL;
    void *p = q.library ? pdl_library_at(q.library, "sqlite3_libversion") : NULL;
    memcpy((void *)&version, &p, sizeof p);
    pdl_buf_put(out, pdl_str_of(ok && version ? version() : ok ? "of no known version" : err.msg));
    pdl_library_close(q.library);
    pdl_err_fini(&err);
    return ok;
}

/* Turns the last failure of SQLite into an error of ours. Always returns false. */
static bool failed(sql *q, pdl_err *err) {
    if (q->stopped.kind) {
        pdl_err_move(err, &q->stopped);
        return false;
    }
    const char *why = q->handle ? q->api.errmsg(q->handle) : "out of memory";
    int code = q->handle ? q->api.errcode(q->handle) & 0xff : SQLITE_OK;
    q->busy = code == SQLITE_BUSY;
    if (code == SQLITE_NOTADB) why = "it is a file of another kind";
    return pdl_err_set(err, q->use->kind, (pdl_loc){0}, "%s%s%s: %s", q->use->before, q->path,
                       q->use->after, why);
}

/* Returns true when the process that made the file was killed before its first transaction was
 * complete. The file is then empty, or becomes empty when its log is rolled back. */
static bool is_unfinished(const char *name) {
    struct stat st, log;
    pdl_buf log_name = PDL_BUF;
    if (lstat(name, &st) != 0 || !S_ISREG(st.st_mode)) return false;
    if (st.st_size == 0) return true;
    pdl_db_put_name(pdl_str_of(name), PDL_DB_ROLLBACK, &log_name);
    bool any = lstat(pdl_buf_z(&log_name), &log) == 0 && S_ISREG(log.st_mode) && log.st_size > 0;
    pdl_buf_fini(&log_name);
    return any;
}

/* Returns true when the file exists. Does not open it: opening a pipe would wait for its other end,
 * and closing a file releases the locks that another run of this process has on it. */
static bool is_there(const char *name) {
    struct stat st;
    return stat(name, &st) == 0 && access(name, R_OK | W_OK) == 0;
}

bool pdl_sql_make(pdl_str path, const char *fresh, pdl_err *err) {
    char *name = pdl_str_dup(path);
    if (!fresh && is_there(name)) {
        pdl_free(name);
        return true;
    }
    int fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC | (fresh ? O_EXCL : 0), 0600);
    if (fd < 0 && fresh && errno == EEXIST) {
        fd = is_unfinished(name) ? open(name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
        if (fd >= 0 && fchmod(fd, 0600) != 0) {
            close(fd);
            fd = -1;
        }
        errno = EEXIST;
    }
    if (fd >= 0)
        close(fd);
    else if (fresh && errno == EEXIST)
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s exists already: %s", name, fresh);
    else
        pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot %s %s: %s", fresh ? "create" : "open",
                    name, strerror(errno));
    pdl_free(name);
    return fd >= 0;
}

static int on_progress(void *user) {
    sql *q = user;
    return q->stopped.kind || !pdl_check_cancel(&q->stopped);
}

int64_t pdl_sql_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits at most ten seconds for another process that writes. SQLite's own wait would not notice
 * that this thread is cancelled. After a cancellation, this function waits only as long as a short
 * write takes. */
static int on_busy(void *user, int n) {
    enum { WAIT_MS = 10000, LAST_MS = 50, PAUSE_MS = 2 };
    sql *q = user;
    pdl_err why = {0};
    int64_t now = pdl_sql_now_ms();
    if (n == 0) q->until_ms = now + WAIT_MS;
    if (q->until_ms > now + LAST_MS && !pdl_check_cancel(&why)) q->until_ms = now + LAST_MS;
    pdl_err_fini(&why);
    if (now >= q->until_ms) {
        if (!q->stopped.kind) (void)!pdl_check_cancel(&q->stopped);
        return 0;
    }
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
    return 1;
}

/* Protects against malicious files: the schema may not use functions or virtual tables, it cannot
 * be written to, and malformed pages are refused. Older libraries do not have all of these
 * settings. */
static bool guard(sql *q, pdl_err *err) {
    enum { STEPS = 10000 /* steps of SQLite's machine: less than a millisecond */ };
    static const int on[] = {SQLITE_DBCONFIG_DEFENSIVE},
                     off[] = {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_TRUSTED_SCHEMA};
    for (size_t i = 0; i < sizeof on / sizeof *on; i++)
        q->api.db_config(q->handle, on[i], 1, (int *)NULL);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        q->api.db_config(q->handle, off[i], 0, (int *)NULL);
    q->api.progress_handler(q->handle, STEPS, on_progress, q);
    q->api.busy_handler(q->handle, on_busy, q);
    return pdl_sql_exec(q, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;", err);
}

/* Checks the files beside the database, because SQLite opens them, too. Opening a pipe would wait
 * for its other end. */
static bool check_beside(const sql *q, pdl_err *err) {
    bool ok = true;
    for (pdl_db_file i = 0; ok && i < PDL_DB_ITSELF; i++) {
        struct stat st;
        pdl_buf name = PDL_BUF;
        pdl_db_put_name(pdl_str_of(q->path), i, &name);
        if (stat(pdl_buf_z(&name), &st) == 0 && !S_ISREG(st.st_mode))
            ok = pdl_err_set(err, q->use->kind, (pdl_loc){0}, "%s%s%s: %s is not a regular file",
                             q->use->before, q->path, q->use->after, pdl_buf_z(&name));
        pdl_buf_fini(&name);
    }
    return ok;
}

/* Opens a file that is packed into this command. The library reads it inside the command. */
static bool open_packed(sql *q, pdl_str bytes, pdl_err *err) {
    int (*deserialize)(sqlite3 *, const char *, unsigned char *, sqlite3_int64, sqlite3_int64,
                       unsigned) = NULL;
    void *p = pdl_library_at(q->library, "sqlite3_deserialize");
    memcpy((void *)&deserialize, &p, sizeof p);
    if (!deserialize)
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "libsqlite3 cannot read a packed file");
    if (q->api.open_v2(":memory:", &q->handle, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        deserialize(q->handle, "main", (unsigned char *)(uintptr_t)bytes.p, (sqlite3_int64)bytes.n,
                    (sqlite3_int64)bytes.n, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
        return failed(q, err);
    return true;
}

/* Opens a file of the disk. */
static bool open_file(sql *q, pdl_err *err) {
    return q->api.open_v2(q->path, &q->handle, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK ||
           failed(q, err);
}

static bool is_database(const sql *q, pdl_err *err) {
    struct stat st = {0};
    if (stat(q->path, &st) != 0)
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot open %s: %s", q->path,
                           strerror(errno));
    return S_ISREG(st.st_mode) ||
           pdl_err_set(err, q->use->kind, (pdl_loc){0}, "%s%s%s: it is not a regular file",
                       q->use->before, q->path, q->use->after);
}

bool pdl_sql_open(pdl_str path, const sql_use *use, sql **out, pdl_err *err) {
    sql *q = PDL_NEW(sql);
    pdl_str packed;
    q->path = pdl_str_dup(path);
    q->use = use;
    q->n_st = use->n;
    q->st = PDL_NEW_N(sqlite3_stmt *, use->n);
    bool ok = pdl_packed_find(q->path, &packed)
                  ? load_library(q, err) && open_packed(q, packed, err)
                  : is_database(q, err) && check_beside(q, err) && load_library(q, err) &&
                        open_file(q, err);
    ok = ok && guard(q, err);
    if (ok)
        *out = q;
    else
        pdl_sql_close(q);
    return ok;
}

void pdl_sql_close(sql *q) {
    if (!q) return;
    for (size_t i = 0; i < q->n_st; i++)
        if (q->st[i]) q->api.finalize(q->st[i]);
    if (q->handle) q->api.close(q->handle);
    pdl_library_close(q->library);
    pdl_free(q->st);
    pdl_err_fini(&q->stopped);
    pdl_free(q->path);
    pdl_free(q);
}

void pdl_sql_leave_log(sql *q, bool leave) {
    q->api.db_config(q->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, (int)leave, (int *)NULL);
}

void pdl_sql_use(sql *q, const sql_use *use) { q->use = use; }

pdl_str pdl_sql_path(const sql *q) { return pdl_str_of(q->path); }

bool pdl_sql_was_busy(sql *q) {
    bool busy = q->busy;
    q->busy = false;
    return busy;
}

/* --- without parameters ----------------------------------------------------------------------- */

bool pdl_sql_exec(sql *q, const char *text, pdl_err *err) {
    return q->api.exec(q->handle, text, NULL, NULL, NULL) == SQLITE_OK || failed(q, err);
}

static int first_number(void *user, int n, char **values, char **names) {
    (void)names;
    long *out = user;
    for (int i = 0; i < 1 && i < n; i++)
        for (const char *p = values[i]; p && *p >= '0' && *p <= '9'; p++)
            *out = *out * 10 + (*p - '0');
    return 0;
}

bool pdl_sql_number(sql *q, const char *text, long *out, pdl_err *err) {
    *out = 0;
    return q->api.exec(q->handle, text, first_number, out, NULL) == SQLITE_OK || failed(q, err);
}

struct objects {
    const sql_object *p;
    size_t n, found, strange;
};

/* Compares one row of the schema, which has a name and a text. SQLite's own objects
 * have no text. */
static int compare_object(void *user, int n, char **values, char **names) {
    struct objects *o = user;
    (void)names;
    const char *name = n == 2 ? values[0] : NULL, *text = n == 2 ? values[1] : NULL;
    bool own = name && !text && strncmp(name, "sqlite_autoindex_", 17) == 0, known = false;
    for (size_t i = 0; !own && name && text && i < o->n; i++)
        known = known || (strcmp(o->p[i].name, name) == 0 && strcmp(o->p[i].text, text) == 0);
    o->found += known;
    o->strange += !own && !known;
    return 0;
}

bool pdl_sql_is_empty(sql *q, bool *empty, pdl_err *err) {
    long id = 0, tables = 0;
    bool ok = pdl_sql_number(q, "PRAGMA application_id", &id, err) &&
              pdl_sql_number(q, "SELECT count(*) FROM sqlite_master", &tables, err);
    *empty = ok && id == 0 && tables == 0;
    return ok;
}

bool pdl_sql_is_ours(sql *q, const sql_object *objects, size_t n, bool *ours, pdl_err *err) {
    struct objects o = {.p = objects, .n = n};
    if (q->api.exec(q->handle, "SELECT name, sql FROM sqlite_master", compare_object, &o, NULL) !=
        SQLITE_OK)
        return failed(q, err);
    *ours = o.found == n && !o.strange;
    return true;
}

static int first_text_is_ok(void *user, int n, char **values, char **names) {
    (void)names;
    *(bool *)user = n > 0 && values[0] && strcmp(values[0], "ok") == 0;
    return 0;
}

bool pdl_sql_check(sql *q, bool *sound, pdl_err *err) {
    enum { CHECKED_SIZE = 16 << 20 };
    struct stat st = {0};
    *sound = true;
    if (stat(q->path, &st) != 0 || st.st_size > CHECKED_SIZE) return true;
    return q->api.exec(q->handle, "PRAGMA quick_check(1)", first_text_is_ok, sound, NULL) ==
               SQLITE_OK ||
           failed(q, err);
}

/* --- prepared statements ---------------------------------------------------------------------- */

static bool bind(sql *q, sqlite3_stmt *st, int i, const sql_arg *a, pdl_err *err) {
    int rc = SQLITE_OK;
    if (a->type == SQL_INT)
        rc = q->api.bind_int64(st, i, a->i);
    else if (a->type == SQL_NUM)
        rc = q->api.bind_double(st, i, a->d);
    else if (!a->s.p)
        rc = q->api.bind_null(st, i);
    else if (a->s.n > INT32_MAX)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "a text of %zu bytes is too long to be stored in %s", a->s.n, q->path);
    else
        rc = q->api.bind_text(st, i, a->s.p, (int)a->s.n, SQLITE_STATIC);
    return rc == SQLITE_OK || failed(q, err);
}

static bool prepare(sql *q, size_t i, pdl_err *err) {
    return q->st[i] ||
           q->api.prepare_v2(q->handle, q->use->statements[i], -1, &q->st[i], NULL) == SQLITE_OK ||
           failed(q, err);
}

bool pdl_sql_run(sql *q, size_t i, const sql_arg *args, size_t n, sql_rows rows, pdl_err *err) {
    sqlite3_stmt **st = &q->st[i];
    if (!prepare(q, i, err)) return false;
    for (size_t k = 0; k < n; k++)
        if (!bind(q, *st, (int)k + 1, &args[k], err)) return false;
    bool ok = true, more = true;
    q->bad_text = false;
    while (ok && more) {
        int rc = q->api.step(*st);
        more = rc == SQLITE_ROW && (!rows.fn || rows.fn(rows.user, q, *st));
        ok = rc == SQLITE_ROW || rc == SQLITE_DONE || failed(q, err);
    }
    if (ok && q->bad_text && !err->kind) /* fn may have set an error */
        ok = pdl_err_set(err, q->use->kind, (pdl_loc){0}, "%s%s%s: a text in it is not UTF-8",
                         q->use->before, q->path, q->use->after);
    q->api.reset(*st);
    return ok;
}

bool pdl_sql_stay(sql *q, size_t i, pdl_err *err) {
    if (!prepare(q, i, err)) return false;
    if (q->api.step(q->st[i]) == SQLITE_ROW) return true;
    (void)failed(q, err);
    q->api.reset(q->st[i]);
    return false;
}

void pdl_sql_stop(sql *q, size_t i) {
    if (q->st[i]) q->api.reset(q->st[i]);
}

pdl_str pdl_sql_bytes(sql *q, sql_row *row, int i) {
    const unsigned char *p = q->api.column_text(row, i);
    return (pdl_str){(const char *)p, p ? (size_t)q->api.column_bytes(row, i) : 0};
}

pdl_str pdl_sql_text(sql *q, sql_row *row, int i) {
    pdl_str s = pdl_sql_bytes(q, row, i);
    bool bad = pdl_utf8_check(s) != PDL_NOT_FOUND;
    q->bad_text = q->bad_text || bad;
    return bad ? PDL_STR("") : s;
}

int64_t pdl_sql_int(sql *q, sql_row *row, int i) { return q->api.column_int64(row, i); }
double pdl_sql_num(sql *q, sql_row *row, int i) { return q->api.column_double(row, i); }
int pdl_sql_count(sql *q, sql_row *row) { return q->api.column_count(row); }
sql_kind pdl_sql_kind(sql *q, sql_row *row, int i) { return (sql_kind)q->api.column_type(row, i); }

bool pdl_sql_names(sql *q, size_t i, void (*fn)(void *user, pdl_str name), void *user,
                   pdl_err *err) {
    if (!prepare(q, i, err)) return false;
    for (int k = 0; k < q->api.column_count(q->st[i]); k++) {
        pdl_str name = pdl_str_of(q->api.column_name(q->st[i], k));
        fn(user, pdl_utf8_check(name) == PDL_NOT_FOUND ? name : PDL_STR(""));
    }
    return true;
}

int64_t pdl_sql_last_id(sql *q) { return q->api.last_insert_rowid(q->handle); }
int64_t pdl_sql_changes(sql *q) { return q->api.changes(q->handle); }
