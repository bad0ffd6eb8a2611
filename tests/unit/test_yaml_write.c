/* test_yaml_write.c -- what is written reads back as the same value. */
#include "t.h"

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
         "a\",\"-\",\":\",\"=\",\"<<\",\"~\",\"!a\",\"&a\",\"*a\",\"|\",\">\",\"{\",\"[\",\"a,b\",\"'\","
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
        t_assert(pdl_json_read(t_str(rows[i].json), 0, &v, NULL, &err) && pdl_yaml_write(v, &b, &err));
        if (rows[i].want) t_assert_str(pdl_buf_str(&b), rows[i].want);
        if (!pdl_yaml_read(pdl_buf_str(&b), &back, NULL, NULL, &err))
            fail_msg("row %zu: %s\n%s", i, err.msg, pdl_buf_z(&b));
        if (!pdl_val_eq(v, back)) fail_msg("row %zu reads back differently:\n%s", i, pdl_buf_z(&b));
        pdl_drop(v);
        pdl_drop(back);
        pdl_buf_fini(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_write)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
