/* run_pool.c -- see run_pool.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/run_pool.h"

#include "base/vec.h"
#include "effect/budget.h"

#include "base/banned.h"

enum { WAIT_MS = 200 }; /* the time between two checks of the clock and of all slots */

typedef struct opt_slot {
    struct opt_running *in;
    pdl_run *run; /* NULL when the slot is free */
    pdl_budget *budget;
    size_t work; /* number of the run in the series */
    bool fresh, listed; /* not stepped yet; in `ready` */
} slot;

typedef struct opt_running {
    const opt_pool *p;
    const opt_series *s;
    slot *slots;
    PDL_VEC(uint32_t) ready;
    size_t next, open;
    bool spent;
} running;

static void on_ready(void *user) {
    slot *f = user;
    if (f->listed) return;
    f->listed = true;
    *pdl_vec_push(&f->in->ready) = (uint32_t)(f - f->in->slots);
}

static void on_event(void *user, const pdl_event *e) {
    slot *f = user;
    f->in->s->event(f->in->s->user, f->work, e);
}

static void begin(running *r, slot *f) {
    static const double unlimited[PDL_BUDGET_COUNT] = {-1, -1, -1, -1, -1};
    uint32_t at = (uint32_t)(f - r->slots);
    opt_start start = {.variables = pdl_absent(), .draw = PDL_BUF};
    f->work = r->next++;
    r->s->begin(r->s->user, f->work, &start);
    f->budget = pdl_budget_new(unlimited, r->p->budget, (pdl_loc){0});
    f->fresh = true;
    pdl_sink sink = {f, r->s->event ? on_event : NULL, false};
    f->run = pdl_session_spawn(r->p->session, &(pdl_spawn){.code = start.code,
                                                           .dir = r->p->dir,
                                                           .stream = PDL_STREAM_NONE,
                                                           .variables = start.variables,
                                                           .sink = sink,
                                                           .waker = {on_ready, f},
                                                           .slot = at,
                                                           .group = at,
                                                           .draw = pdl_buf_str(&start.draw),
                                                           .budget = f->budget});
    r->open++;
    pdl_drop(start.variables);
    pdl_buf_fini(&start.draw);
    on_ready(f);
}

static void free_slot(running *r, slot *f) {
    pdl_session_release(r->p->session, f->run, (uint32_t)(f - r->slots));
    pdl_budget_drop(f->budget);
    f->run = NULL;
    f->budget = NULL;
    r->open--;
}

/* Returns true when the run ended because nothing more may be used, which is not its fault. */
static bool is_spent(const running *r, const pdl_err *e) {
    return r->p->budget && e->kind == PDL_E_budget && e->facts.has_budget &&
           !e->facts.budget_depth;
}

static void end(running *r, slot *f, pdl_step step) {
    const pdl_err *e = step == PDL_STEP_FAIL ? pdl_run_error(f->run) : NULL;
    int64_t completion, prompt;
    opt_end how = {.result = e ? pdl_absent() : pdl_run_result(f->run), .error = e};
    pdl_run_usage(f->run, &how.calls, &completion, &prompt);
    how.tokens = completion + prompt;
    how.cost = f->budget->used[PDL_BUDGET_cost];
    if (e && is_spent(r, e))
        r->spent = true;
    else if (!(r->p->cancel && *r->p->cancel))
        r->s->end(r->s->user, f->work, &how);
    free_slot(r, f);
}

static bool can_continue(const slot *f) {
    return f->run && (f->fresh || pdl_run_is_ready(f->run));
}

static void step_ready(running *r) {
    size_t n = r->ready.n;
    for (size_t i = 0; i < n; i++) {
        slot *f = &r->slots[r->ready.p[i]];
        f->listed = false;
        while (can_continue(f)) {
            f->fresh = false;
            pdl_step step = pdl_run_step(f->run);
            if (step == PDL_STEP_WAIT) {
                if (can_continue(f)) on_ready(f); /* it yielded to the others */
                break;
            }
            end(r, f, step);
            if (r->next < r->s->n && !r->spent) begin(r, f);
        }
    }
    r->ready.n -= n;
    for (size_t i = 0; i < r->ready.n; i++) r->ready.p[i] = r->ready.p[n + i];
}

/* Ends runs that wait for an answer that cannot come. That would be a fault of this program, but it
 * must not hang. */
static void give_up(running *r) {
    for (uint32_t i = 0; i < r->p->jobs; i++) {
        pdl_err err = {0};
        if (!r->slots[i].run) continue;
        pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0},
                    "the run waits for an answer that cannot come");
        pdl_run_cancel(r->slots[i].run, &err);
        r->slots[i].fresh = true;
        on_ready(&r->slots[i]);
    }
}

static bool list_unannounced(running *r) {
    bool any = false;
    for (uint32_t i = 0; i < r->p->jobs; i++) {
        if (!can_continue(&r->slots[i])) continue;
        on_ready(&r->slots[i]);
        any = true;
    }
    return any;
}

static void turn(running *r) {
    for (uint32_t i = 0; r->next < r->s->n && !r->spent && r->open < r->p->jobs && i < r->p->jobs;
         i++)
        if (!r->slots[i].run) begin(r, &r->slots[i]);
    step_ready(r);
    if (r->p->tick) r->p->tick(r->p->user);
    if (!r->open) return;
    bool open = pdl_session_poll(r->p->session, r->ready.n ? 0 : WAIT_MS);
    if (!r->ready.n && !list_unannounced(r) && !open) give_up(r);
}

bool pdl_pool_run(const opt_pool *p, const opt_series *s, bool *spent, pdl_err *err) {
    running r = {.p = p, .s = s, .slots = PDL_NEW_N(slot, p->jobs)};
    bool ok = true;
    for (uint32_t i = 0; i < p->jobs; i++) r.slots[i].in = &r;
    while (ok && (r.open || (r.next < s->n && !r.spent))) {
        ok = !p->cancel || !*p->cancel || pdl_err_signal(err, *p->cancel);
        if (ok) turn(&r);
    }
    for (uint32_t i = 0; i < p->jobs; i++)
        if (r.slots[i].run) free_slot(&r, &r.slots[i]);
    *spent = r.spent;
    pdl_vec_fini(&r.ready);
    pdl_free(r.slots);
    return ok;
}
