/* recording_file.h -- the tables in the file of a recording (SQLite). Recording and replaying call
 * these functions and see no SQL. Private to journal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_RECORDING_FILE_H
#define PDL_JOURNAL_RECORDING_FILE_H

#include "base/buf.h"
#include "base/err.h"

typedef struct db db;

/* Makes a new file. Errors: usage when it exists, io. */
PDL_MUST bool pdl_journal_db_create(pdl_str path, db **out, pdl_err *err);
/* Opens an existing file. Errors: io, usage when it is not a recording, replay when it is of
 * another version or damaged. */
PDL_MUST bool pdl_journal_db_open(pdl_str path, db **out, pdl_err *err);
/* Rolls the transaction back that is open. */
void pdl_journal_db_forget(db *d);
void pdl_journal_db_close(db *d); /* Commits what is not committed yet; d may be NULL. */
pdl_str pdl_journal_db_path(const db *d);

/* Commits what was written since the last commit; the next write begins a new transaction. */
PDL_MUST bool pdl_journal_db_commit(db *d, pdl_err *err);
size_t pdl_journal_db_pending(const db *d); /* number of writes since the last commit */

/* Appends the value of the key in the file; nothing when the file has no such key. */
PDL_MUST bool pdl_journal_db_get_info(db *d, const char *key, pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_journal_db_put_info(db *d, const char *key, pdl_str value, pdl_err *err);

/* One row. A text whose pointer is NULL is null in the table. */
typedef struct db_effect {
    int64_t id;  /* set by pdl_journal_db_begin_effect */
    int64_t key; /* hash of place, seq, kind and hash */
    pdl_str place, kind, hash, request;
    uint32_t seq;
    double start;
    /* This member and the members below it are written when the effect ends. */
    double seconds;
    pdl_str pieces, reply, error;
} db_effect;

PDL_MUST bool pdl_journal_db_begin_effect(db *d, const db_effect *e, int64_t *id, pdl_err *err);
PDL_MUST bool pdl_journal_db_end_effect(db *d, const db_effect *e, pdl_err *err);
/* A block that ended. */
typedef struct pdl_db_block {
    pdl_str place;
    const char *kind;
    int64_t start, end; /* in nanoseconds */
    bool failed;
} db_block;
PDL_MUST bool pdl_journal_db_put_block(db *d, const db_block *b, pdl_err *err);

/* Calls fn for every row, answered or not. Texts that fn replaces with pdl_journal_db_rewrite do
 * not remain in the file. */
PDL_MUST bool pdl_journal_db_each_row(db *d, bool (*fn)(void *user, const db_effect *e), void *user,
                                      pdl_err *err);
/* Replaces the request, pieces, reply and error of the row with this id. */
PDL_MUST bool pdl_journal_db_rewrite(db *d, const db_effect *e, pdl_err *err);
/* Calls fn for the answered effects with this key (every answered effect when key is NULL) in the
 * order of the recording, until fn returns false. Texts live during the call. */
PDL_MUST bool pdl_journal_db_each(db *d, const int64_t *key,
                                  bool (*fn)(void *user, const db_effect *e), void *user,
                                  pdl_err *err);

/* Calls fn for blocks, in the order in which they began, until fn returns false. */
PDL_MUST bool
pdl_journal_db_each_block(db *d, bool (*fn)(void *user, pdl_str place, int64_t start, int64_t end),
                          void *user, pdl_err *err);

#endif
