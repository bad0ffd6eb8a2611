/* journal.h -- record and replay: a world in front of a world (spec language-execution 10.5,
 * architecture D6).
 *
 * A journal is one SQLite file with a row for each effect: where it was asked (place, number), what
 * (kind, canonical request, hash), and what came back (pieces, reply or error). Recording writes
 * the row when the effect starts and completes it with the reply; a file whose run was killed is
 * valid and holds what was answered up to the last fraction of a second. Replaying answers from the
 * rows and asks nobody.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_JOURNAL_H
#define PDL_JOURNAL_JOURNAL_H

#include "base/debug.h"
#include "effect/effect.h"
#include "trace/sink.h"

typedef struct pdl_journal pdl_journal;

/* What is written about the run. All may be empty. */
typedef struct pdl_journal_info {
    pdl_str file;    /* the program */
    pdl_str version; /* of the command */
    pdl_str options; /* as text: "--stream none" */
    /* what is not stored: effect/secret.h; borrowed until close, NULL: none */
    const pdl_secrets *secrets;
    bool blocks; /* rows of blocks as well, from pdl_journal_sink */
} pdl_journal_info;

/* Record into a new file what `behind` (borrowed) answers. Errors: usage when the file exists,
 * io. */
PDL_MUST bool pdl_journal_record(pdl_str path, pdl_world *behind, const pdl_journal_info *info,
                                 pdl_journal **out, pdl_err *err);
/* Answer from a file. Errors: io when it is not there, replay when it is no journal. */
PDL_MUST bool pdl_journal_replay(pdl_str path, pdl_journal **out, pdl_err *err);

/* The world of the run; belongs to the journal (its close does nothing). */
pdl_world *pdl_journal_world(pdl_journal *j);
/* Of a replay: what is asked holds these secrets (borrowed) where the recording does not. */
void pdl_journal_hide(pdl_journal *j, const pdl_secrets *secrets);
/* The folder of the program: what is recorded and looked up holds paths relative to it, so that a
 * recording replays from any folder. */
void pdl_journal_folder(pdl_journal *j, pdl_str folder);
/* Tells rows written and answered (category journal). Borrows debug. */
void pdl_journal_debug(pdl_journal *j, const pdl_debug *debug);
/* Writes the times of blocks when recording with info.blocks. */
pdl_sink pdl_journal_sink(pdl_journal *j);
/* Everything so far is in the file. Errors: why something is not (disk full), io; again each time
 * it is asked. */
PDL_MUST bool pdl_journal_finish(pdl_journal *j, pdl_err *err);
/* Completes the file and releases all; open effects are dropped without an answer. NULL is fine. */
void pdl_journal_close(pdl_journal *j);

/* Every answered effect of a journal file in order, for lists and for `pdl trace`. */
typedef struct pdl_journal_row {
    int64_t id;
    pdl_str place, kind, request, reply, error; /* JSON texts; reply or error is empty */
    uint32_t seq;
    double start, seconds; /* seconds since the epoch; duration, negative while there is no reply */
} pdl_journal_row;
PDL_MUST bool pdl_journal_each(pdl_str path, bool (*fn)(void *user, const pdl_journal_row *row),
                               void *user, pdl_err *err);

#endif
