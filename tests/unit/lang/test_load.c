/* test_load.c -- programs to blocks: kinds, fields, problems with their places.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "lang/dump.h"
#include "lang/load.h"
#include "value/text.h"
#include "yaml/yaml.h"

#include "t.h"

#include "base/banned.h"

/* Problems of a program without a file; "" means that it loads. Only what stands in the first lines
 * is compared: `want` begins the text. */
static const struct {
    const char *program, *want;
} rows[] = {
    {"", ""},
    {"hello", ""},
    {"42", ""},
    {"{}", ""},
    {"def: x", ""},
    {"- a\n- b", ""},
    {"text: hi\nunknown: 1", "line 2 - Field not allowed: unknown\n"},
    {"text:\n- if: true\n  them: a",
     "line 2 - Missing required field: then\nline 3 - Field not allowed: them\n"},
    {"text: [a, [b, c]]", "line 1 - ['b', 'c'] should not be a list\n"},
    {"text:\n- data: a\n  foo: 1\n- bar: 2",
     "line 3 - Field not allowed: foo\nline 4 - {'bar': 2} should be a block\n"},
    {"def: x\ntest: y", "line 2 - Field not allowed: test\n"},
    {"sequence: [a]", "line 1 - Missing required field: join\n"},
    {"lang: python", "line 1 - Missing required field: code\n"},
    {"args: echo", "line 1 - echo should be a list\n"},
    {"match: 1\nwith: {case: 1}", "line 2 - {'case': 1} should be a list\n"},
    {"defs: [a]\ntext: a", "line 1 - ['a'] should be an object\n"},
    {"defs: null\ntext: a", "line 1 - None should be an object\n"},
    {"object:\n  a: 1\n  b: {txt: a}", "line 3 - {'txt': 'a'} should be a block\n"},
    {"import: 3", "line 1 - 3 should be of type <class 'str'>\n"},
    {"if: null\nthen: a", "line 1 - None should be of type boolean"},
    {"lang: ruby\ncode: x", "line 1 - ruby should be one of: ['python', 'ipython', 'jinja', 'pdl', "
                            "'command']\nThe PDL program does not"},
    {"kind: foo", "line 1 - foo is not a kind of block\n"},
    {"kind: null\ndata: 1", "line 1 - None should be of type <class 'str'>\n"},
    {"data: x\nparser: xml", "line 2 - xml should be one of: ['json', 'jsonl', 'yaml', 'csv']\n"},
    {"data: x\nparser: JSON", ""},
    {"data: x\nparser: {regex: x, mode: sometimes}",
     "line 2 - sometimes should be one of: ['search', 'match', 'fullmatch', 'split', 'findall']\n"},
    {"data: x\nparser: {mode: search}", "line 2 - Missing required field: regex\n"},
    {"data: x\nspec: foo", "line 2 - foo is not a type"},
    {"data: x\nspec: [integer, string]", "line 2 - invalid PDL type"},
    {"repeat: x\njoin: {as: foo}",
     "line 2 - foo should be one of: ['text', 'array', 'object', 'lastOf', 'reduce']\n"},
    {"repeat: x\njoin: array", "line 2 - array should be of type object"},
    {"repeat: x\njoin: {as: array, with: y}", "line 2 - `with` belongs to"},
    {"data: x\ncontext: independent", "line 2 - Field not allowed: context\n"},
    {"text: x\ncontext: foo", "line 2 - foo should be one of: ['independent', 'dependent']\n"},
    {"data: x\ncontribute: result", "line 2 - result should be a list\n"},
    {"data: x\nretry: many", "line 2 - many should be of type <class 'int'>"},
    {"data: x\nretry: {foo: 1}", "line 2 - Field not allowed: foo\n"},
    {"data: x\nraw: \"yes\"", ""},
    {"data: x\nraw: 2", "line 2 - 2 should be of type <class 'bool'>\n"},
    {"map: x\nmaxWorkers: \" +3 \"", ""},
    {"map: x\nmaxWorkers: 3.5", "line 2 - 3.5 should be of type <class 'int'>\n"},
    {"model: m\nprocessor: x", "line 2 - Field not allowed: processor\n"},
    {"processor: x\nplatform: granite-io", ""},
    {"model: m\nplatform: OpenAI",
     "line 2 - OpenAI should be one of: ['litellm', 'openai', 'granite-io']\n"},
    {"args: [echo, 3]", "line 1 - 3 should be of type string"},
    {"text: 2001-12-14", "line 1 - 2001-12-14 should be of type"},
    {"data: 2001-12-14", ""},
    {"data: {1: a}", ""},
    {"object: {1: a}", "line 1 - 1 should be of type <class 'str'>"},
    {"match: 1\nwith: [{case: [1], then: a}]", "line 2 - [1] should not be a list"},
    {"match: 1\nwith: [{case: {any: , def: x}, if: '${ x }', then: a}]", ""},
    {"expectations: [x]\ndata: a", "line 1 - x should be an object\n"},
    {"data: {pdl__expr: '${ 1 }', pdl__result: 1}\npdl__id: a\npdl__is_leaf: true", ""},
    {"data: 1\npdl__is_leaf: false", "line 2 - False should be true\n"},
    {"data: 1\npdl__foo: 1", "line 2 - Field not allowed: pdl__foo\n"},
    {"repeat: x\nnum_iterations: 3", ""},
    {"data: 1\nparser: {pdl: x}", "line 2 - parser: pdl is not supported\n"},
    {"text: a: b", "line 1 - mapping values are not allowed here"},
    /* what each field takes */
    {"data: 1\ncontribute: [{1: {value: 1}}]", "line 2 - 1 should be of type <class 'str'>\n"},
    {"data: 1\ncontribute: [{context: 5}]", "line 2 - 5 should be an object\n"},
    {"data: 1\ncontribute: [{context: {value: 1, more: 2}}]", "line 2 - Field not allowed: more\n"},
    {"data: 1\ncontribute: [{context: {}}]", "line 2 - Missing required field: value\n"},
    {"data: 1\ncontribute: [[x]]",
     "line 2 - ['x'] should not be a list; expected string (a target) or {TARGET: {value: E}}\n"},
    {"data: 1\nretry: {exceptions: [1]}", "line 2 - 1 should be of type <class 'str'>\n"},
    {"data: 1\nretry: {jitter: [1]}", "line 2 - [1] should be a number or a list [least, most]\n"},
    {"data: 1\nretry: {jitter: [a, 1]}", ""},
    {"data: 1\nretry: [1]", "line 2 - [1] should be of type <class 'int'>, or an object {tries, "
                            "exceptions, delay, ...}\n"},
    {"data: 1\nretry: {tries: x}", ""},
    {"data: 1\nspec: 5", "line 2 - 5 should be of type a type name, a list of one type, an object "
                         "of types or a JSON Schema\n"},
    {"data: 1\nspec: null", ""},
    {"function: [x]\nreturn: 1", "line 1 - ['x'] should be an object\n"},
    {"function: {x: nope}\nreturn: 1", "line 1 - nope is not a type\n"},
    {"function: {1: integer}\nreturn: 1", "line 1 - the name of a field should be a string, not "
                                          "1\nThe PDL program does not respect the schema.\n"},
    {"data: x\nparser: 5",
     "line 2 - 5 should be of type json, jsonl, yaml, csv or an object {regex, mode, spec}\n"},
    {"data: x\nparser: [json]", "line 2 - ['json'] should not be a list; expected json, jsonl, "
                                "yaml, csv or an object {regex, mode, spec}\n"},
    {"data: x\nparser: {regex: 5}", "line 2 - 5 should be of type <class 'str'>\n"},
    {"data: x\nparser: {regex: a, mode: 5}", "line 2 - 5 should be of type <class 'str'>\nline 2 - "
                                             "5 should be one of: ['search', 'match', 'fullmat"},
    {"data: x\nparser: {regex: a, description: d, more: 1}", "line 2 - Field not allowed: more\n"},
    {"data: x\nparser: {regex: a, spec: 5}", "line 2 - 5 should be of type a type name, a list of "
                                             "one type, an object of types or a JSON Schema\n"},
    {"data: x\nexpectations: x", "line 2 - x should be a list\n"},
    {"data: x\nexpectations: [{}]", "line 2 - Missing required field: expect\n"},
    {"data: x\nexpectations: [{expect: a, feedback: {function: {}, return: 1}}]", ""},
    {"data: x\nexpectations: [{expect: a, feedback: null, more: 1}]",
     "line 2 - Field not allowed: more\n"},
    {"repeat: x\njoin: {as: 5}", "line 2 - 5 should be of type <class 'str'>\n"},
    {"repeat: x\njoin: {reduce: 5}", ""},
    {"repeat: x\njoin: {with: 5}", "line 2 - 5 should be of type <class 'str'>\n"},
    {"repeat: x\njoin: {as: text, more: 1}", "line 2 - Field not allowed: more\n"},
    {"repeat: x\njoin: 5", "line 2 - 5 should be of type object {as: text, with: SEPARATOR}, {as: "
                           "array}, ... or {reduce: F}\n"},
    {"match: 1\nwith: [{case: {object: {1: a}}, then: a}]",
     "line 2 - 1 should be of type <class 'str'>\n"},
    {"match: 1\nwith: [{case: {object: 5}, then: a}]", "line 2 - 5 should be an object\n"},
    {"match: 1\nwith: [{case: {array: 5}, then: a}]", "line 2 - 5 should be a list\n"},
    {"match: 1\nwith: [{case: {anyOf: 5}, then: a}]", "line 2 - 5 should be a list\n"},
    {"match: 1\nwith: [{case: {any: , def: 5}, then: a}]",
     "line 2 - 5 should be of type <class 'str'>\n"},
    {"match: 1\nwith: [{case: {any: , more: 5}, then: a}]", "line 2 - Field not allowed: more\n"},
    {"match: 1\nwith: [{case: {nothing: 1}, then: a}]",
     "line 2 - {'nothing': 1} should be of type: a plain value or {any: }, {anyOf: [...]}, {array: "
     "[...]},"},
    {"match: 1\nwith: [{then: a, more: b}]", "line 2 - Field not allowed: more\n"},
    {"match: 1\nwith: [x]", "line 2 - x should be an object\n"},
    {"match: 1\nwith: [{case: 1}]", "line 2 - Missing required field: then\n"},
    {"aggregator: {mode: a}", "line 1 - Missing required field: file\n"},
    {"aggregator: {file: 5}", "line 1 - 5 should be of type string (an expression)\n"},
    {"aggregator: {file: a, flush: 5}",
     "line 1 - 5 should be of type boolean or string (an expression)\n"},
    {"aggregator: {file: a, encoding: 5, description: 5, more: 1}",
     "line 1 - 5 should be of type string (an expression)\nline 1 - 5 should be of type <class "
     "'str'>\nline "},
    {"aggregator: 5", "line 1 - 5 should be of type context or an object {file, mode, ...}\n"},
    {"aggregator: list",
     "line 1 - list should be one of: ['context']\nThe PDL program does not respect the schema.\n"},
    {"data: 1\nbudget: 5",
     "line 2 - 5 should be an object {calls, tokens, cost, seconds, turns, requests}\n"},
    {"data: 1\nbudget: {calls: x}", ""},
    {"data: 1\nbudget: {more: 1}", "line 2 - Field not allowed: more\n"},
    {"data: 1\nbudget: {seconds: -1}", ""},
    {"data: 1\nbudget: {}", ""},
    {"data: 1\ndef: 5", "line 2 - 5 should be of type <class 'str'>\n"},
    {"data: 1\nrole: 5", "line 2 - 5 should be of type <class 'str'>\n"},
    {"data: 1\ndescription: 5", "line 2 - 5 should be of type <class 'str'>\n"},
    {"data: 1\nfallback: [a, [b]]", "line 2 - ['b'] should not be a list\n"},
    {"for: x\nrepeat: 1", "line 1 - x should be an object\n"},
    {"for: {i: 5}\nrepeat: 1", "line 1 - 5 should be of type list or string (an expression)\n"},
    {"for: {1: [1]}\nrepeat: 1", "line 1 - 1 should be of type string (an expression)\n"},
    {"repeat: 1\nmaxIterations: x", ""},
    {"map: 1\nindex: 5", "line 2 - 5 should be of type <class 'str'>\n"},
    {"repeat: 1\nuntil: 5", "line 2 - 5 should be of type boolean or string (an expression)\n"},
    {"model: 5", "line 1 - 5 should be of type string (an expression)\n"},
    {"model: m\nparameters: 5", "line 2 - 5 should be of type object or string (an expression)\n"},
    {"model: m\nparameters: [1]",
     "line 2 - [1] should not be a list; expected object or string (an expression)\n"},
    {"model: m\nmodelResponse: 5", "line 2 - 5 should be of type <class 'str'>\n"},
    {"model: m\nstructuredDecoding: 5", "line 2 - 5 should be of type <class 'bool'>\n"},
    {"lang: python\ncode: 5", ""},
    {"lang: python\ncode: a\nrequirements: 5", "line 3 - Field not allowed: requirements\n"},
    {"call: 5", "line 1 - 5 should be of type string: an expression that gives a function\n"},
    {"call: f\nargs: 5", ""},
    {"read: 5", "line 1 - 5 should be of type string (an expression)\n"},
    {"read: x\nmultiline: 5", "line 2 - 5 should be of type <class 'bool'>\n"},
    {"get: 5", "line 1 - 5 should be of type <class 'str'>\n"},
    {"include: 5", "line 1 - 5 should be of type <class 'str'>\n"},
    {"error: 5", "line 1 - {'error': 5} should be a block\n"},
    {"empty: 5", "line 1 - {'empty': 5} should be a block\n"},
    {"array: 5", "line 1 - 5 should be a list\n"},
    {"object: 5", "line 1 - 5 should be of type object or list of blocks that give objects\n"},
    {"lastOf: 5", "line 1 - 5 should be a list\n"},
    {"content: a\nrole: 5", "line 2 - 5 should be of type <class 'str'>\n"},
    {"import: [a]", "line 1 - ['a'] should be of type <class 'str'>\n"},
    {"role: user", ""},
    {"data: 1\ndefs: {1: a}", "line 2 - 1 should be of type <class 'str'>: quote the name\n"},
    {"data: 1\ncontext: x", "line 2 - Field not allowed: context\n"},
};

static void problems_with_places(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        bool ok;
        pdl_program *p = pdl_program_new();
        pdl_buf out = PDL_BUF;
        pdl_program_load(p, PDL_STR(""), t_str(rows[i].program), &ok);
        pdl_program_errors(p, &out, false);
        if (!pdl_str_starts(pdl_buf_str(&out), t_str(rows[i].want)) ||
            ok != (rows[i].want[0] == 0) || (ok && out.len))
            fail_msg("row %zu: got <%s>, want <%s>", i, pdl_buf_z(&out), rows[i].want);
        t_assert(ok == (p->main != NULL));
        pdl_buf_fini(&out);
        pdl_program_drop(p);
    }
}

/* Programs that load, with their kind and their dump. */
static const struct {
    const char *program;
    pdl_block_kind kind;
    const char *dump;
} dumps[] = {
    {"hello", PDL_BLOCK_scalar, "hello"},
    {"{text: a, def_: x}", PDL_BLOCK_text, "{\"text\": \"a\", \"def\": \"x\"}"},
    {"- a\n- 1", PDL_BLOCK_lastOf, "{\"lastOf\": [\"a\", 1]}"},
    {"{content: a, role: user}", PDL_BLOCK_message, "{\"role\": \"user\", \"content\": \"a\"}"},
    {"{lang: jinja, code: a}", PDL_BLOCK_code, "{\"lang\": \"jinja\", \"code\": \"a\"}"},
    {"{processor: p}", PDL_BLOCK_model, "{\"processor\": \"p\"}"},
    {"{data: {a: [1, '${ x }'], 2: b}, spec: str}", PDL_BLOCK_data,
     "{\"spec\": \"string\", \"data\": {\"a\": [1, \"${ x }\"], \"2\": \"b\"}}"},
    {"{repeat: x, num_iterations: 2, join: {with: ' '}}", PDL_BLOCK_repeat,
     "{\"repeat\": \"x\", \"maxIterations\": 2, \"join\": {\"with\": \" \"}}"},
    {"{function: {x: int}, return: 1}", PDL_BLOCK_function,
     "{\"function\": {\"x\": \"integer\"}, \"return\": 1}"},
    {"{read: }", PDL_BLOCK_read, "{\"read\": null}"},
    {"{if: yes, then: a, else: null}", PDL_BLOCK_if, "{\"if\": true, \"then\": \"a\"}"},
    {"{description: d}", PDL_BLOCK_empty, "{\"kind\": \"empty\", \"description\": \"d\"}"},
};

static void kinds_and_dumps(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(dumps); i++) {
        T_ROW(i);
        bool ok;
        pdl_err err = {0};
        pdl_program *p = pdl_program_new();
        pdl_buf out = PDL_BUF;
        pdl_program_load(p, PDL_STR("t.pdl"), t_str(dumps[i].program), &ok);
        t_assert(ok && p->main);
        t_assert(p->main->kind == dumps[i].kind);
        pdl_val v = pdl_block_dump(p->main, NULL);
        t_assert(pdl_stringify(v, &out, &err));
        t_assert_str(pdl_buf_str(&out), dumps[i].dump);
        pdl_drop(v);
        pdl_buf_fini(&out);
        pdl_program_drop(p);
    }
}

static void constant_data_is_one_constant(void **state) {
    (void)state;
    bool ok;
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, PDL_STR(""), PDL_STR("data: {a: [1, {b: c}], d: '{# c #} x'}"), &ok);
    assert_true(ok);
    assert_int_equal(PDL_AS(data, p->main)->data->kind, PDL_TREE_CONST);
    pdl_program_drop(p);
    p = pdl_program_new();
    pdl_program_load(p, PDL_STR(""), PDL_STR("data: [1, [2], '${ x }']"), &ok);
    assert_true(ok);
    const pdl_tree *t = PDL_AS(data, p->main)->data;
    assert_int_equal(t->kind, PDL_TREE_LIST);
    assert_int_equal(t->items[1]->kind, PDL_TREE_CONST);
    assert_int_equal(t->items[2]->kind, PDL_TREE_EXPR);
    pdl_program_drop(p);
}

/* The block in the middle counts. */
static void nesting_is_read_up_to_the_limit(void **state) {
    (void)state;
    for (int depth = PDL_MAX_BLOCK_DEPTH - 1; depth <= PDL_MAX_BLOCK_DEPTH; depth++) {
        bool ok;
        pdl_buf b = PDL_BUF;
        for (int i = 0; i < depth; i++) PDL_PUT(&b, "{if: a, then: ");
        PDL_PUT(&b, "x");
        for (int i = 0; i < depth; i++) PDL_PUT(&b, "}");
        pdl_program *p = pdl_program_new();
        pdl_program_load(p, PDL_STR(""), pdl_buf_str(&b), &ok);
        assert_int_equal(ok, depth < PDL_MAX_BLOCK_DEPTH);
        pdl_program_drop(p);
        pdl_buf_fini(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problems_with_places),
        cmocka_unit_test(kinds_and_dumps),
        cmocka_unit_test(constant_data_is_one_constant),
        cmocka_unit_test(nesting_is_read_up_to_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
