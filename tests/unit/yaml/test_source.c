/* test_source.c -- lines and columns of places.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/source.h"

#include "base/banned.h"

static void lines_and_columns(void **state) {
    (void)state;
    static const struct {
        uint32_t off, line, column;
    } rows[] = {{0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {4, 3, 1},
                {6, 3, 2}, {7, 3, 3}, {8, 4, 1}, {99, 4, 1}};
    pdl_arena *a = pdl_arena_make();
    pdl_source *s = pdl_source_new(a, PDL_STR("f.pdl"), PDL_STR("ab\n\n\xc3\xa9x\n"));
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        t_assert(pdl_source_line(s, rows[i].off) == rows[i].line);
        t_assert(pdl_source_column(s, rows[i].off) == rows[i].column);
    }
    t_assert_str(pdl_source_line_text(s, 1), "ab");
    t_assert_str(pdl_source_line_text(s, 2), "");
    t_assert_str(pdl_source_line_text(s, 3), "\xc3\xa9x");
    t_assert_str(pdl_source_line_text(s, 4), "");
    t_assert_str(pdl_source_line_text(s, 0), "");
    t_assert_str(pdl_source_line_text(s, 5), "");
    t_assert(pdl_loc_line((pdl_loc){0}) == 0);
    s = pdl_source_new(a, PDL_STR(""), (pdl_str){0});
    t_assert(pdl_source_line(s, 0) == 1 && pdl_source_column(s, 0) == 1);
    pdl_arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_and_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
