/* jobs.h -- limits how many model calls are open at a time, over all tasks that share a loop. Each
 * task has a world that uses the common count. A call that would exceed the limit waits; calls wait
 * in the order of arrival. Private to api.
 *
 * Only pdl_jobs_launch starts waiting calls, between the turns of the tasks. A reply or a
 * cancellation never starts a call, because replies and cancellations may come while other
 * functions are running.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_JOBS_H
#define PDL_API_JOBS_H

#include "effect/effect.h"

typedef struct pdl_jobs pdl_jobs;

pdl_jobs *pdl_jobs_new(uint32_t most); /* most is the maximum number of open calls; 0 means 64 */
void pdl_jobs_free(pdl_jobs *j);       /* called after all worlds of j were closed; j may be NULL */

/* Makes a world that counts the model calls of a task; it borrows j and the next world. */
pdl_world *pdl_jobs_world_new(pdl_jobs *j, pdl_world *next);

/* Starts waiting calls, as many as the limit allows now. */
void pdl_jobs_launch(pdl_jobs *j);
/* returns true when pdl_jobs_launch would start a call */
bool pdl_jobs_are_ready(const pdl_jobs *j);

#endif
