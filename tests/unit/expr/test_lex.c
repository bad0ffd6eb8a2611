/* test_lex.c -- where text ends and tags begin: white space control, line rules, delimiters
 * (src/language/expr/lex_*.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "expr/expr.h"

#define S(lit)                                                                                     \
    { lit, sizeof(lit) - 1 }
#define NO_OPTIONS                                                                                 \
    { .autoescape = false }

static const struct {
    pdl_xoptions o;
    const char *text, *want;
} rows[] = {
    {NO_OPTIONS, "a\n", "template\n  text 'a'"},
    {{.keep_trailing_newline = true}, "a\r\n", "template\n  text 'a\\n'"},
    {{.newline = S("\r\n")}, "a\nb", "template\n  text 'a\\r\\nb'"},
    {{.newline = S("\r")}, "{{ 'a\nb' }}", "template\n  print 'a\\rb'"},
    {{.trim_blocks = true},
     "{% if x %}\na{% endif %}\n\nb",
     "template\n  if x\n    text 'a'\n  text '\\nb'"},
    {{.trim_blocks = true}, "{% if x +%}\na{% endif %}", "template\n  if x\n    text '\\na'"},
    {{.trim_blocks = true}, "{# c #}\na", "template\n  text 'a'"},
    {{.lstrip_blocks = true}, "  {% if x %}a\n  {% endif %}", "template\n  if x\n    text 'a\\n'"},
    {{.lstrip_blocks = true}, "  {%+ if x %}{% endif %}", "template\n  text '  '\n  if x"},
    {{.lstrip_blocks = true}, "  {{ x }}", "template\n  text '  '\n  print x"},
    {{.lstrip_blocks = true}, "a  {# c #}", "template\n  text 'a  '"},
    {NO_OPTIONS, "a \xc2\xa0\n{{- x -}} \xe3\x80\x80 b",
     "template\n  text 'a'\n  print x\n  text 'b'"},
    {{.line_statement = S("#"), .line_comment = S("##")},
     "# for x in [1,\n 2]:\n- {{ x }} ## c\n  # endfor \n\ny",
     "template\n  for x in [1, 2]\n    text '- '\n    print x\n    text '\\n'\n  text 'y'"},
    {{.line_comment = S("//")},
     "a // b\n// c\nd",
     "template\n  text 'a'\n  text '\\n'\n  text '\\nd'"},
    {{.variable_start = S("<%="),
      .variable_end = S("%>"),
      .block_start = S("<%"),
      .block_end = S("%>")},
     "<%= x %><% if y %>{{ z }}<% endif %>",
     "template\n  print x\n  if y\n    text '{{ z }}'"},
    {NO_OPTIONS, "{%- raw -%} {{ a }} {%- endraw %}", "template\n  text '{{ a }}'"},
    {NO_OPTIONS, "{{ {'a': {}}}}", "template\n  print {'a': {}}"},
    {NO_OPTIONS, "{{ a }", "broken TemplateSyntaxError: unexpected '}'"},
    {NO_OPTIONS, "{{ a \x01 }}", "broken TemplateSyntaxError: unexpected char '\\x01' at 5"},
    {NO_OPTIONS, "{{ a \\ }}", "broken TemplateSyntaxError: unexpected char '\\\\' at 5"},
};

static void finds_tags_in_text(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        pdl_buf b = PDL_BUF;
        pdl_expr_print(pdl_expr_read_template(a, t_str(rows[i].text), &rows[i].o, NULL), &b);
        t_assert_str(pdl_buf_str(&b), rows[i].want);
        pdl_buf_fini(&b);
        pdl_arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_tags_in_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
