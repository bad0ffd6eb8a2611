/* cachefile.c -- reads and writes the rows of a cache; see cachefile.h. In WAL mode readers and one
 * writer work at the same time; a second writer waits a while. Writes are gathered in short
 * transactions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cache/cachefile.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/cancel.h"
#include "sqlite/checksum.h"
#include "sqlite/sql.h"

#include "base/banned.h"

enum {
    APPLICATION_ID = 0x50444C43, /* "PDLC" */
    VERSION = 1,
};

#define REPLIES                                                                                    \
    "replies(key TEXT NOT NULL, number INTEGER NOT NULL, model TEXT, request TEXT NOT NULL,"       \
    " reply TEXT NOT NULL, stored INTEGER, used INTEGER, hits INTEGER NOT NULL, PRIMARY KEY(key, " \
    "number))"
static const sql_object objects[] = {{"replies", "CREATE TABLE " REPLIES}};

/* The statements that make a file. Another process may make the same file at the same time, so it
 * is locked first. */
static const char making[] = "PRAGMA journal_mode = WAL;"
                             "BEGIN IMMEDIATE;"
                             "PRAGMA application_id = 1346653251;"
                             "PRAGMA user_version = 1;"
                             "CREATE TABLE IF NOT EXISTS " REPLIES ";"
                             "COMMIT;";
static const char settings[] = "PRAGMA synchronous = NORMAL;";

typedef enum {
    ST_BEGIN,
    ST_COMMIT,
    ST_FIND,
    ST_USED,
    ST_ADD,
    ST_ALL,
    ST_PRUNE,
    ST_COUNT
} statement;
static const char *const texts[] = {
    [ST_BEGIN] = "BEGIN IMMEDIATE",
    [ST_COMMIT] = "COMMIT",
    [ST_FIND] = "SELECT reply FROM replies WHERE key = ? AND number = ?",
    [ST_USED] = "UPDATE replies SET used = ?, hits = hits + 1 WHERE key = ? AND number = ?",
    [ST_ADD] = "INSERT OR IGNORE INTO replies VALUES(?, ?, ?, ?, ?, ?, ?, 0)",
    [ST_ALL] =
        "SELECT key, number, model, request, reply, stored, used, hits FROM replies ORDER BY rowid",
    [ST_PRUNE] =
        "DELETE FROM replies WHERE (?1 = 0 OR used < ?1) AND (?2 IS NULL OR model GLOB ?2)",
};
static_assert(sizeof texts / sizeof *texts == ST_COUNT, "a text for each statement");
static const sql_use cache_use = {PDL_E_io, "the cache ", " cannot be used", texts, ST_COUNT};

struct cachefile {
    sql *q;
    bool in_transaction;
};

static int64_t now_s(void) { return (int64_t)time(NULL); }

static bool refuse(const cachefile *f, const char *why, pdl_err *err) {
    return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "%s %s", pdl_sql_path(f->q).p, why);
}

#define FLIPPED                                                                                    \
    "is damaged: a reply is not what was written: remove it, its replies will be requested again"

static bool check_file(cachefile *f, pdl_err *err) {
    long id = 0, version = 0;
    bool sound, ours;
    if (!pdl_sql_number(f->q, "PRAGMA application_id", &id, err) ||
        !pdl_sql_number(f->q, "PRAGMA user_version", &version, err))
        return false;
    if (id != APPLICATION_ID)
        return refuse(f, "is not a cache: give the name of a new file, or of one made by --cache",
                      err);
    if (version != VERSION)
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                           "%s was made by another version (format %ld, this one reads %d): give "
                           "the name of a new file",
                           pdl_sql_path(f->q).p, version, VERSION);
    if (!pdl_sql_is_ours(f->q, objects, sizeof objects / sizeof *objects, &ours, err)) return false;
    if (!ours)
        return refuse(
            f, "holds other tables than a cache has: remove it, its replies are requested again",
            err);
    if (!pdl_sql_check(f->q, &sound, err)) return false;
    return sound || refuse(f, "is damaged: remove it, its replies will be requested again", err);
}

/* Checks one consistent state of the file and makes the tables when it is empty. Sets *again when
 * the file was just made or was locked: then it must be checked again. */
static bool check_or_make(cachefile *f, bool *again, pdl_err *err) {
    pdl_err ignored = {0};
    bool empty = false;
    bool ok = pdl_sql_exec(f->q, "BEGIN", err) && pdl_sql_is_empty(f->q, &empty, err) &&
              (empty || check_file(f, err)) && pdl_sql_exec(f->q, "COMMIT", err) &&
              (!empty || pdl_sql_exec(f->q, making, err));
    *again = ok ? empty : pdl_sql_was_busy(f->q);
    if (!ok && !pdl_sql_exec(f->q, "ROLLBACK", &ignored)) pdl_err_fini(&ignored);
    return ok;
}

/* Retries the check, because SQLite does not wait for the lock that the change to WAL needs.
 * Processes that start together with a new file all need this lock at once. */
static bool check_or_make_retrying(cachefile *f, pdl_err *err) {
    enum { WAIT_MS = 10000, PAUSE_MS = 5 };
    for (int64_t end = pdl_sql_now_ms() + WAIT_MS;;) {
        bool again, ok = check_or_make(f, &again, err);
        if (!again || pdl_sql_now_ms() > end) return ok;
        if (ok) continue;
        pdl_err_fini(err);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
        if (!pdl_check_cancel(err)) return false;
    }
}

bool pdl_cachefile_open(pdl_str path, bool make, cachefile **out, pdl_err *err) {
    cachefile *f = PDL_NEW(cachefile);
    bool ok = (!make || pdl_sql_make(path, NULL, err)) &&
              pdl_sql_open(path, &cache_use, &f->q, err) && pdl_sql_exec(f->q, settings, err) &&
              check_or_make_retrying(f, err);
    if (ok)
        *out = f;
    else
        pdl_cachefile_close(f);
    return ok;
}

void pdl_cachefile_close(cachefile *f) {
    if (!f) return;
    pdl_err ignored = {0};
    if (!pdl_cachefile_commit(f, &ignored)) pdl_err_fini(&ignored);
    pdl_sql_close(f->q);
    pdl_free(f);
}

pdl_str pdl_cachefile_path(const cachefile *f) { return pdl_sql_path(f->q); }

static bool begin(cachefile *f, pdl_err *err) {
    if (!f->in_transaction)
        f->in_transaction = pdl_sql_run(f->q, ST_BEGIN, NULL, 0, SQL_NO_ROWS, err);
    return f->in_transaction;
}

bool pdl_cachefile_commit(cachefile *f, pdl_err *err) {
    if (!f->in_transaction) return true;
    f->in_transaction = false;
    return pdl_sql_run(f->q, ST_COMMIT, NULL, 0, SQL_NO_ROWS, err);
}

struct cachefile_found {
    bool found, is_sound;
    pdl_buf *reply;
};

static bool on_found(void *user, sql *q, sql_row *row) {
    struct cachefile_found *x = user;
    pdl_str reply = pdl_sql_text(q, row, 0);
    x->found = true;
    x->is_sound = pdl_checksum_remove(&reply);
    pdl_buf_put(x->reply, reply);
    return false;
}

bool pdl_cachefile_find(cachefile *f, pdl_str key, int64_t number, bool *found, pdl_buf *reply,
                        pdl_err *err) {
    struct cachefile_found x = {.reply = reply};
    if (!pdl_sql_run(f->q, ST_FIND, (sql_arg[]){SQL_S(key), SQL_I(number)}, 2,
                     (sql_rows){on_found, &x}, err))
        return false;
    *found = x.found;
    if (x.found && !x.is_sound) return refuse(f, FLIPPED, err);
    return !x.found ||
           (begin(f, err) &&
            pdl_sql_run(f->q, ST_USED, (sql_arg[]){SQL_I(now_s()), SQL_S(key), SQL_I(number)}, 3,
                        SQL_NO_ROWS, err));
}

bool pdl_cachefile_add(cachefile *f, const pdl_cache_row *row, pdl_err *err) {
    pdl_buf b;
    pdl_str reply = pdl_checksum_add(row->reply, &b);
    sql_arg args[] = {SQL_S(row->key), SQL_I(row->number), SQL_S(row->model), SQL_S(row->request),
                      SQL_S(reply),    SQL_I(now_s()),     SQL_I(now_s())};
    bool ok = begin(f, err) &&
              pdl_sql_run(f->q, ST_ADD, args, sizeof args / sizeof *args, SQL_NO_ROWS, err);
    pdl_buf_fini(&b);
    return ok;
}

struct cachefile_each {
    bool (*fn)(void *user, const pdl_cache_row *row);
    void *user;
    bool is_damaged;
};

static bool on_row(void *user, sql *q, sql_row *row) {
    struct cachefile_each *x = user;
    pdl_cache_row r = {
        .key = pdl_sql_text(q, row, 0),
        .number = pdl_sql_int(q, row, 1),
        .model = pdl_sql_text(q, row, 2),
        .request = pdl_sql_text(q, row, 3),
        .reply = pdl_sql_text(q, row, 4),
        .stored = pdl_sql_int(q, row, 5),
        .used = pdl_sql_int(q, row, 6),
        .hits = pdl_sql_int(q, row, 7),
    };
    x->is_damaged = !pdl_checksum_remove(&r.reply);
    return !x->is_damaged && x->fn(x->user, &r);
}

bool pdl_cachefile_each(cachefile *f, bool (*fn)(void *user, const pdl_cache_row *row), void *user,
                        pdl_err *err) {
    struct cachefile_each x = {.fn = fn, .user = user};
    return pdl_sql_run(f->q, ST_ALL, NULL, 0, (sql_rows){on_row, &x}, err) &&
           (!x.is_damaged || refuse(f, FLIPPED, err));
}

bool pdl_cachefile_prune(cachefile *f, int64_t before, pdl_str model, int64_t *n, pdl_err *err) {
    sql_arg args[] = {SQL_I(before), SQL_S(model.n ? model : (pdl_str){0})};
    if (!pdl_sql_run(f->q, ST_PRUNE, args, 2, SQL_NO_ROWS, err)) return false;
    *n = pdl_sql_changes(f->q);
    return pdl_sql_exec(f->q, "VACUUM", err);
}
