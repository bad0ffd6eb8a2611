/* test_mock_script.c -- contradictory items in a list of replies are detected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mock/script.h"

#include "t.h"

#include "base/banned.h"

static void test_ok(void **state) {
    (void)state;
    pdl_mock_script s = {0};
    assert_true(pdl_mock_script_ok(&s));
    *pdl_vec_push(&s.items) = (pdl_mock_item){
        .reply = pdl_absent(), .scores = pdl_absent(), .logprobs = pdl_absent(), .left = -1};
    assert_false(pdl_mock_script_ok(&s)); /* it does nothing */
    s.items.p[0].status = 200;            /* is no error */
    assert_false(pdl_mock_script_ok(&s));
    s.items.p[0].status = 429;
    assert_true(pdl_mock_script_ok(&s));
    s.items.p[0].left = -2; /* was used more often than it may */
    assert_false(pdl_mock_script_ok(&s));
    pdl_mock_script_fini(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ok)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
