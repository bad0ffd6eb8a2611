/* test_dap_debugger.c -- contradictory states of a debugged run are detected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "dap/debugger.h"

#include "t.h"

#include "base/banned.h"

static void test_ok(void **state) {
    (void)state;
    debugger g = {0};
    assert_true(pdl_dap_debugger_ok(&g));
    g.queue_head = 1; /* beyond the end */
    assert_false(pdl_dap_debugger_ok(&g));
    g.queue_head = 0;
    *pdl_vec_push(&g.references) =
        (dap_reference){.value = pdl_absent(), .key = pdl_absent(), .parent = 1};
    assert_false(pdl_dap_debugger_ok(&g)); /* a part of itself */
    g.references.p[0].parent = 0;
    g.references.p[0].frame = 3;
    assert_true(pdl_dap_debugger_ok(&g));
    *pdl_vec_push(&g.references) =
        (dap_reference){.value = pdl_absent(), .key = pdl_absent(), .parent = 1, .frame = 3};
    assert_false(pdl_dap_debugger_ok(&g)); /* a part is no variable */
    g.references.p[1].frame = 0;
    assert_true(pdl_dap_debugger_ok(&g));
    pdl_vec_fini(&g.references);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ok)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
