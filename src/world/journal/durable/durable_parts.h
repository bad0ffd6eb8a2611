/* durable_parts.h -- the parts of a durable run, each with its file: its members, the function that
 * releases it (_end), and the check of its invariants (_ok, for asserts). Private to journal.
 *
 *   setup     run_open.c    the options of the caller
 *   file      run_open.c    the file of the run, and what the file says about it
 *   group     group.c       the server of a run, and the runs of a server
 *   pending   pending.c     effects that the machine waits for
 *   match     row_match.c   recorded rows, and which effects they have answered
 *   rebuild   rebuild.c     code that runs again to restore its worker
 *   progress  pending.c     how far the run is: the time it has run, its output, its end
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_DURABLE_DURABLE_PARTS_H
#define PDL_JOURNAL_DURABLE_DURABLE_PARTS_H

#include "base/idmap.h"
#include "base/vec.h"
#include "journal/durable.h"
#include "journal/durable/keyring.h"
#include "journal/store.h"
#include "value/val.h"

struct pending_effect;

typedef struct durable_setup {
    pdl_durable_use use;
    pdl_durable_options opt;
    char *dir; /* owned copy of opt.dir without a final slash; may be NULL */
} durable_setup;
void pdl_durable_setup_end(durable_setup *s);

typedef struct durable_file {
    pdl_store *store;
    int lock; /* descriptor; -1 without a lock */
    bool full, is_whole, is_new;
    bool replays_only; /* a redacted copy, which cannot continue */
    pdl_durable_facts facts;
    PDL_VEC(char *) texts; /* texts that the facts point into */
    char was_state[12];    /* the state before this process */
    keyring keys;
    /* Secrets in the file; made when needed; those of a server belong to its runs. */
    pdl_secrets *secrets;
    char salt[33];
    pdl_err problem; /* the reason why the file cannot be written any more */
} durable_file;
/* Does not close the store, which a run of a server shares. */
void pdl_durable_file_end(durable_file *f);
bool pdl_durable_file_ok(const durable_file *f);

typedef struct durable_group {
    pdl_durable *server; /* for a run of a server: the server, which has the file; or NULL */
    int64_t run;         /* its number in the server's file, from 1; 0: it is the only one */
    int64_t first_row;   /* for a run of a server: earlier rows belong to other runs */
    bool is_server;
    PDL_VEC(pdl_durable *) members; /* for a server: the open runs */
    PDL_VEC(char *) changed_files;  /* for a server: paths of files that others changed; owned */
    double pruned;                  /* for a server: when old runs were removed */
} durable_group;
void pdl_durable_group_end(durable_group *g);
/* Returns true when a run of a server has a number, and only a server has members. */
bool pdl_durable_group_ok(const durable_group *g);

typedef struct durable_pending {
    pdl_sender sender;
    PDL_VEC(struct pending_effect *) queued;   /* sent at the next flush, in order */
    PDL_VEC(struct pending_effect *) answered; /* answers to deliver, from answered_head on */
    size_t answered_head;
    /* Actions that may have been executed at another place: they wait until everything recorded
     * was delivered. */
    PDL_VEC(struct pending_effect *) waiting;
    PDL_VEC(struct pending_effect *) unanswered; /* questions without an answer */
    pdl_idmap open;                              /* by effect id */
    uint32_t n_open, n_inputs;        /* sent effects without an answer; the questions among them */
    struct pending_effect *delivered; /* its answer is being delivered; or NULL */
    bool is_retry_due;                /* a service has answered, which is not synced yet */
} durable_pending;
void pdl_durable_pending_end(durable_pending *p);
/* Returns true when the head is within the list, and no more questions are open than effects. */
bool pdl_durable_pending_ok(const durable_pending *p);

/* A list of messages whose rows are known: the next request nearly always extends it. */
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

/* A place that --again or --skip names. */
typedef struct run_override {
    char *place; /* "all": any place */
    bool skip, used;
    pdl_val result; /* result that --skip gives */
} run_override;

/* Differences between the requests of this process and the rows. */
typedef struct durable_found {
    size_t n_reused, n_moved, n_asked, n_replaced, n_left, n_unlisted, n_changed;
    PDL_VEC(char *) notes; /* lines about requests that moved or changed; owned */
    pdl_idmap noted;       /* rows whose note says that they were not reused */
} durable_found;

typedef struct recorded_actions recorded_actions;

typedef struct durable_match {
    pdl_idmap used;            /* rows that were used */
    int64_t last_row;          /* the last row of earlier processes */
    recorded_actions *actions; /* moved.c; NULL until it is read */
    known_list lists[KNOWN_LISTS];
    uint64_t n_lists;
    PDL_VEC(run_override) overrides;
    PDL_VEC(char *) open_files; /* paths of files that earlier processes had open; owned */
    durable_found found;
    bool undecided;              /* --changed fail: nothing was executed yet */
    bool is_other, knows_places; /* program or inputs differ from those of the rows */
    pdl_idmap places; /* pdl_durable_place_key -> number of the answered row; see is_other */
} durable_match;
void pdl_durable_match_end(durable_match *m);
/* Returns true when the last row has a valid number, and places are known only to a changed run. */
bool pdl_durable_match_ok(const durable_match *m);

/* Code that runs again to restore its worker: rebuild.c. */
typedef struct durable_rebuild {
    /* effects that were answered from rows, in order */
    PDL_VEC(struct pending_effect *) recorded_code;
    PDL_VEC(struct pending_effect *) after_rebuild;
    PDL_VEC(pdl_val) objects; /* results of code that ran again, with objects of the worker */
    PDL_VEC(char *) left;     /* modules in which recorded code left something; owned */
    size_t next_code;
    bool rebuilding, rebuilt;
} durable_rebuild;
void pdl_durable_rebuild_end(durable_rebuild *r);
/* Returns true when the next code is within the list, and no rebuild is both running and over. */
bool pdl_durable_rebuild_ok(const durable_rebuild *r);

/* The time that the run has run, over all processes. */
typedef struct durable_clock {
    uint64_t start_ns, earlier_ns;
    double seen; /* end of the latest row that was delivered, by the wall clock */
} durable_clock;

typedef struct durable_output {
    uint64_t printed, printed_before; /* bytes of output, by all processes and by earlier ones */
    uint32_t n_shown;                 /* open effects of which the machine got pieces */
    bool has_output;                  /* for a server: output was printed since the last flush */
} durable_output;

/* A request without an answer, in a checked run. */
typedef struct unanswered_request {
    char *place; /* owned */
    pdl_loc loc;
    pdl_effect_kind kind;
    int64_t place_key, request_key;
    uint64_t at; /* its number among all requests */
    bool dropped; /* it would not be made: the user gave its result, or the resume stops before */
} unanswered_request;

/* Holds what a check has met, for its verdict (forecast.c). */
typedef struct durable_forecast {
    PDL_VEC(unanswered_request) unanswered;
    uint64_t n_requests;
    /* branch -> number of the last request that the journal has, in it and in branches below it */
    pdl_idmap within, below;
    char *waits_at; /* the first recorded request without an answer: its place; owned */
    pdl_loc waits_loc;
    pdl_err stop; /* the first reason why the resume would stop */
    char *stop_place;
} durable_forecast;
void pdl_durable_forecast_end(durable_forecast *f);

typedef struct durable_progress {
    durable_clock clock;
    durable_output output;
    bool flushing; /* rows are being written, and then output */
    bool ends;     /* the process is about to end */
    bool parked;   /* the run has ended because a person has to answer */
} durable_progress;
/* Returns true when a parked run does not flush, and no row has a time before the epoch. */
bool pdl_durable_progress_ok(const durable_progress *p);

#endif
