/* test_list.c -- lists and tuples: in place for a sole owner, copies otherwise; flags and labels of
 * items.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "value/label.h"
#include "value/pyvalues.h"
#include "value/val.h"

#include "base/banned.h"

static pdl_val ints(int n) {
    pdl_val l = pdl_list_new(0);
    for (int i = 0; i < n; i++) l = pdl_list_push(l, pdl_int(i));
    return l;
}

static bool holds(pdl_vref l, const char *digits) {
    if (pdl_list_len(l) != strlen(digits)) return false;
    for (size_t i = 0; i < pdl_list_len(l); i++)
        if (pdl_int_of(pdl_list_at(l, i)) != digits[i] - '0') return false;
    return true;
}

static void shared_lists_do_not_change(void **state) {
    (void)state;
    size_t start = pdl_live_objects();
    pdl_val a = ints(4), b = pdl_list_push(pdl_keep(a), pdl_int(9));
    t_assert(holds(a, "0123") && holds(b, "01239"));
    pdl_val c = pdl_list_set(pdl_keep(b), 0, pdl_int(7));
    t_assert(holds(b, "01239") && holds(c, "71239"));
    c = pdl_list_insert(c, 1, pdl_int(5));
    t_assert(holds(c, "751239"));
    c = pdl_list_remove(c, 2);
    t_assert(holds(c, "75239"));
    pdl_val d = pdl_list_remove(pdl_keep(c), 4);
    t_assert(holds(c, "75239") && holds(d, "7523"));
    d = pdl_list_concat(d, a);
    t_assert(holds(d, "75230123"));
    d = pdl_list_concat(d, d);
    t_assert(holds(d, "7523012375230123"));
    pdl_val t = pdl_list_as_tuple(pdl_keep(a));
    t_assert(pdl_is_list(a) && pdl_is(t, PDL_V_TUPLE) && holds(t, "0123"));
    pdl_drop(a), pdl_drop(b), pdl_drop(c), pdl_drop(d), pdl_drop(t);
    t_assert(pdl_live_objects() == start);
}

static void items_mark_the_list(void **state) {
    (void)state;
    pdl_val l = pdl_list_push(pdl_list_new(1), pdl_with_label(pdl_int(1), 2));
    l = pdl_list_push(l, pdl_with_flags(pdl_with_label(pdl_textz("x"), 8), PDL_F_SAFE));
    pdl_label both = 10 | PDL_LABEL_SEVERAL;
    t_assert(pdl_label_of(l) == both && pdl_flags_of(l) == PDL_F_PARTS);
    pdl_val up = pdl_dict_putz(pdl_dict_new(1), "k", l);
    t_assert(pdl_label_of(up) == both);
    t_assert(pdl_label_of(pdl_list_at(pdl_dict_getz(up, "k"), 0)) == 2);
    pdl_drop(up);
}

static void pushing_is_linear(void **state) {
    (void)state;
    pdl_val l = ints(300000);
    t_assert(pdl_list_len(l) == 300000 && pdl_int_of(pdl_list_at(l, 299999)) == 299999);
    pdl_drop(l);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shared_lists_do_not_change),
                                       cmocka_unit_test(items_mark_the_list),
                                       cmocka_unit_test(pushing_is_linear)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
