/* test_shlex.c -- splits command lines into words as Python's shlex.split does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/shlex.h"

#include "t.h"

#include "base/banned.h"

static bool add(void *user, pdl_str w) {
    pdl_buf *b = user;
    if (b->len) pdl_buf_putc(b, '|');
    pdl_buf_put(b, w);
    pdl_buf_putc(b, '.');
    return true;
}

static const struct {
    const char *text, *want; /* words, each with a full stop; NULL: error */
    const char *msg;
} rows[] = {
    {"", "", NULL},
    {" \t\r\n", "", NULL},
    {"echo hi", "echo.|hi.", NULL},
    {"  echo   \"a b\" 'c d' $HOME  ", "echo.|a b.|c d.|$HOME.", NULL},
    {"a\"b c\"'d e'f", "ab cd ef.", NULL},
    {"'' \"\"", ".|.", NULL},
    {"a\\ b \\\\ \\'", "a b.|\\.|'.", NULL},
    {"\"a\\\"b\\\\c\\nd\\$\"", "a\"b\\c\\nd\\$.", NULL},
    {"'a\\b'", "a\\b.", NULL},
    {"a#b # c", "a#b.|#.|c.", NULL},
    {"\xc3\xa9 | ; && *", "\xc3\xa9.||.|;.|&&.|*.", NULL},
    {"a\\\nb", "a\nb.", NULL},
    {"'open", NULL, "No closing quotation"},
    {"a \"open", NULL, "No closing quotation"},
    {"a\\", NULL, "No escaped character"},
    {"\"a\\", NULL, "No escaped character"},
};

static void words_are_those_of_shlex(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF;
        pdl_err err = {0};
        bool ok = pdl_shlex_split(t_str(rows[i].text), add, &b, &err);
        t_assert(ok == (rows[i].want != NULL));
        if (ok)
            t_assert_str(pdl_buf_str(&b), rows[i].want);
        else
            t_assert_str(t_str(err.msg), rows[i].msg);
        if (!ok) t_assert_str(t_str(err.py_class), "ValueError");
        pdl_err_fini(&err);
        pdl_buf_fini(&b);
    }
}

static bool stop(void *user, pdl_str w) {
    (void)w;
    ++*(int *)user;
    return false;
}

static void the_caller_ends_it(void **state) {
    (void)state;
    int n = 0;
    pdl_err err = {0};
    assert_true(pdl_shlex_split(PDL_STR("a b 'c"), stop, &n, &err));
    assert_int_equal(n, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_shlex),
        cmocka_unit_test(the_caller_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
