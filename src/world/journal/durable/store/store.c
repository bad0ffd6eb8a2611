/* store.c -- opens, writes and reads the file of a durable run; see store.h. With the write-ahead
 * log of SQLite a commit is one append. After a crash the file has a prefix of the commits, because
 * SQLite syncs the log before it copies the log into the file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/os.h"
#include "journal/durable/store/store_impl.h"
#include "sqlite/checksum.h"
#include "sqlite/db_files.h"

#include "base/banned.h"

enum { APPLICATION_ID = 0x50444C4A /* the bytes "PDLJ" */, SCHEMA_VERSION = 2 };

#define RUN "CREATE TABLE run(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID"
#define RUNS                                                                                       \
    "CREATE TABLE runs(id INTEGER PRIMARY KEY, key TEXT NOT NULL, body TEXT NOT NULL, state "      \
    "INTEGER NOT NULL, start REAL, end REAL, answer TEXT)"
#define EFFECTS                                                                                    \
    "CREATE TABLE effects(id INTEGER PRIMARY KEY, run INTEGER NOT NULL, key INTEGER NOT NULL, "    \
    "kin INTEGER NOT NULL, state INTEGER NOT NULL, place TEXT NOT NULL, seq INTEGER NOT NULL, "    \
    "kind TEXT NOT NULL, hash "                                                                    \
    "TEXT NOT NULL, request TEXT NOT NULL, messages INTEGER NOT NULL, start REAL, begin_clock "    \
    "REAL, end REAL, end_clock REAL, attempt INTEGER NOT NULL, again "                             \
    "INTEGER NOT NULL, pieces TEXT, reply TEXT, error TEXT, tokens INTEGER NOT NULL, cost REAL "   \
    "NOT NULL)"
#define ATTEMPTS                                                                                   \
    "CREATE TABLE attempts(effect INTEGER NOT NULL, number INTEGER NOT NULL, at REAL, status "     \
    "INTEGER)"
#define MESSAGES                                                                                   \
    "CREATE TABLE messages(id INTEGER PRIMARY KEY, up INTEGER NOT NULL, hash TEXT NOT NULL, "      \
    "text TEXT NOT NULL)"
#define MESSAGES_HASH "CREATE UNIQUE INDEX messages_hash ON messages(hash)"
#define FILES                                                                                      \
    "CREATE TABLE files(path TEXT PRIMARY KEY, existed INTEGER NOT NULL, before INTEGER NOT "      \
    "NULL, size INTEGER NOT NULL, device INTEGER NOT NULL, inode INTEGER NOT NULL, changed "       \
    "INTEGER NOT NULL) WITHOUT ROWID"
#define DECISIONS                                                                                  \
    "CREATE TABLE decisions(id INTEGER PRIMARY KEY, at REAL, place TEXT NOT NULL, text TEXT NOT "  \
    "NULL)"

/* All objects of the database, and last an index that only older files have. A file with any other
 * object is refused. */
static const sql_object objects[] = {
    {"run", RUN},
    {"runs", RUNS},
    {"effects", EFFECTS},
    {"files", FILES},
    {"attempts", ATTEMPTS},
    {"messages", MESSAGES},
    {"decisions", DECISIONS},
    {"messages_hash", MESSAGES_HASH},
};
enum { N_OBJECTS = sizeof objects / sizeof *objects - 1 };

static bool has_our_objects(sql *q, bool *ours, pdl_err *err) {
    return pdl_sql_is_ours(q, objects, N_OBJECTS, ours, err) &&
           (*ours || pdl_sql_is_ours(q, objects, N_OBJECTS + 1, ours, err));
}

static const char schema[] = "BEGIN IMMEDIATE;"
                             "PRAGMA application_id = 1346653258;"
                             "PRAGMA user_version = 2;" RUN ";" RUNS ";" EFFECTS ";" ATTEMPTS
                             ";" MESSAGES ";" FILES ";" DECISIONS ";"
                             "COMMIT;";

#define COLUMNS                                                                                    \
    "id, key, kin, place, seq, kind, hash, request, messages, start, begin_clock, end, "           \
    "end_clock, state, attempt, again, pieces, reply, error, tokens, cost, run"

static const char *const texts[] = {
    [ST_BEGIN] = "BEGIN IMMEDIATE",
    [ST_STAY] = "SELECT max(id) FROM decisions",
    [ST_COMMIT] = "COMMIT",
    [ST_PUT] = "INSERT OR REPLACE INTO run VALUES(?, ?)",
    [ST_GET] = "SELECT value FROM run WHERE key = ?",
    [ST_START] = "INSERT INTO effects(run, key, kin, place, seq, kind, hash, request, messages, "
                 "start, begin_clock, end, end_clock, state, attempt, again, pieces, reply, "
                 "error, tokens, cost) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                 "?, ?, ?, ?)",
    [ST_END] = "UPDATE effects SET attempt = ?, end = ?, end_clock = ?, state = ?, pieces = ?, "
               "reply = ?, "
               "error = ?, tokens = ?, cost = ? WHERE id = ?",
    [ST_ATTEMPT] = "INSERT INTO attempts(effect, number, at, status) VALUES(?, ?, ?, ?)",
    [ST_COUNT_ATTEMPT] = "UPDATE effects SET attempt = ? WHERE id = ?",
    [ST_KEYS] = "SELECT id, key, kin FROM effects",
    [ST_BY_STATE] = "SELECT " COLUMNS " FROM effects WHERE state = ? ORDER BY id",
    [ST_BY_ID] = "SELECT " COLUMNS " FROM effects WHERE id = ?",
    [ST_BY_ERROR] =
        "SELECT " COLUMNS " FROM effects WHERE error IS NOT NULL AND id > ? ORDER BY id",
    [ST_ALL] = "SELECT " COLUMNS " FROM effects WHERE id > ? ORDER BY id",
    [ST_BRIEF] = "SELECT id, run, key, kin, place, seq, kind, hash, state FROM effects "
                 "WHERE id > ? ORDER BY id",
    [ST_LAST] = "SELECT max(id) FROM effects",
    [ST_MOVE] = "UPDATE effects SET place = ?, seq = ?, key = ?, kin = ? WHERE id = ?",
    [ST_ROLL_BACK] = "ROLLBACK",
    [ST_SUMS] = ("SELECT count(*), coalesce(sum(kind IN ('model', 'embed') AND reply IS NOT NULL), "
                 "0), coalesce(sum(tokens), 0), coalesce(sum(cost), 0.0) FROM effects"),
    [ST_HASHES] = "SELECT id, hash FROM messages",
    [ST_HASH_OF] = "SELECT hash FROM messages WHERE id = ?",
    [ST_ADD_MESSAGE] = "INSERT INTO messages(up, hash, text) VALUES(?, ?, ?)",
    [ST_AT_MESSAGE] = "SELECT up, text FROM messages WHERE id = ?",
    [ST_PUT_FILE] = "INSERT OR REPLACE INTO files VALUES(?, ?, ?, ?, ?, ?, ?)",
    [ST_FILES] = "SELECT path, existed, before, size, device, inode, changed FROM files",
    [ST_TEXTS] = "SELECT id, request, pieces, reply, error FROM effects",
    [ST_REWRITE] = "UPDATE effects SET request = ?, pieces = ?, reply = ?, error = ? WHERE id = ?",
    [ST_MESSAGE_TEXTS] = "SELECT id, text FROM messages",
    [ST_REWRITE_MESSAGE] = "UPDATE messages SET text = ? WHERE id = ?",
    [ST_FACTS] = "SELECT key, value FROM run WHERE key IN ('text', 'inputs', 'options')",
    [ST_DECIDE] = "INSERT INTO decisions(at, place, text) VALUES(?, ?, ?)",
    [ST_PUT_ROW] = "INSERT OR REPLACE INTO runs(id, key, body, state, start, end, answer) "
                   "VALUES(?, ?, ?, ?, ?, ?, ?)",
    [ST_GET_ROW] = "SELECT id, key, body, state, start, end, answer FROM runs WHERE id = ?",
    [ST_ROWS] = "SELECT id, key, body, state, start, end, answer FROM runs WHERE id > ? "
                "ORDER BY id",
    [ST_FORGET_FAILED] = "DELETE FROM runs WHERE state = 2",
    [ST_FORGET_ROW] = "DELETE FROM runs WHERE id = ?",
    [ST_FORGET_FACTS] = "DELETE FROM run WHERE substr(key, 1, length(?1)) = ?1",
    [ST_FIND_RUN] = "SELECT id, state, start, end, body, answer FROM runs WHERE key = ? ORDER BY "
                    "id DESC LIMIT 1",
    [ST_BEGIN_RUN] = "INSERT INTO runs(key, body, state, start) VALUES(?, ?, 0, ?)",
    [ST_END_RUN] = "UPDATE runs SET state = ?, end = ?, answer = ? WHERE id = ?",
    [ST_PRUNE_EFFECTS] = "DELETE FROM effects WHERE run IN (SELECT id FROM runs WHERE end < ?)",
    [ST_PRUNE_RUNS] = "DELETE FROM runs WHERE end < ?",
    [ST_PRUNE_MESSAGES] =
        ("WITH RECURSIVE used(id) AS (SELECT messages FROM effects WHERE messages > 0 UNION SELECT "
         "m.up FROM messages m JOIN used u ON m.id = u.id WHERE m.up > 0) DELETE FROM messages "
         "WHERE id NOT IN used"),
    [ST_DROP_ATTEMPTS] = "DELETE FROM attempts WHERE effect >= ?",
    [ST_DROP_EFFECTS] = "DELETE FROM effects WHERE id >= ?",
};
static_assert(sizeof texts / sizeof *texts == ST_COUNT, "a text for each statement");

static const sql_use writing = {PDL_E_io, "cannot write ", "", texts, ST_COUNT};
static const sql_use reading = {PDL_E_replay, "the journal ", " cannot be read", texts, ST_COUNT};

/* --- opening ---------------------------------------------------------------------------------- */

/* The length of the log, in pages, at which it is copied into the file and written again from its
 * beginning. A sync is cheaper when the log is overwritten than when it grows, so the log is short:
 * four megabytes. */
#define MAX_PAGES "1000"

static bool set_log(pdl_store *s, pdl_buf *note, pdl_err *err) {
    /* the log is shared through memory, which does not work on a network file system */
    const char *far = pdl_os_network_files(pdl_sql_path(s->q).p);
    if (far && note)
        pdl_buf_putf(note, "%.*s is on a network file system (%s): the journal is slower there",
                     PDL_FMT(pdl_sql_path(s->q)), far);
    s->level = 1;
    s->next_level = s->full ? 2 : 1;
    s->has_log = !far;
    return pdl_sql_exec(s->q,
                        far ? "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = NORMAL"
                            : "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA "
                              "wal_autocheckpoint = " MAX_PAGES,
                        err);
}

/* Syncs the folder when `full` is set. When SQLite turns its log on, it makes a rollback journal
 * and removes it. A power cut could undo the removal and keep the log; SQLite would then find the
 * rollback journal and undo everything that was written since. */
static bool sync_folder(const pdl_store *s, pdl_err *err) {
    pdl_str path = pdl_sql_path(s->q);
    size_t slash = pdl_str_rfind(path, PDL_STR("/"));
    if (!s->full) return true;
    char *folder = slash == PDL_NOT_FOUND ? pdl_str_dup(PDL_STR("."))
                                          : pdl_str_dup(pdl_str_sub(path, 0, slash + 1));
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* EINVAL: this file system cannot sync folders */
    bool ok = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
    if (!ok)
        pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot sync the folder %s: %s", folder,
                    strerror(errno));
    if (fd >= 0) close(fd);
    pdl_free(folder);
    return ok;
}

#define NEEDS_NEW "a run needs a new journal"

bool pdl_store_create(pdl_str path, bool full, pdl_store **out, pdl_buf *note, pdl_err *err) {
    pdl_store *s = PDL_NEW(pdl_store);
    bool empty = false;
    s->writes = true;
    s->full = full;
    bool ok = pdl_sql_make(path, NEEDS_NEW, err) && pdl_sql_open(path, &writing, &s->q, err) &&
              pdl_sql_is_empty(s->q, &empty, err);
    if (ok && !empty)
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s exists already: " NEEDS_NEW,
                         PDL_FMT(path));
    ok = ok && pdl_sql_exec(s->q, "PRAGMA page_size = 4096", err) && set_log(s, note, err) &&
         pdl_sql_exec(s->q, schema, err) && sync_folder(s, err);
    if (ok)
        *out = s;
    else
        pdl_store_close(s, false);
    return ok;
}

static bool check_file(pdl_store *s, pdl_err *err) {
    long id = 0, version = 0;
    bool sound, ours;
    pdl_str path = pdl_sql_path(s->q);
    if (!pdl_sql_number(s->q, "PRAGMA application_id", &id, err) ||
        !pdl_sql_number(s->q, "PRAGMA user_version", &version, err))
        return false;
    if (id != APPLICATION_ID)
        return pdl_err_set(err, PDL_E_replay, (pdl_loc){0}, "%s is not a journal", path.p);
    if (version == 1)
        return pdl_err_set(err, PDL_E_replay, (pdl_loc){0},
                           "%s is a recording: --replay answers from it, but it cannot continue; "
                           "pdl --durable makes runs that can",
                           path.p);
    if (version != SCHEMA_VERSION)
        return pdl_err_set(err, PDL_E_replay, (pdl_loc){0},
                           "%s was written by another version (format %ld, this one reads %d)",
                           path.p, version, (int)SCHEMA_VERSION);
    if (!has_our_objects(s->q, &ours, err)) return false;
    if (!ours)
        return pdl_err_set(err, PDL_E_replay, (pdl_loc){0},
                           "%s holds other tables than a journal has", path.p);
    if (!pdl_sql_check(s->q, &sound, err)) return false;
    return sound || pdl_err_set(err, PDL_E_replay, (pdl_loc){0}, "%s is damaged", path.p);
}

bool pdl_store_hold(pdl_store *s, pdl_err *err) { return pdl_sql_exec(s->q, "BEGIN", err); }

bool pdl_store_open(pdl_str path, bool writes, bool full, pdl_store **out, pdl_err *err) {
    pdl_store *s = PDL_NEW(pdl_store);
    s->full = full;
    bool ok = pdl_sql_open(path, &reading, &s->q, err);
    if (ok) pdl_sql_leave_log(s->q, true); /* a refused file is left unchanged */
    ok = ok && pdl_store_hold(s, err) && check_file(s, err) && pdl_sql_exec(s->q, "COMMIT", err);
    if (ok && writes) {
        s->writes = true;
        s->next_level = full ? 2 : 1;
    }
    if (ok)
        *out = s;
    else
        pdl_store_close(s, false);
    return ok;
}

/* Returns true when the file, read together with the log beside it, is a journal. After a kill, the
 * head of the file may exist only in the log. */
static bool is_by_log(pdl_str path) {
    sql *q = NULL;
    pdl_err ignored = {0};
    long id = 0, version = 0;
    bool ok = pdl_sql_open(path, &reading, &q, &ignored) &&
              pdl_sql_number(q, "PRAGMA application_id", &id, &ignored) &&
              pdl_sql_number(q, "PRAGMA user_version", &version, &ignored);
    if (q) pdl_sql_leave_log(q, true);
    pdl_sql_close(q);
    pdl_err_fini(&ignored);
    return ok && id == APPLICATION_ID && version >= SCHEMA_VERSION;
}

bool pdl_store_has_log(pdl_str path) {
    pdl_buf log = PDL_BUF;
    pdl_db_put_name(path, PDL_DB_LOG, &log);
    bool there = access(pdl_buf_z(&log), R_OK) == 0;
    pdl_buf_fini(&log);
    return there;
}

/* Returns true for a journal whose schema has the version `first` or a later one. A journal of a
 * version that is too new counts, because opening it gives the right message. */
static bool is_since(pdl_str path, unsigned char first) {
    unsigned char head[72] = {0};
    char *name = pdl_str_dup(path);
    /* the name may be a pipe without a writer, and opening must not wait for one */
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head) : -1;
    if (fd >= 0) close(fd);
    pdl_free(name);
    static const unsigned char id[] = {'P', 'D', 'L', 'J'};
    const unsigned char version[] = {0, 0, 0, first};
    if (n == (ssize_t)sizeof head && memcmp(head + 68, id, 4) == 0 &&
        memcmp(head + 60, version, 4) >= 0)
        return true;
    return n > 0 && pdl_store_has_log(path) && is_by_log(path);
}

bool pdl_store_is(pdl_str path) { return is_since(path, SCHEMA_VERSION); }
bool pdl_store_is_ours(pdl_str path) { return is_since(path, 1); }

bool pdl_store_is_unbegun(pdl_str path) {
    pdl_store s = {0};
    pdl_err ignored = {0};
    pdl_buf started = PDL_BUF;
    bool empty = false, ours = false;
    bool unbegun = pdl_sql_open(path, &reading, &s.q, &ignored) &&
                   pdl_sql_is_empty(s.q, &empty, &ignored) &&
                   (empty || (has_our_objects(s.q, &ours, &ignored) && ours &&
                              pdl_store_get(&s, "started", &started, &ignored) && !started.len));
    if (s.q) pdl_sql_leave_log(s.q, true); /* reading must not change the file */
    pdl_sql_close(s.q);
    pdl_err_fini(&ignored);
    pdl_buf_fini(&started);
    return unbegun;
}

static bool set_level(pdl_store *s, int level, pdl_err *err) {
    if (s->level == level) return true;
    s->level = level;
    return pdl_sql_exec(
        s->q, level == 2 ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", err);
}

/* Releases the read lock, if it is held. */
static void release_lock(pdl_store *s) {
    pdl_sql_stop(s->q, ST_STAY);
    s->n_stays = 0;
}

/* Copies the log into the file, and removes the log. */
static bool end_log(pdl_store *s, pdl_err *err) {
    release_lock(s);
    return set_level(s, s->full ? 2 : 1, err) &&
           pdl_sql_exec(s->q, "PRAGMA journal_mode = DELETE", err);
}

void pdl_store_close(pdl_store *s, bool whole) {
    if (!s) return;
    pdl_err ignored = {0};
    bool one_file =
        s->q && s->writes && pdl_store_commit(s, whole, &ignored) && whole && end_log(s, &ignored);
    (void)one_file; /* on failure the log stays beside the file, for the next reader */
    pdl_err_fini(&ignored);
    pdl_log_room_fini(&s->room);
    pdl_sql_close(s->q);
    pdl_vec_fini(&s->by_key);
    pdl_vec_fini(&s->by_parent);
    pdl_idmap_fini(&s->by_hash);
    pdl_free(s);
}

pdl_str pdl_store_path(const pdl_store *s) { return pdl_sql_path(s->q); }

/* --- transactions ----------------------------------------------------------------------------- */

/* Begins a transaction, and keeps SQLite's read lock until a later one. Otherwise SQLite would take
 * the lock again for each transaction, with four calls of the system. SQLite copies its log into
 * the file only after a transaction that does not keep the lock, so some transactions do not. */
static bool begin(pdl_store *s, pdl_err *err) {
    enum { MAX_STAYS = 32 };
    pdl_err ignored = {0};
    bool stay = s->has_log && s->n_stays < MAX_STAYS;
    if (!stay) release_lock(s);
    bool ok = pdl_sql_run(s->q, ST_BEGIN, NULL, 0, SQL_NO_ROWS, err);
    if (!ok && s->n_stays && pdl_sql_was_busy(s->q)) {
        /* another process has written since the lock was taken */
        pdl_err_fini(err);
        release_lock(s);
        ok = pdl_sql_run(s->q, ST_BEGIN, NULL, 0, SQL_NO_ROWS, err);
    }
    if (ok && stay && (s->n_stays || pdl_sql_stay(s->q, ST_STAY, &ignored))) s->n_stays++;
    pdl_err_fini(&ignored); /* only speed is lost */
    return ok;
}

/* Begins a transaction. The level of syncing can only be changed outside transactions. */
bool pdl_store_start(pdl_store *s, pdl_err *err) {
    if (s->in_transaction) return true;
    if (!s->level) { /* this is the first write to the opened file */
        pdl_sql_use(s->q, &writing);
        pdl_sql_leave_log(s->q, false);
        if (!set_log(s, NULL, err) || !sync_folder(s, err)) return false;
    }
    s->in_transaction = set_level(s, s->next_level, err) && begin(s, err);
    return s->in_transaction;
}

bool pdl_store_write(pdl_store *s, statement st, const sql_arg *args, size_t n, pdl_err *err) {
    s->pending++;
    s->dirty = true;
    return pdl_store_start(s, err) && pdl_sql_run(s->q, st, args, n, SQL_NO_ROWS, err);
}

void pdl_store_expect(pdl_store *s, bool sync) {
    s->next_level = sync && s->full && !s->room.is_open ? 2 : 1;
}

static bool end(pdl_store *s, pdl_err *err) {
    s->pending = 0;
    if (!s->in_transaction) return true;
    s->in_transaction = false;
    return pdl_sql_run(s->q, ST_COMMIT, NULL, 0, SQL_NO_ROWS, err);
}

/* Commits at level 2, at which SQLite syncs the log with everything that was appended before. */
static bool end_at_level_2(pdl_store *s, pdl_err *err) {
    if (!(s->in_transaction && s->level == 2)) {
        int next = s->next_level;
        s->next_level = 2;
        bool ok = end(s, err) && pdl_store_put(s, "synced", PDL_STR(""), err);
        s->next_level = next;
        if (!ok) return false;
    }
    return end(s, err);
}

/* Commits, and syncs the log with everything that was appended before. */
static bool end_and_sync(pdl_store *s, pdl_err *err) {
    bool done;
    if (!end(s, err)) return false;
    if (!pdl_log_room_sync(&s->room, &done))
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot write %s: %s", pdl_store_path(s).p,
                           strerror(errno));
    return done || end_at_level_2(s, err);
}

bool pdl_store_commit(pdl_store *s, bool sync, pdl_err *err) {
    if (!sync || !s->full || !s->dirty) return end(s, err);
    bool by_us =
        pdl_log_room_open(&s->room, pdl_store_path(s)) && !(s->in_transaction && s->level == 2);
    if (!(by_us ? end_and_sync(s, err) : end_at_level_2(s, err))) return false;
    s->dirty = false;
    return true;
}

void pdl_store_roll_back(pdl_store *s) {
    pdl_err ignored = {0};
    s->pending = 0;
    if (!s->in_transaction) return;
    s->in_transaction = false;
    release_lock(s);
    pdl_store_forget_hashes(s);
    if (!pdl_sql_run(s->q, ST_ROLL_BACK, NULL, 0, SQL_NO_ROWS, &ignored)) pdl_err_fini(&ignored);
}

bool pdl_store_is_dirty(const pdl_store *s) { return s->dirty; }
size_t pdl_store_pending(const pdl_store *s) { return s->pending; }

bool pdl_store_copy(pdl_store *s, pdl_str path, pdl_err *err) {
    if (!pdl_sql_make(path, "an export needs a new file", err)) return false;
    pdl_buf text = PDL_BUF;
    PDL_PUT(&text, "VACUUM INTO '");
    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] == '\'') pdl_buf_putc(&text, '\'');
        pdl_buf_putc(&text, path.p[i]);
    }
    pdl_buf_putc(&text, '\'');
    release_lock(s);
    bool ok = end(s, err) && pdl_sql_exec(s->q, pdl_buf_z(&text), err);
    pdl_buf_fini(&text);
    return ok;
}

/* --- facts ------------------------------------------------------------------------------------ */

static bool on_text(void *user, sql *q, sql_row *row) {
    pdl_buf_put(user, pdl_sql_text(q, row, 0));
    return false;
}

bool pdl_store_get(pdl_store *s, const char *key, pdl_buf *out, pdl_err *err) {
    return pdl_sql_run(s->q, ST_GET, (sql_arg[]){SQL_S(pdl_str_of(key))}, 1,
                       (sql_rows){on_text, out}, err);
}

bool pdl_store_put(pdl_store *s, const char *key, pdl_str value, pdl_err *err) {
    return pdl_store_write(s, ST_PUT, (sql_arg[]){SQL_S(pdl_str_of(key)), SQL_S(value)}, 2, err);
}

/* --- effects ---------------------------------------------------------------------------------- */

/* The texts of an answer, with their checksums. */
typedef struct sealed_texts {
    pdl_buf pieces, reply, error;
} sealed_texts;

static store_effect sealed(const store_effect *e, sealed_texts *t) {
    store_effect out = *e;
    out.pieces = pdl_checksum_add(e->pieces, &t->pieces);
    out.reply = pdl_checksum_add(e->reply, &t->reply);
    out.error = pdl_checksum_add(e->error, &t->error);
    return out;
}

static void sealed_fini(sealed_texts *t) {
    pdl_buf_fini(&t->pieces);
    pdl_buf_fini(&t->reply);
    pdl_buf_fini(&t->error);
}

bool pdl_store_begin(pdl_store *s, const store_effect *e, int64_t *id, pdl_err *err) {
    bool open = e->state == STORE_OPEN;
    sql_arg none = SQL_S(((pdl_str){0}));
    sealed_texts t;
    store_effect x = sealed(e, &t);
    sql_arg args[] = {SQL_I(e->run),
                      SQL_I(e->key),
                      SQL_I(e->parent_key),
                      SQL_S(e->place),
                      SQL_I(e->seq),
                      SQL_S(e->kind),
                      SQL_S(e->hash),
                      SQL_S(e->request),
                      SQL_I(e->messages),
                      SQL_D(e->start),
                      SQL_D(e->begin_clock),
                      open ? none : SQL_D(e->end),
                      open ? none : SQL_D(e->end_clock),
                      SQL_I(e->state),
                      SQL_I(e->attempt),
                      SQL_I(e->again),
                      SQL_S(x.pieces),
                      SQL_S(x.reply),
                      SQL_S(x.error),
                      SQL_I(e->tokens),
                      SQL_D(e->cost)};
    bool ok = pdl_store_write(s, ST_START, args, sizeof args / sizeof *args, err);
    if (ok) *id = pdl_sql_last_id(s->q);
    sealed_fini(&t);
    return ok;
}

bool pdl_store_end(pdl_store *s, const store_effect *e, pdl_err *err) {
    sealed_texts t;
    store_effect x = sealed(e, &t);
    sql_arg args[] = {SQL_I(e->attempt), SQL_D(e->end),  SQL_D(e->end_clock), SQL_I(e->state),
                      SQL_S(x.pieces),   SQL_S(x.reply), SQL_S(x.error),      SQL_I(e->tokens),
                      SQL_D(e->cost),    SQL_I(e->id)};
    bool ok = pdl_store_write(s, ST_END, args, sizeof args / sizeof *args, err);
    sealed_fini(&t);
    return ok;
}

bool pdl_store_move(pdl_store *s, const store_effect *e, pdl_err *err) {
    sql_arg args[] = {SQL_S(e->place), SQL_I(e->seq), SQL_I(e->key), SQL_I(e->parent_key),
                      SQL_I(e->id)};
    return pdl_store_write(s, ST_MOVE, args, sizeof args / sizeof *args, err);
}

bool pdl_store_attempt(pdl_store *s, int64_t effect, int64_t number, double at, int status,
                       pdl_err *err) {
    sql_arg row[] = {SQL_I(effect), SQL_I(number), SQL_D(at), SQL_I(status)},
            count[] = {SQL_I(number + 1), SQL_I(effect)};
    return pdl_store_write(s, ST_ATTEMPT, row, 4, err) &&
           pdl_store_write(s, ST_COUNT_ATTEMPT, count, 2, err);
}

struct each_effect {
    store_fn *fn;
    void *user;
    bool more, damaged;
    pdl_buf place; /* place of the row whose answer is damaged */
};

static bool on_effect(void *user, sql *q, sql_row *row) {
    struct each_effect *x = user;
    store_effect e = {
        .id = pdl_sql_int(q, row, 0),
        .key = pdl_sql_int(q, row, 1),
        .parent_key = pdl_sql_int(q, row, 2),
        .place = pdl_sql_text(q, row, 3),
        .seq = (uint32_t)pdl_sql_int(q, row, 4),
        .kind = pdl_sql_text(q, row, 5),
        .hash = pdl_sql_text(q, row, 6),
        .request = pdl_sql_text(q, row, 7),
        .messages = pdl_sql_int(q, row, 8),
        .start = pdl_sql_num(q, row, 9),
        .begin_clock = pdl_sql_num(q, row, 10),
        .end = pdl_sql_num(q, row, 11),
        .end_clock = pdl_sql_num(q, row, 12),
        .state = (store_state)pdl_sql_int(q, row, 13),
        .attempt = pdl_sql_int(q, row, 14),
        .again = pdl_sql_int(q, row, 15) != 0,
        .pieces = pdl_sql_text(q, row, 16),
        .reply = pdl_sql_text(q, row, 17),
        .error = pdl_sql_text(q, row, 18),
        .tokens = pdl_sql_int(q, row, 19),
        .cost = pdl_sql_num(q, row, 20),
        .run = pdl_sql_int(q, row, 21),
    };
    if (!pdl_checksum_remove(&e.pieces) || !pdl_checksum_remove(&e.reply) ||
        !pdl_checksum_remove(&e.error)) {
        x->damaged = true;
        pdl_buf_put(&x->place, e.place);
        return x->more = false;
    }
    x->more = x->fn(x->user, &e);
    return x->more;
}

static bool on_brief(void *user, sql *q, sql_row *row) {
    struct each_effect *x = user;
    store_effect e = {.id = pdl_sql_int(q, row, 0),
                      .run = pdl_sql_int(q, row, 1),
                      .key = pdl_sql_int(q, row, 2),
                      .parent_key = pdl_sql_int(q, row, 3),
                      .place = pdl_sql_text(q, row, 4),
                      .seq = (uint32_t)pdl_sql_int(q, row, 5),
                      .kind = pdl_sql_text(q, row, 6),
                      .hash = pdl_sql_text(q, row, 7),
                      .state = (store_state)pdl_sql_int(q, row, 8)};
    x->more = x->fn(x->user, &e);
    return x->more;
}

static bool on_keys(void *user, sql *q, sql_row *row) {
    pdl_store *s = user;
    int64_t id = pdl_sql_int(q, row, 0);
    *pdl_vec_push(&s->by_key) = (struct keyed_row){pdl_sql_int(q, row, 1), id};
    *pdl_vec_push(&s->by_parent) = (struct keyed_row){pdl_sql_int(q, row, 2), id};
    return true;
}

static int in_order(const void *a, const void *b) {
    const struct keyed_row *x = a, *y = b;
    if (x->x != y->x) return x->x < y->x ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static bool read_keys(pdl_store *s, pdl_err *err) {
    if (s->has_keys) return true;
    s->has_keys = true;
    if (!pdl_sql_run(s->q, ST_KEYS, NULL, 0, (sql_rows){on_keys, s}, err)) return false;
    if (s->by_key.n) qsort(s->by_key.p, s->by_key.n, sizeof *s->by_key.p, in_order);
    if (s->by_parent.n) qsort(s->by_parent.p, s->by_parent.n, sizeof *s->by_parent.p, in_order);
    return true;
}

/* Returns the index of the first row whose number is not below x. */
static size_t place_of(const row_keys *k, int64_t x) {
    size_t lo = 0;
    PDL_BISECT(lo, k->n, k->p[mid].x < x);
    return lo;
}

static bool each_keyed(pdl_store *s, const row_keys *k, int64_t x, struct each_effect *each,
                       pdl_err *err) {
    each->more = true;
    for (size_t i = place_of(k, x); i < k->n && k->p[i].x == x && each->more; i++) {
        sql_arg id = SQL_I(k->p[i].id);
        if (!pdl_sql_run(s->q, ST_BY_ID, &id, 1, (sql_rows){on_effect, each}, err)) return false;
    }
    return true;
}

bool pdl_store_each(pdl_store *s, store_by by, int64_t x, store_fn *fn, void *user, pdl_err *err) {
    struct each_effect each = {.fn = fn, .user = user, .more = true, .place = PDL_BUF};
    static const statement statements[] = {[STORE_BY_STATE] = ST_BY_STATE,
                                           [STORE_BY_ID] = ST_BY_ID,
                                           [STORE_BY_ERROR] = ST_BY_ERROR,
                                           [STORE_ALL] = ST_ALL,
                                           [STORE_BRIEF] = ST_BRIEF};
    sql_arg arg = SQL_I(x);
    bool ok =
        by == STORE_BY_KEY || by == STORE_BY_PARENT
            ? read_keys(s, err) &&
                  each_keyed(s, by == STORE_BY_KEY ? &s->by_key : &s->by_parent, x, &each, err)
            : pdl_sql_run(s->q, statements[by], &arg, 1,
                          (sql_rows){by == STORE_BRIEF ? on_brief : on_effect, &each}, err);
    if (ok && each.damaged)
        ok = pdl_err_set(err, PDL_E_replay, (pdl_loc){0},
                         "what was answered at %s is not what was written", pdl_buf_z(&each.place));
    pdl_buf_fini(&each.place);
    return ok;
}

static bool on_last(void *user, sql *q, sql_row *row) {
    *(int64_t *)user = pdl_sql_int(q, row, 0);
    return false;
}

bool pdl_store_last(pdl_store *s, int64_t *id, pdl_err *err) {
    *id = 0;
    return pdl_sql_run(s->q, ST_LAST, NULL, 0, (sql_rows){on_last, id}, err);
}

static bool on_sums(void *user, sql *q, sql_row *row) {
    *(store_sums *)user = (store_sums){.effects = pdl_sql_int(q, row, 0),
                                       .calls = pdl_sql_int(q, row, 1),
                                       .tokens = pdl_sql_int(q, row, 2),
                                       .cost = pdl_sql_num(q, row, 3)};
    return false;
}

bool pdl_store_sums(pdl_store *s, store_sums *out, pdl_err *err) {
    return pdl_sql_run(s->q, ST_SUMS, NULL, 0, (sql_rows){on_sums, out}, err);
}

/* --- files and decisions ---------------------------------------------------------------------- */

bool pdl_store_put_file(pdl_store *s, const store_file *f, pdl_err *err) {
    sql_arg args[] = {SQL_S(f->path),   SQL_I(f->existed), SQL_I(f->before), SQL_I(f->size),
                      SQL_I(f->device), SQL_I(f->inode),   SQL_I(f->changed)};
    return pdl_store_write(s, ST_PUT_FILE, args, sizeof args / sizeof *args, err);
}

struct each_file {
    bool (*fn)(void *user, const store_file *f);
    void *user;
};

static bool on_file(void *user, sql *q, sql_row *row) {
    struct each_file *x = user;
    store_file f = {.path = pdl_sql_text(q, row, 0),
                    .existed = pdl_sql_int(q, row, 1) != 0,
                    .before = pdl_sql_int(q, row, 2),
                    .size = pdl_sql_int(q, row, 3),
                    .device = pdl_sql_int(q, row, 4),
                    .inode = pdl_sql_int(q, row, 5),
                    .changed = pdl_sql_int(q, row, 6)};
    return x->fn(x->user, &f);
}

bool pdl_store_each_file(pdl_store *s, bool (*fn)(void *user, const store_file *f), void *user,
                         pdl_err *err) {
    return pdl_sql_run(s->q, ST_FILES, NULL, 0, (sql_rows){on_file, &(struct each_file){fn, user}},
                       err);
}

bool pdl_store_decide(pdl_store *s, double at, pdl_str place, pdl_str text, pdl_err *err) {
    sql_arg args[] = {SQL_D(at), SQL_S(place), SQL_S(text)};
    return pdl_store_write(s, ST_DECIDE, args, 3, err);
}
