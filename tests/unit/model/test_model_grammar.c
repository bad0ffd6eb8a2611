/* test_model_grammar.c -- choices and regular expressions as grammars of llama.cpp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/grammar.h"

#include "value/json_read.h"

#include "t.h"

#include "base/banned.h"

static const struct {
    const char *regex, *rule; /* NULL: an error that says `why` */
    const char *why;
} regexes[] = {
    {"", "\"\"", NULL},
    {"abc", "\"abc\"", NULL},
    {"^abc$", "\"abc\"", NULL},
    {"\\Aab\\Z", "\"ab\"", NULL},
    {"ab+c", "\"a\" \"b\"+ \"c\"", NULL},
    {"a|bc|", "\"a\" | \"bc\" | \"\"", NULL},
    {"x(ab|c)*?y", "\"x\" (\"ab\" | \"c\")* \"y\"", NULL},
    {"x(d|)y", "\"x\" (\"d\" | \"\") \"y\"", NULL},
    {"(?:a)(?P<n>b)(?<m>c)", "(\"a\") (\"b\") (\"c\")", NULL},
    {"\\d{4}-\\d{2}", "[0-9]{4,4} \"-\" [0-9]{2,2}", NULL},
    {"a{2,}b{,3}c{1,2}", "\"a\"{2,} \"b\"{0,3} \"c\"{1,2}", NULL},
    {"a{x}", "\"a{x}\"", NULL},
    {"a{,}", "\"a{,}\"", NULL},
    {".", "[^\\n\\r]", NULL},
    {"\\w\\W\\s\\S\\D",
     "[a-zA-Z0-9_] [^a-zA-Z0-9_] [ \\t\\n\\r\\x0B\\x0C] [^ \\t\\n\\r\\x0B\\x0C] [^0-9]", NULL},
    {"[^a-z\\d_-]", "[^a-z0-9_\\x2D]", NULL},
    {"[]x]", "[\\x5Dx]", NULL},
    {"[\\]\\-\\\\]", "[\\x5D\\x2D\\x5C]", NULL},
    {"\\.\\(\"\\\\", "\".(\\x22\\x5C\"", NULL},
    {"\\n\\t\\x41\\u00e9\xc3\xa9",
     "\"\\n\\x09"
     "A\xc3\xa9\xc3\xa9\"",
     NULL},
    {"a(", NULL, "a closing parenthesis is missing"},
    {"a)", NULL, "a parenthesis is closed that was not opened"},
    {"[a", NULL, "a closing bracket is missing"},
    {"[z-a]", NULL, "a range from more to less"},
    {"[a-\\d]", NULL, "a range"},
    {"[\\D]", NULL, "a negated set"},
    {"a{3,2}", NULL, "a count from more to less"},
    {"*a", NULL, "there is nothing to repeat"},
    {"a++", NULL, "a quantifier after a quantifier"},
    {"a\\", NULL, "nothing follows the backslash"},
    {"\\bx", NULL, "a boundary"},
    {"(a)\\1", NULL, "a reference"},
    {"(?=a)", NULL, "lookaround"},
    {"(?<=a)b", NULL, "lookaround"},
    {"(?i)a", NULL, "a flag"},
    {"a^b", NULL, "an anchor inside"},
    {"a$b", NULL, "an anchor inside"},
    {"\\xg0", NULL, "a hexadecimal digit is missing"},
};

static void test_regexes(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(regexes); i++) {
        T_ROW(i);
        pdl_buf out = PDL_BUF;
        pdl_err err = {0};
        bool ok = pdl_grammar_of_regex(t_str(regexes[i].regex), &out, &err);
        t_assert(ok == (regexes[i].rule != NULL));
        if (ok) {
            t_assert_str(pdl_str_sub(pdl_buf_str(&out), strlen("root ::= "), out.len),
                         regexes[i].rule);
        } else {
            t_assert(err.kind == PDL_E_bad_request);
            t_assert(strstr(err.msg, regexes[i].why) != NULL);
        }
        pdl_err_fini(&err);
        pdl_buf_fini(&out);
    }
}

static void test_depth(void **state) {
    (void)state;
    pdl_buf regex = PDL_BUF, out = PDL_BUF;
    pdl_err err = {0};
    for (size_t i = 0; i < 100000; i++) pdl_buf_putc(&regex, '(');
    t_assert(!pdl_grammar_of_regex(pdl_buf_str(&regex), &out, &err));
    t_assert(strstr(err.msg, "nested too deeply") != NULL);
    pdl_err_fini(&err);
    pdl_buf_fini(&regex);
    pdl_buf_fini(&out);
}

static const struct {
    const char *json, *grammar;
} choices[] = {
    {"[\"yes\", \"no\"]", "root ::= \"yes\" | \"no\""},
    {"[\"a\\\"b\\\\c\\nd\", 3, true]", "root ::= \"a\\\"b\\\\c\\nd\" | \"3\" | \"true\""},
    {"[]", NULL},
    {"\"yes\"", NULL},
};

static void test_choices(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(choices); i++) {
        T_ROW(i);
        pdl_buf out = PDL_BUF;
        pdl_err err = {0};
        pdl_val list;
        t_assert(pdl_json_read(t_str(choices[i].json), 0, &list, NULL, &err));
        bool ok = pdl_grammar_of_choice(list, &out, &err);
        t_assert(ok == (choices[i].grammar != NULL));
        if (ok) t_assert_str(pdl_buf_str(&out), choices[i].grammar);
        pdl_drop(list);
        pdl_err_fini(&err);
        pdl_buf_fini(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_regexes), cmocka_unit_test(test_depth),
                                       cmocka_unit_test(test_choices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
