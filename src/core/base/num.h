/* num.h -- decimal text <-> int64 and double, independent of the locale.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_NUM_H
#define PDL_BASE_NUM_H

#include "base/buf.h"
#include "base/str.h"

enum { PDL_NUM_MAX = 32 }; /* bytes of the longest int64 or shortest double, NUL included */

/* Writes v in decimal; returns the length. */
size_t pdl_num_int(int64_t v, char out[PDL_NUM_MAX]);

/* Writes v as Python's repr does: shortest digits that round-trip, exponent form below 1e-4 and
 * from 1e16 with sign and at least two digits, else always a fractional part; inf, -inf, nan.
 * Returns the length. */
size_t pdl_num_double(double v, char out[PDL_NUM_MAX]);

/* Writes a finite v with `digits` decimals as printf's %.*f does (exact, halves to even), as long
 * as digits is at most PDL_NUM_FIXED_DIGITS and v is below 1e9; returns the length, or 0 when v or
 * digits are beyond that. Some five times as fast as printf. */
enum { PDL_NUM_FIXED_DIGITS = 9 };
size_t pdl_num_fixed(double v, int digits, char out[PDL_NUM_MAX]);

/* Strict: optional '-', digits; the whole of s. False when it is not that or does not fit
 * (INT64_MIN fits). */
bool pdl_num_read_int(pdl_str s, int64_t *out);

/* A float of the form [+-]digits[.digits][e[+-]digits] (a digit on at least one side of the dot);
 * the whole of s, correctly rounded, overflow to infinity. False when it is not that. No hex, inf,
 * nan, underscores. */
bool pdl_num_read_double(pdl_str s, double *out);

/* digits * 10^exp10, correctly rounded. Returns false without a result when the exponent is outside
 * of -27..27, where the computation would not be exact. */
bool pdl_num_decimal(uint64_t digits, int exp10, double *out);

/* 0 to 15, or -1. */
static inline int pdl_hex_digit(int32_t c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

#endif
