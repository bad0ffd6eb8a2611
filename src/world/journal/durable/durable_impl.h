/* durable_impl.h -- inside of durable runs: what their files share. Private to journal.
 *
 *   durable.c        the world: what is held, asked, written, delivered
 *   row_match.c      which recorded row answers an effect
 *   moved.c          actions that were done at another place; what was not reused
 *   rebuild.c        code that runs again for what it left in its worker
 *   group.c          many runs of a server in one file
 *   effect_rows.c    effects and replies as rows
 *   written_files.c  files that the program writes
 *   run_open.c           making, opening, owning, ending
 *   found_secrets.c        secrets that came up while it ran
 *   run_info.c        from outside of a run: summaries, answers, copies
 *   answers.c        answers that a person changes, in a copy
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_DURABLE_IMPL_H
#define PDL_JOURNAL_DURABLE_IMPL_H

#include <string.h>

#include "base/hash.h"
#include "base/idmap.h"
#include "journal/durable.h"
#include "journal/durable/durable_parts.h"
#include "journal/durable/keyring.h"
#include "journal/store.h"

/* The identity of an effect. */
typedef struct identity {
    pdl_buf place, request; /* request without the messages of a model */
    char hash[65];
    int64_t key, parent_key, messages;
} identity;

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

/* An effect that the machine waits for. */
typedef struct pending_effect {
    pdl_durable *d;
    pdl_effect *e; /* owned: the machine's; the next world gets a forwarded */
    int64_t row;   /* 0: none yet */
    int64_t attempt;
    double begin_clock, begin_wall; /* begin_wall: by the wall clock, in an earlier process */
    bool sent;                      /* the forwarded is in flight */
    bool answers_at_once;      /* inside of start */
    bool shown;                /* pieces went to the machine */
    bool has_reply;
    bool rebuilds;  /* runs again for what it leaves in the worker: nothing waits for it */
    pdl_val pieces; /* list of texts */
    pdl_val value;  /* the reply's */
    double seconds; /* it took, in this process or as recorded; 0: unknown */
    pdl_err err;
    pdl_val expected; /* rebuilds: the result from before */
} pending_effect;

/* A place that --again or --skip names. */
typedef struct run_override {
    char *place; /* "all": any */
    bool skip, used;
    pdl_val result; /* given by --skip */
} run_override;

typedef struct recorded_actions recorded_actions;

struct pdl_durable {
    pdl_world world;
    pdl_world *next; /* the world that answers what the file does not; or NULL */
    pdl_store *store;
    pdl_durable *server; /* a run of a server: the server's, which has the file; NULL: its own */
    int64_t run;       /* its number there, from 1; 0: it is the only one */
    PDL_VEC(pdl_durable *) members; /* a server: the runs that are open */
    bool is_server;
    int lock;        /* descriptor; -1: none */
    pdl_durable_use use;
    bool full, is_whole, is_new, prepared, started;
    bool replays_only; /* redacted */
    pdl_durable_facts facts;
    PDL_VEC(char *) texts; /* the facts point into them */
    pdl_durable_options opt;
    char *dir; /* owned copy of opt.dir without a final slash; NULL: none */
    keyring keys;
    pdl_secrets
        *file_secrets; /* secrets in the file; made when needed; a server's are for its runs */
    char salt[33];
    pdl_err problem; /* the file cannot be written any more */
    pdl_sender sender;
    PDL_VEC(pending_effect *) queued;   /* due at the next flush, in order */
    PDL_VEC(pending_effect *) answered; /* to be delivered, from answered_head on */
    size_t answered_head;
    /* That may have been done at another place: until all that is recorded has been given. */
    PDL_VEC(pending_effect *) waiting;
    recorded_actions *actions; /* moved.c; NULL: not read yet */
    pdl_idmap open;            /* by effect id */
    uint32_t n_open, n_inputs; /* sent and not answered; of them questions */
    pdl_idmap used;            /* rows that were given */
    int64_t last_row;          /* the last one of earlier processes */
    bool undecided;            /* --changed fail: nothing has been done yet */
    char was_state[12];        /* the state before this process */
    known_list lists[KNOWN_LISTS];
    uint64_t n_lists;
    PDL_VEC(run_override) overrides;
    PDL_VEC(char *) changed_files; /* a server: paths of files that others changed; owned */
    PDL_VEC(char *) open_files;    /* paths of files that earlier processes had open */
    int64_t first_row; /* a run of a server: the rows before belong to other runs */
    double pruned;     /* a server: when old runs were removed */
    bool is_retry_due; /* a service has answered, and that is not synced */
    bool flushing, ends, parked;
    durable_clock clock;
    durable_output output;
    durable_rebuild rebuild;
    durable_found found;
    pending_effect *delivered;        /* the machine gets its answer now; NULL: none */
    PDL_VEC(pending_effect *) unanswered; /* questions without an answer */
    bool is_other, knows_places; /* program or inputs are not those of the rows */
    pdl_idmap places; /* pdl_durable_place_key -> number of the answered row; see is_other */
};

/* effect_rows.c */
double pdl_journal_wall(void);
double pdl_durable_clock(const pdl_durable *d);
PDL_MUST bool pdl_durable_identify(pdl_durable *d, const pdl_effect *e, identity *out,
                                   pdl_err *err);
void pdl_durable_identity_fini(identity *id);
/* Of an effect's place alone, whatever was asked there. */
int64_t pdl_durable_place_key(const pdl_durable *d, pdl_str place, uint32_t seq, pdl_str kind);
/* The key of a request at any place. */
int64_t pdl_durable_request_key(pdl_str kind, pdl_str hash);
/* The row of the effect as it begins, or, with its reply in o, whole. */
PDL_MUST bool pdl_durable_write_begin(pdl_durable *d, pending_effect *o, const identity *id,
                                      pdl_err *err);
PDL_MUST bool pdl_durable_write_end(pdl_durable *d, pending_effect *o, pdl_err *err);
/* The reply of a row as it was before its repeated texts were shortened. */
void pdl_durable_expand_reply(pdl_str json, pdl_buf *out);
PDL_MUST bool pdl_durable_read_answer(pdl_durable *d, const store_effect *row, pdl_effect *e,
                                      pending_effect *out, pdl_err *err);

/* --- found_secrets.c --- */
/* Keeps what the text of a row reveals of the secrets of the session. */
PDL_MUST bool pdl_durable_keep_secrets(pdl_durable *d, pdl_str json, pdl_err *err);

/* --- row_match.c --- */
/* May the effect be done again without asking? */
bool pdl_durable_may_repeat(const pdl_durable *d, const pdl_effect *e);
typedef enum { MATCH_NONE, MATCH_ANSWERED, MATCH_AGAIN, MATCH_FAILED } match_kind;
/* Fills o from the file: its answer (ANSWERED), or the row that is continued (AGAIN).
 * FAILED: o->err says why the run cannot continue. */
match_kind pdl_durable_match(pdl_durable *d, pending_effect *o, const identity *id);
/* Notes that something else was recorded where o is, which has no row. */
void pdl_durable_note_replaced(pdl_durable *d, const pending_effect *o, const identity *id);
run_override *pdl_durable_override(pdl_durable *d, pdl_str place, bool skip);
/* run_open.c: its result becomes the reply of an action of this kind. Error: usage. */
PDL_MUST bool pdl_durable_use_skip(run_override *w, pdl_str kind, pdl_err *err);
PDL_PRINTF(2, 3) void pdl_durable_notef(pdl_durable *d, const char *fmt, ...);

/* A question changes nothing but what is waited for. */
bool pdl_durable_acts_outside(pdl_effect_kind k);

/* --- moved.c --- */
/* Is it an action that the journal has at another place, where nothing has matched it? */
bool pdl_durable_may_be_done(pdl_durable *d, pending_effect *o, const identity *id);
typedef enum {
    DONE_NOWHERE, /* it is to be done; o->row: again */
    DONE_SKIPPED, /* its result is given: o has it, and the row */
    DONE_STOPS    /* o->err says that the run cannot continue */
} done_kind;
done_kind pdl_durable_done_elsewhere(pdl_durable *d, pending_effect *o, const identity *id);
/* Notes every recorded answer that nothing has matched. */
void pdl_durable_note_left(pdl_durable *d);
void pdl_durable_actions_free(recorded_actions *all); /* NULL is fine */

/* --- durable.c --- */
/* Actions that may have been done at another place are decided, once nothing recorded is left to
 * be given. */
void pdl_durable_settle(pdl_durable *d);
/* --changed fail: may the run continue, as far as can be known before anything is done? */
void pdl_durable_decide(pdl_durable *d);
/* The file is left as it was before this process, as far as nothing was done. */
void pdl_durable_give_up(pdl_durable *d, const pdl_err *why);
void pdl_durable_note_problem(pdl_durable *d, pdl_err *err);
pending_effect *pdl_durable_pending_new(pdl_durable *d, pdl_effect *e);
void pdl_durable_drop_open(pending_effect *o);
void pdl_durable_send(pdl_durable *d, pending_effect *o);
/* It cannot be written down: it does not happen. Takes o. */
void pdl_durable_refuse(pdl_durable *d, pending_effect *o);
bool pdl_durable_is_of_worker(pdl_effect_kind k);
void pdl_durable_commit(pdl_durable *d, bool sync);
/* Output and what was held go out; what was answered goes to the machine. */
void pdl_durable_release(pdl_durable *d);
bool pdl_durable_deliver(pdl_durable *d);

/* --- rebuild.c --- */
/* Keeps an effect that was answered from a row until it is known whether it must run again. */
void pdl_durable_remember_code(pdl_durable *d, const pending_effect *o);
/* One after the other, in the order in which they were asked. done: the one that ended. */
void pdl_durable_pump_rebuild(pdl_durable *d, pending_effect *done);
/* Must earlier code run again before o, which reads what it left? False, with a problem noted,
 * where it may not. */
bool pdl_durable_waits_for_session(pdl_durable *d, const pending_effect *o);
/* Takes o: it is sent when they have. */
void pdl_durable_rebuild_first(pdl_durable *d, pending_effect *o);
/* Names the modules in which earlier processes left something to who runs the code. */
void pdl_durable_name_left(const pdl_durable *d, const pending_effect *o, pdl_effect *forwarded);
/* Takes o where the worker did not run it because it uses one of them: true then. */
bool pdl_durable_was_refused(pdl_durable *d, pending_effect *o, const pdl_reply *reply);

/* group.c */
void pdl_durable_flush_group(pdl_durable *server);
void pdl_durable_leave(pdl_durable *d); /* the server has it no more */

/* run_open.c */
pdl_durable *pdl_durable_new(pdl_durable_use use, bool full);
/* The calls whose failure ended the run are asked again when it continues. */
PDL_MUST bool pdl_durable_reopen_failure(pdl_durable *d, const pdl_err *why, pdl_err *err);
PDL_MUST bool pdl_durable_reopen_server(pdl_str path, bool full, bool take_over, pdl_durable **out,
                                        pdl_err *err);

/* written_files.c: files that the program writes */
bool pdl_durable_closes(const pdl_effect *e);
void pdl_durable_reused_write(pdl_durable *d, const pdl_effect *e);
PDL_MUST bool pdl_durable_before_write(pdl_durable *d, pdl_effect *e, bool again, pdl_err *err);
PDL_MUST bool pdl_durable_after_write(pdl_durable *d, const pdl_effect *e, pdl_err *err);
PDL_MUST bool pdl_durable_cut_files(pdl_durable *d, pdl_buf *wrong, pdl_err *err);
/* Cuts each file with a write that has no end, for a server before its first run. A file that may
 * have been changed by others is not cut: it is doubtful. */
PDL_MUST bool pdl_durable_cut_open_files(pdl_durable *server, pdl_err *err);
/* May the write of this row, which has no end, be done again? */
bool pdl_durable_was_cut(const pdl_durable *server, const store_effect *row);

#endif
