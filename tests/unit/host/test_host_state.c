/* test_host_state.c -- contradictory states of the world of files and input are detected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "host/host_impl.h"

#include "t.h"

#include "base/banned.h"

static void test_ok(void **state) {
    (void)state;
    host h = {.in = PDL_BUF, .tty = -1};
    assert_true(pdl_host_ok(&h));
    h.in_off = 1; /* was not read */
    assert_false(pdl_host_ok(&h));
    pdl_buf_putc(&h.in, 'x');
    assert_true(pdl_host_ok(&h));
    h.in_seen = 1;
    assert_false(pdl_host_ok(&h));
    h.in_seen = 0;
    h.asking = 1; /* without a terminal */
    assert_false(pdl_host_ok(&h));
    h.asking = 0;
    h.in_edit = true; /* without an editor */
    assert_false(pdl_host_ok(&h));
    pdl_buf_fini(&h.in);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ok)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
