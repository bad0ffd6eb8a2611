/* durable_parts.h -- the parts of a durable run, each with its file: its members, the function that
 * releases it (_end), and the check of its invariants (_ok, for asserts). Private to journal.
 *
 *   `setup`    in run_open.c: the options of the caller.
 *   `file`     in run_open.c: the file of the run, and what the file says about it.
 *   `group`    in server_runs.c: the server of a run, and the runs of a server.
 *   `pending`  in pending.c: effects that the machine waits for.
 *   `match`    in row_match.c: recorded rows, and which effects they have answered.
 *   `rebuild`  in rebuild.c: code that runs again to restore its worker.
 *   `forecast` in forecast.c: the findings of a check.
 *   `progress` in pending.c: how far the run is: the time it has run, its output, its end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_DURABLE_DURABLE_PARTS_H
#define PDL_JOURNAL_DURABLE_DURABLE_PARTS_H

#include "base/idmap.h"
#include "base/vec.h"
#include "journal/durable.h"
#include "journal/durable/secret_references.h"
#include "journal/store.h"
#include "value/val.h"

struct pending_effect;

typedef struct durable_setup {
    pdl_durable_use use;
    pdl_durable_options opt;
    char *dir; /* owned copy of opt.dir without a slash at its end; may be NULL */
} durable_setup;
void pdl_durable_setup_end(durable_setup *s);

typedef struct durable_file {
    pdl_store *store;
    int lock; /* descriptor; -1 without a lock */
    bool full, is_whole, is_new;
    bool replays_only; /* the file is a redacted copy: it can be replayed but not continued */
    pdl_durable_facts facts;
    PDL_VEC(char *) texts; /* texts that the facts point into */
    char was_state[12];    /* state of the run before this process */
    secret_refs keys;
    /* Secrets that the file contains; made when needed. The runs of a server use the register of
     * the server instead. */
    pdl_secrets *secrets;
    char salt[33];
    pdl_err problem; /* the reason why the file can no longer be written */
} durable_file;
/* Releases the part. The store stays open when the run belongs to a server, which shares it. */
void pdl_durable_file_end(durable_file *f);
bool pdl_durable_file_ok(const durable_file *f);

typedef struct durable_group {
    /* the server of this run, which has the file; NULL for a run that has its own file */
    pdl_durable *server;
    /* number of the run in the server's file, from 1; 0 for a run that has its own file */
    int64_t run;
    /* for a run of a server: the first row of this run; earlier rows belong to other runs */
    int64_t first_row;
    bool is_server;
    PDL_VEC(pdl_durable *) members; /* for a server: the open runs */
    /* for a server: paths (owned) of files that were changed after an unfinished write */
    PDL_VEC(char *) changed_files;
    double pruned; /* for a server: the time at which it last removed old runs */
} durable_group;
void pdl_durable_group_end(durable_group *g);
/* Returns true when the invariants hold: a run of a server has a number, and only a server has
 * members. */
bool pdl_durable_group_ok(const durable_group *g);

typedef struct durable_pending {
    pdl_sender sender;
    PDL_VEC(struct pending_effect *) queued; /* sent at the next flush, in order */
    /* answers to deliver; the next one is at answered_head */
    PDL_VEC(struct pending_effect *) answered;
    size_t answered_head;
    /* Actions that an earlier process may have executed at another place. These actions wait until
     * all recorded answers were delivered. */
    PDL_VEC(struct pending_effect *) waiting;
    PDL_VEC(struct pending_effect *) unanswered; /* questions without an answer */
    pdl_idmap open;                              /* every open effect, by its id */
    /* n_open is the number of effects in flight, and n_inputs the number of questions among
     * these */
    uint32_t n_open, n_inputs;
    /* the effect whose answer is being delivered; NULL at other times */
    struct pending_effect *delivered;
    /* the answer by which a service asked for a retry is not synced yet */
    bool is_retry_due;
} durable_pending;
void pdl_durable_pending_end(durable_pending *p);
/* Returns true when the head is within its list, and when at most as many questions as effects are
 * open. */
bool pdl_durable_pending_ok(const durable_pending *p);

/* A list of messages whose rows are known. The next request nearly always extends this list, so
 * only the messages that it adds are searched. */
typedef struct known_list {
    pdl_val list; /* owned; absent when there is none */
    PDL_VEC(struct known_node {
        int64_t id;
        char hash[65];
    })
    nodes;
    uint64_t used;
} known_list;
enum { KNOWN_LISTS = 16 };

/* The user's decision, by --again or --skip, about the action at a place. */
typedef struct run_override {
    char *place; /* "all": every place */
    bool skip, used;
    pdl_val result; /* the result that the user gave with --skip */
} run_override;

/* Differences between the requests of this process and the rows. */
typedef struct durable_found {
    size_t n_reused, n_moved, n_asked, n_replaced, n_left, n_unlisted, n_changed;
    PDL_VEC(char *) notes; /* lines about requests that moved or changed; owned */
    pdl_idmap noted;       /* rows that a note already lists as not reused */
} durable_found;

typedef struct recorded_actions recorded_actions;

typedef struct durable_match {
    pdl_idmap used;            /* rows whose answer an effect has used */
    int64_t last_row;          /* the last row of earlier processes */
    recorded_actions *actions; /* see moved_actions.c; NULL until it is needed */
    known_list lists[KNOWN_LISTS];
    uint64_t n_lists;
    PDL_VEC(run_override) overrides;
    PDL_VEC(char *) open_files; /* paths, owned, of files that earlier processes left open */
    durable_found found;
    bool undecided; /* true with --changed fail, until something is executed */
    /* is_other: the program or its inputs differ from the recorded ones */
    bool is_other, knows_places;
    /* place key -> number of the answered row there; filled when knows_places is set */
    pdl_idmap places;
} durable_match;
void pdl_durable_match_end(durable_match *m);
/* Returns true when the last row has a valid number, and places are only known in a run whose
 * program or inputs changed. */
bool pdl_durable_match_ok(const durable_match *m);

/* Code that runs again to restore its worker; see rebuild.c. */
typedef struct durable_rebuild {
    /* effects that were answered from rows, in their order */
    PDL_VEC(struct pending_effect *) recorded_code;
    PDL_VEC(struct pending_effect *) after_rebuild;
    PDL_VEC(pdl_val) objects; /* results of code that ran again, with objects of the worker */
    PDL_VEC(char *) left;     /* modules in which recorded code left objects; owned */
    size_t next_code;
    bool rebuilding, rebuilt;
} durable_rebuild;
void pdl_durable_rebuild_end(durable_rebuild *r);
/* Returns true when the next code is within the list, and the rebuild is not marked as both running
 * and over. */
bool pdl_durable_rebuild_ok(const durable_rebuild *r);

/* The total time that the run was in progress, over all its processes. */
typedef struct durable_clock {
    uint64_t start_ns, earlier_ns;
    double seen; /* wall-clock time at which the latest delivered row ended */
} durable_clock;

typedef struct durable_output {
    /* bytes of output: printed by all processes, and printed by earlier processes */
    uint64_t printed, printed_before;
    /* number of open effects of which the machine has received pieces */
    uint32_t n_shown;
    bool has_output; /* for a server: output was printed since the last flush */
} durable_output;

/* A request of a checked run that the journal cannot answer. */
typedef struct unanswered_request {
    char *place; /* owned */
    pdl_loc loc;
    pdl_effect_kind kind;
    int64_t place_key, request_key;
    uint64_t at; /* position among all requests of the checked run */
    /* a resume would not make this request: the user gave its result, or the resume stops before
     * it */
    bool dropped;
} unanswered_request;

/* The findings of a check so far; the verdict is computed from them (forecast.c). */
typedef struct durable_forecast {
    PDL_VEC(unanswered_request) unanswered;
    uint64_t n_requests;
    /* branch -> number of the last recorded request in the branch, and in the branches below it */
    pdl_idmap within, below;
    char *waits_at; /* place of the first recorded request without an answer; owned */
    pdl_loc waits_loc;
    pdl_err stop; /* the first reason why the resume would stop */
    char *stop_place;
} durable_forecast;
void pdl_durable_forecast_end(durable_forecast *f);

typedef struct durable_progress {
    durable_clock clock;
    durable_output output;
    bool flushing; /* rows, and then output, are being written */
    bool ends;     /* the process is about to end */
    bool parked;   /* the run has ended because a person has to answer */
} durable_progress;
/* Returns true when a parked run is not flushing and no time is before the epoch. */
bool pdl_durable_progress_ok(const durable_progress *p);

#endif
