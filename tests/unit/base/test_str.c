/* test_str.c -- slices: search, order, trimming, nearest names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/alloc.h"

#include "base/banned.h"

static void search(void **state) {
    (void)state;
    static const struct {
        const char *s, *needle;
        size_t from, first, last;
    } rows[] = {
        {"banana", "ana", 0, 1, 3},
        {"banana", "ana", 2, 3, 3},
        {"banana", "x", 0, PDL_NOT_FOUND, PDL_NOT_FOUND},
        {"banana", "", 6, 6, 6},
        {"banana", "bananas", 0, PDL_NOT_FOUND, PDL_NOT_FOUND},
        {"", "", 0, 0, 0},
        {"", "a", 0, PDL_NOT_FOUND, PDL_NOT_FOUND},
        {"aabaabaaab", "aab", 1, 3, 7},
        {"abcabcabcabcabcabcabcabcabcabcabcabcabcX", "abcabcabcabcabcabcabcabcabcabcabcabc", 0, 0,
         3},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        t_assert(pdl_str_find(t_str(rows[i].s), t_str(rows[i].needle), rows[i].from) ==
                 rows[i].first);
        t_assert(pdl_str_rfind(t_str(rows[i].s), t_str(rows[i].needle)) == rows[i].last);
    }
    t_assert(pdl_str_find((pdl_str){0}, PDL_STR("a"), 0) == PDL_NOT_FOUND);
    t_assert(pdl_str_find(PDL_STR("a"), PDL_STR(""), 2) == PDL_NOT_FOUND);
}

static void folders_and_names(void **state) {
    (void)state;
    static const struct {
        const char *path, *folder, *name;
    } rows[] = {{"a.pdl", "", "a.pdl"},  {"/a.pdl", "/", "a.pdl"}, {"x/a.pdl", "x", "a.pdl"},
                {"/x/y/a", "/x/y", "a"}, {"x/", "x", ""},          {"", "", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        t_assert(pdl_str_is(pdl_file_folder(t_str(rows[i].path)), rows[i].folder));
        t_assert(pdl_str_is(pdl_file_name(t_str(rows[i].path)), rows[i].name));
    }
}

static void rfind_is_linear(void **state) {
    (void)state;
    enum { N = 1 << 20 };
    char *text = pdl_alloc(N), *needle = pdl_alloc(N / 2);
    memset(text, 'a', N);
    memset(needle, 'a', N / 2);
    needle[0] = 'b';
    t_assert(pdl_str_rfind((pdl_str){text, N}, (pdl_str){needle, N / 2}) == PDL_NOT_FOUND);
    pdl_free(text);
    pdl_free(needle);
}

static void order_and_equality(void **state) {
    (void)state;
    t_assert(pdl_str_cmp(PDL_STR("a"), PDL_STR("b")) < 0);
    t_assert(pdl_str_cmp(PDL_STR("ab"), PDL_STR("a")) > 0);
    t_assert(pdl_str_cmp(PDL_STR("z"), PDL_STR("\xc3\xa9")) < 0);
    t_assert(pdl_str_cmp((pdl_str){0}, PDL_STR("")) == 0);
    t_assert(pdl_str_eq((pdl_str){0}, PDL_STR("")));
    t_assert(pdl_str_eq_nocase(PDL_STR("Content-Type"), PDL_STR("content-type")));
    t_assert(!pdl_str_eq_nocase(PDL_STR("@"), PDL_STR("`")));
    t_assert(pdl_str_starts(PDL_STR("abc"), PDL_STR("ab")) &&
             !pdl_str_starts(PDL_STR("a"), PDL_STR("ab")));
    t_assert(pdl_str_ends(PDL_STR("abc"), PDL_STR("bc")) && pdl_str_ends(PDL_STR(""), PDL_STR("")));
}

static void parts(void **state) {
    (void)state;
    t_assert_str(pdl_str_trim(PDL_STR(" \t\r\n x y \v\f")), "x y");
    t_assert_str(pdl_str_trim(PDL_STR("  ")), "");
    t_assert_str(pdl_str_sub(PDL_STR("abcd"), 1, 3), "bc");
    t_assert_str(pdl_str_sub(PDL_STR("abcd"), 3, 99), "d");
    t_assert_str(pdl_str_sub(PDL_STR("abcd"), 9, 2), "");
}

static void take(void **state) {
    (void)state;
    static const struct {
        const char *list, *separators, *first, *rest;
    } rows[] = {
        {"", ",", "", ""},
        {"a", ",", "a", ""},
        {"a,", ",", "a", ""},
        {",a", ",", "", "a"},
        {" a , b,c", ",", "a", " b,c"},
        {"a;b,c", ",;", "a", "b,c"},
        {"a,b;c", ",;", "a", "b;c"},
        {"a b", "", "a b", ""},
        {"a\nb\n", "\n", "a", "b\n"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_str rest = t_str(rows[i].list);
        t_assert_str(pdl_str_take(&rest, t_str(rows[i].separators)), rows[i].first);
        t_assert_str(rest, rows[i].rest);
    }
    pdl_str none = {0};
    t_assert_str(pdl_str_take(&none, PDL_STR("\n")), "");
}

static void nearest(void **state) {
    (void)state;
    static const pdl_str known[] = {{"name", 4}, {"text", 4}, {"repeat", 6}, {"Until", 5}};
    static const char *const rows[][2] = {
        {"nmae", "name"},   {"txt", "text"}, {"reapet", "repeat"},
        {"until", "Until"}, {"zzzz", ""},    {"name", ""},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        t_assert_str(pdl_str_nearest(t_str(rows[i][0]), known, T_LEN(known)), rows[i][1]);
    }
    t_assert(pdl_str_distance(PDL_STR("kitten"), PDL_STR("sitting"), 5) == 3);
    t_assert(pdl_str_distance(PDL_STR("kitten"), PDL_STR("sitting"), 2) == 3);
    t_assert(pdl_str_distance(PDL_STR("ab"), PDL_STR("ba"), 2) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(search),
        cmocka_unit_test(rfind_is_linear),
        cmocka_unit_test(folders_and_names),
        cmocka_unit_test(order_and_equality),
        cmocka_unit_test(parts),
        cmocka_unit_test(take),
        cmocka_unit_test(nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
