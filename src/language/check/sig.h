/* sig.h -- calls of filters, tests, methods and global functions: are the arguments right, and what
 * is the result? Private to check.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_SIG_H
#define PDL_CHECK_SIG_H

#include "check/ty.h"
#include "native/native.h"

/* Arguments of a call; those of `*x` and `**x` are not known (open). The first is the receiver or
 * the piped value, where there is one. */
typedef struct pdl_sig_args {
    const pdl_ty *const *pos;
    size_t n_pos;
    const pdl_str *kw_names;
    const pdl_ty *const *kw;
    size_t n_kw;
    bool open;
} pdl_sig_args;

/* Returns the type of the result. When the call must fail, problem says why and *at is the index of
 * the argument (keywords after the others), or -1. */
const pdl_ty *pdl_sig_call(pdl_arena *a, const pdl_native *row, const pdl_sig_args *args,
                           pdl_buf *problem, int *at);

#endif
