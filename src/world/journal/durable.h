/* durable.h -- durable runs: a world in front of a world, whose journal is kept so that a run
 * that was killed at any moment can continue (spec runs 2); see docs/internals/journal.md.
 *
 * What goes out is held until the poll: then all rows on which it may depend are on the disk. What
 * comes back is in the file before the machine gets it. A run that continues gets what was answered
 * from the rows, and asks for the rest.
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

/* The facts of a run before its first effect. JSON where it says so. */
typedef struct pdl_durable_facts {
    pdl_str id;
    pdl_str file, text; /* the program: its name as given, its bytes */
    pdl_str folder;     /* working folder */
    pdl_str options;    /* JSON: {name: value} as on the command line */
    pdl_str version;
} pdl_durable_facts;

/* The file of a new run; then its keys, then pdl_durable_begin. full: what went out survives a
 * crash of the system, too. note: for the user; may stay empty. Errors: usage when the file exists,
 * io. */
PDL_MUST bool pdl_durable_create(pdl_str path, bool full, pdl_durable **out, pdl_buf *note,
                                 pdl_err *err);
/* Its first row. inputs: variables, a dict. Error: io. */
PDL_MUST bool pdl_durable_begin(pdl_durable *d, const pdl_durable_facts *facts, pdl_vref inputs,
                                pdl_err *err);

typedef enum {
    PDL_DURABLE_CONTINUE, /* what has no answer is asked */
    PDL_DURABLE_CHECK,    /* what has none is noted and never answered; nothing is changed */
    PDL_DURABLE_REPLAY,   /* what has none is an error */
    PDL_DURABLE_SHOW      /* what has none is never answered: a trace of what there is */
} pdl_durable_use;

/* A run that is there. take_over: although another process may own it. Errors: io,
 * replay (no journal, damaged, of another version), runtime (another process owns it; nothing was
 * recorded; it replays only). */
PDL_MUST bool pdl_durable_open(pdl_str path, pdl_durable_use use, bool full, bool take_over,
                               pdl_durable **out, pdl_err *err);
bool pdl_durable_asks(const pdl_durable *d); /* does it ask for what has no answer? */
/* Is all that is open a question without an answer? */
bool pdl_durable_only_waits(const pdl_durable *d);
/* For callers that do not wait in the poll of its world: then it delivers what has come, or parks.
 * Returns false when something else is open. */
bool pdl_durable_park(pdl_durable *d);
/* Is it a journal of such a run? */
bool pdl_durable_is(pdl_str path);
const pdl_durable_facts *pdl_durable_get_facts(const pdl_durable *d);
pdl_str pdl_durable_path(const pdl_durable *d);

/* The text in which the owner wrote what confines the run; empty: not known. Error: io. */
PDL_MUST bool pdl_durable_guards(const pdl_durable *d, pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_durable_put_guards(pdl_durable *d, pdl_str text, pdl_err *err);

/* The variables; after its keys are known. Owned. Errors: config (a key is not set), replay. */
PDL_MUST bool pdl_durable_inputs(const pdl_durable *d, pdl_val *out, pdl_err *err);
/* The variables of a resume: the recorded ones under those that are given (absent: none), with
 * which it is another run: what is not reused is noted. Owned. Errors as above. */
PDL_MUST bool pdl_durable_resume_inputs(pdl_durable *d, pdl_vref given, pdl_val *out, pdl_err *err);
/* The run has other ones from now on. After pdl_durable_prepare. */
PDL_MUST bool pdl_durable_replace_inputs(pdl_durable *d, pdl_vref inputs, pdl_err *err);
/* Its inputs are not what they were: what is not reused is noted. */
void pdl_durable_is_other(pdl_durable *d);
/* The text of the program that runs. False: it is not what it was, with the same consequence. */
bool pdl_durable_runs_text(pdl_durable *d, pdl_str text);

/* The time of a run without requests, for pdl_sinks.now: when the last answer came that the machine
 * has had, ns since the epoch. */
int64_t pdl_durable_time_of(void *d, const pdl_event *e);

/* --- before the run --------------------------------------------------------------------------- */

/* A key: the file has its name in its place. */
void pdl_durable_key(pdl_durable *d, pdl_str name, pdl_str value);
/* Actions that began and have no end: those at this place (all: at any) are done again; this one
 * has this result, JSON. */
void pdl_durable_again(pdl_durable *d, pdl_str place);
PDL_MUST bool pdl_durable_skip(pdl_durable *d, pdl_str place, pdl_str json, pdl_err *err);
/* May it begin? Not where an action has no end and neither of them names it, or a file that the run
 * writes was changed by others. Files are cut to what was acknowledged. Error: runtime, with the
 * places and the ways out. */
PDL_MUST bool pdl_durable_prepare(pdl_durable *d, pdl_err *err);

/* The surroundings of a durable run. */
typedef struct pdl_durable_options {
    pdl_str dir;       /* folder of the program: paths in requests are relative to it */
    const pdl_debug *debug;
    const pdl_secrets *secrets; /* the session's, borrowed; NULL: none */
    bool provisional;   /* pieces of answers go to the machine at once */
    bool park;          /* a question without an answer ends the process */
    bool changed_fails; /* --changed fail */
    bool rebuild;       /* code may run again for what it left in its worker */
    bool reuse_moved;   /* an action that is at another place now has its recorded answer */
    void *user;
    /* The file of a program was read now: its text may be replaced. NULL: it is as it is. */
    void (*edit_source)(void *user, pdl_val *reply);
    /* Is there output that was not written? Write it: all that is due is in the file. Returns how
     * many bytes of the output have been written in all. */
    bool (*has_output)(void *user);
    uint64_t (*put_output)(void *user);
    void *owner; /* user of the callbacks below */
    /* An effect was answered from the file: budgets are charged. */
    void (*spent)(void *user, const pdl_effect *e, const pdl_reply *reply);
    /* Does nothing outside change by this action, so that it may be done twice? NULL: it does. */
    bool (*may_repeat)(void *user, const pdl_effect *e);
    /* The run is parked: end it. Called once. */
    void (*parked)(void *user);
} pdl_durable_options;
void pdl_durable_attach(pdl_durable *d, const pdl_durable_options *o);
/* The world of the run, after that; belongs to the journal (its close does nothing). next: who
 * answers what the file does not; borrowed; NULL: there is none (REPLAY, SHOW). */
pdl_world *pdl_durable_world(pdl_durable *d, pdl_world *next);

/* --- while it runs ---------------------------------------------------------------------------- */

/* Everything that is due goes into the file and on the disk, then output is written. */
void pdl_durable_flush(pdl_durable *d);
/* Writes the decisions of policies. */
pdl_sink pdl_durable_sink(pdl_durable *d);
/* Bytes of output that earlier processes wrote for good. */
uint64_t pdl_durable_printed(const pdl_durable *d);
/* How long earlier processes were at work, for budgets; its address stays. */
const uint64_t *pdl_durable_earlier_ns(const pdl_durable *d);
/* The process is to end: what is cancelled from now on is in flight, as after a kill. */
void pdl_durable_ends(pdl_durable *d);
/* Are there answers that poll delivers without waiting? */
bool pdl_durable_is_ready(const pdl_durable *d);

/* --- runs of a server: one file, one sync for all in a turn (group.c) ------------------------- */

/* The journal of a server: made, or opened where it is there and has no other owner. Keys are named
 * before the first run, as above. Errors as create and open. */
PDL_MUST bool pdl_durable_open_server(pdl_str path, const pdl_durable_facts *facts, bool full,
                                      bool take_over, pdl_durable **out, pdl_buf *note,
                                      pdl_err *err);
/* Its world, for runs that need no journal, too; its poll is that of all. */
pdl_world *pdl_durable_server_world(pdl_durable *server, pdl_world *next);
/* Something of a run goes out with the next poll: the rows so far are synced before. */
void pdl_durable_note_output(pdl_durable *server);

typedef enum {
    PDL_KEYED_NEW,      /* the first request with this key */
    PDL_KEYED_OPEN,     /* it began and did not end well: it continues */
    PDL_KEYED_ANSWERED, /* its answer is kept */
    PDL_KEYED_OTHER     /* with this key something else was asked */
} pdl_keyed;
/* Finds a key and the body that was sent with it, both any text, in the file, which has their
 * hashes. *answer: set for ANSWERED. */
PDL_MUST bool pdl_durable_keyed(pdl_durable *server, pdl_str key, pdl_str body, pdl_keyed *out,
                                pdl_buf *answer, pdl_err *err);
/* A run for the key, new or to be continued, one of `index` that it has. Errors: runtime (an action
 * began and has no end), io. */
PDL_MUST bool pdl_durable_join(pdl_durable *server, pdl_str key, pdl_str body, uint32_t index,
                               pdl_durable **out, pdl_err *err);
/* It is over: with this answer, JSON, or it failed (p NULL) and continues when its key comes again;
 * the call that failed is made again then. The caller closes it. */
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

/* The end of the process, or of the run: err NULL: it ended well. Everything is in the file. Error:
 * why something is not, io. */
PDL_MUST bool pdl_durable_finish(pdl_durable *d, const pdl_err *err, pdl_err *out);
/* Lists what was reused and asked, for --check and the note of a resume. */
void pdl_durable_report(pdl_durable *d, pdl_buf *out);
bool pdl_durable_has_changes(const pdl_durable *d); /* was anything moved or changed? */
/* Questions without an answer: place and text of each. */
void pdl_durable_questions(const pdl_durable *d,
                           void (*fn)(void *user, pdl_str place, pdl_str text), void *user);
void pdl_durable_close(pdl_durable *d); /* NULL is fine */

/* --- from outside of a run -------------------------------------------------------------------- */

typedef struct pdl_durable_summary {
    pdl_run_state state;
    char *id, *file, *place; /* owned */
    double started, ended;   /* ended 0: not yet */
    int64_t calls, tokens, effects;
    double cost;
} pdl_durable_summary;
PDL_MUST bool pdl_durable_summary_read(pdl_str path, pdl_durable_summary *out, pdl_err *err);
void pdl_durable_summary_fini(pdl_durable_summary *s);

/* Every open question: its place, its kind (input or approval), its text. */
PDL_MUST bool pdl_durable_each_question(pdl_str path,
                                        void (*fn)(void *user, pdl_str place, pdl_str kind,
                                                   pdl_str text),
                                        void *user, pdl_err *err);
/* Answers an open question; place empty: the only one. Of a run that failed: gives another answer
 * to the question at this place. Errors: runtime (nothing is asked, or several are, or it runs),
 * io. */
PDL_MUST bool pdl_durable_answer(pdl_str path, pdl_str place, pdl_str text, pdl_err *err);
/* Registers the secrets of its rows that no variable names: tokens that services made. */
void pdl_durable_note_secrets(const pdl_durable *d, pdl_secrets *s);
/* A copy as one file. secrets: without keys and without these; it replays then, but does not
 * continue. NULL: as it is. */
PDL_MUST bool pdl_durable_export(pdl_str path, pdl_str to, const pdl_secrets *secrets,
                                 pdl_err *err);
/* Forgets, in a copy without an owner, all requests of the block at this place and of blocks in it,
 * and all later ones. *n: how many effects that were; 0: it asked nothing. */
PDL_MUST bool pdl_durable_forget_from(pdl_str path, pdl_str place, size_t *n, pdl_err *err);
/* The last answer of the block at this place, as a person reads and changes it; *json: it is JSON.
 * An open question has the empty text. Errors: usage (it asked for nothing, or for a file of the
 * program), io. Keys are redacted. */
PDL_MUST bool pdl_durable_answer_at(pdl_str path, pdl_str place, pdl_buf *text, bool *json,
                                    pdl_err *err);
/* Changes that answer in a copy without an owner. Errors: usage (as above, or the answer
 * has not the form of its kind), io. */
PDL_MUST bool pdl_durable_change_answer(pdl_str path, pdl_str place, pdl_str text, pdl_err *err);
/* Forgets, in such a copy made by a replay, the requests that the recording could not answer.
 * Error: io. */
PDL_MUST bool pdl_durable_forget_unanswered(pdl_str path, pdl_err *err);
/* Removes the file and those beside it. Error: runtime while it runs. */
PDL_MUST bool pdl_durable_remove(pdl_str path, pdl_err *err);

/* Every effect in order, for lists. */
typedef struct pdl_durable_row {
    pdl_str place, kind, request, reply, error;
    double start, end; /* seconds since the epoch; end 0: open */
    int64_t attempt;
} pdl_durable_row;
PDL_MUST bool pdl_durable_each(pdl_str path, bool (*fn)(void *user, const pdl_durable_row *row),
                               void *user, pdl_err *err);

#endif
