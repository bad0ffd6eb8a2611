/* run_pool.c -- keeps the slots of runs that are side by side; see run_pool.h. Each run announces
 * when it can continue, because examining thousands of runs in every turn would cost more than
 * stepping the few that can continue.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/run_pool.h"

#include <assert.h>
#include <string.h>

#include "base/vec.h"
#include "effect/budget.h"
#include "io/clock.h"

#include "base/banned.h"

enum { SEARCH_MS = 1000 };

typedef enum { SLOT_FREE, SLOT_TAKEN, SLOT_RUNS, SLOT_HELD, SLOT_ENDED } slot_state;

typedef struct run_slot {
    pdl_run_pool *in;
    pdl_run *run;
    pdl_budget *budget; /* the budget of this run, when the pool counts the cost of each run */
    slot_state state;
    bool fresh;    /* the run is new or copied, so it can continue although nothing has arrived */
    bool releases; /* the held run continues at the next step */
    bool listed;   /* the slot is in `ready` */
} slot;

struct pdl_run_pool {
    pdl_run_pool_options o;
    slot *slots;
    uint32_t *vacant; /* stack of the free slots */
    uint32_t n_free;
    uint32_t top;            /* slots from this number on were never used */
    uint32_t open;           /* runs in the state RUNS */
    PDL_VEC(uint32_t) ready; /* slots whose runs may be able to continue */
    uint64_t searched_ns;    /* when all runs were last examined */
};

/* Invariants of a pool. During a step, slots that were stepped before are still in `ready`, so a
 * slot may be listed twice. */
static inline bool pool_ok(const pdl_run_pool *p) {
    return p->n_free <= p->o.n && p->top <= p->o.n && p->open <= p->o.n - p->n_free &&
           p->ready.n <= 2 * (size_t)p->o.n;
}

static uint32_t number_of(const slot *f) { return (uint32_t)(f - f->in->slots); }

static void on_ready(void *user) {
    slot *f = user;
    if (f->listed) return;
    f->listed = true;
    *pdl_vec_push(&f->in->ready) = number_of(f);
}

static void set_state(slot *f, slot_state state) {
    f->in->open += (uint32_t)(state == SLOT_RUNS) - (uint32_t)(f->state == SLOT_RUNS);
    f->state = state;
}

pdl_run_pool *pdl_run_pool_new(const pdl_run_pool_options *o) {
    pdl_run_pool *p = PDL_NEW(pdl_run_pool);
    *p = (pdl_run_pool){
        .o = *o, .slots = PDL_NEW_N(slot, o->n), .vacant = PDL_NEW_N(uint32_t, o->n)};
    for (; p->n_free < o->n; p->n_free++) {
        p->slots[p->n_free].in = p;
        p->vacant[p->n_free] = o->n - 1 - p->n_free;
    }
    return p;
}

void pdl_run_pool_free(pdl_run_pool *p) {
    if (!p) return;
    for (uint32_t i = 0; i < p->top; i++)
        if (p->slots[i].state != SLOT_FREE) pdl_run_pool_end(p, i);
    pdl_vec_fini(&p->ready);
    pdl_free(p->slots);
    pdl_free(p->vacant);
    pdl_free(p);
}

/* --- slots ------------------------------------------------------------------------------------ */

uint32_t pdl_run_pool_room(const pdl_run_pool *p) { return p->n_free; }

uint32_t pdl_run_pool_take(pdl_run_pool *p) {
    assert(p->n_free);
    uint32_t at = p->vacant[--p->n_free];
    set_state(&p->slots[at], SLOT_TAKEN);
    if (at >= p->top) p->top = at + 1;
    assert(pool_ok(p));
    return at;
}

static void complete(slot *f, pdl_spawn *spawn) {
    static const double unlimited[PDL_BUDGET_COUNT] = {-1, -1, -1, -1, -1, -1};
    pdl_run_pool *p = f->in;
    spawn->slot = spawn->group = number_of(f);
    spawn->waker = (pdl_run_waker){on_ready, f};
    spawn->stream = PDL_STREAM_NONE;
    if (p->o.counts_cost && !f->budget)
        f->budget = pdl_budget_new(unlimited, p->o.budget, (pdl_loc){0});
    spawn->budget = f->budget ? f->budget : p->o.budget;
}

void pdl_run_pool_begin(pdl_run_pool *p, uint32_t at, pdl_spawn spawn) {
    slot *f = &p->slots[at];
    assert(f->state == SLOT_TAKEN && !f->run);
    complete(f, &spawn);
    f->run = pdl_session_spawn(p->o.session, &spawn);
    f->fresh = true;
    set_state(f, SLOT_RUNS);
    on_ready(f);
}

bool pdl_run_pool_copy(pdl_run_pool *p, uint32_t at, pdl_spawn spawn, const pdl_run *of,
                       const char **why, pdl_loc *loc) {
    slot *f = &p->slots[at];
    assert(f->state == SLOT_TAKEN && !f->run);
    complete(f, &spawn);
    f->run = pdl_session_copy(p->o.session, &spawn, of, why, loc);
    if (f->run) set_state(f, SLOT_HELD);
    return f->run != NULL;
}

void pdl_run_pool_rename(pdl_run_pool *p, uint32_t at, pdl_spawn spawn) {
    slot *f = &p->slots[at];
    assert(f->state == SLOT_HELD);
    complete(f, &spawn);
    pdl_session_rename(p->o.session, f->run, &spawn);
}

void pdl_run_pool_continue(pdl_run_pool *p, uint32_t at) {
    slot *f = &p->slots[at];
    assert(f->state == SLOT_HELD);
    f->fresh = f->releases = true;
    set_state(f, SLOT_RUNS);
    on_ready(f);
}

void pdl_run_pool_end(pdl_run_pool *p, uint32_t at) {
    slot *f = &p->slots[at];
    assert(f->state != SLOT_FREE);
    if (f->run) pdl_session_release(p->o.session, f->run, at);
    pdl_budget_drop(f->budget);
    set_state(f, SLOT_FREE);
    *f = (slot){.in = p, .listed = f->listed};
    p->vacant[p->n_free++] = at;
    assert(pool_ok(p));
}

pdl_run *pdl_run_pool_get(const pdl_run_pool *p, uint32_t at) { return p->slots[at].run; }

pdl_run_use pdl_run_pool_use(const pdl_run_pool *p, uint32_t at) {
    const slot *f = &p->slots[at];
    pdl_run_use use = {.cost = f->budget ? f->budget->used[PDL_BUDGET_cost] : 0};
    pdl_run_usage(f->run, &use.calls, &use.completion, &use.prompt);
    return use;
}

bool pdl_run_pool_is_spent(const pdl_run_pool *p, const pdl_err *e) {
    return p->o.budget && e->kind == PDL_E_budget && e->facts.has_budget && !e->facts.budget_depth;
}

/* --- steps ------------------------------------------------------------------------------------ */

static bool can_continue(const slot *f) {
    return f->state == SLOT_RUNS && (f->fresh || pdl_run_is_ready(f->run));
}

/* A run that begins in the slot of an ended run is stepped at once: it uses the same memory, which
 * is still in the processor's cache. If thousands of other runs were stepped first, the memory
 * would not be in the cache any more. */
bool pdl_run_pool_step_slot(pdl_run_pool *p, uint32_t at, pdl_err *err) {
    slot *f = &p->slots[at];
    while (can_continue(f)) {
        f->fresh = false;
        if (f->releases) pdl_run_release(f->run);
        f->releases = false;
        pdl_step step = pdl_run_step(f->run);
        bool waits = step == PDL_STEP_WAIT;
        if (waits && pdl_run_held(f->run) == PDL_HELD_NOT) {
            if (can_continue(f)) on_ready(f); /* the run has let others run, and can continue */
            return true;
        }
        set_state(f, waits ? SLOT_HELD : SLOT_ENDED);
        if (!p->o.stepped(p->o.user, at, step, err)) return false;
    }
    return true;
}

bool pdl_run_pool_step(pdl_run_pool *p, pdl_err *err) {
    bool ok = true;
    size_t n = p->ready.n, done = 0;
    while (ok && done < n) {
        uint32_t at = p->ready.p[done++];
        p->slots[at].listed = false;
        ok = pdl_run_pool_step_slot(p, at, err);
    }
    p->ready.n -= done;
    if (p->ready.n) memmove(p->ready.p, p->ready.p + done, p->ready.n * sizeof *p->ready.p);
    return ok;
}

/* --- waiting ---------------------------------------------------------------------------------- */

uint32_t pdl_run_pool_open(const pdl_run_pool *p) { return p->open; }

bool pdl_run_pool_is_ready(const pdl_run_pool *p) {
    for (size_t i = 0; i < p->ready.n; i++)
        if (can_continue(&p->slots[p->ready.p[i]])) return true;
    return false;
}

/* Examines all runs, and announces those that can continue. Returns true when there was one. A run
 * whose announcement was missed would wait for ever. So all runs are examined when nothing has
 * happened for a while, and before waiting runs are failed. */
static bool find_unannounced(pdl_run_pool *p) {
    size_t before = p->ready.n;
    p->searched_ns = pdl_clock_ns();
    for (uint32_t i = 0; i < p->top; i++)
        if (can_continue(&p->slots[i])) on_ready(&p->slots[i]);
    return p->ready.n > before;
}

static bool search_is_due(const pdl_run_pool *p) {
    return pdl_clock_ns() - p->searched_ns >= (uint64_t)SEARCH_MS * 1000000;
}

bool pdl_run_pool_wait(pdl_run_pool *p, int timeout_ms) {
    bool open = pdl_session_poll(p->o.session, pdl_run_pool_is_ready(p) ? 0 : timeout_ms);
    if (!p->open || pdl_run_pool_is_ready(p)) return true;
    return ((!open || (timeout_ms && search_is_due(p))) && find_unannounced(p)) || open;
}

void pdl_run_pool_give_up(pdl_run_pool *p, const char *message) {
    for (uint32_t i = 0; i < p->top; i++) {
        slot *f = &p->slots[i];
        pdl_err err = {0};
        if (f->state != SLOT_RUNS) continue;
        pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0}, "%s", message);
        pdl_run_cancel(f->run, &err);
        f->fresh = true;
        on_ready(f);
    }
}
