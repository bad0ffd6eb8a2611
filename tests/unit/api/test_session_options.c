/* test_session_options.c -- contradictory options are detected, in each part of the options.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/hooks.h"
#include "api/session_options.h"

#include "t.h"

#include "base/banned.h"

static void is_wrong(pdl_session_options o) { assert_false(pdl_session_options_ok(&o)); }
static void is_right(pdl_session_options o) { assert_true(pdl_session_options_ok(&o)); }

static void test_parts(void **state) {
    (void)state;
    const pdl_str text[] = {PDL_STR("a")};
    const struct pdl_hook hook = {0};
    pdl_session *shared = (pdl_session *)(uintptr_t)text; /* is not examined */
    is_right((pdl_session_options){0});
    is_wrong((pdl_session_options){.program.n_path = 1});
    is_right((pdl_session_options){.program = {.path = text, .n_path = 1}});
    is_wrong((pdl_session_options){.run.allow = PDL_STR("code")}); /* a run that is real */
    is_right((pdl_session_options){.run = {.allow = PDL_STR("code"), .explain = true}});
    is_wrong((pdl_session_options){.models.rates.requests_per_second = -1});
    is_wrong((pdl_session_options){.guards.n_policies = 1});
    is_right((pdl_session_options){.guards = {.policies = text, .n_policies = 1}});
    is_wrong((pdl_session_options){.reports.trace_later = true}); /* nothing is traced */
    is_right((pdl_session_options){.reports = {.trace = true, .trace_later = true}});
    is_wrong((pdl_session_options){.host.n_hooks = 1});
    is_right((pdl_session_options){.host = {.hooks = &hook, .n_hooks = 1}});
    is_wrong((pdl_session_options){.run.explain = true, .host.shared = shared});
    is_right((pdl_session_options){.host.shared = shared});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
