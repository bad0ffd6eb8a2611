/* test_sort.c -- sorting that can be cancelled.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <signal.h>

#include "base/sort.h"
#include "t.h"

#include "base/banned.h"

typedef struct item {
    uint32_t key, at;
} item;

static int by_key(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* n items with many equal keys, in no order. */
static item *items(size_t n) {
    item *p = PDL_NEW_N(item, n + 1);
    uint32_t x = 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        p[i] = (item){(x >> 8) % 1000, (uint32_t)i};
    }
    return p;
}

static void sorts_any_number(void **state) {
    (void)state;
    static const size_t sizes[] = {
        0, 1, 2, 3, PDL_CANCEL_EVERY - 1, PDL_CANCEL_EVERY, 4097, 8192, 12289, 50000, 100001};
    for (size_t k = 0; k < T_LEN(sizes); k++) {
        T_ROW(k);
        size_t n = sizes[k];
        item *p = items(n);
        pdl_err err = {0};
        t_assert(pdl_sort(p, n, sizeof *p, by_key, &err));
        for (size_t i = 1; i < n; i++) t_assert(by_key(&p[i - 1], &p[i]) < 0);
        pdl_free(p);
    }
}

static sig_atomic_t volatile flag;
static size_t n_compared;

static int by_key_until_signal(const void *a, const void *b) {
    if (++n_compared == 300000) flag = SIGINT;
    return by_key(a, b);
}

/* In the middle of a merge: each item is still there once. */
static void ends_with_a_signal(void **state) {
    (void)state;
    enum { N = 60000 };
    const pdl_cancel scope = {.flag = &flag};
    const pdl_cancel *before = pdl_cancel_enter(&scope);
    item *p = items(N);
    pdl_err err = {0};
    t_assert(!pdl_sort(p, N, sizeof *p, by_key_until_signal, &err));
    t_assert(err.kind == PDL_E_interrupt && n_compared < 500000);
    bool *seen = PDL_NEW_N(bool, N);
    for (size_t i = 0; i < N; i++) {
        t_assert(!seen[p[i].at]);
        seen[p[i].at] = true;
    }
    (void)pdl_cancel_enter(before);
    pdl_free(seen);
    pdl_free(p);
    pdl_err_fini(&err);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_any_number),
        cmocka_unit_test(ends_with_a_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
