/* test_repair.c -- JSON as models write it, and texts that were made to slow the reader down.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/limits.h"
#include "parse/parse.h"
#include "value/text.h"

#include "base/banned.h"

static void check(pdl_str text, const char *want) {
    pdl_err err = {0};
    pdl_buf got = PDL_BUF;
    pdl_val v;
    t_assert(pdl_json_repair(text, &v, &err));
    t_assert(pdl_stringify(v, &got, &err));
    t_assert_str(pdl_buf_str(&got), want);
    pdl_drop(v);
    pdl_buf_fini(&got);
}

static void test_rules(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        /* closers */
        {"{\"a\": [1, {\"b\": ", "{\"a\": [1, {\"b\": \"\"}]}"},
        {"{\"a\": \"unterminated", "{\"a\": \"unterminated\"}"},
        {"{\"a\": [1, 2}", "{\"a\": [1, 2]}"},
        {"{\"a\": 1}; trailing", "{\"a\": 1}"},
        {"{{\"a\": 1}}", "{\"a\": 1}"},
        /* surroundings */
        {"Here is: {\"a\": 1} ok", "{\"a\": 1}"},
        {"```json\n{\"a\": 1}\n```", "{\"a\": 1}"},
        {"{\"a\": 1}{\"b\": 2}", "[{\"a\": 1}, {\"b\": 2}]"},
        {"{\"a\": \"x\"}\n\n{\"a\": \"y\"}", "{\"a\": \"y\"}"},
        {"{\"a\": 1}, \"b\": 2}", "{\"a\": 1, \"b\": 2}"},
        {"\"a\": [1], \"b\": 2}", "{\"a\": [1], \"b\": 2}"},
        {"hello [", "[]"},
        {"a: 1", ""},
        /* separators */
        {"[1, 2, , 3]", "[1, 2, 3]"},
        {"[{\"a\":1}{\"b\":2}]", "[{\"a\": 1}, {\"b\": 2}]"},
        {"{\"a\": \"x\"; \"b\": \"y\"}", "{\"a\": \"x\", \"b\": \"y\"}"},
        {"{\"a\" 1}", "{\"a\": \"\"}"},
        {"{\"a\":}", "{\"a\": \"\"}"},
        /* quotes */
        {"{'a': 'it\\'s'}", "{\"a\": \"it's\"}"},
        {"{\xe2\x80\x9c"
         "a\xe2\x80\x9d: 1}",
         "{\"a\": 1}"},
        {"{\"a\": \"x, \"b\": 2}", "{\"a\": \"x\", \"b\": 2}"},
        {"{\"a: 1}", "{\"a\": 1}"},
        {"{\"a\": \"He said \"hi\" to me\"}", "{\"a\": \"He said \\\"hi\\\" to me\"}"},
        {"{\"key\": \"va\"lue\"}", "{\"key\": \"va\\\"lue\\\"\"}"},
        {"[\"\\x41 \\q\", \"\\u12\", x]", "[\"A \\\\q\", \"\\\\u12\", \"x\"]"},
        {"[\"a\": 1, x]", "[{\"a\": 1, \"x\": \"\"}]"},
        /* what a separator or a quote represents, by what follows */
        {"{\"a\": [1], [2]}", "{\"a\": [1, 2]}"},
        {"{\"a\": [[1, 2], 3, 4], [5, 6]}", "{\"a\": [[1, 2], [3, 4], [5, 6]]}"},
        {"[{\"a\": 1 \"a\": 2}]", "[{\"a\": 1}, {\"a\": 2}]"},
        {"[{\"a\": 1, \"a\": 2}]", "[{\"a\": 2}]"},
        {"{}, [1]", "[1]"},
        {"[] {\"a\": 1}", "{\"a\": 1}"},
        {"{\"a\": \"see [x, \"y\"]\", \"b\": 1}", "{\"a\": \"see [x, \\\"y\\\"]\", \"b\": 1}"},
        {"{\"a\": \"[\"b]\"}", "{\"a\": \"[\\\"b]\"}"},
        {"{a: x, [1, 2], y}", "{\"a\": \"x, [1, 2], y\"}"},
        {"{\"a\": \"x}\n```", "{\"a\": \"x\"}"},
        {"{\"a\": \"\"b\" c\"}", "{\"a\": \"\\\"b\\\" c\"}"},
        {"{a \"b\": 1}", "{\"b\": 1}"},
        {"{\"a\": 1}, 'b': 2}", "{\"a\": 1, \"b\": 2}"},
        {"[\"a\" \"b\": 1]", "[\"a\", {\"b\": 1}]"},
        {"{\"list\": [\"x\", \"y\": 2}", "{\"list\": [\"x\"], \"y\": 2}"},
        {"{/* c */ \"a\" /* d */: # e\n 1}", "{\"a\": 1}"},
        {"[1, 2, ...]", "[1, 2]"},
        {"{\"a\": (1)}", "{\"a\": 1}"},
        {"[(1, 2), ()]", "[[1, 2], []]"},
        {"{\"a\", \"b\"", "[\"a\", \"b\"]"},
        {"{\":\"}", "[\":\"]"},
        {"{x y: 1}", "{\"y\": 1}"},
        {"{x , 1}", "{\"x\": 1}"},
        {"{\"a\": b \"c\": 1}", "{\"a\": \"b\", \"c\": 1}"},
        {"[\"a\\\\\\\"]", "[\"a\\\"]\"]"},
        {"{\"k\": \"v1\" v2\", \"l\": 1}", "{\"k\": \"v1\\\" v2\", \"l\": 1}"},
        {"{\"a\": \"b\" \"c\"}", "{\"a\": \"b\"}"},
        {"[\"x\" y\" z\"]", "[\"x\\\" y\\\" z\"]"},
        /* words and numbers */
        {"{a: b, c: d e f}", "{\"a\": \"b\", \"c\": \"d e f\"}"},
        {"[True, NONE, tru]", "[true, null, \"tru\"]"},
        {"[01, .5, 1_000, +5, 1e999, 12abc, 1.2.3]",
         "[1, 0.5, 1000, 5, Infinity, \"12abc\", \"1.2.3\"]"},
        {"{\"a\": 1,000, \"b\": $5}", "{\"a\": \"1,000\", \"b\": 5}"},
        {"{\"a\": [\"b\", \"c\": \"d\"}", "{\"a\": [\"b\"], \"c\": \"d\"}"},
        {"{\"a\", \"b\"}", "[\"a\", \"b\"]"},
        /* comments, ellipsis, parentheses */
        {"[1, /* c */ 2, // d\n 3 # e\n]", "[1, 2, 3]"},
        {"[1, 2, ...]", "[1, 2]"},
        {"(1, 2)", "[1, 2]"},
        {"{\"a\": (maybe)\", \"b\": 1}", "{\"a\": \"maybe)\", \"b\": 1}"},
        {"[(1,), ((1)), (1, (2))]", "[[1], 1, [1, 2]]"},
        {"(1", "1"},
        {"see (1, 2)", ""},
        {"(1, 2)\n(a) {\"b\": 1}", "[[1, 2], {\"b\": 1}]"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        check(t_str(rows[i][0]), rows[i][1]);
    }
}

/* Each piece many times: ends at once, with a value or the depth limit. */
static void test_hostile(void **state) {
    (void)state;
    static const char *const pieces[] = {
        "[",
        "{",
        "(",
        "\"",
        "{\"a\":",
        "[{",
        "[{x ",
        "{\"a\": \"b, ",
        "[\"a ",
        "{a: b, ",
        "/*",
        "\\",
        "{x} ",
        "[1 ",
        "{\"a\": x}, ",
        "'\":",
        "{\"a\":[1],[",
        ",[1",
        "}```",
        "\\\"",
        "{\"a",
        "[{,",
        "\"a\" ",
        "{\"a\":\"}\"",
    };
    for (size_t i = 0; i < T_LEN(pieces); i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF;
        for (size_t k = 0; k < 20000; k++) pdl_buf_put(&b, t_str(pieces[i]));
        pdl_err err = {0};
        pdl_val v;
        if (pdl_json_repair(pdl_buf_str(&b), &v, &err))
            pdl_drop(v);
        else
            t_assert(err.kind == PDL_E_limit);
        pdl_err_fini(&err);
        pdl_buf_fini(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules),
                                       cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
