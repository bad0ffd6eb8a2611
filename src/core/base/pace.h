/* pace.h -- how long the product waits on its own account.
 *
 * Before it asks a busy service again, between two looks at a job, between two drawings of a line:
 * nobody prescribed these waits, and tests would spend their time in them. Each goes through
 * pdl_pace_ms, so that PDL_STRESS=time:F shortens all of them. Limits of time, which end something
 * that takes too long, and pauses of a few milliseconds do not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_PACE_H
#define PDL_BASE_PACE_H

#include <stdint.h>

/* ms times the factor of the process, at least 1 unless ms is 0: an interval stays one. */
uint64_t pdl_pace_ms(uint64_t ms);

enum { PDL_PACE_MOST = 1000 };
/* Sets the factor for the whole process, 0 to PDL_PACE_MOST; 1 is the factor of a process that
 * sets none. */
void pdl_pace_say(double factor);

#endif
