/* test_path.c -- block ids: text of the segments, sharing, depth.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "value/path.h"

#include "base/banned.h"

static void text_of_segments(void **state) {
    (void)state;
    pdl_path *text = pdl_path_name(NULL, "text");
    pdl_path *two = pdl_path_index(text, 2);
    pdl_path *retry = pdl_path_numbered(two, "retry", 0);
    pdl_path *then = pdl_path_name(retry, "then");
    pdl_path *both[] = {text, two, retry};
    for (size_t i = 0; i < T_LEN(both); i++) pdl_path_drop(both[i]);
    pdl_buf b = PDL_BUF;
    pdl_path_text(then, &b);
    t_assert_str(pdl_buf_str(&b), "text.2.retry0.then");
    static const char *const ends[] = {"...", "....then", "....retry0.then", "....2.retry0.then",
                                       "text.2.retry0.then"};
    for (size_t i = 0; i < T_LEN(ends); i++) {
        T_ROW(i);
        pdl_buf_clear(&b);
        pdl_path_end(then, i, &b);
        t_assert_str(pdl_buf_str(&b), ends[i]);
    }
    pdl_buf_clear(&b);
    pdl_path_text(NULL, &b);
    t_assert_str(pdl_buf_str(&b), "");
    pdl_path_drop(then);
    pdl_buf_fini(&b);
}

static void deep_paths_release(void **state) {
    (void)state;
    pdl_path *p = NULL;
    for (uint32_t i = 0; i < 1000000; i++) {
        pdl_path *up = p;
        p = pdl_path_index(up, i);
        pdl_path_drop(up);
    }
    pdl_path_drop(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_of_segments),
                                       cmocka_unit_test(deep_paths_release)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
