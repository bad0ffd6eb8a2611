/* nanos.h -- seconds that a recording, a journal or a page gives, as whole numbers.
 *
 * The seconds can be any double, and the conversion of a double that int64_t cannot hold is
 * undefined. The limit leaves room for the difference of two results.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_NANOS_H
#define PDL_BASE_NANOS_H

#include <stdint.h>
#include <time.h>

/* Returns seconds in nanoseconds, between -4e18 and 4e18 (127 years each way); 0 for NaN. */
static inline int64_t pdl_nanos_of(double seconds) {
    const double most = 4e9;
    if (seconds != seconds) return 0;
    return (int64_t)((seconds > most ? most : seconds < -most ? -most : seconds) * 1e9);
}

/* Returns seconds since 1970 as a time of the C library, between -1e11 and 1e11 (more than 3000
 * years each way); 0 for NaN. */
static inline time_t pdl_time_of(double seconds) {
    const double most = 1e11;
    if (seconds != seconds) return 0;
    return (time_t)(seconds > most ? most : seconds < -most ? -most : seconds);
}

#endif
