/* test_yaml_write.c -- a written value reads back as the same value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "effect/effect.h"
#include "value/json_read.h"
#include "value/text.h"
#include "yaml/yaml.h"

#include "base/banned.h"

static void test_write(void **state) {
    (void)state;
    static const struct {
        const char *json, *want; /* NULL: only the way back is checked */
    } rows[] = {
        {"null", "null\n"},
        {"\"a\"", "a\n"},
        {"\"yes\"", "'yes'\n"},
        {"\"1.5\"", "'1.5'\n"},
        {"\"\"", "''\n"},
        {"1e20", NULL},
        {"[]", "[]\n"},
        {"{}", "{}\n"},
        {"{\"a\":[1,{\"b\":2}],\"c\":{\"d\":null}}", "a:\n- 1\n- b: 2\nc:\n  d: null\n"},
        {"[[1,2],[[]]]", "- - 1\n  - 2\n- - []\n"},
        {"{\"t\":\"one\\ntwo\\n\"}", "t: |\n  one\n  two\n"},
        {"{\"t\":\"one\\ntwo\"}", "t: |-\n  one\n  two\n"},
        {"[\"a: b\",\"a #b\",\"- x\",\"it's\"]", NULL},
        {"[\"\\n\",\" a\\nb\",\"a\\n\\n\",\"\\n\\na\\n\",\"a\\n b\\n  "
         "\",\"\\ta\\nb\",\"a\\u0000b\",\"\\u2028\",\"---\",\"...\",\"a:\",\"%x\",\"@\",\"`\"]",
         NULL},
        {"[\"#x\\ny\\n\",\"--- \\nx\",\"?\",\"? "
         "a\",\"-\",\":\",\"=\",\"<<\",\"~\",\"!a\",\"&a\",\"*a\",\"|\",\">\",\"{\",\"[\",\"a,b\","
         "\"'\","
         "\"\\\"\"]",
         NULL},
        {"{\"a\\nb\":1,\"\":2,\"null\":3,\"x: y\":4}", NULL},
        {"\"multi\\nline\\n\"", NULL},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_err err = {0};
        pdl_val v, back;
        pdl_buf b = PDL_BUF;
        T_ROW(i);
        t_assert(pdl_json_read(t_str(rows[i].json), 0, &v, NULL, &err) &&
                 pdl_yaml_write(v, &b, &err));
        if (rows[i].want) t_assert_str(pdl_buf_str(&b), rows[i].want);
        if (!pdl_yaml_read(pdl_buf_str(&b), &back, NULL, NULL, &err))
            fail_msg("row %zu: %s\n%s", i, err.msg, pdl_buf_z(&b));
        if (!pdl_val_eq(v, back)) fail_msg("row %zu reads back differently:\n%s", i, pdl_buf_z(&b));
        pdl_drop(v);
        pdl_drop(back);
        pdl_buf_fini(&b);
    }
}

/* Values that are not JSON, in the tagged form of effects; how they are written, what is read of
 * it. */
static void test_other_kinds(void **state) {
    (void)state;
    static const struct {
        const char *value, *want, *back;
    } rows[] = {
        {"{\"$pdl\":\"float\",\"text\":\"nan\"}", ".nan\n",
         "{\"$pdl\":\"float\",\"text\":\"nan\"}"},
        {"[{\"$pdl\":\"float\",\"text\":\"inf\"},{\"$pdl\":\"float\",\"text\":\"-inf\"}]",
         "- .inf\n- -.inf\n", NULL},
        {"{\"$pdl\":\"bytes\",\"hex\":\"6869\"}", "!!binary \"aGk=\"\n", NULL},
        {"{\"$pdl\":\"bytes\",\"hex\":\"00ff10\"}", "!!binary \"AP8Q\"\n", NULL},
        {"{\"$pdl\":\"bytes\",\"hex\":\"ff\"}", "!!binary \"/w==\"\n", NULL},
        {"{\"$pdl\":\"date\",\"text\":\"2024-02-29\"}", "2024-02-29\n", NULL},
        {"{\"a\":{\"$pdl\":\"datetime\",\"text\":\"2024-02-29 01:02:03\"}}",
         "a: 2024-02-29 01:02:03\n", NULL},
        {"{\"$pdl\":\"set\",\"items\":[1,\"b\"]}", "!!set\n1: null\nb: null\n", NULL},
        {"{\"a\":{\"$pdl\":\"set\",\"items\":[1]},\"b\":2}", "a: !!set\n  1: null\nb: 2\n", NULL},
        {"[{\"$pdl\":\"set\",\"items\":[]}]", "- !!set {}\n", NULL},
        {"{\"$pdl\":\"tuple\",\"items\":[1,2]}", "- 1\n- 2\n", "[1,2]"},
        {"{\"$pdl\":\"range\",\"items\":[0,3,1]}", "- 0\n- 1\n- 2\n", "[0,1,2]"},
        {"{\"$pdl\":\"context\",\"items\":[{\"role\":\"user\",\"content\":\"a\"}]}",
         "- role: user\n  content: a\n", "[{\"role\":\"user\",\"content\":\"a\"}]"},
        {"{\"$pdl\":\"dict\",\"items\":[[1,\"a\"],[null,\"b\"],[true,\"c\"]]}", "1: c\nnull: b\n",
         NULL},
        {"[123456789012345678901234567890,1.5,1e+300,true]",
         "- 123456789012345678901234567890\n- 1.5\n- 1.0e+300\n- true\n", NULL},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_err err = {0};
        pdl_val v, back;
        pdl_buf b = PDL_BUF, shown = PDL_BUF;
        T_ROW(i);
        t_assert(pdl_effect_decode(t_str(rows[i].value), &v, &err) && pdl_yaml_write(v, &b, &err));
        t_assert_str(pdl_buf_str(&b), rows[i].want);
        if (!pdl_yaml_read(pdl_buf_str(&b), &back, NULL, NULL, &err))
            fail_msg("row %zu: %s\n%s", i, err.msg, pdl_buf_z(&b));
        if (rows[i].back) {
            t_assert(pdl_effect_encode(back, &shown, &err));
            t_assert_str(pdl_buf_str(&shown), rows[i].back);
        } else if (!pdl_val_eq(v, back)) {
            fail_msg("row %zu reads back differently:\n%s", i, pdl_buf_z(&b));
        }
        pdl_drop(v);
        pdl_drop(back);
        pdl_buf_fini(&b);
        pdl_buf_fini(&shown);
    }
}

/* A key that readers would not find the end of is written in the explicit form; what is too deep is
 * refused. */
static void test_long_and_deep(void **state) {
    (void)state;
    enum { LONG = 2000, DEEP = 2000 };
    pdl_err err = {0};
    pdl_buf key = PDL_BUF, b = PDL_BUF;
    for (int i = 0; i < LONG; i++) pdl_buf_putc(&key, 'k');
    pdl_val v = pdl_dict_puts(pdl_dict_new(1), pdl_buf_str(&key), pdl_int(1)), back;
    t_assert(pdl_yaml_write(v, &b, &err));
    t_assert(pdl_str_starts(pdl_buf_str(&b), PDL_STR("? k")) &&
             pdl_str_ends(pdl_buf_str(&b), PDL_STR("\n: 1\n")));
    t_assert(pdl_yaml_read(pdl_buf_str(&b), &back, NULL, NULL, &err) && pdl_val_eq(v, back));
    pdl_drop(v), pdl_drop(back);
    v = pdl_list_new(0);
    for (int i = 0; i < DEEP; i++) v = pdl_list_push(pdl_list_new(1), v);
    t_assert(!pdl_yaml_write(v, &b, &err) && err.kind == PDL_E_limit);
    pdl_err_fini(&err);
    pdl_drop(v);
    pdl_buf_fini(&key);
    pdl_buf_fini(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_write),
                                       cmocka_unit_test(test_other_kinds),
                                       cmocka_unit_test(test_long_and_deep)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
