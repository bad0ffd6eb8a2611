/* test_json_read.c -- strict JSON, Python's messages and places, shared keys, depth.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include <math.h>

#include "base/limits.h"
#include "value/json_read.h"
#include "value/json_write.h"

static pdl_str bytes_of(const char *p, size_t n) { return (pdl_str){p, n}; }

/* Reads text and appends the result as JSON, or the message. */
static void read_back(pdl_str text, int flags, pdl_buf *out) {
    pdl_err err = {0};
    pdl_val v;
    if (pdl_json_read(text, flags, &v, NULL, &err)) {
        assert_true(pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_NAN, 0, out, &err));
        pdl_drop(v);
    } else {
        assert_string_equal(err.py_class, "JSONDecodeError");
        assert_int_equal(err.kind, PDL_E_syntax);
        pdl_buf_put(out, pdl_str_of(err.msg));
        pdl_err_fini(&err);
    }
}

static const struct {
    const char *text, *want;
    int flags;
} rows[] = {
    {"null", "null", 0},
    {" [1, -2 ,3.5e1]\n", "[1, -2, 35.0]", 0},
    {"{\"a\":1,\"b\":{\"c\":[]},\"a\":2}", "{\"a\": 2, \"b\": {\"c\": []}}", 0},
    {"[9223372036854775807,-9223372036854775808,9223372036854775808]",
     "[9223372036854775807, -9223372036854775808, 9223372036854775808]", 0},
    {"[0.1,1e400,-0.0,5e-324,9007199254740993.0,1E5,0.1234567890123456789]",
     "[0.1, Infinity, -0.0, 5e-324, 9007199254740992.0, 100000.0, 0.12345678901234568]", 0},
    {"\"\\u00e9\\ud83d\\ude00\\n\\/\"", "\"é😀\\n/\"", 0},
    {"\"\\ud800x\\udc00\"", "\"\xef\xbf\xbdx\xef\xbf\xbd\"", PDL_JSON_PYTHON},
    {"\"long enough for a word at a time: é\"", "\"long enough for a word at a time: é\"", 0},
    {"[NaN,-Infinity,Infinity]", "[NaN, -Infinity, Infinity]", PDL_JSON_PYTHON},
    {"NaN", "Expecting value: line 1 column 1 (char 0)", 0},
    {"-Infinity", "Expecting value: line 1 column 1 (char 0)", 0},
    {"", "Expecting value: line 1 column 1 (char 0)", 0},
    {"[1,]", "Expecting value: line 1 column 4 (char 3)", 0},
    {"[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)", 0},
    {"{\"a\" 1}", "Expecting ':' delimiter: line 1 column 6 (char 5)", 0},
    {"{\"a\":1,}", "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)",
     0},
    {"{\"a\":\n[1}", "Expecting ',' delimiter: line 2 column 3 (char 8)", 0},
    {"01", "Extra data: line 1 column 2 (char 1)", 0},
    {"1 x", "Extra data: line 1 column 3 (char 2)", 0},
    {"\"ab", "Unterminated string starting at: line 1 column 1 (char 0)", 0},
    {"[\"é\", \"a\tb\"]", "Invalid control character at: line 1 column 9 (char 8)", 0},
    {"\"\\q\"", "Invalid \\escape: line 1 column 2 (char 1)", 0},
    {"\"\\u12g4\"", "Invalid \\uXXXX escape: line 1 column 3 (char 2)", 0},
    {"\"\\ud800\\u12\"", "Invalid \\uXXXX escape: line 1 column 9 (char 8)", 0},
    {"\xef\xbb\xbf{}", "Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0)",
     0},
    {"[\"\xff\"]", "Invalid UTF-8 in string starting at: line 1 column 2 (char 1)", 0},
};

static void test_rows(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF;
        read_back(t_str(rows[i].text), rows[i].flags, &b);
        t_assert_str(pdl_buf_str(&b), rows[i].want);
        pdl_buf_fini(&b);
    }
    assert_int_equal(pdl_live_objects(), live);
}

/* Every string whose special byte stands at each place of a word, cut at each length: no read
 * beyond the end.
 */
static void test_cuts(void **state) {
    (void)state;
    static const char text[] =
        "[\"0123456789abcdef\", \"0123456\\u00e9789\", {\"key\": -12.5e+3, \"\": true}]";
    for (size_t n = 0; n < sizeof text; n++) {
        char *copy = pdl_alloc(n);
        memcpy(copy, text, n);
        pdl_err err = {0};
        pdl_val v;
        bool ok = pdl_json_read(bytes_of(copy, n), 0, &v, NULL, &err);
        assert_int_equal(ok, n == sizeof text - 1);
        if (ok) pdl_drop(v);
        pdl_err_fini(&err);
        pdl_free(copy);
    }
}

static void test_prefix(void **state) {
    (void)state;
    pdl_err err = {0};
    pdl_val v;
    size_t end = 0;
    assert_true(pdl_json_read(t_str(" [1] {\"a\""), PDL_JSON_PREFIX, &v, &end, &err));
    assert_int_equal(end, 4);
    pdl_drop(v);
}

static void test_depth(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    for (size_t depth = PDL_MAX_JSON_DEPTH; depth <= PDL_MAX_JSON_DEPTH + 1; depth++) {
        pdl_buf b = PDL_BUF;
        for (size_t i = 0; i < depth; i++)
            pdl_buf_put(&b, i % 2 ? PDL_STR("{\"k\":") : PDL_STR("["));
        pdl_buf_putc(&b, '1');
        for (size_t i = depth; i-- > 0;) pdl_buf_putc(&b, i % 2 ? '}' : ']');
        pdl_err err = {0};
        pdl_val v;
        bool ok = pdl_json_read(pdl_buf_str(&b), 0, &v, NULL, &err);
        assert_int_equal(ok, depth == PDL_MAX_JSON_DEPTH);
        if (ok)
            pdl_drop(v);
        else
            assert_int_equal(err.kind, PDL_E_limit);
        pdl_err_fini(&err);
        pdl_buf_fini(&b);
    }
    assert_int_equal(pdl_live_objects(), live);
}

static void test_shared_keys(void **state) {
    (void)state;
    pdl_err err = {0};
    pdl_json_keys keys = {0};
    pdl_val a, b;
    assert_true(pdl_json_read_with(t_str("{\"name\": 1}"), 0, &keys, &a, NULL, &err));
    assert_true(pdl_json_read_with(t_str("{\"name\": 2}"), 0, &keys, &b, NULL, &err));
    assert_ptr_equal(pdl_obj_of(pdl_dict_key_at(a, 0)), pdl_obj_of(pdl_dict_key_at(b, 0)));
    pdl_json_keys_fini(&keys);
    assert_int_equal(pdl_int_of(pdl_dict_getz(b, "name")), 2);
    pdl_drop(a);
    pdl_drop(b);
}

/* Documents read one after another: each is guessed to be like one before, and is what it is. */
static const char *const guessed[][2] = {
    {"{\"key\": 1, \"b\": {\"c\": [true]}, \"long name of a key\": \"x\"}",
     "{\"key\": 1, \"b\": {\"c\": [true]}, \"long name of a key\": \"x\"}"},
    {"{\"key\":2,\"b\":{\"c\":[]},\"long name of a key\":[{}]}",
     "{\"key\": 2, \"b\": {\"c\": []}, \"long name of a key\": [{}]}"},
    {"{\"key\": 3}", "{\"key\": 3}"},
    {"{\"key\": 4, \"b\": {\"c\": 5, \"d\": 6}}", "{\"key\": 4, \"b\": {\"c\": 5, \"d\": 6}}"},
    {"{\"key\": 7, \"B\": 8, \"key\": 9}", "{\"key\": 9, \"B\": 8}"},
    {"{\"key\": 1, \"b\": [{\"key\": 1, \"b\": [{\"key\": \"in the middle",
     "Unterminated string starting at: line 1 column 43 (char 42)"},
    {"{\"key\": 1, \"b\": }", "Expecting value: line 1 column 17 (char 16)"},
    {"{\"key\": 1, \"b", "Unterminated string starting at: line 1 column 12 (char 11)"},
    {"{\"key\": 1, \"b\": {\"c\": 1, \"d\": 2},}",
     "Expecting property name enclosed in double quotes: line 1 column 34 (char 33)"},
    {"{\"k\\u0065y\": 1, \"key\\\"\": 2}", "{\"key\": 1, \"key\\\"\": 2}"},
    {"{\"k\": \"ab\"}", "{\"k\": \"ab\"}"},
    {"{\"k\": \"ba\"}", "{\"k\": \"ba\"}"},
    {"{\"ke\": {\"ke\": {\"ke\": null}}}", "{\"ke\": {\"ke\": {\"ke\": null}}}"},
};

static void test_guesses(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    pdl_json_keys keys = {0};
    for (size_t i = 0; i < T_LEN(guessed); i++) {
        T_ROW(i);
        pdl_err err = {0};
        pdl_val v;
        pdl_buf b = PDL_BUF;
        if (pdl_json_read_with(t_str(guessed[i][0]), 0, &keys, &v, NULL, &err)) {
            assert_true(pdl_json_write(v, PDL_JSON_SPACED, 0, &b, &err));
            pdl_drop(v);
        } else {
            pdl_buf_put(&b, pdl_str_of(err.msg));
        }
        t_assert_str(pdl_buf_str(&b), guessed[i][1]);
        pdl_err_fini(&err);
        pdl_buf_fini(&b);
    }
    pdl_json_keys_fini(&keys);
    assert_int_equal(pdl_live_objects(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_prefix),      cmocka_unit_test(test_depth),
        cmocka_unit_test(test_shared_keys), cmocka_unit_test(test_guesses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
