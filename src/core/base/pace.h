/* pace.h -- waits that libpdl chooses itself: before it retries a busy service, between two polls
 * of a job, between two drawings of a line. No specification prescribes these waits, and tests
 * would spend their time in them. Each goes through pdl_pace_ms, so that PDL_STRESS=time:F shortens
 * all of them. PDL_STRESS=time:F changes neither time limits, which end something that takes too
 * long, nor pauses of a few milliseconds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_PACE_H
#define PDL_BASE_PACE_H

#include <stdint.h>

/* Returns ms times the factor of the process. The result is at least 1 unless ms is 0, so that
 * every wait remains a wait. */
uint64_t pdl_pace_ms(uint64_t ms);

enum { PDL_PACE_MAX = 1000 };
/* Sets the factor for the whole process, 0 to PDL_PACE_MAX. Without a call the factor is 1. */
void pdl_pace_say(double factor);

#endif
