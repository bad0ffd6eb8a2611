/* test_expr.c -- expressions of programs: form, tree, error, free names (expr/read.c, expr.c,
 * print.c, names.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "expr/expr.h"

static bool is_filter(pdl_str s) { return pdl_str_is(s, "upper") || pdl_str_is(s, "join"); }
static bool is_test(pdl_str s) { return pdl_str_is(s, "odd") || pdl_str_is(s, "in"); }
static const pdl_xnames names = {is_filter, is_test, NULL, NULL};

static const struct {
    const char *text, *want;
} rows[] = {
    /* forms */
    {"", "plain ''"},
    {"a { $ } {{ x }} {% if %}", "plain 'a { $ } {{ x }} {% if %}'"},
    {"{# c #} a", "plain '{# c #} a'"},
    {"x{#", "plain 'x{#'"},
    {"\r\n", "template\n  text '\\n'"},
    {"${ 1 }", "native 1"},
    {"${-1}", "native (-1)"},
    {"x ${-1}", "template\n  text 'x'\n  print 1"},
    {"${ 1 } ", "template\n  print 1\n  text ' '"},
    {"${ 1 }\n", "template\n  print 1\n  text '\\n'"},
    {"${ 1 }}", "template\n  print 1\n  text '}'"},
    {"${ 1 }{# c #}", "broken TemplateSyntaxError: chunk after expression"},
    {"${ 1 }{# c #} ", "template\n  print 1\n  text ' '"},
    {"${ 1, 2 }", "broken TemplateSyntaxError: chunk after expression"},
    {"a ${ 1, 2 }", "template\n  text 'a '\n  print (1, 2)"},
    {"${- 1 -}", "broken TemplateSyntaxError: unexpected 'end of template'"},
    {"a {#- c -#} b", "template\n  text 'a'\n  text 'b'"},
    {"{#\n", "broken TemplateSyntaxError: Missing end of comment tag"},
    {"a\r\n${ 'b\r\nc' }", "template\n  text 'a\\n'\n  print 'b\\nc'"},
    {"{%%%%%PDL%%%%%%%%%% if x %%%%%PDL%%%%%%%%%%}a{%%%%%PDL%%%%%%%%%% endif %%%%%PDL%%%%%%%%%%}",
     "template\n  if x\n    text 'a'"},
    /* precedence */
    {"${ 1 + 2 * 3 ~ 4 - 5 }", "native ((1 + ((2 * 3) ~ 4)) - 5)"},
    {"${ -2 ** 2 ** 3 }", "native (((-2) ** 2) ** 3)"},
    {"${ not a in b or c and not not d }", "native ((not (a in b)) or (c and (not (not d))))"},
    {"${ 1 < 2 <= x not in y == z }", "native (1 < 2 <= x not in y == z)"},
    {"${ -3 | upper }", "native ((-3) | upper)"},
    {"${ '1' | join + 1 }", "native (('1' | join) + 1)"},
    {"${ a if b if c else d if e else f }", "native ((a if b) if c else (d if e else f))"},
    {"${ a.b.0[1:2][::3, -1](x, *y, k=1, **z) }",
     "native a.b[0][1:2][(::3, (-1))](x, k=1, *y, **z)"},
    {"${ x is not odd and y is in [1] }", "native ((x is not odd) and (y is in([1])))"},
    {"${ {'a': {1: ()}, } }", "native {'a': {1: ()}}"},
    {"${ [1, (2,), (3), none, True] }", "native [1, (2,), 3, None, True]"},
    /* words are names where an operand is due */
    {"${ if }", "native if"},
    {"${ not in l }",
     "broken TemplateSyntaxError: expected token 'end of print statement', got 'l'"},
    /* literals */
    {"${ [0x_fF, 0b1_0, 0o17, 00, 1_000, 1.5e-3, 1e3, 99999999999999999999] }",
     "native [255, 2, 15, 0, 1000, 0.0015, 1000.0, 99999999999999999999]"},
    {"${ '\\x41\\u00e9\\101\\q\\\n' \"\\'\" }", "native \"A\xc3\xa9"
                                                "A\\\\q'\""},
    {"${ '\\x4' }", "broken TemplateSyntaxError: truncated \\xXX escape"},
    {"${ \xc3\xa9 }", "native \xc3\xa9"},
    {"${ \xc2\xb2x }", "broken TemplateSyntaxError: Invalid character in identifier"},
    /* errors */
    {"${ }", "broken TemplateSyntaxError: Expected an expression, got 'end of print statement'"},
    {"${ a b }", "broken TemplateSyntaxError: expected token 'end of print statement', got 'b'"},
    {"${ (1 }", "broken TemplateSyntaxError: unexpected '}', expected ')'"},
    {"${ 1",
     "broken TemplateSyntaxError: unexpected end of template, expected 'end of print statement'."},
    {"\xc3\xa9 ${ 'a }", "broken TemplateSyntaxError: unexpected char \"'\" at 5"},
    {"${ 1. }", "broken TemplateSyntaxError: expected name or number"},
    {"${ f(a=1, 2) }", "broken TemplateSyntaxError: invalid syntax for function call expression"},
    {"${ f(a=1, a=2) }", "broken SyntaxError: keyword argument repeated: a"},
    {"${ 3 is odd is odd }", "broken TemplateSyntaxError: You cannot chain multiple tests with is"},
    /* unknown names: the outermost first; deferred in a branch; never looked at behind a
     * constant */
    {"${ x | no | nay }", "broken TemplateAssertionError: No filter named 'nay'."},
    {"${ x is nay }", "broken TemplateAssertionError: No test named 'nay'."},
    {"${ 1 if x | no }", "native (1 if (x | ?no))"},
    {"${ true or x | no }", "native (True or (x | ?no))"},
};

static void reads_expressions(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        pdl_buf b = PDL_BUF;
        pdl_expr_print(pdl_expr_read(a, t_str(rows[i].text), &names), &b);
        t_assert_str(pdl_buf_str(&b), rows[i].want);
        pdl_buf_fini(&b);
        pdl_arena_free(a);
    }
}

static const struct {
    const char *text;
    uint32_t start, end;
} marks[] = {
    {"${ a b }", 5, 6},         {"ab\r\ncd\r\n${ a b }", 13, 14}, /* offsets count the CRs */
    {"${ x | nosuch }", 3, 13}, {"${ 1 + x | nosuch }", 7, 17},   {"${ 1, 2 }", 4, 5},
};

static void marks_errors_in_the_text_as_written(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(marks); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        const pdl_expr *e = pdl_expr_read(a, t_str(marks[i].text), &names);
        assert_int_equal(e->form, PDL_X_BROKEN);
        assert_int_equal(e->fault->start, marks[i].start);
        assert_int_equal(e->fault->end, marks[i].end);
        pdl_arena_free(a);
    }
}

static const struct {
    const char *text, *want; /* names, each followed by a blank */
} free_rows[] = {
    {"${ a + b.c[d] + a }", "a b d "},
    {"x", ""},
    {"${ true }", ""},
    {"${ f(k=v) | join(x) is in y }", "f v x y "},
};

static void lists_free_names(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(free_rows); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        pdl_buf b = PDL_BUF;
        const pdl_expr *e = pdl_expr_read(a, t_str(free_rows[i].text), NULL);
        for (uint32_t k = 0; k < e->n_free; k++)
            pdl_buf_putf(&b, "%.*s ", PDL_FMT(e->free_names[k]));
        t_assert_str(pdl_buf_str(&b), free_rows[i].want);
        pdl_buf_fini(&b);
        pdl_arena_free(a);
    }
}

/* head, n times middle, tail: must be read without using the C stack, or be refused. */
static const struct {
    const char *head, *middle, *tail;
    size_t n;
    bool ok;
} long_rows[] = {
    {"${ a", " + a", " }", 20000, true},         {"${ a", " ~ a", " }", 20000, true},
    {"${ a", " < a", " }", 20000, true},         {"${ a", "|upper", " }", 20000, true},
    {"${ a", ".b", " }", 20000, true},           {"${ a", "()", " }", 20000, true},
    {"${ a", " if a else a", " }", 20000, true}, {"${ a", " or a", " }", 20000, true},
    {"${ [a", ",a", "] }", 20000, true},         {"${ ", "[", "1 }", 20000, false},
    {"${ ", "-", "1 }", 20000, false},           {"${ ", "not ", "1 }", 20000, false},
    {"${ ", "a[", "1 }", 20000, false},          {"${ ", "f(", "1 }", 20000, false},
    {"${ ", "{1:", "1 }", 20000, false},
};

static void long_chains_are_read_and_deep_ones_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(long_rows); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        pdl_buf b = PDL_BUF, shown = PDL_BUF;
        pdl_buf_put(&b, t_str(long_rows[i].head));
        for (size_t k = 0; k < long_rows[i].n; k++) pdl_buf_put(&b, t_str(long_rows[i].middle));
        pdl_buf_put(&b, t_str(long_rows[i].tail));
        const pdl_expr *e = pdl_expr_read(a, pdl_buf_str(&b), &names);
        t_assert((e->form == PDL_X_NATIVE) == long_rows[i].ok);
        if (!long_rows[i].ok)
            t_assert_str(e->fault->msg, "expression is nested too deeply (more than 200 levels)");
        pdl_expr_print(e, &shown);
        pdl_buf_fini(&shown);
        pdl_buf_fini(&b);
        pdl_arena_free(a);
    }
}

/* What is read later is as if it had been read at once; only a text that is never plain waits. */
static void reads_later(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool waits;
    } texts[] = {
        {"${ a + b }", true},
        {"${a}", true},
        {"${}", true},
        {"${ a b }", true},
        {"${ a }\r\n${ b }", true},
        {"${ a } and ${ b }", true},
        {"${ x | nosuch }", true},
        {"${ '}' }", true},
        {"${{# c #}}", true},
        {"${ a }\n", false},
        {"a ${ b }", false},
        {"${", false},
        {"${ a", false},
        {"plain", false},
        {"{# c #}", false},
        {"", false},
    };
    for (size_t i = 0; i < T_LEN(texts); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        const pdl_expr *later = pdl_expr_later(a, t_str(texts[i].text), &names);
        const pdl_expr *e = pdl_expr_read(a, t_str(texts[i].text), &names);
        pdl_buf x = PDL_BUF, y = PDL_BUF;
        assert_int_equal(later->is_unread, texts[i].waits);
        assert_true(!texts[i].waits || e->form != PDL_X_PLAIN);
        assert_ptr_equal(pdl_expr_now(later), later);
        assert_false(later->is_unread);
        assert_int_equal(later->form, e->form);
        assert_int_equal(later->n_free, e->n_free);
        assert_int_equal(later->has_call, e->has_call);
        t_assert_str(later->source, texts[i].text);
        pdl_expr_print(later, &x);
        pdl_expr_print(e, &y);
        t_assert_str(pdl_buf_str(&x), pdl_buf_z(&y));
        if (e->form == PDL_X_BROKEN) t_assert_str(later->fault->msg, e->fault->msg.p);
        pdl_buf_fini(&x);
        pdl_buf_fini(&y);
        pdl_arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_expressions),
        cmocka_unit_test(marks_errors_in_the_text_as_written),
        cmocka_unit_test(lists_free_names),
        cmocka_unit_test(reads_later),
        cmocka_unit_test(long_chains_are_read_and_deep_ones_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
