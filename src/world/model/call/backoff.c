/* backoff.c -- when to send a request again: the policy of OpenAI's clients, for every provider
 * (spec providers 8).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/fault.h"

#include <time.h>

#include "base/num.h"

#include "base/banned.h"

enum { LONGEST_WAIT_S = 120 }; /* a service that asks for more is not waited for */

/* Failures that may pass by themselves. Others may when the service says so (x-should-retry), or
 * when two requests collided (409). */
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

/* "Wed, 21 Oct 2099 07:28:00 GMT" */
static bool read_date(pdl_str s, double *out) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm tm = {0};
    int64_t day, year, h, m, sec;
    if (s.n != 29 || s.p[3] != ',' || s.p[19] != ':' || s.p[22] != ':' ||
        !pdl_str_ends(s, PDL_STR("GMT")))
        return false;
    size_t month = pdl_str_find((pdl_str){months, 36}, pdl_str_sub(s, 8, 11), 0);
    if (month == PDL_NOT_FOUND || month % 3) return false;
    if (!pdl_num_read_int(pdl_str_sub(s, 5, 7), &day) ||
        !pdl_num_read_int(pdl_str_sub(s, 12, 16), &year))
        return false;
    if (!pdl_num_read_int(pdl_str_sub(s, 17, 19), &h) ||
        !pdl_num_read_int(pdl_str_sub(s, 20, 22), &m))
        return false;
    if (!pdl_num_read_int(pdl_str_sub(s, 23, 25), &sec)) return false;
    tm.tm_mday = (int)day;
    tm.tm_mon = (int)(month / 3);
    tm.tm_year = (int)year - 1900;
    tm.tm_hour = (int)h;
    tm.tm_min = (int)m;
    tm.tm_sec = (int)sec;
    *out = (double)timegm(&tm);
    return true;
}

double pdl_backoff_header(const pdl_http_reply *r, double now_s, bool *is_date) {
    double v;
    pdl_str ms = pdl_http_header(r, "retry-after-ms"), s = pdl_http_header(r, "retry-after");
    if (ms.n && pdl_num_read_double(ms, &v) && v >= 0) return v / 1000;
    if (s.n == 0) return -1;
    if (pdl_num_read_double(s, &v)) return v >= 0 ? v : -1;
    *is_date = read_date(s, &v);
    return *is_date && v > now_s ? v - now_s : -1;
}
