/* test_serve_chat.c -- contradictions between the requests and the slots of a server are detected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/serve_impl.h"

#include "t.h"

#include "base/banned.h"

static void test_ok(void **state) {
    (void)state;
    pdl_serve s = {.opt.max_runs = 2, .n_slots = 2};
    work w = {.s = &s, .n = 1};
    assert_true(pdl_serve_ok(&s));
    s.going = (works){&w, &w}; /* has taken no slot */
    assert_false(pdl_serve_ok(&s));
    s.n_slots = 1;
    assert_true(pdl_serve_ok(&s));
    w.waits = true; /* and runs */
    assert_false(pdl_serve_ok(&s));
    s.going = (works){0};
    s.waiting = (works){&w, &w}; /* is not counted */
    s.n_slots = 2;
    assert_false(pdl_serve_ok(&s));
    s.n_waiting = 1;
    assert_true(pdl_serve_ok(&s));
    s.bytes_waiting = 1;
    assert_false(pdl_serve_ok(&s));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ok)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
