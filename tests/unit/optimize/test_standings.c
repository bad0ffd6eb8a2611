/* test_standings.c -- contradictions between rows, candidates and scores of a search are detected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/search.h"

#include "t.h"

#include "base/banned.h"

static void test_ok(void **state) {
    (void)state;
    float scores[1] = {1};
    opt_use uses[1] = {0};
    opt_search z = {0};
    assert_false(pdl_search_ok(&z)); /* without the program as it was */
    *pdl_vec_push(&z.candidates) = (opt_candidate){.values = pdl_absent()};
    assert_true(pdl_search_ok(&z));
    *pdl_vec_push(&z.part[OPT_TEST]) = 0; /* there is no row */
    assert_false(pdl_search_ok(&z));
    *pdl_vec_push(&z.rows) = (opt_row){.columns = pdl_absent()};
    assert_true(pdl_search_ok(&z));
    z.candidates.p[0].evaluated = z.evaluations = 1; /* without scores */
    assert_false(pdl_search_ok(&z));
    z.candidates.p[0].scores = scores;
    assert_false(pdl_search_ok(&z)); /* without what a row uses */
    z.candidates.p[0].uses = uses;
    assert_true(pdl_search_ok(&z));
    z.evaluations = 2; /* one of them is of no candidate */
    assert_false(pdl_search_ok(&z));
    z.evaluations = 1;
    z.best = 1;
    assert_false(pdl_search_ok(&z));
    pdl_vec_fini(&z.candidates);
    pdl_vec_fini(&z.rows);
    pdl_vec_fini(&z.part[OPT_TEST]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ok)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
