/* test_json_write.c -- Python's json.dumps forms, flags, errors, depth.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <time.h>

#include "t.h"

#include <math.h>

#include "base/limits.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/pyvalues.h"

enum { PLAIN = PDL_JSON_SPACED | PDL_JSON_ASCII };

static const struct {
    const char *in, *want;
    int flags, indent;
} rows[] = {
    {"[1,true,null,1.0,1e16,1e-5,\"x\"]", "[1, true, null, 1.0, 1e+16, 1e-05, \"x\"]", PLAIN, 0},
    {"{\"a\":{\"b\":[]},\"c\":{}}", "{\"a\":{\"b\":[]},\"c\":{}}", 0, 0},
    {"{\"a\":{\"b\":[1,2]},\"c\":{}}",
     "{\n  \"a\": {\n    \"b\": [\n      1,\n      2\n    ]\n  },\n  \"c\": {}\n}", 0, 2},
    {"[\"\", \"long enough for a word at a time\\u007f and more of it\", \"\\u007f\"]",
     "[\"\", \"long enough for a word at a time\\u007f and more of it\", \"\\u007f\"]", PLAIN, 0},
    {"\"é😀\\u007f\\u0001/\\\"\\\\\\b\\f\\n\\r\\t\"",
     "\"\\u00e9\\ud83d\\ude00\\u007f\\u0001/\\\"\\\\\\b\\f\\n\\r\\t\"", PLAIN, 0},
    {"\"é😀\\u0001\"", "\"é😀\\u0001\"", 0, 0},
    {"{\"b\":1,\"a\":{\"z\":1,\"y\":2},\"\":3}", "{\"\":3,\"a\":{\"y\":2,\"z\":1},\"b\":1}",
     PDL_JSON_SORT, 0},
    {"[NaN,Infinity,-Infinity]", "[NaN, Infinity, -Infinity]", PLAIN | PDL_JSON_NAN, 0},
    {"[123456789012345678901234567890]", "[123456789012345678901234567890]", PLAIN, 0},
};

static pdl_val from_json(const char *text) {
    pdl_err err = {0};
    pdl_val v = pdl_absent();
    assert_true(pdl_json_read(t_str(text), PDL_JSON_PYTHON, &v, NULL, &err));
    return v;
}

static void test_rows(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val v = from_json(rows[i].in);
        pdl_buf b = PDL_BUF;
        pdl_err err = {0};
        t_assert(pdl_json_write(v, rows[i].flags, rows[i].indent, &b, &err));
        t_assert_str(pdl_buf_str(&b), rows[i].want);
        pdl_buf_fini(&b);
        pdl_drop(v);
    }
    assert_int_equal(pdl_live_objects(), live);
}

/* {1: .., 1.5: .., null: .., false: .., (1,): ..}: the last key is not JSON. */
static void test_keys(void **state) {
    (void)state;
    pdl_val d = pdl_dict_new(0), one = pdl_int(1);
    d = pdl_dict_put(d, pdl_int(1), pdl_int(1));
    d = pdl_dict_put(d, pdl_float(1.5), pdl_int(2));
    d = pdl_dict_put(d, pdl_null(), pdl_int(3));
    d = pdl_dict_put(d, pdl_bool(false), pdl_tuple_new(&one, 1));
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    assert_true(pdl_json_write(d, PLAIN, 0, &b, &err));
    t_assert_str(pdl_buf_str(&b), "{\"1\": 1, \"1.5\": 2, \"null\": 3, \"false\": [1]}");
    d = pdl_dict_put(d, pdl_tuple_new(&one, 1), pdl_null());
    pdl_buf_clear(&b);
    assert_false(pdl_json_write(d, PLAIN, 0, &b, &err));
    assert_int_equal(b.len, 0);
    assert_string_equal(err.msg, "keys must be str, int, float, bool or None, not tuple");
    assert_int_equal(err.kind, PDL_E_type);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_drop(d);
}

static void test_loose(void **state) {
    (void)state;
    pdl_err err = {0};
    pdl_val date, list = pdl_list_new(0);
    assert_true(pdl_date_new(&(pdl_time){.year = 2024, .month = 1, .day = 15}, &date, &err));
    pdl_buf b = PDL_BUF;
    assert_false(pdl_json_write(date, PLAIN, 0, &b, &err));
    assert_string_equal(err.msg, "Object of type date is not JSON serializable");
    assert_string_equal(err.py_class, "TypeError");
    pdl_err_fini(&err);
    assert_false(pdl_json_write(pdl_float((double)INFINITY), PLAIN, 0, &b, &err));
    assert_string_equal(err.msg, "Out of range float values are not JSON compliant");
    pdl_err_fini(&err);
    list = pdl_list_push(pdl_list_push(list, date), pdl_range_new(0, 2, 1));
    list = pdl_list_push(list, pdl_bytes(PDL_STR("x'")));
    assert_true(pdl_json_write(list, PLAIN | PDL_JSON_LOOSE, 0, &b, &err));
    t_assert_str(pdl_buf_str(&b), "[\"2024-01-15\", [0, 1], \"b\\\"x'\\\"\"]");
    pdl_buf_fini(&b);
    pdl_drop(list);
}

static void test_depth(void **state) {
    (void)state;
    pdl_val v = pdl_list_new(0);
    for (int i = 0; i < 100000; i++) v = pdl_list_push(pdl_list_new(1), v);
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    assert_false(pdl_json_write(v, PLAIN, 0, &b, &err));
    assert_int_equal(err.kind, PDL_E_limit);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_drop(v);
}

static void what_is_too_deep_fails_or_is_cut(void **state) {
    (void)state;
    for (int over = 0; over < 3; over++) {
        T_ROW((size_t)over);
        pdl_val v = pdl_list_new(0);
        for (int i = 1; i < PDL_MAX_JSON_DEPTH + over; i++) v = pdl_list_push(pdl_list_new(1), v);
        pdl_buf b = PDL_BUF;
        pdl_err err = {0};
        t_assert(pdl_json_write(v, 0, 0, &b, &err) == (over <= 1)); /* an empty list is no level */
        pdl_err_fini(&err);
        pdl_buf_clear(&b);
        t_assert(pdl_json_write(v, PDL_JSON_CUT, 0, &b, &err));
        t_assert((pdl_str_find(pdl_buf_str(&b), PDL_STR("\"...\""), 0) != PDL_NOT_FOUND) ==
                 (over > 0));
        pdl_buf_fini(&b);
        pdl_drop(v);
    }
}

/* Seconds of the processor for n letters outside of ASCII. */
static double seconds_for(size_t n) {
    pdl_buf text = PDL_BUF, out = PDL_BUF;
    pdl_err err = {0};
    t_assert(pdl_buf_fill(&text, PDL_STR("\xc3\xa4"), n, &err));
    clock_t begin = clock();
    pdl_json_quote(pdl_buf_str(&text), PDL_JSON_ASCII, &out);
    clock_t end = clock();
    t_assert(out.len == 6 * n + 2);
    pdl_buf_fini(&text);
    pdl_buf_fini(&out);
    return (double)(end - begin) / (double)CLOCKS_PER_SEC;
}

static void long_texts_take_no_longer_each_letter(void **state) {
    (void)state;
    double few = seconds_for(50000), many = seconds_for(500000);
    if (many > 25 * few + 0.5) fail_msg("%.2f s for 500000, %.2f s for 50000", many, few);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_too_deep_fails_or_is_cut),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_loose),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(long_texts_take_no_longer_each_letter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
