/* store.h -- the file of a durable run: its tables (schema 2). A batch uses the same tables.
 *
 * Rows are written inside a transaction that the first write begins; pdl_store_commit ends the
 * transaction. With `sync`, everything that was written so far is then on the disk.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_STORE_H
#define PDL_JOURNAL_STORE_H

#include "base/buf.h"
#include "base/err.h"

typedef struct pdl_store pdl_store;

/* Makes a new file with empty tables. full: each sync waits until the disk has the data. note: gets
 * a text for the user about the place of the file, or stays empty. Errors: usage when the file
 * exists, io. */
PDL_MUST bool pdl_store_create(pdl_str path, bool full, pdl_store **out, pdl_buf *note,
                               pdl_err *err);
/* Opens an existing file. writes: the caller will add rows. full: as for pdl_store_create. Errors:
 * io, replay (not a journal, damaged, of another version). */
PDL_MUST bool pdl_store_open(pdl_str path, bool writes, bool full, pdl_store **out, pdl_err *err);
/* Holds one read lock until the file is closed. So all statements see the file as it is now, and no
 * statement takes a separate lock. May be called only for a file that was opened for reading. */
PDL_MUST bool pdl_store_hold(pdl_store *s, pdl_err *err);
/* Returns true when the file begins like a journal of this schema. Returns false when the file
 * cannot be read. */
bool pdl_store_is(pdl_str path);
/* Returns true for a journal of this schema or a recording of schema 1. */
bool pdl_store_is_ours(pdl_str path);
/* Returns true when a log of SQLite is beside the file. */
bool pdl_store_has_log(pdl_str path);
/* Returns true for a file in which no run was begun: it is empty, or has only tables. */
bool pdl_store_is_unbegun(pdl_str path);
/* Commits and closes. whole: the log is copied into the file, so that one file is left. s may be
 * NULL. */
void pdl_store_close(pdl_store *s, bool whole);
pdl_str pdl_store_path(const pdl_store *s);

/* Announces whether the next transaction will be synced. Without the announcement, a change of the
 * level costs an extra commit. */
void pdl_store_expect(pdl_store *s, bool sync);
PDL_MUST bool pdl_store_commit(pdl_store *s, bool sync, pdl_err *err);
/* Forgets what was written since the last commit. */
void pdl_store_roll_back(pdl_store *s);
/* Returns true when a crash of the system would lose rows, because they are not synced. */
bool pdl_store_is_dirty(const pdl_store *s);
size_t pdl_store_pending(const pdl_store *s); /* number of writes since the last commit */
/* Copies all rows into a new file. Error: usage when it exists, io. */
PDL_MUST bool pdl_store_copy(pdl_store *s, pdl_str path, pdl_err *err);

/* --- facts about the run ---------------------------------------------------------------------- */

/* Appends the fact with this key, or nothing when the file has none. */
PDL_MUST bool pdl_store_get(pdl_store *s, const char *key, pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_store_put(pdl_store *s, const char *key, pdl_str value, pdl_err *err);

/* --- effects ---------------------------------------------------------------------------------- */

typedef enum { STORE_OPEN, STORE_DONE, STORE_CANCELLED, STORE_REFUSED } store_state;

/* A text whose pointer is NULL is null in the table. */
typedef struct store_effect {
    int64_t id;
    /* number of the run in a file with several runs; 0 in a file with one run */
    int64_t run;
    int64_t key; /* hash of these columns: place, seq, kind, hash */
    /* hash of `kind`, `hash` and the place of the parent block without its numbers in sequences */
    int64_t parent_key;
    pdl_str place, kind, hash, request;
    uint32_t seq;
    int64_t messages;   /* last node of the list of messages; 0 when there is none */
    double start, end;  /* seconds since the epoch */
    double begin_clock; /* how many seconds the run had been in progress when the effect began */
    double end_clock;
    store_state state;
    int64_t attempt; /* number of answers with any status to requests of this effect */
    bool again;      /* the program allows a second execution of the effect */
    pdl_str pieces, reply, error;
    int64_t tokens;
    double cost;
} store_effect;

/* Writes the row. A row whose state is not OPEN is written whole. *id: the id of the new row. */
PDL_MUST bool pdl_store_begin(pdl_store *s, const store_effect *e, int64_t *id, pdl_err *err);
/* Writes `end`, and the members from end_clock on except `again`, to the row e->id. */
PDL_MUST bool pdl_store_end(pdl_store *s, const store_effect *e, pdl_err *err);
PDL_MUST bool pdl_store_attempt(pdl_store *s, int64_t effect, int64_t number, double at, int status,
                                pdl_err *err);

typedef enum {
    STORE_BY_KEY,
    STORE_BY_PARENT,
    STORE_BY_STATE,
    STORE_BY_ID,
    STORE_BY_ERROR, /* all rows that have an error */
    STORE_ALL,      /* all rows with an id above x */
    STORE_BRIEF /* STORE_ALL, but only id, run, key, parent_key, place, seq, kind, hash, state */
} store_by;
/* Receives rows in the order in which they began, until it returns false. In the searches, x is a
 * key, a parent_key, a state or an id. */
typedef bool store_fn(void *user, const store_effect *e);
PDL_MUST bool pdl_store_each(pdl_store *s, store_by by, int64_t x, store_fn *fn, void *user,
                             pdl_err *err);

/* Changes the place of the row to e->place and e->seq, and sets its key and parent_key. */
PDL_MUST bool pdl_store_move(pdl_store *s, const store_effect *e, pdl_err *err);
/* Sets *id to the number of the last row; 0 when there is none. */
PDL_MUST bool pdl_store_last(pdl_store *s, int64_t *id, pdl_err *err);

/* Removes this effect and all effects that began later. */
PDL_MUST bool pdl_store_drop_from(pdl_store *s, int64_t id, pdl_err *err);

/* The number of answered model calls, their tokens and cost. */
typedef struct store_sums {
    int64_t calls, tokens, effects;
    double cost;
} store_sums;
PDL_MUST bool pdl_store_sums(pdl_store *s, store_sums *out, pdl_err *err);

/* --- runs of a server ------------------------------------------------------------------------- */

typedef enum { STORE_RUN_OPEN, STORE_RUN_ENDED, STORE_RUN_FAILED } store_run_state;

typedef struct store_run {
    int64_t id; /* 0 when the key is unknown */
    store_run_state state;
    double start, end;
    pdl_buf body, answer; /* owned */
    bool is_damaged;      /* the stored answer differs from what was written */
} store_run;
PDL_MUST bool pdl_store_find_run(pdl_store *s, pdl_str key, store_run *out, pdl_err *err);
PDL_MUST bool pdl_store_begin_run(pdl_store *s, pdl_str key, pdl_str body, double start,
                                  int64_t *id, pdl_err *err);
PDL_MUST bool pdl_store_end_run(pdl_store *s, int64_t id, store_run_state state, double end,
                                pdl_str answer, pdl_err *err);
/* Removes runs that ended before this time, with their effects and the messages that no other run
 * uses. */
PDL_MUST bool pdl_store_prune_runs(pdl_store *s, double before, pdl_err *err);
/* Notes that rows were added since keys were searched, so that the keys are read again. */
void pdl_store_forget_keys(pdl_store *s);

/* --- messages: nodes of a tree whose paths are lists of messages ------------------------------ */

/* Finds the node with this hash, or makes it. up: the node of the message before this one. *id is 0
 * when the node does not exist and nothing may be written. */
PDL_MUST bool pdl_store_message(pdl_store *s, int64_t up, pdl_str hash, pdl_str text, int64_t *id,
                                pdl_err *err);
/* Appends the list that ends at the node as JSON, first message first. */
PDL_MUST bool pdl_store_messages(pdl_store *s, int64_t id, pdl_buf *out, pdl_err *err);

/* --- files that the program writes ------------------------------------------------------------ */

typedef struct store_file {
    pdl_str path; /* relative to the working folder */
    bool existed; /* the file existed before the first write */
    /* before: length before the first write; size: length that was acknowledged; in bytes */
    int64_t before, size;
    /* changed: time of the change that the last write made, in ns; 0 before the first write */
    int64_t device, inode, changed;
} store_file;
PDL_MUST bool pdl_store_put_file(pdl_store *s, const store_file *f, pdl_err *err);
PDL_MUST bool pdl_store_each_file(pdl_store *s, bool (*fn)(void *user, const store_file *f),
                                  void *user, pdl_err *err);

/* Writes every text of the file again, so that nothing of the old texts remains. */
PDL_MUST bool pdl_store_rewrite(pdl_store *s, void (*fn)(void *user, pdl_str text, pdl_buf *out),
                                void *user, pdl_err *err);

/* --- decisions: of policies, and of the user who resumes a run ------------------------------- */

PDL_MUST bool pdl_store_decide(pdl_store *s, double at, pdl_str place, pdl_str text, pdl_err *err);

/* --- runs of one file: the rows of a batch ---------------------------------------------------- */

typedef struct store_row {
    int64_t number; /* number of the row in the data of the batch, from 1 */
    pdl_str hash;   /* hash of the request */
    bool failed;
    double start, end;
    pdl_str facts;  /* JSON: further facts beside the answer */
    pdl_str answer; /* JSON: the row for the output */
} store_row;
/* Writes the row, in place of an earlier row with this number. */
PDL_MUST bool pdl_store_put_row(pdl_store *s, const store_row *r, pdl_err *err);
typedef bool store_row_fn(void *user, const store_row *r);
/* Calls fn with the row of this number, if there is one. */
PDL_MUST bool pdl_store_find_row(pdl_store *s, int64_t number, store_row_fn *fn, void *user,
                                 pdl_err *err);
/* Calls fn for the rows with numbers above `after`, in their order, until fn returns false. */
PDL_MUST bool pdl_store_each_row(pdl_store *s, int64_t after, store_row_fn *fn, void *user,
                                 pdl_err *err);
PDL_MUST bool pdl_store_forget_failed(pdl_store *s, pdl_err *err);
PDL_MUST bool pdl_store_forget_row(pdl_store *s, int64_t number, pdl_err *err);
/* Removes the facts whose keys begin with this text. */
PDL_MUST bool pdl_store_forget_facts(pdl_store *s, pdl_str beginning, pdl_err *err);

#endif
