/* test_type.c -- types are read, translated and shown, and their problems are reported with places.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "types/type.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "yaml/yaml.h"

#include "base/banned.h"

static const pdl_node *load(pdl_arena *a, const char *text) {
    pdl_source *src = NULL;
    const pdl_node *n = NULL;
    pdl_err err = {0};
    assert_true(pdl_yaml_source(a, PDL_STR("t.pdl"), t_str(text), &src, &err));
    assert_true(pdl_yaml_load(a, src, &n, &err));
    return n;
}

static void put_json(pdl_buf *b, pdl_val v) {
    pdl_err err = {0};
    assert_true(pdl_json_write(v, PDL_JSON_SPACED, 0, b, &err));
    pdl_drop(v);
}

static void forms(void **state) {
    (void)state;
    static const struct {
        const char *spec, *show, *schema;
    } rows[] = {
        {"null", "any", "{}"},
        {"string", "string", "{\"type\": \"string\"}"},
        {"str", "string", "{\"type\": \"string\"}"},
        {"[integer]", "[integer]", "{\"type\": \"array\", \"items\": {\"type\": \"integer\"}}"},
        {"{a: integer, b: {optional: [string]}}", "{a: integer, b?: [string]}",
         "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}, \"b\": "
         "{\"type\": "
         "\"array\", \"items\": "
         "{\"type\": \"string\"}}}, \"required\": [\"a\"], \"additionalProperties\": false}"},
        {"{optional: number}", "number | null",
         "{\"anyOf\": [{\"type\": \"number\"}, {\"type\": \"null\"}]}"},
        {"{enum: [red, 1], title: t}", "\"red\" | 1 (title: \"t\")",
         "{\"enum\": [\"red\", 1], \"title\": \"t\"}"},
        {"{minLength: 2, type: string}", "string (minLength: 2)",
         "{\"type\": \"string\", \"minLength\": 2}"},
        {"{type: string, name: string}", "string (name: \"string\")",
         "{\"type\": \"string\", \"name\": \"string\"}"},
        {"{object: {type: string}}", "{type: string}",
         "{\"type\": \"object\", \"properties\": {\"type\": {\"type\": \"string\"}}, \"required\": "
         "[\"type\"], "
         "\"additionalProperties\": false}"},
        {"{object: }", "{object: any}",
         "{\"type\": \"object\", \"properties\": {\"object\": {}}, \"required\": [\"object\"], "
         "\"additionalProperties\": false}"},
        {"{optional: string, b: string}", "{optional: string, b: string}",
         "{\"type\": \"object\", \"properties\": {\"optional\": {\"type\": \"string\"}, \"b\": "
         "{\"type\": "
         "\"string\"}}, "
         "\"required\": [\"optional\", \"b\"], \"additionalProperties\": false}"},
        {"{type: {x: string}}", "{type: {x: string}}",
         "{\"type\": \"object\", \"properties\": {\"type\": {\"type\": \"object\", \"properties\": "
         "{\"x\": "
         "{\"type\": \"string\"}}, "
         "\"required\": [\"x\"], \"additionalProperties\": false}}, \"required\": [\"type\"], "
         "\"additionalProperties\": false}"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        const pdl_type *t = NULL;
        pdl_err err = {0};
        pdl_buf b = PDL_BUF;
        t_assert(pdl_type_read(a, load(a, rows[i].spec), &t, &err));
        pdl_type_show(t, &b);
        t_assert_str(pdl_buf_str(&b), rows[i].show);
        pdl_buf_clear(&b);
        put_json(&b, pdl_type_schema(t, true));
        t_assert_str(pdl_buf_str(&b), rows[i].schema);
        pdl_buf_fini(&b);
        pdl_arena_free(a);
    }
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        uint32_t line;
        const char *hint;
    } rows[] = {
        {"strin", 1, "did you mean 'string'?"},
        {"String", 1, "did you mean 'string'?"},
        {"a: string\nb: [strin]", 2, "did you mean 'string'?"},
        {"str?", 1, "write {optional: string}"},
        {"any", 1, "leave the type out (null) to allow any value"},
        {"{enum: red}", 1, "a JSON Schema with `enum` takes a list"},
        {"{const: 3}", 1, "a JSON Schema needs `type` or `enum` beside `const`"},
        {"4", 1,
         "a type is null, boolean, string, number, integer, array, object, [TYPE], {NAME: TYPE}, "
         "{optional: TYPE}, {enum: [VALUE, ...]}, or a JSON Schema with `type`; "
         "a parameter with a default is {optional: TYPE}, and ${ x | default(5) } reads it"},
        {"x:\n  []", 2,
         "a list of strings is [string], one of several types {type: [string, integer]}, one of "
         "several values {enum: [...]}"},
        {"{1: string}", 1, NULL},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        const pdl_type *t = NULL;
        pdl_err err = {0};
        t_assert(!pdl_type_read(a, load(a, rows[i].spec), &t, &err));
        t_assert(err.kind == PDL_E_schema);
        t_assert(pdl_loc_line(err.loc) == rows[i].line);
        t_assert(!rows[i].hint == !err.hint);
        if (err.hint) t_assert_str(t_str(err.hint), rows[i].hint);
        pdl_err_fini(&err);
        pdl_arena_free(a);
    }
}

/* "LINE PATH TEXT; ..." of a check; line 0: the place of the header. */
static void told(const pdl_problems *p, pdl_buf *b) {
    for (size_t i = 0; i < p->n; i++)
        pdl_buf_putf(b, "%s%u %.*s %.*s", i ? "; " : "",
                     p->p[i].at_header ? 0 : pdl_loc_line(p->p[i].loc), PDL_FMT(p->p[i].path),
                     PDL_FMT(p->p[i].text));
}

static void problems(void **state) {
    (void)state;
    static const struct {
        const char *spec, *value, *want;
    } rows[] = {
        {"integer", "1.0", ""},
        {"integer", "true", "0  True is not of type 'integer'"},
        {"a: integer", "{\"a\": 1}", ""},
        {"a:\n  - b: string\nd: integer", "{\"a\": [{\"b\": \"x\"}, {\"b\": 3}], \"c\": 1}",
         "0  Missing required field: d; 0 .c Field not allowed: c; 1 .a[1].b 3 should be of type "
         "<class "
         "'str'>"},
        {"a:\n  - b: string", "{\"a\": [{\"b\": 3}]}",
         "2 .a[0].b 3 should be of type <class 'str'>"},
        {"a:\n -\n  b: string", "{\"a\": [{}]}", "2 .a[0] Missing required field: b"},
        {"object:\n  a: string", "{\"a\": 1}", "0 .a 1 should be of type <class 'str'>"},
        {"{a: number, b: string}", "{\"a\": 5, \"b\": 4}",
         "1 .b 4 should be of type <class 'str'>"},
        {"{a: {optional: string}}", "{\"a\": null}", "1 .a None should be of type <class 'str'>"},
        {"{type: string, minLength: 2}", "\"a\"", "0  'a' is too short"},
        {"{type: [integer, string]}", "null", "0  None is not of type 'integer', 'string'"},
        {"{type: object, properties: {n: {$ref: '#'}, v: {type: integer}}}",
         "{\"n\": {\"v\": \"x\"}}", "0 .n.v x should be of type <class 'int'>"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        const pdl_type *t = NULL;
        pdl_err err = {0};
        pdl_val v = pdl_null();
        pdl_type_verdict found;
        pdl_buf b = PDL_BUF;
        t_assert(pdl_type_read(a, load(a, rows[i].spec), &t, &err));
        t_assert(pdl_json_read(t_str(rows[i].value), 0, &v, NULL, &err));
        t_assert(pdl_type_check(t, v, NULL, a, &found, &err));
        t_assert(found.fits == (rows[i].want[0] == 0));
        told(&found.problems, &b);
        t_assert_str(pdl_buf_str(&b), rows[i].want);
        pdl_buf_fini(&b);
        pdl_drop(v);
        pdl_arena_free(a);
    }
}

static void arguments(void **state) {
    (void)state;
    static const struct {
        const char *params, *args, *want;
    } rows[] = {
        {"{x: string}", "x: a", ""},
        {"{x: string}", "\nx: 1", "2 .x 1 should be of type <class 'str'>"},
        {"{x: string}", "{}", "0  Missing required field: x"},
        {"{x: string}", "x: a\nz: 3", "2 .z Field not allowed: z"},
        {"null", "x: 2", "1 .x Field not allowed: x"},
        {"{x: string}", "x: a\npdl_context: []", ""},
        {"{x: {type: string, minLength: 1}}", "x: a\npdl_context: []", ""},
        {"{x: {optional: string}}", "{}", ""},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        const pdl_type *t = NULL;
        pdl_err err = {0};
        pdl_val v = pdl_null();
        pdl_type_verdict found;
        pdl_buf b = PDL_BUF;
        const pdl_node *args = load(a, rows[i].args);
        t_assert(pdl_type_read_params(a, load(a, rows[i].params), &t, &err));
        t_assert(pdl_yaml_to_val(args, &v, &err));
        t_assert(pdl_type_check(t, v, args, a, &found, &err));
        t_assert(found.fits == (rows[i].want[0] == 0));
        told(&found.problems, &b);
        t_assert_str(pdl_buf_str(&b), rows[i].want);
        pdl_buf_fini(&b);
        pdl_drop(v);
        pdl_arena_free(a);
    }
}

/* Types of parameters are read from the text; the same as a value give the same types. */
static void parameters_as_written(void **state) {
    (void)state;
    static const char *const rows[] = {
        "{}",
        "{a: string, b: , c: ~}",
        "{a: [string], b: [[integer]], c: [~], d: {optional: string}, e: {optional: }}",
        "{a: {optional: [{optional: str}]}, b: {optional: {optional: bool}}}",
        "{a: {optional: string, b: integer}, b: {x: [string]}, c: {optional: {x: string}}}",
        "{a: !!str string, b: 'null', c: {optional: {enum: [x, y]}}, d: {type: string}}",
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        const pdl_node *n = load(a, rows[i]);
        const pdl_type *read = NULL, *made = NULL;
        pdl_err err = {0};
        pdl_val v = pdl_null();
        pdl_buf x = PDL_BUF, y = PDL_BUF;
        t_assert(pdl_yaml_to_val(n, &v, &err));
        bool ok = pdl_type_read_params(a, n, &read, &err);
        pdl_err other = {0};
        t_assert(ok == pdl_type_from_val(a, v, &made, &other));
        if (ok) {
            put_json(&x, pdl_type_as_written(read));
            put_json(&y, pdl_type_as_written(made));
            put_json(&x, pdl_type_schema(read, true));
            put_json(&y, pdl_type_schema(made, true));
        }
        t_assert_str(pdl_buf_str(&x), pdl_buf_z(&y));
        pdl_err_fini(&err);
        pdl_err_fini(&other);
        pdl_buf_fini(&x);
        pdl_buf_fini(&y);
        pdl_drop(v);
        pdl_arena_free(a);
    }
}

static void count_old(void *user, const char *old, const char *now) {
    pdl_buf_putf(user, "%s>%s ", old, now);
}

static void old_words(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    const pdl_type *t = NULL;
    pdl_err err = {0};
    pdl_buf b = PDL_BUF;
    assert_true(pdl_type_read(a, load(a, "{a: str, b: [int], c: {optional: {object: {d: bool}}}}"),
                              &t, &err));
    pdl_type_deprecated(t, count_old, &b);
    t_assert_str(pdl_buf_str(&b), "str>string int>integer bool>boolean ");
    pdl_buf_clear(&b);
    put_json(&b, pdl_type_as_written(t));
    t_assert_str(pdl_buf_str(&b), "{\"a\": \"string\", \"b\": [\"integer\"], \"c\": {\"optional\": "
                                  "{\"object\": {\"d\": \"boolean\"}}}}");
    pdl_buf_fini(&b);
    pdl_arena_free(a);
}

static void invalid_schema(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"{type: foo}", "Invalid type in spec: 'foo' is not valid under any of the given schemas"},
        {"{type: string, pattern: '('}", "Invalid type in spec: '(' is not a 'regex'"},
        {"{type: integer, minimum: x}", "Invalid type in spec: 'x' is not of type 'number'"},
        {"{a: {type: object, properties: {a: integer}}}",
         "Invalid type in spec: 'integer' is not of type 'object', 'boolean'"},
        {"{type: integer, $ref: '#/nosuch'}",
         "Invalid type in spec: Unresolvable reference: #/nosuch"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_arena *a = pdl_arena_make();
        const pdl_type *t = NULL;
        pdl_err err = {0};
        pdl_type_verdict found;
        t_assert(pdl_type_read(a, load(a, rows[i][0]), &t, &err));
        t_assert(!pdl_type_check(t, pdl_int(3), NULL, a, &found, &err));
        t_assert(err.kind == PDL_E_schema);
        t_assert_str(t_str(err.msg), rows[i][1]);
        pdl_err_fini(&err);
        pdl_arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),
        cmocka_unit_test(refused),
        cmocka_unit_test(problems),
        cmocka_unit_test(arguments),
        cmocka_unit_test(parameters_as_written),
        cmocka_unit_test(invalid_schema),
        cmocka_unit_test(old_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
