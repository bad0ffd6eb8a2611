/* bench.h -- what the micro-benchmarks share: a timed loop that prints `name value unit`.
 *
 * Each piece of work is repeated for about a fifth of a second of processor time, five times; the
 * fastest is printed, because noise only ever adds time. Run alone, on a quiet machine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BENCH_H
#define PDL_BENCH_H

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/pool.h"

static inline double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Seconds of one call of work(user), the fastest of five runs. */
static inline double bench_seconds(void (*work)(void *user), void *user) {
    double best = 0;
    size_t n = 1;
    for (int run = 0; run < 5;) {
        double start = bench_now();
        for (size_t i = 0; i < n; i++) work(user);
        double took = bench_now() - start;
        if (took < 0.05 && run == 0) { /* not enough to be measured */
            n *= 2;
            continue;
        }
        if (run == 0 || took / (double)n < best) best = took / (double)n;
        if (run++ == 0 && took < 0.2) n = (size_t)((double)n * 0.2 / took) + 1;
    }
    return best;
}

/* Time of one call of work, which does `items` things. */
static inline void bench_time(const char *name, size_t items, void (*work)(void *user),
                              void *user) {
    double ns = bench_seconds(work, user) * 1e9 / (double)items;
    if (ns < 10000)
        printf("%-36s %10.1f ns\n", name, ns);
    else
        printf("%-36s %10.1f us\n", name, ns / 1e3);
    fflush(stdout);
}

/* Speed of one call of work, which reads or writes `bytes`. */
static inline void bench_speed(const char *name, size_t bytes, void (*work)(void *user),
                               void *user) {
    printf("%-36s %10.1f MB/s\n", name, (double)bytes / 1e6 / bench_seconds(work, user));
    fflush(stdout);
}

/* The work runs as it does in the command: inside a pool. */
static inline void bench_begin(void) { (void)pdl_pool_enter(pdl_pool_new()); }

#endif
