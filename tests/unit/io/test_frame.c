/* test_frame.c -- length-prefixed and Content-Length messages, cut at every byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/frame.h"

#include "t.h"

#include "base/banned.h"

static bool note(void *user, pdl_str m, pdl_err *err) {
    (void)err;
    pdl_buf_put(user, m);
    pdl_buf_putc(user, ';');
    return true;
}

static void test_round_trip(void **state) {
    (void)state;
    static const char *const messages[] = {"hello", "", "two\nlines", "\xc3\xa4"};
    pdl_buf wire[2] = {PDL_BUF, PDL_BUF};
    for (int kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < T_LEN(messages); i++)
            pdl_frame_write((pdl_frame_kind)kind, t_str(messages[i]), &wire[kind]);
    for (int kind = 0; kind < 2; kind++) {
        for (size_t step = 1; step <= wire[kind].len; step++) {
            T_ROW(step);
            pdl_frame f = {.kind = (pdl_frame_kind)kind};
            pdl_buf out = PDL_BUF;
            pdl_err err = {0};
            pdl_str s = pdl_buf_str(&wire[kind]);
            for (size_t pos = 0; pos < s.n; pos += step)
                t_assert(pdl_frame_feed(&f, pdl_str_sub(s, pos, pos + step), note, &out, &err));
            t_assert_str(pdl_buf_str(&out), "hello;;two\nlines;\xc3\xa4;");
            t_assert(!pdl_frame_is_partial(&f));
            pdl_frame_fini(&f);
            pdl_buf_fini(&out);
        }
        pdl_buf_fini(&wire[kind]);
    }
}

static const struct {
    pdl_frame_kind kind;
    pdl_str in;
    pdl_err_kind want;
} bad[] = {
    {PDL_FRAME_LENGTH, {"\xff\xff\xff\xff", 4}, PDL_E_limit},
    {PDL_FRAME_LENGTH, {"\0\0\0\021", 4}, PDL_E_limit},
    {PDL_FRAME_CONTENT, {"Content-Length: 17\r\n\r\n", 22}, PDL_E_limit},
    {PDL_FRAME_CONTENT, {"Content-Type: x\r\n\r\n", 19}, PDL_E_protocol},
    {PDL_FRAME_CONTENT, {"Content-Length: -1\r\n\r\n", 22}, PDL_E_protocol},
};

static void test_bad(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(bad); i++) {
        T_ROW(i);
        pdl_frame f = {.kind = bad[i].kind, .max_message = 16};
        pdl_buf out = PDL_BUF;
        pdl_err err = {0};
        t_assert(!pdl_frame_feed(&f, bad[i].in, note, &out, &err));
        t_assert(err.kind == bad[i].want);
        pdl_err_fini(&err);
        pdl_frame_fini(&f);
        pdl_buf_fini(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_bad)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
