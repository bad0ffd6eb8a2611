/* inflight_limit.c -- see inflight_limit.h. A ceiling for effects in flight.
 *
 * A fiber waits for a reply only where it uses the reply. So a loop that never uses its replies
 * would request as many effects as it has iterations. Each of them takes memory until it is sent,
 * and costs money. So when the ceiling is reached, a fiber that requests an effect is parked before
 * it has changed anything. The fiber executes the same instruction again when a slot is free. A
 * slot becomes free when a reply arrives, so no reply may depend on a parked fiber:
 *
 *   - A model call needs no fiber of the run to be answered, so every fiber may wait for its slot.
 *   - A call of Python may call back into the program, and ends only after that call. A fiber that
 *     serves such a call never waits for the slots of these effects (serves_code).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/inflight_limit.h"

#include <assert.h>

#include "base/idmap.h"
#include "base/limits.h"
#include "vm/fiber.h"
#include "vm/run.h"

#include "base/banned.h"

static size_t n_waiting(const pdl_run *r) { return r->effects.queue.n - r->effects.queue_head; }

/* Returns the ceiling, which is `most` or a smaller number N of PDL_STRESS=slots:N. With a small N,
 * few calls show what happens when all slots are taken. */
static size_t ceiling(const pdl_run *r, size_t most) {
    size_t said = r->opt.debug ? r->opt.debug->slots : 0;
    return PDL_LIKELY(!said) || said > most ? most : said;
}

bool pdl_run_is_full(const pdl_run *r) {
    return r->effects.n_late >= ceiling(r, PDL_MAX_OPEN_EFFECTS);
}

/* Removes the consumed part of a queue when this part is larger than the rest. A queue that is
 * consumed from the front may otherwise never become empty. Returns the new head. */
static size_t close_gap(uint32_t *p, size_t *n, size_t head) {
    enum { FEW = 64 };
    assert(head <= *n);
    if (head < *n && (head < FEW || head < *n / 2)) return head;
    memmove(p, p + head, (*n - head) * sizeof *p);
    *n -= head;
    return 0;
}

void pdl_run_queue_model(pdl_run *r, pdl_inflight *c) {
    assert(c->kind == PDL_EFFECT_model && c->effect);
    *pdl_vec_push(&r->effects.queue) = c->id;
}

pdl_inflight *pdl_run_next_model(pdl_run *r) {
    uint32_t jobs = r->opt.jobs ? r->opt.jobs : PDL_MAX_JOBS;
    while (n_waiting(r) && r->effects.n_models < jobs) {
        pdl_inflight *c =
            pdl_idmap_find(&r->effects.by_id, r->effects.queue.p[r->effects.queue_head++]);
        if (c && c->effect) return c;
    }
    if (r->effects.queue.n)
        r->effects.queue_head =
            close_gap(r->effects.queue.p, &r->effects.queue.n, r->effects.queue_head);
    return NULL;
}

static pdl_step park(pdl_fiber *f, pdl_slot slot) {
    assert(f->state == FIBER_READY && !f->queued);
    *pdl_vec_push(&f->run->fibers.parked[slot].fibers) = f->id;
    f->state = FIBER_WAIT_SLOT;
    return PDL_STEP_WAIT;
}

pdl_step pdl_await_model_slot(pdl_fiber *f) {
    bool is_free = n_waiting(f->run) < ceiling(f->run, PDL_MAX_WAITING_CALLS);
    return PDL_LIKELY(is_free) ? PDL_STEP_DONE : park(f, PDL_SLOT_MODEL);
}

/* Returns true when a call of the code worker waits for the end of f. */
static bool serves_code(const pdl_fiber *f) {
    for (; f; f = f->parent)
        if (f->done) return true;
    return false;
}

pdl_step pdl_await_effect_slot(pdl_fiber *f) {
    return PDL_LIKELY(!pdl_run_is_full(f->run)) || serves_code(f) ? PDL_STEP_DONE
                                                                  : park(f, PDL_SLOT_EFFECT);
}

void pdl_fiber_clear_woken(pdl_fiber *f) {
    if (f->woken) f->run->fibers.parked[f->woken_for].n_woken--;
    f->woken = false;
}

static void wake(pdl_run *r, pdl_slot slot, size_t used, size_t most) {
    pdl_parked *p = &r->fibers.parked[slot];
    size_t room = used < most ? most - used : 0;
    while (p->head < p->fibers.n && p->n_woken < room) {
        pdl_fiber *f = pdl_idmap_find(&r->fibers.by_id, p->fibers.p[p->head++]);
        if (!f || f->state != FIBER_WAIT_SLOT) continue;
        f->woken = true;
        f->woken_for = slot;
        p->n_woken++;
        pdl_fiber_ready(f);
    }
    if (p->fibers.n) p->head = close_gap(p->fibers.p, &p->fibers.n, p->head);
}

void pdl_run_wake(pdl_run *r) {
    wake(r, PDL_SLOT_MODEL, n_waiting(r), ceiling(r, PDL_MAX_WAITING_CALLS));
    wake(r, PDL_SLOT_EFFECT, r->effects.n_late, ceiling(r, PDL_MAX_OPEN_EFFECTS));
}

void pdl_run_unpark_all(pdl_run_fibers *f) {
    for (size_t i = 0; i < PDL_SLOT_COUNT; i++) pdl_vec_fini(&f->parked[i].fibers);
}
