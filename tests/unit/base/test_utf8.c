/* test_utf8.c -- validity, counting, Python's classes and case mappings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/utf8.h"

#include "base/banned.h"

static void validity(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t bad;
        const char *repaired;
    } rows[] = {
        {"", PDL_NOT_FOUND, ""},
        {"plain ascii text", PDL_NOT_FOUND, "plain ascii text"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", PDL_NOT_FOUND,
         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"12345678\xff", 8, "12345678\xef\xbf\xbd"},
        {"a\x80", 1, "a\xef\xbf\xbd"},
        {"\xc0\x80", 0, "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe2\x82x", 0, "\xef\xbf\xbdx"},
        {"\xed\xa0\x80", 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf4\x90\x80\x80", 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"ok\xf0\x9f\x98", 2, "ok\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_buf b = PDL_BUF;
        T_ROW(i);
        t_assert(pdl_utf8_check(t_str(rows[i].bytes)) == rows[i].bad);
        pdl_utf8_repair(&b, t_str(rows[i].bytes));
        t_assert_str(pdl_buf_str(&b), rows[i].repaired);
        pdl_buf_fini(&b);
    }
}

static void code_points(void **state) {
    (void)state;
    pdl_str s = PDL_STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 0123456789");
    static const uint32_t cps[] = {'a', 0xe9, 0x20ac, 0x1f600};
    const char *p = s.p;
    for (size_t i = 0; i < T_LEN(cps); i++) {
        char out[4];
        T_ROW(i);
        const char *start = p;
        t_assert(pdl_utf8_next(&p) == cps[i]);
        size_t n = pdl_utf8_put(cps[i], out);
        t_assert(n == (size_t)(p - start) && memcmp(out, start, n) == 0);
        t_assert(pdl_utf8_offset(s, i + 1) == (size_t)(p - s.p));
    }
    t_assert(pdl_utf8_count(s) == 15);
    pdl_buf all = PDL_BUF; /* several pieces of those that are counted at once */
    pdl_err err = {0};
    t_assert(pdl_buf_fill(&all, s, 1000, &err) && pdl_utf8_count(pdl_buf_str(&all)) == 15000);
    for (size_t k = 0; k < 15000; k += 7) {
        T_ROW(k);
        size_t want = k / 15 * s.n + pdl_utf8_offset(s, k % 15);
        t_assert(pdl_utf8_offset(pdl_buf_str(&all), k) == want);
    }
    t_assert(pdl_utf8_offset(pdl_buf_str(&all), 15000) == all.len);
    pdl_buf_fini(&all);
    t_assert(pdl_utf8_offset(s, 99) == s.n && pdl_utf8_offset((pdl_str){0}, 3) == 0);
}

typedef void change(pdl_buf *out, pdl_str s);

static void changes(void **state) {
    (void)state;
    static const struct {
        change *fn;
        const char *from, *to;
    } rows[] = {
        {pdl_utf8_lower, "AbC \xc3\x89", "abc \xc3\xa9"},
        {pdl_utf8_lower, "\xce\x9f\xce\x94\xce\x9f\xce\xa3 \xce\xa3",
         "\xce\xbf\xce\xb4\xce\xbf\xcf\x82 \xcf\x83"},
        {pdl_utf8_lower, "A\xce\xa3'b", "a\xcf\x83'b"},
        {pdl_utf8_lower, "\xc4\xb0", "i\xcc\x87"},
        {pdl_utf8_upper,
         "stra\xc3\x9f"
         "e \xef\xac\x83",
         "STRASSE FFI"},
        {pdl_utf8_casefold,
         "Stra\xc3\x9f"
         "e",
         "strasse"},
        {pdl_utf8_title, "they're bill's \xc7\x86x", "They'Re Bill'S \xc7\x85x"},
        {pdl_utf8_capitalize, "\xc3\xa9T\xc3\x89 A", "\xc3\x89t\xc3\xa9 a"},
        {pdl_utf8_capitalize, "", ""},
        {pdl_utf8_swapcase, "aB\xc3\x9f", "AbSS"},
        {pdl_utf8_nfc, "e\xcc\x81 x", "\xc3\xa9 x"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_buf b = PDL_BUF;
        T_ROW(i);
        rows[i].fn(&b, t_str(rows[i].from));
        t_assert_str(pdl_buf_str(&b), rows[i].to);
        pdl_buf_clear(&b);
        rows[i].fn(&b, (pdl_str){0});
        t_assert_str(pdl_buf_str(&b), "");
        pdl_buf_fini(&b);
    }
}

static void classes(void **state) {
    (void)state;
    t_assert(pdl_cp_is_alpha(0x4e00) && pdl_cp_is_numeric(0x4e00) && !pdl_cp_is_digit(0x4e00));
    t_assert(pdl_cp_is_digit(0xb2) && !pdl_cp_is_decimal(0xb2) && pdl_cp_is_alnum(0xb2));
    t_assert(pdl_cp_is_space(0x1c) && pdl_cp_is_space(0x3000) && !pdl_cp_is_space(0x200b) &&
             !pdl_cp_is_space(0x180e));
    t_assert(pdl_cp_is_lower(0xaa) && pdl_cp_is_upper(0x2160) && pdl_cp_is_title(0x1c5));
    t_assert(pdl_cp_is_printable(' ') && !pdl_cp_is_printable(0xa0) && !pdl_cp_is_printable(0xad));
    t_assert(pdl_cp_is_id_start('_') && !pdl_cp_is_id_start('1') && pdl_cp_is_id_continue('1'));
    t_assert(pdl_cp_is_id_continue(0xb7) && !pdl_cp_is_id_start(0xb7) &&
             !pdl_cp_is_id_continue('-'));
    t_assert(pdl_cp_digit_value(0x663) == 3 && pdl_cp_digit_value(0x1d7ff) == 9 &&
             pdl_cp_digit_value(0xb2) == -1);
    t_assert(pdl_cp_width('a') == 1 && pdl_cp_width(0x4e00) == 2 && pdl_cp_width(0x301) == 0);
}

static void cuts(void **state) {
    static const struct {
        const char *s;
        size_t n;
        const char *want;
    } rows[] = {
        {"", 0, ""},
        {"abc", 0, ""},
        {"abc", 2, "ab"},
        {"abc", 3, "abc"},
        {"abc", 9, "abc"},
        {"a\xc3\xa4", 2, "a"},
        {"a\xc3\xa4", 3, "a\xc3\xa4"},
        {"\xf0\x9f\x98\x80z", 3, ""},
        {"\xf0\x9f\x98\x80z", 4, "\xf0\x9f\x98\x80"},
    };
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        t_assert_str(pdl_utf8_cut(t_str(rows[i].s), rows[i].n), rows[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(validity), cmocka_unit_test(code_points),
                                       cmocka_unit_test(changes), cmocka_unit_test(classes),
                                       cmocka_unit_test(cuts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
