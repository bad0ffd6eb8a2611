/* num.h -- converts decimal text to int64 and double and back, independent of the locale.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_NUM_H
#define PDL_BASE_NUM_H

#include "base/buf.h"
#include "base/str.h"

enum { PDL_NUM_MAX = 32 }; /* size of the longest int64 or shortest double, NUL included */

/* Writes v in decimal; returns the length. */
size_t pdl_num_int(int64_t v, char out[PDL_NUM_MAX]);

/* Writes v as Python's repr does, and returns the length. The digits are the shortest that
 * round-trip. Numbers below 1e-4 and from 1e16 on have an exponent with sign and at least two
 * digits; all others have a fractional part. inf, -inf and nan are words. */
size_t pdl_num_double(double v, char out[PDL_NUM_MAX]);

/* Writes a finite v with `digits` decimals as printf's %.*f does (exact, halves to even), about
 * five times as fast. Writes no NUL. Returns the length, or 0 when digits is not in
 * 0..PDL_NUM_FIXED_DIGITS or |v| is not below 1e9. */
enum { PDL_NUM_FIXED_DIGITS = 9 };
size_t pdl_num_fixed(double v, int digits, char out[PDL_NUM_MAX]);

/* Reads an optional '-' and digits, which must be the whole of s. Returns false when s has another
 * form or does not fit (INT64_MIN fits). */
bool pdl_num_read_int(pdl_str s, int64_t *out);

/* Reads a float of the form [+-]digits[.digits][e[+-]digits], which must be the whole of s. At
 * least one side of the dot has a digit. The result is correctly rounded, and overflow gives
 * infinity. Returns false for anything else, also for hex, inf, nan and underscores. */
bool pdl_num_read_double(pdl_str s, double *out);

/* Computes digits * 10^exp10, correctly rounded. Returns false without a result when the exponent
 * is outside of -27..27, where the computation would not be exact. */
bool pdl_num_decimal(uint64_t digits, int exp10, double *out);

/* Returns the value of a hexadecimal digit, 0 to 15, or -1. */
static inline int pdl_hex_digit(int32_t c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

#endif
