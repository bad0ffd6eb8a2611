/* test_buf.c -- growable text: appending, the ceiling, passing the content on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/banned.h"

static void appends(void **state) {
    (void)state;
    pdl_buf b = PDL_BUF;
    t_assert_str(pdl_buf_str(&b), "");
    pdl_buf_put(&b, (pdl_str){0});
    PDL_PUT(&b, "ab");
    pdl_buf_putc(&b, 'c');
    pdl_buf_putf(&b, "-%d-%s", 42, "x");
    t_assert_str(pdl_buf_str(&b), "abc-42-x");
    t_assert(strlen(pdl_buf_z(&b)) == b.len);
    pdl_buf_shift(&b, 4);
    t_assert_str(pdl_buf_str(&b), "42-x");
    pdl_buf_cut(&b, 2);
    t_assert_str(pdl_buf_str(&b), "42");
    for (int i = 0; i < 10000; i++) pdl_buf_putf(&b, "%d,", i);
    t_assert(b.len == 2 + 10 * 2 + 90 * 3 + 900 * 4 + 9000 * 5);
    char *taken = pdl_buf_take(&b);
    t_assert(b.len == 0 && b.p == NULL && taken[0] == '4');
    pdl_free(taken);
    taken = pdl_buf_take(&b);
    t_assert_str(t_str(taken), "");
    pdl_free(taken);
    pdl_buf_fini(&b);
    pdl_buf_fini(&b);
}

static void ceiling(void **state) {
    (void)state;
    pdl_buf b = PDL_BUF_INIT(4);
    pdl_err err = {0};
    t_assert(pdl_buf_add(&b, PDL_STR("abc"), &err));
    t_assert(!pdl_buf_add(&b, PDL_STR("de"), &err));
    t_assert(err.kind == PDL_E_limit);
    t_assert_str(pdl_buf_str(&b), "abc");
    pdl_err_fini(&err);
    t_assert(pdl_buf_add(&b, PDL_STR("d"), &err));
    t_assert(!pdl_buf_add(&b, (pdl_str){"x", (size_t)-1}, &err));
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
}

static bool time_is_over(void *user, pdl_err *err) {
    (void)user;
    return pdl_err_set(err, PDL_E_budget, (pdl_loc){0}, "over");
}

/* Units of any length fill pieces of any length; a cancelled fill leaves the buffer as it was. */
static void fills_in_pieces(void **state) {
    (void)state;
    static const size_t lengths[] = {1, 3, 7, PDL_CANCEL_BYTES - 1, PDL_CANCEL_BYTES + 5};
    char *unit = pdl_alloc(PDL_CANCEL_BYTES + 5);
    for (size_t i = 0; i < PDL_CANCEL_BYTES + 5; i++) unit[i] = (char)('a' + i % 23);
    for (size_t i = 0; i < T_LEN(lengths); i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF;
        pdl_err err = {0};
        size_t n = lengths[i], times = 3 * PDL_CANCEL_BYTES / n + 2, wrong = 0;
        PDL_PUT(&b, "start");
        t_assert(pdl_buf_fill(&b, (pdl_str){unit, n}, times, &err) && b.len == 5 + n * times);
        for (size_t k = 0; k < n * times; k++) wrong += b.p[5 + k] != unit[k % n];
        t_assert(wrong == 0);
        pdl_cancel over = {.check_time = time_is_over};
        const pdl_cancel *before = pdl_cancel_enter(&over);
        size_t len = b.len;
        t_assert(!pdl_buf_fill(&b, (pdl_str){unit, n}, times, &err) && err.kind == PDL_E_budget);
        pdl_err_fini(&err);
        t_assert(!pdl_buf_add(&b, (pdl_str){unit, PDL_CANCEL_BYTES + 1}, &err) &&
                 err.kind == PDL_E_budget);
        pdl_err_fini(&err);
        t_assert(pdl_buf_fill(&b, PDL_STR("ab"), 2, &err)); /* what is short is filled */
        t_assert(b.len == len + 4);
        (void)pdl_cancel_enter(before);
        pdl_buf_fini(&b);
    }
    pdl_free(unit);
}

/* The array serves until it is full; what is handed over is never the array. */
static void begins_in_an_array(void **state) {
    (void)state;
    char space[8];
    pdl_buf b = pdl_buf_in(space, sizeof space, 20);
    pdl_err err = {0};
    t_assert_str(t_str(pdl_buf_z(&b)), "");
    t_assert(pdl_buf_add(&b, PDL_STR("1234567"), &err) && b.p == space);
    char *taken = pdl_buf_take(&b);
    t_assert(taken != space && b.p == NULL);
    t_assert_str(t_str(taken), "1234567");
    pdl_free(taken);
    b = pdl_buf_in(space, sizeof space, 20);
    t_assert(pdl_buf_add(&b, PDL_STR("1234567"), &err) &&
             pdl_buf_fill(&b, PDL_STR("ab"), 2, &err) && b.p != space);
    t_assert_str(pdl_buf_str(&b), "1234567abab");
    t_assert(!pdl_buf_add(&b, PDL_STR("0123456789"), &err) && err.kind == PDL_E_limit);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    t_assert(b.p == NULL);
    b = pdl_buf_in(space, sizeof space, 20);
    pdl_buf_putf(&b, "%s", "longer than array");
    pdl_buf_fini(&b);
}

static void lifted_ceiling(void **state) {
    (void)state;
    pdl_buf b = PDL_BUF_INIT(4);
    pdl_err err = {0};
    PDL_PUT(&b, "ab");
    size_t limit = pdl_buf_unlimit(&b);
    PDL_PUT(&b, "cd");
    t_assert(pdl_buf_relimit(&b, limit, 2, true, &err) && b.limit == 4);
    t_assert_str(pdl_buf_str(&b), "abcd");
    limit = pdl_buf_unlimit(&b);
    PDL_PUT(&b, "e");
    t_assert(!pdl_buf_relimit(&b, limit, 4, true, &err) && err.kind == PDL_E_limit);
    t_assert_str(pdl_buf_str(&b), "abcd");
    pdl_err_fini(&err);
    limit = pdl_buf_unlimit(&b);
    PDL_PUT(&b, "e");
    t_assert(!pdl_buf_relimit(&b, limit, 2, false, &err) && err.kind == PDL_E_NONE);
    t_assert_str(pdl_buf_str(&b), "ab");
    pdl_buf_fini(&b);
}

/* Each row fills an empty buffer with ceiling `limit`, behind what `before` says. */
static const struct {
    const char *before, *unit;
    size_t times, limit;
    const char *want; /* NULL: it fails and changes nothing */
} fills[] = {
    {"", "x", 0, 10, ""},
    {"a", "", 5, 10, "a"},
    {"", "x", 1, 10, "x"},
    {"", "x", 10, 10, "xxxxxxxxxx"},
    {"", "x", 11, 10, NULL},
    {"ab", "xyz", 2, 8, "abxyzxyz"},
    {"ab", "xyz", 3, 10, NULL},
    {"", "xyz", SIZE_MAX / 2, 10, NULL},
    {"ab", "\xc3\xa9", 5, 100, "ab\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"},
};

static void fills_up_to_the_limit(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(fills); i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF_INIT(fills[i].limit);
        pdl_err err = {0};
        pdl_buf_put(&b, t_str(fills[i].before));
        t_assert(pdl_buf_fill(&b, t_str(fills[i].unit), fills[i].times, &err) ==
                 (fills[i].want != NULL));
        t_assert(err.kind == (fills[i].want ? PDL_E_NONE : PDL_E_limit));
        t_assert_str(pdl_buf_str(&b), fills[i].want ? fills[i].want : fills[i].before);
        pdl_err_fini(&err);
        pdl_buf_fini(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fills_up_to_the_limit),
                                       cmocka_unit_test(fills_in_pieces),
                                       cmocka_unit_test(appends),
                                       cmocka_unit_test(ceiling),
                                       cmocka_unit_test(begins_in_an_array),
                                       cmocka_unit_test(lifted_ceiling)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
