/* num.c -- Short decimals take fast paths that are exact. For others the C library is used, and its
 * result is checked by reading it back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/num.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* a decimal with at most this many digits does not change when it becomes a double and is written
 * again */
enum { EXACT_DIGITS = 15 };

/* Powers of ten that a double holds exactly. */
static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { EXACT_POWER = sizeof powers / sizeof powers[0] - 1 };

static void put_pair(unsigned pair, char *to) {
    to[0] = (char)('0' + pair / 10);
    to[1] = (char)('0' + pair % 10);
}

/* Writes two digits for each division, which is the slow part: a trace has two long numbers for
 * each block. */
static size_t put_u64(uint64_t v, char *out) {
    char tmp[20];
    size_t at = sizeof tmp;
    for (; v >= 100; v /= 100) put_pair((unsigned)(v % 100), &tmp[at -= 2]);
    put_pair((unsigned)v, &tmp[at -= 2]);
    at += v < 10; /* leaves out a leading zero */
    memcpy(out, tmp + at, sizeof tmp - at);
    return sizeof tmp - at;
}

size_t pdl_num_int(int64_t v, char out[PDL_NUM_MAX]) {
    size_t neg = v < 0;
    out[0] = '-';
    size_t n = neg + put_u64(neg ? -(uint64_t)v : (uint64_t)v, out + neg);
    out[n] = 0;
    return n;
}

/* A positive finite number as digits d[0..n) without a final zero; its value is 0.d0d1... *
 * 10^point. */
typedef struct {
    char d[24];
    size_t n;
    int point;
} decimal;

static void set_digits(decimal *dec, uint64_t digits, int exp10) {
    dec->n = put_u64(digits, dec->d);
    dec->point = (int)dec->n + exp10;
    while (dec->n > 1 && dec->d[dec->n - 1] == '0') dec->n--;
}

/* Finds digits and a small k with v = digits / 10^k. Returns false when no such digits exist. The
 * result is exact, because digits is an integer below 10^15 that divides back to v. */
static bool short_digits(double v, decimal *dec) {
    if (v < 1e-5 || v >= 1e15) return false;
    for (int k = 0; k <= 6; k++) {
        double scaled = v * powers[k];
        if (scaled >= 1e15) return false;
        uint64_t digits = (uint64_t)scaled;
        /* the product may be rounded in either direction, so its upper neighbour is tried, too */
        for (uint64_t end = digits + (k > 0); digits <= end; digits++) {
            if (digits == 0 || (double)digits / powers[k] != v) continue;
            set_digits(dec, digits, -k);
            return true;
        }
    }
    return false;
}

/* Increments the last digit before the exponent. Returns false when there would be a carry out of
 * the first digit. */
static bool bump(char *text) {
    for (char *p = strchr(text, 'e'); p-- > text;) {
        if (*p < '0' || *p > '9') continue; /* skips the point */
        if (++*p <= '9') return true;
        *p = '0';
    }
    return false;
}

/* Returns true when the text of v with `precision` digits reads back as v. Just below a power of
 * two, doubles are denser than just above it. There the next larger decimal may read back when the
 * nearest decimal does not. */
static bool reads_back(double v, int precision, char *text, size_t size) {
    snprintf(text, size, "%.*e", precision - 1, v);
    if (strtod(text, NULL) == v) return true;
    int exponent;
    return frexp(v, &exponent) == 0.5 && bump(text) && strtod(text, NULL) == v;
}

/* Finds the shortest decimal that reads back as v: 15 to 17 digits, fewer where doubles are sparse
 * (subnormals). */
static void long_digits(double v, decimal *dec) {
    char text[40];
    int precision = v < DBL_MIN ? 1 : EXACT_DIGITS;
    while (!reads_back(v, precision, text, sizeof text)) precision++;
    dec->n = 0;
    const char *p = text;
    for (; *p != 'e'; p++) /* skips the decimal point of any locale */
        if (*p >= '0' && *p <= '9') dec->d[dec->n++] = *p;
    dec->point = (int)strtol(p + 1, NULL, 10) + 1;
    while (dec->n > 1 && dec->d[dec->n - 1] == '0') dec->n--;
}

__extension__ typedef unsigned __int128 wide;

/* Returns v * 10^digits rounded to the nearest integer, with halves rounded to even. v is below
 * 10^9 and not negative. v is m * 2^-shift with m below 2^53, and 10^9 has 30 bits, so the product
 * fits. */
static uint64_t scaled(double v, int digits) {
    static const uint64_t power[PDL_NUM_FIXED_DIGITS + 1] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    uint64_t bits, hidden = UINT64_C(1) << (DBL_MANT_DIG - 1);
    memcpy(&bits, &v, sizeof bits);
    int shift = 1075 - (int)(bits >> (DBL_MANT_DIG - 1)); /* at least 23, because v is below 2^30 */
    if (shift > 100)
        /* v is far below half a unit, and so are subnormals, which have no hidden bit */
        return 0;
    wide product = (wide)((bits & (hidden - 1)) | hidden) * power[digits];
    wide whole = product >> shift, rest = product - (whole << shift), half = (wide)1 << (shift - 1);
    return (uint64_t)(whole + (rest > half || (rest == half && (whole & 1))));
}

size_t pdl_num_fixed(double v, int digits, char out[PDL_NUM_MAX]) {
    double size = fabs(v);
    if (digits < 0 || digits > PDL_NUM_FIXED_DIGITS || !(size < 1e9)) return 0;
    uint64_t rest = scaled(size, digits);
    char text[PDL_NUM_MAX];
    size_t n = sizeof text;
    for (int i = 0; rest > 0 || i <= digits; i++, rest /= 10) {
        if (i == digits && digits > 0) text[--n] = '.';
        text[--n] = (char)('0' + rest % 10);
    }
    if (signbit(v)) text[--n] = '-';
    memcpy(out, text + n, sizeof text - n);
    return sizeof text - n;
}

static size_t put_zeros(char *out, int n) {
    for (int i = 0; i < n; i++) out[i] = '0';
    return n > 0 ? (size_t)n : 0;
}

/* Writes digits with a point: 0.00012, 12.5, 1200.0. */
static size_t put_fixed(const decimal *dec, char *out) {
    size_t n = 0, before = dec->point > 0 ? (size_t)dec->point : 0;
    if (before == 0) {
        memcpy(out, "0.", 2); /* NOLINT: the NUL comes last */
        n = 2 + put_zeros(out + 2, -dec->point);
        memcpy(out + n, dec->d, dec->n);
        return n + dec->n;
    }
    size_t whole = before < dec->n ? before : dec->n;
    memcpy(out, dec->d, whole);
    n = whole + put_zeros(out + whole, (int)(before - whole));
    out[n++] = '.';
    if (whole == dec->n) {
        out[n++] = '0';
        return n;
    }
    memcpy(out + n, dec->d + whole, dec->n - whole);
    return n + dec->n - whole;
}

/* Writes digits with an exponent: 1e+16, 1.5e-07. */
static size_t put_exponent(const decimal *dec, char *out) {
    size_t n = 0;
    int e = dec->point - 1;
    out[n++] = dec->d[0]; /* NOLINT: short_digits or long_digits has written dec->d */
    if (dec->n > 1) {
        out[n++] = '.';
        memcpy(out + n, dec->d + 1, dec->n - 1);
        n += dec->n - 1;
    }
    out[n++] = 'e';
    out[n++] = e < 0 ? '-' : '+';
    if (e < 0) e = -e;
    if (e < 10) out[n++] = '0';
    return n + put_u64((uint64_t)e, out + n);
}

static size_t put_word(const char *word, char *out) {
    size_t n = strlen(word);
    memcpy(out, word, n + 1);
    return n;
}

size_t pdl_num_double(double v, char out[PDL_NUM_MAX]) {
    if (isnan(v)) return put_word("nan", out);
    size_t n = 0;
    if (signbit(v)) {
        out[n++] = '-';
        v = -v;
    }
    if (isinf(v)) return n + put_word("inf", out + n);
    if (v == 0) return n + put_word("0.0", out + n);
    decimal dec;
    if (!short_digits(v, &dec)) long_digits(v, &dec);
    n += dec.point > -4 && dec.point <= 16 ? put_fixed(&dec, out + n) : put_exponent(&dec, out + n);
    out[n] = 0;
    return n;
}

bool pdl_num_read_int(pdl_str s, int64_t *out) {
    bool neg = s.n && s.p[0] == '-';
    int64_t v = 0;
    if (s.n == neg) return false;
    for (size_t i = neg; i < s.n; i++) {
        int digit = s.p[i] - '0';
        if (digit < 0 || digit > 9) return false;
        /* Accumulates negative values, because there is one more negative than positive number. */
        if (PDL_MUL_OVERFLOWS(v, 10, &v) || PDL_SUB_OVERFLOWS(v, digit, &v)) return false;
    }
    if (!neg && v == INT64_MIN) return false;
    *out = neg ? v : -v;
    return true;
}

typedef struct {
    bool neg;
    uint64_t digits; /* the first 19 significant digits */
    long exp10;      /* value = digits * 10^exp10, unless `cut` is set */
    bool cut;        /* significant digits were left out */
    bool any;        /* there was at least one digit */
} parts;

static size_t read_digits(pdl_str s, size_t i, bool fraction, parts *x) {
    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++) {
        x->any = true;
        if (x->digits >= UINT64_C(1000000000000000000)) {
            x->cut = x->cut || s.p[i] != '0';
            x->exp10 += !fraction;
        } else {
            x->digits = x->digits * 10 + (uint64_t)(s.p[i] - '0');
            x->exp10 -= fraction;
        }
    }
    return i;
}

static bool read_parts(pdl_str s, parts *x) {
    size_t i = 0;
    if (s.n && (s.p[0] == '-' || s.p[0] == '+')) x->neg = s.p[i++] == '-';
    i = read_digits(s, i, false, x);
    if (i < s.n && s.p[i] == '.') i = read_digits(s, i + 1, true, x);
    if (!x->any) return false;
    if (i == s.n) return true;
    if (s.p[i] != 'e' && s.p[i] != 'E') return false;
    i++;
    bool neg = i < s.n && s.p[i] == '-';
    if (i < s.n && (s.p[i] == '-' || s.p[i] == '+')) i++;
    if (i == s.n) return false;
    long e = 0;
    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        if (e < 100000000) e = e * 10 + (s.p[i] - '0');
    x->exp10 += neg ? -e : e;
    return i == s.n;
}

/* --- digits and a power of ten, exactly ------------------------------------------------------- */

enum { MAX_POWER = 27 }; /* 5^27 is the largest power below 2^63 */
__extension__ typedef unsigned __int128 wide;

static uint64_t power_of_5(int n) {
    uint64_t p = 1, base = 5;
    for (; n; n >>= 1, base *= base)
        if (n & 1) p *= base;
    return p;
}

/* Returns 2^e of a normal double. */
static double power_of_2(int e) {
    uint64_t bits = (uint64_t)(e + 1023) << 52;
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* Returns digits / 5^n * 2^-n. The quotient has 63 bits or more, so the remainder only matters as
 * one bit below the rounding. */
static double divided(uint64_t digits, int n) {
    uint64_t by = power_of_5(n);
    int shift = __builtin_clzll(digits), by_shift = __builtin_clzll(by);
    wide left = (wide)(digits << shift) << 63;
    by <<= by_shift;
    uint64_t q = (uint64_t)(left / by);
    q |= left % by != 0;
    return (double)q * power_of_2(by_shift - shift - 63 - n);
}

/* Returns digits * 5^n * 2^n, rounded from 128 bits. */
static double multiplied(uint64_t digits, int n) {
    wide product = (wide)digits * power_of_5(n);
    uint64_t high = (uint64_t)(product >> 64);
    if (!high) return (double)(uint64_t)product * power_of_2(n);
    int shift = __builtin_clzll(high);
    product <<= shift;
    uint64_t q = (uint64_t)(product >> 64) | ((uint64_t)product != 0);
    return (double)q * power_of_2(64 - shift + n);
}

bool pdl_num_decimal(uint64_t digits, int exp10, double *out) {
    if (digits == 0) {
        *out = 0;
        return true;
    }
    if (digits <= UINT64_C(1) << 53 && exp10 >= -EXACT_POWER && exp10 <= EXACT_POWER) {
        /* Both operands are exact, so this single operation rounds correctly. */
        *out = exp10 < 0 ? (double)digits / powers[-exp10] : (double)digits * powers[exp10];
        return true;
    }
    if (exp10 < -MAX_POWER || exp10 > MAX_POWER) return false;
    *out = exp10 < 0 ? divided(digits, -exp10) : multiplied(digits, exp10);
    return true;
}

/* strtod gets a copy with the decimal point of the locale, because an embedder may have set a
 * locale. */
static double slow_double(pdl_str s) {
    char small[128], probe[8];
    char *z = s.n < sizeof small ? memcpy(small, s.p, s.n) : pdl_str_dup(s);
    z[s.n] = 0;
    snprintf(probe, sizeof probe, "%.1f", 0.5);
    char *dot = memchr(z, '.', s.n);
    if (dot && probe[1] != '.' && probe[2] == '5') *dot = probe[1];
    double v = strtod(z, NULL);
    if (z != small) pdl_free(z);
    return v;
}

bool pdl_num_read_double(pdl_str s, double *out) {
    parts x = {0};
    if (!read_parts(s, &x)) return false;
    double v;
    bool fits = !x.cut && x.exp10 >= -MAX_POWER && x.exp10 <= MAX_POWER;
    if (x.digits == 0)
        v = 0;
    else if (!fits || !pdl_num_decimal(x.digits, (int)x.exp10, &v)) {
        *out = slow_double(s);
        return true;
    }
    *out = x.neg ? -v : v;
    return true;
}
