/* test_json_partial.c -- beginnings of JSON: which part is certain, and that a longer beginning
 * never contradicts a shorter one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/json_partial.h"

#include "base/rand.h"
#include "base/utf8.h"
#include "t.h"
#include "value/json_read.h"
#include "value/json_write.h"

static const struct {
    const char *text, *want; /* NULL: absent */
} rows[] = {
    {"", NULL},
    {"  ", NULL},
    {"tru", NULL},
    {"\"abc\"", NULL},
    {"{", "{}"},
    {"{\"a", "{}"},
    {"{\"a\"", "{}"},
    {"{\"a\":", "{}"},
    {"{\"a\": 1", "{}"},
    {"{\"a\": 1,", "{\"a\":1}"},
    {"{\"a\": 12}", "{\"a\":12}"},
    {"{\"a\": \"", "{\"a\":\"\"}"},
    {"{\"a\": \"x\\", "{\"a\":\"x\"}"},
    {"{\"a\": \"x\\u00e", "{\"a\":\"x\"}"},
    {"{\"a\": \"x\\ud83d\\ude0", "{\"a\":\"x\"}"},
    {"{\"a\": \"x\\n", "{\"a\":\"x\\n\"}"},
    {"{\"a\": [1, [2, {\"b\": tr", "{\"a\":[1,[2,{}]]}"},
    {"[\"a\", \"b\"], [", "[\"a\",\"b\"]"},
    {"```json\n{\"a\": [", "{\"a\":[]}"},
    {"{]", "{}"},
    {"[1 2]", "[1]"},
    {"[\"a\", \"x\\q\", 2", "[\"a\",\"x\"]"},
    {"{\"a\": 1, \"\\u0061\": 2, \"b\": 3}",
     "{\"a\":1}"}, /* a second value of a key would take the first one back */
    {"{\"a\": 1, b: 2}", "{\"a\":1}"},
    {"[1, nul, 2]", "[1]"},
    {"[,1]", "[]"},
};

static pdl_str shown(pdl_vref v, pdl_buf *out) {
    pdl_err err = {0};
    pdl_buf_clear(out);
    if (!pdl_is_absent(v)) assert_true(pdl_json_write(v, 0, 0, out, &err));
    return pdl_buf_str(out);
}

static void what_is_certain(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_buf out = PDL_BUF;
        T_ROW(i);
        pdl_val v = pdl_json_partial(t_str(rows[i].text));
        t_assert_str(shown(v, &out), rows[i].want ? rows[i].want : "");
        t_assert(pdl_is_absent(v) == !rows[i].want);
        pdl_drop(v);
        pdl_buf_fini(&out);
    }
}

/* Is b what a became by more text? */
static bool extends(pdl_vref a, pdl_vref b) {
    if (pdl_is_absent(a)) return true;
    if (pdl_is_str(a)) return pdl_is_str(b) && pdl_str_starts(pdl_str_get(b), pdl_str_get(a));
    if (pdl_is_list(a)) {
        if (!pdl_is_list(b) || pdl_list_len(b) < pdl_list_len(a)) return false;
        for (size_t i = 0; i < pdl_list_len(a); i++)
            if (!extends(pdl_list_at(a, i), pdl_list_at(b, i))) return false;
        return true;
    }
    if (!pdl_is_dict(a)) return pdl_val_eq(a, b);
    for (size_t i = 0; i < pdl_dict_len(a); i++)
        if (!pdl_is_dict(b) ||
            !extends(pdl_dict_val_at(a, i), pdl_dict_find(b, pdl_dict_key_at(a, i))))
            return false;
    return true;
}

/* Each beginning of text gives what the one before gave, or more of it. The value of the whole is
 * put into *end. */
static void check_beginnings(pdl_str text, pdl_val *end) {
    pdl_val last = pdl_absent();
    for (size_t n = 0; n <= text.n; n++) {
        if (n < text.n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
            continue; /* cut inside of a character */
        pdl_val v = pdl_json_partial((pdl_str){text.p, n});
        if (!extends(last, v)) print_error("beginning %zu of %.*s\n", n, PDL_FMT(text));
        t_assert(extends(last, v));
        pdl_drop(last);
        last = v;
    }
    *end = last;
}

static void only_extended(void **state) {
    static const char text[] =
        "{\"name\": \"Gr\\u00fc\xc3\x9f\\ud83d\\ude00e \\\"x\\\"\", \"n\": -12.5e3, \"list\": [1, "
        "22, [], {}, "
        "[true, false, null], \"z\"], \"deep\": {\"a\": {\"b\": [[[\"c\"]]]}}, \"end\": 7}";
    pdl_val last, whole;
    pdl_err err = {0};
    (void)state;
    assert_true(pdl_json_read(t_str(text), 0, &whole, NULL, &err));
    check_beginnings(t_str(text), &last);
    assert_true(pdl_val_eq(last, whole));
    pdl_drop(last);
    pdl_drop(whole);
}

static uint64_t any_below(pdl_rand *r, uint64_t n) { return pdl_rand_u64(r) % n; }

/* A value at random, as JSON in one of the ways to write it. */
static void put_any(pdl_rand *r, unsigned depth, pdl_buf *out) {
    static const char *const scalars[] = {"0",
                                          "-1",
                                          "12.5",
                                          "1e3",
                                          "true",
                                          "false",
                                          "null",
                                          "\"\"",
                                          "\"a\"",
                                          "\"\\u00e9\"",
                                          "\"\\ud83d\\ude00\"",
                                          "\"\\n\\\\\\\"\"",
                                          "\"\xc3\xa9\xf0\x9f\x98\x80\"",
                                          "[]",
                                          "{}"};
    static const char *const gaps[] = {"", "", " ", "\n  "};
    uint64_t kind = any_below(r, depth ? 4 : 2);
    if (kind < 2) {
        pdl_buf_put(out, t_str(scalars[any_below(r, T_LEN(scalars))]));
        return;
    }
    uint64_t n = any_below(r, 4);
    pdl_buf_putc(out, kind == 2 ? '[' : '{');
    for (uint64_t i = 0; i < n; i++) {
        if (i) pdl_buf_putc(out, ',');
        pdl_buf_put(out, t_str(gaps[any_below(r, T_LEN(gaps))]));
        if (kind == 3)
            pdl_buf_putf(out, "\"k%u\"%s:", (unsigned)i, gaps[any_below(r, T_LEN(gaps))]);
        put_any(r, depth - 1, out);
        pdl_buf_put(out, t_str(gaps[any_below(r, T_LEN(gaps))]));
    }
    pdl_buf_putc(out, kind == 2 ? ']' : '}');
}

/* Answers at random, each byte of each: what is there in the end is the value that is meant. */
static void only_extended_at_random(void **state) {
    pdl_rand r;
    (void)state;
    pdl_rand_seed(&r, 7);
    for (size_t i = 0; i < 3000; i++) {
        T_ROW(i);
        pdl_buf text = PDL_BUF, all = PDL_BUF;
        pdl_val whole, end;
        pdl_err err = {0};
        put_any(&r, 4, &text);
        pdl_buf_putf(&all, "%s%s", i % 3 == 1 ? "```json\n" : "", pdl_buf_z(&text));
        if (i % 3 == 1) PDL_PUT(&all, "\n```");
        assert_true(pdl_json_read(pdl_buf_str(&text), 0, &whole, NULL, &err));
        check_beginnings(pdl_buf_str(&all), &end);
        t_assert(pdl_is_dict(whole) || pdl_is_list(whole) ? pdl_val_eq(end, whole)
                                                          : pdl_is_absent(end));
        pdl_drop(whole);
        pdl_drop(end);
        pdl_buf_fini(&text);
        pdl_buf_fini(&all);
    }
}

/* Text that is no JSON may come as well: nothing is taken back then either. */
static void nothing_is_taken_back(void **state) {
    static const char *const words[] = {"{",    "}",     "[",      "]", ",", ":",
                                        "\"",   "\"a\"", "\"a\":", "1", "-", "tr",
                                        "true", "\\",    "\\u12",  " ", "x", "\xc3\xa9"};
    pdl_rand r;
    (void)state;
    pdl_rand_seed(&r, 11);
    for (size_t i = 0; i < 20000; i++) {
        T_ROW(i);
        pdl_buf text = PDL_BUF;
        pdl_val end;
        pdl_buf_putc(&text, i % 2 ? '{' : '[');
        for (uint64_t n = any_below(&r, 14); n; n--)
            pdl_buf_put(&text, t_str(words[any_below(&r, T_LEN(words))]));
        check_beginnings(pdl_buf_str(&text), &end);
        pdl_drop(end);
        pdl_buf_fini(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_certain), cmocka_unit_test(only_extended),
        cmocka_unit_test(only_extended_at_random), cmocka_unit_test(nothing_is_taken_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
