/* test_order.c -- Python's <, <=, >, >= and in, with its messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include <math.h>

#include "value/pyvalues.h"
#include "value/val.h"

#include "base/banned.h"

static pdl_val list2(pdl_val a, pdl_val b) {
    return pdl_list_push(pdl_list_push(pdl_list_new(2), a), b);
}
static pdl_val set_of(const char *digits) {
    pdl_val d = pdl_dict_new(0);
    for (; *digits; digits++) d = pdl_dict_put(d, pdl_int(*digits - '0'), pdl_null());
    return pdl_set_from_dict(d);
}
static pdl_val day(int d) {
    pdl_time t = {.year = 2024, .month = 2, .day = d};
    pdl_val v = pdl_absent();
    pdl_err err = {0};
    t_assert(pdl_date_new(&t, &v, &err));
    return v;
}
static pdl_val clock_at(bool zone) {
    pdl_time t = {.year = 2024, .month = 2, .day = 1, .has_zone = zone};
    pdl_val v = pdl_absent();
    pdl_err err = {0};
    t_assert(pdl_datetime_new(&t, &v, &err));
    return v;
}

typedef struct {
    pdl_val a, b;
    char op;          /* i: in */
    const char *want; /* T, F or the message */
} row;

static void check(row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        T_ROW(i);
        bool got = false;
        pdl_err err = {0};
        bool ok = rows[i].op == 'i' ? pdl_val_in(rows[i].a, rows[i].b, &got, &err)
                                    : pdl_val_order(rows[i].a, rows[i].b, rows[i].op, &got, &err);
        t_assert_str(t_str(ok ? (got ? "T" : "F") : err.msg), rows[i].want);
        pdl_err_fini(&err);
        pdl_drop(rows[i].a), pdl_drop(rows[i].b);
    }
}

static void orders(void **state) {
    (void)state;
    size_t start = pdl_live_objects();
    row rows[] = {
        {pdl_int(1), pdl_int(2), '<', "T"},
        {pdl_int(2), pdl_float(2), 'l', "T"},
        {pdl_bool(true), pdl_int(2), '>', "F"},
        {pdl_float((double)NAN), pdl_int(2), 'g', "F"},
        {pdl_textz("Z"), pdl_textz("a"), '<', "T"},
        {pdl_textz("\xef\xbf\xbd"), pdl_textz("\xf0\x9f\x98\x80"), '<',
         "T"}, /* code points, not UTF-16 units */
        {pdl_textz("a"), pdl_textz("ab"), 'g', "F"},
        {list2(pdl_int(1), pdl_int(2)), list2(pdl_int(1), pdl_int(3)), '<', "T"},
        {list2(pdl_int(1), pdl_int(2)), list2(pdl_int(1), pdl_float(2)), 'l', "T"},
        {list2(pdl_int(1), pdl_textz("a")), list2(pdl_int(1), pdl_int(2)), '<',
         "'<' not supported between instances of 'str' and 'int'"},
        {pdl_list_new(0), list2(pdl_null(), pdl_null()), '<', "T"},
        {pdl_list_new(0), pdl_tuple_new(NULL, 0), 'g',
         "'>=' not supported between instances of 'list' and 'tuple'"},
        {pdl_int(1), pdl_textz("a"), 'l',
         "'<=' not supported between instances of 'int' and 'str'"},
        {pdl_dict_new(0), pdl_dict_new(0), '<',
         "'<' not supported between instances of 'dict' and 'dict'"},
        {set_of("12"), set_of("123"), '<', "T"},
        {set_of("12"), set_of("12"), '<', "F"},
        {set_of("12"), set_of("12"), 'g', "T"},
        {set_of("14"), set_of("123"), 'l', "F"},
        {day(1), day(2), '<', "T"},
        {day(1), clock_at(false), '<', "can't compare datetime.datetime to datetime.date"},
        {clock_at(true), clock_at(false), '<',
         "can't compare offset-naive and offset-aware datetimes"},
        {day(1), pdl_int(1), '<',
         "'<' not supported between instances of 'datetime.date' and 'int'"},
        {pdl_null(), pdl_null(), '<',
         "'<' not supported between instances of 'NoneType' and 'NoneType'"},
    };
    check(rows, T_LEN(rows));
    t_assert(pdl_live_objects() == start);
}

static void membership(void **state) {
    (void)state;
    size_t start = pdl_live_objects();
    pdl_val d = pdl_dict_putz(pdl_dict_new(1), "k", pdl_int(7));
    row rows[] = {
        {pdl_textz("ell"), pdl_textz("hello"), 'i', "T"},
        {pdl_textz(""), pdl_textz(""), 'i', "T"},
        {pdl_null(), pdl_textz("x"), 'i',
         "'in <string>' requires string as left operand, not NoneType"},
        {pdl_float(1), list2(pdl_int(1), pdl_null()), 'i', "T"},
        {pdl_int(3), list2(pdl_int(1), pdl_null()), 'i', "F"},
        {pdl_textz("k"), pdl_keep(d), 'i', "T"},
        {pdl_list_new(0), pdl_keep(d), 'i', "unhashable type: 'list'"},
        {pdl_int(7), pdl_view_new(pdl_keep(d), PDL_VIEW_VALUES), 'i', "T"},
        {pdl_textz("k"), pdl_view_new(pdl_keep(d), PDL_VIEW_KEYS), 'i', "T"},
        {pdl_list_as_tuple(list2(pdl_textz("k"), pdl_int(7))),
         pdl_view_new(pdl_keep(d), PDL_VIEW_ITEMS), 'i', "T"},
        {pdl_bool(true), set_of("12"), 'i', "T"},
        {pdl_int(3), pdl_range_new(1, 10, 2), 'i', "T"},
        {pdl_float(4), pdl_range_new(10, 0, -3), 'i', "T"},
        {pdl_float(4.5), pdl_range_new(10, 0, -3), 'i', "F"},
        {pdl_textz("x"), pdl_range_new(0, 3, 1), 'i', "F"},
        {pdl_int(97), pdl_bytes(PDL_STR("abc")), 'i', "T"},
        {pdl_int(300), pdl_bytes(PDL_STR("abc")), 'i', "byte must be in range(0, 256)"},
        {pdl_textz("a"), pdl_bytes(PDL_STR("abc")), 'i',
         "a bytes-like object is required, not 'str'"},
        {pdl_int(1), pdl_int(1), 'i', "argument of type 'int' is not iterable"},
        {pdl_int(1), pdl_null(), 'i', "argument of type 'NoneType' is not iterable"},
    };
    check(rows, T_LEN(rows));
    pdl_drop(d);
    t_assert(pdl_live_objects() == start);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders), cmocka_unit_test(membership)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
