/* clock.c -- reads the clocks of the system; see clock.h. The monotonic clock measures durations.
 * The wall clock gives times that people and other programs read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/clock.h"

#include <time.h>

#include "base/banned.h"

uint64_t pdl_clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int64_t pdl_clock_wall_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
