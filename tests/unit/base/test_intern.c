/* test_intern.c -- names are dense ids from 1, equal texts share one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/intern.h"

#include "base/banned.h"

static void dense_and_stable(void **state) {
    (void)state;
    enum { N = 5000 };
    pdl_interner *in = pdl_interner_new();
    t_assert(pdl_intern_find(in, PDL_STR("n0")) == 0);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < N; i++) {
            char name[16];
            snprintf(name, sizeof name, "n%u", i);
            T_ROW(i);
            t_assert(pdl_intern(in, t_str(name)) == i + 1);
            t_assert_str(pdl_name_str(in, i + 1), name);
        }
    t_assert(pdl_intern_find(in, PDL_STR("n17")) == 18);
    t_assert(pdl_intern(in, (pdl_str){0}) == N + 1);
    t_assert_str(pdl_name_str(in, 0), "");
    t_assert_str(pdl_name_str(in, 999999), "");
    pdl_interner_drop(in);
    pdl_interner_drop(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(dense_and_stable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
