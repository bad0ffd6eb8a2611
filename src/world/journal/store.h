/* store.h -- the file of a durable run: its tables (schema 2), which a batch uses, too.
 *
 * Rows are written inside a transaction that the first write begins; commit ends it, and with
 * `sync` everything so far is on the disk when it returns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_STORE_H
#define PDL_JOURNAL_STORE_H

#include "base/buf.h"
#include "base/err.h"

typedef struct pdl_store pdl_store;

/* Makes a new file with empty tables. note: for the user, about the place of the file; may stay
 * empty. Errors: usage when it exists, io. */
PDL_MUST bool pdl_store_create(pdl_str path, bool full, pdl_store **out, pdl_buf *note,
                               pdl_err *err);
/* Opens an existing file; writes: rows will be added. Errors: io, replay (not a journal, damaged,
 * of another version). */
PDL_MUST bool pdl_store_open(pdl_str path, bool writes, bool full, pdl_store **out, pdl_err *err);
/* Reads the file as it is now until it is closed: one lock in place of one for each statement. For
 * a file that was opened for reading. */
PDL_MUST bool pdl_store_hold(pdl_store *s, pdl_err *err);
/* Returns true when the head of the file is that of this schema. Returns false also when it cannot
 * be read. */
bool pdl_store_is(pdl_str path);
/* Returns true for such a file, and for a recording of schema 1. */
bool pdl_store_is_ours(pdl_str path);
/* Returns true when a log of SQLite is beside it. */
bool pdl_store_has_log(pdl_str path);
/* Returns true for a file whose maker ended before anything was in it. */
bool pdl_store_is_unbegun(pdl_str path);
/* Commits. whole: the log is copied into the file, so that one file is left. s may be NULL. */
void pdl_store_close(pdl_store *s, bool whole);
pdl_str pdl_store_path(const pdl_store *s);

/* Announces that the next transaction will be synced, which saves a commit. */
void pdl_store_expect(pdl_store *s, bool sync);
PDL_MUST bool pdl_store_commit(pdl_store *s, bool sync, pdl_err *err);
/* Forgets what was written since the last commit. */
void pdl_store_roll_back(pdl_store *s);
/* Returns true when a crash of the system would lose rows, because they are not synced. */
bool pdl_store_is_dirty(const pdl_store *s);
size_t pdl_store_pending(const pdl_store *s); /* rows since the last commit */
/* Copies all rows into a new file. Error: usage when it exists, io. */
PDL_MUST bool pdl_store_copy(pdl_store *s, pdl_str path, pdl_err *err);

/* --- facts about the run ---------------------------------------------------------------------- */

/* Appends a fact; empty when there is none. */
PDL_MUST bool pdl_store_get(pdl_store *s, const char *key, pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_store_put(pdl_store *s, const char *key, pdl_str value, pdl_err *err);

/* --- effects ---------------------------------------------------------------------------------- */

typedef enum { STORE_OPEN, STORE_DONE, STORE_CANCELLED, STORE_REFUSED } store_state;

/* Texts with p NULL are null. */
typedef struct store_effect {
    int64_t id;
    int64_t run;        /* number of its run among several in the file; 0: the only one */
    int64_t key;        /* made from place, seq, kind and hash */
    int64_t parent_key; /* made from the parent without its numbers in sequences, kind and hash */
    pdl_str place, kind, hash, request;
    uint32_t seq;
    int64_t messages;   /* the last node of the list; 0 when there is none */
    double start, end;  /* seconds since the epoch */
    double begin_clock; /* the time that the run had run, in seconds */
    double end_clock;
    store_state state;
    int64_t attempt; /* answers of any status to requests of this effect */
    bool again;      /* the block allows it to be repeated */
    pdl_str pieces, reply, error;
    int64_t tokens;
    double cost;
} store_effect;

/* Writes the row, whole when its state is not OPEN; *id is its number. */
PDL_MUST bool pdl_store_begin(pdl_store *s, const store_effect *e, int64_t *id, pdl_err *err);
/* Writes the members from end on, of row e->id. */
PDL_MUST bool pdl_store_end(pdl_store *s, const store_effect *e, pdl_err *err);
PDL_MUST bool pdl_store_attempt(pdl_store *s, int64_t effect, int64_t number, double at, int status,
                                pdl_err *err);

typedef enum {
    STORE_BY_KEY,
    STORE_BY_PARENT,
    STORE_BY_STATE,
    STORE_BY_ID,
    STORE_BY_ERROR, /* all that failed */
    STORE_ALL,      /* all with an id above x */
    STORE_BRIEF /* STORE_ALL, but only id, run, key, parent_key, place, seq, kind, hash, state */
} store_by;
/* Receives rows in the order in which they began, until it returns false. x: key, parent_key,
 * state, id. */
typedef bool store_fn(void *user, const store_effect *e);
PDL_MUST bool pdl_store_each(pdl_store *s, store_by by, int64_t x, store_fn *fn, void *user,
                             pdl_err *err);

/* Moves the row to e->place and e->seq, with this key and parent_key. */
PDL_MUST bool pdl_store_move(pdl_store *s, const store_effect *e, pdl_err *err);
/* Stores the number of the last row; 0 when there is none. */
PDL_MUST bool pdl_store_last(pdl_store *s, int64_t *id, pdl_err *err);

/* Removes this effect and all that began later. */
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
    int64_t id; /* 0 when there is none */
    store_run_state state;
    double start, end;
    pdl_buf body, answer; /* owned */
    bool is_damaged;      /* the answer is not what was written */
} store_run;
PDL_MUST bool pdl_store_find_run(pdl_store *s, pdl_str key, store_run *out, pdl_err *err);
PDL_MUST bool pdl_store_begin_run(pdl_store *s, pdl_str key, pdl_str body, double start,
                                  int64_t *id, pdl_err *err);
PDL_MUST bool pdl_store_end_run(pdl_store *s, int64_t id, store_run_state state, double end,
                                pdl_str answer, pdl_err *err);
/* Removes runs that ended before, with their effects and the messages that no other run has. */
PDL_MUST bool pdl_store_prune_runs(pdl_store *s, double before, pdl_err *err);
/* Notes that rows were added since keys were searched, so that they are read again. */
void pdl_store_forget_keys(pdl_store *s);

/* --- messages: nodes of a tree whose paths are lists of messages ------------------------------ */

/* Finds the node with this hash, or makes it; 0 when nothing may be written. */
PDL_MUST bool pdl_store_message(pdl_store *s, int64_t up, pdl_str hash, pdl_str text, int64_t *id,
                                pdl_err *err);
/* Appends the list that ends at the node as JSON, first message first. */
PDL_MUST bool pdl_store_messages(pdl_store *s, int64_t id, pdl_buf *out, pdl_err *err);

/* --- files that the program writes ------------------------------------------------------------ */

typedef struct store_file {
    pdl_str path;         /* relative to the working folder */
    bool existed;         /* it existed before the first write */
    int64_t before, size; /* bytes before the first write, and acknowledged bytes */
    /* changed: time of the last change after a write, ns; 0 before the first */
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
    int64_t number; /* number of the data row, from 1 */
    pdl_str hash;   /* hash of the request */
    bool failed;
    double start, end;
    pdl_str facts;  /* JSON: further facts beside the answer */
    pdl_str answer; /* JSON: the row of the output */
} store_row;
/* Replaces the row of this number. */
PDL_MUST bool pdl_store_put_row(pdl_store *s, const store_row *r, pdl_err *err);
typedef bool store_row_fn(void *user, const store_row *r);
/* Calls fn with the row of this number, if there is one. */
PDL_MUST bool pdl_store_find_row(pdl_store *s, int64_t number, store_row_fn *fn, void *user,
                                 pdl_err *err);
/* Calls fn for the rows above a number in their order, until it returns false. */
PDL_MUST bool pdl_store_each_row(pdl_store *s, int64_t after, store_row_fn *fn, void *user,
                                 pdl_err *err);
PDL_MUST bool pdl_store_forget_failed(pdl_store *s, pdl_err *err);
PDL_MUST bool pdl_store_forget_row(pdl_store *s, int64_t number, pdl_err *err);
/* Forgets the facts whose keys begin with this text. */
PDL_MUST bool pdl_store_forget_facts(pdl_store *s, pdl_str beginning, pdl_err *err);

#endif
