/* polled_job.c -- polls for replies that the service makes in the background.
 *
 * Some services (Replicate) answer a request with the address of a job. The call then polls that
 * address until the job is done, and shows the new part of its text each time. Three things need
 * care. The address comes from the service, and the key is sent with each poll: a job at another
 * origin is refused. A job may run for long and still be healthy, so the limit `total` counts from
 * its last progress, and the count of retries starts again after each successful poll. A job costs
 * money until it ends: when its result is not needed any more, the service is asked once to stop
 * the job, and the answer of the service is awaited for CANCEL_MS at most.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>

#include "base/pace.h"
#include "io/clock.h"
#include "model/call/life.h"

#include "base/banned.h"

enum { FIRST_POLL_MS = 500, LONGEST_POLL_MS = 5000, CANCEL_MS = 2000 };

void pdl_job_end(pdl_call *c) {
    pdl_buf_fini(&c->job.get);
    pdl_buf_fini(&c->job.cancel);
    pdl_buf_fini(&c->job.text);
    c->n_polls = 0;
}

static void on_cancelled(void *user, const pdl_http_reply *r) {
    pdl_calls *calls = user;
    (void)r;
    assert(calls->n_cancelling > 0);
    calls->n_cancelling--;
}

void pdl_job_best_effort_cancel(pdl_call *c) {
    if (c->job.get.len && c->job.cancel.len) {
        pdl_http_request req = {
            .method = "POST",
            .url = pdl_buf_z(&c->job.cancel),
            .headers = (const char *const *)c->headers.p,
            .n_headers = c->headers.n,
            .body = PDL_STR("{}"),
            .total_ms = CANCEL_MS,
            .user = c->calls,
            .done = on_cancelled,
        };
        c->calls->n_cancelling++;
        pdl_http_start(c->calls->http, &req);
    }
    pdl_job_end(c);
}

bool pdl_job_is_pending(pdl_call *c, pdl_vref json) {
    const pdl_dialect *d = c->ask.provider->dialect;
    pdl_buf_fini(&c->job.text);
    c->job.text = PDL_BUF;
    return d->pending && d->pending(&c->ask, json, &c->job);
}

/* Returns the pause before the next poll, which increases by half after each poll up to a limit. */
static uint64_t pause_ms(unsigned n_polls) {
    uint64_t ms = FIRST_POLL_MS;
    for (unsigned i = 0; i < n_polls && ms < LONGEST_POLL_MS; i++) ms += ms / 2;
    return ms < LONGEST_POLL_MS ? ms : LONGEST_POLL_MS;
}

static bool check_origin(pdl_call *c, pdl_fault *f) {
    pdl_str url = pdl_buf_str(&c->url);
    if (!pdl_url_same_origin(pdl_buf_str(&c->job.cancel), url)) pdl_buf_clear(&c->job.cancel);
    if (pdl_url_same_origin(pdl_buf_str(&c->job.get), url)) return true;
    pdl_job_end(c);
    pdl_fault_set(f, PDL_E_protocol, 200,
                  "the service names an address of another host for its answer");
    return false;
}

/* Returns false when the job has made no progress for longer than a request may take. */
static bool check_progress(pdl_call *c, pdl_fault *f) {
    uint64_t now = pdl_clock_ns(), limit = c->timing.total;
    bool has_more = c->ask.stream && c->job.text.len > c->job_shown;
    if (c->n_polls == 0 || has_more) c->job_progress_ns = now;
    if (!limit || now - c->job_progress_ns <= limit * 1000000) return true;
    pdl_fault_of_limit(PDL_HTTP_TOTAL_MS, f);
    return false;
}

void pdl_job_wait(pdl_call *c) {
    pdl_fault f = {0};
    if (!check_origin(c, &f) || !check_progress(c, &f)) {
        f.should_retry = 0;
        pdl_call_fail(c, &f);
        return;
    }
    pdl_str text = pdl_buf_str(&c->job.text);
    pdl_str fresh = pdl_str_sub(text, c->job_shown, text.n);
    if (c->ask.stream && text.n > c->job_shown) c->job_shown = text.n;
    if (!pdl_call_show(c, fresh)) {
        pdl_call_stop(c, pdl_absent());
        return;
    }
    pdl_call_enter(c, PDL_CALL_AWAITS_JOB);
    c->attempt = 0;
    pdl_call_wait(c, pdl_pace_ms(pause_ms(c->n_polls++)));
}
