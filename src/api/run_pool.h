/* run_pool.h -- many runs side by side in one session, with a maximum number at a time: the rows of
 * a batch, the candidates of a search, the particles of an inference.
 *
 * The pool knows which runs can continue, steps only these, and waits for answers. The caller
 * decides what a run is for, which run is next, and when all of them are over. Each run has a slot,
 * and the slots are numbered from 0. A slot is taken, gets a run, and is ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_RUN_POOL_H
#define PDL_API_RUN_POOL_H

#include "api/session.h"

typedef struct pdl_run_pool pdl_run_pool;

/* Called when the run of a slot has ended (DONE, FAIL) or is held (WAIT). The function ends the
 * slot, or leaves a held run in it. After the end of a slot, the function may begin another run
 * there, which is stepped at once. Returns false to stop the stepping. */
typedef bool pdl_run_pool_fn(void *user, uint32_t slot, pdl_step step, pdl_err *err);

typedef struct pdl_run_pool_options {
    pdl_session *session;
    uint32_t n; /* number of slots */
    /* The budget to which all runs are charged; borrowed; may be NULL. */
    struct pdl_budget *budget;
    bool counts_cost; /* the cost of each run is counted, in a separate budget inside `budget` */
    pdl_run_pool_fn *stepped;
    void *user;
} pdl_run_pool_options;

/* The calls, tokens and cost that a run used. */
typedef struct pdl_run_use {
    int64_t calls, prompt, completion;
    double cost; /* 0 unless counts_cost is set */
} pdl_run_use;

pdl_run_pool *pdl_run_pool_new(const pdl_run_pool_options *o);
/* Ends all runs. NULL is allowed. */
void pdl_run_pool_free(pdl_run_pool *p);

/* Returns the number of free slots. */
uint32_t pdl_run_pool_room(const pdl_run_pool *p);
/* Takes a free slot, preferably the slot that was ended last. There must be a free slot. */
uint32_t pdl_run_pool_take(pdl_run_pool *p);
/* Starts a run in a taken slot. The pool fills in slot, group, waker and budget of the spawn. */
void pdl_run_pool_begin(pdl_run_pool *p, uint32_t slot, pdl_spawn spawn);
/* Starts a copy of a held run; the copy is held, too. Returns false when the run cannot be copied
 * (pdl_session_copy); the slot is still taken then. */
bool pdl_run_pool_copy(pdl_run_pool *p, uint32_t slot, pdl_spawn spawn, const pdl_run *of,
                       const char **why, pdl_loc *loc);
/* Makes the held run in a slot another particle; see pdl_session_rename. */
void pdl_run_pool_rename(pdl_run_pool *p, uint32_t slot, pdl_spawn spawn);
/* Lets the held run in a slot continue. */
void pdl_run_pool_continue(pdl_run_pool *p, uint32_t slot);
/* Releases the run in a slot, if there is one, and makes the slot free. */
void pdl_run_pool_end(pdl_run_pool *p, uint32_t slot);

/* Returns the run in a slot; NULL when there is none. Borrowed. */
pdl_run *pdl_run_pool_get(const pdl_run_pool *p, uint32_t slot);
pdl_run_use pdl_run_pool_use(const pdl_run_pool *p, uint32_t slot);
/* Returns true when a run failed only because the budget of all runs is used up. */
bool pdl_run_pool_is_spent(const pdl_run_pool *p, const pdl_err *e);

/* Steps the run of one slot until it waits or ends. Returns the result of pdl_run_pool_fn. */
PDL_MUST bool pdl_run_pool_step_slot(pdl_run_pool *p, uint32_t slot, pdl_err *err);
/* Steps once each run that can continue. A run that can then continue again, or that began during
 * this call, is stepped by the next call. */
PDL_MUST bool pdl_run_pool_step(pdl_run_pool *p, pdl_err *err);
/* Returns true when a run can be stepped before any answer arrives. */
bool pdl_run_pool_is_ready(const pdl_run_pool *p);
/* Returns the number of runs that have not ended and are not held. */
uint32_t pdl_run_pool_open(const pdl_run_pool *p);
/* Waits for answers for timeout_ms at most. Returns false when runs wait for an answer that cannot
 * arrive. */
bool pdl_run_pool_wait(pdl_run_pool *p, int timeout_ms);
/* Fails all waiting runs with this message. Called when the answers for which these runs wait
 * cannot arrive. Only a fault of libpdl leads to that, and even then the process must not hang. */
void pdl_run_pool_give_up(pdl_run_pool *p, const char *message);

#endif
