/* test_page_access.c -- the newest address counts as used only after it was printed and opened.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/access.h"

#include "t.h"

#include "base/banned.h"

static void test_was_opened(void **state) {
    (void)state;
    pdl_err err = {0};
    pdl_access *a;
    pdl_buf address = PDL_BUF;
    t_assert(pdl_access_new("127.0.0.1", (pdl_str){0}, &a, &err));
    assert_false(pdl_access_was_opened(a)); /* there is no address */
    pdl_access_put_address(a, 80, &address);
    assert_false(pdl_access_was_opened(a));
    pdl_buf_fini(&address);
    pdl_access_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_was_opened)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
