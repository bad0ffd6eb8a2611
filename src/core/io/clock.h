/* clock.h -- returns monotonic time and wall time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_CLOCK_H
#define PDL_IO_CLOCK_H

#include <stdint.h>

/* Returns nanoseconds since some moment; the value never decreases. */
uint64_t pdl_clock_ns(void);
/* Returns nanoseconds since 1970-01-01T00:00:00Z. */
int64_t pdl_clock_wall_ns(void);

#endif
