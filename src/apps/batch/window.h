/* window.h -- rows in flight: at most `jobs` runs of the program on one loop. Private to batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_WINDOW_H
#define PDL_BATCH_WINDOW_H

#include "batch/ahead.h"
#include "batch/stats.h"
#include "batch/writer.h"

enum { BATCH_HASH = 32 }; /* hex digits of the hash of a row */

/* A row in flight. */
typedef struct batch_flight {
    pdl_row row;
    pdl_run *run; /* NULL: the slot is free */
    struct pdl_budget *budget;
    struct batch_window *window;
    pdl_buf requests; /* --keep: of its calls, as JSON, one after a comma */
    char hash[BATCH_HASH + 1];
    double start;
    bool fresh;   /* not stepped yet */
    bool is_over; /* its answer is in the journal of this turn */
    bool listed;  /* in window.ready */
} flight;

typedef struct batch_window {
    const pdl_batch_options *o;
    pdl_rowset *rows;
    writer *writer;
    pdl_code *code;
    pdl_val variables;      /* of all rows */
    const pdl_str *columns; /* what the output has a place for, n_columns; NULL: any */
    size_t n_columns;
    struct pdl_budget *budget; /* of the batch */
    flight *flights;
    uint32_t *slots; /* stack of those that are free */
    uint32_t n_free;
    uint32_t top;           /* slots below were used */
    PDL_VEC(uint32_t) ready; /* slots whose run may be able to continue */
    sample chosen;          /* rows that belong to the batch */
    uint64_t next;          /* the next of them; 0: none */
    uint64_t taken;         /* rows that were taken so far */
    uint64_t last_known;    /* rows up to this number may be in the journal already */
    uint64_t all_known;     /* rows that a stream had when it was read to its end; 0: not known */
    PDL_VEC(pdl_row) early; /* rows that were read before the batch began */
    size_t n_early;         /* of them that were taken */
    ahead ahead;            /* rows that were read, to begin those together that share a text */
    pdl_batch_totals *totals;
    stats *stats;
    uint64_t ticked_ns, begun_ns;
    uint64_t searched_ns; /* when all rows were examined for runs that can continue */
    uint64_t n_read; /* rows of the input so far */
    bool ended;      /* no further row */
    bool read_all;   /* because the input has none, not because of a limit */
    bool later;      /* the reader waits for a pipe */
    bool noted_lost;  /* the user knows that numbers became null */
    bool draining;   /* no further row is begun; why says the reason */
    pdl_err why;
} window;

/* The error for a row of the input that is not what it was: "FILE:4: row 4 HOW". Always false. */
bool pdl_batch_window_refuse(const window *w, const pdl_row *row, const char *how, pdl_err *err);
/* Runs all rows. False: it stopped. */
PDL_MUST bool pdl_batch_window_run(window *w, pdl_err *err);
/* Marks a row as broken that has a column of the output's own, or one that the output has no place
 * for: where all rows have the same columns, that is refused before the first one. columns: those
 * that the output has a place for; NULL: any. */
void pdl_batch_row_check(pdl_row *row, const pdl_str *columns, size_t n);
/* Hash of what a row asks, after its check. */
void pdl_batch_row_hash(const pdl_row *row, char out[BATCH_HASH + 1]);
void pdl_batch_window_fini(window *w);

#endif
