/* recording_file.c -- writes and reads the rows of a recording; see recording_file.h. The rollback
 * journal of SQLite keeps the file valid when the process is killed. Nothing is synced to the disk:
 * a recording need not outlive a power cut.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/recording_file.h"

#include <assert.h>
#include <string.h>

#include "sqlite/checksum.h"
#include "sqlite/sql.h"

#include "base/banned.h"

enum {
    APPLICATION_ID = 0x50444C4A, /* the bytes "PDLJ" */
    SCHEMA_VERSION = 1,
};

#define RUN "CREATE TABLE run(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID"
#define EFFECTS                                                                                    \
    "CREATE TABLE effects(id INTEGER PRIMARY KEY, key INTEGER NOT NULL, place TEXT NOT NULL, seq " \
    "INTEGER "                                                                                     \
    "NOT NULL, kind TEXT NOT NULL, hash TEXT NOT NULL, request TEXT NOT NULL, start REAL, "        \
    "seconds REAL, "                                                                               \
    "pieces TEXT, reply TEXT, error TEXT)"
#define EFFECTS_KEY "CREATE INDEX effects_key ON effects(key)"
#define BLOCKS                                                                                     \
    "CREATE TABLE blocks(id INTEGER PRIMARY KEY, place TEXT NOT NULL, kind TEXT NOT NULL, start "  \
    "INTEGER, "                                                                                    \
    "end INTEGER, failed INTEGER)"

/* All objects that a recording has; a file with any other object is not a recording. */
static const sql_object objects[] = {
    {"run", RUN}, {"effects", EFFECTS}, {"effects_key", EFFECTS_KEY}, {"blocks", BLOCKS}};

static const char begin[] = "PRAGMA page_size = 8192;"
                            "PRAGMA journal_mode = TRUNCATE;"
                            "PRAGMA synchronous = OFF;"
                            "BEGIN IMMEDIATE;";

static const char schema[] =
    "PRAGMA application_id = 1346653258;"
    "PRAGMA user_version = 1;" RUN ";" EFFECTS ";" EFFECTS_KEY ";" BLOCKS ";";

#define COLUMNS "id, key, place, seq, kind, hash, request, start, seconds, pieces, reply, error"

/* The statements, which are prepared once. */
typedef enum {
    ST_BEGIN,
    ST_COMMIT,
    ST_INFO,
    ST_GET_INFO,
    ST_START,
    ST_END,
    ST_BLOCK,
    ST_FIND,
    ST_ALL,
    ST_BLOCKS,
    ST_ROWS,
    ST_REWRITE,
    ST_COUNT
} statement;
static const char *const texts[] = {
    [ST_BEGIN] = "BEGIN",
    [ST_COMMIT] = "COMMIT",
    [ST_INFO] = "INSERT OR REPLACE INTO run VALUES(?, ?)",
    [ST_GET_INFO] = "SELECT value FROM run WHERE key = ?",
    [ST_START] = "INSERT INTO effects(key, place, seq, kind, hash, request, start) VALUES(?, ?, ?, "
                 "?, ?, ?, ?)",
    [ST_END] = "UPDATE effects SET seconds = ?, pieces = ?, reply = ?, error = ? WHERE id = ?",
    [ST_BLOCK] = "INSERT INTO blocks(place, kind, start, end, failed) VALUES(?, ?, ?, ?, ?)",
    [ST_FIND] =
        "SELECT " COLUMNS
        " FROM effects WHERE key = ? AND (reply IS NOT NULL OR error IS NOT NULL) ORDER BY id",
    [ST_ALL] =
        "SELECT " COLUMNS " FROM effects WHERE reply IS NOT NULL OR error IS NOT NULL ORDER BY id",
    [ST_ROWS] = "SELECT " COLUMNS " FROM effects ORDER BY id",
    [ST_REWRITE] = "UPDATE effects SET request = ?, pieces = ?, reply = ?, error = ? WHERE id = ?",
    [ST_BLOCKS] = "SELECT place, start, end FROM blocks ORDER BY start, id",
};
static_assert(sizeof texts / sizeof *texts == ST_COUNT, "a text for each statement");

static const sql_use writing = {PDL_E_io, "cannot write ", "", texts, ST_COUNT};
static const sql_use reading = {PDL_E_replay, "replay: ", " cannot be read", texts, ST_COUNT};

struct db {
    sql *q;
    bool in_transaction, replays;
    size_t pending;
};

/* --- opening ---------------------------------------------------------------------------------- */

#define NEEDS_NEW "a recording needs a new file"

static bool is_new(db *d, pdl_err *err) {
    bool empty;
    pdl_str path = pdl_sql_path(d->q);
    if (!pdl_sql_is_empty(d->q, &empty, err)) return false;
    return empty || pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s exists already: " NEEDS_NEW,
                                PDL_FMT(path));
}

/* Makes the file. The transaction stays open for the first rows: a process that is killed before
 * them leaves an empty file, which pdl_sql_make treats as new. A process that had to wait for
 * another one may then find a complete recording, so it checks again. */
bool pdl_journal_db_create(pdl_str path, db **out, pdl_err *err) {
    db *d = PDL_NEW(db);
    bool ok = pdl_sql_make(path, NEEDS_NEW, err) && pdl_sql_open(path, &writing, &d->q, err) &&
              is_new(d, err) && pdl_sql_exec(d->q, begin, err) && is_new(d, err) &&
              pdl_sql_exec(d->q, schema, err);
    d->in_transaction = ok;
    if (ok)
        *out = d;
    else
        pdl_journal_db_close(d);
    return ok;
}

static bool check_file(db *d, pdl_err *err) {
    long id = 0, version = 0;
    bool sound, ours;
    pdl_str path = pdl_sql_path(d->q);
    if (!pdl_sql_number(d->q, "PRAGMA application_id", &id, err) ||
        !pdl_sql_number(d->q, "PRAGMA user_version", &version, err))
        return false;
    if (id != APPLICATION_ID)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "replay: %s is not a recording", path.p);
    if (version != SCHEMA_VERSION)
        return pdl_err_set(
            err, PDL_E_replay, (pdl_loc){0},
            "replay: %s was recorded by another version (format %ld, this one reads %d)", path.p,
            version, (int)SCHEMA_VERSION);
    if (!pdl_sql_is_ours(d->q, objects, sizeof objects / sizeof *objects, &ours, err)) return false;
    if (!ours)
        return pdl_err_set(err, PDL_E_replay, (pdl_loc){0},
                           "replay: %s holds other tables than a recording has", path.p);
    if (!pdl_sql_check(d->q, &sound, err)) return false;
    return sound || pdl_err_set(err, PDL_E_replay, (pdl_loc){0}, "replay: %s is damaged", path.p);
}

bool pdl_journal_db_open(pdl_str path, db **out, pdl_err *err) {
    db *d = PDL_NEW(db);
    d->replays = true;
    bool ok = pdl_sql_open(path, &reading, &d->q, err) && check_file(d, err);
    if (ok)
        *out = d;
    else
        pdl_journal_db_close(d);
    return ok;
}

void pdl_journal_db_forget(db *d) {
    pdl_err ignored = {0};
    if (!d->in_transaction) return;
    d->in_transaction = false;
    if (!pdl_sql_exec(d->q, "ROLLBACK", &ignored)) pdl_err_fini(&ignored);
}

void pdl_journal_db_close(db *d) {
    if (!d) return;
    pdl_err ignored = {0};
    bool one_file = d->q && pdl_journal_db_commit(d, &ignored) && !d->replays &&
                    pdl_sql_exec(d->q, "PRAGMA journal_mode = DELETE", &ignored);
    (void)one_file; /* on failure the log stays beside the file, for the next reader */
    pdl_err_fini(&ignored);
    pdl_sql_close(d->q);
    pdl_free(d);
}

pdl_str pdl_journal_db_path(const db *d) { return pdl_sql_path(d->q); }
size_t pdl_journal_db_pending(const db *d) { return d->pending; }

/* --- writing ---------------------------------------------------------------------------------- */

/* Runs a statement inside the transaction, which the first statement begins. */
static bool put(db *d, statement s, const sql_arg *args, size_t n, pdl_err *err) {
    assert(s != ST_BEGIN && s != ST_COMMIT && (n == 0 || args));
    d->pending++;
    if (!d->in_transaction)
        d->in_transaction = pdl_sql_run(d->q, ST_BEGIN, NULL, 0, SQL_NO_ROWS, err);
    return d->in_transaction && pdl_sql_run(d->q, s, args, n, SQL_NO_ROWS, err);
}

bool pdl_journal_db_commit(db *d, pdl_err *err) {
    if (!d->in_transaction) return true;
    d->in_transaction = false;
    d->pending = 0;
    return pdl_sql_run(d->q, ST_COMMIT, NULL, 0, SQL_NO_ROWS, err);
}

bool pdl_journal_db_put_info(db *d, const char *key, pdl_str value, pdl_err *err) {
    return put(d, ST_INFO, (sql_arg[]){SQL_S(pdl_str_of(key)), SQL_S(value)}, 2, err);
}

bool pdl_journal_db_begin_effect(db *d, const db_effect *e, int64_t *id, pdl_err *err) {
    sql_arg args[] = {SQL_I(e->key),  SQL_S(e->place),   SQL_I(e->seq),  SQL_S(e->kind),
                      SQL_S(e->hash), SQL_S(e->request), SQL_D(e->start)};
    bool ok = put(d, ST_START, args, sizeof args / sizeof *args, err);
    if (ok) *id = pdl_sql_last_id(d->q);
    return ok;
}

/* Writes the texts of an answer with their checksums. before: the value that the row has in the
 * column before these texts. */
static bool put_answer(db *d, statement s, sql_arg before, const db_effect *e, pdl_err *err) {
    pdl_buf pieces, reply, error;
    sql_arg args[] = {before, SQL_S(pdl_checksum_add(e->pieces, &pieces)),
                      SQL_S(pdl_checksum_add(e->reply, &reply)),
                      SQL_S(pdl_checksum_add(e->error, &error)), SQL_I(e->id)};
    bool ok = put(d, s, args, sizeof args / sizeof *args, err);
    pdl_buf_fini(&pieces);
    pdl_buf_fini(&reply);
    pdl_buf_fini(&error);
    return ok;
}

bool pdl_journal_db_end_effect(db *d, const db_effect *e, pdl_err *err) {
    return put_answer(d, ST_END, SQL_D(e->seconds), e, err);
}

bool pdl_journal_db_put_block(db *d, const db_block *b, pdl_err *err) {
    sql_arg args[] = {SQL_S(b->place), SQL_S(pdl_str_of(b->kind)), SQL_I(b->start), SQL_I(b->end),
                      SQL_I(b->failed)};
    return put(d, ST_BLOCK, args, sizeof args / sizeof *args, err);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct db_each {
    bool (*fn)(void *user, const db_effect *e);
    void *user;
    /* place of the row whose answer differs from what was written, owned; NULL when there is no
     * such row */
    char *damaged;
};

static bool on_row(void *user, sql *q, sql_row *row) {
    struct db_each *x = user;
    db_effect e = {
        .id = pdl_sql_int(q, row, 0),
        .key = pdl_sql_int(q, row, 1),
        .place = pdl_sql_text(q, row, 2),
        .seq = (uint32_t)pdl_sql_int(q, row, 3),
        .kind = pdl_sql_text(q, row, 4),
        .hash = pdl_sql_text(q, row, 5),
        .request = pdl_sql_text(q, row, 6),
        .start = pdl_sql_num(q, row, 7),
        .seconds = pdl_sql_num(q, row, 8),
        .pieces = pdl_sql_text(q, row, 9),
        .reply = pdl_sql_text(q, row, 10),
        .error = pdl_sql_text(q, row, 11),
    };
    if (!pdl_checksum_remove(&e.pieces) || !pdl_checksum_remove(&e.reply) ||
        !pdl_checksum_remove(&e.error)) {
        x->damaged = pdl_str_dup(e.place);
        return false;
    }
    return x->fn(x->user, &e);
}

/* Calls fn for the rows of a statement, and stops at a damaged row. Error: replay. */
static bool each(db *d, statement s, const sql_arg *arg, bool (*fn)(void *, const db_effect *),
                 void *user, pdl_err *err) {
    struct db_each x = {.fn = fn, .user = user};
    bool ok = pdl_sql_run(d->q, s, arg, arg ? 1 : 0, (sql_rows){on_row, &x}, err);
    if (ok && x.damaged)
        ok = pdl_err_set(err, PDL_E_replay, (pdl_loc){0},
                         "replay: %.*s is damaged: the answer of %s is not what was written",
                         PDL_FMT(pdl_sql_path(d->q)), x.damaged);
    pdl_free(x.damaged);
    return ok;
}

bool pdl_journal_db_each(db *d, const int64_t *key, bool (*fn)(void *user, const db_effect *e),
                         void *user, pdl_err *err) {
    sql_arg arg = SQL_I(key ? *key : 0);
    return each(d, key ? ST_FIND : ST_ALL, key ? &arg : NULL, fn, user, err);
}

bool pdl_journal_db_rewrite(db *d, const db_effect *e, pdl_err *err) {
    return put_answer(d, ST_REWRITE, SQL_S(e->request), e, err);
}

bool pdl_journal_db_each_row(db *d, bool (*fn)(void *user, const db_effect *e), void *user,
                             pdl_err *err) {
    return pdl_sql_exec(d->q, "PRAGMA secure_delete = ON", err) &&
           each(d, ST_ROWS, NULL, fn, user, err);
}

static bool on_info(void *user, sql *q, sql_row *row) {
    pdl_buf_put(user, pdl_sql_text(q, row, 0));
    return false;
}

bool pdl_journal_db_get_info(db *d, const char *key, pdl_buf *out, pdl_err *err) {
    return pdl_sql_run(d->q, ST_GET_INFO, (sql_arg[]){SQL_S(pdl_str_of(key))}, 1,
                       (sql_rows){on_info, out}, err);
}

struct each_block {
    bool (*fn)(void *user, pdl_str place, int64_t start, int64_t end);
    void *user;
};

static bool on_block(void *user, sql *q, sql_row *row) {
    struct each_block *x = user;
    return x->fn(x->user, pdl_sql_text(q, row, 0), pdl_sql_int(q, row, 1), pdl_sql_int(q, row, 2));
}

bool pdl_journal_db_each_block(db *d,
                               bool (*fn)(void *user, pdl_str place, int64_t start, int64_t end),
                               void *user, pdl_err *err) {
    return pdl_sql_run(d->q, ST_BLOCKS, NULL, 0,
                       (sql_rows){on_block, &(struct each_block){fn, user}}, err);
}
