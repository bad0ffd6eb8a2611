/* vec.h -- typed growable array by macro.
 *
 *   PDL_VEC(int) v = {0};  *pdl_vec_push(&v) = 7;  v.p[0];  v.n;  pdl_vec_fini(&v);
 *
 * All-zero is the empty array; items are in p[0..n). Growing may move them, so that pointers to
 * items do not outlive a push: keep an index instead. Out of memory is handled in base/alloc.c, so
 * pushing cannot fail.
 *
 * This is the only place in which arrays grow. Growth is by half, which costs a constant number of
 * copies per item and lets an allocator use freed memory again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_VEC_H
#define PDL_BASE_VEC_H

#include "base/alloc.h"

#define PDL_VEC(T)                                                                                 \
    struct {                                                                                       \
        T *p;                                                                                      \
        size_t n, cap;                                                                             \
    }

/* Room for at least `need` items of size bytes; returns the new block. */
static inline void *pdl_vec_grow(void *p, size_t *cap, size_t need, size_t size) {
    size_t c = *cap ? *cap : 8;
    while (c < need) c += c / 2;
    *cap = c;
    return pdl_realloc_n(p, c, size);
}

/* Makes room for `need` items in all. */
#define pdl_vec_reserve(v, need)                                                                   \
    ((need) > (v)->cap ? (void)((v)->p = pdl_vec_grow((v)->p, &(v)->cap, (need), sizeof *(v)->p))  \
                       : (void)0)
/* Address of one more item at the end; its content is undefined until the caller sets it. */
#define pdl_vec_push(v) (pdl_vec_reserve(v, (v)->n + 1), &(v)->p[(v)->n++])
/* Releases the array (not what items point to) and leaves it empty. */
#define pdl_vec_fini(v) (pdl_free((v)->p), (v)->p = NULL, (v)->n = (v)->cap = 0)

#endif
