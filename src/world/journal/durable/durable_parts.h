/* durable_parts.h -- the parts of a durable run, each with its file: what it holds, how it ends,
 * and what is always true of it (its _ok, asserted in builds with assertions). Private to journal.
 *
 *   setup     run_open.c    what the caller wants of the run
 *   file      run_open.c    the file of the run and what it says of itself
 *   group     group.c       the server of a run, and the runs of a server
 *   pending   pending.c     effects that the machine waits for
 *   match     row_match.c   recorded rows, and which effects they have answered
 *   rebuild   rebuild.c     code that runs again for what it left in its worker
 *   progress  pending.c     how far the run is: time at work, output, the end
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
    char *dir; /* owned copy of opt.dir without a final slash; NULL: none */
} durable_setup;
void pdl_durable_setup_end(durable_setup *s);

typedef struct durable_file {
    pdl_store *store;
    int lock; /* descriptor; -1: none */
    bool full, is_whole, is_new;
    bool replays_only; /* redacted */
    pdl_durable_facts facts;
    PDL_VEC(char *) texts; /* the facts point into them */
    char was_state[12];    /* the state before this process */
    keyring keys;
    /* The secrets in the file; made when needed; a server's are for its runs. */
    pdl_secrets *secrets;
    char salt[33];
    pdl_err problem; /* the file cannot be written any more */
} durable_file;
/* The store stays open: a run of a server shares it. */
void pdl_durable_file_end(durable_file *f);
bool pdl_durable_file_ok(const durable_file *f);

typedef struct durable_group {
    pdl_durable *server; /* a run of a server: the server, which has the file; NULL: its own */
    int64_t run;         /* the number of the run there, from 1; 0: it is the only one */
    int64_t first_row;   /* a run of a server: the rows before belong to other runs */
    bool is_server;
    PDL_VEC(pdl_durable *) members; /* a server: the runs that are open */
    PDL_VEC(char *) changed_files;  /* a server: paths of files that others changed; owned */
    double pruned;                  /* a server: when old runs were removed */
} durable_group;
void pdl_durable_group_end(durable_group *g);
/* Has a run of a server a number, and has only a server members? */
bool pdl_durable_group_ok(const durable_group *g);

typedef struct durable_pending {
    pdl_sender sender;
    PDL_VEC(struct pending_effect *) queued;   /* due at the next flush, in order */
    PDL_VEC(struct pending_effect *) answered; /* to be delivered, from answered_head on */
    size_t answered_head;
    /* Effects that may have been done at another place: until all that is recorded was given. */
    PDL_VEC(struct pending_effect *) waiting;
    PDL_VEC(struct pending_effect *) unanswered; /* questions without an answer */
    pdl_idmap open;                              /* by effect id */
    uint32_t n_open, n_inputs;                   /* sent and not answered; of them questions */
    struct pending_effect *delivered;            /* the machine gets its answer now; NULL: none */
    bool is_retry_due; /* a service has answered, and that is not synced */
} durable_pending;
void pdl_durable_pending_end(durable_pending *p);
/* Is the head within the list, and are no more questions open than effects? */
bool pdl_durable_pending_ok(const durable_pending *p);

/* A list of messages whose rows are known: the next request nearly always extends it. */
typedef struct known_list {
    pdl_val list; /* kept; absent: none */
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
    char *place; /* "all": any */
    bool skip, used;
    pdl_val result; /* given by --skip */
} run_override;

/* How requests of this process differ from the rows. */
typedef struct durable_found {
    size_t n_reused, n_moved, n_asked, n_replaced, n_left, n_unlisted, n_changed;
    PDL_VEC(char *) notes; /* lines about requests that moved or changed; owned */
    pdl_idmap noted;       /* rows that a note says were not reused */
} durable_found;

typedef struct recorded_actions recorded_actions;

typedef struct durable_match {
    pdl_idmap used;            /* rows that were given */
    int64_t last_row;          /* the last one of earlier processes */
    recorded_actions *actions; /* moved.c; NULL: not read yet */
    known_list lists[KNOWN_LISTS];
    uint64_t n_lists;
    PDL_VEC(run_override) overrides;
    PDL_VEC(char *) open_files; /* paths of files that earlier processes had open; owned */
    durable_found found;
    bool undecided;              /* --changed fail: nothing has been done yet */
    bool is_other, knows_places; /* program or inputs are not those of the rows */
    pdl_idmap places; /* pdl_durable_place_key -> number of the answered row; see is_other */
} durable_match;
void pdl_durable_match_end(durable_match *m);
/* Is no more noted than there are notes, and are places known only to a run that is another? */
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
/* Is the next code within the list, and is no rebuild both running and over? */
bool pdl_durable_rebuild_ok(const durable_rebuild *r);

/* The time at work, over all processes. */
typedef struct durable_clock {
    uint64_t start_ns, earlier_ns;
    double seen; /* end of the latest row that was given, by the wall clock */
} durable_clock;

typedef struct durable_output {
    uint64_t printed, printed_before; /* bytes, by all processes and by earlier ones */
    uint32_t n_shown;                 /* open effects whose pieces the machine has had */
    bool has_output;                  /* a server: something was printed since the last flush */
} durable_output;

typedef struct durable_progress {
    durable_clock clock;
    durable_output output;
    bool flushing; /* rows are being written, output after them */
    bool ends;     /* the process is to end */
    bool parked;   /* the run has ended because a person has to answer */
} durable_progress;
/* Does no run print that is parked, and is no time of a row before the epoch? */
bool pdl_durable_progress_ok(const durable_progress *p);

#endif
