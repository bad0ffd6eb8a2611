/* test_dict.c -- dicts: order, keys of any kind, sharing, growth and deletion.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "value/int.h"
#include "value/pyvalues.h"
#include "value/shape.h"
#include "value/val.h"

#include "base/banned.h"

static void order_and_sharing(void **state) {
    (void)state;
    size_t start = pdl_live_objects();
    pdl_val a = pdl_dict_putz(pdl_dict_putz(pdl_dict_new(0), "x", pdl_int(1)), "y", pdl_int(2));
    pdl_val b = pdl_dict_putz(pdl_keep(a), "x", pdl_int(3));
    t_assert(pdl_int_of(pdl_dict_getz(a, "x")) == 1 && pdl_int_of(pdl_dict_getz(b, "x")) == 3);
    t_assert(pdl_text_is(pdl_dict_key_at(b, 0), "x") && pdl_dict_len(b) == 2);
    pdl_val key = pdl_textz("x");
    b = pdl_dict_del(b, key);
    b = pdl_dict_del(b, key);
    t_assert(pdl_is_absent(pdl_dict_find(b, key)) && pdl_dict_len(b) == 1);
    b = pdl_dict_putz(b, "z", pdl_int(4));
    b = pdl_dict_merge(b, a);
    t_assert(pdl_dict_len(b) == 3 && pdl_text_is(pdl_dict_key_at(b, 2), "x"));
    pdl_drop(key), pdl_drop(a), pdl_drop(b);
    t_assert(pdl_live_objects() == start);
}

static void equal_keys(void **state) {
    (void)state;
    pdl_val big;
    t_assert(pdl_int_read_decimal(t_str("1267650600228229401496703205376"), &big));
    pdl_val one = pdl_int(1), two = pdl_int(2);
    pdl_val pair[2] = {one, two}, pairf[2] = {pdl_float(1), pdl_float(2)};
    struct {
        pdl_val a, b;
        bool same;
    } rows[] = {
        {pdl_int(1), pdl_float(1.0), true},
        {pdl_int(1), pdl_bool(true), true},
        {pdl_int(0), pdl_float(-0.0), true},
        {big, pdl_float(0x1p100), true},
        {pdl_int(1), pdl_textz("1"), false},
        {pdl_null(), pdl_bool(false), false},
        {pdl_tuple_new(pair, 2), pdl_tuple_new(pairf, 2), true},
        {pdl_bytes(PDL_STR("a")), pdl_textz("a"), false},
        {pdl_float(1.5), pdl_float(1.5), true},
        {pdl_int(INT64_MIN), pdl_float(-0x1p63), true},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val d = pdl_dict_put(pdl_dict_new(0), pdl_keep(rows[i].a), pdl_int(7));
        t_assert(!pdl_is_absent(pdl_dict_find(d, rows[i].b)) == rows[i].same);
        t_assert(pdl_val_eq(rows[i].a, rows[i].b) == rows[i].same);
        pdl_drop(d), pdl_drop(rows[i].a), pdl_drop(rows[i].b);
    }
}

static void unhashable_keys_are_absent(void **state) {
    (void)state;
    pdl_val l = pdl_list_new(0), d = pdl_dict_putz(pdl_dict_new(0), "a", pdl_null());
    t_assert(!pdl_is_hashable(l) && pdl_is_absent(pdl_dict_find(d, l)));
    pdl_val t = pdl_tuple_new(&l, 1);
    t_assert(!pdl_is_hashable(t));
    pdl_drop(t), pdl_drop(d);
}

/* Every size around the index, with deletions between. */
static void growth_and_deletion(void **state) {
    (void)state;
    size_t start = pdl_live_objects();
    pdl_val d = pdl_dict_new(0);
    for (int i = 0; i < 3000; i++) d = pdl_dict_put(d, pdl_textf("key%d", i), pdl_int(i));
    for (int i = 0; i < 3000; i += 2) {
        pdl_val k = pdl_textf("key%d", i);
        d = pdl_dict_del(d, k);
        pdl_drop(k);
    }
    t_assert(pdl_dict_len(d) == 1500);
    for (int i = 0; i < 3000; i++) {
        T_ROW((size_t)i);
        pdl_val k = pdl_textf("key%d", i);
        pdl_vref v = pdl_dict_find(d, k);
        t_assert(i % 2 ? pdl_int_of(v) == i : pdl_is_absent(v));
        pdl_drop(k);
    }
    pdl_val copy = pdl_dict_putz(pdl_keep(d), "more", pdl_null());
    t_assert(pdl_dict_len(copy) == 1501 && pdl_int_of(pdl_dict_getz(copy, "key2999")) == 2999);
    pdl_drop(copy), pdl_drop(d);
    t_assert(pdl_live_objects() == start);
}

static pdl_val pairs_of(pdl_val first, pdl_val second, pdl_shape **shape) {
    pdl_val pairs[] = {pdl_keep(first), pdl_int(1), pdl_keep(second),
                       pdl_with_label(pdl_textz("v"), 2)};
    return pdl_dict_of_pairs(pairs, 2, shape);
}

/* Dicts of the same literal have one shape; other keys, equal keys and keys with a label do not
 * take it over, and changing one of the dicts leaves the others alone. */
static void keys_of_literals(void **state) {
    (void)state;
    size_t start = pdl_live_objects();
    pdl_val x = pdl_textz("x"), y = pdl_textz("y"), twin = pdl_textz("x");
    pdl_val named = pdl_with_label(pdl_textz("y"), 4);
    pdl_shape *shape = NULL;
    pdl_val a = pairs_of(x, y, &shape), b = pairs_of(x, y, &shape);
    t_assert(shape && shape->refs == 3 && shape->n == 2);
    t_assert(pdl_val_eq(a, b) && pdl_label_of(a) == pdl_label_of(b));
    t_assert(pdl_label_of(pdl_dict_getz(b, "y")) == 2);
    b = pdl_dict_putz(b, "z", pdl_int(3));
    t_assert(pdl_dict_len(a) == 2 && pdl_dict_len(b) == 3 && shape->refs == 2);
    pdl_val one = pairs_of(x, twin, &shape);
    t_assert(pdl_dict_len(one) == 1 && pdl_text_is(pdl_dict_getz(one, "x"), "v"));
    pdl_val again = pairs_of(x, twin, &shape);
    t_assert(pdl_val_eq(one, again));
    pdl_val labelled = pairs_of(x, named, &shape), same = pairs_of(x, named, &shape);
    t_assert(pdl_val_eq(labelled, same) && pdl_label_of(labelled) == pdl_label_of(same));
    pdl_val empty = pdl_dict_of_pairs(NULL, 0, &shape);
    t_assert(pdl_dict_len(empty) == 0 && !shape);
    pdl_drop(a), pdl_drop(b), pdl_drop(one), pdl_drop(again), pdl_drop(labelled), pdl_drop(same);
    pdl_drop(empty), pdl_drop(x), pdl_drop(y), pdl_drop(twin), pdl_drop(named);
    t_assert(pdl_live_objects() == start);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_sharing), cmocka_unit_test(equal_keys),
        cmocka_unit_test(unhashable_keys_are_absent), cmocka_unit_test(growth_and_deletion),
        cmocka_unit_test(keys_of_literals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
