/* times.h -- the times of a recorded run, for the trace of its replay.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_TIMES_H
#define PDL_JOURNAL_TIMES_H

#include "trace/event.h"

typedef struct pdl_times pdl_times;

/* Reads the times of blocks and replies from a recording. Errors: as for pdl_journal_replay. */
PDL_MUST bool pdl_times_read(pdl_str path, pdl_times **out, pdl_err *err);
void pdl_times_free(pdl_times *t); /* t may be NULL */

/* Returns nanoseconds since the epoch for an event of the replay. Events must be passed in order.
 * The result is the time of the same event in the recording, or else the latest time before it. The
 * result is 0 for pieces of answers, because their times are not recorded. This function can be
 * used as pdl_sinks.now; `user` is then the pdl_times that pdl_times_read made. */
int64_t pdl_times_of(void *user, const pdl_event *e);

#endif
