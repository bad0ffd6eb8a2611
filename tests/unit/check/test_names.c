/* test_names.c -- the problems that `pdl check` finds without a run: expressions, names, modules,
 * lint.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/check.h"
#include "lang/load.h"

#include "t.h"

#include "base/banned.h"

/* Codes and lines of what is found, "CODE@LINE ". Modules: `m` defines a and b, `bad` does not
 * load, `loop` includes itself, others are missing. */
static const struct {
    const char *program, *want;
} rows[] = {
    {"${ x }", "name-undefined@1 "},
    {"${ x | default(1) }${ y is defined }", ""},
    {"${ x is defined and x.y }", ""},
    {"${ range(3) }${ pdl_context }${ stdlib }", ""},
    {"{defs: {x: 1}, text: '${ x }'}", ""},
    {"text: [{def: x, data: 1}, '${ x }']", ""},
    {"text: ['${ x }', {def: x, data: 1}]", "name-undefined@1 "},
    {"text: [{def: x, data: '${ x }'}]", "name-undefined@1 "},
    {"text: [{defs: {y: {text: [{def: z, data: 1}]}}, data: 1}, '${ y }${ z }']",
     "name-undefined@1 "},
    {"text: [{for: {i: [1]}, index: k, repeat: '${ i }${ k }'}, '${ i }${ k }']", ""},
    {"text: [{for: {i: [1]}, index: k, map: {def: m, data: '${ i }${ k }'}}, '${ i }', '${ m }']",
     "name-undefined@1 name-undefined@1 "},
    {"{repeat: {text: ['${ x }', {def: x, data: 1}]}, until: '${ x }'}", ""},
    {"{defs: {f: {function: {x: integer}, return: '${ f(x) }${ x }'}}, text: '${ x }'}",
     "name-undefined@1 "},
    {"match: 1\nwith:\n- case: {any: , def: v}\n  then: ${ v }", ""},
    {"text: [{model: m, modelResponse: r}, '${ r }']", ""},
    {"text: [{if: '${ x is defined }', then: '${ x }'}]", ""},
    {"text: [{include: m}, '${ a }${ b }${ c }']", "name-undefined@1 "},
    {"text: [{defs: {m: {import: m}}, data: 1}, '${ m.a }${ a }']", "name-undefined@1 "},
    {"include: bad", "module-broken@1 "},
    {"include: loop", "module-cycle@1 "},
    {"text:\n- include: none\n- ${ anything }", "module-missing@2 "},
    {"data: ${ f( }", "expr-syntax@1 "},
    {"data: ${ 1 | uper }", "filter-unknown@1 "},
    {"data: ${ 1 is evn }", "test-unknown@1 "},
    {"x ${ 1 | uper } y", "filter-unknown@1 "},
    {"data: x\nparser: {regex: '(a'}", "regex@2 "},
    {"lang: jinja\ncode: '{{ 1'", "jinja-syntax@2 "},
    {"if: 'false'\nthen: a", "literal-condition@1 "},
    {"if: true\nthen: no", "norway@2 "},
    {"data: no", ""},
    {"data: 1\nrole: sytem", "role@2 "},
    {"data: [a]\nspec: [str]", "type-deprecated@2 "},
    {"{defs: {x: 1}, get: x}", "get@1 "},
    {"data: 1\ndef_: x", "synonym@2 "},
    {"repeat: x", "endless-loop@1 "},
    {"while: true\nrepeat: x", "endless-loop@1 "},
    {"until: ${ false }\nrepeat: x\nmaxIterations: null", "endless-loop@1 "},
    {"while: true\nrepeat: x\nmaxIterations: 2", ""},
    {"while: true\nuntil: ${ pdl_usage }\nrepeat: x", ""},
    {"data: 2001-12-14", "date@1 "},
    {"'a {# b #} c'", "comment@1 "},
    {"data: '{# ${ x( #}'\nraw: true", ""},
    {"data: 1\ncontribute: [nobody]", "name-undefined@2 "},
    /* every part of an expression is looked at */
    {"${ a1[a2] }", "name-undefined@1 name-undefined@1 "},
    {"${ [1][a1:a2:a3] }", "name-undefined@1 name-undefined@1 name-undefined@1 "},
    {"${ a1(a2, *a3, k=a4, **a5) }",
     "name-undefined@1 name-undefined@1 name-undefined@1 name-undefined@1 name-undefined@1 "},
    {"${ 1 | round(a1) }${ 1 is divisibleby(a2) }", "name-undefined@1 name-undefined@1 "},
    {"${ -a1 + a2 }${ a3 and a4 or a5 }",
     "name-undefined@1 name-undefined@1 name-undefined@1 name-undefined@1 name-undefined@1 "},
    {"${ a1 < a2 < a3 }", "name-undefined@1 name-undefined@1 name-undefined@1 "},
    {"${ a1 if a2 else a3 }", "name-undefined@1 name-undefined@1 name-undefined@1 "},
    {"${ [a1, (a2, a3)] }${ a4 ~ a5 }",
     "name-undefined@1 name-undefined@1 name-undefined@1 name-undefined@1 name-undefined@1 "},
    {"text: ['${ {a1: a2} }']", "name-undefined@1 name-undefined@1 "},
    {"${ 1 if false else (2 | uper) }", "filter-unknown@1 "},
    {"${ 1 if false else (2 is evn) }", "test-unknown@1 "},
    {"match: [1, 2]\nwith:\n- case: {array: [{any: , def: v}, {any: , def: w}]}\n  then: ${ v }${ "
     "w }${ u }",
     "name-undefined@4 "},
    {"match: {a: 1}\nwith:\n- case: {object: {a: {any: , def: v}}}\n  then: ${ v }\n- case: "
     "{anyOf: [{any: , def: x}, 1]}\n  then: ${ x }",
     ""},
    /* and every field */
    {"data: [1, {a: ['${ a1 }'], '${ a2 }': 1}]", "name-undefined@1 name-undefined@1 "},
    {"data: 1\nretry: {tries: '${ a1 }', exceptions: ['${ a2 }'], delay: '${ a3 }', max_delay: '${ "
     "a4 }', backoff: '${ a5 }', jitter: ['${ a6 }', 1]}",
     "name-undefined@2 name-undefined@2 name-undefined@2 name-undefined@2 name-undefined@2 "
     "name-undefined@2 "},
    {"data: 1\nbudget: {calls: '${ a1 }', tokens: '${ a2 }', cost: '${ a3 }', seconds: '${ a4 }'}",
     "name-undefined@2 name-undefined@2 name-undefined@2 name-undefined@2 "},
    {"defs: {g: {aggregator: {file: '${ a1 }', mode: '${ a2 }', encoding: '${ a3 }', prefix: '${ "
     "a4 }', suffix: '${ a5 }', flush: '${ a6 }'}}}\ndata: 1",
     "name-undefined@1 name-undefined@1 name-undefined@1 name-undefined@1 name-undefined@1 "
     "name-undefined@1 "},
    {"{for: {i: '${ a1 }'}, repeat: '${ i }', until: '${ a2 }', maxIterations: '${ a3 }', join: "
     "{reduce: '${ a4 }'}}",
     "name-undefined@1 name-undefined@1 name-undefined@1 name-undefined@1 "},
    {"{while: '${ a1 }', repeat: x}", "name-undefined@1 "},
    {"{model: '${ a1 }', input: '${ a2 }', parameters: {p: '${ a3 }'}}",
     "name-undefined@1 name-undefined@1 name-undefined@1 "},
    {"{args: ['${ a1 }', b]}", "name-undefined@1 "},
    {"{call: '${ a1 }', args: {x: '${ a2 }'}}", "name-undefined@1 name-undefined@1 "},
    {"{read: '${ a1 }', message: '${ not looked at }'}", "name-undefined@1 "},
    {"{match: '${ a1 }', with: [{case: 1, if: '${ a2 }', then: '${ a3 }'}]}",
     "name-undefined@1 name-undefined@1 name-undefined@1 "},
    {"{if: '${ a1 }', then: '${ a2 }', else: '${ a3 }'}",
     "name-undefined@1 name-undefined@1 name-undefined@1 "},
    {"{data: 1, fallback: '${ a1 }${ pdl_error.kind }'}", "name-undefined@1 "},
    {"{data: 1, contribute: [{context: {value: '${ a1 }'}}]}", "name-undefined@1 "},
    {"{data: 1, contribute: [{}]}", "contribute@1 "},
    {"lang: jinja\ncode: '{{ 1 | uper }}'", "filter-unknown@2 "},
    {"lang: jinja\ncode: '{{ 1 is evn }}'", "test-unknown@2 "},
    {"lang: jinja\ncode: '{% filter uper %}a{% endfilter %}'", "filter-unknown@2 "},
    {"{lang: jinja, code: '{{ a1 }}{{ a2.b }}'}", "name-undefined@1 name-undefined@1 "},
    {"{array: ['${ a1 }'], role: user}", "name-undefined@1 "},
    {"{object: {k: '${ a1 }'}}", "name-undefined@1 "},
    {"{for: {'${ a1 }': [1]}, repeat: '${ any }'}", "name-undefined@1 "},
    {"text: [{for: {i: [1], k: [2]}, repeat: '${ i }${ k }'}, '${ k }']", ""},
};

static bool open_source(void *user, const pdl_module_name *module, pdl_buf *name, pdl_buf *bytes,
                        pdl_err *err) {
    (void)user;
    pdl_str path = module->path;
    pdl_buf_put(name, path);
    if (pdl_str_is(path, "m"))
        PDL_PUT(bytes, "text: [{def: a, data: 1}, {defs: {b: 2}, data: 1}]");
    else if (pdl_str_is(path, "bad"))
        PDL_PUT(bytes, "foo: 1");
    else if (pdl_str_is(path, "loop"))
        PDL_PUT(bytes, "include: loop");
    else
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "file %.*s not found", PDL_FMT(path));
    return true;
}

static void what_check_finds(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        bool ok;
        pdl_program *p = pdl_program_new();
        pdl_check_options opt = {.open = open_source};
        pdl_buf out = PDL_BUF;
        pdl_program_load(p, PDL_STR("t.pdl"), t_str(rows[i].program), &ok);
        t_assert(ok);
        pdl_program_check(p, &opt);
        for (size_t k = 0; k < p->diags.n; k++)
            if (!p->diags.p[k].reference_only)
                pdl_buf_putf(&out, "%s@%u ", p->diags.p[k].code, pdl_loc_line(p->diags.p[k].loc));
        t_assert_str(pdl_buf_str(&out), rows[i].want);
        pdl_buf_fini(&out);
        pdl_program_drop(p);
    }
}

static void names_from_outside(void **state) {
    (void)state;
    bool ok;
    static const pdl_str names[] = {{"x", 1}};
    pdl_program *p = pdl_program_new();
    pdl_check_options opt = {.names = names, .n_names = 1};
    pdl_program_load(p, PDL_STR("t.pdl"), PDL_STR("text: ['${ x }', {include: unknown}, '${ y }']"),
                     &ok);
    pdl_program_check(p, &opt);
    assert_int_equal(p->diags.n, 0);
    pdl_program_drop(p);
}

static void marks_the_name_and_suggests(void **state) {
    (void)state;
    bool ok;
    pdl_program *p = pdl_program_new();
    pdl_check_options opt = {0};
    pdl_program_load(p, PDL_STR("t.pdl"), PDL_STR("defs: {name: 1}\ntext: \"a ${ nmae }\""), &ok);
    pdl_program_check(p, &opt);
    assert_int_equal(p->diags.n, 1);
    assert_int_equal(pdl_source_column(p->source, p->diags.p[0].mark.start), 13);
    t_assert_str(p->diags.p[0].hint, "did you mean 'name'?");
    pdl_program_drop(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_check_finds),
        cmocka_unit_test(names_from_outside),
        cmocka_unit_test(marks_the_name_and_suggests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
