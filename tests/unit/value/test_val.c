/* test_val.c -- counting, release of deep structures, class names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/buf.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/pyvalues.h"
#include "value/scope.h"
#include "value/val.h"

#include "base/banned.h"

static size_t start;

static int note_live(void **state) {
    (void)state;
    start = pdl_live_objects();
    return 0;
}

static int check_live(void **state) {
    (void)state;
    return pdl_live_objects() == start ? 0 : -1;
}

static void deep_lists_release(void **state) {
    (void)state;
    enum { DEPTH = 1000000 };
    for (int first = 0; first < 2; first++) {
        pdl_val v = pdl_list_new(0);
        for (int i = 0; i < DEPTH; i++) {
            pdl_val up = pdl_list_new(2);
            up = pdl_list_push(up, v);
            if (first) up = pdl_list_push(up, pdl_int(i)); /* the deep child is not the last */
            v = up;
        }
        pdl_drop(v);
    }
}

static void wide_and_mixed_release(void **state) {
    (void)state;
    pdl_val v = pdl_null();
    for (int i = 0; i < 100000; i++) {
        pdl_val d = pdl_dict_new(2);
        d = pdl_dict_putz(d, "text", pdl_textf("n%d", i));
        d = pdl_dict_putz(d, "rest", v);
        pdl_val items[2] = {d, pdl_keep(d)};
        v = i % 3 ? pdl_tuple_new(items, 2)
                  : (pdl_drop(items[1]), pdl_view_new(d, PDL_VIEW_VALUES));
    }
    pdl_drop(v);
}

/* An object that owns a scope, as closures do. */
typedef struct {
    pdl_ext ext;
    pdl_scope *scope;
    int *gone;
} closure;

static void closure_fini(pdl_obj *o) {
    closure *c = (void *)o;
    ++*c->gone;
    pdl_scope_drop(c->scope);
}

static const pdl_class closure_class = {"ClosureBlock", NULL, closure_fini, NULL};

static void chains_through_scopes_release(void **state) {
    (void)state;
    enum { DEPTH = 300000 };
    int gone = 0;
    pdl_scope *s = NULL;
    for (int i = 0; i < DEPTH; i++) {
        closure *c = pdl_ext_new(PDL_V_FUNC, &closure_class, sizeof *c);
        c->scope = s;
        c->gone = &gone;
        s = pdl_scope_put(NULL, 1, pdl_from_obj(PDL_V_FUNC, &c->ext.head, 0));
    }
    pdl_scope_drop(s);
    t_assert(gone == DEPTH);
}

static void tell_gone(void *user, uint64_t id) { *(uint64_t *)user = id; }

static void handles_tell_their_end(void **state) {
    (void)state;
    uint64_t gone = 0;
    pdl_val h =
        pdl_handle_new(7, pdl_textz("DataFrame"), pdl_textz("df"), pdl_textz("<df>"), true, 3);
    pdl_handle_of(h)->gone = tell_gone;
    pdl_handle_of(h)->user = &gone;
    size_t n = 0;
    t_assert(pdl_val_len(h, &n) && n == 3);
    t_assert(strcmp(pdl_type_name(h), "DataFrame") == 0);
    pdl_val list = pdl_list_push(pdl_list_new(1), h);
    t_assert(pdl_flags_of(list) & PDL_F_HANDLE);
    pdl_drop(list);
    t_assert(gone == 7);
}

static void names_of_types(void **state) {
    (void)state;
    pdl_val big;
    t_assert(pdl_int_read_decimal(t_str("123456789012345678901234567890"), &big));
    const struct {
        pdl_val v;
        const char *name;
    } rows[] = {
        {pdl_null(), "NoneType"},
        {pdl_bool(true), "bool"},
        {pdl_int(1), "int"},
        {big, "int"},
        {pdl_float(1), "float"},
        {pdl_textz("x"), "str"},
        {pdl_with_flags(pdl_textz("x"), PDL_F_SAFE), "Markup"},
        {pdl_list_new(0), "list"},
        {pdl_tuple_new(NULL, 0), "tuple"},
        {pdl_dict_new(0), "dict"},
        {pdl_set_from_dict(pdl_dict_new(0)), "set"},
        {pdl_bytes(PDL_STR("a")), "bytes"},
        {pdl_range_new(0, 3, 1), "range"},
        {pdl_view_new(pdl_dict_new(0), PDL_VIEW_ITEMS), "dict_items"},
        {pdl_undefined(pdl_textz("'x' is undefined")), "Undefined"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        t_assert_str(t_str(pdl_type_name(rows[i].v)), rows[i].name);
        pdl_drop(rows[i].v);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_lists_release),
        cmocka_unit_test(wide_and_mixed_release),
        cmocka_unit_test(chains_through_scopes_release),
        cmocka_unit_test(handles_tell_their_end),
        cmocka_unit_test(names_of_types),
    };
    return cmocka_run_group_tests(tests, note_live, check_live);
}
