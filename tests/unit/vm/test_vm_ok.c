/* test_vm_ok.c -- the invariants that builds with assertions check in the machine detect broken
 * states.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/output_order_impl.h"
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
    pdl_idmap_put(&r.effects.by_id, c.id, &c);
    assert_true(pdl_inflight_ok(&c));
    c.failed = true; /* without a reply */
    assert_false(pdl_inflight_ok(&c));
    c.done = true;
    assert_true(pdl_inflight_ok(&c));
    pdl_outitem item = {.kind = PDL_OUT_CALL};
    c.out = &item; /* which is that of another call */
    assert_false(pdl_inflight_ok(&c));
    pdl_idmap_fini(&r.effects.by_id);
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
}

static void test_fibers(void **state) {
    (void)state;
    pdl_fiber f = {0}, g = {0};
    pdl_run_fibers all = {.ready_first = &f};
    assert_false(pdl_run_fibers_ok(&all)); /* a first fiber and no last one */
    all.ready_last = &f;
    assert_true(pdl_run_fibers_ok(&all));
    f.next_ready = &g; /* behind the last one */
    assert_false(pdl_run_fibers_ok(&all));
    f.next_ready = NULL;
    all.parked[PDL_SLOT_EFFECT].head = 1; /* beyond the end */
    assert_false(pdl_run_fibers_ok(&all));
}

static void test_effects(void **state) {
    (void)state;
    pdl_run_effects e = {0};
    assert_true(pdl_run_effects_ok(&e));
    e.queue_head = 1; /* beyond the end */
    assert_false(pdl_run_effects_ok(&e));
    e.queue_head = 0;
    e.n_late = 1; /* nobody can find it */
    assert_false(pdl_run_effects_ok(&e));
    e.n_late = 0;
    e.n_models = 1;
    assert_false(pdl_run_effects_ok(&e));
}

static void test_output(void **state) {
    (void)state;
    pdl_outq parent = {0}, queue = {0};
    pdl_run_output o = {0};
    assert_false(pdl_run_output_ok(&o));
    o.queue = &queue;
    assert_true(pdl_run_output_ok(&o));
    queue.parent = &parent; /* of a map's iteration */
    assert_false(pdl_run_output_ok(&o));
}

static void test_outcome(void **state) {
    (void)state;
    pdl_run_outcome o = {.result = pdl_absent()};
    assert_true(pdl_run_outcome_ok(&o));
    o.finished = true; /* without a result */
    assert_false(pdl_run_outcome_ok(&o));
    o.result = pdl_null();
    assert_true(pdl_run_outcome_ok(&o));
    o.failed = true; /* without an error */
    assert_false(pdl_run_outcome_ok(&o));
    o.err.kind = PDL_E_runtime;
    assert_true(pdl_run_outcome_ok(&o));
}

static void test_other_parts(void **state) {
    (void)state;
    pdl_run_code code = {.imports = pdl_absent()};
    pdl_run_memory memory = {0};
    pdl_random_source random = {0};
    assert_false(pdl_run_code_ok(&code));
    assert_false(pdl_run_memory_ok(&memory));
    assert_true(pdl_random_source_ok(&random));
    random.err.kind = PDL_E_io; /* nobody asked for a number */
    assert_false(pdl_random_source_ok(&random));
    random.is_seeded = true;
    assert_true(pdl_random_source_ok(&random));
}

/* A run that has just been made has its parts as they should be, and none of them is left out. */
static void test_run(void **state) {
    (void)state;
    pdl_interner *names = pdl_interner_new();
    pdl_run *r = pdl_run_new(&(pdl_run_options){.names = names, .sandbox = pdl_absent()});
    assert_true(pdl_run_ok(r));
    r->fibers.parked[PDL_SLOT_MODEL].head = 1;
    assert_false(pdl_run_ok(r));
    r->fibers.parked[PDL_SLOT_MODEL].head = 0;
    r->effects.n_models = 1;
    assert_false(pdl_run_ok(r));
    r->effects.n_models = 0;
    pdl_outq *queue = r->output.queue;
    r->output.queue = NULL;
    assert_false(pdl_run_ok(r));
    r->output.queue = queue;
    r->outcome.failed = true;
    assert_false(pdl_run_ok(r));
    r->outcome.failed = false;
    pdl_arena *scratch = r->memory.scratch;
    r->memory.scratch = NULL;
    assert_false(pdl_run_ok(r));
    r->memory.scratch = scratch;
    r->random.err.kind = PDL_E_io;
    assert_false(pdl_run_ok(r));
    r->random.err.kind = 0;
    assert_true(pdl_run_ok(r));
    pdl_run_free(r);
    pdl_interner_drop(names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fiber),   cmocka_unit_test(test_inflight),
        cmocka_unit_test(test_queues),  cmocka_unit_test(test_fibers),
        cmocka_unit_test(test_effects), cmocka_unit_test(test_output),
        cmocka_unit_test(test_outcome), cmocka_unit_test(test_other_parts),
        cmocka_unit_test(test_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
