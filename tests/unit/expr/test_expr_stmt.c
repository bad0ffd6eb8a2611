/* test_expr_stmt.c -- templates: statements, messages about tags, options (expr/read_stmt.c,
 * check.c, options.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "expr/expr.h"

static bool is_filter(pdl_str s) { return pdl_str_is(s, "upper"); }
static bool is_test(pdl_str s) { return pdl_str_is(s, "odd"); }
static const pdl_xnames names = {is_filter, is_test, NULL, NULL};

static const struct {
    const char *text, *want;
} rows[] = {
    {"{% for a, (b, c) in l if a recursive %}x{% else %}y{% endfor %}",
     "template\n  for (a, (b, c)) in l if a recursive\n    text 'x'\n  else\n    text 'y'"},
    {"{% if a %}1{% elif b %}2{% else %}3{% endif %}",
     "template\n  if a\n    text '1'\n  else\n    if b\n      text '2'\n    else\n      text '3'"},
    {"{% set a, n.b = 1, 2 %}", "template\n  set (a, n.b) = (1, 2)"},
    {"{% set a | upper | upper %}x{% endset %}",
     "template\n  set a (( | upper) | upper)\n    text 'x'"},
    {"{% macro m(a, b=1) %}{{ caller(varargs) }}{% endmacro %}",
     "template\n  macro m(a, b=1) caller varargs\n    print caller(varargs)"},
    {"{% macro m(kwargs) %}{{ kwargs }}{% endmacro %}",
     "template\n  macro m(kwargs)\n    print kwargs"},
    {"{% call(x) m(1) %}{{ x }}{% endcall %}", "template\n  call(x) m(1)\n    print x"},
    {"{% filter upper %}x{% endfilter %}", "template\n  filter ( | upper)\n    text 'x'"},
    {"{% with a = 1, b = a %}x{% endwith %}", "template\n  with a = 1, b = a\n    text 'x'"},
    {"{% block a scoped %}x{% endblock a %}", "template\n  block a scoped\n    text 'x'"},
    {"{% autoescape true %}x{% endautoescape %}", "template\n  autoescape True\n    text 'x'"},
    {"{% print 1, 2 %}", "template\n  print 1, 2"},
    {"{% include x ignore missing %}",
     "template\n  raise TypeError 'no loader for this environment specified'"},
    {"{% raw %}{{ x }}{% endraw -%} y", "template\n  text '{{ x }}'\n  text 'y'"},
    {"a {%- if x -%} b {%- endif %} c\n",
     "template\n  text 'a'\n  if x\n    text 'b'\n  text ' c'"},
    /* messages about tags */
    {"{% do x %}", "broken TemplateSyntaxError: Encountered unknown tag 'do'."},
    {"{% for x in l %}{% do %}",
     "broken TemplateSyntaxError: Encountered unknown tag 'do'. Jinja was "
     "looking for the following tags: 'endfor' or 'else'. "
     "The innermost block that needs to be closed is 'for'."},
    {"{% for x in l %}{% if x %}{% endfor %}",
     "broken TemplateSyntaxError: Encountered unknown tag 'endfor'. You probably made a nesting "
     "mistake. "
     "Jinja is expecting "
     "this tag, but currently looking for 'elif' or 'else' or 'endif'. The innermost block that "
     "needs to be "
     "closed is 'if'."},
    {"{% set x %}",
     "broken TemplateSyntaxError: Unexpected end of template. Jinja was looking for the "
     "following tags: 'endset'. "
     "The innermost block that needs to be closed is 'set'."},
    {"{% %}", "broken TemplateSyntaxError: tag name expected"},
    {"{% raw %}x", "broken TemplateSyntaxError: Missing end of raw directive"},
    {"{% for in l %}", "broken TemplateSyntaxError: expected token 'in', got 'l'"},
    {"{% set (a + b) = 1 %}", "broken TemplateSyntaxError: can't assign to 'add'"},
    {"{% macro true() %}", "broken TemplateSyntaxError: can't assign to 'name'"},
    {"{% call m %}", "broken TemplateSyntaxError: expected call"},
    {"{% macro m(a=1, b) %}",
     "broken TemplateSyntaxError: non-default argument follows default argument"},
    {"{% block a-b %}", "broken TemplateSyntaxError: Block names in Jinja have to be valid Python "
                        "identifiers and may not contain hyphens, "
                        "use an underscore instead."},
    /* what the reference's compiler refuses, in its order */
    {"{% for loop in l %}{% endfor %}",
     "broken TemplateAssertionError: Can't assign to special loop variable in for-loop target"},
    {"{% for x in l %}{% if x %}{% set loop = 1 %}{% endif %}{% endfor %}",
     "broken TemplateAssertionError: Can't assign to special loop variable in for-loop target"},
    {"{% set loop = 1 %}", "template\n  set loop = 1"},
    {"{{ x|no }}{% block a %}{% endblock %}{% block a %}{% endblock %}",
     "broken TemplateAssertionError: block 'a' defined twice"},
    {"{% for x in l %}{% extends 'x' %}{% endfor %}",
     "broken TemplateAssertionError: cannot use extend from a non top-level scope"},
    {"{% macro m(caller) %}{{ caller() }}{% endmacro %}",
     "broken TemplateAssertionError: When defining macros or call blocks the special \"caller\" "
     "argument "
     "must be omitted or be "
     "given a default."},
    {"{% if x %}{{ x|no }}{% endif %}", "template\n  if x\n    print (x | ?no)"},
    {"{% if x %}{% for y in x %}{{ y|no }}{% endfor %}{% endif %}",
     "broken TemplateAssertionError: No filter named 'no'."},
    {"{% from 'x' import _y %}",
     "broken TemplateAssertionError: names starting with an underline can not be imported"},
};

static void reads_templates(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        pdl_buf b = PDL_BUF;
        pdl_expr_print(pdl_expr_read_template(a, t_str(rows[i].text), NULL, &names), &b);
        t_assert_str(pdl_buf_str(&b), rows[i].want);
        pdl_buf_fini(&b);
        pdl_arena_free(a);
    }
}

static const struct {
    const char *text, *want; /* names, each followed by a blank */
} free_rows[] = {
    {"{% set a = b %}{{ a }}", "b "},
    {"{{ a }}{% set a = 1 %}", "a "},
    {"{% for x in x %}{{ x }}{{ loop.index }}{% endfor %}{{ y }}", "x loop y "},
    {"{% if c %}{% set a = 1 %}{% endif %}{{ a }}", "c a "}, /* set in one branch only */
    {"{% macro m(p, q=p) %}{{ p }}{{ caller() }}{% endmacro %}{{ m(1) }}", "p caller "},
    {"{% set t = 1 %}{% for x in l %}{% block b %}{{ t }}{{ x }}{% endblock %}{% endfor %}",
     "l x "},
    {"{% set n.a = 1 %}", "n "},
};

static void lists_free_names(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(free_rows); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        pdl_buf b = PDL_BUF;
        const pdl_expr *e = pdl_expr_read_template(a, t_str(free_rows[i].text), NULL, NULL);
        for (uint32_t k = 0; k < e->n_free; k++)
            pdl_buf_putf(&b, "%.*s ", PDL_FMT(e->free_names[k]));
        t_assert_str(pdl_buf_str(&b), free_rows[i].want);
        pdl_buf_fini(&b);
        pdl_arena_free(a);
    }
}

static pdl_val one_option(const char *key, pdl_val v) {
    return pdl_dict_putz(pdl_dict_new(1), key, v);
}

static void refuses_bad_options(void **state) {
    (void)state;
    const struct {
        pdl_val dict;
        const char *cls, *msg;
    } bad[] = {
        {one_option("foo", pdl_int(1)), "TypeError",
         "Template.__new__() got an unexpected keyword argument 'foo'"},
        {one_option("newline_sequence", pdl_textz("x")), "AssertionError",
         "'newline_sequence' must be one of '\\n', '\\r\\n', or '\\r'."},
        {one_option("block_start_string", pdl_int(1)), "TypeError",
         "object of type 'int' has no len()"},
        {one_option("block_start_string", pdl_textz("{{")), "AssertionError",
         "block, variable and comment start strings must be different."},
    };
    for (size_t i = 0; i < T_LEN(bad); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        pdl_xoptions o;
        pdl_err err = {0};
        assert_false(pdl_expr_options(a, bad[i].dict, &o, &err));
        t_assert_str(t_str(err.py_class), bad[i].cls);
        t_assert_str(t_str(err.msg), bad[i].msg);
        pdl_err_fini(&err);
        pdl_drop(bad[i].dict);
        pdl_arena_free(a);
    }
}

static void deep_statements_are_refused(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    pdl_buf b = PDL_BUF;
    for (size_t i = 0; i < 5000; i++) PDL_PUT(&b, "{% if x %}");
    const pdl_expr *e = pdl_expr_read_template(a, pdl_buf_str(&b), NULL, NULL);
    t_assert_str(e->fault->msg, "expression is nested too deeply (more than 200 levels)");
    pdl_buf_clear(&b);
    PDL_PUT(&b, "{% if x %}");
    for (size_t i = 0; i < 5000; i++) PDL_PUT(&b, "{% elif x %}y");
    PDL_PUT(&b, "{% endif %}");
    assert_int_equal(pdl_expr_read_template(a, pdl_buf_str(&b), NULL, NULL)->form, PDL_X_TEMPLATE);
    pdl_buf_fini(&b);
    pdl_arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_templates),
        cmocka_unit_test(lists_free_names),
        cmocka_unit_test(refuses_bad_options),
        cmocka_unit_test(deep_statements_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
