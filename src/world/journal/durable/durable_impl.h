/* durable_impl.h -- the types and functions that the files of durable runs share. Private to
 * journal.
 *
 *   `durable.c`       the world: holds, requests, writes and delivers effects.
 *   `pending.c`       the lists of effects that the machine waits for.
 *   `park.c`          ends the process of a run that waits for a person.
 *   `row_match.c`     finds the recorded row that answers an effect.
 *   `moved_actions.c` finds actions that were executed at another place, and unused rows.
 *   `rebuild.c`       runs code again to restore its worker.
 *   `forecast.c`      finds what a resume would do, by a check.
 *   `server_runs.c`   keeps many runs of a server in one file.
 *   `effect_rows.c`   makes rows of effects and replies.
 *   `written_files.c` keeps the state of files that the program writes.
 *   `run_open.c`      makes, opens and ends runs.
 *   `found_secrets.c` stores secrets that are found during a run.
 *   `run_info.c`      summarizes a run, without executing it.
 *   `run_answer.c`    answers a question of a run, without executing it.
 *   `run_copy.c`      copies a run, without its secrets when that is wanted.
 *   `run_remove.c`    removes a run, or its end.
 *   `edit_answers.c`  changes answers in a copy of a run.
 *   `edited_files.c`  replaces texts of included files that the user has changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_DURABLE_IMPL_H
#define PDL_JOURNAL_DURABLE_IMPL_H

#include <string.h>

#include "base/hash.h"
#include "journal/durable/durable_parts.h"

/* The identity by which the recorded row of an effect is searched. */
typedef struct identity {
    pdl_buf place, request; /* for a model, the request does not contain the messages */
    char hash[65];
    int64_t key, parent_key, messages;
} identity;

/* An effect that the machine waits for. */
typedef struct pending_effect {
    pdl_durable *d;
    pdl_effect *e; /* the machine's effect, owned; the next world gets a forwarded copy */
    int64_t row;   /* 0 until its row is written */
    int64_t attempt;
    /* begin_wall: by the wall clock, when an earlier process began the effect */
    double begin_clock, begin_wall;
    bool sent; /* the forwarded effect is in flight */
    /* the next world's start is running, and may answer before it returns */
    bool answers_at_once;
    bool shown; /* the machine has received pieces of the answer */
    bool has_reply;
    /* true for code that runs again to restore its worker; the machine does not wait for the
     * result */
    bool rebuilds;
    pdl_val pieces; /* list of texts */
    pdl_val value;  /* value of the reply */
    double seconds; /* duration in this process, or the recorded duration; 0 when it is unknown */
    pdl_err err;
    pdl_val expected; /* when `rebuilds` is set: the recorded result, which must be the same */
    size_t noted;     /* position in forecast.unanswered, from 1; 0 when the effect is not there */
} pending_effect;

struct pdl_durable {
    pdl_world world;
    durable_setup setup;
    durable_file file;
    durable_group group;
    durable_pending pending;
    durable_match match;
    durable_rebuild rebuild;
    durable_progress progress;
    durable_forecast forecast;
};
/* Returns true when the invariants of all parts hold. */
bool pdl_durable_ok(const pdl_durable *d);

/* effect_rows.c */
double pdl_journal_wall(void);
double pdl_durable_clock(const pdl_durable *d);
PDL_MUST bool pdl_durable_identify(pdl_durable *d, const pdl_effect *e, identity *out,
                                   pdl_err *err);
void pdl_durable_identity_fini(identity *id);
/* Returns a key that is made of the place of an effect, and not of its request. */
int64_t pdl_durable_place_key(const pdl_durable *d, pdl_str place, uint32_t seq, pdl_str kind);
/* Returns a key that is made of a request, and not of its place. */
int64_t pdl_durable_request_key(pdl_str kind, pdl_str hash);
/* Writes the row that begins the effect or, when o has its reply, the whole row. */
PDL_MUST bool pdl_durable_write_begin(pdl_durable *d, pending_effect *o, const identity *id,
                                      pdl_err *err);
PDL_MUST bool pdl_durable_write_end(pdl_durable *d, pending_effect *o, pdl_err *err);
/* Appends the reply of a row. Repeated texts, which the row abbreviates, are written in full. */
void pdl_durable_expand_reply(pdl_str json, pdl_buf *out);
PDL_MUST bool pdl_durable_read_answer(pdl_durable *d, const store_effect *row, pdl_effect *e,
                                      pending_effect *out, pdl_err *err);

/* --- found_secrets.c --- */
/* Writes down the secrets of the session that the text of a row reveals. */
PDL_MUST bool pdl_durable_keep_secrets(pdl_durable *d, pdl_str json, pdl_err *err);

/* --- row_match.c --- */
/* Returns true when the effect may be executed again without asking the user. */
bool pdl_durable_may_repeat(const pdl_durable *d, const pdl_effect *e);
/* edited_files.c. Replaces a text that was read from a file of the program: the reply gets the
 * user's version of the text (options.edits). */
void pdl_durable_edit_source(const pdl_durable *d, const pdl_effect *e, pdl_val *reply);
typedef enum { MATCH_NONE, MATCH_ANSWERED, MATCH_AGAIN, MATCH_FAILED } match_kind;
/* Finds the row for o. ANSWERED: o has its answer. AGAIN: o has the row to continue. FAILED: o->err
 * says why the run cannot continue. */
match_kind pdl_durable_match(pdl_durable *d, pending_effect *o, const identity *id);
/* Called when no row was found for o. If another request was recorded at the place of o, notes
 * this. */
void pdl_durable_note_replaced(pdl_durable *d, const pending_effect *o, const identity *id);
run_override *pdl_durable_override(pdl_durable *d, pdl_str place, bool skip);
/* run_open.c. Makes the given result the reply of an action of this kind. Error: usage. */
PDL_MUST bool pdl_durable_use_skip(run_override *w, pdl_str kind, pdl_err *err);
PDL_PRINTF(2, 3) void pdl_durable_notef(pdl_durable *d, const char *fmt, ...);

/* Returns true for effects that change something outside the run. Questions to a person change
 * nothing. */
bool pdl_durable_acts_outside(pdl_effect_kind k);

/* --- moved_actions.c --- */
/* Returns true for an action that the journal has at another place, in a row that no effect has
 * used yet. */
bool pdl_durable_may_be_done(pdl_durable *d, pending_effect *o, const identity *id);
typedef enum {
    DONE_NOWHERE, /* the action has to be executed; o->row may be the row to continue */
    DONE_SKIPPED, /* the user gave the result: o has the result and the row */
    DONE_STOPS    /* the run cannot continue; o->err says why */
} done_kind;
done_kind pdl_durable_done_elsewhere(pdl_durable *d, pending_effect *o, const identity *id);
/* Notes every recorded answer that no effect has used. */
void pdl_durable_note_left(pdl_durable *d);
void pdl_durable_actions_free(recorded_actions *all); /* all may be NULL */

/* --- durable.c --- */
/* Decides about actions that may have been executed at another place. Called after all recorded
 * answers were delivered. */
void pdl_durable_settle(pdl_durable *d);
/* For --changed fail: decides whether the run may continue, as far as that can be known before
 * anything is executed. */
void pdl_durable_decide(pdl_durable *d);
/* Undoes all changes that this process made to the file, if the process executed nothing. */
void pdl_durable_give_up(pdl_durable *d, const pdl_err *why);
void pdl_durable_note_problem(pdl_durable *d, pdl_err *err);
pending_effect *pdl_durable_pending_new(pdl_durable *d, pdl_effect *e);
void pdl_durable_drop_open(pending_effect *o);
/* pending.c. Drops the effects of the list; skips NULL. */
void pdl_durable_drop_list(pending_effect **list, size_t n);
void pdl_durable_send(pdl_durable *d, pending_effect *o);
/* Answers the effect from the recorded row. Takes o. */
void pdl_durable_reuse(pdl_durable *d, pending_effect *o);
/* Gives the answer to the machine, at once or with the next poll. Takes o. */
void pdl_durable_give(pending_effect *o);
void pdl_durable_enqueue(pdl_durable *d, pending_effect *o);
/* Refuses an effect that cannot be written down, so that it is not executed. Takes o. */
void pdl_durable_refuse(pdl_durable *d, pending_effect *o);
bool pdl_durable_is_of_worker(pdl_effect_kind k);
void pdl_durable_commit(pdl_durable *d, bool sync);
/* Writes output, forwards the held effects, and delivers answers to the machine. */
void pdl_durable_release(pdl_durable *d);
bool pdl_durable_deliver(pdl_durable *d);
/* Polls the next world, and commits the rows of the replies. Returns true when effects are open. */
bool pdl_durable_poll_next(pdl_durable *d, int timeout_ms);

/* park.c. Returns true when a question got no answer: the input ended in a run that may park, or
 * there was no way to ask the user for an approval. */
bool pdl_durable_is_unanswered(const pdl_durable *d, const pending_effect *o, const pdl_reply *r);

/* --- forecast.c: runs that are only checked --- */
/* Notes a request that the journal has. waits: the journal has no answer for the request. Does
 * nothing in a run that is not checked. */
void pdl_durable_forecast_recorded(pdl_durable *d, const pending_effect *o, bool waits);
/* Notes why the resume would stop. Does nothing in a run that is not checked. */
void pdl_durable_forecast_stop(pdl_durable *d, pdl_str place, const pdl_err *why);
/* Leaves an effect of a checked run without an answer, unless it is known what a resume would get.
 * Takes o. */
void pdl_durable_leave_checked(pdl_durable *d, pending_effect *o, const identity *id);
/* Finds out what the resume would do about an action. Takes o. */
void pdl_durable_foresee(pdl_durable *d, pending_effect *o, const identity *id);

/* --- rebuild.c --- */
/* Remembers a code or object effect that was answered from a row, until it is known whether the
 * code must run again. */
void pdl_durable_remember_code(pdl_durable *d, const pending_effect *o);
/* Runs recorded code again, one effect after the other, in the recorded order. done: the effect
 * that has just ended, or NULL. */
void pdl_durable_pump_rebuild(pdl_durable *d, pending_effect *done);
/* Returns true when earlier code must run again before o, because o uses what that code left in the
 * worker. Returns false, and notes a problem, when the earlier code must not run again. */
bool pdl_durable_waits_for_session(pdl_durable *d, const pending_effect *o);
/* Runs the earlier code, and then sends o. Takes o. */
void pdl_durable_rebuild_first(pdl_durable *d, pending_effect *o);
/* Sends the worker the names of the modules in which code of earlier processes left objects. */
void pdl_durable_name_left(const pdl_durable *d, const pending_effect *o, pdl_effect *forwarded);
/* Takes o and returns true when the worker refused the code of o, because it uses a module that
 * pdl_durable_name_left named. */
bool pdl_durable_was_refused(pdl_durable *d, pending_effect *o, const pdl_reply *reply);

/* server_runs.c */
void pdl_durable_flush_group(pdl_durable *server);
void pdl_durable_leave(pdl_durable *d); /* removes the run from its server */

/* run_open.c */
pdl_durable *pdl_durable_new(pdl_durable_use use, bool full);
/* Returns false with err set when the file has no rows yet: its process begins, or has ended. */
PDL_MUST bool pdl_durable_check_begun(pdl_str path, pdl_err *err);
/* Marks as refused the calls whose failure ended the run, so that a resume executes them again. */
PDL_MUST bool pdl_durable_reopen_failure(pdl_durable *d, const pdl_err *why, pdl_err *err);
PDL_MUST bool pdl_durable_reopen_server(pdl_str path, bool full, bool take_over, pdl_durable **out,
                                        pdl_err *err);

/* The remaining functions are in written_files.c. pdl_durable_closes returns true for the effect
 * that closes a file. */
bool pdl_durable_closes(const pdl_effect *e);
void pdl_durable_reused_write(pdl_durable *d, const pdl_effect *e);
PDL_MUST bool pdl_durable_before_write(pdl_durable *d, pdl_effect *e, bool again, pdl_err *err);
PDL_MUST bool pdl_durable_after_write(pdl_durable *d, const pdl_effect *e, pdl_err *err);
PDL_MUST bool pdl_durable_cut_files(pdl_durable *d, pdl_buf *wrong, pdl_err *err);
/* Truncates each file whose last write was not finished, before the first run of a server. A file
 * that another program may have changed is not truncated, and its write is in doubt. */
PDL_MUST bool pdl_durable_cut_open_files(pdl_durable *server, pdl_err *err);
/* Returns true when the unfinished write of this row may be executed again. */
bool pdl_durable_was_cut(const pdl_durable *server, const store_effect *row);

#endif
