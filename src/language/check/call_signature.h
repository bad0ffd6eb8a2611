/* call_signature.h -- checks the arguments of filters, tests, methods and global functions, and
 * finds the type of the result. Private to check.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_CALL_SIGNATURE_H
#define PDL_CHECK_CALL_SIGNATURE_H

#include "check/ty.h"
#include "native/native.h"

/* The arguments of a call. When open is set, there are also unknown arguments, from `*x` or `**x`.
 * A receiver or piped value is the first argument. */
typedef struct pdl_sig_args {
    const pdl_ty *const *pos;
    size_t n_pos;
    const pdl_str *kw_names;
    const pdl_ty *const *kw;
    size_t n_kw;
    bool open;
} pdl_sig_args;

/* Returns the type of the result. When the call must fail, problem gets the reason. *at is then the
 * index of the argument (keywords after the others), or -1. */
const pdl_ty *pdl_sig_call(pdl_arena *a, const pdl_native *row, const pdl_sig_args *args,
                           pdl_buf *problem, int *at);

#endif
