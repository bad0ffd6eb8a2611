/* methods_num.c -- Python's methods of numbers and dates.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <stdio.h>

#include "native/natives.h"
#include "value/int.h"
#include "value/pyvalues.h"

#include "base/banned.h"

static bool m_bit_length(PDL_ARGS) {
    pdl_vref v = pdl_is_bool(argv[0]) ? pdl_int(pdl_bool_of(argv[0])) : argv[0];
    *out = pdl_int((int64_t)pdl_int_bit_length(v));
    return true;
}

static bool m_bit_count(PDL_ARGS) {
    pdl_vref v = pdl_is_bool(argv[0]) ? pdl_int(pdl_bool_of(argv[0])) : argv[0];
    *out = pdl_int((int64_t)pdl_int_bit_count(v));
    return true;
}

static bool m_is_integer(PDL_ARGS) {
    double d = pdl_float_of(argv[0]);
    *out = pdl_bool(isfinite(d) && d == floor(d));
    return true;
}

/* Writes 0x1.8000000000000p+1. The fraction has thirteen digits, except for 0x0.0p+0. */
static bool m_hex(PDL_ARGS) {
    double d = pdl_float_of(argv[0]), m;
    if (isnan(d) || isinf(d)) {
        *out = pdl_textz(isnan(d) ? "nan" : d < 0 ? "-inf" : "inf");
        return true;
    }
    const char *sign = signbit(d) ? "-" : "";
    if (d == 0) {
        *out = pdl_textf("%s0x0.0p+0", sign);
        return true;
    }
    int e;
    m = frexp(fabs(d), &e) * 2; /* 1 <= m < 2 */
    e--;
    if (e < -1022) { /* subnormal */
        m = ldexp(m, e + 1022);
        e = -1022;
    }
    uint64_t whole = (uint64_t)m, rest = (uint64_t)ldexp(m - (double)whole, 52);
    *out = pdl_textf("%s0x%llu.%013llxp%+d", sign, (unsigned long long)whole,
                     (unsigned long long)rest, e);
    return true;
}

/* Returns the numerator and the denominator in lowest terms. */
static bool m_as_integer_ratio(PDL_ARGS) {
    double d = pdl_float_of(argv[0]);
    if (isinf(d))
        return pdl_err_host(err, "OverflowError", "cannot convert Infinity to integer ratio");
    if (isnan(d)) return pdl_err_host(err, "ValueError", "cannot convert NaN to integer ratio");
    int e;
    double m = frexp(d, &e);
    for (; m != floor(m); e--) m *= 2;
    pdl_val top, power, bottom = pdl_int(1);
    (void)pdl_int_from_double(m, &top);
    if (!pdl_val_arith(PDL_OP_POW, pdl_int(2), pdl_int(e < 0 ? -e : e), &power, err)) {
        pdl_drop(top);
        return false;
    }
    if (d == 0)
        pdl_drop(power);
    else if (e < 0)
        bottom = power;
    else {
        pdl_val scaled;
        bool ok = pdl_val_arith(PDL_OP_MUL, top, power, &scaled, err);
        pdl_drop(top);
        pdl_drop(power);
        if (!ok) return false;
        top = scaled;
    }
    const pdl_val pair[2] = {top, bottom};
    *out = pdl_tuple_new(pair, 2);
    return true;
}

static bool m_conjugate(PDL_ARGS) {
    *out = pdl_is_bool(argv[0]) ? pdl_int(pdl_bool_of(argv[0])) : pdl_keep(argv[0]);
    return true;
}

static bool m_int_ratio(PDL_ARGS) {
    const pdl_val pair[2] = {
        pdl_is_bool(argv[0]) ? pdl_int(pdl_bool_of(argv[0])) : pdl_keep(argv[0]), pdl_int(1)};
    *out = pdl_tuple_new(pair, 2);
    return true;
}

static const pdl_native int_methods[] = {
    {"as_integer_ratio", m_int_ratio, "self", 1, 1, 0, "The number and 1.", NULL, PDL_NS_NONE,
     "number -> tuple"},
    {"bit_count", m_bit_count, "self", 1, 1, 0, "Number of ones in binary.", NULL, PDL_NS_NONE,
     "number -> integer"},
    {"bit_length", m_bit_length, "self", 1, 1, 0, "Number of binary digits.", NULL, PDL_NS_NONE,
     "number -> integer"},
    {"conjugate", m_conjugate, "self", 1, 1, 0, "The number itself.", NULL, PDL_NS_NONE,
     "number -> number"},
};

pdl_rows pdl_rows_int(void) { return (pdl_rows){int_methods, PDL_N_COUNT(int_methods)}; }

static const pdl_native float_methods[] = {
    {"as_integer_ratio", m_as_integer_ratio, "self", 1, 1, 0, "Numerator and denominator.", NULL,
     PDL_NS_NONE, "number -> tuple"},
    {"conjugate", m_conjugate, "self", 1, 1, 0, "The number itself.", NULL, PDL_NS_NONE,
     "number -> number"},
    {"hex", m_hex, "self", 1, 1, 0, "Exact hexadecimal form.", NULL, PDL_NS_NONE,
     "number -> string"},
    {"is_integer", m_is_integer, "self", 1, 1, 0, "Has no fractional part.", NULL, PDL_NS_NONE,
     "number -> boolean"},
};

pdl_rows pdl_rows_float(void) { return (pdl_rows){float_methods, PDL_N_COUNT(float_methods)}; }

/* --- dates ------------------------------------------------------------------------------------ */

static bool m_isoformat(PDL_ARGS) {
    char sep = 'T';
    if (!pdl_is_absent(argv[1])) {
        if (pdl_is(argv[0], PDL_V_DATE))
            return pdl_err_host(err, "TypeError", "date.isoformat() takes no arguments (1 given)");
        if (!pdl_is_str(argv[1]) || pdl_str_get(argv[1]).n != 1)
            return pdl_err_host(err, "TypeError",
                                "isoformat() argument 1 must be a unicode character, not %s",
                                pdl_py_type(argv[1]));
        sep = pdl_str_get(argv[1]).p[0];
    }
    pdl_buf b = PDL_BUF;
    pdl_time_iso(argv[0], sep, &b);
    *out = pdl_text_of_buf(&b);
    return true;
}

static bool m_strftime(PDL_ARGS) {
    if (!pdl_is_str(argv[1]))
        return pdl_err_host(err, "TypeError", "strftime() argument 1 must be str, not %s",
                            pdl_py_type(argv[1]));
    return pdl_time_strftime(argv[0], pdl_str_get(argv[1]), out, err);
}

/* Returns the day of the week, where Monday is 0. Counts the days since the first day of year 1, a
 * Monday, in the proleptic Gregorian calendar. */
static int weekday(pdl_vref v) {
    pdl_time t = pdl_time_get(v);
    int y = t.month < 3 ? t.year - 1 : t.year, m = t.month < 3 ? t.month + 12 : t.month;
    int days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * (m - 3) + 2) / 5 + t.day - 307;
    return (days + 7) % 7;
}

static bool m_weekday(PDL_ARGS) {
    *out = pdl_int(weekday(argv[0]));
    return true;
}

static bool m_isoweekday(PDL_ARGS) {
    *out = pdl_int(weekday(argv[0]) + 1);
    return true;
}

static const pdl_native time_methods[] = {
    {"isoformat", m_isoformat, "self, sep", 1, 2, 0, "The text of ISO 8601.", NULL, PDL_NS_KW,
     "any, string -> string"},
    {"isoweekday", m_isoweekday, "self", 1, 1, 0, "1 for Monday to 7.", NULL, PDL_NS_NONE,
     "any -> integer"},
    {"strftime", m_strftime, "self, format", 2, 2, 0, "Text by a format of % codes.", NULL,
     PDL_NS_KW, "any, string -> string"},
    {"weekday", m_weekday, "self", 1, 1, 0, "0 for Monday to 6.", NULL, PDL_NS_NONE,
     "any -> integer"},
};

pdl_rows pdl_rows_time(void) { return (pdl_rows){time_methods, PDL_N_COUNT(time_methods)}; }
