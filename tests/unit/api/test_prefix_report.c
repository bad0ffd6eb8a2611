/* test_prefix_report.c -- two beginnings of calls with the same key in the table, which is rare.
 * This test compiles the source file once more, so that it can fill the table wrongly.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "api/report/prefix_report.c"

static prefix_call call_of(const char *const *units, size_t n) {
    prefix_call c = {.model = pdl_textz("m"), .parameters = pdl_null(), .provider = pdl_textz("")};
    for (size_t i = 0; i < n; i++) {
        pdl_val v = pdl_textz(units[i]);
        add_unit(&c, v, v, true);
        pdl_drop(v);
    }
    return c;
}

static void take(pdl_prefix *p, prefix_call c) {
    c.with = find_earlier(p, &c);
    *pdl_vec_push(&p->calls) = c;
    note_ends(p, p->calls.n - 1);
}

static void one_key(void **state) {
    (void)state;
    static const char *const a[] = {"x"}, *const b[] = {"s", "t"}, *const c[] = {"s", "t", "u"};
    pdl_prefix *p = pdl_prefix_new(false);
    take(p, call_of(b, 2));
    take(p, call_of(a, 1));
    prefix_call last = call_of(c, 3);
    assert_int_equal(find_earlier(p, &last), 1);
    /* the shorter call has the keys of both beginnings of the last one */
    for (size_t i = 0; i < 2; i++)
        pdl_idmap_put(&p->ends, key_of(last.units.p[i].chain), (void *)(uintptr_t)2);
    assert_int_equal(most_alike(p, &last, 2, 2), 0);
    assert_int_equal(most_alike(p, &last, 1, 2), 0);
    take(p, last);
    assert_int_equal(p->calls.p[2].with, 1); /* by its model */
    pdl_prefix_free(p);
}

/* Chains that differ in their upper half alone have other chains after them. */
static void whole_chain(void **state) {
    (void)state;
    prefix_call c = {.model = pdl_textz("m"), .parameters = pdl_null(), .provider = pdl_textz("")};
    pdl_val v = pdl_textz("unit");
    add_unit(&c, v, v, true);
    add_unit(&c, v, v, true);
    uint64_t after = c.units.p[1].chain;
    c.units.p[0].chain ^= UINT64_C(1) << 63;
    c.units.n = 1;
    pdl_drop(c.units.p[1].json);
    pdl_drop(c.units.p[1].content);
    add_unit(&c, v, v, true);
    t_assert(c.units.p[1].chain != after);
    pdl_drop(v);
    call_fini(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_key), cmocka_unit_test(whole_chain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
