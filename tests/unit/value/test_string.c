/* test_string.c -- text values: growth, code points, slices.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/buf.h"
#include "value/val.h"

#include "base/banned.h"

static void append_shares_and_grows(void **state) {
    (void)state;
    size_t start = pdl_live_objects();
    pdl_err err = {0};
    pdl_val v = pdl_textz("");
    for (int i = 0; i < 100000; i++) t_assert(pdl_text_append(v, PDL_STR("ab"), &v, &err));
    t_assert(pdl_str_get(v).n == 200000 && pdl_text_len_cp(v) == 200000);
    pdl_val w = pdl_keep(v); /* shared: the append copies */
    t_assert(pdl_text_append(w, PDL_STR("\xc3\xa9"), &w, &err));
    t_assert(pdl_str_get(v).n == 200000 && pdl_str_get(w).n == 200002 &&
             pdl_text_len_cp(w) == 200001);
    pdl_drop(v);
    pdl_drop(w);
    t_assert(pdl_live_objects() == start);
}

static void append_of_itself(void **state) {
    (void)state;
    pdl_err err = {0};
    pdl_val v = pdl_textz("abc");
    for (int i = 0; i < 10; i++) t_assert(pdl_text_append(v, pdl_str_get(v), &v, &err));
    t_assert(pdl_str_get(v).n == 3 * 1024);
    t_assert(pdl_text_append(v, pdl_str_sub(pdl_str_get(v), 1, 3), &v, &err));
    t_assert_str(pdl_str_sub(pdl_str_get(v), 3071, 4000), "cbc");
    pdl_drop(v);
}

static void slices(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t from, to;
        const char *want;
        size_t n_cp;
    } rows[] = {
        {"hello", 1, 3, "el", 5},
        {"hello", 0, 99, "hello", 5},
        {"hello", 4, 2, "", 5},
        {"h\xc3\xa9llo\xf0\x9f\x98\x80!", 1, 2, "\xc3\xa9", 7},
        {"h\xc3\xa9llo\xf0\x9f\x98\x80!", 5, 7, "\xf0\x9f\x98\x80!", 7},
        {"", 0, 1, "", 0},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val v = pdl_with_label(pdl_textz(rows[i].text), 4);
        t_assert(pdl_text_len_cp(v) == rows[i].n_cp);
        pdl_val s = pdl_text_slice(v, rows[i].from, rows[i].to);
        t_assert_str(pdl_str_get(s), rows[i].want);
        t_assert(pdl_label_of(s) == 4);
        pdl_drop(s);
        pdl_drop(v);
    }
}

static void from_buffers(void **state) {
    (void)state;
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "xyz");
    pdl_val v = pdl_text_of_buf(&b);
    t_assert(b.len == 0 && pdl_text_is(v, "xyz"));
    pdl_drop(v);
    v = pdl_textf("%d-%s", 7, "a");
    t_assert(pdl_text_is(v, "7-a"));
    pdl_drop(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(append_shares_and_grows),
                                       cmocka_unit_test(append_of_itself), cmocka_unit_test(slices),
                                       cmocka_unit_test(from_buffers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
