/* test_model_call.c -- the states of a call: which state may follow which, and what each state may
 * hold.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <sys/wait.h>
#include <unistd.h>

#include "model/call/life.h"
#include "t.h"

#include "base/banned.h"

typedef struct place {
    pdl_calls calls;
    pdl_call call;
} place;

static void at(place *p, pdl_call_state state) {
    *p = (place){.calls = {.n_open = 1, .first = &p->call}, .call = {.state = state}};
    p->call.calls = &p->calls;
    p->call.prev = &p->calls.first;
    p->calls.end = &p->call.next;
}

/* Does a process live that makes the step? */
static bool can_go(pdl_call_state from, pdl_call_state to) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        place p;
        close(2);
        at(&p, from);
        pdl_call_enter(&p.call, to);
        _exit(p.call.state == to ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_steps(void **unused) {
    (void)unused;
    assert_true(can_go(PDL_CALL_NEW, PDL_CALL_WRITING));
    assert_true(can_go(PDL_CALL_AWAITS_SLOT, PDL_CALL_SENT));
    assert_true(can_go(PDL_CALL_FAILED, PDL_CALL_AWAITS_RETRY));
    assert_false(can_go(PDL_CALL_NEW, PDL_CALL_SENT));            /* nothing is written */
    assert_false(can_go(PDL_CALL_AWAITS_SLOT, PDL_CALL_READING)); /* nothing was sent */
    assert_false(can_go(PDL_CALL_STREAMING, PDL_CALL_SENT));  /* a retry goes by way of FAILED */
    assert_false(can_go(PDL_CALL_FAILED, PDL_CALL_SENT));     /* not past the rates */
    assert_false(can_go(PDL_CALL_STREAMING, PDL_CALL_ENDED)); /* answered before it is read */
}

static void test_cancel(void **unused) {
    (void)unused;
    for (unsigned s = PDL_CALL_NEW; s < PDL_CALL_STATES; s++)
        assert_int_equal(can_go((pdl_call_state)s, PDL_CALL_CANCELLED), s < PDL_CALL_CANCELLED);
    for (unsigned s = PDL_CALL_NEW; s < PDL_CALL_STATES; s++)
        assert_false(can_go(PDL_CALL_ENDED, (pdl_call_state)s));
}

static void test_holds(void **unused) {
    place p;
    (void)unused;
    at(&p, PDL_CALL_SENT);
    p.call.http_id = 1;
    p.call.rate_slot.inside = true;
    assert_true(pdl_call_is_ok(&p.call));
    p.call.rate_slot.waits = true; /* it waits in line and is sent already */
    assert_false(pdl_call_is_ok(&p.call));
    at(&p, PDL_CALL_AWAITS_RETRY);
    assert_true(pdl_call_is_ok(&p.call));
    p.call.http_id = 1; /* the transfer that failed is still open */
    assert_false(pdl_call_is_ok(&p.call));
    at(&p, PDL_CALL_STREAMING);
    p.call.replay_left = 1; /* more to be repeated than was shown */
    assert_false(pdl_call_is_ok(&p.call));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
