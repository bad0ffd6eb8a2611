/* test_verify.c -- code agrees with ops.def. Changed code does not, and the error names the
 * difference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/compile.h"

#include "lang/load.h"
#include "value/label.h"

#include "t.h"

#include "base/banned.h"

static pdl_code *compile(pdl_interner *names, const char *text) {
    pdl_program *p = pdl_program_new();
    bool ok;
    pdl_program_load(p, PDL_STR("p.pdl"), pdl_str_of(text), &ok);
    if (!ok) fail_msg("%s", p->diags.p[0].text.p);
    pdl_code *c = pdl_compile_program(p, names, true);
    pdl_program_drop(p);
    return c;
}

/* One program with every construct that jumps, waits, or keeps values. */
static const char all[] =
    "defs:\n  f: {function: {x: integer, y: {optional: string}}, return: '${ x + 1 }', spec: "
    "integer}\n"
    "text:\n"
    "- {if: '${ 1 < 2 < 3 and not false or (1 if true else 2) }', then: a, else: b}\n"
    "- {match: '${ f(1) }', with: [{case: 1, then: a}, {case: {any: null, def: v}, if: '${ v }', "
    "then: b}, {then: c}]}\n"
    "- {for: {i: '${ [1] }', j: [2]}, repeat: '${ i }', while: '${ true }', until: '${ f(2) }', "
    "maxIterations: 3, index: k, join: {with: ','}}\n"
    "- {for: {i: [1]}, map: '${ i }', join: {reduce: '${ f }'}}\n"
    "- {array: [1, {object: {a: 1, b: 2}}, {sequence: [1, 2], join: {as: lastOf}}], contribute: "
    "[{result: {value: 1}}, context]}\n"
    "- {text: a, retry: {tries: 1, delay: 0.1}, fallback: b, expectations: [{expect: a, feedback: "
    "'${ f }'}]}\n"
    "- {lastOf: [{include: a.pdl}, {import: b}, {import: 'mcp:s'}, {call: '${ f }', args: {x: "
    "1}}]}\n"
    "- {model: m, parameters: {temperature: 1}, input: {array: [{role: user, content: hi}]}, "
    "parser: json, budget: {calls: 1}}\n"
    "- {lang: python, code: x, scope: {a: 1}}\n- {lang: command, code: ls}\n- {args: [ls, '${ f "
    "}']}\n- {lang: pdl, code: x}\n"
    "- {lang: jinja, code: x, parameters: {a: 1}}\n- {read: a}\n- {read: null}\n- {get: f}\n- "
    "{factor: 1}\n- {def: e, data: 1}\n"
    "- {aggregator: {file: a}}\n- {aggregator: context}\n- '${ x.append(1) }${ x[1:2, 0] }${ "
    "x[1:2] }${ -x ~ +x }'\n- '${ broken ( }'\n"
    "- \"{% for i, (a, b) in x recursive if i %}{{ loop(a) }}{{ loop.index }}{% else %}n{% endfor "
    "%}{% for q in y %}{{ q | upper }}{% endfor %}\"\n"
    "- \"{% macro m(a, b=1) %}{{ caller() }}{% endmacro %}{% call m(1) %}x{% endcall %}{% set n = "
    "namespace(a=1) %}{% set n.a = 2 %}\"\n"
    "- \"{% autoescape true %}{% with z = 1 %}{{ z }}{% endwith %}{% endautoescape %}{% filter "
    "upper %}f{% endfilter %}{% set s %}t{% endset %}\"\n";

static void test_agrees(void **state) {
    (void)state;
    pdl_interner *names = pdl_interner_new();
    pdl_code *c = compile(names, all);
    pdl_err err = {0};
    bool ok = pdl_code_verify(c, &err);
    if (!ok) fail_msg("%s", err.msg);
    pdl_code_drop(c);
    pdl_interner_drop(names);
}

static size_t find(const pdl_code *c, pdl_opcode op) {
    for (size_t i = 0; i < c->ins.n; i++)
        if (c->ins.p[i].op == op) return i;
    fail_msg("no %s", pdl_opcode_name(op));
    return 0;
}

/* opcode to be changed, the new opcode, a and c, what is said */
static const struct {
    pdl_opcode op, to;
    uint8_t a;
    uint32_t c;
    const char *says;
} changes[] = {
    {PDL_OP_JUMP_FALSE, PDL_OP_JUMP_FALSE, 0, UINT32_MAX, "an operand is not of its kind"},
    {PDL_OP_JUMP_FALSE_KEEP, PDL_OP_JUMP_FALSE_KEEP, 0, 0, "is reached with two heights"},
    {PDL_OP_ENTER, PDL_OP_ENTER, 0, UINT32_MAX, "an operand is not of its kind"},
    {PDL_OP_ENTER, PDL_OP_POP, 0, 0, "there is less on the stack than it takes"},
    {PDL_OP_CONST, PDL_OP_CONST, 0, UINT32_MAX, "an operand is not of its kind"},
    {PDL_OP_LIST, PDL_OP_LIST, 0, 1000000, "there is less on the stack than it takes"},
    {PDL_OP_LEAVE, PDL_OP_LEAVE, 1, 0, "an operand is not of its kind"},
    {PDL_OP_EMIT, PDL_OP_EMIT, 2, 0, "an operand is not of its kind"},
    {PDL_OP_EMIT, PDL_OP_POP, 0, 0, ""},
    {PDL_OP_SOURCE, PDL_OP_SOURCE, 0, 0, "an operand is not of its kind"},
};

static void test_changed(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        pdl_interner *names = pdl_interner_new();
        pdl_code *c = compile(names, all);
        c->ins.p[find(c, changes[i].op)] =
            (pdl_ins){(uint8_t)changes[i].to, changes[i].a, changes[i].c};
        pdl_err err = {0};
        assert_false(pdl_code_verify(c, &err));
        if (!strstr(err.msg, changes[i].says)) fail_msg("change %zu: %s", i, err.msg);
        pdl_err_fini(&err);
        pdl_code_drop(c);
        pdl_interner_drop(names);
    }
}

/* A module's functions have no code until they are called; what is added later is as if it had been
 * there from the begin, the labels of a computed text included. */
static void test_module(void **state) {
    (void)state;
    static const char text[] =
        "defs:\n  f: {function: {x: integer}, return: {defs: {g: {function: {}, return: inner}}, "
        "data: '${ g() }'}}\ntext: hi\n";
    pdl_interner *names = pdl_interner_new();
    pdl_program *p = pdl_program_new();
    bool ok;
    pdl_program_load(p, PDL_STR("m.pdl"), pdl_str_of(text), &ok);
    assert_true(ok);
    pdl_code *whole = pdl_compile_program(p, names, false);
    pdl_code *c = pdl_compile_module(p, names, false);
    pdl_code_relabel(c, PDL_LABEL_data);
    size_t before = c->ins.n;
    assert_int_equal(c->functions.n, 1);
    assert_int_equal(c->functions.p[0]->entry, 0);
    assert_int_equal(pdl_compile_function(c, c->functions.p[0]), before);
    assert_int_equal(pdl_compile_function(c, c->functions.p[0]), before); /* once */
    assert_int_equal(c->functions.n, 2);
    assert_true(c->ins.n < whole->ins.n); /* without that of g */
    pdl_compile_functions(c);
    assert_int_equal(c->ins.n, whole->ins.n);
    pdl_err err = {0};
    assert_true(pdl_code_verify(c, &err));
    assert_true(c->consts.n > 0);
    for (size_t i = 0; i < c->consts.n; i++)
        assert_true(pdl_label_of(c->consts.p[i]) & PDL_LABEL_data);
    pdl_code_drop(c);
    pdl_code_drop(whole);
    pdl_program_drop(p);
    pdl_interner_drop(names);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_agrees),
                                       cmocka_unit_test(test_changed),
                                       cmocka_unit_test(test_module)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
