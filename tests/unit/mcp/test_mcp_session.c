/* test_mcp_session.c -- contradictory states of the session with a tool server are detected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/server_session.h"

#include "t.h"

#include "base/banned.h"

static void test_ok(void **state) {
    (void)state;
    session s = {.tools = pdl_absent(), .pages = pdl_absent(), .cursors = pdl_absent()};
    call c = {.s = &s, .kind = CALL_LIST, .id = 1};
    assert_true(pdl_mcp_session_ok(&s));
    s.pages = pdl_dict_new(0); /* are read without a call */
    assert_false(pdl_mcp_session_ok(&s));
    *pdl_vec_push(&s.calls) = &c;
    assert_false(pdl_mcp_session_ok(&s)); /* its number was not given */
    s.next_id = 1;
    assert_true(pdl_mcp_session_ok(&s));
    s.tools = pdl_list_new(0); /* known, and read again */
    assert_false(pdl_mcp_session_ok(&s));
    pdl_drop(s.pages);
    s.pages = pdl_absent();
    assert_true(pdl_mcp_session_ok(&s));
    *pdl_vec_push(&s.turn) = (job){0}; /* the server takes calls at a time */
    assert_false(pdl_mcp_session_ok(&s));
    s.config.one_by_one = true;
    assert_true(pdl_mcp_session_ok(&s));
    s.n_sent = 1;
    assert_false(pdl_mcp_session_ok(&s));
    pdl_drop(s.tools);
    pdl_vec_fini(&s.turn);
    pdl_vec_fini(&s.calls);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ok)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
