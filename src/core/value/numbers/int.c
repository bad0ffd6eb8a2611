/* int.c -- computes with numbers by Python's rules; see int.h.
 *
 * Only this file uses GMP, for operands and results that do not fit int64. A result that fits
 * becomes an int64 again, so equal integers have one form.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/int.h"
#include "value/label.h"

#include <gmp.h>
#include <math.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/utf8.h"
#include "value/obj.h"

#include "base/banned.h"

static_assert(sizeof(mp_limb_t) == sizeof(int64_t), "an int64 is one limb");

/* Invariant: z does not fit int64. */
typedef struct {
    pdl_obj head;
    mpz_t z;
} bigobj;

static void *gmp_resize(void *p, size_t old, size_t n) {
    (void)old;
    return pdl_realloc(p, n);
}

static void gmp_release(void *p, size_t n) {
    (void)n;
    pdl_free(p);
}

void pdl_int_use_alloc(void) { mp_set_memory_functions(pdl_alloc, gmp_resize, gmp_release); }

static mpz_srcptr big_of(pdl_vref v) { return ((const bigobj *)(const void *)pdl_obj_of(v))->z; }

void pdl_bigint_fini(pdl_obj *o) { mpz_clear(((bigobj *)(void *)o)->z); }

/* Returns the lowest 64 bits of the absolute value. (`long`, which mpz_get_ui gives, has 32 bits on
 * some platforms.) */
static uint64_t low_bits(mpz_srcptr z) { return mpz_getlimbn(z, 0); }

static bool fits_int64(mpz_srcptr z) {
    return mpz_size(z) <= 1 && low_bits(z) <= (uint64_t)INT64_MAX + (mpz_sgn(z) < 0);
}

static int64_t int64_of(mpz_srcptr z) {
    uint64_t low = low_bits(z);
    return mpz_sgn(z) < 0 ? (int64_t)(0 - low) : (int64_t)low;
}

static void set_int64(mpz_t z, int64_t i) {
    mpz_limbs_write(z, 1)[0] = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    mpz_limbs_finish(z, i < 0 ? -1 : 1);
}

/* Returns z as a normalised value. Clears z. */
static pdl_val from_mpz(mpz_t z) {
    if (fits_int64(z)) {
        pdl_val v = pdl_int(int64_of(z));
        mpz_clear(z);
        return v;
    }
    bigobj *o = pdl_obj_new(PDL_V_BIGINT, sizeof *o);
    *o->z = *z;
    return pdl_from_obj(PDL_V_BIGINT, &o->head, 0);
}

/* Returns the int64 value of a bool or of a small int. */
static int64_t small(pdl_vref v) {
    return pdl_is_bool(v) ? (int64_t)pdl_bool_of(v) : pdl_int_of(v);
}

/* Makes an mpz of any integer. The caller clears it. */
static void to_mpz(pdl_vref v, mpz_t z) {
    if (pdl_is(v, PDL_V_BIGINT)) {
        mpz_init_set(z, big_of(v));
        return;
    }
    mpz_init(z);
    set_int64(z, small(v));
}

static bool is_integer(pdl_vref v) {
    pdl_tag t = pdl_tag_of(v);
    return t == PDL_V_INT || t == PDL_V_BOOL || t == PDL_V_BIGINT;
}

static bool is_number(pdl_vref v) { return is_integer(v) || pdl_is(v, PDL_V_FLOAT); }

/* --- doubles ---------------------------------------------------------------------------------- */

/* Returns the nearest double, with ties to even; +-inf when z is too large. mpz_get_d would
 * truncate. */
static double mpz_nearest(mpz_srcptr z) {
    size_t bits = mpz_sizeinbase(z, 2);
    if (bits > 1100) return mpz_sgn(z) < 0 ? -INFINITY : INFINITY;
    if (bits <= 53) return mpz_get_d(z);
    mpz_t top;
    mpz_init(top);
    mpz_abs(top, z);
    size_t shift = bits > 64 ? bits - 64 : 0;
    bool sticky = shift && mpz_scan1(top, 0) < shift;
    mpz_tdiv_q_2exp(top, top, shift);
    /* there are 64 bits, of which the lowest only breaks ties */
    uint64_t u = low_bits(top) | (uint64_t)sticky;
    mpz_clear(top);
    double d = ldexp((double)u, (int)shift);
    return mpz_sgn(z) < 0 ? -d : d;
}

double pdl_num_to_double(pdl_vref v) {
    if (pdl_is(v, PDL_V_FLOAT)) return pdl_float_of(v);
    if (pdl_is(v, PDL_V_BIGINT)) return mpz_nearest(big_of(v));
    return (double)small(v);
}

static bool to_double(pdl_vref v, double *out, pdl_err *err) {
    double d = pdl_num_to_double(v);
    if (pdl_is(v, PDL_V_BIGINT) && isinf(d))
        return pdl_err_host(err, "OverflowError", "int too large to convert to float");
    *out = d;
    return true;
}

/* Returns q * 2^-shift as a double; q is positive, and has at least 55 bits or is exact. Subnormals
 * are rounded once, by this code. */
static double scale_back(uint64_t q, int64_t shift) {
    int bits = 64 - __builtin_clzll(q);
    if (bits - 1 - shift >= -1022) {
        if (bits - shift > 1100) return INFINITY;
        return ldexp((double)q, (int)-shift);
    }
    int64_t drop = shift - 1074; /* number of bits below the smallest subnormal */
    if (drop <= 0) return ldexp((double)q, (int)-shift);
    if (drop > 63) return 0.0;
    uint64_t rest = q & (((uint64_t)1 << drop) - 1), half = (uint64_t)1 << (drop - 1);
    q >>= drop;
    if (rest > half || (rest == half && (q & 1))) q++;
    return ldexp((double)q, -1074);
}

/* Returns a / b correctly rounded; b is not 0. */
static double mpz_quotient(mpz_t a, mpz_t b) {
    bool neg = (mpz_sgn(a) < 0) != (mpz_sgn(b) < 0);
    if (mpz_sgn(a) == 0) return neg ? -0.0 : 0.0;
    mpz_abs(a, a);
    mpz_abs(b, b);
    int64_t shift = 56 - ((int64_t)mpz_sizeinbase(a, 2) - (int64_t)mpz_sizeinbase(b, 2));
    if (shift > 0)
        mpz_mul_2exp(a, a, (mp_bitcnt_t)shift);
    else
        mpz_mul_2exp(b, b, (mp_bitcnt_t)-shift);
    mpz_t rest;
    mpz_init(rest);
    mpz_tdiv_qr(a, rest, a, b); /* the quotient has 56 or 57 bits */
    uint64_t q = low_bits(a) | (uint64_t)(mpz_sgn(rest) != 0);
    mpz_clear(rest);
    double d = scale_back(q, shift);
    return neg ? -d : d;
}

/* --- integers --------------------------------------------------------------------------------- */

static bool too_large(pdl_err *err) {
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "integer is longer than %d bits",
                       PDL_MAX_INT_BITS);
}

static bool divide_ints(pdl_vref a, pdl_vref b, pdl_val *out, pdl_err *err) {
    if (pdl_int_sign(b) == 0) return pdl_err_host(err, "ZeroDivisionError", "division by zero");
    enum { EXACT = 53 };
    if (!pdl_is(a, PDL_V_BIGINT) && !pdl_is(b, PDL_V_BIGINT)) {
        int64_t x = small(a), y = small(b), top = (int64_t)1 << EXACT;
        if (-top <= x && x <= top && -top <= y && y <= top) {
            *out =
                /* both operands are exact, so the division rounds once; 0 / -5 is -0.0 */
                pdl_float((double)x / (double)y);
            return true;
        }
    }
    mpz_t x, y;
    to_mpz(a, x);
    to_mpz(b, y);
    double d = mpz_quotient(x, y);
    mpz_clear(x);
    mpz_clear(y);
    if (isinf(d))
        return pdl_err_host(err, "OverflowError", "integer division result too large for a float");
    *out = pdl_float(d);
    return true;
}

static bool pow_floats(double x, double y, pdl_val *out, pdl_err *err);

/* Returns the binary logarithm of |v|. v is not 0. When v is too large for a double, the logarithm
 * is rounded down to a whole number. */
static double binary_log(pdl_vref v) {
    double d = fabs(pdl_num_to_double(v));
    return isinf(d) ? (double)(pdl_int_bit_length(v) - 1) : log2(d);
}

static bool pow_ints(pdl_vref a, pdl_vref b, pdl_val *out, pdl_err *err) {
    if (pdl_int_sign(b) < 0) {
        double x = 0, y = 0;
        return to_double(a, &x, err) && to_double(b, &y, err) && pow_floats(x, y, out, err);
    }
    int64_t base;
    if (pdl_int_get(a, &base) && base >= -1 && base <= 1) {
        bool odd = pdl_is(b, PDL_V_BIGINT) ? mpz_odd_p(big_of(b)) : (small(b) & 1) != 0;
        *out = pdl_int(pdl_int_sign(b) == 0 || (base == -1 && !odd) ? 1 : base);
        return true;
    }
    int64_t e;
    if (!pdl_int_get(b, &e) || e > PDL_MAX_INT_BITS) return too_large(err);
    if (binary_log(a) * (double)e >= PDL_MAX_INT_BITS) return too_large(err);
    mpz_t z;
    to_mpz(a, z);
    mpz_pow_ui(z, z, (unsigned long)e);
    *out = from_mpz(z);
    return true;
}

/* Computes operators whose result overflows, or that have a big operand. */
static bool arith_big(pdl_arith op, pdl_vref a, pdl_vref b, pdl_val *out, pdl_err *err) {
    size_t na = pdl_int_bit_length(a), nb = pdl_int_bit_length(b);
    if ((op == PDL_OP_MUL ? na + nb : (na > nb ? na : nb) + 1) > PDL_MAX_INT_BITS)
        return too_large(err);
    mpz_t x, y;
    to_mpz(a, x);
    to_mpz(b, y);
    switch (op) {
    case PDL_OP_ADD: mpz_add(x, x, y); break;
    case PDL_OP_SUB: mpz_sub(x, x, y); break;
    case PDL_OP_MUL: mpz_mul(x, x, y); break;
    case PDL_OP_FLOORDIV: mpz_fdiv_q(x, x, y); break;
    case PDL_OP_MOD: mpz_fdiv_r(x, x, y); break;
    case PDL_OP_DIV:
    case PDL_OP_POW: break; /* handled elsewhere */
    }
    mpz_clear(y);
    *out = from_mpz(x);
    return true;
}

pdl_val pdl_int_xor(pdl_vref a, pdl_vref b) {
    if (!pdl_is(a, PDL_V_BIGINT) && !pdl_is(b, PDL_V_BIGINT)) return pdl_int(small(a) ^ small(b));
    mpz_t x, y;
    to_mpz(a, x);
    to_mpz(b, y);
    mpz_xor(x, x, y);
    mpz_clear(y);
    return from_mpz(x);
}

/* Computes a op b in int64. Returns false when the result does not fit. b is not 0 for
 * divisions. */
static bool arith_small(pdl_arith op, int64_t a, int64_t b, int64_t *out) {
    switch (op) {
    case PDL_OP_ADD: return !PDL_ADD_OVERFLOWS(a, b, out);
    case PDL_OP_SUB: return !PDL_SUB_OVERFLOWS(a, b, out);
    case PDL_OP_MUL: return !PDL_MUL_OVERFLOWS(a, b, out);
    case PDL_OP_FLOORDIV:
        if (b == -1) return !PDL_SUB_OVERFLOWS(0, a, out);
        *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
        return true;
    case PDL_OP_MOD:
        *out = b == -1 ? 0 : a % b;
        if (*out != 0 && (*out < 0) != (b < 0)) *out += b;
        return true;
    case PDL_OP_DIV:
    case PDL_OP_POW: return false;
    }
    PDL_BUG("operator %d", (int)op);
}

static bool arith_ints(pdl_arith op, pdl_vref a, pdl_vref b, pdl_val *out, pdl_err *err) {
    if (op == PDL_OP_DIV) return divide_ints(a, b, out, err);
    if (op == PDL_OP_POW) return pow_ints(a, b, out, err);
    if (pdl_int_sign(b) == 0 && (op == PDL_OP_FLOORDIV || op == PDL_OP_MOD))
        return pdl_err_host(err, "ZeroDivisionError", "%s",
                            op == PDL_OP_MOD ? "integer modulo by zero"
                                             : "integer division or modulo by zero");
    int64_t r;
    if (!pdl_is(a, PDL_V_BIGINT) && !pdl_is(b, PDL_V_BIGINT) &&
        arith_small(op, small(a), small(b), &r)) {
        *out = pdl_int(r);
        return true;
    }
    return arith_big(op, a, b, out, err);
}

/* --- floats ----------------------------------------------------------------------------------- */

/* Computes Python's divmod for floats: the remainder has the sign of y, the quotient is
 * integral. */
static void float_divmod(double x, double y, double *div, double *mod) {
    double m = fmod(x, y);
    double q = (x - m) / y;
    if (m != 0.0) {
        if ((y < 0) != (m < 0)) {
            m += y;
            q -= 1.0;
        }
    } else {
        m = copysign(0.0, y);
    }
    if (q != 0.0) {
        double f = floor(q);
        if (q - f > 0.5) f += 1.0;
        q = f;
    } else {
        q = copysign(0.0, x / y);
    }
    *div = q;
    *mod = m;
}

static bool pow_floats(double x, double y, pdl_val *out, pdl_err *err) {
    if (x == 0.0 && y < 0.0 && isfinite(y))
        return pdl_err_host(err, "ZeroDivisionError", "0.0 cannot be raised to a negative power");
    if (x < 0.0 && isfinite(x) && isfinite(y) && y != floor(y))
        return pdl_err_host(
            err, "TypeError",
            "a negative number cannot be raised to a fractional power: the result is complex");
    double r = pow(x, y);
    if (isinf(r) && isfinite(x) && isfinite(y))
        return pdl_err_host(err, "OverflowError", "(34, 'Numerical result out of range')");
    *out = pdl_float(r);
    return true;
}

static bool arith_floats(pdl_arith op, double x, double y, pdl_val *out, pdl_err *err) {
    double div, mod;
    switch (op) {
    case PDL_OP_ADD: *out = pdl_float(x + y); return true;
    case PDL_OP_SUB: *out = pdl_float(x - y); return true;
    case PDL_OP_MUL: *out = pdl_float(x * y); return true;
    case PDL_OP_DIV:
        if (y == 0.0) return pdl_err_host(err, "ZeroDivisionError", "float division by zero");
        *out = pdl_float(x / y);
        return true;
    case PDL_OP_FLOORDIV:
        if (y == 0.0) return pdl_err_host(err, "ZeroDivisionError", "float floor division by zero");
        float_divmod(x, y, &div, &mod);
        *out = pdl_float(div);
        return true;
    case PDL_OP_MOD:
        if (y == 0.0) return pdl_err_host(err, "ZeroDivisionError", "float modulo");
        float_divmod(x, y, &div, &mod);
        *out = pdl_float(mod);
        return true;
    case PDL_OP_POW: return pow_floats(x, y, out, err);
    }
    PDL_BUG("operator %d", (int)op);
}

/* --- public ----------------------------------------------------------------------------------- */

bool pdl_num_arith(pdl_arith op, pdl_vref a, pdl_vref b, bool *handled, pdl_val *out,
                   pdl_err *err) {
    *handled = is_number(a) && is_number(b);
    if (!*handled) return true;
    pdl_val r;
    if (is_integer(a) && is_integer(b)) {
        if (!arith_ints(op, a, b, &r, err)) return false;
    } else {
        double x = 0, y = 0;
        if (!to_double(a, &x, err) || !to_double(b, &y, err)) return false;
        if (!arith_floats(op, x, y, &r, err)) return false;
    }
    *out = pdl_with_label(r, pdl_label_combined(pdl_label_of(a), pdl_label_of(b)));
    return true;
}

static pdl_val negated(pdl_vref a) {
    if (pdl_is(a, PDL_V_FLOAT)) return pdl_float(-pdl_float_of(a));
    if (!pdl_is(a, PDL_V_BIGINT) && small(a) != INT64_MIN) return pdl_int(-small(a));
    mpz_t z;
    to_mpz(a, z);
    mpz_neg(z, z);
    return from_mpz(z);
}

bool pdl_num_neg(pdl_vref a, pdl_val *out, pdl_err *err) {
    if (!is_number(a))
        return pdl_err_host(err, "TypeError", "bad operand type for unary -: '%s'",
                            pdl_type_full(a));
    *out = pdl_with_label(negated(a), pdl_label_of(a));
    return true;
}

pdl_val pdl_num_abs(pdl_vref a) {
    pdl_val r;
    if (pdl_is(a, PDL_V_FLOAT))
        r = pdl_float(fabs(pdl_float_of(a)));
    else if (pdl_int_sign(a) < 0)
        r = negated(a);
    else
        r = pdl_is_bool(a) ? pdl_int(small(a)) : pdl_keep(a);
    return pdl_with_label(r, pdl_label_of(a));
}

/* Compares an int64 with a double, exactly. d is not NaN. */
static int cmp_int_double(int64_t i, double d) {
    if (d >= 0x1p63) return -1;
    if (d < -0x1p63) return 1;
    int64_t whole = (int64_t)d;
    if (i != whole) return i < whole ? -1 : 1;
    double rest = d - (double)whole; /* exact: d has a fraction only below 2^53 */
    return (rest < 0) - (rest > 0);
}

static int cmp_int_float(pdl_vref i, double d) {
    if (!pdl_is(i, PDL_V_BIGINT)) return cmp_int_double(small(i), d);
    if (isinf(d)) return d > 0 ? -1 : 1;
    int c = mpz_cmp_d(big_of(i), d);
    return (c > 0) - (c < 0);
}

int pdl_num_cmp(pdl_vref a, pdl_vref b) {
    bool fa = pdl_is(a, PDL_V_FLOAT), fb = pdl_is(b, PDL_V_FLOAT);
    if ((fa && isnan(pdl_float_of(a))) || (fb && isnan(pdl_float_of(b)))) return 2;
    if (fa && fb) {
        double x = pdl_float_of(a), y = pdl_float_of(b);
        return (x > y) - (x < y);
    }
    if (fb) return cmp_int_float(a, pdl_float_of(b));
    if (fa) return -cmp_int_float(b, pdl_float_of(a));
    bool ba = pdl_is(a, PDL_V_BIGINT), bb = pdl_is(b, PDL_V_BIGINT);
    if (ba && bb) {
        int c = mpz_cmp(big_of(a), big_of(b));
        return (c > 0) - (c < 0);
    }
    if (ba) return mpz_sgn(big_of(a));
    if (bb) return -mpz_sgn(big_of(b));
    int64_t x = small(a), y = small(b);
    return (x > y) - (x < y);
}

bool pdl_int_from_double(double d, pdl_val *out) {
    if (!isfinite(d)) return false;
    if (d >= -0x1p63 && d < 0x1p63) {
        *out = pdl_int((int64_t)d);
        return true;
    }
    mpz_t z;
    mpz_init_set_d(z, d);
    *out = from_mpz(z);
    return true;
}

bool pdl_int_get(pdl_vref v, int64_t *out) {
    if (!pdl_is(v, PDL_V_INT) && !pdl_is_bool(v)) return false;
    *out = small(v);
    return true;
}

int pdl_int_sign(pdl_vref v) {
    if (pdl_is(v, PDL_V_BIGINT)) return mpz_sgn(big_of(v));
    int64_t i = small(v);
    return (i > 0) - (i < 0);
}

static uint64_t magnitude(int64_t i) { return i < 0 ? 0 - (uint64_t)i : (uint64_t)i; }

size_t pdl_int_bit_length(pdl_vref v) {
    if (pdl_is(v, PDL_V_BIGINT)) return mpz_sizeinbase(big_of(v), 2);
    uint64_t u = magnitude(small(v));
    return u ? 64u - (size_t)__builtin_clzll(u) : 0;
}

size_t pdl_int_bit_count(pdl_vref v) {
    if (!pdl_is(v, PDL_V_BIGINT)) return (size_t)__builtin_popcountll(magnitude(small(v)));
    mpz_t z;
    to_mpz(v, z);
    mpz_abs(z, z);
    size_t n = mpz_popcount(z);
    mpz_clear(z);
    return n;
}

/* --- text ------------------------------------------------------------------------------------- */

void pdl_int_write(pdl_vref v, int base, pdl_buf *out) {
    if (!pdl_is(v, PDL_V_BIGINT) && base == 10) {
        char digits[PDL_NUM_MAX];
        size_t n = pdl_num_int(small(v), digits);
        pdl_buf_put(out, (pdl_str){digits, n});
        return;
    }
    mpz_t z;
    to_mpz(v, z);
    char *at = pdl_buf_room(out, mpz_sizeinbase(z, base) + 2);
    mpz_get_str(at, base, z);
    pdl_buf_grown(out, strlen(at));
    mpz_clear(z);
}

/* Makes an integer from digits in a base. The digits were checked and are NUL-terminated. With neg,
 * the result is negated. */
static bool read_digits(const char *digits, size_t n, int base, bool neg, pdl_val *out) {
    /* each further digit has at least this many bits */
    size_t zeros = strspn(digits, "0"), each = 0;
    while (base >> (each + 1)) each++;
    if (n > zeros && (n - zeros - 1) * each > PDL_MAX_INT_BITS) return false;
    mpz_t z;
    if (mpz_init_set_str(z, digits + (zeros < n ? zeros : 0), base) != 0 ||
        mpz_sizeinbase(z, 2) > PDL_MAX_INT_BITS) {
        mpz_clear(z);
        return false;
    }
    if (neg) mpz_neg(z, z);
    *out = from_mpz(z);
    return true;
}

bool pdl_int_read_decimal(pdl_str s, pdl_val *out) {
    int64_t i;
    if (pdl_num_read_int(s, &i)) {
        *out = pdl_int(i);
        return true;
    }
    bool neg = s.n && s.p[0] == '-';
    pdl_str digits = pdl_str_sub(s, neg, s.n);
    if (!digits.n) return false;
    for (size_t k = 0; k < digits.n; k++)
        if (digits.p[k] < '0' || digits.p[k] > '9') return false;
    char *z = pdl_str_dup(digits);
    bool ok = read_digits(z, digits.n, 10, neg, out);
    pdl_free(z);
    return ok;
}

/* Returns the text without Unicode blanks at both ends. */
static pdl_str strip(pdl_str s) {
    while (s.n) {
        const char *p = s.p;
        if (!pdl_cp_is_space(pdl_utf8_next(&p))) break;
        s = pdl_str_sub(s, (size_t)(p - s.p), s.n);
    }
    while (s.n) {
        size_t at = s.n - 1;
        while (at > 0 && ((unsigned char)s.p[at] & 0xc0) == 0x80) at--;
        const char *p = s.p + at;
        if (!pdl_cp_is_space(pdl_utf8_next(&p))) break;
        s.n = at;
    }
    return s;
}

/* Returns the base that a prefix 0x, 0o or 0b names; 0 when there is no prefix. */
static int prefix_base(pdl_str s) {
    if (s.n < 2 || s.p[0] != '0') return 0;
    char c = (char)(s.p[1] | 0x20);
    return c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
}

/* Returns the value of the digit cp. A decimal digit of any script counts. Returns 99 when cp is
 * not a digit. */
static int digit_value(uint32_t cp) {
    if (cp >= '0' && cp <= '9') return (int)(cp - '0');
    if (cp >= 'a' && cp <= 'z') return (int)(cp - 'a') + 10;
    if (cp >= 'A' && cp <= 'Z') return (int)(cp - 'A') + 10;
    int d = cp < 0x80 ? -1 : pdl_cp_digit_value(cp);
    return d < 0 ? 99 : d;
}

/* Appends the digits of s in ASCII, without the single underscores that may be between digits.
 * Returns false when s has any other character or underscore. */
static bool clean_digits(pdl_str s, int base, bool after_prefix, pdl_buf *out) {
    bool may_underscore = after_prefix; /* 0x_1 is allowed, and _1 is not */
    const char *end = s.p + s.n;
    pdl_steps steps = {0};
    for (const char *p = s.p; p < end;) {
        if (!pdl_steps_may_continue(&steps)) return false;
        uint32_t cp = pdl_utf8_next(&p);
        if (cp == '_') {
            if (!may_underscore) return false;
            may_underscore = false;
            continue;
        }
        int d = digit_value(cp);
        if (d >= base) return false;
        pdl_buf_putc(out, "0123456789abcdefghijklmnopqrstuvwxyz"[d]);
        may_underscore = true;
    }
    return out->len > 0 && may_underscore;
}

bool pdl_int_read(pdl_str s, int base, pdl_val *out) {
    int64_t i;
    if (base == 10 && pdl_num_read_int(s, &i)) { /* nearly all numbers are short */
        *out = pdl_int(i);
        return true;
    }
    s = strip(s);
    bool neg = s.n && s.p[0] == '-';
    if (s.n && (s.p[0] == '-' || s.p[0] == '+')) s = pdl_str_sub(s, 1, s.n);
    int named = prefix_base(s);
    bool prefixed = named && (base == 0 || base == named);
    if (prefixed) s = pdl_str_sub(s, 2, s.n);
    bool any = base == 0;
    if (any) base = prefixed ? named : 10;
    pdl_buf digits = PDL_BUF;
    bool ok = s.n && clean_digits(s, base, prefixed, &digits);
    /* base 0 reads literals, so 010 is not a number, and 00 is one */
    if (ok && any && !prefixed && digits.p[0] == '0') ok = strspn(digits.p, "0") == digits.len;
    ok = ok && read_digits(digits.p, digits.len, base, neg, out);
    pdl_buf_fini(&digits);
    return ok;
}

/* --- hash ------------------------------------------------------------------------------------- */

/* The modulus for hashes of numbers that do not fit int64. With this modulus, the factor 2^e of a
 * float is a rotation. */
#define MERSENNE (((uint64_t)1 << 61) - 1)

static uint32_t float_hash(double d) {
    if (d >= -0x1p63 && d < 0x1p63) {
        int64_t i = (int64_t)d;
        if ((double)i == d) return pdl_hash_u64((uint64_t)i);
    }
    uint64_t bits;
    if (!isfinite(d) || d != floor(d)) {
        memcpy(&bits, &d, sizeof bits);
        return pdl_hash_u64(bits);
    }
    int e;
    uint64_t m = (uint64_t)ldexp(frexp(fabs(d), &e), 53);
    /* 2^61 is 1 modulo 2^61 - 1, so a shift becomes a rotation */
    unsigned turn = (unsigned)(e - 53) % 61;
    if (turn) m = ((m << turn) & MERSENNE) | (m >> (61 - turn));
    return pdl_hash_u64((m % MERSENNE) ^ (d < 0 ? UINT64_MAX : 0));
}

uint32_t pdl_int_hash(pdl_vref v) {
    if (pdl_is(v, PDL_V_FLOAT)) return float_hash(pdl_float_of(v));
    if (!pdl_is(v, PDL_V_BIGINT)) return pdl_hash_u64((uint64_t)small(v));
    uint64_t m = mpn_mod_1(mpz_limbs_read(big_of(v)), (mp_size_t)mpz_size(big_of(v)), MERSENNE);
    return pdl_hash_u64(m ^ (mpz_sgn(big_of(v)) < 0 ? UINT64_MAX : 0));
}
