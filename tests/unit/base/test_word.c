/* test_word.c -- bytes are compared and searched a word at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/word.h"

#include "t.h"

enum { LONGEST = 40 };

/* Equal texts of each length, and texts that differ at one place, at the end of memory: no read
 * beyond it. */
static void bytes_are_equal(void **state) {
    (void)state;
    for (size_t n = 0; n <= LONGEST; n++) {
        T_ROW(n);
        char *a = pdl_alloc(n), *b = pdl_alloc(n);
        for (size_t i = 0; i < n; i++) a[i] = b[i] = (char)(0x70 + i);
        t_assert(pdl_bytes_eq(a, b, n));
        for (size_t i = 0; i < n; i++) {
            b[i] = (char)(b[i] ^ 0x40);
            t_assert(!pdl_bytes_eq(a, b, n));
            b[i] = a[i];
        }
        pdl_free(a);
        pdl_free(b);
    }
}

static const struct {
    const char *bytes;
    int first; /* place of the first zero, or -1 */
} rows[] = {
    {"abcdefg\1", -1}, {"\200\377\1\177\200\377\1\177", -1},
    {"\0bcdefgh", 0},  {"abc\0\0\1gh", 3},
    {"abcdefg\0", 7},  {"\1\0\1\0\1\0\1\0", 1},
};

static void the_first_zero_is_found(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        uint64_t zeros = pdl_word_zeros(pdl_word64(rows[i].bytes));
        int first = zeros ? __builtin_ctzll(zeros) / 8 : -1;
        t_assert(first == rows[i].first);
    }
    t_assert(pdl_word64("\1\2\3\4\5\6\7\10") == UINT64_C(0x0807060504030201));
    t_assert((pdl_word64("xxxxxxxx") ^ PDL_EACH_BYTE('x')) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_are_equal),
                                       cmocka_unit_test(the_first_zero_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
