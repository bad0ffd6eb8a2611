/* test_thinking.c -- the form of a request to think more or less depends on the name of the model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/thinking.h"
#include "value/json_read.h"

#include "t.h"

static const struct {
    const char *model;
    pdl_thinking form;
} names[] = {
    {"claude-opus-4-7", PDL_THINKING_ADAPTIVE},
    {"claude-opus-4.8", PDL_THINKING_ADAPTIVE},
    {"eu.anthropic.claude-opus-4-7-v1:0", PDL_THINKING_ADAPTIVE},
    {"claude-opus-4-7-20260416", PDL_THINKING_ADAPTIVE},
    {"claude-opus-4-6", PDL_THINKING_BUDGET},
    {"claude-opus-4-20250514", PDL_THINKING_BUDGET},
    {"claude-opus-4-1-20250805", PDL_THINKING_BUDGET},
    {"claude-3-opus-20240229", PDL_THINKING_BUDGET},
    {"claude-3-7-sonnet-20250219", PDL_THINKING_BUDGET},
    {"claude-sonnet-4-6", PDL_THINKING_BUDGET},
    {"claude-haiku-4-5-20251001", PDL_THINKING_BUDGET},
    {"claude-opus-5", PDL_THINKING_ALWAYS},
    {"claude-opus-5-5", PDL_THINKING_ALWAYS},
    {"claude-opus-10", PDL_THINKING_ALWAYS},
    {"anthropic.claude-sonnet-5-v1:0", PDL_THINKING_ALWAYS},
    {"claude-haiku-5-5", PDL_THINKING_ALWAYS},
    {"claude-mythos-preview", PDL_THINKING_ALWAYS},
    {"claude-fable-5-1", PDL_THINKING_ALWAYS},
    {"gemini-2.5-flash", PDL_THINKING_BUDGET},
    {"gemini-flash-latest", PDL_THINKING_BUDGET},
    {"gemini-3-pro-preview", PDL_THINKING_LEVEL_TWO},
    {"gemini-3.1-pro-preview", PDL_THINKING_LEVEL},
    {"gemini-3-flash-preview", PDL_THINKING_LEVEL_ALL},
    {"gemini-3.1-flash-lite", PDL_THINKING_LEVEL_ALL},
    {"command-r", PDL_THINKING_BUDGET},
    {"", PDL_THINKING_BUDGET},
    {"claude-opus-", PDL_THINKING_BUDGET},
};

static void form_by_name(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(names); i++)
        if (pdl_thinking_of(pdl_str_of(names[i].model)) != names[i].form)
            fail_msg("the form of '%s'", names[i].model);
}

/* given: the fields of the program. */
static const struct {
    pdl_thinking form;
    const char *effort, *given, *fields;
} fields[] = {
    {PDL_THINKING_BUDGET, "low", "{}",
     "{\"thinking\": {\"type\": \"enabled\", \"budget_tokens\": 1024}}"},
    {PDL_THINKING_BUDGET, "none", "{}", "{}"},
    {PDL_THINKING_BUDGET, "much", "{}", "{}"},
    {PDL_THINKING_BUDGET, "low", "{\"thinking\": 1}", "{\"thinking\": 1}"},
    {PDL_THINKING_ADAPTIVE, "none", "{}", "{}"},
    {PDL_THINKING_ADAPTIVE, "minimal", "{}",
     "{\"output_config\": {\"effort\": \"low\"}, \"thinking\": {\"type\": \"adaptive\"}}"},
    {PDL_THINKING_ALWAYS, "none", "{}", "{\"output_config\": {\"effort\": \"low\"}}"},
    {PDL_THINKING_ALWAYS, "max", "{\"output_config\": {\"format\": 1}}",
     "{\"output_config\": {\"format\": 1, \"effort\": \"max\"}}"},
    {PDL_THINKING_ALWAYS, "max", "{\"output_config\": {\"effort\": \"low\"}}",
     "{\"output_config\": {\"effort\": \"low\"}}"},
};

static pdl_val read_json(const char *text) {
    pdl_val v = pdl_absent();
    pdl_err err = {0};
    assert_true(pdl_json_read(pdl_str_of(text), 0, &v, NULL, &err));
    return v;
}

static void fields_of_anthropic(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(fields); i++) {
        pdl_val given = read_json(fields[i].given), want = read_json(fields[i].fields),
                effort = pdl_textz(fields[i].effort),
                got = pdl_thinking_put(fields[i].form, effort, given);
        if (!pdl_val_eq(got, want)) fail_msg("row %zu", i);
        pdl_drop(got);
        pdl_drop(want);
        pdl_drop(effort);
    }
}

static const struct {
    pdl_thinking form;
    const char *effort, *level;
} levels[] = {
    {PDL_THINKING_LEVEL, "none", "low"},         {PDL_THINKING_LEVEL, "medium", "medium"},
    {PDL_THINKING_LEVEL_TWO, "medium", "high"},  {PDL_THINKING_LEVEL_TWO, "minimal", "low"},
    {PDL_THINKING_LEVEL_ALL, "none", "minimal"}, {PDL_THINKING_LEVEL_ALL, "low", "low"},
};

static void levels_of_google(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(levels); i++) {
        pdl_val effort = pdl_textz(levels[i].effort),
                level = pdl_thinking_level(levels[i].form, effort);
        if (!pdl_text_is(level, levels[i].level)) fail_msg("row %zu", i);
        pdl_drop(effort);
        pdl_drop(level);
    }
    assert_true(pdl_is_absent(pdl_thinking_level(PDL_THINKING_LEVEL, pdl_int(3))));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(form_by_name),
        cmocka_unit_test(fields_of_anthropic),
        cmocka_unit_test(levels_of_google),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
