/* schedule.c -- the fibers of a run, and which of them has its turn next.
 *
 * Runnable fibers are in a queue, first in first out. Its links are in the fibers themselves, so a
 * turn allocates no memory. run.c decides what runs in a turn and when a run waits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>

#include "vm/inflight_limit.h"
#include "vm/run.h"

#include "base/banned.h"

/* With PDL_STRESS=sched:SEED, picks one of the first runnable fibers. The result of a program must
 * not depend on this choice. */
static size_t random_place(pdl_run *r) {
    enum { WINDOW = 64 };
    size_t n = 0;
    for (const pdl_fiber *f = r->fibers.ready_first; f && n < WINDOW; f = f->next_ready) n++;
    if (!r->fibers.shuffle) r->fibers.shuffle = r->opt.debug->sched_seed * 0x9e3779b97f4a7c15u | 1;
    r->fibers.shuffle ^= r->fibers.shuffle << 13;
    r->fibers.shuffle ^= r->fibers.shuffle >> 7;
    r->fibers.shuffle ^= r->fibers.shuffle << 17;
    return n ? (size_t)(r->fibers.shuffle >> 11) % n : 0;
}

pdl_fiber *pdl_run_next_fiber(pdl_run *r) {
    pdl_fiber *f = r->fibers.ready_first, *before = NULL;
    if (!f) return NULL;
    for (size_t skip = r->opt.debug && r->opt.debug->sched_seed ? random_place(r) : 0; skip;
         skip--) {
        before = f;
        f = f->next_ready;
    }
    if (before)
        before->next_ready = f->next_ready;
    else
        r->fibers.ready_first = f->next_ready;
    if (r->fibers.ready_last == f) r->fibers.ready_last = before;
    f->queued = false;
    return f;
}

void pdl_run_fibers_end(pdl_run_fibers *f) {
    f->closing = true;
    while (f->all) pdl_fiber_free(f->all);
    f->main = NULL;
    pdl_idmap_fini(&f->by_id);
    pdl_run_unpark_all(f);
}

static bool parked_ok(const pdl_parked *p) { return p->head <= p->fibers.n; }

bool pdl_run_fibers_ok(const pdl_run_fibers *f) {
    if (!f->ready_first != !f->ready_last) return false;
    if (f->ready_last && f->ready_last->next_ready) return false;
    if (f->all && f->all->prev_all) return false;
    return parked_ok(&f->parked[PDL_SLOT_MODEL]) && parked_ok(&f->parked[PDL_SLOT_EFFECT]);
}
