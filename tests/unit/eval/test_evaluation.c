/* test_evaluation.c -- contradictions between the rows and the scores of an evaluation are
 * detected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "eval/evaluation.h"

#include "t.h"

#include "base/banned.h"

static void test_ok(void **state) {
    (void)state;
    pdl_eval_options o = {.samples = 1};
    evaluation e = {.o = &o};
    assert_true(pdl_evaluation_ok(&e));
    e.n = 1; /* a row that is not in the order */
    assert_false(pdl_evaluation_ok(&e));
    *pdl_vec_push(&e.rows) = NULL;
    *pdl_vec_push(&e.order) = 0;
    assert_true(pdl_evaluation_ok(&e));
    e.done = 1; /* without a score */
    assert_false(pdl_evaluation_ok(&e));
    *pdl_vec_push(&e.of[0].of) = 1;
    *pdl_vec_push(&e.of[0].feedback) = NULL;
    assert_true(pdl_evaluation_ok(&e));
    *pdl_vec_push(&e.of[0].faults) = (eval_fault){0}; /* of an answer that did not fail */
    assert_false(pdl_evaluation_ok(&e));
    e.of[0].failed = 1;
    assert_true(pdl_evaluation_ok(&e));
    pdl_vec_fini(&e.of[0].faults);
    pdl_vec_fini(&e.of[0].feedback);
    pdl_vec_fini(&e.of[0].of);
    pdl_vec_fini(&e.order);
    pdl_vec_fini(&e.rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ok)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
