/* test_model_defaults.c -- default parameters, chosen by a pattern of the model's name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/model.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "t.h"

#include "base/banned.h"

static pdl_val json(const char *text) {
    pdl_val v;
    pdl_err err = {0};
    if (!pdl_json_read(t_str(text), 0, &v, NULL, &err)) fail_msg("row %zu: %s", t_row, err.msg);
    return v;
}

static const struct {
    const char *list; /* NULL: the built-in one */
    const char *model, *params, *want;
} rows[] = {
    {NULL, "openai/gpt-4o", "{}", "{}"},
    {NULL, "ollama_chat/granite4:micro", "{}", "{\"temperature\":0,\"seed\":0}"},
    {NULL, "ollama/x", "{\"temperature\":0.5,\"seed\":null}", "{\"temperature\":0.5,\"seed\":0}"},
    {NULL, "watsonx/ibm/granite", "{}", "{\"temperature\":0}"},
    {NULL, "watsonx_text/m", "{\"max_tokens\":5}",
     "{\"max_tokens\":5,\"decoding_method\":\"greedy\",\"min_new_tokens\":1,\"repetition_penalty\":"
     "1.05}"},
    {NULL, "watsonx_text/m", "{\"decoding_method\":\"sample\",\"top_k\":7}",
     "{\"decoding_method\":\"sample\",\"top_k\":7,\"max_tokens\":1024,\"min_new_tokens\":1,"
     "\"repetition_"
     "penalty\":1.05,\"temperature\":0.7,\"top_p\":0.85}"},
    {NULL, "replicate/granite-20b-code-instruct-r1.1", "{\"decoding_method\":\"sample\"}",
     "{\"decoding_method\":\"sample\"}"},
    {"[]", "ollama/x", "{\"a\":1}", "{\"a\":1}"},
    {"[{\"openai/*\":{\"temperature\":0.25,\"seed\":1}}]", "openai/a/b", "{\"seed\":9}",
     "{\"seed\":9,\"temperature\":0.25}"},
    {"[{\"*\":{\"a\":1,\"b\":1}},{\"ope?a?/[x-z]*\":{\"b\":2}}]", "opeXaY/y1", "{}",
     "{\"a\":1,\"b\":2}"},
    {"[{\"ope?a?/[!x-z]*\":{\"b\":2}}]", "opeXaY/y1", "{}", "{}"},
    {"[{\"m[]]\":{\"b\":2}},{\"m[\":{\"c\":3}}]", "m]", "{}", "{\"b\":2}"},
    {"[{\"m[\":{\"c\":3}}]", "m[", "{}", "{\"c\":3}"},
    {"[{\"m?\":{\"c\":3}}]", "m\xc3\xa4", "{}", "{\"c\":3}"},
    {"[{\"OPEXAY/*\":{\"b\":2}}]", "opeXaY/y1", "{}", "{}"},
    {"[{\"*a*b*\":{\"b\":2}}]", "xaaxbx", "{}", "{\"b\":2}"},
    {"[{\"*a*b\":{\"b\":2}}]", "xaaxbx", "{}", "{}"},
};

static void test_apply(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val list = rows[i].list ? json(rows[i].list) : pdl_model_defaults(), out;
        pdl_err err = {0};
        pdl_buf text = PDL_BUF;
        t_assert(
            pdl_model_defaults_apply(list, t_str(rows[i].model), json(rows[i].params), &out, &err));
        t_assert(pdl_json_write(out, 0, 0, &text, &err));
        t_assert_str(pdl_buf_str(&text), rows[i].want);
        pdl_buf_fini(&text);
        pdl_drop(out);
        pdl_drop(list);
    }
}

static void test_granite(void **state) {
    (void)state;
    pdl_val list = pdl_model_defaults(), out;
    pdl_err err = {0};
    assert_true(pdl_model_defaults_apply(list, PDL_STR("ollama/granite-3.1-8b"), pdl_dict_new(0),
                                         &out, &err));
    pdl_vref roles = pdl_dict_getz(out, "roles");
    assert_int_equal(pdl_dict_len(roles), 6);
    t_assert_str(pdl_str_get(pdl_dict_getz(pdl_dict_getz(roles, "tools"), "pre_message")),
                 "<|start_of_role|>tools<|end_of_role|>");
    t_assert_str(pdl_str_get(pdl_dict_getz(out, "final_prompt_value")),
                 "<|start_of_role|>assistant<|end_of_role|>");
    pdl_drop(out);
    pdl_drop(list);
}

static void test_invalid(void **state) {
    (void)state;
    pdl_val list = json("[{\"openai/*\":3}]"), out;
    pdl_err err = {0};
    assert_false(pdl_model_defaults_apply(list, PDL_STR("other"), pdl_dict_new(0), &out, &err));
    assert_string_equal(err.msg, "invalid defaults 3 for model matcher openai/*");
    pdl_err_fini(&err);
    assert_false(pdl_model_defaults_check(list, &err));
    pdl_err_fini(&err);
    pdl_drop(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_apply), cmocka_unit_test(test_granite),
                                       cmocka_unit_test(test_invalid)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
