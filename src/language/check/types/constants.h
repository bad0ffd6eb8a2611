/* constants.h -- computes operators and calls whose operands are known, with the code that a run
 * uses. Private to check. Some failures cannot be expressed by the tables of types (`"%d" % "a"`,
 * `[1, "a"] | sort`, `range(1, 5, 0)`). So the check computes such an operation, which then fails
 * with the words that a run would print. The result of an operation that succeeds is known to the
 * rest of the check. Large operands are not computed, so that a check of a hostile program stays
 * short.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_CONSTANTS_H
#define PDL_CHECK_CONSTANTS_H

#include "check/call_signature.h"
#include "expr/expr.h"

/* The next functions return the type of the result with its value. They return NULL when the result
 * is unknown, or when the operation fails and err is set. */
const pdl_ty *pdl_fold_unary(pdl_arena *a, pdl_xop op, const pdl_ty *x, pdl_err *err);
const pdl_ty *pdl_fold_binary(pdl_arena *a, pdl_xop op, const pdl_ty *x, const pdl_ty *y,
                              bool lenient, pdl_err *err);
const pdl_ty *pdl_fold_compare(pdl_arena *a, pdl_xop op, const pdl_ty *x, const pdl_ty *y);
const pdl_ty *pdl_fold_call(pdl_arena *a, const pdl_native *row, const pdl_sig_args *args,
                            bool lenient, pdl_err *err);
/* Returns NULL when the item is unknown or absent; *missing is then the undefined value, owned, or
 * absent. */
const pdl_ty *pdl_fold_item(pdl_arena *a, const pdl_ty *x, pdl_vref key, pdl_val *missing);

/* The next functions return the types of literals in expressions. They return NULL when a part is
 * unknown. */
const pdl_ty *pdl_fold_sequence(pdl_arena *a, const pdl_ty *const *items, size_t n, bool tuple);
const pdl_ty *pdl_fold_object(pdl_arena *a, const pdl_ty *const *keys, const pdl_ty *const *values,
                              size_t n);

#endif
