/* test_batch_parts.c -- contradictory states are detected in the rows that are read ahead, and in
 * the rows that wait for the output.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/row_order.h"
#include "batch/writer.h"

#include "t.h"

#include "base/banned.h"

static void test_ahead(void **state) {
    (void)state;
    ahead a = {0};
    assert_true(pdl_batch_ahead_ok(&a));
    a.bytes = 1; /* of no text */
    assert_false(pdl_batch_ahead_ok(&a));
    ahead_row *r = pdl_vec_push(&a.rows);
    *r = (ahead_row){.row.columns = pdl_absent()};
    *pdl_vec_push(&r->texts) = (long_text){.n = 1};
    assert_false(pdl_batch_ahead_ok(&a)); /* a text that was not seen */
    a.any = true;
    assert_true(pdl_batch_ahead_ok(&a));
    pdl_batch_ahead_fini(&a);
}

static void test_writer(void **state) {
    (void)state;
    done_row near[1] = {{0}};
    writer w = {0};
    assert_true(pdl_batch_writer_ok(&w));
    w.n_near = 1;
    w.near_bytes = 10;
    w.near = near;
    assert_false(pdl_batch_writer_ok(&w)); /* it does not wait */
    w.waiting = 1;
    assert_true(pdl_batch_writer_ok(&w));
    w.unordered = true;
    assert_false(pdl_batch_writer_ok(&w));
    w.unordered = false;
    w.near_bytes = BATCH_NEAR_BYTES + 1;
    assert_false(pdl_batch_writer_ok(&w));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
