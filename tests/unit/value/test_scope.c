/* test_scope.c -- scopes: persistence, order, deletion; compared with a plain array.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "value/scope.h"

#include "base/banned.h"

enum { NAMES = 5000 };

typedef struct {
    pdl_name names[NAMES];
    size_t n;
} seen;

static bool note(void *user, pdl_name name, pdl_vref v) {
    seen *s = user;
    (void)v;
    s->names[s->n++] = name;
    return true;
}

static void definitions_keep_their_order(void **state) {
    (void)state;
    static const pdl_name names[] = {300, 1, 70000, 2, 0xffffffffu, 17};
    pdl_scope *s = NULL;
    for (size_t i = 0; i < T_LEN(names); i++) s = pdl_scope_put(s, names[i], pdl_int((int64_t)i));
    s = pdl_scope_put(s, 1, pdl_int(100));
    t_assert(pdl_scope_count(s) == T_LEN(names));
    seen got = {.n = 0};
    pdl_scope_each(s, note, &got);
    for (size_t i = 0; i < T_LEN(names); i++) {
        T_ROW(i);
        t_assert(got.names[i] == names[i]);
        t_assert(pdl_int_of(pdl_scope_find(s, names[i])) == (i == 1 ? 100 : (int64_t)i));
    }
    t_assert(pdl_is_absent(pdl_scope_find(s, 3)) && pdl_is_absent(pdl_scope_find(NULL, 1)));
    s = pdl_scope_del(s, 70000);
    s = pdl_scope_del(s, 70000);
    t_assert(pdl_scope_count(s) == 5 && pdl_is_absent(pdl_scope_find(s, 70000)));
    pdl_scope_drop(s);
}

/* Random puts and deletions on versions that stay alive: none changes behind another's back. */
static void versions_are_independent(void **state) {
    (void)state;
    enum { VERSIONS = 8, STEPS = 40000, RANGE = 600 };
    static int64_t want[VERSIONS][RANGE]; /* 0: unbound */
    pdl_scope *s[VERSIONS] = {0};
    size_t start = pdl_live_objects();
    uint32_t seed = 12345;
    for (int step = 1; step <= STEPS; step++) {
        seed = seed * 1664525u + 1013904223u;
        size_t k = (seed >> 8) % VERSIONS, name = (seed >> 12) % (RANGE - 1) + 1,
               what = (seed >> 24) % 16;
        if (what == 0) { /* fork */
            size_t from = (k + 1) % VERSIONS;
            pdl_scope_drop(s[k]);
            s[k] = pdl_scope_keep(s[from]);
            memcpy(want[k], want[from], sizeof want[k]);
        } else if (what < 4) {
            s[k] = pdl_scope_del(s[k], (pdl_name)name);
            want[k][name] = 0;
        } else {
            pdl_val v = pdl_list_push(pdl_list_new(1), pdl_int(step));
            s[k] = pdl_scope_put(s[k], (pdl_name)name, v);
            want[k][name] = step;
        }
    }
    for (size_t k = 0; k < VERSIONS; k++) {
        size_t count = 0;
        for (size_t name = 1; name < RANGE; name++) {
            T_ROW(name);
            pdl_vref v = pdl_scope_find(s[k], (pdl_name)name);
            t_assert(want[k][name]
                         ? !pdl_is_absent(v) && pdl_int_of(pdl_list_at(v, 0)) == want[k][name]
                         : pdl_is_absent(v));
            count += want[k][name] != 0;
        }
        t_assert(pdl_scope_count(s[k]) == count);
        seen got = {.n = 0};
        pdl_scope_each(s[k], note, &got);
        t_assert(got.n == count);
    }
    for (size_t k = 0; k < VERSIONS; k++) pdl_scope_drop(s[k]);
    t_assert(pdl_live_objects() == start);
}

static void as_dict(void **state) {
    (void)state;
    pdl_interner *in = pdl_interner_new();
    pdl_scope *s = pdl_scope_put(NULL, pdl_intern(in, PDL_STR("b")), pdl_textz("1"));
    s = pdl_scope_put(s, pdl_intern(in, PDL_STR("a")), pdl_textz("2"));
    pdl_val d = pdl_scope_to_dict(s, in);
    t_assert(pdl_dict_len(d) == 2 && pdl_text_is(pdl_dict_key_at(d, 0), "b"));
    t_assert(pdl_text_is(pdl_dict_getz(d, "a"), "2"));
    pdl_drop(d);
    pdl_scope_drop(s);
    pdl_interner_drop(in);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(definitions_keep_their_order),
                                       cmocka_unit_test(versions_are_independent),
                                       cmocka_unit_test(as_dict)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
