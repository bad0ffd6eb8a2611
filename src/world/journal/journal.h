/* journal.h -- record and replay (spec execution 10.5).
 *
 * A journal is one SQLite file with a row for each effect: its place and number, the request (kind,
 * canonical form, hash), and the result (pieces, reply or error). Recording writes the row when the
 * effect starts and completes it with the reply. The file of a killed run is valid, and has all
 * answers but those of the last fraction of a second. Replaying answers from the rows and forwards
 * nothing.
 *
 * Effects are identified by place and number, not by their order in time: parallel calls end in any
 * order, and a replay must give each call its own answer. What must stay true: everything that a
 * program can observe of the outside is an effect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_JOURNAL_H
#define PDL_JOURNAL_JOURNAL_H

#include "base/debug.h"
#include "effect/effect.h"
#include "trace/sink.h"
#include "value/label.h"

typedef struct pdl_journal pdl_journal;

/* The information about the run in its file. Any text may be empty. */
typedef struct pdl_journal_info {
    pdl_str file;    /* the program */
    pdl_str version; /* version of the pdl command */
    pdl_str options; /* the options as one text, such as "--stream none" */
    /* Secrets (effect/secret.h) that are removed from everything stored; borrowed until close; may
     * be NULL. */
    const pdl_secrets *secrets;
    bool blocks; /* rows for blocks are written, too; their times come from pdl_journal_sink */
} pdl_journal_info;

/* Makes a recording in a new file. Errors: usage when the file exists, io. */
PDL_MUST bool pdl_journal_record(pdl_str path, const pdl_journal_info *info, pdl_journal **out,
                                 pdl_err *err);
/* Opens a recording, from which a replay answers. Errors: io when the file does not exist, usage
 * when it is not a recording, replay when it is of another version or damaged. */
PDL_MUST bool pdl_journal_replay(pdl_str path, pdl_journal **out, pdl_err *err);

/* Returns true when the file begins like a recording. Returns false when the file cannot be
 * read. */
bool pdl_journal_is(pdl_str path);
/* The program that a recording contains. file: its name as the user gave it; text: empty in
 * recordings of older versions; inputs: its variables, a dict. Owned. */
typedef struct pdl_journal_program {
    pdl_buf file, text;
    pdl_val inputs;
    /* {names: [name of a policy that the user gave], texts: {path of a policy's file: text}};
     * absent when the run had no policy from outside of the program */
    pdl_val policies;
} pdl_journal_program;
/* Stores text and inputs, without secrets and without values that the redaction covers. The name of
 * the file is in pdl_journal_info. Inputs that contain objects of the host are left out. */
void pdl_journal_put_program(pdl_journal *j, pdl_str text, pdl_vref inputs);
/* Stores pdl_journal_program.policies, without secrets. A later call replaces them. */
void pdl_journal_put_policies(pdl_journal *j, pdl_vref policies);
/* Reads the program of a recording. Errors: as for pdl_journal_replay. */
PDL_MUST bool pdl_journal_read_program(pdl_str path, pdl_journal_program *out, pdl_err *err);
void pdl_journal_program_fini(pdl_journal_program *p);

/* Returns the world of the run, which belongs to the journal (its close does nothing). next: the
 * world whose answers are recorded; borrowed; a replay has none. */
pdl_world *pdl_journal_world(pdl_journal *j, pdl_world *next);
/* For a replay: sets the secrets (borrowed) that requests contain and that were removed from the
 * recording. */
void pdl_journal_redact(pdl_journal *j, const pdl_secrets *secrets);
/* Sets the redaction (borrowed): values that it covers are replaced by a text. A replay needs the
 * same redaction. */
void pdl_journal_redact_labels(pdl_journal *j, const pdl_redaction *redaction);
/* Sets the folder of the program: recorded and compared paths are relative to it, so that a
 * recording replays in any folder. */
void pdl_journal_folder(pdl_journal *j, pdl_str folder);
/* Reports rows written and answered (category journal). Borrows debug. */
void pdl_journal_debug(pdl_journal *j, const pdl_debug *debug);
/* Returns a sink that writes the times of blocks when info.blocks was set for the recording. */
pdl_sink pdl_journal_sink(pdl_journal *j);
/* Writes everything to the file. Returns false with the first error that prevented a write (io, for
 * instance a full disk); later calls return the same error. */
PDL_MUST bool pdl_journal_finish(pdl_journal *j, pdl_err *err);
/* Takes back what a recording has written since its file was made, when nothing ran: its name can
 * then be used again. Must be called before pdl_journal_finish. */
void pdl_journal_forget(pdl_journal *j);
/* Completes the file and releases all; open effects are dropped without an answer. j may be
 * NULL. */
void pdl_journal_close(pdl_journal *j);

/* An answered effect of a journal file, for lists in order and for `pdl trace`. */
typedef struct pdl_journal_row {
    int64_t id;
    pdl_str place, kind, request, reply, error; /* JSON texts; reply or error is empty */
    uint32_t seq;
    /* start: seconds since the epoch; seconds: the duration, negative before the reply */
    double start, seconds;
} pdl_journal_row;
PDL_MUST bool pdl_journal_each(pdl_str path, bool (*fn)(void *user, const pdl_journal_row *row),
                               void *user, pdl_err *err);

#endif
