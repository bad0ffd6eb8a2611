/* test_model_fault.c -- the kind and the message of an error for an answer of a service, and when
 * another attempt is made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/fault.h"

#include "model/wire/reply_builder.h"
#include "t.h"

#include "base/banned.h"

static const struct {
    int status;
    const char *body;
    pdl_err_kind kind;
    const char *msg;
} answers[] = {
    {400, "{\"error\":{\"message\":\"bad\",\"type\":\"invalid_request_error\"}}", PDL_E_bad_request,
     "bad"},
    {401, "{\"error\":{\"message\":\"no\"}}", PDL_E_auth, "no"},
    {402, "{\"error\":{\"message\":\"pay\"}}", PDL_E_quota, "pay"},
    {403, "{}", PDL_E_permission, "{}"},
    {404, "{\"error\":\"model 'x' not found\"}", PDL_E_not_found, "model 'x' not found"},
    {408, "", PDL_E_timeout, "status 408 without a text"},
    {413, "too big", PDL_E_bad_request, "too big"},
    {422, "{\"detail\":[{\"loc\":[\"a\"],\"msg\":\"m1\"},{\"msg\":\"m2\"}]}", PDL_E_bad_request,
     "m1; m2"},
    {429, "{\"error\":{\"message\":\"x\",\"code\":\"insufficient_quota\"}}", PDL_E_quota, "x"},
    {429, "{\"error\":{\"message\":\"x\",\"code\":\"rate_limit_exceeded\"}}", PDL_E_rate_limit,
     "x"},
    {500, "<html>oops</html>", PDL_E_server, "<html>oops</html>"},
    {503, "{\"detail\":\"busy\"}", PDL_E_unavailable, "busy"},
    {504, "", PDL_E_timeout, "status 504 without a text"},
    {529, "{\"error\":{\"type\":\"overloaded_error\",\"message\":\"o\"}}", PDL_E_unavailable, "o"},
    {400,
     "{\"object\":\"error\",\"message\":\"This model's maximum context length is 2048 "
     "tokens\",\"code\":400}",
     PDL_E_context_window, "This model's maximum context length is 2048 tokens"},
    {400, "{\"error\":{\"message\":\"m\",\"code\":\"context_length_exceeded\"}}",
     PDL_E_context_window, "m"},
    {400, "{\"error\":{\"message\":\"m\",\"type\":\"exceed_context_size_error\"}}",
     PDL_E_context_window, "m"},
    {400, "{\"error\":{\"message\":\"String too long. Expected a string with maximum length 5\"}}",
     PDL_E_context_window, "String too long. Expected a string with maximum length 5"},
    {400,
     "{\"error\":{\"message\":\"'user': string too long. expected a string with maximum length "
     "5\"}}",
     PDL_E_bad_request, "'user': string too long. expected a string with maximum length 5"},
    {400, "{\"error\":{\"message\":\"m\",\"code\":\"content_policy_violation\"}}",
     PDL_E_content_policy, "m"},
    {400,
     "[{\"error\":{\"message\":\"API key not valid. Please\",\"status\":\"INVALID_ARGUMENT\"}}]",
     PDL_E_auth, "API key not valid. Please"},
    {400, "{\"errors\":[{\"message\":\"first\"}]}", PDL_E_bad_request, "first"},
    {418, "{\"msg\":\"tea\"}", PDL_E_bad_request, "tea"},
    {429,
     "{\"error\":{\"message\":\"x\",\"code\":\"rate_limit_exceeded\",\"type\":\"insufficient_"
     "quota\"}}",
     PDL_E_quota, "x"},
    {400, "{\"error\":{\"message\":\"x\",\"status\":\"RESOURCE_EXHAUSTED\"}}", PDL_E_rate_limit,
     "x"},
    {400,
     "{\"error\":{\"message\":\"x\",\"innererror\":{\"code\":\"ResponsibleAIPolicyViolation\"}}}",
     PDL_E_content_policy, "x"},
    {500, "{\"error\":{\"message\":\"Request timed out\"}}", PDL_E_timeout, "Request timed out"},
    {404, "{\"error\":{\"message\":\"request timed out\"}}", PDL_E_not_found, "request timed out"},
    {400, "{\"message\":\"Input is too long for requested model.\"}", PDL_E_context_window,
     "Input is too long for requested model."},
};

static void test_answers(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(answers); i++) {
        T_ROW(i);
        pdl_fault f = {0};
        pdl_http_reply r = {.status = answers[i].status, .body = t_str(answers[i].body)};
        pdl_fault_of_status(&r, &f);
        t_assert(f.kind == answers[i].kind);
        t_assert_str(pdl_buf_str(&f.msg), answers[i].msg);
        pdl_fault_fini(&f);
    }
}

static const struct {
    const char *headers;
    double want;
    bool is_date;
} waits[] = {
    {"Retry-After: 1\r\n", 1, false},
    {"retry-after: 0.5\r\n", 0.5, false},
    {"retry-after-ms: 250\r\nretry-after: 9\r\n", 0.25, false},
    {"Retry-After: Thu, 01 Jan 1970 00:20:00 GMT\r\n", 200, true}, /* now is 1000 */
    {"Retry-After: Thu, 01 Jan 1970 00:01:00 GMT\r\n", -1, true},
    {"Retry-After: soon\r\n", -1, false},
    {"Retry-After: 2s\r\n", 2, false},
    {"Retry-After: 1m30.5s\r\n", 90.5, false},
    {"Retry-After: 250ms\r\n", 0.25, false},
    {"Retry-After: 2 days\r\n", -1, false},
    {"X-Retry-After: 1\r\n", -1, false},
    {"", -1, false},
};

static void test_waits(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(waits); i++) {
        T_ROW(i);
        bool is_date = false;
        pdl_http_reply r = {.header_text = t_str(waits[i].headers)};
        double got = pdl_backoff_header(&r, 1000, &is_date);
        t_assert(got > waits[i].want - 1e-9 && got < waits[i].want + 1e-9 &&
                 is_date == waits[i].is_date);
    }
}

static const struct {
    const char *header, *body;
    double want;
} asked[] = {
    {"", "{\"error\":{\"message\":\"m\",\"details\":[{\"retryDelay\":\"37s\"}]}}", 37},
    {"", "[{\"error\":{\"details\":[{\"@type\":\"x\"},{\"retryDelay\":\"0.25s\"}]}}]", 0.25},
    {"Retry-After: 1\r\n", "{\"error\":{\"details\":[{\"retryDelay\":\"37s\"}]}}", 1},
    {"", "{\"error\":{\"details\":[{\"retryDelay\":\"soon\"}]}}", -1},
    {"", "{\"error\":{\"details\":[{\"retryDelay\":\"s\"}]}}", -1},
    {"", "{\"error\":{\"details\":[{\"retryDelay\":\"-1s\"}]}}", -1},
    {"", "{\"error\":{\"details\":{\"retryDelay\":\"1s\"}}}", -1},
    {"", "{\"error\":{\"message\":\"m\"}}", -1},
    {"", "no json", -1},
};

/* The wait in the body counts where no header gives one. */
static void test_waits_in_bodies(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(asked); i++) {
        T_ROW(i);
        pdl_fault f = {0};
        pdl_http_reply r = {
            .status = 429, .header_text = t_str(asked[i].header), .body = t_str(asked[i].body)};
        pdl_fault_of_status(&r, &f);
        t_assert(f.retry_after > asked[i].want - 1e-9 && f.retry_after < asked[i].want + 1e-9);
        pdl_fault_fini(&f);
    }
}

static const struct {
    pdl_err_kind kind;
    int status, should;
    double after;
    unsigned attempt;
    bool again;
    uint64_t least, most;
} policies[] = {
    {PDL_E_server, 500, -1, -1, 0, true, 375, 500},
    {PDL_E_server, 500, -1, -1, 1, true, 750, 1000},
    {PDL_E_server, 500, -1, -1, 9, true, 6000, 8000},
    {PDL_E_rate_limit, 429, -1, 2, 0, true, 2000, 2000},
    {PDL_E_rate_limit, 429, -1, 121, 0, false, 0, 0},
    {PDL_E_quota, 429, 1, -1, 0, false, 0, 0},
    {PDL_E_bad_request, 400, -1, -1, 0, false, 0, 0},
    {PDL_E_bad_request, 400, 1, -1, 0, true, 375, 500},
    {PDL_E_bad_request, 409, -1, -1, 0, true, 375, 500},
    {PDL_E_unavailable, 503, 0, -1, 0, false, 0, 0},
    {PDL_E_connection, 0, -1, -1, 0, true, 375, 500},
    {PDL_E_timeout, 0, -1, -1, 0, true, 375, 500},
    {PDL_E_protocol, 200, -1, -1, 0, false, 0, 0},
    {PDL_E_auth, 401, -1, -1, 0, false, 0, 0},
    {PDL_E_context_window, 400, -1, -1, 0, false, 0, 0},
};

static void test_policy(void **state) {
    (void)state;
    pdl_rand rng;
    pdl_rand_seed(&rng, 1);
    for (size_t i = 0; i < T_LEN(policies); i++) {
        T_ROW(i);
        uint64_t ms = 0;
        pdl_fault f = {.kind = policies[i].kind,
                       .status = policies[i].status,
                       .retry_after = policies[i].after,
                       .should_retry = policies[i].should};
        t_assert(pdl_backoff(&f, policies[i].attempt, &rng, &ms) == policies[i].again);
        t_assert(ms >= policies[i].least && ms <= policies[i].most);
    }
}

static void test_finish_reasons(void **state) {
    (void)state;
    static const char *const pairs[][2] = {{"stop", "stop"},
                                           {"end_turn", "stop"},
                                           {"max_tokens", "length"},
                                           {"MAX_TOKENS", "length"},
                                           {"tool_use", "tool_calls"},
                                           {"SAFETY", "content_filter"},
                                           {"IMAGE_SAFETY", "content_filter"},
                                           {"whatever", ""}, /* no ordinary end: NULL */
                                           {"load", ""}};
    for (size_t i = 0; i < T_LEN(pairs); i++) {
        T_ROW(i);
        t_assert_str(t_str(pdl_finish_reason(t_str(pairs[i][0]))), pairs[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers), cmocka_unit_test(test_waits),
                                       cmocka_unit_test(test_waits_in_bodies),
                                       cmocka_unit_test(test_policy),
                                       cmocka_unit_test(test_finish_reasons)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
