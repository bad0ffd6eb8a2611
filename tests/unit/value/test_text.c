/* test_text.c -- stringify, str, repr, show, pprint. The expected texts come from Python.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include <math.h>

#include "base/limits.h"
#include "value/context.h"
#include "value/handle.h"
#include "value/json_read.h"
#include "value/promise.h"
#include "value/pyvalues.h"
#include "value/text.h"

static pdl_val from_json(const char *text) {
    pdl_err err = {0};
    pdl_val v = pdl_absent();
    assert_true(pdl_json_read(t_str(text), PDL_JSON_PYTHON, &v, NULL, &err));
    return v;
}

typedef bool print_fn(pdl_vref v, pdl_buf *out, pdl_err *err);

static void expect(pdl_vref v, print_fn *print, const char *want) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    t_assert(print(v, &b, &err));
    t_assert_str(pdl_buf_str(&b), want);
    pdl_buf_fini(&b);
}

static const struct {
    const char *json, *stringify, *str, *repr;
} rows[] = {
    {"\"a'b\"", "a'b", "a'b", "\"a'b\""},
    {"null", "null", "None", "None"},
    {"true", "true", "True", "True"},
    {"1e16", "1e+16", "1e+16", "1e+16"},
    {"NaN", "NaN", "nan", "nan"},
    {"-Infinity", "-Infinity", "-inf", "-inf"},
    {"[1,\"x\",null,true]", "[1, \"x\", null, true]", "[1, 'x', None, True]",
     "[1, 'x', None, True]"},
    {"{\"a\":{\"b\":\"é\"}}", "{\"a\": {\"b\": \"\\u00e9\"}}", "{'a': {'b': 'é'}}",
     "{'a': {'b': 'é'}}"},
    {"\"'\\\"\\n\\u0000\\u007f\\u200b\\u00a0\\\\\"", "'\"\n", "'\"\n",
     "'\\'\"\\n\\x00\\x7f\\u200b\\xa0\\\\'"},
    {"\"\\udb40\\udc01\"", "\xf3\xa0\x80\x81", "\xf3\xa0\x80\x81", "'\\U000e0001'"},
};

static void test_json_values(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val v = from_json(rows[i].json);
        if (i != 8) { /* holds a NUL */
            expect(v, pdl_stringify, rows[i].stringify);
            expect(v, pdl_val_str, rows[i].str);
        }
        expect(v, pdl_val_repr, rows[i].repr);
        pdl_drop(v);
    }
    assert_int_equal(pdl_live_objects(), live);
}

static pdl_val make_time(const pdl_time *t, bool is_date) {
    pdl_err err = {0};
    pdl_val v = pdl_absent();
    assert_true(is_date ? pdl_date_new(t, &v, &err) : pdl_datetime_new(t, &v, &err));
    return v;
}

static void test_exotic(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    const pdl_time t = {2024, 1, 15, 10, 30, 0, 0, false, 0},
                   u = {2024, 1, 15, 10, 30, 0, 5, true, -18000};
    const pdl_time z = {2024, 1, 15, 0, 0, 7, 0, true, 0};
    const struct {
        pdl_val v;
        const char *str, *repr;
    } all[] = {
        {pdl_tuple_new(NULL, 0), "()", "()"},
        {pdl_tuple_new((pdl_val[]){pdl_int(1)}, 1), "(1,)", "(1,)"},
        {pdl_set_from_dict(pdl_dict_new(0)), "set()", "set()"},
        {pdl_set_from_dict(pdl_dict_putz(pdl_dict_new(0), "a", pdl_null())), "{'a'}", "{'a'}"},
        {pdl_bytes((pdl_str){"a'\0\xff\n", 5}), "b\"a'\\x00\\xff\\n\"", "b\"a'\\x00\\xff\\n\""},
        {make_time(&t, true), "2024-01-15", "datetime.date(2024, 1, 15)"},
        {make_time(&t, false), "2024-01-15 10:30:00", "datetime.datetime(2024, 1, 15, 10, 30)"},
        {make_time(&z, false), "2024-01-15 00:00:07+00:00",
         "datetime.datetime(2024, 1, 15, 0, 0, 7, tzinfo=datetime.timezone.utc)"},
        {make_time(&u, false), "2024-01-15 10:30:00.000005-05:00",
         "datetime.datetime(2024, 1, 15, 10, 30, 0, 5, "
         "tzinfo=datetime.timezone(datetime.timedelta(days=-1, "
         "seconds=68400)))"},
        {pdl_range_new(0, 3, 1), "range(0, 3)", "range(0, 3)"},
        {pdl_range_new(0, 3, 2), "range(0, 3, 2)", "range(0, 3, 2)"},
        {pdl_view_new(from_json("{\"a\":1}"), PDL_VIEW_KEYS), "dict_keys(['a'])",
         "dict_keys(['a'])"},
        {pdl_view_new(from_json("{\"a\":1}"), PDL_VIEW_VALUES), "dict_values([1])",
         "dict_values([1])"},
        {pdl_view_new(from_json("{\"a\":1}"), PDL_VIEW_ITEMS), "dict_items([('a', 1)])",
         "dict_items([('a', 1)])"},
        {pdl_undefined(pdl_textz("'x' is undefined")), "", "Undefined"},
        {pdl_handle_new(1, pdl_textz("T"), pdl_textz("tee"), pdl_textz("<T at 0>"), true, -1),
         "tee", "<T at 0>"},
        {pdl_with_flags(pdl_textz("<"), PDL_F_SAFE), "<", "Markup('<')"},
    };
    for (size_t i = 0; i < T_LEN(all); i++) {
        T_ROW(i);
        expect(all[i].v, pdl_val_str, all[i].str);
        expect(all[i].v, pdl_val_repr, all[i].repr);
        pdl_drop(all[i].v);
    }
    assert_int_equal(pdl_live_objects(), live);
}

/* What is not JSON makes the whole value print as Python's str. */
static void test_fall_back(void **state) {
    (void)state;
    const pdl_time t = {.year = 2020, .month = 1, .day = 1};
    pdl_val d = from_json("{\"f\": NaN, \"n\": null}");
    d = pdl_dict_putz(d, "d", make_time(&t, true));
    expect(d, pdl_stringify, "{'f': nan, 'n': None, 'd': datetime.date(2020, 1, 1)}");
    pdl_drop(d);
}

static pdl_val deep(size_t n) {
    pdl_val v = pdl_list_new(0);
    for (size_t i = 0; i < n; i++) v = pdl_list_push(pdl_list_new(1), v);
    return v;
}

static void test_depth(void **state) {
    (void)state;
    pdl_val v = deep(100000);
    pdl_buf b = PDL_BUF;
    print_fn *const all[] = {pdl_stringify, pdl_val_str, pdl_val_repr, pdl_val_pprint};
    for (size_t i = 0; i < T_LEN(all); i++) {
        T_ROW(i);
        pdl_err err = {0};
        t_assert(!all[i](v, &b, &err));
        t_assert(err.kind == PDL_E_limit);
        t_assert(b.len == 0);
        pdl_err_fini(&err);
    }
    pdl_val_show(v, true, 10, &b);
    t_assert_str(pdl_buf_str(&b), "[[[[[[[[[[...");
    pdl_buf_fini(&b);
    pdl_drop(v);
    /* messages whose content is a context */
    pdl_val c = pdl_textz("x");
    for (int i = 0; i < 50000; i++) c = pdl_context_one(pdl_textz("user"), c, pdl_absent(), NULL);
    pdl_err err = {0};
    assert_false(pdl_val_str(c, &b, &err));
    assert_int_equal(err.kind, PDL_E_limit);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_drop(c);
}

static void test_show(void **state) {
    (void)state;
    static const struct {
        const char *json, *want;
        size_t max;
    } show[] = {
        {"\"abc\"", "'abc'", 10},
        {"\"ééééé\"", "'éé...", 6},
        {"[1,2,3,4,5,6]", "[1, 2, ...", 7},
        {"[1,2]", "[1, 2]", 6},
    };
    for (size_t i = 0; i < T_LEN(show); i++) {
        T_ROW(i);
        pdl_val v = from_json(show[i].json);
        pdl_buf b = PDL_BUF;
        pdl_val_show(v, true, show[i].max, &b);
        t_assert_str(pdl_buf_str(&b), show[i].want);
        pdl_buf_fini(&b);
        pdl_drop(v);
    }
}

static void test_pprint(void **state) {
    (void)state;
    static const struct {
        const char *json, *want;
    } pretty[] = {
        {"\"hello world\"", "'hello world'"},
        {"{\"b\":1,\"a\":[1,2]}", "{'a': [1, 2], 'b': 1}"},
        {"{\"name\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"age\":30,\"city\":"
         "\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"}",
         "{'age': 30,\n 'city': 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',\n 'name': "
         "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'}"},
        {"\"aaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccccccc "
         "dddddddddddddd\"",
         "('aaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccccccc '\n "
         "'dddddddddddddd')"},
    };
    for (size_t i = 0; i < T_LEN(pretty); i++) {
        T_ROW(i);
        pdl_val v = from_json(pretty[i].json);
        expect(v, pdl_val_pprint, pretty[i].want);
        pdl_drop(v);
    }
}

static void test_filled_promise(void **state) {
    (void)state;
    pdl_val p = pdl_promise_new(1), list = pdl_list_push(pdl_list_new(1), pdl_keep(p));
    pdl_promise_fill(pdl_promise_of(p), pdl_textz("x"));
    expect(list, pdl_val_str, "['x']");
    expect(list, pdl_stringify, "[\"x\"]");
    expect(p, pdl_stringify, "x");
    pdl_drop(list);
    pdl_drop(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_values),    cmocka_unit_test(test_exotic),
        cmocka_unit_test(test_fall_back),      cmocka_unit_test(test_depth),
        cmocka_unit_test(test_show),           cmocka_unit_test(test_pprint),
        cmocka_unit_test(test_filled_promise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
