/* series.h -- runs a series of programs in one session: candidates on rows, or judges on their
 * answers. A search has thousands of short series. Private to optimize.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_OPTIMIZE_SERIES_H
#define PDL_OPTIMIZE_SERIES_H

#include "api/run_pool.h"

/* The start of a run, which `begin` fills in. */
typedef struct opt_start {
    pdl_code *code;    /* borrowed */
    pdl_val variables; /* owned; the series drops it */
    pdl_buf draw;      /* name of the run in the cache; the series releases it */
} opt_start;

/* How a run ended. Everything is borrowed for the call. */
typedef struct opt_end {
    pdl_vref result;      /* absent when the run failed */
    const pdl_err *error; /* NULL when the run did not fail */
    int64_t calls, tokens;
} opt_end;

typedef struct opt_series {
    size_t n; /* number of runs */
    void *user;
    void (*begin)(void *user, size_t i, opt_start *out);
    void (*end)(void *user, size_t i, const opt_end *how);
    /* Gets the events of a run. NULL when they are not needed. */
    void (*event)(void *user, size_t i, const pdl_event *e);
} opt_series;

/* The session and its surroundings, in which the runs of a series are made. */
typedef struct opt_stage {
    pdl_session *session;
    pdl_str dir; /* folder of the program */
    uint32_t jobs;
    struct pdl_budget *budget; /* budget to which all runs are charged; may be NULL */
    pdl_cancel_flag *cancel;
    void (*tick)(void *user); /* called several times a second; may be NULL */
    void *user;
    double *cost;      /* receives the cost of the ended runs, however they ended */
    double *open_cost; /* receives the current cost of runs that have not ended; may be NULL */
} opt_stage;

/* Runs a series. *spent is set when the budget did not allow all runs; `end` is not called for the
 * other runs. Returns false when a signal ended the series. */
PDL_MUST bool pdl_series_run(const opt_stage *on, const opt_series *s, bool *spent, pdl_err *err);

#endif
