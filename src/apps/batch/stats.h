/* stats.h -- statistics about the rows of a batch, in constant memory. Private to batch.
 *
 * The quantiles of a million durations are computed without storing a million durations: each
 * duration is counted in a bin. The bounds of a bin differ by 2 %, which is the precision of the
 * quantiles.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_STATS_H
#define PDL_BATCH_STATS_H

#include "batch/batch.h"

enum {
    STATS_TIMES = 1400, /* number of bins for times, from a microsecond to twelve days */
    STATS_TOKENS = 32,  /* number of bins for tokens, whose bounds are powers of two */
    /* number of kinds of errors, with one for rows that could not be read */
    STATS_KINDS = PDL_E_COUNT + 1
};

typedef struct batch_stats {
    uint64_t times[STATS_TIMES], n_times;
    double sum_seconds, most_seconds;
    uint64_t tokens[STATS_TOKENS];
    uint64_t kinds[STATS_KINDS];
} stats;

/* Counts a finished row. kind is the name of the kind of its error; empty when it has a result. */
void pdl_batch_stats_add(stats *s, double seconds, int64_t tokens, pdl_str kind);
/* Returns the duration that this share (0 to 1) of the rows did not exceed; 0 when no row was
 * finished. */
double pdl_batch_stats_quantile(const stats *s, double part);
/* Checks that a report can be written at the end, because the end of a long batch is too late for
 * such an error. Error: usage. */
PDL_MUST bool pdl_batch_report_check(const pdl_batch_options *o, pdl_str file, pdl_err *err);
/* Writes a report into a file: as JSON when its name ends in .json or is "-" (standard output),
 * otherwise as HTML. Error: io. */
PDL_MUST bool pdl_batch_report_write(const pdl_batch_options *o, const pdl_batch_totals *t,
                                     const stats *s, pdl_str file, pdl_err *err);

#endif
