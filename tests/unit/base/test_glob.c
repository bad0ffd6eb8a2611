/* test_glob.c -- patterns of names, and the characters that are special only on request.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/glob.h"

#include "t.h"

#include "base/banned.h"

static const struct {
    const char *glob, *text;
    unsigned special;
    bool fits;
} rows[] = {
    {"", "", 0, true},
    {"", "a", 0, false},
    {"*", "", 0, true},
    {"*", "a/b", 0, true},
    {"**", "ab", 0, true},
    {"a*", "a", 0, true},
    {"a*", "ba", 0, false},
    {"*a", "aba", 0, true},
    {"*ab*ab", "abab", 0, true},
    {"*ab*ab*", "aab", 0, false},
    {"a*c", "abcbc", 0, true},
    {"a*c", "abcb", 0, false},
    {"a*b*c", "a-bb-c", 0, true},
    {"a*b*c", "a-c-b", 0, false},
    {"ab*ba", "aba", 0, false},
    {"*aa*aa*", "aaa", 0, false},
    {"*aa*aa*", "aaaa", PDL_GLOB_ONE | PDL_GLOB_SETS, true},
    {"*granite-3.1*", "granite-3.1", PDL_GLOB_ONE | PDL_GLOB_SETS, true},
    {"*granite-3.1*", "x/granite-3.", PDL_GLOB_ONE | PDL_GLOB_SETS, false},
    {"*\xc3\xa9*", "a\xc3\xa9", 0, true},
    {"a***b", "a*b", 0, true},
    {"gpt-?", "gpt-4", 0, false},
    {"gpt-?", "gpt-?", 0, true},
    {"gpt-?", "gpt-4", PDL_GLOB_ONE, true},
    {"?", "", PDL_GLOB_ONE, false},
    {"?", "\xc3\xa9", PDL_GLOB_ONE, true},
    {"*?", "\xc3\xa9", PDL_GLOB_ONE, true},
    {"??", "\xc3\xa9", PDL_GLOB_ONE, false},
    {"a[0]", "a[0]", 0, true},
    {"a[0]", "a0", 0, false},
    {"a[0]", "a0", PDL_GLOB_SETS, true},
    {"a[0]", "a[0]", PDL_GLOB_SETS, false},
    {"[a-c]x", "bx", PDL_GLOB_SETS, true},
    {"[!a-c]x", "bx", PDL_GLOB_SETS, false},
    {"[]]", "]", PDL_GLOB_SETS, true},
    {"[", "[", PDL_GLOB_SETS, true},
    {"[ab", "[ab", PDL_GLOB_SETS, true},
    {"*[0-9]", "v10", PDL_GLOB_SETS, true},
    {"[!a]", "\xc3\xa9", PDL_GLOB_SETS, true},
    {"[!a]x", "\xc3\xa9x", PDL_GLOB_SETS, true},
    {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", PDL_GLOB_SETS, true},
    {"[\xc3\xa0-\xc3\xbf]", "e", PDL_GLOB_SETS, false},
    {"[!]]", "]", PDL_GLOB_SETS, false},
    {"[!", "[!", PDL_GLOB_SETS, true},
    {"[a-]", "-", PDL_GLOB_SETS, true},
    {"/a/*", "/a/b", PDL_GLOB_PATHS, true},
    {"/a/*", "/a/b/c", PDL_GLOB_PATHS, false},
    {"/a/**", "/a/b/c", PDL_GLOB_PATHS, true},
    {"/a/**/c", "/a/c", PDL_GLOB_PATHS, true},
    {"/a/**/c", "/a/b/x/c", PDL_GLOB_PATHS, true},
    {"/a/**/c", "/a/bc", PDL_GLOB_PATHS, false},
    {"/a?c", "/a/c", PDL_GLOB_PATHS | PDL_GLOB_ONE, false},
    {"/a?c", "/a?c", PDL_GLOB_PATHS, true},
    {"/a[0]", "/a[0]", PDL_GLOB_PATHS, true},
    {"a-pattern-that-has-more-characters-than-few-patterns-have-*",
     "a-pattern-that-has-more-characters-than-few-patterns-have-x/y", 0, true},
};

static void test_fits(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (pdl_glob_fits(pdl_str_of(rows[i].glob), pdl_str_of(rows[i].text), rows[i].special) !=
            rows[i].fits)
            fail_msg("row %zu: %s and %s", i, rows[i].glob, rows[i].text);
}

/* Not exponential: with 200 stars it would never end. */
static void test_many_stars(void **state) {
    (void)state;
    char glob[402] = "", text[2001] = "";
    for (size_t i = 0; i < 200; i++) memcpy(glob + 2 * i, "*a", 2);
    glob[400] = 'b';
    memset(text, 'a', 2000);
    assert_false(pdl_glob_fits(pdl_str_of(glob), pdl_str_of(text), 0));
    assert_false(pdl_glob_fits(pdl_str_of(glob), pdl_str_of(text), PDL_GLOB_PATHS));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fits),
                                       cmocka_unit_test(test_many_stars)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
