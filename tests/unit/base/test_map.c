/* test_map.c -- text to pointers: replacing, order, growth.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/arena.h"
#include "base/map.h"

#include "base/banned.h"

static void keeps_order_and_replaces(void **state) {
    (void)state;
    static int one, two, three;
    pdl_map m = {0};
    t_assert(pdl_map_find(&m, PDL_STR("a")) == NULL);
    t_assert(pdl_map_put(&m, PDL_STR("b"), &one) == NULL);
    t_assert(pdl_map_put(&m, PDL_STR(""), &two) == NULL);
    t_assert(pdl_map_put(&m, PDL_STR("b"), &three) == &one);
    t_assert(m.n == 2 && m.entries[0].value == &three && m.entries[1].value == &two);
    t_assert(pdl_map_find(&m, PDL_STR("")) == &two);
    pdl_map_fini(&m);
    pdl_map_fini(&m);
}

static void grows(void **state) {
    (void)state;
    enum { N = 20000 };
    pdl_arena *a = pdl_arena_make();
    pdl_map m = {0};
    for (size_t i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%zu", i);
        pdl_str key = pdl_arena_str(a, t_str(name));
        pdl_map_put(&m, key, (char *)(uintptr_t)key.p);
    }
    t_assert(m.n == N);
    for (size_t i = 0; i < N; i++)
        t_assert(pdl_map_find(&m, m.entries[i].key) == m.entries[i].value);
    t_assert(pdl_map_find(&m, PDL_STR("k20000")) == NULL);
    pdl_map_fini(&m);
    pdl_arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_order_and_replaces),
                                       cmocka_unit_test(grows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
