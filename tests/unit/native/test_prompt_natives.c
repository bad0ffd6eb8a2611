/* test_prompt_natives.c -- the natives from which the pattern library is made: slots, calls found
 * in text, the calculator, TF-IDF, values in prompts. A row has the name of a filter or global, the
 * arguments as JSON, and the result as repr or "!message".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "native/native.h"
#include "value/json_read.h"
#include "value/text.h"

#include "base/banned.h"

typedef struct {
    const char *name, *args, *want;
} row;

static const row rows[] = {
    {"json", "[{\"b\":[1,12.0,true,null],\"a\":\"<\u00e9>\"}]",
     "'{\"b\": [1, 12.0, true, null], \"a\": \"<\u00e9>\"}'"},
    {"json", "[\"\u00e9\",true]", "'\"\\\\u00e9\"'"},
    {"pylist", "[[\"a\",\"it's\",\"'\\\"\",\"\\\\\"]]",
     "'[\\'a\\', \"it\\'s\", \\'\\\\\\'\"\\', \\'\\\\\\\\\\']'"},
    {"pylist", "[[]]", "'[]'"},
    {"pdl_slots", "[\"{a} {{b}} { c} {} {d-e} {a} {\u00e9_1} {\"]", "['a', 'b', '\u00e9_1']"},
    {"pdl_fill", "[\"{a}{b}{{a}}{x\",{\"a\":\"{b}\",\"b\":[1]}]", "'{b}[1]{{b}}{x'"},
    {"pdl_fill", "[\"{a}\",{}]", "'{a}'"},
    {"pdl_fill", "[\"{a}\",1]", "!values of slots must be an object, not int"},
    {"pdl_find_object", "[\"\u00e9 {x} {\\\"a\\\":{\\\"b\\\":\\\"\\n\\\"}} z\",{\"b\":\"string\"}]",
     "{'value': {'b': '\\n'}, 'start': 11, 'end': 20}"},
    {"pdl_find_object", "[\"{\\\"a\\\":1} {\\\"a\\\":true} {\\\"a\\\":{}}\",{\"a\":\"object\"}]",
     "{'value': {'a': {}}, 'start': 19, 'end': 27}"},
    {"pdl_find_object", "[\"{\\\"a\\\": {\\\"a\\\": \",{\"a\":\"number\"}]", "None"},
    {"pdl_find_object", "[\"\",{\"a\":\"text\"}]",
     "!types are string, number, boolean, array and object"},
    {"pdl_tfidf", "[[\"the cat sat\",\"the dog\",\"x\"],\"cat the\",2]",
     "[{'index': 0, 'score': 0.782408}, {'index': 1, 'score': 0.366447}]"},
    {"pdl_tfidf", "[[\"a b\",\"cc\"],\"zz\",5]",
     "[{'index': 0, 'score': 0.0}, {'index': 1, 'score': 0.0}]"},
    {"pdl_nearest", "[[[1,0],[0.5,0.5],[0,2]],[0,1],2]",
     "[{'index': 2, 'score': 1.0}, {'index': 1, 'score': 0.707107}]"},
    {"pdl_nearest", "[[[0,0],[-1,0]],[1,0],5]",
     "[{'index': 0, 'score': 0.0}, {'index': 1, 'score': -1.0}]"},
    {"pdl_nearest", "[[],[1,0],5]", "[]"},
    {"pdl_nearest", "[[[1]],[1,0],5]", "!the vectors do not all have 2 numbers"},
    {"pdl_nearest", "[[[1,\"a\"]],[1,0],5]", "!a number of a vector is of type str"},
    {"pdl_tfidf", "[[1],\"zz\",5]", "!a text is of type int, not str"},
    {"pdl_check", "[1,\"string\"]", "!nothing can be checked here"},
    {"pdl_fail", "[\"a\\nb\"]", "!a\nb"},
    {"pdl_fail", "[{\"message\":\"m\",\"kind\":\"timeout\",\"status\":408}]", "!m"},
    {"pdl_show", "[\"x\"]", "!nothing can be shown here"},
    {"pdl_calculate", "[\" (1+2) * -3 # x\"]", "-9"},
    {"pdl_calculate", "[\"# c\\n1+1\\n# d\"]", "2"},
    {"pdl_calculate", "[\"-2**2\"]", "-4"},
    {"pdl_calculate", "[\"2**3**2\"]", "512"},
    {"pdl_calculate", "[\"2**-1\"]", "0.5"},
    {"pdl_calculate", "[\"1 + 6 ^ 3\"]", "4"},
    {"pdl_calculate", "[\"-1 ^ 2**70\"]", "-1180591620717411303425"},
    {"pdl_calculate", "[\"0x1F + 0b11 + 1_000\"]", "1034"},
    {"pdl_calculate", "[\"72/6\"]", "12.0"},
    {"pdl_calculate", "[\"1_0.5e1 + .5\", true]", "105.5"},
    {"pdl_calculate", "[\"9**9**9\"]", "!cannot evaluate \"9**9**9\": result too large"},
    {"pdl_calculate", "[\"1.5\"]", "!cannot evaluate \"1.5\": only integers are allowed"},
    {"pdl_calculate", "[\"'a' 'b'\", true]",
     "!cannot evaluate \"'a' 'b'\": only numbers are allowed"},
    {"pdl_calculate", "[\"1.5^1\", true]", "!cannot evaluate \"1.5^1\": operator ^ needs integers"},
    {"pdl_calculate", "[\"0**-1\"]", "!cannot evaluate \"0**-1\": division by zero"},
    {"pdl_calculate", "[\"1 // x\"]", "!cannot evaluate \"1 // x\": operator // is not allowed"},
    {"pdl_calculate", "[\"not 1\"]", "!cannot evaluate \"not 1\": operator not is not allowed"},
    {"pdl_calculate", "[\"a.b(1)\"]", "!cannot evaluate \"a.b(1)\": calls are not allowed"},
    {"pdl_calculate", "[\"1 + a\"]", "!cannot evaluate \"1 + a\": names are not allowed"},
    {"pdl_calculate", "[\"1,\"]", "!cannot evaluate \"1,\": unsupported expression"},
    {"pdl_calculate", "[\"1 if 2 else [3)\"]",
     "!cannot evaluate \"1 if 2 else [3)\": syntax error"},
    {"pdl_calculate", "[\"007\"]", "!cannot evaluate \"007\": syntax error"},
    {"pdl_calculate", "[\"\"]", "!cannot evaluate \"\": syntax error"},
};

static void check(const row *r) {
    const pdl_native_env env = {0};
    pdl_str name = t_str(r->name);
    const pdl_native *n =
        pdl_str_starts(name, t_str("pdl_")) ? pdl_global_find(name) : pdl_filter_find(name);
    t_assert(n != NULL);
    pdl_val args, got, pos[4];
    pdl_err err = {0};
    t_assert(pdl_json_read(t_str(r->args), 0, &args, NULL, &err));
    for (size_t i = 0; i < pdl_list_len(args); i++) pos[i] = pdl_list_at(args, i);
    pdl_buf b = PDL_BUF;
    const pdl_call_args given = {.pos = pos, .n_pos = pdl_list_len(args)};
    if (pdl_native_call(n, &env, &given, &got, &err)) {
        t_assert(pdl_val_repr(got, &b, &err));
        pdl_drop(got);
    } else {
        pdl_buf_putf(&b, "!%s", err.msg);
        pdl_err_fini(&err);
    }
    t_assert_str(pdl_buf_str(&b), r->want);
    pdl_buf_fini(&b);
    pdl_drop(args);
}

static void all_rows(void **state) {
    (void)state;
    size_t start = pdl_live_objects();
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        check(&rows[i]);
        t_assert(pdl_live_objects() == start);
    }
}

/* A text, whether it may hold floats, and its value or, behind an exclamation mark, why it has
 * none. */
static const struct {
    const char *text;
    bool floats;
    const char *want;
} sums[] = {
    {"(1, 2)", false, "!unsupported expression"},
    {"()", false, "!unsupported expression"},
    {"(1,)", false, "!unsupported expression"},
    {"(x for x in y)", false, "!unsupported expression"},
    {"(x := 1)", false, "!unsupported expression"},
    {"f(1)", false, "!calls are not allowed"},
    {"a[1]", false, "!unsupported expression"},
    {"1 .real", false, "!unsupported expression"},
    {"1. real", false, "!syntax error"},
    {"1.real", false, "!syntax error"},
    {"1[0]", false, "!unsupported expression"},
    {"1(2)", false, "!calls are not allowed"},
    {"+1", false, "!operator + is not allowed"},
    {"~1", false, "!operator ~ is not allowed"},
    {"not 1", false, "!operator not is not allowed"},
    {"1 and 2", false, "!unsupported expression"},
    {"1 or 2", false, "!unsupported expression"},
    {"lambda: 1", false, "!unsupported expression"},
    {"lambda x: x", false, "!unsupported expression"},
    {"lambda x", false, "!syntax error"},
    {"1 if 2 else 3", false, "!unsupported expression"},
    {"1 if 2", false, "!syntax error"},
    {"1 is 2", false, "!unsupported expression"},
    {"1 is not 2", false, "!unsupported expression"},
    {"1 in 2", false, "!unsupported expression"},
    {"1 not in 2", false, "!unsupported expression"},
    {"1 < 2", false, "!unsupported expression"},
    {"1 == 2", false, "!unsupported expression"},
    {"1 != 2", false, "!unsupported expression"},
    {"1 << 2", false, "!operator << is not allowed"},
    {"1 & 2", false, "!operator & is not allowed"},
    {"1 | 2", false, "!operator | is not allowed"},
    {"1 // 2", false, "!operator // is not allowed"},
    {"1 % 2", false, "!operator % is not allowed"},
    {"1 @ 2", false, "!operator @ is not allowed"},
    {"2 ^ 3", false, "1"},
    {"2.5 ^ 1", false, "!only integers are allowed"},
    {"-2 ** 2", false, "-4"},
    {"2 ** -1", false, "0.5"},
    {"2 ** 3 ** 2", false, "512"},
    {"10 ** 100000", false, "!result too large"},
    {"10 ** -100000", false, "0.0"},
    {"7 ** 2.5", false, "!only integers are allowed"},
    {"1e308 * 10", false, "!only integers are allowed"},
    {"1 / 0", false, "!division by zero"},
    {"1.5 / 0", false, "!only integers are allowed"},
    {"0 ** -1", false, "!division by zero"},
    {"007", false, "!syntax error"},
    {"0x10", false, "16"},
    {"0b101", false, "5"},
    {"0o17", false, "15"},
    {"1_000", false, "1000"},
    {"1__0", false, "!syntax error"},
    {"1e3", false, "!only integers are allowed"},
    {"1e", false, "!syntax error"},
    {".5", false, "!only integers are allowed"},
    {"5.", false, "!only integers are allowed"},
    {"\"a\"", false, "!only integers are allowed"},
    {"'a' + 'b'", false, "!only integers are allowed"},
    {"[1]", false, "!unsupported expression"},
    {"{1}", false, "!unsupported expression"},
    {"{}", false, "!unsupported expression"},
    {"1 +", false, "!syntax error"},
    {"* 1", false, "!syntax error"},
    {"1 2", false, "!syntax error"},
    {"(1", false, "!syntax error"},
    {"1)", false, "!syntax error"},
    {"((((1))))", false, "1"},
    {"- - 1", false, "1"},
    {"1 - -1", false, "2"},
    {"1;2", false, "!syntax error"},
    {"1", false, "1"},
    {"99999999999999999999 * 99999999999999999999", false,
     "9999999999999999999800000000000000000001"},
    {"x", false, "!names are not allowed"},
    {"None", false, "!only integers are allowed"},
    {"True", false, "!only integers are allowed"},
    {"...", false, "!only integers are allowed"},
    {"await x", false, "!syntax error"},
    {"1 # note", false, "1"},
    {"(1 +\n2)", false, "3"},
    {"1\\\n+ 2", false, "!syntax error"},
    {"1j", false, "!only integers are allowed"},
    {"0xg", false, "!syntax error"},
    {"0b2", false, "!syntax error"},
    {"1 if 2 else", false, "!syntax error"},
    {"2.5 ^ 1", true, "!operator ^ needs integers"},
    {"7 ** 2.5", true, "129.64181424216494"},
    {"1e308 * 10", true, "inf"},
    {"1.5 / 0", true, "!division by zero"},
    {"1e3", true, "1000.0"},
    {".5", true, "0.5"},
    {"5.", true, "5.0"},
    {"1e", true, "!syntax error"},
    {"\"a\"", true, "!only numbers are allowed"},
    {"None", true, "!only numbers are allowed"},
    {"1j", true, "!only numbers are allowed"},
    {"-2.5", true, "-2.5"},
    {"1.5 + 1", true, "2.5"},
    {"2 ** 0.5", true, "1.4142135623730951"},
    {"1e400", true, "inf"},
    {"(-8) ** 0.5", true, "!unsupported expression"},
    {"0.0 ** -1", true, "!division by zero"},
};

static void calculations(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(sums); i++) {
        T_ROW(i);
        const pdl_native_env env = {0};
        pdl_val args[2] = {pdl_textz(sums[i].text), pdl_bool(sums[i].floats)}, got;
        pdl_err err = {0};
        pdl_buf b = PDL_BUF;
        const pdl_call_args given = {.pos = args, .n_pos = 2};
        if (pdl_native_call(pdl_global_find(t_str("pdl_calculate")), &env, &given, &got, &err)) {
            t_assert(pdl_val_repr(got, &b, &err));
            pdl_drop(got);
        } else {
            pdl_str msg = t_str(err.msg);
            pdl_buf_putf(&b, "!%.*s",
                         PDL_FMT(pdl_str_sub(msg, pdl_str_rfind(msg, PDL_STR("\": ")) + 3, msg.n)));
            pdl_err_fini(&err);
        }
        t_assert_str(pdl_buf_str(&b), sums[i].want);
        pdl_buf_fini(&b);
        pdl_drop(args[0]);
    }
}

/* n times `open`, then `close`. */
static void calculates(const char *open, const char *middle, const char *close, size_t n,
                       bool good) {
    pdl_buf b = PDL_BUF;
    for (size_t i = 0; i < n; i++) pdl_buf_put(&b, t_str(open));
    pdl_buf_put(&b, t_str(middle));
    for (size_t i = 0; i < n; i++) pdl_buf_put(&b, t_str(close));
    const pdl_native_env env = {0};
    pdl_val got, text = pdl_text_of_buf(&b);
    pdl_err err = {0};
    const pdl_call_args given = {.pos = &text, .n_pos = 1};
    bool ok = pdl_native_call(pdl_global_find(t_str("pdl_calculate")), &env, &given, &got, &err);
    t_assert(ok == good);
    if (ok) pdl_drop(got);
    pdl_err_fini(&err);
    pdl_drop(text);
}

static void depth_is_limited(void **state) {
    (void)state;
    calculates("(", "1", ")", 50, true);
    calculates("(", "1", ")", 100000, false);
    calculates("-", "1", "", 100000, false);
    calculates("1**", "1", "", 100000, false);
    calculates("f(", "1", ")", 100000, false);
    calculates("1+", "1", "", 100000, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_rows), cmocka_unit_test(calculations),
                                       cmocka_unit_test(depth_is_limited)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
