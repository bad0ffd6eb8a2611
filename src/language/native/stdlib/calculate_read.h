/* calculate_read.h -- an arithmetic expression as nodes. Private to stdlib/: calculate_read.c reads
 * the text, calculate.c computes the value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_NATIVE_CALCULATE_READ_H
#define PDL_NATIVE_CALCULATE_READ_H

#include "base/scan.h"
#include "base/vec.h"
#include "value/val.h"

enum {
    MAX_DIGITS = 4300,
    MAX_BITS = 14285, /* number of bits of an integer with MAX_DIGITS digits */
    NO_NODE = -1
};

/* The error for an expression of Python that is not arithmetic. */
#define UNSUPPORTED "unsupported expression"

typedef enum { N_VALUE, N_BINARY, N_NEGATE, N_REFUSED } arith_kind;

typedef struct arith_node {
    arith_kind kind;
    char op;         /* BINARY: + - * / p (power) ^ */
    int left, right; /* used by BINARY; NEGATE uses only left */
    pdl_val value;   /* used by VALUE: a number; owned */
    const char *why; /* used by REFUSED */
} arith_node;

/* The text and its nodes. The caller sets s and floats, and frees the nodes and their values. */
typedef struct arith_reader {
    pdl_scan s;
    PDL_VEC(arith_node) nodes;
    bool floats;
    int depth; /* depth of the recursion */
    int open;  /* the number of open brackets; inside of brackets line breaks are spaces */
} arith_reader;

/* Reads the whole text into nodes. Returns the index of the root, or NO_NODE when the text is no
 * expression. */
int pdl_arithmetic_read(arith_reader *r);

#endif
