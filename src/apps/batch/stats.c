/* stats.c -- counts rows in bins; see stats.h. The bins grow by a constant factor, so a fixed
 * number of counters covers all durations with the same relative precision.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/stats.h"

#include <math.h>

#include "base/banned.h"

static const double shortest = 1e-6, growth = 1.02;

static size_t bin_of(double seconds) {
    if (!(seconds > shortest)) return 0;
    double i = log(seconds / shortest) / log(growth);
    return i >= STATS_TIMES - 1 ? STATS_TIMES - 1 : (size_t)i;
}

static size_t kind_of(pdl_str kind) {
    for (int k = 0; k < PDL_E_COUNT; k++)
        if (pdl_str_is(kind, pdl_err_kind_name((pdl_err_kind)k))) return (size_t)k;
    return PDL_E_COUNT;
}

void pdl_batch_stats_add(stats *s, double seconds, int64_t tokens, pdl_str kind) {
    size_t power = 0;
    s->times[bin_of(seconds)]++;
    s->n_times++;
    s->sum_seconds += seconds > 0 ? seconds : 0;
    if (seconds > s->most_seconds) s->most_seconds = seconds;
    for (int64_t n = tokens; n > 1 && power + 1 < STATS_TOKENS; n /= 2) power++;
    s->tokens[tokens > 0 ? power : 0]++;
    if (kind.n) s->kinds[kind_of(kind)]++;
}

double pdl_batch_stats_quantile(const stats *s, double part) {
    uint64_t seen = 0;
    if (!s->n_times) return 0;
    for (size_t i = 0; i < STATS_TIMES; i++) {
        seen += s->times[i];
        if ((double)seen >= part * (double)s->n_times)
            return fmin(shortest * pow(growth, (double)i + 0.5), s->most_seconds);
    }
    return s->most_seconds;
}
