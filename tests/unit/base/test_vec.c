/* test_vec.c -- growable arrays.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/vec.h"
#include "t.h"

#include "base/banned.h"

typedef PDL_VEC(int) ints;

static ints *asked(ints *v, int *times) {
    ++*times;
    return v;
}

static void test_keeps_all(void **state) {
    (void)state;
    ints v = {0};
    for (int i = 0; i < 100000; i++) *pdl_vec_push(&v) = i;
    assert_int_equal(v.n, 100000);
    assert_true(v.n <= v.cap);
    for (int i = 0; i < 100000; i++) assert_int_equal(v.p[i], i);
    pdl_vec_fini(&v);
    assert_null(v.p);
    assert_int_equal(v.n, 0);
    assert_int_equal(v.cap, 0);
}

static void test_argument_is_evaluated_once(void **state) {
    (void)state;
    ints v = {0};
    int times = 0;
    for (int i = 0; i < 9; i++) *pdl_vec_push(asked(&v, &times)) = i;
    assert_int_equal(times, 9);
    assert_int_equal(v.n, 9);
    pdl_vec_fini(asked(&v, &times));
    assert_int_equal(times, 10);
    assert_null(v.p);
}

static void test_argument_with_a_step(void **state) {
    (void)state;
    ints rows[3] = {0};
    size_t i = 0;
    while (i < 3) *pdl_vec_push(&rows[i++]) = 7;
    for (i = 0; i < 3; i++) {
        assert_int_equal(rows[i].n, 1);
        assert_int_equal(rows[i].p[0], 7);
        pdl_vec_fini(&rows[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps_all),
        cmocka_unit_test(test_argument_is_evaluated_once),
        cmocka_unit_test(test_argument_with_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
