/* writer.h -- writes finished rows first into the journal and then into the output. Private to
 * batch.
 *
 * A turn of the loop finishes some rows; pdl_batch_writer_commit makes these rows certain with one
 * commit, and appends to the output the rows whose turn has come. Ordered output follows the input:
 * a row that is finished before an earlier row is first only in the journal. Now and then a mark is
 * put into the journal. It says how many bytes the output has, and how many rows these bytes
 * contain. A batch that continues truncates the output to this length and appends the rest from the
 * journal again, so that the output has every row exactly once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_WRITER_H
#define PDL_BATCH_WRITER_H

#include "base/vec.h"
#include "batch/batch.h"
#include "batch/ledger.h"
#include "batch/output.h"
#include "batch/sample.h"

/* A finished row. json is NULL when only the journal has its text. */
typedef struct batch_done {
    uint64_t number;
    char *json; /* owned */
    size_t n_json;
    bool failed;
} done_row;

typedef struct batch_writer {
    pdl_ledger *ledger;       /* borrowed */
    pdl_batch_output *output; /* owned */
    bool unordered;
    sample order; /* draws rows in the order of the output */
    /* for ordered output: the row that is written next; 0 when there is none */
    uint64_t want;
    /* written is the number of rows in the output; waiting is the number of finished rows that are
     * not in the output yet */
    uint64_t written, waiting;
    uint64_t seq; /* numbers the rows in the order in which they finish */
    uint64_t marked_ns, flushed_ns;
    bool held;                  /* some rows are gathered in memory, and are not in the file yet */
    uint64_t lost, lost_failed; /* finished rows that could not be written to the journal */
    PDL_VEC(done_row) turn;
    /* for ordered output: some of the waiting rows, indexed by their number modulo BATCH_NEAR */
    done_row *near;
    size_t n_near, near_bytes;
} writer;

/* Waiting rows are in the journal. Most rows finish shortly before they are written, and are kept
 * in memory, too, because finding a row in the journal takes as long as writing it. */
enum { BATCH_NEAR = 2048, BATCH_NEAR_BYTES = 4 << 20 };

/* The facts about the output that the journal has. */
typedef struct batch_mark {
    uint64_t bytes, written, seq;
} mark;
PDL_MUST bool pdl_batch_mark_get(pdl_ledger *l, mark *out, pdl_err *err);
PDL_MUST bool pdl_batch_mark_put(pdl_ledger *l, const mark *m, pdl_err *err);

/* Continues the output at the mark `from`, and appends the finished rows that are next. The caller
 * has set the members ledger, output, unordered and order. finished is the number of rows in the
 * journal. */
PDL_MUST bool pdl_batch_writer_open(writer *w, const mark *from, uint64_t finished, pdl_err *err);
/* Adds a finished row. Takes the content of json. The members number and output of r are
 * ignored. */
PDL_MUST bool pdl_batch_writer_add(writer *w, uint64_t number, const pdl_ledger_row *r,
                                   pdl_buf *json, pdl_err *err);
PDL_MUST bool pdl_batch_writer_commit(writer *w, pdl_err *err);
/* Writes the rows that were gathered for a while into the file. */
PDL_MUST bool pdl_batch_writer_flush(writer *w, pdl_err *err);
/* Writes all appended rows to the output, waits until the disk has them, and puts the mark into the
 * journal. */
PDL_MUST bool pdl_batch_writer_mark(writer *w, pdl_err *err);
enum { BATCH_FLUSH_MS = 200 };
/* Returns true when the invariants hold: only an ordered output keeps rows in memory, they are some
 * of the waiting rows, and their texts have at most BATCH_NEAR_BYTES bytes together. */
bool pdl_batch_writer_ok(const writer *w);
void pdl_batch_writer_close(writer *w);

#endif
