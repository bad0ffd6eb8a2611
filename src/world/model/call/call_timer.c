/* call_timer.c -- the one timer of a call.
 *
 * A call waits for one thing at a time, so it has one timer, and one function that the timer calls.
 * The state of the call says what the timer means. A callback and a flag for each reason to wait
 * would have to be kept consistent with each other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/life.h"

#include <assert.h>
#include <math.h>

#include "io/clock.h"

#include "base/banned.h"

/* Tokens and signatures expire: a request that used one is written again, to get a fresh one. A
 * poll for a job keeps its headers. */
static bool needs_rewriting(const pdl_call *c) {
    return c->job.get.len == 0 && (c->route.provider->dialect->resign || c->token_url.len);
}

/* All calls that need the token share the exchange, so the exchange continues without this call. */
static void on_late_token(pdl_call *c) {
    pdl_fault f = {0};
    pdl_token_cancel(&c->token);
    pdl_fault_of_limit(PDL_HTTP_FIRST_MS, &f);
    pdl_call_fail(c, &f);
}

static void on_mock_timeout(pdl_call *c) {
    pdl_fault f = {0};
    pdl_fault_set(&f, PDL_E_timeout, 0, "This is a mock timeout error");
    pdl_call_fail(c, &f);
}

static void on_timer(void *user) {
    pdl_call *c = user;
    assert(pdl_call_is_ok(c));
    c->timer = NULL;
    if (c->state == PDL_CALL_AWAITS_TOKEN)
        on_late_token(c);
    else if (c->state == PDL_CALL_MOCKING)
        on_mock_timeout(c);
    else if ((c->state == PDL_CALL_AWAITS_RETRY || c->state == PDL_CALL_AWAITS_FIRST) &&
             needs_rewriting(c))
        pdl_call_write_request(c);
    else if (c->state == PDL_CALL_AWAITS_FIRST)
        pdl_call_send(c);
    else
        pdl_call_send_again(c);
}

void pdl_call_wait(pdl_call *c, uint64_t ms) {
    assert(c->timer == NULL);
    c->timer = pdl_timer_start(c->calls->loop, ms, on_timer, c);
    assert(pdl_call_is_ok(c));
}

void pdl_call_stop_waiting(pdl_call *c) {
    pdl_timer_stop(c->timer);
    c->timer = NULL;
}

double pdl_call_seconds_left(const pdl_call *c) {
    uint64_t ms = c->calls->opt.patience_ms, spent = (pdl_clock_ns() - c->start_ns) / 1000000;
    return !ms ? HUGE_VAL : spent < ms ? (double)(ms - spent) / 1e3 : 0;
}

uint64_t pdl_call_patience(const pdl_call *c) {
    return c->timing.first ? c->timing.first : c->timing.total;
}
