/* int.h -- arithmetic on PDL numbers with Python's rules. int.c is the only user of GMP.
 *
 * Integers are int64 until an operation overflows, then big; results are normalised back. Booleans
 * count as integers. Errors carry Python's class and text ("division by zero", "unsupported operand
 * type(s) for +: ...").
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_INT_H
#define PDL_VALUE_INT_H

#include "value/val.h"

typedef enum {
    PDL_OP_ADD,
    PDL_OP_SUB,
    PDL_OP_MUL,
    PDL_OP_DIV,
    PDL_OP_FLOORDIV,
    PDL_OP_MOD,
    PDL_OP_POW
} pdl_arith;

/* Computes a op b for numbers (bool, int, float) only; *handled is false when an operand is not a
 * number. */
PDL_MUST bool pdl_num_arith(pdl_arith op, pdl_vref a, pdl_vref b, bool *handled, pdl_val *out,
                            pdl_err *err);
pdl_val pdl_int_xor(pdl_vref a, pdl_vref b); /* a ^ b of integers, in two's complement */
PDL_MUST bool pdl_num_neg(pdl_vref a, pdl_val *out, pdl_err *err); /* -a of a number */
pdl_val pdl_num_abs(pdl_vref a);

/* Computes every binary operator of expressions, on any operands, with Python's messages: numbers,
 * str + str, list + list, * repetition, contexts with + and *. Only `str % x` is elsewhere
 * (pdl_format_percent of native/native.h). */
PDL_MUST bool pdl_val_arith(pdl_arith op, pdl_vref a, pdl_vref b, pdl_val *out, pdl_err *err);

/* Returns -1, 0 or 1, or 2 when one is NaN. Exact for int against float. Numbers and bools only. */
int pdl_num_cmp(pdl_vref a, pdl_vref b);

/* Reads an integer in base 2..36 with Python's int() rules (sign, underscores, surrounding blanks,
 * base prefix when base is 0 or matches). Returns false when the text is no such integer, or the
 * integer is too large. */
bool pdl_int_read(pdl_str s, int base, pdl_val *out);
/* Reads an integer of JSON or YAML: decimal digits, with an optional '-' before them. Returns false
 * for other text, and for an integer that is too large. */
bool pdl_int_read_decimal(pdl_str s, pdl_val *out);

/* Truncates a float to an integer. Returns false for inf and nan. */
bool pdl_int_from_double(double d, pdl_val *out);
/* Returns the nearest double of an int (inf when too large). */
double pdl_num_to_double(pdl_vref v);
/* Returns true when v is a bool, or an integer that fits int64. */
bool pdl_int_get(pdl_vref v, int64_t *out);
int pdl_int_sign(pdl_vref v);
size_t pdl_int_bit_length(pdl_vref v);
size_t pdl_int_bit_count(pdl_vref v);
/* Appends the digits in base (2, 8, 10, 16), '-' first, lower case, no prefix. */
void pdl_int_write(pdl_vref v, int base, struct pdl_buf *out);
uint32_t pdl_int_hash(pdl_vref v);
/* Makes GMP allocate through base/alloc.h for the whole process, because GMP itself aborts when
 * memory runs out. Called once, before there are large integers. */
void pdl_int_use_alloc(void);
/* Releases the digits of a BIGINT, for val.c. */
void pdl_bigint_fini(pdl_obj *o);

#endif
