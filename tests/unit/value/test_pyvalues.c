/* test_pyvalues.c -- ranges, dates, iteration.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "value/pyvalues.h"
#include "value/val.h"

#include "base/banned.h"

static void ranges(void **state) {
    (void)state;
    static const struct {
        int64_t start, stop, step;
        size_t n;
        int64_t last;
    } rows[] = {
        {0, 5, 1, 5, 4},
        {5, 0, -2, 3, 1},
        {0, 0, 1, 0, 0},
        {1, 0, 1, 0, 0},
        {0, 5, 2, 3, 4},
        {INT64_MIN, INT64_MAX, INT64_MAX, 3, INT64_MAX - 1},
        {INT64_MAX, INT64_MIN, INT64_MIN, 2, -1},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val r = pdl_range_new(rows[i].start, rows[i].stop, rows[i].step);
        t_assert(pdl_range_len(r) == rows[i].n);
        if (rows[i].n) t_assert(pdl_range_at(r, rows[i].n - 1) == rows[i].last);
        pdl_drop(r);
    }
}

static void times_read_and_write(void **state) {
    (void)state;
    static const struct {
        const char *text, *want; /* want NULL: not a time */
    } rows[] = {
        {"2024-02-29", "2024-02-29"},
        {"2023-02-29", NULL},
        {"0001-01-01", "0001-01-01"},
        {"2024-13-01", NULL},
        {"2024-1-01", NULL},
        {"2024-01-02 03:04:05", "2024-01-02 03:04:05"},
        {"2024-01-02T03:04:05.006", "2024-01-02 03:04:05.006000"},
        {"2024-01-02T03:04", "2024-01-02 03:04:00"},
        {"2024-01-02 03:04:05+05:30", "2024-01-02 03:04:05+05:30"},
        {"2024-01-02 03:04:05.5-00:00:30", "2024-01-02 03:04:05.500000-00:00:30"},
        {"2024-01-02 03:04:05-00:00:30", "2024-01-02 03:04:05-00:00:30"},
        {"2024-01-02 03:04:05Z", "2024-01-02 03:04:05+00:00"},
        {"2024-01-02 25:04:05", NULL},
        {"2024-01-02 ", NULL},
        {"2024-01-02 03:04:05+", NULL},
    };
    pdl_buf out = PDL_BUF;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        bool is_date;
        pdl_time t;
        bool ok = pdl_time_read(t_str(rows[i].text), &is_date, &t);
        t_assert(ok == (rows[i].want != NULL));
        if (!ok) continue;
        pdl_val v;
        pdl_err err = {0};
        t_assert(is_date ? pdl_date_new(&t, &v, &err) : pdl_datetime_new(&t, &v, &err));
        pdl_buf_clear(&out);
        pdl_time_iso(v, ' ', &out);
        t_assert_str(pdl_buf_str(&out), rows[i].want);
        pdl_drop(v);
    }
    pdl_buf_fini(&out);
}

static void wrong_fields(void **state) {
    (void)state;
    static const struct {
        pdl_time t;
        const char *want;
    } rows[] = {
        {{.year = 0, .month = 1, .day = 1}, "year 0 is out of range"},
        {{.year = 2023, .month = 0, .day = 1}, "month must be in 1..12"},
        {{.year = 1900, .month = 2, .day = 29}, "day is out of range for month"},
        {{.year = 2000, .month = 1, .day = 1, .hour = 24}, "hour must be in 0..23"},
        {{.year = 2000, .month = 1, .day = 1, .second = 60}, "second must be in 0..59"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val v;
        pdl_err err = {0};
        t_assert(!pdl_datetime_new(&rows[i].t, &v, &err));
        t_assert_str(t_str(err.msg), rows[i].want);
        t_assert_str(t_str(err.py_class), "ValueError");
        pdl_err_fini(&err);
    }
}

static void formats(void **state) {
    (void)state;
    static const struct {
        const char *format, *want;
    } rows[] = {
        {"%Y-%m-%d", "2024-02-03"},
        {"%A %d %B %j", "Saturday 03 February 034"},
        {"%H:%M:%S.%f", "04:05:06.000789"},
        {"%z|%Z", "-0330|UTC-03:30"},
        {"100%%", "100%"},
        {"%-d/%-m", "3/2"},
        {"caf\xc3\xa9 %y", "caf\xc3\xa9 24"},
        {"", ""},
        {"end%", "end%"},
        {"%E", "%E"},
        {"%6Y%\xc3\xa9", "002024%\xc3\xa9"},
        {"%U %w %I %p", "04 6 04 AM"},
    };
    pdl_time t = {2024, 2, 3, 4, 5, 6, 789, true, -(3 * 3600 + 1800)};
    pdl_val v, s;
    pdl_err err = {0};
    t_assert(pdl_datetime_new(&t, &v, &err));
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        t_assert(pdl_time_strftime(v, t_str(rows[i].format), &s, &err));
        t_assert_str(pdl_str_get(s), rows[i].want);
        pdl_drop(s);
    }
    pdl_drop(v);
}

/* Items of v one after the other: strings as they are, integers as digits, tuples as (a,b). */
static void walk(pdl_vref v, pdl_buf *out) {
    pdl_iter it;
    pdl_val x;
    pdl_err err = {0};
    t_assert(pdl_iter_init(&it, v, &err));
    while (pdl_iter_next(&it, &x)) {
        if (pdl_is_str(x)) pdl_buf_put(out, pdl_str_get(x));
        if (pdl_is(x, PDL_V_INT)) pdl_buf_putf(out, "%d", (int)pdl_int_of(x));
        if (pdl_is(x, PDL_V_TUPLE)) walk(x, out);
        PDL_PUT(out, ",");
        pdl_drop(x);
    }
    pdl_iter_fini(&it);
    t_assert(!pdl_iter_next(&it, &x));
}

static void iteration(void **state) {
    (void)state;
    size_t start = pdl_live_objects();
    pdl_val d = pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "a", pdl_int(1)), "b", pdl_int(2));
    struct {
        pdl_val v;
        const char *want;
        size_t len;
    } rows[] = {
        {pdl_keep(d), "a,b,", 2},
        {pdl_view_new(pdl_keep(d), PDL_VIEW_VALUES), "1,2,", 2},
        {pdl_view_new(pdl_keep(d), PDL_VIEW_ITEMS), "a,1,,b,2,,", 2},
        {pdl_set_from_dict(pdl_keep(d)), "a,b,", 2},
        {pdl_textz("h\xc3\xa9\xf0\x9f\x98\x80"), "h,\xc3\xa9,\xf0\x9f\x98\x80,", 3},
        {pdl_bytes(PDL_STR("\xff\x01")), "255,1,", 2},
        {pdl_range_new(3, 0, -1), "3,2,1,", 3},
        {pdl_list_new(0), "", 0},
    };
    pdl_buf out = PDL_BUF;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_buf_clear(&out);
        walk(rows[i].v, &out);
        t_assert_str(pdl_buf_str(&out), rows[i].want);
        size_t n = 99;
        t_assert(pdl_val_len(rows[i].v, &n) && n == rows[i].len);
        pdl_val l;
        pdl_err err = {0};
        t_assert(pdl_val_to_list(rows[i].v, &l, &err) && pdl_list_len(l) == n);
        pdl_drop(l), pdl_drop(rows[i].v);
    }
    pdl_iter it;
    pdl_err err = {0};
    t_assert(!pdl_iter_init(&it, pdl_int(1), &err));
    t_assert_str(t_str(err.msg), "'int' object is not iterable");
    pdl_err_fini(&err);
    pdl_buf_fini(&out);
    pdl_drop(d);
    t_assert(pdl_live_objects() == start);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges), cmocka_unit_test(times_read_and_write),
        cmocka_unit_test(wrong_fields), cmocka_unit_test(formats), cmocka_unit_test(iteration)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
