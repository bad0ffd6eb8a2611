/* error_status.c -- maps errors of a run to statuses and headers; see error_status.h. Clients
 * should not repeat a failed run by themselves, because it would be paid for again. Clients should
 * repeat the run only when a service has asked to wait.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/error_status.h"

#include <math.h>
#include <stdio.h>

#include "serve/idempotency.h"
#include "serve/request_log.h"
#include "value/json_read.h"

#include "base/banned.h"

typedef struct failure {
    pdl_err_kind kind;
    int status;
    const char *type;
} failure;

/* Statuses of the errors of services, and of a run that did not end in time. All other errors count
 * as errors of the program, and have the status 500. */
static const failure failures[] = {
    {PDL_E_auth, 502, "upstream_error"},           {PDL_E_permission, 502, "upstream_error"},
    {PDL_E_not_found, 502, "upstream_error"},      {PDL_E_context_window, 502, "upstream_error"},
    {PDL_E_content_policy, 502, "upstream_error"}, {PDL_E_bad_request, 502, "upstream_error"},
    {PDL_E_unavailable, 502, "upstream_error"},    {PDL_E_server, 502, "upstream_error"},
    {PDL_E_connection, 502, "upstream_error"},     {PDL_E_protocol, 502, "upstream_error"},
    {PDL_E_stream, 502, "upstream_error"},         {PDL_E_rate_limit, 429, "rate_limit_error"},
    {PDL_E_quota, 429, "insufficient_quota"},      {PDL_E_timeout, 504, "timeout"},
};

static failure failure_of(const pdl_err *why) {
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        /* an error without a status means that libpdl has not sent the request */
        bool ours = why->kind == PDL_E_bad_request && !why->status;
        if (failures[i].kind == why->kind && !ours) return failures[i];
    }
    return (failure){why->kind, 500, "server_error"};
}

/* Returns the whole seconds that a service has asked to wait; 0 when it has not asked. */
static unsigned seconds_to_wait(const pdl_err *why) {
    double s = why->facts.retry_after;
    return s > 0 && s < 1e6 ? (unsigned)ceil(s) : 0;
}

static void add_headers(pdl_exchange *x, const failure *f, const pdl_err *why) {
    char text[16];
    unsigned seconds = f->status == 429 ? seconds_to_wait(why) : 0;
    snprintf(text, sizeof text, "%u", seconds);
    if (seconds) pdl_exchange_add_header(x, "Retry-After", text);
    if (f->kind != PDL_E_rate_limit) pdl_exchange_add_header(x, "x-should-retry", "false");
}

static void record_one(void *user, pdl_exchange *x) { pdl_serve_record_error(x, user); }

struct report {
    const failure *f;
    const pdl_err *why;
    pdl_str shown;
};

static void answer_one(void *user, pdl_exchange *x) {
    const struct report *r = user;
    add_headers(x, r->f, r->why);
    pdl_serve_answer_error(x, r->f->status, r->f->type, pdl_err_kind_name(r->why->kind), r->shown);
}

void pdl_serve_failure_report(work *w, const pdl_err *why) {
    failure f = failure_of(why);
    const char *code = pdl_err_kind_name(why->kind);
    pdl_buf shown = PDL_BUF, b = PDL_BUF;
    pdl_serve_keyed_failed(w, why);
    if (!pdl_serve_out_any(w) && !w->form->refuse) return;
    pdl_serve_out_each(w, record_one, (void *)(uintptr_t)code);
    pdl_session_put_error(w->s->opt.session, why, &shown);
    if (!shown.len) PDL_PUT(&shown, "the program failed");
    if (w->form->refuse) {
        w->form->refuse(w, pdl_buf_str(&shown));
    } else if (!w->begun) {
        struct report r = {&f, why, pdl_buf_str(&shown)};
        pdl_serve_out_each(w, answer_one, &r);
    } else {
        w->form->fail(w, pdl_buf_str(&shown), f.type, code, &b);
        pdl_serve_out_put(w, pdl_buf_str(&b));
        pdl_serve_out_end(w);
    }
    pdl_buf_fini(&b);
    pdl_buf_fini(&shown);
}
