/* store_impl.h -- the types that the files store*.c share: the open file, and its keys in memory.
 * Private to these files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_STORE_IMPL_H
#define PDL_JOURNAL_STORE_IMPL_H

#include "base/idmap.h"
#include "base/vec.h"
#include "journal/durable/store/log_space.h"
#include "journal/store.h"
#include "sqlite/sql.h"

/* The statements, whose texts are in store.c. */
typedef enum {
    ST_BEGIN,
    ST_STAY,
    ST_COMMIT,
    ST_PUT,
    ST_GET,
    ST_START,
    ST_END,
    ST_ATTEMPT,
    ST_COUNT_ATTEMPT,
    ST_KEYS,
    ST_BY_STATE,
    ST_BY_ID,
    ST_BY_ERROR,
    ST_ALL,
    ST_BRIEF,
    ST_LAST,
    ST_MOVE,
    ST_ROLL_BACK,
    ST_SUMS,
    ST_HASHES,
    ST_HASH_OF,
    ST_ADD_MESSAGE,
    ST_AT_MESSAGE,
    ST_PUT_FILE,
    ST_FILES,
    ST_TEXTS,
    ST_REWRITE,
    ST_MESSAGE_TEXTS,
    ST_REWRITE_MESSAGE,
    ST_FACTS,
    ST_DECIDE,
    ST_PUT_ROW,
    ST_GET_ROW,
    ST_ROWS,
    ST_FORGET_FAILED,
    ST_FORGET_ROW,
    ST_FORGET_FACTS,
    ST_FIND_RUN,
    ST_BEGIN_RUN,
    ST_END_RUN,
    ST_PRUNE_EFFECTS,
    ST_PRUNE_RUNS,
    ST_PRUNE_MESSAGES,
    ST_DROP_ATTEMPTS,
    ST_DROP_EFFECTS,
    ST_COUNT
} statement;

/* Rows sorted by a number; rows with equal numbers are sorted by their ids. The order is built in
 * memory when it is needed: an index in the file would be written with each effect, and only a
 * resumed run needs it. */
typedef struct row_keys {
    struct keyed_row {
        int64_t x, id;
    } * p;
    size_t n, cap;
} row_keys;

struct pdl_store {
    sql *q;
    bool in_transaction, writes, dirty;
    bool full;      /* a sync waits until the disk has the data */
    int level;      /* value of PRAGMA synchronous: 1 or 2 */
    int next_level; /* the value for the next transaction */
    size_t pending;
    row_keys by_key, by_parent; /* rows that existed at the first search */
    bool has_keys;
    /* The ids of messages by the beginning of their hash. They are read at the first search, and
     * kept in memory for the same reason as row_keys. */
    pdl_idmap by_hash;
    bool has_hashes;
    log_room room;
    bool has_log;     /* SQLite writes ahead to a log */
    unsigned n_stays; /* transactions since the read lock was taken; 0: it is not held */
};

/* Begins a transaction, unless there is one. */
PDL_MUST bool pdl_store_start(pdl_store *s, pdl_err *err);
/* Runs a statement that changes the file, inside a transaction. */
PDL_MUST bool pdl_store_write(pdl_store *s, statement st, const sql_arg *args, size_t n,
                              pdl_err *err);

/* store_messages.c. Called when messages were removed: the hashes are read again. */
void pdl_store_forget_hashes(pdl_store *s);

#endif
