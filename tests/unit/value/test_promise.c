/* test_promise.c -- filling, what blocks, resolving, joins of joins.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/limits.h"
#include "value/context.h"
#include "value/promise.h"
#include "value/text.h"

static void expect(pdl_vref v, const char *want) { /* ready, and resolved it prints as want */
    pdl_err err = {0};
    pdl_val now;
    pdl_buf b = PDL_BUF;
    assert_true(pdl_is_absent(pdl_promise_blocking(v)));
    assert_true(pdl_promise_resolve(v, &now, &err));
    assert_true(pdl_stringify(now, &b, &err));
    t_assert_str(pdl_buf_str(&b), want);
    pdl_buf_fini(&b);
    pdl_drop(now);
}

static void fill(pdl_vref p, pdl_val v) { pdl_promise_fill(pdl_promise_of(p), v); }

static bool blocks(pdl_vref v, pdl_vref p) {
    pdl_vref x = pdl_promise_blocking(v);
    return pdl_is(x, PDL_V_PROMISE) && pdl_obj_of(x) == pdl_obj_of(p);
}

static void test_containers(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    pdl_val p = pdl_with_label(pdl_promise_new(1), 4), q = pdl_promise_new(2);
    pdl_val d = pdl_dict_putz(pdl_dict_new(1), "k", pdl_keep(p));
    pdl_val v = pdl_list_push(pdl_list_push(pdl_list_new(2), d),
                              pdl_tuple_new((pdl_val[]){pdl_keep(q), pdl_int(1)}, 2));
    assert_true(pdl_may_hold_promise(v));
    assert_true(blocks(v, p));
    fill(p, pdl_with_label(pdl_list_push(pdl_list_new(1), pdl_keep(q)), 8));
    assert_true(blocks(v, q));
    fill(q, pdl_textz("x"));
    expect(v, "[{\"k\": [\"x\"]}, [\"x\", 1]]");
    pdl_val now;
    pdl_err err = {0};
    assert_true(pdl_promise_resolve(v, &now, &err));
    assert_false(pdl_may_hold_promise(now));
    assert_int_equal(pdl_label_of(now) & 12, 12);
    pdl_drop(now);
    pdl_drop(v);
    pdl_drop(p);
    pdl_drop(q);
    assert_int_equal(pdl_live_objects(), live);
}

static void test_context(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    pdl_val p = pdl_promise_new(1), q = pdl_promise_new(2);
    pdl_val c = pdl_context_one(pdl_textz("user"), pdl_keep(p),
                                pdl_dict_putz(pdl_dict_new(1), "name", pdl_keep(q)), NULL);
    c = pdl_context_dep(c, pdl_context_one(pdl_textz("user"), pdl_textz("b"), pdl_absent(), NULL));
    assert_true(blocks(c, p));
    fill(p, pdl_textz("a"));
    assert_true(blocks(c, q));
    fill(q, pdl_textz("n"));
    expect(c, "[{'role': 'user', 'content': 'a', 'name': 'n'},{'role': 'user', 'content': 'b'}]");
    pdl_drop(c);
    pdl_drop(p);
    pdl_drop(q);
    assert_int_equal(pdl_live_objects(), live);
}

static void test_failed(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    pdl_err err = {0};
    pdl_err_set(&err, PDL_E_timeout, (pdl_loc){0}, "too late");
    pdl_val p = pdl_promise_new(1),
            v = pdl_promise_join(pdl_list_push(pdl_list_new(1), pdl_keep(p)));
    pdl_promise_fail(pdl_promise_of(p), &err);
    assert_true(blocks(v, p));
    assert_string_equal(pdl_promise_of(p)->err.msg, "too late");
    pdl_err_fini(&err);
    pdl_drop(v);
    pdl_drop(p);
    assert_int_equal(pdl_live_objects(), live);
}

static pdl_val join2(pdl_val a, pdl_val b) {
    return pdl_promise_join(pdl_list_push(pdl_list_push(pdl_list_new(2), a), b));
}

static void test_join(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    pdl_val p = pdl_promise_new(1);
    pdl_val j = join2(join2(pdl_textz("<"), pdl_keep(p)),
                      pdl_list_push(pdl_list_new(1), join2(pdl_textz("a"), pdl_null())));
    assert_true(blocks(j, p));
    fill(p, pdl_with_label(pdl_bool(true), 16));
    expect(j, "<true[\"anull\"]");
    assert_int_equal(pdl_promise_of(j)->state, PDL_PROMISE_FILLED);
    assert_true(pdl_label_of(pdl_promise_of(j)->value) & 16);
    expect(j, "<true[\"anull\"]");
    pdl_drop(j);
    pdl_drop(p);
    assert_int_equal(pdl_live_objects(), live);
}

static void test_deep_joins(void **state) {
    (void)state;
    enum { N = 200000 };
    size_t live = pdl_live_objects();
    pdl_val p = pdl_promise_new(1), j = join2(pdl_keep(p), pdl_textz(""));
    for (int i = 0; i < N; i++) j = join2(j, pdl_textz("x"));
    assert_true(blocks(j, p));
    fill(p, pdl_textz("y"));
    assert_true(pdl_is_absent(pdl_promise_blocking(j)));
    pdl_err err = {0};
    pdl_val text;
    assert_true(pdl_promise_resolve(j, &text, &err));
    assert_int_equal(pdl_str_get(text).n, N + 1);
    pdl_drop(text);
    pdl_drop(j);
    pdl_drop(p);
    assert_int_equal(pdl_live_objects(), live);
}

/* Joins inside lists inside joins: depth counts, the error is clean. */
static void test_deep_containers(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    pdl_val p = pdl_promise_new(1), v = pdl_keep(p), now;
    for (int i = 0; i < 20000; i++)
        v = pdl_promise_join(pdl_list_push(pdl_list_new(1), pdl_list_push(pdl_list_new(1), v)));
    assert_true(blocks(v, p));
    fill(p, pdl_textz("y"));
    pdl_err err = {0};
    assert_false(pdl_promise_resolve(v, &now, &err));
    assert_int_equal(err.kind, PDL_E_limit);
    pdl_err_fini(&err);
    pdl_drop(v);
    pdl_drop(p);
    assert_int_equal(pdl_live_objects(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_containers), cmocka_unit_test(test_context),
        cmocka_unit_test(test_failed),     cmocka_unit_test(test_join),
        cmocka_unit_test(test_deep_joins), cmocka_unit_test(test_deep_containers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
