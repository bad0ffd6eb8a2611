/* test_base64.c -- base64 in both alphabets: written, read back, and refused when it is broken.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base64.h"
#include "t.h"

static const struct {
    const char *bytes, *plain, *url;
} rows[] = {
    {"", "", ""},
    {"f", "Zg==", "Zg"},
    {"fo", "Zm8=", "Zm8"},
    {"foo", "Zm9v", "Zm9v"},
    {"foob", "Zm9vYg==", "Zm9vYg"},
    {"\xff\xfe\xfd\xfb", "//79+w==", "__79-w"},
};

static void writes_and_reads(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_buf a = PDL_BUF, b = PDL_BUF, back = PDL_BUF;
        T_ROW(i);
        pdl_base64_put(t_str(rows[i].bytes), false, &a);
        pdl_base64_put(t_str(rows[i].bytes), true, &b);
        t_assert_str(pdl_buf_str(&a), rows[i].plain);
        t_assert_str(pdl_buf_str(&b), rows[i].url);
        t_assert(pdl_base64_read(pdl_buf_str(&a), &back));
        t_assert_str(pdl_buf_str(&back), rows[i].bytes);
        pdl_buf_clear(&back);
        t_assert(pdl_base64_read(pdl_buf_str(&b), &back));
        t_assert_str(pdl_buf_str(&back), rows[i].bytes);
        pdl_buf_fini(&a);
        pdl_buf_fini(&b);
        pdl_buf_fini(&back);
    }
}

static const struct {
    const char *text;
    bool ok;
} texts[] = {{"Zm 9v\n", true}, {"Zm9v=", true}, {"Z", false},
             {"Zm9vY", false},  {"Zm?v", false}, {"Zg==x", false}};

static void refuses_what_is_none(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(texts); i++) {
        pdl_buf out = PDL_BUF;
        T_ROW(i);
        t_assert(pdl_base64_read(t_str(texts[i].text), &out) == texts[i].ok);
        pdl_buf_fini(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(writes_and_reads),
                                       cmocka_unit_test(refuses_what_is_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
