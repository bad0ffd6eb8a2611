/* test_memo.c -- the stored results of a walk over a value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"
#include "value/memo.h"

#include "base/banned.h"

static void keeps_nothing_of_few(void **state) {
    (void)state;
    pdl_memo m = {0};
    pdl_val l = pdl_list_new(0);
    pdl_vref to;
    for (int i = 1; i < PDL_MEMO_FROM; i++) {
        t_assert(!pdl_memo_find(&m, l, 0, &to));
        pdl_memo_put(&m, l, 0, pdl_null());
    }
    assert_int_equal(m.done.n, 0);
    t_assert(!pdl_memo_find(&m, l, 0, &to));
    pdl_memo_put(&m, l, 0, pdl_int(7));
    t_assert(pdl_memo_find(&m, l, 0, &to) && pdl_int_of(to) == 7);
    pdl_memo_fini(&m);
    pdl_drop(l);
}

/* Ways and labels of one object are kept apart; absent is a result. */
static void tells_handles_apart(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    pdl_memo m = {.visits = PDL_MEMO_FROM};
    pdl_val l = pdl_list_new(0);
    pdl_vref to;
    pdl_memo_put(&m, l, 0, pdl_absent());
    t_assert(pdl_memo_find(&m, l, 0, &to) && pdl_is_absent(to));
    t_assert(!pdl_memo_find(&m, l, 1, &to));
    pdl_memo_put(&m, l, 1, pdl_int(1));
    t_assert(pdl_memo_find(&m, l, 1, &to) && pdl_int_of(to) == 1);
    pdl_val labelled = pdl_with_label(pdl_keep(l), 1);
    t_assert(!pdl_memo_find(&m, labelled, 0, &to));
    pdl_val text = pdl_textz("a text that the memo keeps");
    pdl_memo_put(&m, labelled, 0, text);
    pdl_drop(text);
    t_assert(pdl_memo_find(&m, labelled, 0, &to) && pdl_is_str(to));
    pdl_drop(labelled);
    pdl_drop(l); /* its address stays a key: the memo keeps it */
    pdl_memo_fini(&m);
    assert_int_equal(pdl_live_objects(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_nothing_of_few),
        cmocka_unit_test(tells_handles_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
