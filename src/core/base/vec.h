/* vec.h -- typed growable array by macro.
 *
 *   PDL_VEC(int) v = {0};  *pdl_vec_push(&v) = 7;  v.p[0];  v.n;  pdl_vec_fini(&v);
 *
 * All-zero is the empty array; items are in p[0..n). Growing may move them, so that pointers to
 * items do not outlive a push: keep an index instead. Out of memory is handled in
 * base/memory/alloc.c, so pushing cannot fail.
 *
 * Nearly all arrays of the library grow here. Growth is by half, which costs a constant number of
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

/* The members of any of these arrays, without the type of the items. The macros below call
 * functions, so that their argument is evaluated once and `pdl_vec_push(&p[i++])` does what it
 * says. */
typedef struct __attribute__((may_alias)) {
    void *p;
    size_t n, cap;
} pdl_vec_any;

static inline void pdl_vec_grow(pdl_vec_any *v, size_t size) {
    v->cap = v->cap ? v->cap + v->cap / 2 : 8;
    v->p = pdl_realloc_n(v->p, v->cap, size);
}

/* Returns the address of one more item of `size` bytes. */
static inline void *pdl_vec_more(void *vec, size_t size) {
    pdl_vec_any *v = vec;
    if (v->n == v->cap) pdl_vec_grow(v, size);
    return (char *)v->p + v->n++ * size;
}

/* Makes room for n items in all. A caller that expects about n items calls this first. */
static inline void pdl_vec_expect_any(void *vec, size_t n, size_t size) {
    pdl_vec_any *v = vec;
    if (v->cap >= n) return;
    v->cap = n;
    v->p = pdl_realloc_n(v->p, n, size);
}

static inline void pdl_vec_release(void *vec) {
    pdl_vec_any *v = vec;
    pdl_free(v->p);
    *v = (pdl_vec_any){0};
}

/* The address of one more item at the end, whose content is undefined until the caller sets it. The
 * expression that is assigned to the item must not push to the same array, because a push could
 * move the item. */
#define pdl_vec_push(v)      ((__typeof__((v)->p))pdl_vec_more((v), sizeof *(v)->p))
#define pdl_vec_expect(v, n) pdl_vec_expect_any((v), (n), sizeof *(v)->p)
/* Releases the array, but not the memory to which its items point. The array is then empty. */
#define pdl_vec_fini(v) ((void)sizeof((v)->p), pdl_vec_release(v))

#endif
