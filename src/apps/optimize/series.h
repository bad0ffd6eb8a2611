/* series.h -- a series of runs on one session: candidates on rows, and judges of their answers. A
 * search begins thousands of short series. Private to optimize.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_OPTIMIZE_SERIES_H
#define PDL_OPTIMIZE_SERIES_H

#include "api/run_pool.h"

/* The start of a run, which `begin` fills in. */
typedef struct opt_start {
    pdl_code *code; /* borrowed */
    pdl_val variables; /* owned; the series drops it */
    pdl_buf draw;   /* its name in the cache; the series releases it */
} opt_start;

/* How a run ended. Everything is borrowed for the call. */
typedef struct opt_end {
    pdl_vref result;      /* absent when it failed */
    const pdl_err *error; /* NULL when it did not */
    int64_t calls, tokens;
    double cost;
} opt_end;

typedef struct opt_series {
    size_t n; /* number of runs */
    void *user;
    void (*begin)(void *user, size_t i, opt_start *out);
    void (*end)(void *user, size_t i, const opt_end *how);
    /* Gets the events of a run; NULL: they are not needed. */
    void (*event)(void *user, size_t i, const pdl_event *e);
} opt_series;

/* Where the runs of a series run. */
typedef struct opt_stage {
    pdl_session *session;
    pdl_str dir; /* folder of the program */
    uint32_t jobs;
    struct pdl_budget *budget; /* all runs are charged to it; NULL: none */
    pdl_cancel_flag *cancel;
    void (*tick)(void *user); /* called several times a second; NULL: not called */
    void *user;
} opt_stage;

/* Runs a series. *spent: the budget did not allow all of it; the runs that it did not allow have no
 * end. Returns false when a signal ended it. */
PDL_MUST bool pdl_series_run(const opt_stage *on, const opt_series *s, bool *spent, pdl_err *err);

#endif
