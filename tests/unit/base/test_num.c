/* test_num.c -- numbers as text: Python's repr of floats, strict reading.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include <inttypes.h>
#include <stdlib.h>

#include <math.h>

#include "base/num.h"

#include "base/banned.h"

static void doubles_as_python_writes_them(void **state) {
    (void)state;
    static const struct {
        double v;
        const char *want;
    } rows[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e15, "1000000000000000.0"},
        {9999999999999998, "9999999999999998.0"},
        {1e16, "1e+16"},
        {1.5e300, "1.5e+300"},
        {0.0001, "0.0001"},
        {0.00012, "0.00012"},
        {0.00001, "1e-05"},
        {1.5e-7, "1.5e-07"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {7.120236347223045e-307, "7.120236347223045e-307"},
        {123456.789, "123456.789"},
        {100, "100.0"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
        {1.0 / 3, "0.3333333333333333"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        char out[PDL_NUM_MAX];
        T_ROW(i);
        size_t n = pdl_num_double(rows[i].v, out);
        t_assert_str(((pdl_str){out, n}), rows[i].want);
        t_assert(out[n] == 0);
    }
}

static void doubles_survive(void **state) {
    (void)state;
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        double v, back;
        char out[PDL_NUM_MAX];
        memcpy(&v, &x, sizeof v);
        if (isnan(v) || isinf(v)) continue;
        size_t n = pdl_num_double(v, out);
        t_assert(pdl_num_read_double((pdl_str){out, n}, &back));
        t_assert(memcmp(&v, &back, sizeof v) == 0);
    }
}

static void fixed_points_as_printf_writes_them(void **state) {
    (void)state;
    static const double edges[] = {0,          -0.0,   0.5,    1.5,    2.5,         0.125,
                                   0.375,      2.675,  1e-300, 5e-324, 999999999.5, 0.9999999995,
                                   123456.789, -0.001, 1e9,    1e22,   INFINITY,    NAN};
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < 40000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        double v = i < T_LEN(edges) ? edges[i] : ldexp((double)(int64_t)x, -(int)(x % 120));
        for (int digits = 0; digits <= PDL_NUM_FIXED_DIGITS + 1;
             digits += i < T_LEN(edges) ? 1 : 3) {
            char got[PDL_NUM_MAX], want[400];
            size_t n = pdl_num_fixed(v, digits, got);
            t_assert((n > 0) == (fabs(v) < 1e9 && digits <= PDL_NUM_FIXED_DIGITS));
            snprintf(want, sizeof want, "%.*f", digits, v);
            if (n > 0) t_assert_str(((pdl_str){got, n}), want);
        }
    }
}

static void reads_doubles(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        double want;
    } rows[] = {
        {"1", true, 1},
        {"-1.5e3", true, -1500},
        {".5", true, 0.5},
        {"5.", true, 5},
        {"+2E-2", true, 0.02},
        {"1e400", true, INFINITY},
        {"1e-400", true, 0},
        {"0e999999999999", true, 0},
        {"1e99999999999999999999", true, INFINITY},
        {"123456789012345678901234567890", true, 123456789012345678901234567890.0},
        {"9007199254740993", true, 9007199254740992.0},
        {"0.1000000000000000055511151231257827", true, 0.1},
        {"", false, 0},
        {".", false, 0},
        {"1e", false, 0},
        {"1e+", false, 0},
        {"0x10", false, 0},
        {"inf", false, 0},
        {"1_0", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"--1", false, 0},
        {"1.2.3", false, 0},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        double got = 0;
        T_ROW(i);
        t_assert(pdl_num_read_double(t_str(rows[i].text), &got) == rows[i].ok);
        t_assert(!(got < rows[i].want) && !(got > rows[i].want));
    }
}

static void integers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t want;
    } rows[] = {
        {"0", true, 0},
        {"-7", true, -7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+1", false, 0},
        {"1a", false, 0},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        int64_t got = 0;
        char out[PDL_NUM_MAX];
        T_ROW(i);
        t_assert(pdl_num_read_int(t_str(rows[i].text), &got) == rows[i].ok);
        t_assert(got == rows[i].want);
        if (rows[i].ok) t_assert_str(((pdl_str){out, pdl_num_int(got, out)}), rows[i].text);
    }
}

/* Digits and exponents from a fixed sequence: as the C library reads them. */
static void decimals_are_rounded_correctly(void **state) {
    (void)state;
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < 200000; i++) {
        T_ROW(i);
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        uint64_t digits = x >> (x % 64);
        int exp10 = (int)((x >> 20) % 55) - 27;
        char text[64];
        double got;
        snprintf(text, sizeof text, "%" PRIu64 "e%d", digits, exp10);
        t_assert(pdl_num_decimal(digits, exp10, &got));
        t_assert(got == strtod(text, NULL));
    }
    double d;
    t_assert(!pdl_num_decimal(1, 28, &d) && !pdl_num_decimal(1, -28, &d));
    t_assert(pdl_num_decimal(0, 1000, &d) && d == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimals_are_rounded_correctly),
        cmocka_unit_test(doubles_as_python_writes_them),
        cmocka_unit_test(doubles_survive),
        cmocka_unit_test(fixed_points_as_printf_writes_them),
        cmocka_unit_test(reads_doubles),
        cmocka_unit_test(integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
