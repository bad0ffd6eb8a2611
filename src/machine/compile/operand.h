/* operand.h -- the kinds of operands of instructions as parameters of C functions.
 *
 * A row of ops.def names the kind of each of its two operands. Two functions are made from each
 * row: the compiler's, which emits the instruction (compile/emit.h), and the machine's, which
 * executes it (vm/ops.h). Both functions take an operand as the same type, except for a constant:
 * it is a number to the compiler and a value to the machine. So a user of these macros defines
 * PARAM_CONST_TYPE. Each macro begins with a comma, since other parameters precede it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_COMPILE_OPERAND_H
#define PDL_COMPILE_OPERAND_H

/* no operand */
#define PARAM_NONE
/* one bit, with a name that says what it means when it is set */
#define PARAM_FLAG(what) , bool what
/* an enumeration, which fits into a byte */
#define PARAM_ENUM(type) , type how
/* an interned name of a variable */
#define PARAM_NAME , pdl_name c
/* a constant of the code */
#define PARAM_CONST , PARAM_CONST_TYPE c
/* TARGET: an instruction of the same routine; ENTRY: the start of another routine */
#define PARAM_TARGET , uint32_t c
#define PARAM_ENTRY  , uint32_t c
/* COUNT: a number of values; SLOT: the number of a local variable */
#define PARAM_COUNT , size_t c
#define PARAM_SLOT  , uint32_t c
/* a part of the program or of the code, which outlives the instruction */
#define PARAM_PTR(type)         , const type *c
#define PARAM_PTR_OR_NULL(type) , const type *c

#endif
