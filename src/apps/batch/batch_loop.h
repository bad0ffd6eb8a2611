/* batch_loop.h -- the rows in flight: at most `jobs` runs of the program on one loop. Private to
 * batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_BATCH_LOOP_H
#define PDL_BATCH_BATCH_LOOP_H

#include "api/run_pool.h"
#include "batch/row_order.h"
#include "batch/stats.h"
#include "batch/writer.h"

enum { BATCH_HASH = 32 }; /* hex digits of the hash of a row */

/* A row in flight, in the slot of its run. */
typedef struct batch_flight {
    pdl_row row;
    struct batch_window *window;
    pdl_buf requests; /* for --keep: the model calls of the row as JSON, separated by commas */
    char hash[BATCH_HASH + 1];
    double start;
} flight;

typedef struct batch_window {
    const pdl_batch_options *o;
    pdl_rowset *rows;
    writer *writer;
    pdl_code *code;
    pdl_val variables; /* the variables that all rows have */
    /* the n_columns columns that a row may have; NULL when a row may have any columns */
    const pdl_str *columns;
    size_t n_columns;
    struct pdl_budget *budget; /* budget of the batch */
    pdl_run_pool *pool;        /* the runs of the rows */
    flight *flights;           /* for each slot of the pool: the row in the slot */
    sample chosen;             /* decides which rows belong to the batch */
    uint64_t next;             /* number of the next row; 0 when there are no more rows */
    uint64_t taken;            /* number of rows that were taken so far */
    uint64_t last_known;       /* rows up to this number may already be in the journal */
    /* how many rows a stream had when an earlier process read it to its end; 0 when
     * that is unknown */
    uint64_t all_known;
    PDL_VEC(pdl_row) early; /* rows that were read before the batch began */
    size_t n_early;         /* how many rows of `early` were taken */
    /* rows that were read ahead, so that rows with the same text are begun together */
    ahead ahead;
    pdl_batch_totals *totals;
    stats *stats;
    uint64_t ticked_ns, begun_ns;
    uint64_t n_read;  /* number of rows of the input that were read so far */
    bool ended;       /* no further row is read */
    bool read_all;    /* the input has no further rows; otherwise a limit ended the reading */
    bool later;       /* the reader waits for a pipe */
    bool noted_lost;  /* the user was notified that numbers became null */
    bool interrupted; /* a signal ended the run of a row, which has no result */
    bool draining;    /* no further row is begun, for the reason in `why` */
    pdl_err why;
} window;

/* Sets the error for a row of the input that has changed, such as "FILE:4: row 4 HOW". Always
 * returns false. */
bool pdl_batch_window_refuse(const window *w, const pdl_row *row, const char *how, pdl_err *err);
/* Runs all rows. Returns false when the batch stopped before the last row; err has the reason. */
PDL_MUST bool pdl_batch_window_run(window *w, pdl_err *err);
/* Marks a row as broken when it has a column that the output adds itself, or a column that the
 * output does not have. (If all rows have the same columns, such columns are refused before the
 * first row.) columns has the columns of the output; NULL allows any column. */
void pdl_batch_row_check(pdl_row *row, const pdl_str *columns, size_t n);
/* Hashes the content of a row. Called after the check of the row. */
void pdl_batch_row_hash(const pdl_row *row, char out[BATCH_HASH + 1]);
void pdl_batch_window_fini(window *w);

#endif
