/* test_schema.c -- the JSON Schema of the language has its definitions, and they agree with the
 * tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/schema.h"

#include "t.h"

#include "base/banned.h"

/* The first required field of a definition; "" when none is. */
static const struct {
    const char *name, *required;
} rows[] = {
    {"IfBlock", "if"},
    {"TextBlock", "text"},
    {"LitellmModelBlock", "model"},
    {"GraniteioModelBlock", "processor"},
    {"ArgsBlock", "args"},
    {"PythonCodeBlock", "code"},
    {"EmptyBlock", ""},
    {"ReadBlock", "read"},
    {"RegexParser", "regex"},
    {"MatchCase", "then"},
};

static void definitions(void **state) {
    (void)state;
    pdl_val schema = pdl_language_schema();
    pdl_vref defs = pdl_dict_getz(schema, "$defs");
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_vref def = pdl_dict_getz(defs, rows[i].name);
        t_assert(pdl_is_dict(def));
        pdl_vref required = pdl_dict_getz(def, "required");
        t_assert(pdl_is_list(required));
        t_assert_str(pdl_list_len(required) ? pdl_str_get(pdl_list_at(required, 0)) : PDL_STR(""),
                     rows[i].required);
    }
    assert_true(pdl_is_dict(
        pdl_dict_getz(pdl_dict_getz(pdl_dict_getz(defs, "TextBlock"), "properties"), "context")));
    assert_true(pdl_is_absent(
        pdl_dict_getz(pdl_dict_getz(pdl_dict_getz(defs, "DataBlock"), "properties"), "context")));
    pdl_drop(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(definitions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
