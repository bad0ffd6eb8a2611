/* wait.c -- see wait.h. A fiber that must wait is added to the waiters of the call (pdl_vm_force)
 * or counts its open calls (pdl_inflight_await). The last reply makes it runnable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/wait.h"

#include "base/idmap.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/run.h"
#include "vm/stacks.h"

#include "base/banned.h"

static pdl_step wait_for_call(pdl_fiber *f, uint32_t id) {
    pdl_inflight *c = pdl_idmap_find(&f->run->effects.by_id, id);
    if (!c) PDL_BUG("promise of call %u that is gone", id);
    *pdl_vec_push(&c->waiters) = f->id;
    f->state = FIBER_WAIT_CALL;
    f->wait_id = id;
    return PDL_STEP_WAIT;
}

pdl_step pdl_vm_force_promise(pdl_fiber *f, pdl_val *slot, pdl_err *err) {
    pdl_vref b = pdl_promise_blocking(*slot);
    if (pdl_is_absent(b)) {
        pdl_val out;
        if (!pdl_promise_resolve(*slot, &out, err)) return PDL_STEP_FAIL;
        set_val(slot, out);
        return PDL_STEP_DONE;
    }
    pdl_promise *p = pdl_promise_of(b);
    if (p->state == PDL_PROMISE_FAILED) {
        pdl_err_copy(err, &p->err);
        return PDL_STEP_FAIL;
    }
    return wait_for_call(f, p->id);
}

bool pdl_inflight_raise_unnoticed(const pdl_fiber *f, pdl_err *err) {
    for (size_t i = 0; i < f->calls.n; i++) {
        if (!f->calls.p[i].raises || pdl_is_absent(f->calls.p[i].failed)) continue;
        pdl_err_copy(err, &pdl_promise_of(f->calls.p[i].failed)->err);
        return false;
    }
    return true;
}

pdl_step pdl_inflight_await(pdl_fiber *f, uint32_t from, bool raise, pdl_err *err) {
    uint32_t open = 0;
    for (size_t i = f->calls.n; i-- > 0 && f->calls.p[i].number >= from;)
        open += pdl_is_absent(f->calls.p[i].failed);
    if (open) {
        f->state = FIBER_WAIT_CALLS;
        f->wait_from = from;
        f->wait_left = open;
        return PDL_STEP_WAIT;
    }
    size_t first = f->calls.n; /* the remaining calls have failed */
    while (first > 0 && f->calls.p[first - 1].number >= from) first--;
    if (!raise || first == f->calls.n) return PDL_STEP_DONE;
    pdl_err_copy(err, &pdl_promise_of(f->calls.p[first].failed)->err);
    while (f->calls.n > first) pdl_drop(f->calls.p[--f->calls.n].failed);
    return PDL_STEP_FAIL;
}
