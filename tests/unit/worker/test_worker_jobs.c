/* test_worker_jobs.c -- contradictions between the jobs, the values and the counts of the world of
 * code are detected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "worker/worker_impl.h"

#include "t.h"

#include "base/banned.h"

static void test_ok(void **state) {
    (void)state;
    worker w = {.next_id = 2};
    job first = {.w = &w, .id = 1}, second = {.w = &w, .id = 2, .python = true};
    assert_true(pdl_worker_ok(&w));
    *pdl_vec_push(&w.jobs) = &first;
    *pdl_vec_push(&w.jobs) = &second;
    assert_false(pdl_worker_ok(&w)); /* one is Python's */
    w.n_python = 1;
    assert_true(pdl_worker_ok(&w));
    second.id = 1; /* as the other one */
    assert_false(pdl_worker_ok(&w));
    second.id = 2;
    *pdl_vec_push(&w.held) = (held){2, pdl_null()};
    *pdl_vec_push(&w.held) = (held){1, pdl_null()}; /* not sorted */
    assert_false(pdl_worker_ok(&w));
    w.held.p[1].id = 3;
    w.n_released = 2; /* the table was not made smaller */
    assert_false(pdl_worker_ok(&w));
    w.n_released = 0;
    w.ready = true; /* without a process */
    assert_false(pdl_worker_ok(&w));
    pdl_vec_fini(&w.held);
    pdl_vec_fini(&w.jobs);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ok)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
