/* test_batch_parts.c -- contradictory states are detected in the rows that are read ahead, and in
 * the rows that wait for the output; a sample of rows ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/row_order.h"
#include "batch/sample.h"
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

static void test_sample(void **state) {
    (void)state;
    static const struct {
        uint64_t rows, wanted, drawn;
    } rows[] = {{10, 3, 3}, {3, 3, 3}, {2, 5, 2}, {0, 5, 0}};
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        sample s = pdl_batch_sample_of(rows[i].rows, rows[i].wanted);
        for (uint64_t k = 0, last = 0, row; k < rows[i].drawn; k++, last = row) {
            row = pdl_batch_sample_next(&s);
            t_assert(row > last && row <= rows[i].rows);
        }
        for (int k = 0; k < 3; k++) assert_int_equal(pdl_batch_sample_next(&s), 0);
    }
    sample all = pdl_batch_sample_of(10, 0);
    for (uint64_t k = 1; k < 20; k++) assert_int_equal(pdl_batch_sample_next(&all), k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_writer),
        cmocka_unit_test(test_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
