/* test_yaml.c -- loading: tree, places, errors, limits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/arena.h"
#include "base/limits.h"
#include "value/text.h"
#include "yaml/yaml.h"

#include "base/banned.h"

static const pdl_node *load(pdl_arena *a, const char *text) {
    pdl_err err = {0};
    pdl_source *src;
    const pdl_node *root;
    if (!pdl_yaml_source(a, t_str("t.pdl"), t_str(text), &src, &err) ||
        !pdl_yaml_load(a, src, &root, &err)) {
        fail_msg("%s: %s", text, err.msg);
        return NULL;
    }
    return root;
}

static void test_values(void **state) {
    (void)state;
    static const struct {
        const char *text, *repr;
    } rows[] = {
        {"", "None"},
        {"# c\n", "None"},
        {"a: [1, 2.5, yes]\nb: 'it''s'\n", "{'a': [1, 2.5, True], 'b': \"it's\"}"},
        {"base: &b {x: 1, y: 2}\nd: {<<: *b, y: 3}",
         "{'base': {'x': 1, 'y': 2}, 'd': {'x': 1, 'y': 3}}"},
        {"- &b {x: 1}\n- {<<: [*b, {z: 9}]}", "[{'x': 1}, {'z': 9, 'x': 1}]"},
        {"a: 1\na: 2", "{'a': 2}"},
        {"{1: a, true: b}", "{1: 'b'}"},
        {"a: |\n  x\n   y\n", "{'a': 'x\\n y\\n'}"},
        {"a: >\n  \tx\n  y\n", "{'a': '\\tx\\ny\\n'}"},
        {"{a:}", "{'a': None}"},
        {"a: !\nb: 1", "{'a': None, 'b': 1}"},
        {"%FOO x\n---\na", "'a'"},
        {"%YAML 1.3\n---\na", "'a'"},
        {"!!omap [a: 1, b: 2]", "[('a', 1), ('b', 2)]"},
        {"d: 2024-01-15", "{'d': datetime.date(2024, 1, 15)}"},
        {"\"a\\u00e9\\\n  b\"", "'a\xc3\xa9"
                                "b'"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_err err = {0};
        pdl_val v;
        pdl_buf b = PDL_BUF;
        T_ROW(i);
        if (!pdl_yaml_read(t_str(rows[i].text), &v, NULL, NULL, &err))
            fail_msg("row %zu: %s", i, err.msg);
        t_assert(pdl_val_repr(v, &b, &err));
        t_assert_str(pdl_buf_str(&b), rows[i].repr);
        pdl_drop(v);
        pdl_buf_fini(&b);
    }
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t line, column;
        const char *py_class, *msg;
    } rows[] = {
        {"a: b: c", 1, 5, "ScannerError", "mapping values are not allowed here"},
        {"a:\t1", 1, 3, "ScannerError", "found character '\\t' that cannot start any token"},
        {"a: [1, 2", 1, 9, "ParserError", "expected ',' or ']', but got '<stream end>'"},
        {"[a?b]", 1, 3, "ParserError", "expected ',' or ']', but got '?'"},
        {"a: *x", 1, 4, "ComposerError", "found undefined alias 'x'"},
        {"&a [*a]", 1, 5, "ComposerError", "found recursive alias 'a'"},
        {"- &a 1\n- &a 2", 2, 3, "ComposerError", "second occurrence"},
        {"a\n---\nb", 2, 1, "ComposerError", "but found another document"},
        {"? [a]\n: b", 1, 3, "ConstructorError", "found unhashable key"},
        {"- [2024-02-30]\n- !x a", 2, 3, "ConstructorError",
         "could not determine a constructor for the tag '!x'"},
        {"- 2024-02-30", 1, 3, "ValueError", "day is out of range for month"},
        {"a: |# c\n  x", 1, 5, "ScannerError",
         "expected chomping or indentation indicators, but found '#'"},
        {"<<: 1", 1, 5, "ConstructorError",
         "expected a mapping or list of mappings for merging, but found scalar"},
        {"\"\\q\"", 1, 3, "ScannerError", "found unknown escape character 'q'"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_err err = {0};
        pdl_val v;
        uint32_t line, column;
        T_ROW(i);
        t_assert(!pdl_yaml_read(t_str(rows[i].text), &v, &line, &column, &err));
        t_assert_str(pdl_str_of(err.msg), rows[i].msg);
        t_assert_str(pdl_str_of(err.py_class), rows[i].py_class);
        if (line != rows[i].line || column != rows[i].column)
            fail_msg("row %zu: %u:%u", i, line, column);
        pdl_err_fini(&err);
    }
}

/* Surrogates in escapes: a pair is its character, one alone is U+FFFD. */
static void test_surrogates(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
        {"\"\\uD83D\\uDE00 \\\\ud83d\"", "\xf0\x9f\x98\x80 \\ud83d"},
        {"\"\\ude00\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\"\\ufffd\xef\xbf\xbd\\ud83d\\ud83d\\ude00\"",
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80"},
        {"\"\\U0000fffd \\U0000d83d\\ude00\"", "\xef\xbf\xbd \xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_err err = {0};
        pdl_val v = pdl_absent();
        T_ROW(i);
        t_assert(pdl_yaml_read(t_str(rows[i].text), &v, NULL, NULL, &err));
        t_assert_str(pdl_str_get(v), rows[i].want);
        pdl_drop(v);
    }
}

/* Every byte of the text that means itself is found where it is. */
static void test_text_loc(void **state) {
    (void)state;
    static const struct {
        const char *text, *part, *want; /* part of the scalar's text; the source under it */
    } rows[] = {
        {"k: plain ${ x } y", "${ x }", "${ x }"},
        {"k: one\n   two ${ x }", "${ x }", "${ x }"},
        {"k: 'it''s ${ x }'", "${ x }", "${ x }"},
        {"k: \"\\n\\u00e9 ${ x } \\\n   ${ y }\"", "${ y }", "${ y }"},
        {"k: \"a\\tb\"", "\t", "\\t"},
        {"k: \"\\ud83d\\ude00\\ud83d ${ x }\"", "${ x }", "${ x }"},
        {"k: |\n  a\n    ${ x }\n", "${ x }", "${ x }"},
        {"k: >-\n  a\n  b\n\n  ${ x }\n   c\n", "${ x }", "${ x }"},
        {"k: |2\n    ${ x }\n", "  ${ x }", "  ${ x }"},
        {"k: !!str &a 'b ${ x }'", "${ x }", "${ x }"},
        {"- k: |\n\n    \xc3\xa9 ${ x }\n    z", "z", "z"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_arena *a = pdl_arena_make();
        const pdl_node *n = load(a, rows[i].text);
        T_ROW(i);
        if (n->kind == PDL_NODE_SEQ) n = n->items[0];
        n = n->pairs[0].value;
        size_t from = pdl_str_find(n->text, t_str(rows[i].part), 0);
        t_assert(from != PDL_NOT_FOUND);
        pdl_loc l = pdl_node_text_loc(n, from, from + t_str(rows[i].part).n);
        t_assert_str(pdl_str_sub(n->src->text, l.start, l.end), rows[i].want);
        pdl_arena_free(a);
    }
}

static void test_limits(void **state) {
    (void)state;
    pdl_buf deep = PDL_BUF, bomb = PDL_BUF;
    for (int i = 0; i < PDL_MAX_YAML_DEPTH + 1; i++) PDL_PUT(&deep, "[");
    PDL_PUT(&bomb, "- &a0 [x, x]\n");
    for (int i = 1; i < 40; i++) pdl_buf_putf(&bomb, "- &a%d [*a%d, *a%d]\n", i, i - 1, i - 1);
    const pdl_str texts[] = {pdl_buf_str(&deep), pdl_buf_str(&bomb)};
    for (size_t i = 0; i < T_LEN(texts); i++) {
        pdl_err err = {0};
        pdl_val v;
        T_ROW(i);
        t_assert(!pdl_yaml_read(texts[i], &v, NULL, NULL, &err));
        assert_int_equal(err.kind, PDL_E_limit);
        pdl_err_fini(&err);
    }
    pdl_buf_fini(&deep);
    pdl_buf_fini(&bomb);
}

static void test_source(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    pdl_source *src;
    pdl_err err = {0};
    t_assert(pdl_yaml_source(a, t_str("x"),
                             t_str("\xef\xbb\xbf"
                                   "a\r\nb\rc"),
                             &src, &err));
    t_assert_str(src->text, "a\nb\nc");
    t_assert(!pdl_yaml_source(a, t_str("x.pdl"), t_str("a\xff"), &src, &err));
    t_assert_str(pdl_str_of(err.msg), "byte 0xff is not UTF-8 (byte offset 1)");
    assert_int_equal(pdl_loc_line(err.loc), 1);
    assert_int_equal(pdl_source_column(err.loc.src, err.loc.start), 2);
    pdl_err_fini(&err);
    pdl_buf b = PDL_BUF;
    const pdl_node *n = load(a, "a: [1]\n");
    pdl_node_dump(n, &b);
    t_assert(b.len > 0);
    t_assert(pdl_node_find(n, t_str("a"), NULL) && !pdl_node_find(n, t_str("b"), NULL));
    pdl_buf_fini(&b);
    pdl_arena_free(a);
}

/* Texts around the lengths at which they are kept in different ways: each twice, before and behind
 * others. */
static void test_lengths(void **state) {
    (void)state;
    static const size_t lengths[] = {
        0,    1,    7,    8,     9,     PDL_NODE_SHORT, PDL_NODE_SHORT + 1, 127, 128, 255,
        2047, 2048, 2049, 16383, 16384, 70000};
    enum { N = sizeof lengths / sizeof lengths[0] };
    pdl_arena *a = pdl_arena_make();
    pdl_buf text = PDL_BUF;
    for (size_t i = 0; i < 2 * N; i++) {
        PDL_PUT(&text, "- '");
        for (size_t k = 0; k < lengths[i % N]; k++) pdl_buf_putc(&text, (char)('a' + k % 26));
        PDL_PUT(&text, "'\n");
    }
    const pdl_node *list = load(a, pdl_buf_z(&text));
    pdl_recent recent = {0};
    t_assert(list->n == 2 * N);
    for (size_t i = 0; i < 2 * N; i++) {
        const pdl_node *n = list->items[i], *twin = list->items[i % N];
        t_assert(n->text.n == lengths[i % N] && n->text.p[n->text.n] == 0);
        for (size_t k = 0; k < n->text.n; k++) t_assert(n->text.p[k] == (char)('a' + k % 26));
        if (n->text.n <= PDL_NODE_SHORT) t_assert(n->text.p == twin->text.p);
        pdl_val v = pdl_node_value(n), again = pdl_recent_value(&recent, n);
        t_assert_str(pdl_str_get(v), n->text.p);
        t_assert(pdl_val_eq(v, again));
        pdl_drop(v);
        pdl_drop(again);
    }
    pdl_recent_fini(&recent);
    pdl_arena_free(a); /* values of long texts go with it */
    pdl_buf_fini(&text);
}

/* Keys are equal as values; the memory of recent texts does not mix up what it shares. */
static void test_keys(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    pdl_buf text = PDL_BUF;
    pdl_err err = {0};
    pdl_val v;
    for (int i = 0; i < 1000; i++) pdl_buf_putf(&text, "k%d: k%d\n", i % 500, i);
    PDL_PUT(&text, "1: int\n1.0: float\ntrue: bool\n'1': text\n0x1: hex\n");
    const pdl_node *map = load(a, pdl_buf_z(&text));
    t_assert(map->n == 503); /* 1, 1.0 and 0x1 are one key; true is a text */
    t_assert(pdl_yaml_to_val_written(map, &v, &err));
    for (int i = 0; i < 500; i++) {
        char key[16], value[16];
        snprintf(key, sizeof key, "k%d", i);
        snprintf(value, sizeof value, "k%d", i + 500);
        t_assert_str(pdl_str_get(pdl_dict_getz(v, key)), value);
    }
    t_assert_str(pdl_str_get(pdl_dict_find(v, pdl_int(1))), "hex");
    t_assert_str(pdl_str_get(pdl_dict_getz(v, "1")), "text");
    t_assert_str(pdl_str_get(pdl_dict_getz(v, "true")), "bool");
    pdl_drop(v);
    pdl_buf_fini(&text);
    pdl_arena_free(a);
}

/* A key that is written twice has its last value at its first place, however many keys there are
 * and however much they are alike. */
static void test_repeated(void **state) {
    (void)state;
    static const struct {
        const char *before, *after;
    } forms[] = {{"k", "x"}, {"", "key"}, {"'", "'"}, {"", ""}};
    for (size_t f = 0; f < T_LEN(forms); f++)
        for (size_t n = 1; n <= 40; n++) {
            T_ROW(f * 100 + n);
            pdl_arena *a = pdl_arena_make();
            pdl_buf b = PDL_BUF;
            char line[40];
            for (size_t i = 0; i <= n; i++) { /* the last one repeats one in the middle */
                snprintf(line, sizeof line, "%s%zu%s: %zu\n", forms[f].before, i < n ? i : n / 2,
                         forms[f].after, i);
                pdl_buf_put(&b, t_str(line));
            }
            const pdl_node *root = load(a, pdl_buf_z(&b));
            t_assert(root->n == n && root->repeats);
            for (uint32_t i = 0; i < root->n; i++) {
                snprintf(line, sizeof line, "%zu", i == n / 2 ? n : (size_t)i);
                t_assert_str(root->pairs[i].value->text, line);
            }
            pdl_buf_fini(&b);
            pdl_arena_free(a);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),     cmocka_unit_test(test_errors),
        cmocka_unit_test(test_surrogates), cmocka_unit_test(test_text_loc),
        cmocka_unit_test(test_repeated),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_source),     cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
