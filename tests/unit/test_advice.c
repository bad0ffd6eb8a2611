/* test_advice.c -- what is said about expressions that are written as in another language.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "expr/expr.h"
#include "native/native.h"

#include "base/banned.h"

static bool is_filter(pdl_str name) { return pdl_filter_find(name) != NULL; }
static bool is_test(pdl_str name) { return pdl_test_find(name) != NULL; }
static const pdl_xnames known = {is_filter, is_test, pdl_filter_near, pdl_test_near};

/* hint: how it begins; "": none */
static const struct {
    const char *text, *hint;
} syntax[] = {
    {"${ a && b }", "write `and`"},
    {"x ${ a && b } y", "write `and`"},
    {"${ 1 < 2 and a & b }", "write `and`"},
    {"${ a || b }", "write `or`"},
    {"${ a | }", ""},
    {"${ a = b }", "write == to compare"},
    {"${ a and (b = 3) }", "write == to compare"},
    {"${ a === b }", "write =="},
    {"${ a !== b }", "write !="},
    {"${ a += 1 }", "an expression changes nothing"},
    {"${ a++ }", "an expression changes nothing"},
    {"${ a - }", ""},
    {"${ a ? b : c }", "write `a if condition else b`"},
    {"${ a ?? b }", "write `a | default(b)`"},
    {"${ a?.b }", "write `(a | default({})).b`"},
    {"${ !a }", "write `not`"},
    {"${ $a }", "names inside of ${ } have no $"},
    {"${ `a` }", "a text is written in"},
    {"${ 2 ^ 3 }", "a power is written **"},
    {"${ f'{a}' }", "write 'a ' ~ x"},
    {"${ lambda x: x }", "there are no lambdas"},
    {"${ f(x => x) }", "there are no lambdas"},
    {"${ [x for x in y] }", "there are no comprehensions"},
    {"${ new Date() }", "there are no classes"},
    {"${ let x = 1 }", "`def` on a block"},
    {"${ import x }", "`import` is a block"},
    {"${ 'abc }", "the quote is not closed"},
    {"text ${ a", "a } is missing"},
    {"${ }", "an expression is missing"},
    {"${ (1 + 2 }", ""},
    {"${ a | upercase }", "did you mean 'upper'?"},
    {"${ a | size }", "did you mean 'length'?"},
    {"${ a | defalt(1) }", "did you mean 'default'?"},
    {"${ a | zzzzzz }", ""},
    {"${ a is strng }", "did you mean 'string'?"},
};

static void test_syntax(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    for (size_t i = 0; i < sizeof syntax / sizeof *syntax; i++) {
        const pdl_expr *e = pdl_expr_read(a, pdl_str_of(syntax[i].text), &known);
        pdl_str hint = e->form == PDL_X_BROKEN ? e->fault->hint : PDL_STR("it can be read");
        bool ok = *syntax[i].hint ? pdl_str_starts(hint, pdl_str_of(syntax[i].hint)) : !hint.n;
        if (!ok) fail_msg("%s: %.*s", syntax[i].text, PDL_FMT(hint));
    }
    pdl_arena_free(a);
}

/* What is suggested exists. */
static void test_words(void **state) {
    (void)state;
    static const char *const filters[] = {"uppercase", "len", "size",   "strip", "to_json",
                                          "str",       "text", "number", "concat"};
    static const char *const names[] = {"len", "str", "upper", "length", "null", "math"};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        t_assert(pdl_filter_find(pdl_filter_near(pdl_str_of(filters[i]))));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pdl_buf b = PDL_BUF;
        pdl_name_advise(pdl_str_of(names[i]), &b);
        t_assert(b.len > 0);
        pdl_buf_clear(&b);
        pdl_name_advise(PDL_STR("animal"), &b);
        t_assert(b.len == 0);
        pdl_buf_fini(&b);
    }
    t_assert_str(pdl_attribute_advice(PDL_STR("push")), "write x + [item]");
    t_assert(pdl_attribute_advice(PDL_STR("colour")).n == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
