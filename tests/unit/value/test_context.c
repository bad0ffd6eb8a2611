/* test_context.c -- composition, counting, flattening, printing, deep ropes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/limits.h"
#include "value/context.h"
#include "value/json_read.h"
#include "value/promise.h"
#include "value/text.h"

static pdl_val one(const char *content) {
    return pdl_context_one(pdl_textz("user"), pdl_textz(content), pdl_absent(), NULL);
}

static pdl_val dep(pdl_val a, pdl_val b) { return pdl_context_dep(a, b); }
static pdl_val ind(pdl_val a, pdl_val b) { return pdl_context_ind(a, b); }

/* The shape: contents and brackets only. */
static void shape(pdl_vref c, pdl_buf *out) {
    pdl_buf b = PDL_BUF;
    pdl_context_repr(c, &b);
    pdl_str s = pdl_buf_str(&b), head = PDL_STR("{'role': 'user', 'content': '");
    for (size_t i = 0; i < s.n;) {
        if (pdl_str_starts(pdl_str_sub(s, i, s.n), head)) {
            pdl_buf_putc(out, s.p[i + head.n]);
            i += head.n + 3; /* one letter, quote, brace */
        } else {
            pdl_buf_putc(out, s.p[i++]);
        }
    }
    pdl_buf_fini(&b);
}

static void test_shapes(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    const struct {
        pdl_val c;
        const char *shape;
        size_t len, count;
    } rows[] = {
        {pdl_context_empty(), "[]", 0, 0},
        {one("a"), "a", 1, 1},
        {dep(pdl_context_empty(), one("a")), "[a]", 1, 1},
        {dep(one("a"), one("b")), "[a,b]", 2, 2},
        {ind(one("a"), one("b")), "{a,b}", 2, 2},
        {ind(pdl_context_empty(), pdl_context_empty()), "{}", 0, 0},
        {dep(pdl_context_empty(), ind(one("a"), one("b"))), "[{a,b}]", 1, 2},
        {ind(dep(one("a"), one("b")), pdl_context_empty()), "{[a,b]}", 1, 2},
        {dep(ind(one("a"), one("b")), one("c")), "[{a,b},c]", 2, 3},
        {dep(dep(one("a"), one("b")), dep(one("c"), one("d"))), "[a,b,c,d]", 4, 4},
        {ind(ind(one("a"), one("b")), ind(one("c"), dep(one("d"), ind(one("e"), one("f"))))),
         "{a,b,c,[d,{e,f}]}", 4, 6},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF;
        shape(rows[i].c, &b);
        t_assert_str(pdl_buf_str(&b), rows[i].shape);
        t_assert(pdl_context_len(rows[i].c) == rows[i].len);
        t_assert(pdl_context_count(rows[i].c) == rows[i].count);
        t_assert(pdl_context_is_empty(rows[i].c) == (rows[i].count == 0));
        pdl_message m;
        t_assert(pdl_context_last(rows[i].c, &m) == (rows[i].count > 0));
        for (size_t k = 0; k < rows[i].count; k++) {
            pdl_val d = pdl_context_at(rows[i].c, k);
            t_assert(pdl_str_get(pdl_dict_getz(d, "content")).p[0] == (char)('a' + (char)k));
            pdl_drop(d);
        }
        for (size_t k = 0; k < T_LEN(rows); k++)
            t_assert(pdl_context_eq(rows[i].c, rows[k].c) == (i == k));
        pdl_buf_fini(&b);
    }
    for (size_t i = 0; i < T_LEN(rows); i++) pdl_drop(rows[i].c);
    assert_int_equal(pdl_live_objects(), live);
}

static void test_message(void **state) {
    (void)state;
    pdl_path *up = pdl_path_name(NULL, "text"), *site = pdl_path_index(up, 0);
    pdl_val extra = pdl_dict_putz(pdl_dict_new(1), "name", pdl_textz("n"));
    pdl_val content = pdl_with_flags(pdl_with_label(pdl_int(1), 8), PDL_F_PROMISE);
    pdl_val c = dep(pdl_context_one(pdl_textz("tool"), content, extra, site), one("b"));
    pdl_buf b = PDL_BUF;
    pdl_context_repr(c, &b);
    t_assert_str(pdl_buf_str(&b),
                 "[{'role': 'tool', 'content': 1, 'pdl__defsite': 'text.0', 'name': 'n'},"
                 "{'role': 'user', 'content': 'b'}]");
    assert_int_equal(pdl_label_of(c), 8);
    assert_true(pdl_may_hold_promise(c));
    pdl_val list = pdl_context_to_list(c), back;
    pdl_err err = {0};
    pdl_buf_clear(&b);
    assert_true(pdl_val_str(list, &b, &err));
    t_assert_str(pdl_buf_str(&b),
                 "[{'role': 'tool', 'content': 1, 'pdl__defsite': 'text.0', 'name': 'n'}, "
                 "{'role': 'user', 'content': 'b'}]");
    assert_true(pdl_context_from(list, &back, &err));
    assert_int_equal(pdl_context_count(back), 2);
    assert_false(pdl_context_from(pdl_int(1), &back, &err));
    assert_string_equal(err.msg, "'<class 'int'>' object is not a valid context");
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_drop(back);
    pdl_drop(list);
    pdl_drop(c);
    pdl_path_drop(site);
    pdl_path_drop(up);
}

static bool count(void *user, const pdl_message *m) {
    (void)m;
    return ++*(size_t *)user < 1000000;
}

/* Left-deep, right-deep and alternating ropes of a million messages; an index access in every
 * turn. */
static void test_deep(void **state) {
    (void)state;
    enum { N = 1000000 };
    size_t live = pdl_live_objects();
    for (int kind = 0; kind < 3; kind++) {
        T_ROW((size_t)kind);
        pdl_val m = one("m"), c = pdl_context_empty();
        for (size_t i = 0; i < N; i++) {
            c = kind == 0   ? dep(c, pdl_keep(m))
                : kind == 1 ? dep(pdl_keep(m), c)
                : i % 2     ? dep(c, pdl_keep(m))
                            : ind(c, pdl_keep(m));
            if (kind == 0 && i % 16 == 0) {
                pdl_drop(pdl_context_at(c, 0));
                pdl_drop(pdl_context_at(c, i));
            }
        }
        pdl_drop(pdl_context_at(c, N / 2));
        size_t n = 0;
        pdl_context_each_unsettled(c, count, &n);
        t_assert(n == N);
        pdl_val same = pdl_keep(c);
        t_assert(pdl_context_eq(c, same));
        pdl_drop(same);
        pdl_drop(c);
        pdl_drop(m);
    }
    assert_int_equal(pdl_live_objects(), live);
}

/* Two ropes extend the same one: each sees its own messages, also when one of them is gone. */
static void test_branches(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    pdl_val base = pdl_context_empty(), branch[3];
    for (int i = 0; i < 40; i++) base = dep(base, one("a"));
    pdl_drop(pdl_context_to_list(base));
    for (int i = 0; i < 3; i++) {
        branch[i] = dep(pdl_keep(base), one((const char *[]){"x", "y", "z"}[i]));
        pdl_drop(pdl_context_to_list(branch[i]));
        if (i == 0) pdl_drop(branch[0]);
    }
    pdl_val y = pdl_context_at(branch[1], 40), z = pdl_context_at(branch[2], 40),
            list = pdl_context_to_list(branch[1]);
    assert_true(pdl_text_is(pdl_dict_getz(y, "content"), "y"));
    assert_true(pdl_text_is(pdl_dict_getz(z, "content"), "z"));
    assert_true(pdl_text_is(pdl_dict_getz(pdl_list_at(list, 40), "content"), "y"));
    pdl_drop(list);
    pdl_drop(y);
    pdl_drop(z);
    pdl_drop(base);
    pdl_drop(branch[1]);
    pdl_drop(branch[2]);
    assert_int_equal(pdl_live_objects(), live);
}

/* Branches that continue a context with the same message share its array, and what is settled of a
 * longer one says nothing of the labels of a shorter one. */
static void test_settled(void **state) {
    (void)state;
    enum { N = 30 };
    size_t live = pdl_live_objects();
    pdl_val base = pdl_context_empty(), steps[N], promises[N], now;
    pdl_err err = {0};
    for (int i = 0; i < N; i++) {
        promises[i] = pdl_promise_new((uint32_t)i + 1);
        pdl_val asked = one("q"), seen = dep(pdl_keep(base), pdl_keep(asked));
        pdl_val reply =
            pdl_context_one(pdl_textz("assistant"), pdl_keep(promises[i]), pdl_absent(), NULL);
        assert_true(pdl_is_absent(pdl_promise_blocking(seen)) == (i == 0));
        base = dep(base, dep(asked, reply));
        steps[i] = pdl_keep(base);
        pdl_drop(seen);
    }
    for (int i = 0; i < N; i++) {
        T_ROW((size_t)i);
        assert_false(pdl_is_absent(pdl_promise_blocking(steps[i])));
        pdl_promise_fill(pdl_promise_of(promises[i]),
                         pdl_with_label(pdl_textz("r"), (pdl_label)1 << i));
        assert_true(pdl_is_absent(pdl_promise_blocking(steps[i])));
        assert_true(pdl_promise_resolve(steps[i], &now, &err));
        assert_false(pdl_may_hold_promise(now));
        assert_true(pdl_label_of(now) == ((pdl_label)2 << i) - 1);
        pdl_drop(now);
    }
    assert_true(pdl_promise_resolve(steps[3], &now, &err));
    assert_true(pdl_label_of(now) == 15);
    pdl_drop(now);
    for (int i = 0; i < N; i++) {
        pdl_drop(steps[i]);
        pdl_drop(promises[i]);
    }
    pdl_drop(base);
    assert_int_equal(pdl_live_objects(), live);
}

/* What a model gets is made once for a message and shared; a message that waits is made again. */
static void test_messages(void **state) {
    (void)state;
    size_t live = pdl_live_objects();
    pdl_path *site = pdl_path_name(NULL, "text");
    pdl_val extra = pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "name", pdl_textz("n")),
                                  "pdl__defsite", pdl_textz("x"));
    pdl_val c = dep(pdl_context_one(pdl_textz("tool"), pdl_textz("a"), extra, site), one("b"));
    pdl_val waiting = pdl_with_flags(pdl_int(1), PDL_F_PROMISE);
    pdl_val d = dep(pdl_keep(c), pdl_context_one(pdl_textz("user"), waiting, pdl_absent(), NULL));
    pdl_path_drop(site);
    pdl_val first = pdl_context_messages(d), again = pdl_context_messages(d), want;
    pdl_err err = {0};
    pdl_str json = PDL_STR("[{\"role\":\"tool\",\"content\":\"a\",\"name\":\"n\"},{\"role\":"
                           "\"user\",\"content\":\"b\"},"
                           "{\"role\":\"user\",\"content\":1}]");
    assert_true(pdl_json_read(json, 0, &want, NULL, &err));
    assert_true(pdl_val_eq(first, want) && pdl_val_eq(again, want));
    for (size_t i = 0; i < 3; i++) {
        bool shared = pdl_obj_of(pdl_list_at(first, i)) == pdl_obj_of(pdl_list_at(again, i));
        assert_int_equal(shared, i < 2);
    }
    pdl_drop(want);
    pdl_drop(first);
    pdl_drop(again);
    pdl_drop(c);
    pdl_drop(d);
    assert_int_equal(pdl_live_objects(), live);
}

static void test_plain_messages(void **state) {
    (void)state;
    const struct {
        const char *json;
        bool plain;
    } rows[] = {
        {"[]", false},
        {"{\"role\":\"user\",\"content\":\"a\"}", false},
        {"[{\"role\":\"user\",\"content\":\"a\"}]", true},
        {"[{\"role\":\"user\",\"content\":\"a\",\"name\":\"n\"}]", true},
        {"[{\"content\":\"a\",\"role\":\"user\"}]", false},
        {"[{\"role\":\"user\"}]", false},
        {"[{\"role\":\"user\",\"content\":\"a\",\"pdl__defsite\":\"x\"}]", false},
        {"[{\"role\":\"user\",\"content\":\"a\"},[{\"role\":\"user\",\"content\":\"b\"}]]", false},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val v;
        pdl_err err = {0};
        assert_true(pdl_json_read(pdl_str_of(rows[i].json), 0, &v, NULL, &err));
        assert_int_equal(pdl_messages_are_plain(v), rows[i].plain);
        pdl_drop(v);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),         cmocka_unit_test(test_message),
        cmocka_unit_test(test_deep),           cmocka_unit_test(test_branches),
        cmocka_unit_test(test_settled),        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_plain_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
