/* test_rand.c -- known numbers of the generator, and properties of its doubles.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/rand.h"

#include "t.h"

#include "base/banned.h"

/* The first numbers of xoshiro256++ from the state 1, 2, 3, 4, as its authors' program prints
 * them. */
static void numbers_are_those_of_xoshiro(void **state) {
    (void)state;
    static const uint64_t want[] = {41943041u, 58720359u, 3588806011781223u, 3591011842654386u,
                                    9228616714210784205u};
    pdl_rand r = {{1, 2, 3, 4}};
    for (size_t i = 0; i < T_LEN(want); i++) {
        T_ROW(i);
        assert_true(pdl_rand_u64(&r) == want[i]);
    }
}

static void same_seed_same_numbers(void **state) {
    (void)state;
    pdl_rand a, b, c;
    pdl_rand_seed(&a, 7);
    pdl_rand_seed(&b, 7);
    pdl_rand_seed(&c, 8);
    assert_true(pdl_rand_u64(&a) == pdl_rand_u64(&b));
    assert_true(pdl_rand_u64(&a) != pdl_rand_u64(&c));
}

static void doubles_are_below_one(void **state) {
    (void)state;
    pdl_rand r;
    double sum = 0;
    pdl_rand_seed(&r, 1);
    for (int i = 0; i < 10000; i++) {
        double d = pdl_rand_double(&r);
        assert_true(d >= 0 && d < 1);
        sum += d;
    }
    assert_true(sum > 4800 && sum < 5200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_xoshiro),
        cmocka_unit_test(same_seed_same_numbers),
        cmocka_unit_test(doubles_are_below_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
