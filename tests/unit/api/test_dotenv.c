/* test_dotenv.c -- reads lines of .env as python-dotenv 1.2 reads them (the values were compared
 * with it), and rejects other lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/setup/dotenv.h"
#include "t.h"

static const char *put(void *user, pdl_str name, pdl_str value) {
    pdl_buf_putf(user, "%.*s=<%.*s>", PDL_FMT(name), PDL_FMT(value));
    return NULL;
}

static const char *get(void *user, const char *name) {
    (void)user;
    return strcmp(name, "HOME") == 0 ? "/h" : NULL;
}

static void wrong(void *user, unsigned line, const char *why) {
    pdl_buf_putf(user, "[%u %s]", line, why);
}

static void read_to(pdl_str text, pdl_buf *out) {
    pdl_dotenv_read(text, &(pdl_dotenv_user){out, put, get, wrong});
}

#define NONE "expected NAME=VALUE"

static void test_lines(void **state) {
    static const struct {
        const char *text, *read;
    } rows[] = {
        {"", ""},
        {"A=1", "A=<1>"},
        {"A = 1 \r\nB=2\rC=3", "A=<1>B=<2>C=<3>"},
        {"  export A=1\nexport\tB=2", "A=<1>B=<2>"},
        {"# a\n  # b\n\nA=b#c # d", "A=<b#c>"},
        {"A=\nB=''\nC=\"\"", "A=<>B=<>C=<>"},
        {"A=# b", "A=<# b>"},
        {"A= # b", "A=<>"},
        {"A=x\t#b", "A=<x>"},
        {"A=b=c", "A=<b=c>"},
        {"A=\" b # c\" # d", "A=< b # c>"},
        {"A=\"b\nc\"\nD=1", "A=<b\nc>D=<1>"},
        {"A='b\nc'\nD=1", "A=<b\nc>D=<1>"},
        {"A=\"\\t\\\"\\\\n\\x\"", "A=<\t\"\\n\\x>"},
        {"A='\\t\\'\\\\'", "A=<\\t'\\>"},
        {"'A B'=1", "A B=<1>"},
        {"A.b-c=1", "A.b-c=<1>"},
        {"A=${HOME}/b", "A=</h/b>"},
        {"A=${X}|${X:-y}|${HOME:-z}|${}", "A=<|y|/h|>"},
        {"A='${HOME}'", "A=</h>"},
        {"A=$HOME ${HOME", "A=<$HOME ${HOME>"},
        {"A=${X:y}", "A=<${X:y}>"},
        {"A=\"b\"c\nD=1", "[1 something after the quote that ends the value]D=<1>"},
        {"A=1\nb c\nD=1", "A=<1>[2 " NONE "]D=<1>"},
        {"A: b", "[1 " NONE "]"},
        {"=b", "[1 " NONE "]"},
        {"A", "[1 " NONE "]"},
        {"export A\nexport A B", "[2 " NONE "]"},
        {"exported=1", "exported=<1>"},
        {"A=\"b\nC=1", "[1 a double quote that has no end]C=<1>"},
        {"A='b\n\nC='d\nD=1", "[1 something after the quote that ends the value]D=<1>"},
        {"A='b\n\nC=d", "[1 a quote that has no end]C=<d>"},
        {"A=\"b\nC='d\nE='f'\nG='h\n'",
         "[1 a double quote that has no end][2 a quote that has no end]E=<f>"
         "[4 a quote that has no end][5 a quote that has no end]"},
        {"'A=1", "[1 a quote that has no end]"},
        {"\xef\xbb", "[1 " NONE "]"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pdl_buf got = PDL_BUF;
        read_to(pdl_str_of(rows[i].text), &got);
        assert_string_equal(pdl_buf_z(&got), rows[i].read);
        pdl_buf_fini(&got);
    }
}

static void test_nul(void **state) {
    pdl_buf got = PDL_BUF;
    (void)state;
    read_to((pdl_str){"A=b\0c\nD=1\nE\0=2", 14}, &got);
    assert_string_equal(pdl_buf_z(&got), "[1 a NUL]D=<1>[3 a NUL]");
    pdl_buf_fini(&got);
}

/* --- values that name each other -------------------------------------------------------------- */

struct last {
    char *value;
    size_t total;
    unsigned n_wrong;
};

static const char *keep(void *user, pdl_str name, pdl_str value) {
    struct last *l = user;
    (void)name;
    pdl_free(l->value);
    l->value = pdl_str_dup(value);
    l->total += value.n;
    return NULL;
}

static const char *last_of(void *user, const char *name) {
    (void)name;
    return ((struct last *)user)->value;
}

static void count(void *user, unsigned line, const char *why) {
    (void)line;
    (void)why;
    ((struct last *)user)->n_wrong++;
}

static void test_doubled(void **state) {
    struct last l = {0};
    pdl_buf text = PDL_BUF;
    (void)state;
    pdl_buf_put(&text, PDL_STR("A=0123456789abcdef\n"));
    for (int i = 0; i < 60; i++) pdl_buf_put(&text, PDL_STR("A=${A}${A}\n"));
    pdl_dotenv_read(pdl_buf_str(&text), &(pdl_dotenv_user){&l, keep, last_of, count});
    assert_true(l.total < (8 << 20));
    assert_true(l.n_wrong > 30);
    pdl_free(l.value);
    pdl_buf_fini(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_nul),
        cmocka_unit_test(test_doubled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
