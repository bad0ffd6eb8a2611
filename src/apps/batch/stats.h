/* stats.h -- what is counted of the rows of a batch, in constant memory. Private to batch.
 *
 * Quantiles of a million durations are wanted without keeping a million durations: each is counted
 * in a bin whose bounds differ by 2 %, which is as exact as the quantiles then are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_STATS_H
#define PDL_BATCH_STATS_H

#include "batch/batch.h"

enum {
    STATS_TIMES = 1400,           /* bins from a microsecond to twelve days */
    STATS_TOKENS = 32,            /* bins of powers of two */
    STATS_KINDS = PDL_E_COUNT + 1 /* of errors, and rows that could not be read */
};

typedef struct batch_stats {
    uint64_t times[STATS_TIMES], n_times;
    double sum_seconds, most_seconds;
    uint64_t tokens[STATS_TOKENS];
    uint64_t kinds[STATS_KINDS];
} stats;

/* A row that is finished. kind: name of the kind of its error; NULL: it has a result. */
void pdl_batch_stats_add(stats *s, double seconds, int64_t tokens, pdl_str kind);
/* The time within which this part (0 to 1) of the rows was finished; 0 where there is none. */
double pdl_batch_stats_quantile(const stats *s, double part);
/* Can it be written at the end? Errors, as the end of a long batch is too late for them: usage. */
PDL_MUST bool pdl_batch_report_check(const pdl_batch_options *o, pdl_str file, pdl_err *err);
/* Writes a report into a file: JSON when its name ends in .json, else HTML that holds it. Errors:
 * io. */
PDL_MUST bool pdl_batch_report_write(const pdl_batch_options *o, const pdl_batch_totals *t,
                                     const stats *s, pdl_str file, pdl_err *err);

#endif
