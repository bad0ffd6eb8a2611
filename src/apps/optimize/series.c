/* series.c -- runs a series of short runs; see series.h. It uses a pool of runs. As soon as a run
 * in the pool has ended, the next run begins.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/series.h"

#include "base/banned.h"

enum { WAIT_MS = 200 }; /* the time between two checks of the clock */
#define NO_SLOT UINT32_MAX

/* A slot of the pool. */
typedef struct opt_slot {
    const opt_series *s;
    size_t work; /* number of the run in the series */
} slot;

typedef struct opt_running {
    const opt_stage *on;
    const opt_series *s;
    pdl_run_pool *pool;
    slot *slots;
    size_t next;
    bool spent;
} running;

static void on_event(void *user, const pdl_event *e) {
    slot *f = user;
    f->s->event(f->s->user, f->work, e);
}

static bool has_next(const running *r) {
    return r->next < r->s->n && !r->spent && pdl_run_pool_room(r->pool);
}

static void begin(running *r) {
    uint32_t at = pdl_run_pool_take(r->pool);
    slot *f = &r->slots[at];
    opt_start start = {.variables = pdl_absent(), .draw = PDL_BUF};
    *f = (slot){r->s, r->next++};
    r->s->begin(r->s->user, f->work, &start);
    pdl_run_pool_begin(r->pool, at,
                       (pdl_spawn){.code = start.code,
                                   .dir = r->on->dir,
                                   .variables = start.variables,
                                   .sink = {f, r->s->event ? on_event : NULL, false},
                                   .draw = pdl_buf_str(&start.draw)});
    pdl_drop(start.variables);
    pdl_buf_fini(&start.draw);
}

/* Counts the cost of the open runs so far, without the run in the slot `but`, which has ended. */
static void count_open(const running *r, uint32_t but) {
    double cost = 0;
    if (!r->on->open_cost) return;
    for (uint32_t i = 0; i < r->on->jobs; i++)
        if (i != but && pdl_run_pool_get(r->pool, i)) cost += pdl_run_pool_use(r->pool, i).cost;
    *r->on->open_cost = cost;
}

static bool ended(void *user, uint32_t at, pdl_step step, pdl_err *err) {
    running *r = user;
    const pdl_run *run = pdl_run_pool_get(r->pool, at);
    const pdl_err *e = step == PDL_STEP_FAIL ? pdl_run_error(run) : NULL;
    pdl_run_use use = pdl_run_pool_use(r->pool, at);
    opt_end how = {.result = e ? pdl_absent() : pdl_run_result(run),
                   .error = e,
                   .calls = use.calls,
                   .tokens = use.completion + use.prompt};
    (void)err;
    /* `end` may write both sums, so the sums are updated before `end` is called, and no run is
     * counted twice */
    *r->on->cost += use.cost;
    count_open(r, at);
    if (e && pdl_run_pool_is_spent(r->pool, e))
        r->spent = true;
    else if (!(r->on->cancel && *r->on->cancel))
        r->s->end(r->s->user, r->slots[at].work, &how);
    pdl_run_pool_end(r->pool, at);
    if (has_next(r)) begin(r);
    return true;
}

static bool turn(running *r, pdl_err *err) {
    while (has_next(r)) begin(r);
    if (!pdl_run_pool_step(r->pool, err)) return false;
    count_open(r, NO_SLOT);
    if (r->on->tick) r->on->tick(r->on->user);
    if (pdl_run_pool_open(r->pool) && !pdl_run_pool_wait(r->pool, WAIT_MS))
        pdl_run_pool_give_up(r->pool, "the run waits for an answer that cannot come");
    return true;
}

bool pdl_series_run(const opt_stage *on, const opt_series *s, bool *spent, pdl_err *err) {
    running r = {.on = on, .s = s, .slots = PDL_NEW_N(slot, on->jobs)};
    bool ok = true;
    r.pool = pdl_run_pool_new(&(pdl_run_pool_options){.session = on->session,
                                                      .n = on->jobs,
                                                      .budget = on->budget,
                                                      .counts_cost = true,
                                                      .stepped = ended,
                                                      .user = &r});
    while (ok && (pdl_run_pool_open(r.pool) || has_next(&r))) {
        ok = !on->cancel || !*on->cancel || pdl_err_signal(err, *on->cancel);
        ok = ok && turn(&r, err);
    }
    pdl_run_pool_free(r.pool);
    *spent = r.spent;
    pdl_free(r.slots);
    return ok;
}
