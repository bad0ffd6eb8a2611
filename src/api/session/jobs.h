/* jobs.h -- how many calls of models are open at a time, over all tasks that share a loop. Each
 * task has a world that asks the common count; what finds no place waits in the order in which it
 * came. Private to api.
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

pdl_jobs *pdl_jobs_new(uint32_t most); /* 0: 64 */
void pdl_jobs_free(pdl_jobs *j);       /* NULL is fine; after all of its worlds */

/* A world in front of `behind` (borrowed), which counts its calls of models. Borrows j. */
pdl_world *pdl_jobs_world_new(pdl_jobs *j, pdl_world *behind);

/* Starts calls for which there is a place now. */
void pdl_jobs_launch(pdl_jobs *j);
bool pdl_jobs_are_ready(const pdl_jobs *j); /* would pdl_jobs_launch start one? */

#endif
