/* run_pool.h -- many runs beside each other on one session, at most so many at a time: the rows of
 * a batch, the candidates of a search, the particles of an inference.
 *
 * The pool numbers the slots, knows which runs can continue, steps only these, and waits for
 * answers. The caller decides what a run is for, which run is next and when all of them are over. A
 * slot is taken, gets a run, and is ended; its number is below the number of slots.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_RUN_POOL_H
#define PDL_API_RUN_POOL_H

#include "api/session.h"

typedef struct pdl_run_pool pdl_run_pool;

/* Called when the run of a slot has ended (DONE, FAIL) or is held (WAIT). It ends the slot, or
 * keeps a held run there. It may begin another run in the slot that it has ended: that one is
 * stepped at once. Returns false to stop the stepping. */
typedef bool pdl_run_pool_fn(void *user, uint32_t slot, pdl_step step, pdl_err *err);

typedef struct pdl_run_pool_options {
    pdl_session *session;
    uint32_t n; /* number of slots */
    /* All runs are charged to it; borrowed; NULL: none. */
    struct pdl_budget *budget;
    bool counts_cost; /* the cost of each run is counted, by a budget inside that one */
    pdl_run_pool_fn *stepped;
    void *user;
} pdl_run_pool_options;

/* The use of a run. */
typedef struct pdl_run_use {
    int64_t calls, prompt, completion;
    double cost; /* 0 unless the pool counts it */
} pdl_run_use;

pdl_run_pool *pdl_run_pool_new(const pdl_run_pool_options *o);
/* Ends all runs. NULL is fine. */
void pdl_run_pool_free(pdl_run_pool *p);

/* Returns the number of slots that can be taken. */
uint32_t pdl_run_pool_room(const pdl_run_pool *p);
/* Takes a slot, while there is room: the one that was ended last, if any was. */
uint32_t pdl_run_pool_take(pdl_run_pool *p);
/* Starts a run in a taken slot. The pool fills in slot, group, waker and budget of the spawn. */
void pdl_run_pool_begin(pdl_run_pool *p, uint32_t slot, pdl_spawn spawn);
/* Starts a copy of a held run, which is held, too. Returns false when that cannot be, as
 * pdl_session_copy; the slot is then still taken. */
bool pdl_run_pool_copy(pdl_run_pool *p, uint32_t slot, pdl_spawn spawn, const pdl_run *of,
                       const char **why, pdl_loc *loc);
/* Makes the held run of a slot another particle, as pdl_session_rename. */
void pdl_run_pool_rename(pdl_run_pool *p, uint32_t slot, pdl_spawn spawn);
/* Lets the held run of a slot continue. */
void pdl_run_pool_continue(pdl_run_pool *p, uint32_t slot);
/* Releases the run of a slot, if it has one, and gives the slot back. */
void pdl_run_pool_end(pdl_run_pool *p, uint32_t slot);

/* Returns the run of a slot, NULL when it has none. Borrowed. */
pdl_run *pdl_run_pool_get(const pdl_run_pool *p, uint32_t slot);
pdl_run_use pdl_run_pool_use(const pdl_run_pool *p, uint32_t slot);
/* Returns true when a run failed because the budget of all runs allows nothing more: that is not
 * its fault. */
bool pdl_run_pool_is_spent(const pdl_run_pool *p, const pdl_err *e);

/* Steps the run of one slot as far as it comes. Returns what pdl_run_pool_fn returned. */
PDL_MUST bool pdl_run_pool_step_slot(pdl_run_pool *p, uint32_t slot, pdl_err *err);
/* Steps each run that can continue. One that can continue again, or that began meanwhile, has its
 * next step in the next call. */
PDL_MUST bool pdl_run_pool_step(pdl_run_pool *p, pdl_err *err);
/* Returns true when a run can be stepped before any answer arrives. */
bool pdl_run_pool_is_ready(const pdl_run_pool *p);
/* Returns the number of runs that have not ended and are not held. */
uint32_t pdl_run_pool_open(const pdl_run_pool *p);
/* Waits for answers at most so long. Returns false when runs wait for an answer that cannot
 * come. */
bool pdl_run_pool_wait(pdl_run_pool *p, int timeout_ms);
/* Fails all runs that wait, with this message. It is for answers that cannot come: that would be a
 * fault of this program, but it must not hang. */
void pdl_run_pool_give_up(pdl_run_pool *p, const char *message);

#endif
