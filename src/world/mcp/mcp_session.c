/* mcp_session.c -- JSON-RPC with one server: handshake, list of the tools, calls, and requests of
 * the server.
 *
 * The run does not know about sessions: it sends effects at any time, many at once. So jobs queue
 * here until the handshake is done. The list of tools is read when a program wants it, and again
 * after the server announced a change. A call does not wait for the list, because the
 * configuration's allow list decides what may be called. A server may restart at any time and
 * forget the session. So `epoch` counts sessions, and a late answer of an old session is
 * recognised. A job is sent again at most once, because its tool may have acted already.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"

#include <assert.h>
#include <string.h>

#include "base/num.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "base/version.h"
#include "io/clock.h"
#include "mcp/server_session.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/peer_message.h"

#include "base/banned.h"

enum { MAX_PAGES = 200, METHOD_NOT_FOUND = -32601, SHOWN = 200 };

/* The versions of the protocol; the first is proposed (spec providers 19). */
static const char *const versions[] = {"2025-06-18", "2025-11-25", "2025-03-26", "2024-11-05"};

static void advance(session *s);
static void send_turns(session *s);

bool pdl_mcp_server_error(const session *s, pdl_err *err, const char *fmt, ...) {
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "tool server %s: %s", s->config.name,
                pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

/* --- calls ------------------------------------------------------------------------------------ */

static call *find_call(const session *s, uint64_t id) {
    for (size_t i = 0; i < s->calls.n; i++)
        if (s->calls.p[i]->id == id) return s->calls.p[i];
    return NULL;
}

bool pdl_mcp_session_waits_for(const session *s, uint64_t id) { return find_call(s, id) != NULL; }

/* Removes the call from the table. The caller owns its job. */
static job end_call(call *c) {
    session *s = c->s;
    job j = c->job;
    size_t i = 0;
    while (i < s->calls.n && s->calls.p[i] != c) i++;
    assert(i < s->calls.n); /* a call can end only once */
    s->calls.p[i] = s->calls.p[--s->calls.n];
    assert(c->kind != CALL_JOB || s->n_sent > 0);
    if (c->kind == CALL_JOB) s->n_sent--;
    pdl_timer_stop(c->limit);
    pdl_free(c);
    return j;
}

static void refuse(pdl_effect *e, const pdl_err *why) {
    pdl_err err = {0};
    if (!e) return;
    pdl_err_copy(&err, why);
    pdl_effect_refuse(e, &err);
}

static bool wants_list(const job *j) {
    return pdl_text_is(pdl_dict_getz(j->e->request, "op"), "list");
}

/* Moves all jobs from the queue to *out; with only_lists, only the jobs that want the list of
 * tools. Returns their number. */
static size_t take_jobs(session *s, bool only_lists, job **out) {
    size_t n = 0, kept = 0;
    *out = PDL_NEW_N(job, s->jobs.n + 1);
    for (size_t i = 0; i < s->jobs.n; i++) {
        if (only_lists && !wants_list(&s->jobs.p[i]))
            s->jobs.p[kept++] = s->jobs.p[i];
        else
            (*out)[n++] = s->jobs.p[i];
    }
    s->jobs.n = kept;
    return n;
}

static void fail_jobs(session *s, bool only_lists, const pdl_err *why) {
    job *jobs;
    size_t n = take_jobs(s, only_lists, &jobs);
    for (size_t i = 0; i < n; i++) refuse(jobs[i].e, why);
    pdl_free(jobs);
}

static void reset(session *s) {
    s->state = SESSION_NEW;
    s->epoch++;
    pdl_drop(s->tools);
    pdl_drop(s->pages);
    pdl_drop(s->cursors);
    s->tools = s->pages = s->cursors = pdl_absent();
}

void pdl_mcp_session_failed(session *s, pdl_err *err) {
    PDL_TRACE(s->world->opt.debug, mcp, "%s: %s", s->config.name, err->msg);
    job *jobs = PDL_NEW_N(job, s->calls.n + s->turn.n + 1);
    size_t n = 0;
    while (s->calls.n) jobs[n++] = end_call(s->calls.p[s->calls.n - 1]);
    while (s->next_turn < s->turn.n) jobs[n++] = s->turn.p[s->next_turn++];
    s->turn.n = s->next_turn = 0;
    reset(s);
    s->via->close(s);
    for (size_t i = 0; i < n; i++) refuse(jobs[i].e, err);
    pdl_free(jobs);
    fail_jobs(s, false, err);
    pdl_err_fini(err);
}

static void call_failed(call *c, pdl_err *err) {
    session *s = c->s;
    call_kind kind = c->kind;
    if (kind == CALL_INITIALIZE || kind == CALL_INITIALIZED) {
        pdl_mcp_session_failed(s, err);
        return;
    }
    job j = end_call(c);
    if (kind == CALL_LIST) {
        pdl_drop(s->pages);
        s->pages = pdl_absent();
        fail_jobs(s, true, err);
    } else {
        refuse(j.e, err);
        send_turns(s);
    }
    pdl_err_fini(err);
}

void pdl_mcp_session_call_failed(session *s, uint64_t id, pdl_err *err) {
    call *c = find_call(s, id);
    if (c)
        call_failed(c, err);
    else
        pdl_err_fini(err);
}

bool pdl_mcp_session_lost(session *s, uint64_t id) {
    call *c = find_call(s, id);
    if (!c) return true;
    bool list = c->kind == CALL_LIST, current = c->epoch == s->epoch;
    if ((!list && c->kind != CALL_JOB) || c->job.again || (list && s->n_lost++)) return false;
    job j = end_call(c);
    j.again = true;
    if (!list) *pdl_vec_push(&s->jobs) = j; /* jobs that need the list wait in the queue already */
    if (current) {
        s->via->close(s);
        reset(s);
    }
    advance(s);
    return true;
}

void pdl_mcp_session_expired(session *s) {
    /* an answer to a request that was just written calls this function again */
    if (s->state != SESSION_READY || s->calls.n) return;
    PDL_TRACE(s->world->opt.debug, mcp, "%s: the session is over", s->config.name);
    s->via->close(s);
    reset(s);
    advance(s);
}

/* --- sending ---------------------------------------------------------------------------------- */

/* Writes {"jsonrpc", "id"?, "method", "params"?}; takes params, which may be absent. Returns false
 * when params cannot be written as JSON. */
static bool write_message(uint64_t id, const char *method, pdl_val params, pdl_buf *out,
                          pdl_err *err) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "jsonrpc", pdl_textz("2.0"));
    if (id) d = pdl_dict_putz(d, "id", pdl_int((int64_t)id));
    d = pdl_dict_putz(d, "method", pdl_textz(method));
    if (!pdl_is_absent(params)) d = pdl_dict_putz(d, "params", params);
    bool ok = pdl_json_write(d, 0, 0, out, err);
    pdl_drop(d);
    return ok;
}

static void notify(session *s, const char *method, pdl_val params, const call *c) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    if (write_message(0, method, params, &b, &err)) s->via->send(s, pdl_buf_str(&b), c);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
}

static void send_cancelled(session *s, uint64_t id, const char *why) {
    pdl_val p = pdl_dict_putz(pdl_dict_new(2), "requestId", pdl_int((int64_t)id));
    notify(s, "notifications/cancelled", pdl_dict_putz(p, "reason", pdl_textz(why)), NULL);
}

static void on_limit(void *user) {
    call *c = user;
    session *s = c->s;
    pdl_err err = {0};
    c->limit = NULL;
    double seconds = (double)(pdl_clock_ns() - c->start_ns) / 1e9;
    pdl_mcp_server_error(s, &err, "no answer in %.*f seconds", seconds < 10 ? 1 : 0, seconds);
    err.kind = PDL_E_timeout;
    if (s->n_junk)
        pdl_err_hint(&err, "it wrote %zu text%s that cannot be read; PDL_DEBUG=mcp shows %s",
                     s->n_junk, PDL_PLURAL(s->n_junk), s->n_junk == 1 ? "it" : "them");
    else if (s->n_stray)
        pdl_err_hint(&err, "it wrote %zu answer%s with an id that no open request has", s->n_stray,
                     PDL_PLURAL(s->n_stray));
    if (c->kind == CALL_LIST || c->kind == CALL_JOB) send_cancelled(s, c->id, "time is up");
    s->via->forget(s, c);
    call_failed(c, &err);
}

static call *call_new(session *s, call_kind kind, uint64_t limit_ms) {
    call *c = PDL_NEW(call);
    c->s = s;
    c->kind = kind;
    c->id = ++s->next_id;
    c->epoch = s->epoch;
    c->start_ns = pdl_clock_ns();
    if (kind == CALL_JOB) s->n_sent++;
    c->limit = pdl_timer_start(s->world->loop, limit_ms, on_limit, c);
    *pdl_vec_push(&s->calls) = c;
    return c;
}

/* Returns the time limit in ms. All pages of the list together have one limit. */
static uint64_t limit_of(const session *s, call_kind kind) {
    if (kind == CALL_JOB) return s->config.timeout_ms;
    uint64_t used = kind == CALL_LIST ? (pdl_clock_ns() - s->list_start_ns) / 1000000 : 0;
    return used < s->config.start_ms ? s->config.start_ms - used : 1;
}

/* Sends a request; takes params and, for CALL_JOB, the job. */
static void request(session *s, call_kind kind, const char *method, pdl_val params, job j) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    call *c = call_new(s, kind, limit_of(s, kind));
    c->job = j;
    if (kind == CALL_LIST) c->start_ns = s->list_start_ns;
    if (write_message(c->id, method, params, &b, &err))
        s->via->send(s, pdl_buf_str(&b), c);
    else
        call_failed(c, &err);
    pdl_buf_fini(&b);
}

static void ask_list(session *s, pdl_vref cursor) {
    pdl_val p = pdl_dict_new(1);
    if (!pdl_is_absent(cursor)) p = pdl_dict_putz(p, "cursor", pdl_keep(cursor));
    if (pdl_is_absent(s->pages)) {
        s->pages = pdl_dict_new(8);
        s->n_pages = s->list_bytes = 0;
        s->list_start_ns = pdl_clock_ns();
        pdl_drop(s->cursors);
        s->cursors = pdl_dict_new(0);
    }
    request(s, CALL_LIST, "tools/list", p, (job){0});
}

/* --- jobs ------------------------------------------------------------------------------------- */

static void refuse_job(session *s, pdl_effect *e, const char *fmt, pdl_str about) {
    pdl_err err = {0};
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s%.*s", fmt, PDL_FMT(about));
    pdl_mcp_server_error(s, &err, "%s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    pdl_effect_refuse(e, &err);
}

static pdl_val object_of(pdl_vref d, const char *key) {
    pdl_vref v = pdl_dict_getz(d, key);
    return pdl_is_dict(v) ? pdl_keep(v) : pdl_dict_new(0);
}

bool pdl_mcp_traceparent(const session *s, const pdl_effect *e, char out[56]) {
    const pdl_mcp_options *o = &s->world->opt;
    return o->traceparent && o->traceparent(o->user, e->id, out);
}

/* Adds the trace context, so that the server can continue the trace of the run. A context that the
 * program gave is not replaced. Takes params.
 */
static pdl_val with_trace(const session *s, const pdl_effect *e, pdl_val params) {
    const char *state = s->world->opt.tracestate;
    char text[56];
    pdl_val meta = object_of(params, "_meta");
    bool theirs = !pdl_is_absent(pdl_dict_getz(meta, "traceparent"));
    if (theirs || !pdl_mcp_traceparent(s, e, text)) {
        pdl_drop(meta);
        return params;
    }
    meta = pdl_dict_putz(meta, "traceparent", pdl_textz(text));
    if (state) meta = pdl_dict_putz(meta, "tracestate", pdl_textz(state));
    return pdl_dict_putz(params, "_meta", meta);
}

static void send_call(session *s, job j) {
    pdl_vref r = j.e->request;
    pdl_str name = pdl_member_str(r, "name");
    if (!pdl_mcp_config_allows(&s->config, name)) {
        refuse_job(s, j.e, "the configuration does not allow the tool ", name);
        return;
    }
    pdl_val p = pdl_dict_putz(pdl_dict_new(3), "name", pdl_text(name));
    p = with_trace(s, j.e, pdl_dict_putz(p, "arguments", object_of(r, "arguments")));
    request(s, CALL_JOB, "tools/call", p, j);
}

/* Returns true when a program may send the request. The handshake and notifications are refused,
 * and the allow list applies to calls of tools. */
static bool may_ask(const session *s, pdl_str method, pdl_vref params) {
    if (pdl_str_find(method, (pdl_str){"", 1}, 0) != PDL_NOT_FOUND) return false;
    if (pdl_str_is(method, "initialize") || pdl_str_starts(method, PDL_STR("notifications/")))
        return false;
    return !pdl_str_is(method, "tools/call") ||
           pdl_mcp_config_allows(&s->config, pdl_member_str(params, "name"));
}

static void send_request(session *s, job j) {
    pdl_vref r = j.e->request, params = pdl_dict_getz(r, "params");
    pdl_str method = pdl_member_str(r, "method");
    if (!method.n || !may_ask(s, method, params)) {
        refuse_job(s, j.e, "a program may not send the request ", method);
        return;
    }
    char *name = pdl_str_dup(method);
    request(s, CALL_JOB, name, with_trace(s, j.e, object_of(r, "params")), j);
    pdl_free(name);
}

static void answer(pdl_effect *e, pdl_val v, uint64_t start_ns) {
    pdl_effect_answer(e, v, start_ns ? (double)(pdl_clock_ns() - start_ns) / 1e9 : 0);
}

static void begin(session *s) {
    pdl_err err = {0};
    s->state = SESSION_STARTING;
    s->n_junk = s->n_stray = s->n_asked = s->unasked_bytes = 0;
    s->begun_ns = pdl_clock_ns();
    if (!s->via->open(s, &err)) {
        pdl_mcp_session_failed(s, &err);
        return;
    }
    pdl_val info = pdl_dict_putz(pdl_dict_new(2), "name", pdl_textz("pdl"));
    info = pdl_dict_putz(info, "version", pdl_textz(PDL_VERSION));
    pdl_val p = pdl_dict_putz(pdl_dict_new(3), "protocolVersion", pdl_textz(versions[0]));
    p = pdl_dict_putz(p, "capabilities", pdl_dict_new(0));
    request(s, CALL_INITIALIZE, "initialize", pdl_dict_putz(p, "clientInfo", info), (job){0});
}

/* --- one call after the other ----------------------------------------------------------------
 *
 * Tools that read, change and write back (a file, a row, the state of a browser) overwrite each
 * other's work when calls overlap. For a server with `parallel: false` a call is sent when the
 * previous one has ended; the others wait in `turn`, in the order in which the program made
 * them. */

static void send_job(session *s, job j) {
    if (pdl_text_is(pdl_dict_getz(j.e->request, "op"), "call"))
        send_call(s, j);
    else
        send_request(s, j);
}

/* Sends a job, or lets it wait. A job that was sent before, in a session that the server forgot,
 * goes before the other jobs. */
static void send_or_wait(session *s, job j) {
    bool others = s->n_sent || (s->next_turn < s->turn.n && !j.again);
    if (s->config.one_by_one && others)
        *pdl_vec_push(&s->turn) = j;
    else
        send_job(s, j);
}

/* Sends jobs whose turn has come. A job that is refused at once lets the next one start. Any number
 * of jobs may be refused, so this is a loop. */
static void send_turns(session *s) {
    if (s->taking_turns) return;
    s->taking_turns = true;
    while (s->state == SESSION_READY && !s->n_sent && s->next_turn < s->turn.n) {
        job j = s->turn.p[s->next_turn++];
        if (j.e) send_job(s, j); /* a job without an effect was cancelled */
    }
    if (s->next_turn == s->turn.n) s->turn.n = s->next_turn = 0;
    s->taking_turns = false;
}

/* Sends every job that can be sent now. */
static void advance(session *s) {
    if (s->state == SESSION_NEW && (s->jobs.n || s->next_turn < s->turn.n)) begin(s);
    if (s->state != SESSION_READY) return;
    job *jobs;
    size_t n = take_jobs(s, false, &jobs);
    for (size_t i = 0; i < n; i++) {
        if (s->state != SESSION_READY)
            *pdl_vec_push(&s->jobs) = jobs[i];
        else if (!wants_list(&jobs[i]))
            send_or_wait(s, jobs[i]);
        else if (!pdl_is_absent(s->tools))
            answer(jobs[i].e, pdl_keep(s->tools), 0);
        else
            *pdl_vec_push(&s->jobs) = jobs[i];
    }
    pdl_free(jobs);
    send_turns(s);
    bool lists = s->jobs.n && s->state == SESSION_READY;
    if (lists && pdl_is_absent(s->tools) && pdl_is_absent(s->pages)) ask_list(s, pdl_absent());
}

/* Starts the jobs that waited for a cancelled job. A run that ends cancels its calls one by one, so
 * the waiting jobs start only when all cancellations are done. */
static void on_cancelled(void *user) {
    session *s = user;
    s->after_cancel = NULL;
    send_turns(s);
}

/* Removes an effect from the queue. The other entries are not moved, so that cancelling all entries
 * in their order takes linear time. */
static bool cancel_turn(session *s, uint32_t effect) {
    for (size_t i = s->next_turn; i < s->turn.n; i++) {
        job *j = &s->turn.p[i];
        if (!j->e || j->e->id != effect) continue;
        pdl_effect_free(j->e);
        j->e = NULL;
        while (s->next_turn < s->turn.n && !s->turn.p[s->next_turn].e) s->next_turn++;
        return true;
    }
    return false;
}

void pdl_mcp_session_take(session *s, pdl_effect *e) {
    *pdl_vec_push(&s->jobs) = (job){.e = e};
    advance(s);
    assert(pdl_mcp_session_ok(s));
}

bool pdl_mcp_session_cancel(session *s, uint32_t effect) {
    assert(pdl_mcp_session_ok(s));
    for (size_t i = 0; i < s->jobs.n; i++) {
        if (s->jobs.p[i].e->id != effect) continue;
        pdl_effect_free(s->jobs.p[i].e);
        memmove(&s->jobs.p[i], &s->jobs.p[i + 1], (s->jobs.n - i - 1) * sizeof s->jobs.p[0]);
        s->jobs.n--;
        return true;
    }
    for (size_t i = 0; i < s->calls.n; i++) {
        call *c = s->calls.p[i];
        if (c->kind != CALL_JOB || c->job.e->id != effect) continue;
        send_cancelled(s, c->id, "the run does not need it any more");
        s->via->forget(s, c);
        pdl_effect_free(end_call(c).e);
        if (s->next_turn < s->turn.n && !s->after_cancel)
            s->after_cancel = pdl_timer_start(s->world->loop, 0, on_cancelled, s);
        return true;
    }
    return cancel_turn(s, effect);
}

bool pdl_mcp_session_is_busy(const session *s) {
    return s->jobs.n || s->calls.n || s->next_turn < s->turn.n;
}

/* --- received messages ------------------------------------------------------------------------ */

static bool negotiate(session *s, pdl_vref result, pdl_err *err) {
    pdl_str said = pdl_member_str(result, "protocolVersion");
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
        if (pdl_str_is(said, versions[i])) {
            s->version = versions[i];
            return true;
        }
    return pdl_mcp_server_error(s, err,
                                "it speaks version '%.*s' of the protocol, which is not known here",
                                PDL_FMT(pdl_utf8_cut(said, SHOWN)));
}

void pdl_mcp_session_greeted(session *s) {
    for (size_t i = 0; i < s->calls.n; i++) {
        if (s->calls.p[i]->kind != CALL_INITIALIZED) continue;
        end_call(s->calls.p[i]);
        s->state = SESSION_READY;
        PDL_TRACE(s->world->opt.debug, mcp, "%s: ready, version %s", s->config.name, s->version);
        advance(s);
        return;
    }
}

static void initialized(session *s, pdl_vref result) {
    pdl_err err = {0};
    if (!negotiate(s, result, &err)) {
        pdl_mcp_session_failed(s, &err);
        return;
    }
    pdl_vref can = pdl_dict_getz(result, "capabilities"),
             tools = pdl_is_dict(can) ? pdl_dict_getz(can, "tools") : pdl_absent();
    pdl_vref changes = pdl_is_dict(tools) ? pdl_dict_getz(tools, "listChanged") : pdl_absent();
    s->pushes = pdl_is_bool(changes) && pdl_bool_of(changes);
    call *c = call_new(s, CALL_INITIALIZED, s->config.start_ms);
    notify(s, "notifications/initialized", pdl_absent(), c);
    if (s->via->ordered) pdl_mcp_session_greeted(s);
}

static void end_list(session *s) {
    s->n_lost = 0;
    s->tools = pdl_mcp_tools_list(s->pages);
    pdl_drop(s->pages);
    s->pages = pdl_absent();
    job *jobs;
    size_t n = take_jobs(s, true, &jobs);
    pdl_val tools = pdl_keep(s->tools); /* the list of tools may change in the meantime */
    for (size_t i = 0; i < n; i++) answer(jobs[i].e, pdl_keep(tools), 0);
    pdl_drop(tools);
    pdl_free(jobs);
}

static void listed(call *c, pdl_vref result) {
    session *s = c->s;
    pdl_err err = {0};
    pdl_vref next;
    s->list_bytes += s->text_bytes;
    if (s->list_bytes > PDL_MAX_TOOL_LIST_BYTES) {
        pdl_mcp_server_error(s, &err, "its list of tools is longer than %d bytes",
                             PDL_MAX_TOOL_LIST_BYTES);
        err.kind = PDL_E_limit;
        call_failed(c, &err);
    } else if (!pdl_mcp_tools_add(&s->config, result, &s->pages, &err)) {
        call_failed(c, &err);
    } else if (pdl_dict_len(s->pages) > PDL_MAX_TOOLS) {
        pdl_mcp_server_error(s, &err, "its list has more than %d tools", PDL_MAX_TOOLS);
        err.kind = PDL_E_limit;
        call_failed(c, &err);
    } else if (!pdl_mcp_next_cursor(result, &next)) {
        pdl_mcp_server_error(s, &err, "the cursor of its list of tools is not a text");
        call_failed(c, &err);
    } else if (pdl_is_absent(next)) {
        end_call(c);
        end_list(s);
    } else if (!pdl_is_absent(pdl_dict_find(s->cursors, next))) {
        pdl_mcp_server_error(s, &err, "its list of tools gives the same cursor twice");
        call_failed(c, &err);
    } else if (++s->n_pages >= MAX_PAGES) {
        pdl_mcp_server_error(s, &err, "its list of tools has more than %d pages", MAX_PAGES);
        call_failed(c, &err);
    } else {
        end_call(c);
        s->cursors = pdl_dict_put(s->cursors, pdl_keep(next), pdl_null());
        ask_list(s, next);
    }
}

static void job_answered(call *c, pdl_vref result) {
    uint64_t start = c->start_ns;
    session *s = c->s;
    pdl_err err = {0};
    pdl_val out;
    job j = end_call(c);
    if (!pdl_text_is(pdl_dict_getz(j.e->request, "op"), "call")) {
        answer(j.e, pdl_keep(result), start);
    } else if (pdl_mcp_call_result(result, &out, &err)) {
        answer(j.e, out, start);
    } else {
        pdl_err whole = {0};
        pdl_mcp_server_error(s, &whole, "%s", err.msg);
        pdl_err_fini(&err);
        pdl_effect_refuse(j.e, &whole);
    }
    send_turns(s);
}

static void succeeded(call *c, pdl_vref result) {
    session *s = c->s;
    switch (c->kind) {
    case CALL_INITIALIZE:
        end_call(c);
        initialized(s, result);
        break;
    case CALL_INITIALIZED: break; /* a notification has no answer */
    case CALL_LIST: listed(c, result); break;
    case CALL_JOB: job_answered(c, result); break;
    }
}

static void replied_with_error(call *c, pdl_vref error) {
    session *s = c->s;
    pdl_err err = {0}, why = {0};
    pdl_mcp_rpc_error(error, &err);
    if (c->kind == CALL_LIST && err.status == METHOD_NOT_FOUND) { /* the server has no tools */
        end_call(c);
        end_list(s);
        pdl_err_fini(&err);
        return;
    }
    if (c->kind != CALL_JOB) {
        pdl_mcp_server_error(s, &why, "%s", err.msg);
        pdl_err_fini(&err);
        pdl_err_move(&err, &why);
    }
    call_failed(c, &err);
}

static void notified(session *s, pdl_str method) {
    PDL_TRACE(s->world->opt.debug, mcp, "%s: %.*s", s->config.name, PDL_FMT(method));
    if (!pdl_str_is(method, "notifications/tools/list_changed")) return;
    pdl_drop(s->tools);
    s->tools = pdl_absent();
}

/* Returns the number of the call in the id of an answer; 0 when the id is not a number. Some
 * languages do not distinguish 1, 1.0 and "1", so all three are accepted. */
static uint64_t number_of(pdl_vref id) {
    int64_t n = 0;
    double d = pdl_is(id, PDL_V_FLOAT) ? pdl_float_of(id) : 0;
    if (pdl_is(id, PDL_V_INT)) n = pdl_int_of(id);
    if (pdl_is_str(id) && !pdl_num_read_int(pdl_str_get(id), &n)) n = 0;
    if (d >= 1 && d < 0x1p53 && d == (double)(int64_t)d) n = (int64_t)d;
    return n > 0 ? (uint64_t)n : 0;
}

static void replied_with_nothing(call *c) {
    pdl_err err = {0};
    pdl_mcp_server_error(c->s, &err, "its answer has neither a result nor an error");
    call_failed(c, &err);
}

/* Returns the call that failed when an error has no id. A server sends such an error when it could
 * not read a request. The failed call is the one whose answer the transport reads, or the only open
 * call. */
static call *nameless_call(const session *s) {
    call *only = s->expected ? find_call(s, s->expected) : NULL;
    /* a notification has no answer, but some servers send an error for one they do not know */
    if (s->expected) return only && only->kind == CALL_INITIALIZED ? NULL : only;
    for (size_t i = 0; i < s->calls.n; i++) {
        if (s->calls.p[i]->kind == CALL_INITIALIZED) continue; /* a notification has no answer */
        if (only) return NULL;
        only = s->calls.p[i];
    }
    return only;
}

static bool take_message(session *s, pdl_vref m) {
    pdl_str method = pdl_member_str(m, "method");
    pdl_vref id = pdl_is_dict(m) ? pdl_dict_getz(m, "id") : pdl_absent();
    if (method.n) {
        if (!pdl_is_absent(id)) return pdl_mcp_session_asked(s, method, id);
        notified(s, method);
        return true;
    }
    uint64_t number = number_of(id);
    call *c = number ? find_call(s, number) : NULL;
    pdl_vref result = pdl_is_dict(m) ? pdl_dict_getz(m, "result") : pdl_absent();
    pdl_vref error = pdl_is_dict(m) ? pdl_dict_getz(m, "error") : pdl_absent();
    /* servers of JSON-RPC 1.0 write both members, and null for the one that is not meant */
    if (pdl_is_null(error) && !pdl_is_absent(result)) error = pdl_absent();
    bool nameless = pdl_is_absent(id) || !pdl_val_truth(id); /* no id of ours is 0 or empty */
    if (!c && nameless && !pdl_is_absent(error) && !pdl_is_null(error)) c = nameless_call(s);
    if (pdl_is_absent(result) && pdl_is_absent(error)) {
        if (c) replied_with_nothing(c);
        return c != NULL;
    }
    s->n_stray += !c;
    if (!c)
        PDL_TRACE(s->world->opt.debug, mcp, "%s: an answer to no request", s->config.name);
    else if (!pdl_is_absent(error))
        replied_with_error(c, error);
    else
        succeeded(c, result);
    return true;
}

/* Returns the number that follows the member "id" at offset `at`. */
static uint64_t number_after(pdl_str text, size_t at) {
    int64_t n = 0;
    size_t from = at + strlen("\"id\""), to;
    while (from < text.n && strchr(" \t:", text.p[from])) from++;
    for (to = from; to < text.n && text.p[to] >= '0' && text.p[to] <= '9';) to++;
    return pdl_num_read_int(pdl_str_sub(text, from, to), &n) && n > 0 ? (uint64_t)n : 0;
}

/* Returns the call that is answered by a text that should be a message but is not JSON. The id of
 * the call is before the result or at the end of the text. A text without an id answers the call
 * that nameless_call finds. */
static call *meant_call(const session *s, pdl_str text) {
    pdl_str id = PDL_STR("\"id\"");
    size_t first = pdl_str_find(text, id, 0);
    size_t result = pdl_str_find(text, PDL_STR("\"result\""), 0);
    bool is_meant = pdl_str_starts(text, PDL_STR("{")) &&
                    pdl_str_find(text, PDL_STR("\"jsonrpc\""), 0) != PDL_NOT_FOUND;
    if (!is_meant) return NULL;
    if (first == PDL_NOT_FOUND) return nameless_call(s);
    if (result != PDL_NOT_FOUND && result < first) first = pdl_str_rfind(text, id);
    return find_call(s, number_after(text, first));
}

/* Fails the call that an unreadable text answers. Takes err, which says why the text cannot be
 * read. Returns false when no call fits the text. */
static bool unreadable(session *s, pdl_str text, pdl_err *err) {
    call *c = meant_call(s, text);
    pdl_err whole = {0};
    if (c) {
        pdl_mcp_server_error(s, &whole, "its answer cannot be read: %s", err->msg);
        call_failed(c, &whole);
    }
    pdl_err_fini(err);
    return c != NULL;
}

bool pdl_mcp_session_message(session *s, pdl_str text) {
    pdl_val v;
    pdl_err err = {0};
    assert(pdl_mcp_session_ok(s));
    text = pdl_str_trim(text);
    bool good = pdl_json_read_document(text, 0, &v, &err);
    s->text_bytes = text.n;
    if (good) {
        uint32_t epoch = s->epoch; /* a message may end the session */
        size_t n = pdl_is_list(v) ? pdl_list_len(v) : 1;
        for (size_t i = 0; i < n && s->epoch == epoch; i++)
            good = take_message(s, pdl_is_list(v) ? pdl_list_at(v, i) : v) && good;
        pdl_drop(v);
    } else {
        good = unreadable(s, text, &err);
    }
    assert(pdl_mcp_session_ok(s));
    if (good) return true;
    s->n_junk++;
    PDL_TRACE(s->world->opt.debug, mcp, "%s: no message: %.*s", s->config.name,
              PDL_FMT(pdl_utf8_cut(text, SHOWN)));
    return false;
}

/* --- life ------------------------------------------------------------------------------------- */

session *pdl_mcp_session_new(mcp_world *r, pdl_arena *a, const server_config *c) {
    session *s = PDL_NEW(session);
    s->world = r;
    s->arena = a;
    s->config = *c;
    s->via = c->argv ? &pdl_mcp_transport_stdio : &pdl_mcp_transport_http;
    s->tools = s->pages = s->cursors = pdl_absent();
    return s;
}

void pdl_mcp_session_forget_calls(session *s) {
    while (s->calls.n) {
        call *c = s->calls.p[s->calls.n - 1];
        s->via->forget(s, c);
        pdl_effect_free(end_call(c).e);
    }
    for (size_t i = 0; i < s->jobs.n; i++) pdl_effect_free(s->jobs.p[i].e);
    for (size_t i = s->next_turn; i < s->turn.n; i++) pdl_effect_free(s->turn.p[i].e);
    s->jobs.n = s->turn.n = s->next_turn = 0;
}

void pdl_mcp_session_free(session *s) {
    pdl_mcp_session_forget_calls(s);
    pdl_timer_stop(s->after_cancel);
    s->via->close(s);
    reset(s);
    pdl_vec_fini(&s->calls);
    pdl_vec_fini(&s->jobs);
    pdl_vec_fini(&s->turn);
    pdl_arena_free(s->arena);
    pdl_free(s);
}
