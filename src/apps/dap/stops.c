/* stops.c -- receives the events of the run, and decides where it stops; see debugger.h. A stack
 * frame of the protocol is a block that has begun. The machine reports the beginning and the end of
 * each block, so this file stores the frames of each fiber. A step ends when the fiber has a
 * certain number of frames.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "dap/debugger.h"

#include "base/banned.h"

dap_thread *pdl_dap_thread(debugger *g, uint32_t fiber) {
    for (size_t i = 0; i < g->threads.n; i++)
        if (g->threads.p[i].fiber == fiber) return &g->threads.p[i];
    *pdl_vec_push(&g->threads) = (dap_thread){.fiber = fiber};
    return &g->threads.p[g->threads.n - 1];
}

static void frame_fini(dap_frame *f) {
    pdl_program_drop(f->program);
    pdl_drop(f->context);
    pdl_scope_drop(f->scope);
}

static void thread_fini(dap_thread *t) {
    for (size_t i = 0; i < t->frames.n; i++) frame_fini(&t->frames.p[i]);
    pdl_vec_fini(&t->frames);
}

void pdl_dap_threads_fini(debugger *g) {
    for (size_t i = 0; i < g->threads.n; i++) thread_fini(&g->threads.p[i]);
    pdl_vec_fini(&g->threads);
}

dap_frame *pdl_dap_frame_of(debugger *g, uint32_t id, dap_thread **thread) {
    for (size_t i = 0; i < g->threads.n; i++)
        for (size_t k = 0; k < g->threads.p[i].frames.n; k++)
            if (g->threads.p[i].frames.p[k].id == id) {
                *thread = &g->threads.p[i];
                return &g->threads.p[i].frames.p[k];
            }
    return NULL;
}

/* --- stopping --------------------------------------------------------------------------------- */

/* Notifies the client that the run has stopped, and handles requests until the client requests to
 * continue. */
static void stop(debugger *g, uint32_t fiber, const char *reason, pdl_str text) {
    pdl_val m;
    /* the run is ending, and another stop would keep it alive */
    if (g->cancel || g->released) return;
    pdl_val body = pdl_dict_putz(pdl_dict_new(5), "reason", pdl_textz(reason));
    g->stopped = true;
    g->mode = DAP_RUN;
    g->at_fiber = fiber;
    body = pdl_dict_putz(body, "threadId", pdl_int(fiber));
    body = pdl_dict_putz(body, "allThreadsStopped", pdl_bool(true));
    if (text.n) body = pdl_dict_putz(body, "text", pdl_text(text));
    if (text.n) body = pdl_dict_putz(body, "description", pdl_text(text));
    pdl_dap_event(g, "stopped", body);
    while (g->stopped && !g->ended) {
        while (g->stopped && pdl_dap_next(g, &m)) {
            pdl_dap_handle(g, m);
            pdl_drop(m);
        }
        if (g->stopped) pdl_dap_read(g, -1);
    }
    g->stopped = false;
    pdl_dap_follow_client(g);
    pdl_dap_references_fini(g);
}

/* Stops at a failure, or before a request. kind: a static text. */
static void stop_at(debugger *g, uint32_t fiber, const char *kind, pdl_str text) {
    g->failure = pdl_text(text);
    g->failure_kind = kind;
    stop(g, fiber, "exception", text);
    pdl_drop(g->failure);
    g->failure = pdl_absent();
}

/* Stops at an error. The client sees its message as the end of the run would show it. */
static void stop_at_error(debugger *g, uint32_t fiber, const pdl_err *err) {
    pdl_buf shown = PDL_BUF;
    pdl_session_put_error(g->session, err, &shown);
    if (!shown.len) PDL_PUT(&shown, "the block failed");
    stop_at(g, fiber, pdl_err_kind_name(err->kind), pdl_buf_str(&shown));
    pdl_buf_fini(&shown);
}

/* Handles requests that arrived while the program was running, such as breakpoints, a pause, or the
 * end. */
static void listen(debugger *g) {
    pdl_val m;
    pdl_dap_read(g, 0);
    while (pdl_dap_next(g, &m)) {
        pdl_dap_handle(g, m);
        pdl_drop(m);
    }
    pdl_dap_follow_client(g);
}

/* Returns true when a step has ended. depth: number of frames of the fiber, including the block
 * that begins. */
static bool step_arrives(const debugger *g, uint32_t fiber, size_t depth) {
    switch (g->mode) {
    case DAP_RUN: return false;
    case DAP_PAUSE:
    case DAP_ENTRY:
    case DAP_STEP_IN: return true;
    case DAP_STEP_OVER: return fiber == g->step_fiber && depth <= g->step_depth;
    case DAP_STEP_OUT: return fiber == g->step_fiber && depth < g->step_depth;
    }
    return false;
}

/* --- events ----------------------------------------------------------------------------------- */

/* Returns true when the block is a part of the block around it and begins on the same line: users
 * see them as one block. */
static bool continues_line(const dap_thread *t, const pdl_block *b) {
    const pdl_block *up = t->frames.n > 1 ? t->frames.p[t->frames.n - 2].block : NULL;
    if (!up || up->loc.src != b->loc.src || !up->node || !b->node) return false;
    pdl_loc around = pdl_node_loc(up->node), inner = pdl_node_loc(b->node);
    return around.start <= inner.start && inner.end <= around.end &&
           pdl_dap_line_of(up) == pdl_dap_line_of(b);
}

/* Updates the variables of the frame around a block that begins. The block begins with the
 * variables that the block around it has at that time. A called function and a file begin with
 * other variables, so for them nothing is updated. */
static void update_around(debugger *g, dap_thread *t, const pdl_event *e) {
    if (!t->frames.n || (e->entry != PDL_ENTRY_PART && e->entry != PDL_ENTRY_DEF)) return;
    dap_frame *up = &t->frames.p[t->frames.n - 1];
    pdl_scope_drop(up->scope);
    up->scope = pdl_run_keep_scope_of(pdl_session_get(g->session), e->fiber);
}

/* Returns true when an editor can show the file. The library, which every program has, is inside
 * the command and has no file. */
static bool has_file(const pdl_block *b) {
    return b && b->loc.src && !pdl_str_is(b->loc.src->name, "stdlib");
}

static void on_begin(debugger *g, const pdl_event *e) {
    dap_thread *t = pdl_dap_thread(g, e->fiber);
    update_around(g, t, e);
    *pdl_vec_push(&t->frames) = (dap_frame){
        .id = ++g->next_id,
        .block = e->block,
        .program = e->program ? pdl_program_keep(e->program) : NULL,
        .context = pdl_is_absent(e->context) ? pdl_absent() : pdl_keep(e->context),
        .scope = pdl_run_keep_scope_of(pdl_session_get(g->session), e->fiber),
        .is_called = e->entry != PDL_ENTRY_PART && e->entry != PDL_ENTRY_DEF,
    };
    bool arrives = step_arrives(g, e->fiber, t->frames.n);
    const char *reason = g->mode == DAP_ENTRY ? "entry" : g->mode == DAP_PAUSE ? "pause" : "step";
    if (!has_file(e->block) || continues_line(t, e->block)) return;
    if (pdl_dap_hits(g, e->block, e->fiber))
        stop(g, e->fiber, "breakpoint", (pdl_str){0});
    else if (arrives)
        stop(g, e->fiber, reason, (pdl_str){0});
}

/* Handles the end of a block. Except for the main fiber, a fiber ends with its outermost block. */
static void on_end(debugger *g, const pdl_event *e) {
    dap_thread *t = pdl_dap_thread(g, e->fiber);
    if (!pdl_is_absent(e->value)) {
        pdl_drop(g->last_result);
        g->last_result = pdl_keep(e->value);
    }
    if (t->frames.n) frame_fini(&t->frames.p[--t->frames.n]);
    if (t->frames.n || e->fiber == 1) return;
    if (g->step_fiber == e->fiber && g->mode != DAP_RUN) g->mode = DAP_STEP_IN;
    thread_fini(t);
    *t = g->threads.p[--g->threads.n];
}

/* Returns true when the failure was already shown: either when the model's answer arrived, or at a
 * block inside this block. */
static bool is_reported(const debugger *g, const pdl_event *e, const char *why) {
    if (g->failing && e->fiber == g->failing_fiber) return true;
    pdl_str call = pdl_is_absent(g->failed_call) ? (pdl_str){0} : pdl_str_get(g->failed_call);
    return call.n && pdl_str_find(pdl_str_of(why), call, 0) != PDL_NOT_FOUND;
}

/* Stops at a failure where it happens, and does not stop again at the blocks around it. */
static void on_fail(debugger *g, const pdl_event *e) {
    const char *why = e->err && e->err->msg ? e->err->msg : "";
    bool reported = is_reported(g, e, why);
    if (g->stop_on_failure && !reported && e->err && e->err->kind != PDL_E_interrupt)
        stop_at_error(g, e->fiber, e->err);
    g->failing = true;
    g->failing_fiber = e->fiber;
}

/* Stops at a failed reply. A block that calls a model ends before the answer arrives, and the
 * failure is raised later, where the answer is used. The failure is shown at the block of the call,
 * which becomes a frame again until the run continues. */
static void on_reply(debugger *g, const pdl_event *e) {
    uint32_t fiber = e->fiber ? e->fiber : 1;
    bool model = e->effect->kind == PDL_EFFECT_model;
    if (!g->stop_on_failure || !model || !e->err || e->handled || !has_file(e->block)) return;
    if (e->err->kind == PDL_E_interrupt) return;
    *pdl_vec_push(&pdl_dap_thread(g, fiber)->frames) = (dap_frame){
        .id = ++g->next_id,
        .block = e->block,
        .context = pdl_absent(),
        .scope = pdl_run_keep_scope_of(pdl_session_get(g->session), fiber),
    };
    stop_at_error(g, fiber, e->err);
    /* requests of the client may have moved the thread in memory */
    dap_thread *t = pdl_dap_thread(g, fiber);
    frame_fini(&t->frames.p[--t->frames.n]);
    pdl_drop(g->failed_call);
    g->failed_call = pdl_text(pdl_str_of(e->err->msg ? e->err->msg : ""));
}

/* Shows the request in the form in which the machine sends it. `pdl explain` shows the request to
 * the service instead. */
static void on_effect(debugger *g, const pdl_event *e) {
    bool model = e->effect->kind == PDL_EFFECT_model;
    if (!model || !g->stop_on_request) return;
    g->request = pdl_keep(e->effect->request);
    stop_at(g, e->fiber ? e->fiber : 1, "request", PDL_STR("before a request to a model"));
    pdl_drop(g->request);
    g->request = pdl_absent();
}

static bool frames_ok(const dap_thread *t) {
    for (size_t i = 1; i < t->frames.n; i++)
        if (t->frames.p[i].id <= t->frames.p[i - 1].id) return false;
    return true;
}

bool pdl_dap_debugger_ok(const debugger *g) {
    bool ok = g->queue_head <= g->queue.n;
    for (size_t i = 0; ok && i < g->threads.n; i++) ok = frames_ok(&g->threads.p[i]);
    for (size_t i = 0; ok && i < g->references.n; i++) {
        const dap_reference *r = &g->references.p[i];
        ok = r->parent <= i && (!r->parent || !r->frame);
    }
    return ok;
}

void pdl_dap_on_event(void *user, const pdl_event *e) {
    debugger *g = user;
    /* the run begins again, so its remaining events are dropped */
    if (!pdl_is_absent(g->again)) return;
    if (e->kind == PDL_EVENT_text || e->kind == PDL_EVENT_out || e->kind == PDL_EVENT_note)
        pdl_dap_output(g, e->kind == PDL_EVENT_text || e->number != 2 ? "stdout" : "stderr",
                       e->text, e->untrusted);
    if (g->no_debug || g->evaluating) return;
    switch (e->kind) {
    case PDL_EVENT_block_begin:
        listen(g);
        g->failing = false;
        on_begin(g, e);
        return;
    case PDL_EVENT_block_end: on_end(g, e); return;
    case PDL_EVENT_attempt: /* another attempt or a fallback handles the failure */
        on_fail(g, e);
        g->failing = false;
        return;
    case PDL_EVENT_block_fail:
        on_fail(g, e);
        on_end(g, e);
        return;
    case PDL_EVENT_effect: on_effect(g, e); return;
    case PDL_EVENT_reply: on_reply(g, e); return;
    case PDL_EVENT_run_begin:
    case PDL_EVENT_run_end:
    case PDL_EVENT_field:
    case PDL_EVENT_text:
    case PDL_EVENT_message:
    case PDL_EVENT_out:
    case PDL_EVENT_piece:
    case PDL_EVENT_extra:
    case PDL_EVENT_usage:
    case PDL_EVENT_decision:
    case PDL_EVENT_note:
    case PDL_EVENT_COUNT: return;
    }
}
