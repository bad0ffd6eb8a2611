/* test_check_scope.c -- contradictory states of the table of names are detected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/names/check_scope.h"

#include "t.h"

#include "base/banned.h"

static void test_ok(void **state) {
    (void)state;
    pdl_scope_state s = {.arena = pdl_arena_make()};
    assert_true(pdl_scope_state_ok(&s));
    pdl_scope_define(&s, (pdl_def_kind)0, PDL_STR("a"), &pdl_ty_any, (pdl_loc){0});
    pdl_scope_define(&s, (pdl_def_kind)0, PDL_STR("b"), &pdl_ty_any, (pdl_loc){0});
    assert_true(pdl_scope_state_ok(&s));
    s.names.p[0].next = 1; /* a chain without an end */
    assert_false(pdl_scope_state_ok(&s));
    s.names.p[0].next = 0;
    s.log.p[1].at = 2; /* is about no name */
    assert_false(pdl_scope_state_ok(&s));
    s.log.p[1].at = 1;
    (void)pdl_map_put(&s.many, PDL_STR("a"), &s); /* one of two names */
    assert_false(pdl_scope_state_ok(&s));
    pdl_map_fini(&s.many);
    assert_true(pdl_scope_state_ok(&s));
    pdl_scope_state_fini(&s);
    pdl_arena_free(s.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ok)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
