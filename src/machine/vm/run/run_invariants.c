/* run_invariants.c -- the invariants of the machine's structures, asserted where they are changed.
 *
 * Builds with assertions check them at the entry and exit of functions that change a fiber, an
 * effect in flight, a queue of output or a run. So the function that breaks a structure is
 * reported. Each check examines a bounded number of members: an element below the top of a stack
 * was checked when it was the top. Input is never checked in this way, because it may be anything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/loop.h"
#include "vm/output_order_impl.h"
#include "vm/run.h"

#include "base/banned.h"

/* The heights of the stacks that a frame or a handler remembers. */
typedef struct heights {
    size_t stack, blocks, saves, loops, bufs, handlers, locals;
} heights;

static bool is_within(heights low, heights high) {
    return low.stack <= high.stack && low.blocks <= high.blocks && low.saves <= high.saves &&
           low.loops <= high.loops && low.bufs <= high.bufs && low.handlers <= high.handlers &&
           low.locals <= high.locals;
}

static heights of_frame(const pdl_vm_frame *fr) {
    return (heights){fr->stack, fr->blocks,   fr->saves, fr->loops,
                     fr->bufs,  fr->handlers, fr->locals};
}

static bool frames_ok(const pdl_fiber *f, heights now) {
    size_t n = f->frames.n;
    if (!n) return true;
    if (!is_within(of_frame(&f->frames.p[n - 1]), now)) return false;
    return n < 2 || is_within(of_frame(&f->frames.p[n - 2]), of_frame(&f->frames.p[n - 1]));
}

/* Checks that a handler belongs to a frame that still exists. */
static bool handlers_ok(const pdl_fiber *f, heights now) {
    if (!f->handlers.n) return true;
    const pdl_handler *h = &f->handlers.p[f->handlers.n - 1];
    heights at = {h->stack, h->blocks, h->saves, h->loops, h->bufs, 0, h->locals};
    return h->frame <= f->frames.n && h->calls_from <= f->n_calls && is_within(at, now);
}

/* Checks that the numbers of the calls ascend, and that a fiber waits only for its own calls. */
static bool calls_ok(const pdl_fiber *f) {
    size_t n = f->calls.n;
    if (n && f->calls.p[n - 1].number >= f->n_calls) return false;
    if (n > 1 && f->calls.p[n - 2].number >= f->calls.p[n - 1].number) return false;
    return f->state != FIBER_WAIT_CALLS || f->wait_left <= n;
}

bool pdl_fiber_ok(const pdl_fiber *f) {
    heights now = {f->stack.n, f->blocks.n,   f->saves.n, f->loops.n,
                   f->bufs.n,  f->handlers.n, f->locals.n};
    bool waits = f->state != FIBER_READY && f->state != FIBER_DONE && f->state != FIBER_FAILED;
    if (f->queued && waits) return false; /* a cancelled fiber may still be in a queue */
    return f->run && f->local_base <= f->locals.n && frames_ok(f, now) && handlers_ok(f, now) &&
           calls_ok(f);
}

bool pdl_inflight_ok(const pdl_inflight *c) {
    bool is_model = c->kind == PDL_EFFECT_model;
    if (pdl_idmap_find(&c->run->effects.by_id, c->id) != c) return false;
    if (c->done && c->effect) return false; /* a reply needs a launched effect */
    if (c->failed && !c->done) return false;
    if (!is_model && (c->stages || c->out)) return false;
    return !c->out || c->out->call == c;
}

static bool item_ok(const pdl_outitem *i) {
    if (i->kind == PDL_OUT_CALL) return !i->call || i->call->out == i;
    return !i->call && (i->kind == PDL_OUT_QUEUE) == (i->queue != NULL);
}

bool pdl_outq_ok(const pdl_outq *q) {
    if (!q->first || !q->last) return !q->first && !q->last;
    return !q->last->next && !q->first->before && item_ok(q->first) && item_ok(q->last);
}

bool pdl_run_ok(const pdl_run *r) {
    return pdl_run_fibers_ok(&r->fibers) && pdl_run_effects_ok(&r->effects) &&
           pdl_run_output_ok(&r->output) && pdl_run_outcome_ok(&r->outcome) &&
           pdl_run_code_ok(&r->code) && pdl_run_memory_ok(&r->memory) &&
           pdl_random_source_ok(&r->random);
}

bool pdl_mapping_ok(const pdl_mapping *m) {
    if (m->ended > m->started || m->open > m->started || m->started > m->n) return false;
    /* the sum is less when some iterations were cancelled */
    return m->ended + m->open <= m->started;
}
