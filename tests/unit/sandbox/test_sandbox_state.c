/* test_sandbox_state.c -- contradictions between the parts of a sandbox are detected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/sandbox_impl.h"

#include "t.h"

#include "base/banned.h"

static void test_ok(void **state) {
    (void)state;
    char text[] = "{}";
    pdl_sandbox s = {.text = text, .dir = text, .spec.helper = text};
    assert_false(pdl_sandbox_ok(&s)); /* its environment has no end */
    *pdl_vec_push(&s.env) = NULL;
    assert_true(pdl_sandbox_ok(&s));
    s.strength = PDL_SANDBOX_PROCESS; /* with namespaces */
    assert_false(pdl_sandbox_ok(&s));
    s.spec.backend = BACKEND_NONE;
    assert_true(pdl_sandbox_ok(&s));
    pdl_paths_add(&s.profile.write, PDL_STR("/tmp")); /* the helper does not get it */
    assert_false(pdl_sandbox_ok(&s));
    pdl_paths_add(&s.spec.rw, PDL_STR("/tmp"));
    assert_true(pdl_sandbox_ok(&s));
    pdl_paths_fini(&s.profile.write);
    pdl_paths_fini(&s.spec.rw);
    pdl_vec_fini(&s.env);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ok)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
