/* test_eq.c -- Python's == and bool().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include <math.h>

#include "base/limits.h"
#include "value/pyvalues.h"
#include "value/val.h"

#include "base/banned.h"

static pdl_val list2(pdl_val a, pdl_val b) {
    return pdl_list_push(pdl_list_push(pdl_list_new(2), a), b);
}
static pdl_val tuple2(pdl_val a, pdl_val b) { return pdl_list_as_tuple(list2(a, b)); }
static pdl_val dict2(const char *k1, pdl_val a, const char *k2, pdl_val b) {
    return pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), k1, a), k2, b);
}
static pdl_val set2(int64_t a, int64_t b) {
    pdl_val d = pdl_dict_put(pdl_dict_new(2), pdl_int(a), pdl_null());
    return pdl_set_from_dict(pdl_dict_put(d, pdl_int(b), pdl_null()));
}
static pdl_val at(int year, int hour, bool zone, int offset) {
    pdl_time t = {
        .year = year, .month = 3, .day = 1, .hour = hour, .has_zone = zone, .zone_seconds = offset};
    pdl_val v = pdl_absent();
    pdl_err err = {0};
    t_assert(pdl_datetime_new(&t, &v, &err));
    return v;
}

static void equality(void **state) {
    (void)state;
    size_t start = pdl_live_objects();
    struct {
        pdl_val a, b;
        bool same;
    } rows[] = {
        {pdl_null(), pdl_null(), true},
        {pdl_null(), pdl_int(0), false},
        {pdl_bool(true), pdl_float(1), true},
        {pdl_float((double)NAN), pdl_float((double)NAN), false},
        {pdl_textz("a"), pdl_textz("a"), true},
        {pdl_textz("1"), pdl_int(1), false},
        {list2(pdl_int(1), pdl_textz("x")), list2(pdl_float(1), pdl_textz("x")), true},
        {list2(pdl_int(1), pdl_int(2)), tuple2(pdl_int(1), pdl_int(2)), false},
        {dict2("a", pdl_int(1), "b", pdl_int(2)), dict2("b", pdl_int(2), "a", pdl_bool(true)),
         true},
        {dict2("a", pdl_int(1), "b", pdl_int(2)), dict2("a", pdl_int(1), "c", pdl_int(2)), false},
        {set2(1, 2), set2(2, 1), true},
        {set2(1, 2), set2(1, 3), false},
        {pdl_range_new(0, 3, 2), pdl_range_new(0, 4, 2), true},
        {pdl_range_new(0, 0, 1), pdl_range_new(5, 5, 2), true},
        {pdl_range_new(0, 3, 1), pdl_range_new(0, 3, 2), false},
        {pdl_bytes(PDL_STR("a")), pdl_bytes(PDL_STR("a")), true},
        {at(2024, 12, true, 3600), at(2024, 11, true, 0), true},
        {at(2024, 12, true, 0), at(2024, 12, false, 0), false},
        {pdl_view_new(dict2("a", pdl_int(1), "b", pdl_int(2)), PDL_VIEW_KEYS),
         pdl_view_new(dict2("b", pdl_int(3), "a", pdl_int(4)), PDL_VIEW_KEYS), true},
        {pdl_view_new(dict2("a", pdl_int(1), "b", pdl_int(2)), PDL_VIEW_ITEMS),
         pdl_view_new(dict2("b", pdl_int(3), "a", pdl_int(4)), PDL_VIEW_ITEMS), false},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        t_assert(pdl_val_eq(rows[i].a, rows[i].b) == rows[i].same);
        t_assert(pdl_val_eq(rows[i].b, rows[i].a) == rows[i].same);
        pdl_drop(rows[i].a), pdl_drop(rows[i].b);
    }
    t_assert(pdl_live_objects() == start);
}

static void depth_is_bounded(void **state) {
    (void)state;
    for (int depth = 900; depth <= 100000; depth += 99100) {
        pdl_val a = pdl_list_new(0), b = pdl_list_new(0);
        for (int i = 0; i < depth; i++) {
            a = pdl_list_push(pdl_list_new(1), a);
            b = pdl_list_push(pdl_list_new(1), b);
        }
        t_assert(pdl_val_eq(a, b) == (depth < PDL_MAX_VALUE_DEPTH));
        pdl_drop(a), pdl_drop(b);
    }
}

static void truth(void **state) {
    (void)state;
    struct {
        pdl_val v;
        bool want;
    } rows[] = {
        {pdl_null(), false},
        {pdl_int(0), false},
        {pdl_int(-1), true},
        {pdl_float(-0.0), false},
        {pdl_float((double)NAN), true},
        {pdl_textz(""), false},
        {pdl_textz("0"), true},
        {pdl_list_new(0), false},
        {list2(pdl_null(), pdl_null()), true},
        {pdl_dict_new(0), false},
        {pdl_bytes(PDL_STR("")), false},
        {pdl_range_new(3, 0, 1), false},
        {set2(0, 0), true},
        {at(2024, 0, false, 0), true},
        {pdl_undefined(pdl_textz("w")), false},
        {pdl_view_new(pdl_dict_new(0), PDL_VIEW_KEYS), false},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        t_assert(pdl_val_truth(rows[i].v) == rows[i].want);
        pdl_drop(rows[i].v);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(equality),
                                       cmocka_unit_test(depth_is_bounded), cmocka_unit_test(truth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
