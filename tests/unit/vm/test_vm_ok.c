/* test_vm_ok.c -- the invariants that builds with assertions ask of the machine see what is broken.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/out_impl.h"
#include "vm/run.h"

#include "t.h"

#include "base/banned.h"

static void test_fiber(void **state) {
    (void)state;
    pdl_run r = {0};
    pdl_fiber f = {.run = &r};
    assert_true(pdl_fiber_ok(&f));
    *pdl_vec_push(&f.stack) = pdl_absent();
    *pdl_vec_push(&f.frames) = (pdl_vm_frame){.stack = 1};
    assert_true(pdl_fiber_ok(&f));
    f.stack.n = 0; /* below the base of the frame */
    assert_false(pdl_fiber_ok(&f));
    f.stack.n = 1;
    *pdl_vec_push(&f.handlers) = (pdl_handler){.frame = 2}; /* a frame that is gone */
    assert_false(pdl_fiber_ok(&f));
    f.handlers.p[0].frame = 1;
    assert_true(pdl_fiber_ok(&f));
    f.queued = true;
    f.state = FIBER_WAIT_CALL; /* it cannot be runnable */
    assert_false(pdl_fiber_ok(&f));
    f.state = FIBER_READY;
    *pdl_vec_push(&f.calls) = (struct pdl_made){.number = 3}; /* numbers begin at 0 */
    assert_false(pdl_fiber_ok(&f));
    pdl_vec_fini(&f.stack);
    pdl_vec_fini(&f.frames);
    pdl_vec_fini(&f.handlers);
    pdl_vec_fini(&f.calls);
}

static void test_inflight(void **state) {
    (void)state;
    pdl_run r = {0};
    pdl_inflight c = {.id = 7, .run = &r, .kind = PDL_EFFECT_model};
    assert_false(pdl_inflight_ok(&c)); /* nobody can find it */
    pdl_idmap_put(&r.calls, c.id, &c);
    assert_true(pdl_inflight_ok(&c));
    c.failed = true; /* without a reply */
    assert_false(pdl_inflight_ok(&c));
    c.done = true;
    assert_true(pdl_inflight_ok(&c));
    pdl_outitem item = {.kind = PDL_OUT_CALL};
    c.out = &item; /* which is that of another call */
    assert_false(pdl_inflight_ok(&c));
    pdl_idmap_fini(&r.calls);
}

static void test_queues(void **state) {
    (void)state;
    pdl_outitem item = {.kind = PDL_OUT_TEXT};
    pdl_outq q = {.first = &item};
    assert_false(pdl_outq_ok(&q)); /* a first item and no last one */
    q.last = &item;
    assert_true(pdl_outq_ok(&q));
    item.kind = PDL_OUT_QUEUE; /* without a queue */
    assert_false(pdl_outq_ok(&q));
    pdl_fiber f = {0};
    pdl_run r = {.ready_first = &f};
    assert_false(pdl_run_ok(&r));
    r.ready_last = &f;
    assert_true(pdl_run_ok(&r));
    r.queue_head = 1; /* beyond the end */
    assert_false(pdl_run_ok(&r));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fiber),
                                       cmocka_unit_test(test_inflight),
                                       cmocka_unit_test(test_queues)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
