/* backoff.c -- decides when a request is sent again: the policy of OpenAI's clients, for every
 * provider (spec providers 8).
 *
 * The wait is the one that the service names, or else half a second that doubles with each failure.
 * A random part is taken off, so that calls which failed together do not return together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/fault.h"

#include "base/num.h"
#include "value/member.h"

#include "base/banned.h"

/* when a service asks for a longer wait than this, the request is not sent again */
enum { LONGEST_WAIT_S = 120 };

/* NEVER: failures that are not retried. PASSES: failures that may pass by themselves. Other
 * failures are retried when the service says so (x-should-retry), or when two requests collided
 * (409). */
static const struct {
    pdl_err_kind kind;
    enum { NEVER, PASSES } what;
} classes[] = {
    {PDL_E_auth, NEVER},           {PDL_E_quota, NEVER},       {PDL_E_context_window, NEVER},
    {PDL_E_content_policy, NEVER}, {PDL_E_connection, PASSES}, {PDL_E_timeout, PASSES},
    {PDL_E_stream, PASSES},        {PDL_E_rate_limit, PASSES}, {PDL_E_unavailable, PASSES},
    {PDL_E_server, PASSES},
};

static bool may_retry(const pdl_fault *f) {
    bool passes = f->status == 409;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (classes[i].kind == f->kind) {
            if (classes[i].what == NEVER) return false;
            passes = true;
        }
    return f->should_retry >= 0 ? f->should_retry == 1 : passes;
}

bool pdl_backoff(const pdl_fault *f, unsigned attempt, pdl_rand *rng, uint64_t *wait_ms) {
    if (!may_retry(f) || f->retry_after > LONGEST_WAIT_S) return false;
    double wait = f->retry_after;
    if (wait <= 0) {
        wait = attempt < 4 ? 0.5 * (double)(1u << attempt) : 8;
        wait *= 1 - 0.25 * pdl_rand_double(rng);
    }
    *wait_ms = (uint64_t)(wait * 1000 + 0.5);
    return true;
}

double pdl_backoff_header(const pdl_http_reply *r, double now_s, bool *is_date) {
    double v;
    pdl_str ms = pdl_http_header(r, "retry-after-ms");
    *is_date = false;
    if (ms.n && pdl_num_read_double(ms, &v) && v >= 0) return v / 1000;
    v = pdl_http_retry_after(r, now_s, is_date);
    return *is_date && v <= 0 ? -1 : v;
}

double pdl_backoff_details(pdl_vref error) {
    pdl_vref list = pdl_member(error, "details");
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_str s = pdl_member_str(pdl_list_at(list, i), "retryDelay");
        double v;
        if (s.n > 1 && s.p[s.n - 1] == 's' && pdl_num_read_double(pdl_str_sub(s, 0, s.n - 1), &v) &&
            v >= 0)
            return v;
    }
    return -1;
}
