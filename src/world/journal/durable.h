/* durable.h -- durable runs: a world whose journal is kept so that a run that was killed at any
 * moment can continue (spec runs 2); see docs/internals/journal.md.
 *
 * Effects that go outside are held until the poll: then all rows on which they may depend are on
 * the disk. A reply is in the file before the machine gets it. When a run is resumed, effects with
 * a recorded answer get it from the rows, and only the others are executed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_DURABLE_H
#define PDL_JOURNAL_DURABLE_H

#include "base/debug.h"
#include "base/vec.h"
#include "effect/effect.h"
#include "trace/sink.h"

typedef struct pdl_durable pdl_durable;

/* The facts about a run that are known before its first effect. */
typedef struct pdl_durable_facts {
    pdl_str id;
    pdl_str file, text; /* the program: its name as the user gave it, and its bytes */
    pdl_str folder;     /* working folder */
    pdl_str options;    /* JSON: {name: value}, as the options were on the command line */
    pdl_str version;
} pdl_durable_facts;

/* Makes the file of a new run; its keys are registered next, then pdl_durable_begin is called.
 * full: the rows of effects that were sent are safe even when the system crashes. note: gets a text
 * for the user, or stays empty. Errors: usage when the file exists, io. */
PDL_MUST bool pdl_durable_create(pdl_str path, bool full, pdl_durable **out, pdl_buf *note,
                                 pdl_err *err);
/* Writes the first row. inputs: variables, a dict. Error: io. */
PDL_MUST bool pdl_durable_begin(pdl_durable *d, const pdl_durable_facts *facts, pdl_vref inputs,
                                pdl_err *err);

typedef enum {
    PDL_DURABLE_CONTINUE, /* requests without an answer are sent */
    /* requests without an answer are noted and never answered, and the file is not changed */
    PDL_DURABLE_CHECK,
    PDL_DURABLE_REPLAY, /* a request without an answer is an error */
    /* requests without an answer wait for ever; this shows the recorded part of a run as a trace */
    PDL_DURABLE_SHOW
} pdl_durable_use;

/* Opens an existing run. full: as for pdl_durable_create. take_over: opens the run even if another
 * process may own it. Errors: io, replay (not a journal, damaged, of another version), runtime
 * (another process owns it; nothing was recorded; it can only be replayed). */
PDL_MUST bool pdl_durable_open(pdl_str path, pdl_durable_use use, bool full, bool take_over,
                               pdl_durable **out, pdl_err *err);
/* Returns true when the run sends requests that have no answer. */
bool pdl_durable_asks(const pdl_durable *d);
/* Returns true when every open effect is a question that has no answer yet. */
bool pdl_durable_only_waits(const pdl_durable *d);
/* Delivers the answers that have arrived, or parks the run. Used by callers that do not wait in the
 * function `poll` of the world of the run. Returns false when another effect is open. */
bool pdl_durable_park(pdl_durable *d);
/* Returns true when the run is parked. The caller then ends the run. */
bool pdl_durable_is_parked(const pdl_durable *d);
/* Returns true for a journal of a durable run. */
bool pdl_durable_is(pdl_str path);
const pdl_durable_facts *pdl_durable_get_facts(const pdl_durable *d);
pdl_str pdl_durable_path(const pdl_durable *d);

/* Appends the owner's description of what confines the run, such as its policies and sandbox; empty
 * when none was recorded. Error: io. */
PDL_MUST bool pdl_durable_guards(const pdl_durable *d, pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_durable_put_guards(pdl_durable *d, pdl_str text, pdl_err *err);

/* Stores the outcome of the run, an object that the owner of the run makes. Errors: io; type (the
 * object has no form in JSON). */
PDL_MUST bool pdl_durable_put_result(pdl_durable *d, pdl_vref result, pdl_err *err);
/* Returns the outcome that pdl_durable_put_result stored, owned; absent when there is none. Errors:
 * io, replay. */
PDL_MUST bool pdl_durable_result(const pdl_durable *d, pdl_val *out, pdl_err *err);

/* Returns the recorded variables, owned. The keys must be registered before. Errors: config (a key
 * is not set), replay. */
PDL_MUST bool pdl_durable_inputs(const pdl_durable *d, pdl_val *out, pdl_err *err);
/* Returns the variables of a resume: the recorded ones, replaced by the given ones, which may be
 * absent. When this changes a variable, rows that are not reused are noted, as for a changed
 * program. Owned. Errors: config, replay. */
PDL_MUST bool pdl_durable_resume_inputs(pdl_durable *d, pdl_vref given, pdl_val *out, pdl_err *err);
/* Replaces the variables of the run. Called after pdl_durable_prepare. */
PDL_MUST bool pdl_durable_replace_inputs(pdl_durable *d, pdl_vref inputs, pdl_err *err);
/* Notes that the program or the inputs of the run have changed: rows that no effect uses are then
 * reported. */
void pdl_durable_is_other(pdl_durable *d);
/* Compares the text of the program that runs. Returns false when the text has changed; rows that
 * are not reused are then noted. */
bool pdl_durable_runs_text(pdl_durable *d, pdl_str text);

/* For pdl_sinks.now in a run that only replays. Returns the recorded time at which the last
 * delivered answer had arrived, in ns since the epoch; 0 for a piece of an answer. */
int64_t pdl_durable_time_of(void *d, const pdl_event *e);

/* --- before the run --------------------------------------------------------------------------- */

/* Registers a key. The file contains the name of the key instead of the key. */
void pdl_durable_key(pdl_durable *d, pdl_str name, pdl_str value);
/* These functions set what happens to actions that began and were not finished. pdl_durable_again
 * executes the action at this place again ("all": at any place). pdl_durable_skip sets the result
 * of the action at a place. `given` is PLACE=JSON, and `option` is the name of the option for
 * messages. */
void pdl_durable_again(pdl_durable *d, pdl_str place);
PDL_MUST bool pdl_durable_skip(pdl_durable *d, const char *option, pdl_str given, pdl_err *err);
/* Checks that the run may begin. The run must not begin when an action has no end and the user has
 * not said what to do, or when another program changed a file that the run writes. Files are
 * truncated to what was acknowledged. A run that is only replayed or shown may always begin. Error:
 * runtime, with the places and the remedies. */
PDL_MUST bool pdl_durable_prepare(pdl_durable *d, pdl_err *err);

/* A text that replaces the text of a file of the program, for this run. */
typedef struct pdl_durable_edit {
    /* before: the text that the file must still have, with "\n" at its line ends */
    pdl_str before, after;
} pdl_durable_edit;

/* The surroundings of a durable run. */
typedef struct pdl_durable_options {
    pdl_str dir; /* folder of the program: paths in requests are relative to it */
    const pdl_debug *debug;
    const pdl_secrets *secrets; /* shared with the session, borrowed; may be NULL */
    bool provisional;           /* the machine gets pieces of answers at once */
    bool park;           /* a question without an answer parks the run, and the process ends */
    bool changed_fails;  /* set by --changed fail: any difference from the recording ends the run */
    bool rebuild;        /* code may run again to restore its worker */
    bool reuse_moved;    /* an action that is at another place now keeps its recorded answer */
    bool approvals_park; /* an approval that the user cannot give now parks the run */
    /* Replaced texts of files of the program. Each is used only while its file is unchanged.
     * Borrowed. */
    const pdl_durable_edit *edits;
    size_t n_edits;
} pdl_durable_options;
void pdl_durable_attach(pdl_durable *d, const pdl_durable_options *o);
/* Returns the world of the run, which belongs to the journal (its close does nothing). next is the
 * world that answers the effects that the file cannot answer. next is borrowed, and NULL for REPLAY
 * and SHOW. The returned world charges the answers from the file, knows which actions may be
 * repeated, and writes the output that waits for the file. */
pdl_world *pdl_durable_world(pdl_durable *d, pdl_world *next);

/* --- while it runs ---------------------------------------------------------------------------- */

/* Writes and syncs all waiting rows, then writes output. */
void pdl_durable_flush(pdl_durable *d);
/* Returns a sink that writes the decisions of policies to the file. */
pdl_sink pdl_durable_sink(pdl_durable *d);
/* Returns the bytes of output that earlier processes have certainly written. */
uint64_t pdl_durable_printed(const pdl_durable *d);
/* Returns how long earlier processes ran, for budgets. The address stays valid. */
const uint64_t *pdl_durable_earlier_ns(const pdl_durable *d);
/* Notes that the process is about to end. Effects that are cancelled from now on count as in
 * flight, as if the process had been killed. */
void pdl_durable_ends(pdl_durable *d);
/* Returns true when poll has something to do without waiting. */
bool pdl_durable_is_ready(const pdl_durable *d);

/* --- runs of a server: one file, one sync for all in a turn (server_runs.c) ------------------- */

/* How the journal of a server is opened. */
typedef struct pdl_durable_server {
    const pdl_durable_facts *facts; /* the facts that a new journal gets */
    bool full;                      /* each sync reaches the disk */
    bool take_over;                 /* another process may seem to own the journal */
} pdl_durable_server;

/* Opens the journal of a server, or makes it when it does not exist. The journal must have no other
 * owner. Keys are registered before the first run. Errors: those of pdl_durable_create and
 * pdl_durable_open. */
PDL_MUST bool pdl_durable_open_server(pdl_str path, const pdl_durable_server *how,
                                      pdl_durable **out, pdl_buf *note, pdl_err *err);
/* Returns the world of the server, which also serves runs that need no journal. The poll of this
 * world serves all runs. */
pdl_world *pdl_durable_server_world(pdl_durable *server, pdl_world *next);
/* Notes that the next poll sends output of a run. The rows before the output are synced first. */
void pdl_durable_note_output(pdl_durable *server);

typedef enum {
    PDL_KEYED_NEW,      /* the first request with this key */
    PDL_KEYED_OPEN,     /* a run with this key began and did not succeed; it continues */
    PDL_KEYED_ANSWERED, /* a run with this key has ended, and its answer is stored */
    PDL_KEYED_OTHER     /* another request had this key */
} pdl_keyed;
/* Finds the run for a key and the body that was sent with the key. Key and body may be any text;
 * the file has only their hashes. *answer is set for PDL_KEYED_ANSWERED. */
PDL_MUST bool pdl_durable_keyed(pdl_durable *server, pdl_str key, pdl_str body, pdl_keyed *out,
                                pdl_buf *answer, pdl_err *err);
/* Opens a new run for the key, or continues the run of this key. index: the number of the run among
 * the runs of this key. Errors: runtime (an action began and was not finished), io. */
PDL_MUST bool pdl_durable_join(pdl_durable *server, pdl_str key, pdl_str body, uint32_t index,
                               pdl_durable **out, pdl_err *err);
/* Ends a run. answer: the JSON to store. When answer.p is NULL, the run has failed; when the key is
 * sent again, the run continues and executes the failed call again. The caller closes the run. */
void pdl_durable_answered(pdl_durable *run, pdl_str answer, const pdl_err *why);

/* --- afterwards ------------------------------------------------------------------------------- */

typedef enum {
    PDL_RUN_RUNNING,
    PDL_RUN_ENDED,
    PDL_RUN_FAILED,
    PDL_RUN_KILLED,
    PDL_RUN_WAITING
} pdl_run_state;
const char *pdl_run_state_name(pdl_run_state s);

/* Ends this process's part of the run, and writes everything to the file; err is NULL when the run
 * succeeded. Error: io, which says why something could not be written. */
PDL_MUST bool pdl_durable_finish(pdl_durable *d, const pdl_err *err, pdl_err *out);
/* Appends a list of what was reused and what was requested, for --check and the note of a
 * resume. */
void pdl_durable_report(pdl_durable *d, pdl_buf *out);
/* Returns true when an effect is at another place than recorded, an effect or a file has changed,
 * or a recorded answer was not used. */
bool pdl_durable_has_changes(const pdl_durable *d);
/* Calls fn for each question without an answer, with its place and text. */
void pdl_durable_questions(const pdl_durable *d,
                           void (*fn)(void *user, pdl_str place, pdl_str text), void *user);
void pdl_durable_close(pdl_durable *d); /* d may be NULL */

/* --- runs from outside ------------------------------------------------------------------------ */

typedef struct pdl_durable_summary {
    pdl_run_state state;
    char *id, *file, *place; /* owned */
    double started, ended;   /* ended: 0 while the run is not over */
    int64_t calls, tokens, effects;
    double cost;
} pdl_durable_summary;
PDL_MUST bool pdl_durable_summary_read(pdl_str path, pdl_durable_summary *out, pdl_err *err);
void pdl_durable_summary_fini(pdl_durable_summary *s);

/* Calls fn for every open question with its place, its kind (input or approval) and its text. */
PDL_MUST bool pdl_durable_each_question(pdl_str path,
                                        void (*fn)(void *user, pdl_str place, pdl_str kind,
                                                   pdl_str text),
                                        void *user, pdl_err *err);
/* Answers an open question. An empty place means the only open question. In a failed run the
 * recorded answer at this place is changed. Errors: runtime (no question, or several, or the run is
 * in progress), io. */
PDL_MUST bool pdl_durable_answer(pdl_str path, pdl_str place, pdl_str text, pdl_err *err);
/* Registers secrets that are in the rows and in no variable, such as tokens that services made. */
void pdl_durable_note_secrets(const pdl_durable *d, pdl_secrets *s);
/* Makes a copy as one file. When `secrets` is not NULL, the copy contains no keys and none of these
 * secrets, and can only be replayed. Otherwise the copy is exact. */
PDL_MUST bool pdl_durable_export(pdl_str path, pdl_str to, const pdl_secrets *secrets,
                                 pdl_err *err);
/* In a copy without an owner, forgets all requests of the block at this place and of blocks inside
 * it, and all later requests. *n: the number of requests of the block; 0 when it sent none. */
PDL_MUST bool pdl_durable_forget_from(pdl_str path, pdl_str place, size_t *n, pdl_err *err);
/* Returns the last answer of the block at this place, in the form in which a person reads and
 * changes it. *json is true when that form is JSON. The text for an open question is empty. Keys
 * are redacted. Errors: usage (the block sent no request, or only read a file of the program),
 * io. */
PDL_MUST bool pdl_durable_answer_at(pdl_str path, pdl_str place, pdl_buf *text, bool *json,
                                    pdl_err *err);
/* Changes the answer that pdl_durable_answer_at returns, in a copy that no process owns. Errors:
 * usage (as for pdl_durable_answer_at, or the answer has the wrong form), io. */
PDL_MUST bool pdl_durable_change_answer(pdl_str path, pdl_str place, pdl_str text, pdl_err *err);
/* In a copy that a replay has used, forgets the requests that the recording could not answer.
 * Error: io. */
PDL_MUST bool pdl_durable_forget_unanswered(pdl_str path, pdl_err *err);
/* Removes the journal and the files of SQLite beside it. Errors: runtime (the run is in progress,
 * or the file is not a journal), io. */
PDL_MUST bool pdl_durable_remove(pdl_str path, pdl_err *err);

/* An effect of a run, for lists in the order of time. */
typedef struct pdl_durable_row {
    pdl_str place, kind, request, reply, error;
    double start, end; /* seconds since the epoch; `end` is 0 while the effect is open */
    int64_t attempt;
    /* the file that has the messages of the request; NULL when no file has them */
    struct pdl_store *store;
    int64_t messages;
} pdl_durable_row;
/* The values of a row, owned; absent when the row has none or they cannot be read. messages: those
 * of the request of a model, as a list. */
typedef struct pdl_durable_values {
    pdl_val request, reply, messages;
} pdl_durable_values;
/* Returns the values of a row that is being received. */
pdl_durable_values pdl_durable_row_values(const pdl_durable_row *row);
PDL_MUST bool pdl_durable_each(pdl_str path, bool (*fn)(void *user, const pdl_durable_row *row),
                               void *user, pdl_err *err);

#endif
