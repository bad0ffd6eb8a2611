/* test_parse.c -- the parser words and the regex parser: values, tolerance, messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "parse/parse.h"
#include "value/text.h"

#include "base/banned.h"

typedef struct {
    pdl_parser_kind kind;
    const char *text, *want; /* repr of the value, or "! " and the message */
} row;

/* repr of what v parses to, or "! " and the message users see. */
static void apply(const pdl_parser *p, pdl_vref v, pdl_buf *got) {
    pdl_err err = {0};
    pdl_val out;
    pdl_buf_clear(got);
    if (pdl_parse(p, v, &out, &err)) {
        t_assert(pdl_val_repr(out, got, &err));
        pdl_drop(out);
    } else {
        t_assert(err.kind == PDL_E_parser);
        pdl_buf_putf(got, "! %s", err.msg);
    }
    pdl_err_fini(&err);
}

static void apply_text(const pdl_parser *p, const char *text, pdl_buf *got) {
    pdl_val v = pdl_textz(text);
    apply(p, v, got);
    pdl_drop(v);
}

static void test_words(void **state) {
    (void)state;
    static const row rows[] = {
        {PDL_PARSE_JSON, "{\"a\": [1, 2.5, null]}", "{'a': [1, 2.5, None]}"},
        {PDL_PARSE_JSON, "True", "True"},
        {PDL_PARSE_JSON, "False", "False"},
        {PDL_PARSE_JSON, "hello", "''"},
        {PDL_PARSE_JSONL, "", "[]"},
        {PDL_PARSE_JSONL, "{\"a\": 1}\n\n{\"a\": NaN}\r\n", "[{'a': 1}, {'a': nan}]"},
        {PDL_PARSE_JSONL, "1\n[1 2]",
         "! Attempted to parse ill-formed JSON: JSONDecodeError(\"Expecting ',' delimiter: line 1 "
         "column 4 "
         "(char 3)\")"},
        {PDL_PARSE_JSONL, " ",
         "! Attempted to parse ill-formed JSON: JSONDecodeError('Expecting value: line 1 column 2 "
         "(char "
         "1)')"},
        {PDL_PARSE_YAML, "a: yes", "{'a': True}"},
        {PDL_PARSE_YAML, "", "None"},
        {PDL_PARSE_YAML, "a: b: c",
         "! Attempted to parse ill-formed YAML: mapping values are not allowed here (line 1, "
         "column 5)"},
        {PDL_PARSE_CSV, "", "[]"},
        {PDL_PARSE_CSV, "a,\"b \"\"q\"\"\n c\"d,\n\n\"open",
         "[['a', 'b \"q\"\\n cd', ''], [], ['open']]"},
        {PDL_PARSE_CSV, "a, \"b\"\r\r\n,", "[['a', ' \"b\"'], ['', '']]"},
        {PDL_PARSE_CSV, "\"\"\r\n\"a\"b\"c\"", "[[''], ['ab\"c\"']]"},
        {PDL_PARSE_CSV, "a\rb",
         "! Attempted to parse ill-formed CSV: Error('new-line character seen in unquoted field - "
         "do you "
         "need to "
         "open the file in universal-newline mode?')"},
    };
    pdl_arena *a = pdl_arena_make();
    pdl_buf got = PDL_BUF;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        apply_text(pdl_parser_word(a, rows[i].kind), rows[i].text, &got);
        t_assert_str(pdl_buf_str(&got), rows[i].want);
    }
    pdl_buf_fini(&got);
    pdl_arena_free(a);
}

static void test_regex(void **state) {
    (void)state;
    static const struct {
        pdl_parser_mode mode;
        const char *regex, *text, *want;
    } rows[] = {
        {PDL_PM_FULLMATCH, "(a)|(b)", "b", "[None, 'b']"},
        {PDL_PM_FULLMATCH, "a", "ab", "None"},
        {PDL_PM_MATCH, "a", "ab", "[]"},
        {PDL_PM_SEARCH, "^(b)$", "a\nb", "['b']"},
        {PDL_PM_SPLIT, "([,;])", "a,b;c", "['a', ',', 'b', ';', 'c']"},
        {PDL_PM_SPLIT, "x*", "axb", "['', 'a', '', 'b', '']"},
        {PDL_PM_SPLIT, "a*?", "ba", "['', 'b', '', '', '']"},
        {PDL_PM_FINDALL, "|a", "baac", "['', '', 'a', '', 'a', '', '']"},
        {PDL_PM_SPLIT, "(x)|,", "a,b", "['a', None, 'b']"},
        {PDL_PM_FINDALL, "a*", "baac", "['', 'aa', '', '']"},
        {PDL_PM_FINDALL, "(\\w)=(\\d)?", "a=1 \xc3\xa9=", "[('a', '1'), ('\xc3\xa9', '')]"},
        {PDL_PM_FINDALL, "(\\d)\\d", "1234", "['1', '3']"},
        {PDL_PM_FINDALL, "q", "abc", "[]"},
        {PDL_PM_SEARCH, "(", "a",
         "! Fail to parse with regex (: error('missing ), unterminated subpattern at position 0')"},
    };
    pdl_arena *a = pdl_arena_make();
    pdl_buf got = PDL_BUF;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        apply_text(pdl_parser_regex(a, t_str(rows[i].regex), rows[i].mode, NULL, 0, false),
                   rows[i].text, &got);
        t_assert_str(pdl_buf_str(&got), rows[i].want);
    }
    pdl_buf_fini(&got);
    pdl_arena_free(a);
}

static void test_groups(void **state) {
    (void)state;
    static const pdl_str names[] = {{"w", 1}, {"n", 1}, {"q", 1}};
    pdl_arena *a = pdl_arena_make();
    pdl_buf got = PDL_BUF;
    pdl_str regex = PDL_STR("(?P<n>\\d)?(?P<w>a)");
    T_ROW(0);
    apply_text(pdl_parser_regex(a, regex, PDL_PM_SEARCH, names, 2, true), "xa", &got);
    t_assert_str(pdl_buf_str(&got), "{'w': 'a', 'n': None}");
    T_ROW(1);
    apply_text(pdl_parser_regex(a, regex, PDL_PM_SEARCH, names, 3, true), "xa", &got);
    t_assert_str(pdl_buf_str(&got), "! No group named q found by (?P<n>\\d)?(?P<w>a) in xa");
    T_ROW(2);
    apply_text(pdl_parser_regex(a, regex, PDL_PM_SEARCH, names, 3, true), "x", &got);
    t_assert_str(pdl_buf_str(&got), "None");
    pdl_buf_fini(&got);
    pdl_arena_free(a);
}

static void test_not_text(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    pdl_buf got = PDL_BUF;
    T_ROW(0);
    apply(pdl_parser_word(a, PDL_PARSE_JSON), pdl_int(3), &got);
    t_assert_str(pdl_buf_str(&got),
                 "! Attempted to parse ill-formed JSON: expected a string but got integer");
    T_ROW(1);
    apply(pdl_parser_word(a, PDL_PARSE_CSV), pdl_null(), &got);
    t_assert_str(pdl_buf_str(&got),
                 "! Attempted to parse ill-formed CSV: expected a string but got null");
    T_ROW(2);
    apply(pdl_parser_regex(a, PDL_STR("a"), PDL_PM_MATCH, NULL, 0, false), pdl_int(3), &got);
    t_assert_str(pdl_buf_str(&got), "! Fail to parse with regex a: TypeError(\"expected string or "
                                    "bytes-like object, got 'int'\")");
    pdl_buf_fini(&got);
    pdl_arena_free(a);
}

static void test_names(void **state) {
    (void)state;
    bool found;
    pdl_parser_mode m;
    t_assert(pdl_parser_find(PDL_STR("JsonL"), &found) == PDL_PARSE_JSONL && found);
    (void)pdl_parser_find(PDL_STR("xml"), &found);
    t_assert(!found);
    t_assert(pdl_parser_mode_find(PDL_STR("FindAll"), &m) && m == PDL_PM_FINDALL);
    t_assert(!pdl_parser_mode_find(PDL_STR("sub"), &m));
    t_assert_str(pdl_str_of(pdl_parser_mode_name(PDL_PM_SPLIT)), "split");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),  cmocka_unit_test(test_regex),
        cmocka_unit_test(test_groups), cmocka_unit_test(test_not_text),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
