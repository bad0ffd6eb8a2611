/* test_budget.c -- budgets as text, their chain, and the error that says which budget is used up;
 * also prices and estimates.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "effect/budget.h"

#include "model/prices.h"
#include "value/json_read.h"

#include "t.h"

#include "base/banned.h"

static const struct {
    const char *text;
    double want[PDL_BUDGET_COUNT]; /* calls, tokens, cost, seconds, turns, requests */
    bool ok;
} texts[] = {
    {"calls=3", {3, -1, -1, -1, -1, -1}, true},
    {"calls=0,tokens=1e3, cost = 0.5 ,seconds=60", {0, 1000, 0.5, 60, -1, -1}, true},
    {"calls=1,calls=2", {2, -1, -1, -1, -1, -1}, true},
    {"turns=5", {-1, -1, -1, -1, 5, -1}, true},
    {"requests=2", {-1, -1, -1, -1, -1, 2}, true},
    {"", {0}, false},
    {"calls", {0}, false},
    {"calls=", {0}, false},
    {"calls=-1", {0}, false},
    {"calls=nan", {0}, false},
    {"calls=1,", {0}, false},
    {"call=1", {0}, false},
};

static void texts_are_read(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(texts); i++) {
        T_ROW(i);
        double got[PDL_BUDGET_COUNT];
        pdl_err err = {0};
        assert_int_equal(pdl_budget_read(pdl_str_of(texts[i].text), got, &err), texts[i].ok);
        assert_int_equal(err.kind, texts[i].ok ? PDL_E_NONE : PDL_E_usage);
        for (size_t k = 0; texts[i].ok && k < PDL_BUDGET_COUNT; k++)
            assert_true(got[k] == texts[i].want[k]);
        pdl_err_fini(&err);
    }
}

/* Trying again is of no use within the spent budget, and of use around it. */
static void error_knows_its_budget(void **state) {
    (void)state;
    const double none[PDL_BUDGET_COUNT] = {-1, -1, -1, -1, -1, -1};
    pdl_budget *outer = pdl_budget_new(none, NULL, (pdl_loc){0}),
               *middle = pdl_budget_new(none, outer, (pdl_loc){0}),
               *inner = pdl_budget_new(none, middle, (pdl_loc){0});
    pdl_err err = {0}, other = {0};
    assert_false(pdl_budget_refuse(middle, PDL_BUDGET_tokens, PDL_STR("why"), &err));
    assert_int_equal(err.kind, PDL_E_budget);
    assert_string_equal(err.msg, "why");
    assert_true(pdl_budget_is_spent(&err, inner));
    assert_true(pdl_budget_is_spent(&err, middle));
    assert_false(pdl_budget_is_spent(&err, outer));
    assert_false(pdl_budget_is_spent(&err, NULL));
    pdl_err_set(&other, PDL_E_rate_limit, (pdl_loc){0}, "x");
    assert_false(pdl_budget_is_spent(&other, inner));
    pdl_err_fini(&err);
    pdl_err_fini(&other);
    pdl_budget_drop(outer);
    pdl_budget_drop(middle);
    pdl_budget_drop(inner); /* keeps those around it until here */
}

static pdl_val json(const char *text) {
    pdl_val v;
    pdl_err err = {0};
    assert_true(pdl_json_read(pdl_str_of(text), 0, &v, NULL, &err));
    return v;
}

static const struct {
    const char *model, *parameters, *usage;
    double want; /* negative: unknown */
} prices[] = {
    {"openai/a", "{}", "{\"prompt_tokens\": 10, \"completion_tokens\": 2}", 10 * 2 + 2 * 3},
    {"openai/a", "{}",
     "{\"prompt_tokens\": 10, \"completion_tokens\": 2, \"prompt_tokens_details\": "
     "{\"cached_tokens\": 4}}",
     6 * 2 + 4 * 1 + 2 * 3},
    {"openai/a", "{}",
     "{\"prompt_tokens\": 1, \"completion_tokens\": 0, \"prompt_tokens_details\": "
     "{\"cached_tokens\": 9}}",
     1},
    {"openai/b", "{}", "{\"prompt_tokens\": 10, \"completion_tokens\": 2}",
     12}, /* the last row that fits */
    {"other/x", "{}", "{\"prompt_tokens\": 10, \"completion_tokens\": 2}", -1},
    {"other/x", "{\"input_cost_per_token\": 5, \"output_cost_per_token\": 7}",
     "{\"prompt_tokens\": 1, \"completion_tokens\": 1}", 12},
    {"other/x", "{\"input_cost_per_token\": 5}", "{\"prompt_tokens\": 1, \"completion_tokens\": 1}",
     -1},
    {"other/x", "{\"input_cost_per_token\": \"5e0\", \"output_cost_per_token\": \"7\"}",
     "{\"prompt_tokens\": 1, \"completion_tokens\": 1}", 12},
    {"openai/a", "{\"input_cost_per_token\": \"dear\", \"output_cost_per_token\": \"nan\"}",
     "{\"prompt_tokens\": 1, \"completion_tokens\": 1}", 5},
    {"openai/a", "{}",
     "{\"prompt_tokens\": 10, \"completion_tokens\": 0, \"prompt_cache_hit_tokens\": 4}", 16},
    {"openai/a", "{}",
     "{\"prompt_tokens\": 10, \"prompt_cache_hit_tokens\": 9, \"prompt_tokens_details\": "
     "{\"cached_tokens\": 4}}",
     16},
    {"claude", "{}",
     "{\"prompt_tokens\": 10, \"completion_tokens\": 0, \"prompt_tokens_details\": "
     "{\"cached_tokens\": 4}, \"cache_creation_input_tokens\": 5}",
     1 * 2 + 4 * 1 + 5 * 4},
    {"claude", "{}",
     "{\"prompt_tokens\": 3, \"completion_tokens\": 0, \"prompt_tokens_details\": "
     "{\"cached_tokens\": 2, \"cache_write_tokens\": 9}}",
     2 * 1 + 1 * 4},
    {"openai/a", "{}",
     "{\"prompt_tokens\": 10, \"completion_tokens\": 0, \"cache_creation_input_tokens\": 5}", 20},
    {"openai/a", "{}", "{}", -1},
};

static void prices_are_found(void **state) {
    (void)state;
    pdl_prices *table;
    pdl_err err = {0};
    assert_true(pdl_prices_read(
        PDL_STR("{\"openai/*\": {\"input\": 2, \"output\": 3, \"cached_input\": 1},"
                " \"openai/b\": {\"input\": 1, \"output\": 1}, \"claude\": {\"input\": 2, "
                "\"output\": 3, \"cached_input\": 1, \"cache_write\": 4}}"),
        "t", &table, &err));
    for (size_t i = 0; i < T_LEN(prices); i++) {
        T_ROW(i);
        pdl_price price;
        double cost = -1;
        pdl_val params = json(prices[i].parameters), usage = json(prices[i].usage);
        bool known = pdl_price_find(table, pdl_str_of(prices[i].model), params, &price) &&
                     pdl_price_of(&price, usage, &cost);
        assert_int_equal(known, prices[i].want >= 0);
        if (known) assert_true(cost == prices[i].want);
        pdl_drop(params);
        pdl_drop(usage);
    }
    pdl_prices_free(table);
}

static const struct {
    const char *request;
    int64_t want;
} estimates[] = {
    {"{\"messages\": []}", 0},
    {"{\"messages\": [{\"role\": \"user\", \"content\": \"\"}]}", 4},
    {"{\"messages\": [{\"role\": \"user\", \"content\": \"abcdefghi\"}]}", 4 + 3},
    {"{\"messages\": [{\"role\": \"user\", \"content\": \"\\u4e16\\u754c\"}]}", 4 + 2},
    {"{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"abcd\"}, "
     "{\"type\": \"image_url\"}]}]}",
     4 + 1 + PDL_TOKENS_OF_MEDIA},
    {"{\"input\": [\"abcd\", \"abcd\"]}", 2},
};

static void tokens_are_estimated(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(estimates); i++) {
        T_ROW(i);
        pdl_val request = json(estimates[i].request);
        assert_int_equal(pdl_tokens_estimate(request), estimates[i].want);
        pdl_drop(request);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(error_knows_its_budget),
        cmocka_unit_test(prices_are_found),
        cmocka_unit_test(tokens_are_estimated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
