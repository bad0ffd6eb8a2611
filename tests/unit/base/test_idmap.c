/* test_idmap.c -- compares the map from ids to pointers with a plain table, under a fixed sequence
 * of changes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/idmap.h"

#include "t.h"

#include "base/banned.h"

enum { IDS = 300, STEPS = 200000 };

static void does_what_a_table_does(void **state) {
    (void)state;
    static char things[IDS + 1];
    void *want[IDS + 1] = {0};
    pdl_idmap m = {0};
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < STEPS; i++) {
        T_ROW(i);
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        size_t k = x % IDS + 1;
        uintptr_t id = k % 2 ? k : k << 40; /* near each other, and alike in their low bits */
        if (x >> 60 < 7) {
            pdl_idmap_put(&m, id, &things[k]);
            want[k] = &things[k];
        } else if (x >> 60 < 12) {
            pdl_idmap_del(&m, id);
            want[k] = NULL;
        }
        t_assert(pdl_idmap_find(&m, id) == want[k]);
    }
    size_t n = 0, seen = 0;
    for (size_t k = 1; k <= IDS; k++) n += want[k] != NULL;
    for (size_t i = 0; i < pdl_idmap_places(&m); i++) seen += pdl_idmap_at(&m, i) != NULL;
    assert_int_equal(n, m.n);
    assert_int_equal(n, seen);
    assert_null(pdl_idmap_find(&m, 0));
    pdl_idmap_fini(&m);
    assert_null(pdl_idmap_find(&m, 1));
    pdl_idmap_fini(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(does_what_a_table_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
