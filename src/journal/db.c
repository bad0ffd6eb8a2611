/* db.c -- see db.h. The rollback journal of SQLite keeps the file valid when the process is killed; nothing
 * is synced to the disk, a recording need not survive a power cut. */
#include "journal/db.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

enum {
    APPLICATION_ID = 0x50444C4A, /* "PDLJ" */
    SCHEMA_VERSION = 1,
    CHECKED_SIZE = 16 << 20 /* files up to this size are looked through when they are opened */
};

static const char schema[] =
    "PRAGMA page_size = 8192;"
    "PRAGMA journal_mode = TRUNCATE;"
    "PRAGMA synchronous = OFF;"
    "BEGIN;"
    "PRAGMA application_id = 1346653258;"
    "PRAGMA user_version = 1;"
    "CREATE TABLE run(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
    "CREATE TABLE effects(id INTEGER PRIMARY KEY, key INTEGER NOT NULL, place TEXT NOT NULL, seq INTEGER "
    "NOT NULL, kind TEXT NOT NULL,"
    " hash TEXT NOT NULL, request TEXT NOT NULL, start REAL, seconds REAL, pieces TEXT, reply TEXT, error "
    "TEXT);"
    "CREATE INDEX effects_key ON effects(key);"
    "CREATE TABLE blocks(id INTEGER PRIMARY KEY, place TEXT NOT NULL, kind TEXT NOT NULL, start INTEGER, "
    "end INTEGER, failed INTEGER);"
    "COMMIT;";

#define COLUMNS "id, key, place, seq, kind, hash, request, start, seconds, pieces, reply, error"

/* Statements that are prepared once. */
typedef enum {
    ST_BEGIN, ST_COMMIT, ST_INFO, ST_START, ST_END, ST_BLOCK, ST_FIND, ST_ALL, ST_COUNT
} statement;
static const char *const texts[] = {
    [ST_BEGIN] = "BEGIN",
    [ST_COMMIT] = "COMMIT",
    [ST_INFO] = "INSERT OR REPLACE INTO run VALUES(?, ?)",
    [ST_START] =
        "INSERT INTO effects(key, place, seq, kind, hash, request, start) VALUES(?, ?, ?, ?, ?, ?, ?)",
    [ST_END] = "UPDATE effects SET seconds = ?, pieces = ?, reply = ?, error = ? WHERE id = ?",
    [ST_BLOCK] = "INSERT INTO blocks(place, kind, start, end, failed) VALUES(?, ?, ?, ?, ?)",
    [ST_FIND] = "SELECT " COLUMNS
                " FROM effects WHERE key = ? AND (reply IS NOT NULL OR error IS NOT NULL) ORDER BY id",
    [ST_ALL] = "SELECT " COLUMNS " FROM effects WHERE reply IS NOT NULL OR error IS NOT NULL ORDER BY id",
};
static_assert(sizeof texts / sizeof *texts == ST_COUNT, "a text for each statement");

/* What is used of the library. */
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
    const char *(*errmsg)(sqlite3 *);
    sqlite3_int64 (*last_insert_rowid)(sqlite3 *);
} sqlite_api;

#define ROW(f) {"sqlite3_" #f, offsetof(sqlite_api, f)}
static const struct {
    const char *symbol;
    size_t at;
} symbols[] = {
    ROW(open_v2), ROW(close), ROW(exec), ROW(prepare_v2), ROW(bind_text), ROW(bind_int64), ROW(bind_double),
    ROW(bind_null), ROW(step),
    ROW(reset), ROW(finalize), ROW(column_text), ROW(column_bytes), ROW(column_int64), ROW(column_double),
    ROW(errmsg), ROW(last_insert_rowid),
};

struct db {
    sqlite_api api;
    void *library;
    sqlite3 *handle;
    sqlite3_stmt *st[ST_COUNT];
    char *path; /* owned */
    bool in_transaction, replays;
    size_t pending;
};

/* --- opening -------------------------------------------------------------------------------------------- */

static bool load_library(db *d, pdl_err *err) {
    static const char *const names[] = {"libsqlite3.so.0", "libsqlite3.so", "libsqlite3.dylib"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !d->library; i++)
        d->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!d->library)
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                           "recording and replaying need the library libsqlite3, which cannot be loaded");
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *p = dlsym(d->library, symbols[i].symbol);
        if (!p)
            return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "libsqlite3 is too old: it has no %s",
                               symbols[i].symbol);
        memcpy((char *)&d->api + symbols[i].at, &p, sizeof p);
    }
    return true;
}

/* The last failure of SQLite as an error of ours. */
static bool failed(db *d, pdl_err *err) {
    const char *why = d->handle ? d->api.errmsg(d->handle) : "out of memory";
    if (d->replays)
        return pdl_err_set(err, PDL_E_replay, (pdl_loc){0}, "replay: %s cannot be read: %s", d->path, why);
    return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot write %s: %s", d->path, why);
}

static bool run_text(db *d, const char *sql, pdl_err *err) {
    return d->api.exec(d->handle, sql, NULL, NULL, NULL) == SQLITE_OK || failed(d, err);
}

static db *db_new(pdl_str path) {
    db *d = PDL_NEW(db);
    d->path = pdl_str_dup(path);
    return d;
}

bool db_create(pdl_str path, db **out, pdl_err *err) {
    db *d = db_new(path);
    int fd = open(d->path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    bool ok = fd >= 0;
    if (!ok && errno == EEXIST)
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s exists already: a recording needs a new file",
                    d->path);
    else if (!ok) pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot create %s: %s", d->path, strerror(errno));
    if (fd >= 0) close(fd);
    ok = ok && load_library(d, err);
    if (ok && d->api.open_v2(d->path, &d->handle, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        ok = failed(d, err);
    ok = ok && run_text(d, schema, err);
    if (ok) *out = d;
    else db_close(d);
    return ok;
}

static int first_number(void *user, int n, char **values, char **names) {
    (void)names;
    long *out = user;
    for (int i = 0; i < 1 && i < n; i++)
        for (const char *p = values[i]; p && *p >= '0' && *p <= '9'; p++) *out = *out * 10 + (*p - '0');
    return 0;
}

static int first_text_is_ok(void *user, int n, char **values, char **names) {
    (void)names;
    *(bool *)user = n > 0 && values[0] && strcmp(values[0], "ok") == 0;
    return 0;
}

static bool check_file(db *d, bool small, pdl_err *err) {
    long id = 0, version = 0;
    bool sound = true;
    if (d->api.exec(d->handle, "PRAGMA application_id", first_number, &id, NULL) != SQLITE_OK)
        return failed(d, err);
    if (d->api.exec(d->handle, "PRAGMA user_version", first_number, &version, NULL) != SQLITE_OK)
        return failed(d, err);
    if (id != APPLICATION_ID)
        return pdl_err_set(err, PDL_E_replay, (pdl_loc){0}, "replay: %s is not a recording", d->path);
    if (version != SCHEMA_VERSION)
        return pdl_err_set(err, PDL_E_replay, (pdl_loc){0},
                           "replay: %s was recorded by another version (format %ld, this one reads %d)",
                           d->path, version, (int)SCHEMA_VERSION);
    if (small && d->api.exec(d->handle, "PRAGMA quick_check(1)", first_text_is_ok, &sound, NULL) != SQLITE_OK)
        return failed(d, err);
    return sound || pdl_err_set(err, PDL_E_replay, (pdl_loc){0}, "replay: %s is damaged", d->path);
}

bool db_open(pdl_str path, db **out, pdl_err *err) {
    db *d = db_new(path);
    struct stat st = {0};
    d->replays = true;
    bool ok = stat(d->path, &st) == 0 ||
              pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot open %s: %s", d->path, strerror(errno));
    ok = ok && load_library(d, err);
    if (ok && d->api.open_v2(d->path, &d->handle, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        ok = failed(d, err);
    ok = ok && check_file(d, st.st_size <= CHECKED_SIZE, err);
    if (ok) *out = d;
    else db_close(d);
    return ok;
}

void db_close(db *d) {
    if (!d) return;
    pdl_err ignored = {0};
    bool committed = d->handle && db_commit(d, &ignored);
    /* one file is left */
    if (committed && !d->replays) d->api.exec(d->handle, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    pdl_err_fini(&ignored);
    for (size_t i = 0; i < ST_COUNT; i++)
        if (d->st[i]) d->api.finalize(d->st[i]);
    if (d->handle) d->api.close(d->handle);
    if (d->library) dlclose(d->library);
    pdl_free(d->path);
    pdl_free(d);
}

pdl_str db_path(const db *d) { return pdl_str_of(d->path); }
size_t db_pending(const db *d) { return d->pending; }

/* --- statements ----------------------------------------------------------------------------------------- */

static sqlite3_stmt *prepared(db *d, statement s, pdl_err *err) {
    if (!d->st[s] && d->api.prepare_v2(d->handle, texts[s], -1, &d->st[s], NULL) != SQLITE_OK) failed(d, err);
    return d->st[s];
}

/* Runs a statement that gives no rows, its parameters being bound. */
static bool finish(db *d, sqlite3_stmt *st, pdl_err *err) {
    bool ok = d->api.step(st) == SQLITE_DONE || failed(d, err);
    d->api.reset(st);
    return ok;
}

static bool run(db *d, statement s, pdl_err *err) {
    sqlite3_stmt *st = prepared(d, s, err);
    return st && finish(d, st, err);
}

static bool begin(db *d, pdl_err *err) {
    d->pending++;
    if (d->in_transaction) return true;
    d->in_transaction = run(d, ST_BEGIN, err);
    return d->in_transaction;
}

bool db_commit(db *d, pdl_err *err) {
    if (!d->in_transaction) return true;
    d->in_transaction = false;
    d->pending = 0;
    return run(d, ST_COMMIT, err);
}

/* The text must live until the statement has run. */
static bool bind(db *d, sqlite3_stmt *st, int i, pdl_str s, pdl_err *err) {
    if (!s.p) return d->api.bind_null(st, i) == SQLITE_OK || failed(d, err);
    if (s.n > INT32_MAX)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "a text of %zu bytes is too long to be recorded",
                           s.n);
    return d->api.bind_text(st, i, s.p, (int)s.n, SQLITE_STATIC) == SQLITE_OK || failed(d, err);
}

static bool bind_int(db *d, sqlite3_stmt *st, int i, int64_t v, pdl_err *err) {
    return d->api.bind_int64(st, i, v) == SQLITE_OK || failed(d, err);
}

static bool bind_num(db *d, sqlite3_stmt *st, int i, double v, pdl_err *err) {
    return d->api.bind_double(st, i, v) == SQLITE_OK || failed(d, err);
}

bool db_put_info(db *d, const char *key, pdl_str value, pdl_err *err) {
    sqlite3_stmt *st = prepared(d, ST_INFO, err);
    return st && begin(d, err) && bind(d, st, 1, pdl_str_of(key), err) && bind(d, st, 2, value, err) &&
           finish(d, st, err);
}

bool db_begin_effect(db *d, const db_effect *e, int64_t *id, pdl_err *err) {
    sqlite3_stmt *st = prepared(d, ST_START, err);
    bool ok = st && begin(d, err) && bind_int(d, st, 1, e->key, err) && bind(d, st, 2, e->place, err) &&
              bind_int(d, st, 3, e->seq, err) && bind(d, st, 4, e->kind, err) &&
              bind(d, st, 5, e->hash, err) && bind(d, st, 6, e->request, err) &&
              bind_num(d, st, 7, e->start, err) && finish(d, st, err);
    if (ok) *id = d->api.last_insert_rowid(d->handle);
    return ok;
}

bool db_end_effect(db *d, const db_effect *e, pdl_err *err) {
    sqlite3_stmt *st = prepared(d, ST_END, err);
    return st && begin(d, err) && bind_num(d, st, 1, e->seconds, err) && bind(d, st, 2, e->pieces, err) &&
           bind(d, st, 3, e->reply, err) && bind(d, st, 4, e->error, err) && bind_int(d, st, 5, e->id, err) &&
           finish(d, st, err);
}

bool db_put_block(db *d, pdl_str place, const char *kind, int64_t start, int64_t end, bool is_failed,
                  pdl_err *err) {
    sqlite3_stmt *st = prepared(d, ST_BLOCK, err);
    return st && begin(d, err) && bind(d, st, 1, place, err) && bind(d, st, 2, pdl_str_of(kind), err) &&
           bind_int(d, st, 3, start, err) && bind_int(d, st, 4, end, err) &&
           bind_int(d, st, 5, is_failed, err) && finish(d, st, err);
}

/* --- reading -------------------------------------------------------------------------------------------- */

static pdl_str text_at(db *d, sqlite3_stmt *st, int i) {
    const unsigned char *p = d->api.column_text(st, i);
    return (pdl_str){(const char *)p, p ? (size_t)d->api.column_bytes(st, i) : 0};
}

static db_effect row_of(db *d, sqlite3_stmt *st) {
    return (db_effect){
        .id = d->api.column_int64(st, 0), .key = d->api.column_int64(st, 1), .place = text_at(d, st, 2),
        .seq = (uint32_t)d->api.column_int64(st, 3), .kind = text_at(d, st, 4), .hash = text_at(d, st, 5),
        .request = text_at(d, st, 6), .start = d->api.column_double(st, 7),
        .seconds = d->api.column_double(st, 8), .pieces = text_at(d, st, 9), .reply = text_at(d, st, 10),
        .error = text_at(d, st, 11),
    };
}

bool db_each(db *d, const int64_t *key, bool (*fn)(void *user, const db_effect *e), void *user,
             pdl_err *err) {
    sqlite3_stmt *st = prepared(d, key ? ST_FIND : ST_ALL, err);
    if (!st || (key && !bind_int(d, st, 1, *key, err))) return false;
    bool ok = true;
    for (;;) {
        int rc = d->api.step(st);
        if (rc == SQLITE_ROW) {
            db_effect e = row_of(d, st);
            if (fn(user, &e)) continue;
        } else if (rc != SQLITE_DONE) {
            ok = failed(d, err);
        }
        break;
    }
    d->api.reset(st);
    return ok;
}
