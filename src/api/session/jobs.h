/* jobs.h -- limits how many model calls are open at a time, over all tasks that share a loop. Each
 * task has a world that uses the common count; a call without a place waits in the order of
 * arrival. Private to api.
 *
 * Calls that wait are started by pdl_jobs_launch alone, between the turns of the tasks: a reply or
 * a cancellation may come in the middle of anything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_JOBS_H
#define PDL_API_JOBS_H

#include "effect/effect.h"

typedef struct pdl_jobs pdl_jobs;

pdl_jobs *pdl_jobs_new(uint32_t most); /* most: maximum number of open calls; 0: 64. */
void pdl_jobs_free(pdl_jobs *j);       /* called after all of its worlds; j may be NULL */

/* Makes a world that counts the model calls of a task; it borrows j and the next world. */
pdl_world *pdl_jobs_world_new(pdl_jobs *j, pdl_world *next);

/* Starts calls for which there is a place now. */
void pdl_jobs_launch(pdl_jobs *j);
bool pdl_jobs_are_ready(const pdl_jobs *j); /* true when pdl_jobs_launch would start one */

#endif
