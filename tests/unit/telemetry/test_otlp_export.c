/* test_otlp_export.c -- contradictions between waiting spans and their counts are detected,
 * and the user learns why spans are not sent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <sys/resource.h>

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

static const char *no_variable(void *user, const char *name) {
    (void)user;
    (void)name;
    return NULL;
}

static void take_note(void *user, pdl_str text) { pdl_buf_put(user, text); }

/* Without descriptors no collector is asked, so none is blamed. */
static void test_no_descriptors(void **state) {
    (void)state;
    pdl_err err = {0};
    pdl_otlp *o;
    pdl_buf note = PDL_BUF;
    struct rlimit before;
    pdl_otlp_options options = {.url = PDL_STR("http://127.0.0.1:9/v1/traces"),
                                .env = no_variable,
                                .note = take_note,
                                .note_user = &note};
    t_assert(pdl_otlp_new(&options, &o, &err));
    pdl_buf *room = pdl_otlp_span_room(o);
    while (room->len < 1 << 20) PDL_PUT(room, "{}, "); /* so that the batch is sent at once */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    pdl_otlp_span_done(o);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    t_assert_str(pdl_buf_str(&note),
                 "traces are not sent: http://127.0.0.1:9/v1/traces: the process has no more file "
                 "descriptors");
    assert_int_equal(o->n_lost, 1);
    pdl_otlp_free(o);
    pdl_buf_fini(&note);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ok),
                                       cmocka_unit_test(test_no_descriptors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
