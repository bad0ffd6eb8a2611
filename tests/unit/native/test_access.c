/* test_access.c -- attributes, items and slices, and the messages about missing ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "native/native.h"
#include "value/json_read.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

static pdl_val json(const char *z) {
    pdl_val v = pdl_null();
    pdl_err err = {0};
    if (z[0] == '(') { /* a tuple */
        v = json(z + 1);
        return pdl_list_as_tuple(v);
    }
    t_assert(pdl_json_read(t_str(z), 0, &v, NULL, &err));
    return v;
}

/* repr; the explanation of what is undefined; the error with a ! in front. */
static void expect(bool ok, pdl_val got, pdl_err *err, const char *want) {
    pdl_buf b = PDL_BUF;
    pdl_err none = {0};
    if (!ok) {
        pdl_buf_putf(&b, "!%s", err->msg);
    } else {
        if (pdl_is(got, PDL_V_UNDEFINED))
            pdl_buf_put(&b, pdl_str_get(pdl_undefined_why(got)));
        else
            t_assert(pdl_val_repr(got, &b, &none));
        pdl_drop(got);
    }
    t_assert_str(pdl_buf_str(&b), want);
    pdl_buf_fini(&b);
    pdl_err_fini(err);
}

typedef struct {
    const char *x, *key, *want;
} row;

static void attributes(void **state) {
    (void)state;
    static const row rows[] = {
        {"{\"a\":1}", "a", "1"},
        {"{\"items\":5}", "items", "<built-in method items of dict object>"},
        {"{}", "y", "'dict object' has no attribute 'y'"},
        {"[]", "foo", "'list object' has no attribute 'foo'"},
        {"\"s\"", "__class__", "'str object' has no attribute '__class__'"},
        {"null", "foo", "'None' has no attribute 'foo'"},
        {"1", "a", "'int object' has no attribute 'a'"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val x = json(rows[i].x), got = pdl_null();
        pdl_err err = {0};
        bool ok = pdl_attr(x, t_str(rows[i].key), &got, &err);
        expect(ok, got, &err, rows[i].want);
        pdl_drop(x);
    }
}

static void items(void **state) {
    (void)state;
    static const row rows[] = {
        {"{\"items\":5}", "\"items\"", "5"},
        {"{}", "5", "dict object has no element 5"},
        {"[1,2,3]", "-1", "3"},
        {"[1,2,3]", "true", "2"},
        {"[1]", "1", "list object has no element 1"},
        {"[1]", "1.0", "list object has no element 1.0"},
        {"[1]", "\"0\"", "'list object' has no attribute '0'"},
        {"\"a\u00e9b\"", "1", "'\u00e9'"},
        {"\"ab\"", "2", "str object has no element 2"},
        {"5", "0", "int object has no element 0"},
        {"null", "0", "None has no element 0"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val x = json(rows[i].x), key = json(rows[i].key), got = pdl_null();
        pdl_err err = {0};
        bool ok = pdl_item(x, key, &got, &err);
        expect(ok, got, &err, rows[i].want);
        pdl_drop(x), pdl_drop(key);
    }
}

static void slices(void **state) {
    (void)state;
    static const struct {
        const char *x, *from, *to, *step, *want;
    } rows[] = {
        {"[1,2,3,4]", "1", "3", "null", "[2, 3]"},
        {"[1,2,3,4]", "null", "null", "-1", "[4, 3, 2, 1]"},
        {"[1,2,3,4]", "-100", "100", "2", "[1, 3]"},
        {"[1,2,3,4]", "3", "0", "-2", "[4, 2]"},
        {"([1,2,3]", "1", "null", "null", "(2, 3)"},
        {"\"a\u00e9\u20acd\"", "1", "3", "null", "'\u00e9\u20ac'"},
        {"\"a\u00e9\u20acd\"", "null", "null", "-1", "'d\u20ac\u00e9a'"},
        {"[]", "null", "null", "0", "!slice step cannot be zero"},
        {"{}", "1", "2", "null", "!unhashable type: 'slice'"},
        {"5", "1", "2", "null", "!'int' object is not subscriptable"},
        {"[]", "\"a\"", "null", "null",
         "!slice indices must be integers or None or have an __index__ method"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val x = json(rows[i].x), from = json(rows[i].from), to = json(rows[i].to),
                step = json(rows[i].step), got = pdl_null();
        pdl_err err = {0};
        bool ok = pdl_slice(x, from, to, step, &got, &err);
        expect(ok, got, &err, rows[i].want);
        pdl_drop(x), pdl_drop(from), pdl_drop(to), pdl_drop(step);
    }
}

static void ranges_stay_ranges(void **state) {
    (void)state;
    pdl_val r = pdl_range_new(0, 10, 2), got = pdl_null();
    pdl_err err = {0};
    bool ok = pdl_slice(r, pdl_int(1), pdl_absent(), pdl_int(2), &got, &err);
    expect(ok, got, &err, "range(2, 10, 4)");
    ok = pdl_item(r, pdl_int(-1), &got, &err);
    expect(ok, got, &err, "8");
    ok = pdl_attr(r, t_str("step"), &got, &err);
    expect(ok, got, &err, "2");
    pdl_drop(r);
}

/* One step further than what is missing fails. */
static void undefined_fails(void **state) {
    (void)state;
    pdl_val u = pdl_undefined(pdl_textz("'x' is undefined")), got = pdl_null();
    pdl_err err = {0};
    expect(pdl_attr(u, t_str("a"), &got, &err), got, &err, "!'x' is undefined");
    expect(pdl_item(u, pdl_int(0), &got, &err), got, &err, "!'x' is undefined");
    pdl_drop(u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes),      cmocka_unit_test(items),
        cmocka_unit_test(slices),          cmocka_unit_test(ranges_stay_ranges),
        cmocka_unit_test(undefined_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
