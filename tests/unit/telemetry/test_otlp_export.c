/* test_otlp_export.c -- contradictions between waiting spans and their counts are detected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "telemetry/parts.h"

#include "t.h"

#include "base/banned.h"

static void test_ok(void **state) {
    (void)state;
    pdl_otlp o = {.batch = PDL_BUF};
    assert_true(pdl_otlp_ok(&o));
    o.n_bytes = 1; /* of no batch */
    assert_false(pdl_otlp_ok(&o));
    o.n_bytes = 0;
    o.n_sending = 1;
    assert_false(pdl_otlp_ok(&o));
    o.n_sending = 0;
    o.n_batch = 1; /* a span without a text */
    assert_false(pdl_otlp_ok(&o));
    pdl_buf_putc(&o.batch, 'x');
    assert_true(pdl_otlp_ok(&o));
    pdl_buf_fini(&o.batch);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ok)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
