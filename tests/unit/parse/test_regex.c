/* test_regex.c -- Python's dialect of regular expressions: which patterns it refuses and with which
 * message, and what matches.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/regex.h"

#include "base/banned.h"

static void refusals(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"(", "missing ), unterminated subpattern at position 0"},
        {"a)", "unbalanced parenthesis at position 1"},
        {"a\nb(", "missing ), unterminated subpattern at position 3 (line 2, column 2)"},
        {"*a", "nothing to repeat at position 0"},
        {"^*", "nothing to repeat at position 1"},
        {"x{2}{3}", "multiple repeat at position 4"},
        {"a{2,1}", "min repeat greater than max repeat at position 2"},
        {"a{99999999999}", "the repetition number is too large"},
        {"\\p{L}", "bad escape \\p at position 0"},
        {"\xc3\xa9\\z", "bad escape \\z at position 1"},
        {"a\\", "bad escape (end of pattern) at position 1"},
        {"\\x4", "incomplete escape \\x4 at position 0"},
        {"[a", "unterminated character set at position 0"},
        {"[z-a]", "bad character range z-a at position 1"},
        {"(?<=a+)b", "look-behind requires fixed-width pattern"},
        {"(a)\\2", "invalid group reference 2 at position 4"},
        {"(a\\1)", "cannot refer to an open group at position 2"},
        {"(?P=n)", "unknown group name 'n' at position 4"},
        {"(?P<1>a)", "bad character in group name '1' at position 4"},
        {"(?P<a>x)(?P<a>y)",
         "redefinition of group name 'a' as group 2; was group 1 at position 12"},
        {"(?<x>a)", "unknown extension ?<x at position 1"},
        {"a(?i)b", "global flags not at the start of the expression at position 1"},
        {"(?L)a", "bad inline flags: cannot use 'L' flag with a str pattern at position 3"},
        {"(?(2)a|b)", "invalid group reference 2 at position 3"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_regex *re = NULL;
        pdl_err err = {0};
        T_ROW(i);
        t_assert(!pdl_regex_new(t_str(rows[i][0]), 0, &re, &err));
        t_assert(re == NULL && err.kind == PDL_E_parser && err.py_class);
        t_assert_str(t_str(err.msg), rows[i][1]);
        pdl_err_fini(&err);
    }
}

static void matches(void **state) {
    (void)state;
    static const struct {
        const char *pattern;
        int flags;
        pdl_regex_mode mode;
        const char *text, *whole; /* whole NULL: no match */
    } rows[] = {
        {"a|ab", 0, PDL_RE_FULLMATCH, "ab", "ab"},
        {"a", 0, PDL_RE_FULLMATCH, "ab", NULL},
        {"a", 0, PDL_RE_MATCH, "ba", NULL},
        {"a$", 0, PDL_RE_SEARCH, "a\n", "a"},
        {"a\\Z", 0, PDL_RE_SEARCH, "a\n", NULL},
        {"^b$", PDL_RE_MULTILINE, PDL_RE_SEARCH, "a\nb\nc", "b"},
        {"a.b", 0, PDL_RE_SEARCH, "a\nb", NULL},
        {"a.b", PDL_RE_DOTALL, PDL_RE_SEARCH, "a\nb", "a\nb"},
        {"a.b", 0, PDL_RE_SEARCH, "a\rb", "a\rb"},
        {"(?i)\xc3\x89", 0, PDL_RE_MATCH, "\xc3\xa9", "\xc3\xa9"},
        {"\xc4\xb0", PDL_RE_NOCASE, PDL_RE_MATCH, "i", "i"},
        {"(?ai)k", 0, PDL_RE_MATCH, "\xe2\x84\xaa", NULL},
        {"\\w+", 0, PDL_RE_SEARCH, "-\xc3\xa9_1-", "\xc3\xa9_1"},
        {"(?a)\\w+", 0, PDL_RE_SEARCH, "\xc3\xa9_1-", "_1"},
        {"\\s", 0, PDL_RE_SEARCH, "\x1c", "\x1c"},
        {"[^\\S]", 0, PDL_RE_SEARCH, "a\xc2\xa0", "\xc2\xa0"},
        {"[]a[:]+", 0, PDL_RE_SEARCH, "x[]a:", "[]a:"},
        {"x{,2}y", 0, PDL_RE_SEARCH, "xxxy", "xxy"},
        {"a{x}", 0, PDL_RE_SEARCH, "a{x}", "a{x}"},
        {"(?P<q>['\"]).*?(?P=q)", 0, PDL_RE_SEARCH, "a 'b\"c' d", "'b\"c'"},
        {"(?P<o>\\()?x(?(o)\\))", 0, PDL_RE_FULLMATCH, "(x)", "(x)"},
        {"(?x) a b # c\n c", 0, PDL_RE_MATCH, "abc", "abc"},
        {"(?s:.)(?-i:B)", PDL_RE_NOCASE, PDL_RE_MATCH, "\nB", "\nB"},
        {"\\B", 0, PDL_RE_SEARCH, "", NULL},
        {"a++a", 0, PDL_RE_SEARCH, "aaa", NULL},
        {"\\u00e9\\x41\\101", 0, PDL_RE_MATCH,
         "\xc3\xa9"
         "AA",
         "\xc3\xa9"
         "AA"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_regex *re = NULL;
        pdl_err err = {0};
        pdl_span spans[8];
        bool hit = false;
        T_ROW(i);
        pdl_str text = t_str(rows[i].text);
        t_assert(pdl_regex_new(t_str(rows[i].pattern), rows[i].flags, &re, &err));
        t_assert(pdl_regex_match(re, (pdl_regex_search){text, 0, rows[i].mode}, &hit, spans, &err));
        t_assert(hit == (rows[i].whole != NULL));
        if (hit) t_assert_str(pdl_str_sub(text, spans[0].start, spans[0].end), rows[i].whole);
        pdl_regex_free(re);
    }
}

static void groups(void **state) {
    (void)state;
    pdl_regex *re = NULL;
    pdl_err err = {0};
    pdl_span spans[4];
    bool hit = false;
    t_assert(pdl_regex_new(PDL_STR("(?P<x>a)|(b)|(?P<\xc3\xa9>c)"), 0, &re, &err));
    t_assert(pdl_regex_groups(re) == 3);
    t_assert(pdl_regex_group_index(re, PDL_STR("x")) == 1 &&
             pdl_regex_group_index(re, PDL_STR("\xc3\xa9")) == 3);
    t_assert(pdl_regex_group_index(re, PDL_STR("y")) == 0);
    t_assert(pdl_regex_match(re, (pdl_regex_search){PDL_STR("abc"), 1, PDL_RE_SEARCH}, &hit, spans,
                             &err) &&
             hit);
    t_assert(spans[0].start == 1 && spans[0].end == 2 && spans[2].start == 1);
    t_assert(spans[1].start == PDL_NOT_FOUND && spans[3].start == PDL_NOT_FOUND);
    t_assert(pdl_regex_match(re, (pdl_regex_search){PDL_STR("abc"), 4, PDL_RE_SEARCH}, &hit, spans,
                             &err) &&
             !hit);
    t_assert(pdl_regex_match(re, (pdl_regex_search){(pdl_str){0}, 0, PDL_RE_SEARCH}, &hit, spans,
                             &err) &&
             !hit);
    pdl_regex_free(re);
    pdl_regex_free(NULL);
    t_assert(pdl_regex_new(PDL_STR("(a)*+b|c"), 0, &re,
                           &err)); /* a bug of PCRE2's machine code, avoided */
    t_assert(pdl_regex_match(re, (pdl_regex_search){PDL_STR("aaxc"), 0, PDL_RE_SEARCH}, &hit, spans,
                             &err) &&
             hit);
    t_assert(spans[0].start == 3 && spans[1].start == PDL_NOT_FOUND);
    pdl_regex_free(re);
}

static void limits(void **state) {
    (void)state;
    static const char text[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";
    pdl_regex *re = NULL;
    pdl_err err = {0};
    pdl_span spans[2];
    bool hit = false;
    t_assert(pdl_regex_new(PDL_STR("(a+)+$"), 0, &re, &err));
    t_assert(
        !pdl_regex_match(re, (pdl_regex_search){t_str(text), 0, PDL_RE_SEARCH}, &hit, spans, &err));
    t_assert(err.kind == PDL_E_limit);
    pdl_err_fini(&err);
    pdl_regex_free(re);
    pdl_buf deep = PDL_BUF;
    for (int i = 0; i < 100000; i++) pdl_buf_putc(&deep, '(');
    t_assert(!pdl_regex_new(pdl_buf_str(&deep), 0, &re, &err));
    t_assert(err.kind == PDL_E_limit);
    pdl_err_fini(&err);
    pdl_buf_fini(&deep);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refusals), cmocka_unit_test(matches),
                                       cmocka_unit_test(groups), cmocka_unit_test(limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
