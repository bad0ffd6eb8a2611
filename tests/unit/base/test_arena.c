/* test_arena.c -- regions: alignment, zeroing, marks, deferred releases.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include <stdalign.h>

#include "base/arena.h"

#include "base/banned.h"

static void hands_out_zeroed_aligned(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    for (size_t n = 0; n < 3000; n++) {
        unsigned char *p = pdl_arena_get(a, n);
        t_assert((uintptr_t)p % alignof(double) == 0);
        for (size_t i = 0; i < n; i++) t_assert(p[i] == 0);
        memset(p, 0xff, n);
    }
    pdl_str s = pdl_arena_str(a, PDL_STR("text"));
    t_assert_str(s, "text");
    t_assert(s.p[s.n] == 0);
    t_assert(pdl_arena_get(a, 5 << 20) != NULL);
    t_assert(pdl_arena_size(a) > (5 << 20));
    pdl_arena_free(a);
    pdl_arena_free(NULL);
}

static void marks(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    pdl_mark empty = pdl_arena_mark(a);
    char *kept = pdl_arena_get(a, 16);
    memcpy(kept, "kept", 5);
    pdl_mark m = pdl_arena_mark(a);
    char *first = pdl_arena_get(a, 16);
    memset(first, 1, 16);
    pdl_arena_get(a, 1 << 16);
    pdl_arena_reset(a, m);
    char *again = pdl_arena_get(a, 16);
    t_assert(again == first && again[0] == 0);
    t_assert_str(t_str(kept), "kept");
    pdl_arena_reset(a, empty);
    t_assert(pdl_arena_get(a, 8) != NULL);
    pdl_arena_free(a);
}

/* What is expected fits in one chunk; more of it, or nothing expected, is no difference. */
static void expected(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 100000, 1 << 20, (1 << 20) + 1, 9 << 20};
    for (size_t i = 0; i < T_LEN(sizes); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        pdl_arena_expect(a, sizes[i]);
        bool whole = sizes[i] > 4096 && sizes[i] <= 1 << 20;
        char *first = pdl_arena_get(a, 8), *last = first;
        for (size_t n = 16; n <= sizes[i]; n += 8) {
            char *p = pdl_arena_get(a, 8);
            t_assert(!whole || p == last + 8);
            *(last = p) = 1;
        }
        pdl_arena_expect(a, sizes[i]);
        t_assert(*first == 0 && pdl_arena_get(a, 8) != NULL);
        pdl_arena_free(a);
    }
}

static void count(void *p) { ++*(int *)p; }

static void deferred(void **state) {
    (void)state;
    int n = 0;
    pdl_arena *a = pdl_arena_make();
    pdl_arena_defer(a, count, &n);
    pdl_arena_defer(a, count, &n);
    t_assert(n == 0);
    pdl_arena_free(a);
    t_assert(n == 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hands_out_zeroed_aligned),
                                       cmocka_unit_test(marks), cmocka_unit_test(expected),
                                       cmocka_unit_test(deferred)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
