/* test_resolve.c -- YAML 1.1 scalar types: the table of the specification (spec syntax 1.4).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "value/text.h"
#include "yaml/resolve.h"

#include "base/banned.h"

static void test_plain(void **state) {
    (void)state;
    static const struct {
        const char *text, *repr; /* NULL: a string */
    } rows[] = {
        {"014", "12"},
        {"017", "15"},
        {"0x1F", "31"},
        {"+0x1F", "31"},
        {"1_000", "1000"},
        {"1_", "1"},
        {"-017", "-15"},
        {"1:30", "90"},
        {"12:30:45", "45045"},
        {"190:20:30.15", "685230.15"},
        {"1.e+3", "1000.0"},
        {"+12", "12"},
        {"-0", "0"},
        {"00", "0"},
        {"1_0.5", "10.5"},
        {".inf", "inf"},
        {"-.Inf", "-inf"},
        {".NaN", "nan"},
        {"0b1_0", "2"},
        {".5", "0.5"},
        {"1.", "1.0"},
        {"-0.0", "-0.0"},
        {"09.5", "9.5"},
        {"1.0e+400", "inf"},
        {"99999999999999999999999999", "99999999999999999999999999"},
        {"~", "None"},
        {"", "None"},
        {"NULL", "None"},
        {"Yes", "True"},
        {"OFF", "False"},
        {"2001-12-14", "datetime.date(2001, 12, 14)"},
        {"0o14", NULL},
        {"_1", NULL},
        {"08", NULL},
        {"1:60", NULL},
        {"0:0", NULL},
        {"1e3", NULL},
        {"1.0e5", NULL},
        {"1e+3", NULL},
        {"nan", NULL},
        {"inf", NULL},
        {"2001-1-1", NULL},
        {"tRUE", NULL},
        {"y", NULL},
        {"-.5", NULL},
        {"01:30", NULL},
        {"<<<", NULL},
        {"0x", NULL},
        {"+", NULL},
        {".", NULL},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_err err = {0};
        pdl_buf b = PDL_BUF;
        pdl_val v;
        T_ROW(i);
        pdl_ytag t = pdl_ytag_of_plain(t_str(rows[i].text));
        t_assert((t == PDL_YTAG_str) == !rows[i].repr);
        if (t == PDL_YTAG_str) continue;
        t_assert(pdl_yaml_scalar(t, t_str(rows[i].text), &v, &err) && pdl_val_repr(v, &b, &err));
        t_assert_str(pdl_buf_str(&b), rows[i].repr);
        pdl_drop(v);
        pdl_buf_fini(&b);
    }
    assert_int_equal(pdl_ytag_of_plain(t_str("<<")), PDL_YTAG_merge);
    assert_int_equal(pdl_ytag_of_plain(t_str("=")), PDL_YTAG_value);
}

static void test_bad(void **state) {
    (void)state;
    static const struct {
        pdl_ytag tag;
        const char *text, *py_class, *msg;
    } rows[] = {
        {PDL_YTAG_int, "abc", "ValueError", "invalid literal for int() with base 10: 'abc'"},
        {PDL_YTAG_int, "", "IndexError", "string index out of range"},
        {PDL_YTAG_float, "abc", "ValueError", "could not convert string to float: 'abc'"},
        {PDL_YTAG_bool, "Maybe", "KeyError", "'maybe'"},
        {PDL_YTAG_timestamp, "2024-13-01", "ValueError", "month must be in 1..12"},
        {PDL_YTAG_binary, "abc", "ConstructorError",
         "failed to decode base64 data: Incorrect padding"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_err err = {0};
        pdl_val v;
        T_ROW(i);
        t_assert(!pdl_yaml_scalar(rows[i].tag, t_str(rows[i].text), &v, &err));
        t_assert_str(pdl_str_of(err.py_class), rows[i].py_class);
        t_assert_str(pdl_str_of(err.msg), rows[i].msg);
        pdl_err_fini(&err);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_bad)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
