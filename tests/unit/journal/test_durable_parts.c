/* test_durable_parts.c -- contradictory states are detected in each part of a durable run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable/durable_impl.h"

#include "t.h"

#include "base/banned.h"

static void test_file(void **state) {
    (void)state;
    int something;
    durable_file f = {.lock = -1};
    assert_false(pdl_durable_file_ok(&f));     /* without a store */
    f.store = (pdl_store *)(void *)&something; /* is not examined */
    assert_true(pdl_durable_file_ok(&f));
    f.is_new = true;
    assert_true(pdl_durable_file_ok(&f));
    f.was_state[0] = 'e'; /* a new run has no earlier state */
    assert_false(pdl_durable_file_ok(&f));
    f.was_state[0] = 0;
    f.replays_only = true; /* it could not be written */
    assert_false(pdl_durable_file_ok(&f));
}

static void test_group(void **state) {
    (void)state;
    pdl_durable server = {.group.is_server = true};
    durable_group g = {0};
    assert_true(pdl_durable_group_ok(&g));
    g.members.n = 1; /* of a run */
    assert_false(pdl_durable_group_ok(&g));
    g.members.n = 0;
    g.server = &server; /* without a number there */
    assert_false(pdl_durable_group_ok(&g));
    g.run = 1;
    assert_true(pdl_durable_group_ok(&g));
    g.is_server = true; /* a server of a server */
    assert_false(pdl_durable_group_ok(&g));
}

static void test_pending(void **state) {
    (void)state;
    durable_pending p = {0};
    assert_true(pdl_durable_pending_ok(&p));
    p.n_inputs = 1; /* more questions than effects */
    assert_false(pdl_durable_pending_ok(&p));
    p.n_open = 1;
    assert_true(pdl_durable_pending_ok(&p));
    p.answered_head = 1; /* beyond the end */
    assert_false(pdl_durable_pending_ok(&p));
}

static void test_others(void **state) {
    (void)state;
    durable_match m = {0};
    durable_rebuild r = {0};
    durable_progress p = {0};
    assert_true(pdl_durable_match_ok(&m));
    m.knows_places = true; /* of a run that is the same */
    assert_false(pdl_durable_match_ok(&m));
    m.is_other = true;
    assert_true(pdl_durable_match_ok(&m));
    assert_true(pdl_durable_rebuild_ok(&r));
    r.rebuilding = r.rebuilt = true;
    assert_false(pdl_durable_rebuild_ok(&r));
    r = (durable_rebuild){.next_code = 1}; /* beyond the end */
    assert_false(pdl_durable_rebuild_ok(&r));
    assert_true(pdl_durable_progress_ok(&p));
    p.flushing = p.parked = true;
    assert_false(pdl_durable_progress_ok(&p));
}

/* A run is as its parts are: each of them counts. */
static void test_run(void **state) {
    (void)state;
    int something;
    pdl_durable d = {.file = {.lock = -1, .store = (pdl_store *)(void *)&something}};
    assert_true(pdl_durable_ok(&d));
    d.file.store = NULL;
    assert_false(pdl_durable_ok(&d));
    d.file.store = (pdl_store *)(void *)&something;
    d.group.members.n = 1;
    assert_false(pdl_durable_ok(&d));
    d.group.members.n = 0;
    d.pending.n_inputs = 1;
    assert_false(pdl_durable_ok(&d));
    d.pending.n_inputs = 0;
    d.match.knows_places = true;
    assert_false(pdl_durable_ok(&d));
    d.match.knows_places = false;
    d.rebuild.next_code = 1;
    assert_false(pdl_durable_ok(&d));
    d.rebuild.next_code = 0;
    d.progress.flushing = d.progress.parked = true;
    assert_false(pdl_durable_ok(&d));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_file), cmocka_unit_test(test_group),
                                       cmocka_unit_test(test_pending),
                                       cmocka_unit_test(test_others), cmocka_unit_test(test_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
