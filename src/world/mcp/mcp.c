/* mcp.c -- the world of tool servers: it finds or starts the session of the server that an effect
 * names, passes the effect to it, and ends all sessions in good order; see mcp.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/mcp.h"

#include <signal.h>

#include "io/clock.h"
#include "mcp/server_session.h"

#include "base/banned.h"

static mcp_world *mcp_world_of(pdl_world *w) { return (mcp_world *)(void *)w; }

static session *find(const mcp_world *r, pdl_str name) {
    for (size_t i = 0; i < r->sessions.n; i++)
        if (pdl_str_is(name, r->sessions.p[i]->config.name)) return r->sessions.p[i];
    return NULL;
}

static session *find_or_make(mcp_world *r, pdl_str name, pdl_err *err) {
    session *s = find(r, name);
    if (s) return s;
    server_config c;
    pdl_arena *a = pdl_arena_make();
    if (!pdl_mcp_config_read(&r->opt, name, a, &c, err)) {
        pdl_arena_free(a);
        return NULL;
    }
    s = pdl_mcp_session_new(r, a, &c);
    *pdl_vec_push(&r->sessions) = s;
    return s;
}

bool pdl_mcp_session_ok(const session *s) {
    size_t sent = 0, lists = 0;
    for (size_t i = 0; i < s->calls.n; i++) {
        const call *c = s->calls.p[i];
        if (c->s != s || !c->id || c->id > s->next_id || c->epoch > s->epoch) return false;
        if (c->kind == CALL_JOB && !c->job.e) return false;
        sent += c->kind == CALL_JOB;
        lists += c->kind == CALL_LIST;
    }
    return sent == s->n_sent && s->next_turn <= s->turn.n && (!s->turn.n || s->config.one_by_one) &&
           (s->state != SESSION_READY || s->version) &&
           (pdl_is_absent(s->pages) || (lists && pdl_is_absent(s->tools)));
}

static void start(pdl_world *w, pdl_effect *e) {
    mcp_world *r = mcp_world_of(w);
    pdl_err err = {0};
    pdl_vref name = pdl_is_dict(e->request) ? pdl_dict_getz(e->request, "server") : pdl_absent();
    session *s = NULL;
    if (e->kind != PDL_EFFECT_tool || !pdl_is_str(name))
        pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0}, "no tool server answers effects of kind %s",
                    pdl_effect_kind_name(e->kind));
    else
        s = find_or_make(r, pdl_str_get(name), &err);
    if (s)
        pdl_mcp_session_take(s, e);
    else
        pdl_effect_refuse(e, &err);
}

static void cancel(pdl_world *w, uint32_t id) {
    mcp_world *r = mcp_world_of(w);
    for (size_t i = 0; i < r->sessions.n; i++)
        if (pdl_mcp_session_cancel(r->sessions.p[i], id)) return;
}

static bool poll_world(pdl_world *w, int timeout_ms) {
    mcp_world *r = mcp_world_of(w);
    bool busy = false;
    for (size_t i = 0; i < r->sessions.n; i++)
        busy = busy || pdl_mcp_session_is_busy(r->sessions.p[i]);
    if (busy) pdl_loop_run(r->loop, timeout_ms);
    return busy;
}

static bool all_finished(const mcp_world *r) {
    for (size_t i = 0; i < r->sessions.n; i++)
        if (!r->sessions.p[i]->via->finished(r->sessions.p[i])) return false;
    return true;
}

/* Runs the loop until all sessions have ended. Returns false when a session is still open after
 * patience_ms. */
static bool wait_for_all(const mcp_world *r, uint64_t patience_ms) {
    uint64_t until = pdl_clock_ns() + patience_ms * 1000000;
    while (!all_finished(r)) {
        uint64_t now = pdl_clock_ns();
        if (now >= until || !pdl_loop_run(r->loop, (int)((until - now) / 1000000) + 1)) break;
    }
    return all_finished(r);
}

/* Ends all sessions. For a server that is a child process: closes its input, then sends SIGTERM,
 * then SIGKILL. */
static void end_sessions(mcp_world *r) {
    static const struct {
        uint64_t patience_ms;
        int sig;
    } steps[] = {{2000, SIGTERM}, {1000, SIGKILL}};
    for (size_t i = 0; i < r->sessions.n; i++) {
        pdl_mcp_session_forget_calls(r->sessions.p[i]);
        r->sessions.p[i]->via->finish(r->sessions.p[i]);
    }
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        if (wait_for_all(r, steps[k].patience_ms)) return;
        for (size_t i = 0; i < r->sessions.n; i++)
            if (!r->sessions.p[i]->via->finished(r->sessions.p[i]))
                r->sessions.p[i]->via->insist(r->sessions.p[i], steps[k].sig);
    }
}

static void close_world(pdl_world *w) {
    mcp_world *r = mcp_world_of(w);
    end_sessions(r);
    for (size_t i = 0; i < r->sessions.n; i++) pdl_mcp_session_free(r->sessions.p[i]);
    pdl_vec_fini(&r->sessions);
    pdl_http_free(r->http);
    pdl_free(r);
}

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll_world, .close = close_world};

pdl_world *pdl_mcp_world_new(pdl_loop *loop, const pdl_mcp_options *opt) {
    mcp_world *r = PDL_NEW(mcp_world);
    r->base.ops = &ops;
    r->loop = loop;
    r->opt = *opt;
    return &r->base;
}

int pdl_mcp_pid(const pdl_world *w, pdl_str server) {
    const session *s = find((const mcp_world *)(const void *)w, server);
    return s ? pdl_mcp_stdio_pid(s) : 0;
}
