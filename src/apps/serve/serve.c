/* serve.c -- the loop of the server, and everything that lives as long as the server; see serve.h.
 * All requests share one thread. So requests take turns, and the sockets are polled again and again
 * even while programs compute.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/serve.h"

#include "base/limits.h"
#include "io/clock.h"
#include "serve/mcp_server.h"
#include "serve/request_log.h"
#include "serve/stored_responses.h"
#include "serve/tool.h"

#include "base/banned.h"

enum {
    RECEIVE_MS = 60000,
    SEND_MS = 60000,
    RUN_MS = 600000,
    TURN_NS = 10000000, /* maximum time for which runs compute between two polls of the sockets */
    POLLS = 4,
    /* number of connections that are allowed in addition to those with open requests */
    SPARE_CONNECTIONS = 1024,
};

static bool take_policies(const pdl_serve *s, pdl_err *err) {
    bool ok = true;
    for (size_t i = 0; ok && i < s->opt.n_models; i++)
        ok = pdl_session_take_policy(s->opt.session, s->opt.models[i].program, err);
    return ok;
}

static void compile_all(pdl_serve *s) {
    s->codes = PDL_NEW_N(pdl_code *, s->opt.n_models);
    s->slowness = PDL_NEW_N(uint8_t, s->opt.n_models);
    for (size_t i = 0; i < s->opt.n_models; i++)
        s->codes[i] = pdl_session_compile(s->opt.session, s->opt.models[i].program);
}

bool pdl_serve_start(const pdl_serve_options *opt, pdl_serve **out, pdl_err *err) {
    pdl_serve *s = PDL_NEW(pdl_serve);
    s->opt = *opt;
    s->loop = pdl_session_loop(opt->session);
    s->variables = pdl_absent();
    s->conversations = pdl_serve_conversations_new();
    s->ids = (uint64_t)pdl_clock_wall_ns() ^ pdl_clock_ns() << 20;
    if (!opt->max_runs || opt->max_runs > PDL_SERVE_MAX_RUNS) s->opt.max_runs = PDL_SERVE_MAX_RUNS;
    if (!opt->run_ms) s->opt.run_ms = RUN_MS;
    s->metrics = pdl_serve_metrics_new(opt->n_models);
    s->slots = PDL_NEW_N(uint32_t, s->opt.max_runs);
    while (s->n_slots < s->opt.max_runs) {
        s->slots[s->n_slots] = s->opt.max_runs - 1 - s->n_slots;
        s->n_slots++;
    }
    pdl_httpd_options o = {
        .host = opt->host,
        .port = opt->port,
        .max_body = PDL_MAX_SERVE_BYTES,
        .max_bodies = PDL_MAX_SERVE_BODIES_BYTES,
        .max_connections = s->opt.max_runs + opt->max_waiting + SPARE_CONNECTIONS,
        .receive_ms = RECEIVE_MS,
        .send_ms = SEND_MS,
        .debug = opt->debug,
        .user = s,
        .head = pdl_serve_head,
        .request = pdl_serve_route,
        .refused = pdl_serve_record_refused,
        .over = pdl_serve_over,
    };
    bool ok = pdl_session_variables(opt->variables, &s->variables, err) && take_policies(s, err);
    if (ok) compile_all(s);
    if (ok) s->tools = pdl_serve_tools_new(s);
    if (!ok || !(opt->mcp_out ? pdl_serve_mcp_stdio_start(s, opt->mcp_in, opt->mcp_out, err)
                              : pdl_httpd_start(s->loop, &o, &s->httpd, err))) {
        pdl_serve_free(s);
        return false;
    }
    *out = s;
    return true;
}

uint16_t pdl_serve_port(const pdl_serve *s) { return pdl_httpd_port(s->httpd); }

/* Gives a request one turn. After that, the request is the last in the list, unless it has ended. A
 * step neither ends nor starts other requests. */
static void step_one(pdl_serve *s, work *w) {
    pdl_serve_works_move_last(&s->going, w);
    pdl_serve_chat_step(w);
    if (s->going.last == w)
        w->computes = pdl_serve_chat_is_ready(w); /* the request can continue without waiting */
}

/* Gives turns to the requests that are runnable. Returns true when one of these requests can
 * continue at once. Requests that have waited come first, and each of them gets a turn. Requests
 * that compute, or whose turns are long, take turns until the sockets must be polled again. */
static bool step_all(pdl_serve *s) {
    uint64_t end = pdl_clock_ns() + TURN_NS;
    work *last = s->going.last;
    for (work *w = s->going.first, *next; w; w = next) {
        next = w == last ? NULL : w->next;
        if (pdl_serve_chat_is_ready(w) && !w->computes && !pdl_serve_chat_is_slow(w))
            step_one(s, w);
    }
    pdl_serve_chat_admit(s);
    last = s->going.last;
    bool any = false;
    for (work *w = s->going.first, *next; w; w = next) {
        next = w == last ? NULL : w->next;
        if (!pdl_serve_chat_is_ready(w)) continue;
        if (any && pdl_clock_ns() >= end) break; /* at least one request has had its turn */
        any = true;
        step_one(s, w);
    }
    return any;
}

/* Polls the loop. After a long turn, the loop is polled several times, so that requests that
 * arrived meanwhile are served first. A connection needs one poll to be accepted, another to be
 * read, and another for the disk or the worker. */
static void poll_all(pdl_serve *s, bool is_ready) {
    int n = is_ready && s->was_slow ? POLLS : 1;
    s->was_slow = false;
    while (n-- > 0) pdl_session_poll(s->opt.session, is_ready ? 0 : -1);
}

void pdl_serve_run(pdl_serve *s) {
    while (!s->stopping && !pdl_serve_mcp_stdio_is_over(s)) poll_all(s, step_all(s));
}

void pdl_serve_stop(pdl_serve *s) { s->stopping = true; }

void pdl_serve_free(pdl_serve *s) {
    if (!s) return;
    while (s->going.first) pdl_serve_chat_free(s->going.first);
    while (s->waiting.first) pdl_serve_chat_free(s->waiting.first);
    pdl_httpd_free(s->httpd);
    pdl_serve_mcp_stdio_free(s);
    pdl_serve_tools_free(s);
    for (size_t i = 0; s->codes && i < s->opt.n_models; i++) pdl_code_drop(s->codes[i]);
    pdl_free(s->codes);
    pdl_free(s->slowness);
    pdl_serve_conversations_free(s->conversations);
    pdl_free(s->slots);
    pdl_serve_metrics_free(s->metrics);
    pdl_drop(s->variables);
    pdl_free(s);
}
