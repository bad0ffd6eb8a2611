/* test_validate.c -- the JSON Schema validator: verdicts, sentences, references, drafts, limits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "types/type.h"
#include "value/json_read.h"

#include "base/banned.h"

static pdl_val json(const char *text) {
    pdl_val v = pdl_null();
    pdl_err err = {0};
    if (!pdl_json_read(t_str(text), PDL_JSON_PYTHON, &v, NULL, &err))
        fail_msg("row %zu: %s", t_row, err.msg);
    return v;
}

/* The sentence for value under schema, "" when it fits, "! MESSAGE" for an error. */
static void verdict(const char *schema, const char *value, pdl_buf *out) {
    pdl_arena *a = pdl_arena_make();
    pdl_val s = json(schema), v = json(value);
    pdl_err err = {0};
    pdl_type_verdict found;
    if (!pdl_schema_validate(s, v, NULL, a, &found, &err))
        pdl_buf_putf(out, "! %s", err.msg);
    else if (!found.fits)
        pdl_buf_put(out, found.problems.p[0].text);
    pdl_err_fini(&err);
    pdl_drop(s);
    pdl_drop(v);
    pdl_arena_free(a);
}

typedef struct row {
    const char *schema, *value, *want;
} row;

static void run(const row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF;
        verdict(rows[i].schema, rows[i].value, &b);
        t_assert_str(pdl_buf_str(&b), rows[i].want);
        pdl_buf_fini(&b);
    }
}

static void sentences(void **state) {
    (void)state;
    static const row rows[] = {
        {"{}", "3", ""},
        {"false", "3", "False schema does not allow 3"},
        {"{\"type\": [\"integer\", \"null\"]}", "\"x\"", "'x' is not of type 'integer', 'null'"},
        {"{\"enum\": [1]}", "true", "True is not one of [1]"},
        {"{\"enum\": [1]}", "1.0", ""},
        {"{\"const\": {\"a\": [1]}}", "{\"a\": [1.0]}", ""},
        {"{\"const\": {\"a\": [1]}}", "{\"a\": [true]}", "{'a': [1]} was expected"},
        {"{\"minimum\": 5}", "3", "3 is less than the minimum of 5"},
        {"{\"exclusiveMaximum\": 3}", "3", "3 is greater than or equal to the maximum of 3"},
        {"{\"multipleOf\": 0.1}", "0.35", "0.35 is not a multiple of 0.1"},
        {"{\"multipleOf\": 3}", "123456789012345678901234567890", ""},
        {"{\"multipleOf\": 0.5}", "1e308", ""},
        {"{\"minLength\": 1}", "\"\"", "'' should be non-empty"},
        {"{\"maxLength\": 1}", "\"\\u00e9\"", ""},
        {"{\"maxItems\": 0}", "[1]", "[1] is expected to be empty"},
        {"{\"uniqueItems\": true}", "[{\"a\": 1, \"b\": 2}, {\"b\": 2, \"a\": 1.0}]",
         "[{'a': 1, 'b': 2}, {'b': 2, 'a': 1.0}] has non-unique elements"},
        {"{\"uniqueItems\": true}", "[1, true, \"1\", null]", ""},
        {"{\"contains\": {\"const\": 2}, \"minContains\": 2}", "[1, 2]",
         "Too few items match the given schema (expected at least 2 but only 1 matched)"},
        {"{\"prefixItems\": [{}], \"items\": false}", "[1, 2, 3]",
         "Expected at most 1 item but found 2 extra: [2, 3]"},
        {"{\"required\": [\"a\"]}", "{}", "'a' is a required property"},
        {"{\"dependentRequired\": {\"a\": [\"b\"]}}", "{\"a\": 1}", "'b' is a dependency of 'a'"},
        {"{\"additionalProperties\": false}", "{\"b\": 1, \"a\": 2}",
         "Additional properties are not allowed ('a', 'b' were unexpected)"},
        {"{\"patternProperties\": {\"^b\": {}}, \"additionalProperties\": false}", "{\"ab\": 1}",
         "'ab' does not match any of the regexes: '^b'"},
        {"{\"propertyNames\": {\"maxLength\": 1}}", "{\"ab\": 1}", "'ab' is too long"},
        {"{\"not\": {\"const\": 5}}", "5", "5 should not be valid under {'const': 5}"},
        {"{\"oneOf\": [{\"minimum\": 1}, {\"maximum\": 5}]}", "3",
         "3 is valid under each of {'maximum': 5}, {'minimum': 1}"},
        {"{\"anyOf\": [{\"minimum\": 5}, {\"type\": \"string\"}]}", "3",
         "3 is not valid under any of the given schemas"},
        {"{\"anyOf\": [{\"type\": \"integer\", \"minimum\": 5}, {\"type\": \"string\"}]}", "3",
         "3 is less than the minimum of 5"},
        {"{\"if\": {\"minimum\": 10}, \"then\": {\"multipleOf\": 10}}", "15",
         "15 is not a multiple of 10"},
        {"{\"allOf\": [{\"properties\": {\"a\": {}}}], \"unevaluatedProperties\": false}",
         "{\"a\": 1, \"b\": 1}", "Unevaluated properties are not allowed ('b' was unexpected)"},
        {"{\"properties\": {\"a\": {\"type\": \"string\"}}, \"maxProperties\": 0}", "{\"a\": 1}",
         "{'a': 1} is expected to be empty"},
    };
    run(rows, T_LEN(rows));
}

static void references(void **state) {
    (void)state;
    static const row rows[] = {
        {"{\"$defs\": {\"a/b\": {\"type\": \"string\"}}, \"$ref\": \"#/$defs/a~1b\"}", "1",
         "1 is not of type 'string'"},
        {"{\"$defs\": {\"x\": {\"$anchor\": \"y\", \"type\": \"string\"}}, \"$ref\": \"#y\"}", "1",
         "1 is not of type 'string'"},
        {"{\"$id\": \"http://h/a/b\", \"$defs\": {\"x\": {\"$id\": \"../c\", \"type\": "
         "\"string\"}}, "
         "\"$ref\": \"/c\"}",
         "1", "1 is not of type 'string'"},
        {"{\"$ref\": \"#/nosuch\"}", "1", "! Unresolvable reference: #/nosuch"},
        {"{\"$ref\": \"http://x.invalid/y\"}", "1", "! Unresolvable reference: http://x.invalid/y"},
        {"{\"$ref\": \"#\"}", "1", "! schema leads more than 200 levels deep"},
        {"{\"properties\": {\"n\": {\"$ref\": \"#\"}}, \"additionalProperties\": false}",
         "{\"n\": {\"n\": {\"m\": 1}}}",
         "Additional properties are not allowed ('m' was unexpected)"},
        {"{\"$ref\": \"https://json-schema.org/draft/2020-12/schema\"}", "{\"type\": 3}",
         "3 is not valid under any of the given schemas"},
    };
    run(rows, T_LEN(rows));
}

static void drafts(void **state) {
    (void)state;
    static const row rows[] = {
        {"{\"$schema\": \"http://json-schema.org/draft-04/schema#\", \"minimum\": 3, "
         "\"exclusiveMinimum\": "
         "true}",
         "3", "3 is less than or equal to the minimum of 3"},
        {"{\"$schema\": \"http://json-schema.org/draft-04/schema#\", \"type\": \"integer\"}", "1.0",
         "1.0 is not of type 'integer'"},
        {"{\"$schema\": \"http://json-schema.org/draft-07/schema#\", \"items\": [{}], "
         "\"additionalItems\": "
         "false}",
         "[1, 2]", "Additional items are not allowed (2 was unexpected)"},
        {"{\"$schema\": \"http://json-schema.org/draft-07/schema#\", \"dependencies\": {\"a\": "
         "[\"b\"]}}",
         "{\"a\": 1}", "'b' is a dependency of 'a'"},
        {"{\"dependencies\": {\"a\": [\"b\"]}}", "{\"a\": 1}", ""},
        {"{\"items\": [{}]}", "1", "! [{}] is not of type 'object', 'boolean'"},
        {"{\"minLength\": -1}", "1", "! -1 is less than the minimum of 0"},
        {"{\"required\": [\"a\", \"a\"]}", "1", "! ['a', 'a'] has non-unique elements"},
        {"{\"anyOf\": []}", "1", "! [] should be non-empty"},
    };
    run(rows, T_LEN(rows));
}

/* A schema and a value nested deeper than allowed end in an error, not in a crash. */
static void depth(void **state) {
    (void)state;
    pdl_buf s = PDL_BUF, v = PDL_BUF, out = PDL_BUF;
    for (int i = 0; i < 400; i++) PDL_PUT(&s, "{\"items\":");
    PDL_PUT(&s, "{}");
    for (int i = 0; i < 400; i++) PDL_PUT(&s, "}");
    verdict(pdl_buf_z(&s), "1", &out);
    t_assert_str(pdl_buf_str(&out), "! schema is nested more than 200 levels deep");
    pdl_buf_clear(&out);
    for (int i = 0; i < 900; i++) PDL_PUT(&v, "[");
    for (int i = 0; i < 900; i++) PDL_PUT(&v, "]");
    verdict("{\"items\": {\"$ref\": \"#\"}}", pdl_buf_z(&v), &out);
    t_assert_str(pdl_buf_str(&out), "! schema leads more than 200 levels deep");
    pdl_buf_clear(&out);
    pdl_buf_clear(&s);
    PDL_PUT(&s, "{\"$defs\": {\"a0\": {}"); /* each definition asks the one before it twice */
    for (int i = 1; i < 60; i++)
        pdl_buf_putf(
            &s,
            ", \"a%d\": {\"allOf\": [{\"$ref\": \"#/$defs/a%d\"}, {\"$ref\": \"#/$defs/a%d\"}]}", i,
            i - 1, i - 1);
    PDL_PUT(&s, "}, \"$ref\": \"#/$defs/a59\"}");
    verdict(pdl_buf_z(&s), "1", &out);
    t_assert_str(pdl_buf_str(&out), "! schema takes more than 10000000 steps");
    pdl_buf_fini(&s);
    pdl_buf_fini(&v);
    pdl_buf_fini(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences),
        cmocka_unit_test(references),
        cmocka_unit_test(drafts),
        cmocka_unit_test(depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
