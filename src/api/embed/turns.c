/* turns.c -- runs the tasks of an engine on one loop: the tasks take turns, and a wait is for the
 * effects of all of them.
 *
 * The engine has one session without a program, whose loop, worlds, environment and secrets the
 * sessions of the tasks use (session.h). A step gives a turn to every task that can run, runs the
 * loop once, and starts over. Tasks that end leave the list. A task that a callback frees is
 * released when the turn is over, since its machine may still be on the stack below that callback.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/handles.h"
#include "io/clock.h"
#include "io/loop.h"

#include "base/banned.h"

/* The maximum wait. It is short, because libuv registers a new descriptor with the kernel only when
 * the loop runs next. */
enum { MAX_WAIT_MS = 50 };

static void note_missing(void *user, pdl_str text) {
    pdl_engine_say(((const pdl_engine *)user), text);
}

bool pdl_turns_base(pdl_engine *e, pdl_session **out, pdl_err *err) {
    *out = NULL;
    if (!e->shared) return true;
    pdl_session_options o = {
        .program = {.path = e->paths.p,
                    .n_path = e->paths.n,
                    .names = e->names,
                    .label_names = &e->labels},
        .run.jobs = e->jobs,
        .models = {.prices = pdl_str_of(e->prices),
                   .timeouts = *e->timeout ? e->timeout : NULL,
                   .rates = e->rates},
        .guards = {.sandbox = pdl_str_of(e->sandbox),
                   .sandbox_process = e->sandbox_process,
                   .no_sandbox = e->no_sandbox,
                   .policies = e->policies.p,
                   .n_policies = e->policies.n,
                   .files = e->files},
        .reports = {.note = note_missing, .sink = {.user = e}},
        .telemetry = e->telemetry,
    };
    if (!e->base && !pdl_session_new(&o, &e->base, err)) return false;
    *out = e->base;
    return true;
}

void pdl_turns_add(pdl_engine *e, pdl_task *t) {
    *pdl_vec_push(&e->tasks) = t;
    t->listed = true;
}

void pdl_turns_remove(pdl_engine *e, pdl_task *t) {
    for (size_t i = 0; i < e->tasks.n; i++)
        if (e->tasks.p[i] == t) e->tasks.p[i] = e->tasks.p[--e->tasks.n];
}

void pdl_turns_close(pdl_engine *e) {
    pdl_session_free(e->base);
    pdl_vec_fini(&e->tasks);
}

/* Gives each task a turn, including tasks that callbacks start in this round. */
static void turn(pdl_engine *e) {
    for (size_t i = 0; i < e->tasks.n; i++) {
        pdl_task *t = e->tasks.p[i];
        if (t->doomed || t->state != PDL_TASK_WAITING) continue;
        pdl_task *before = pdl_task_enter(e, t);
        pdl_task_check_flag(t);
        pdl_task_settle(t, pdl_session_turn(t->session));
        (void)pdl_task_enter(e, before);
    }
    (void)pdl_session_turn_inner(e->base);
}

/* Removes tasks that have ended or were freed. */
static void sweep(pdl_engine *e) {
    size_t kept = 0;
    for (size_t i = 0; i < e->tasks.n; i++) {
        pdl_task *t = e->tasks.p[i];
        if (!t->doomed && t->state == PDL_TASK_WAITING) {
            e->tasks.p[kept++] = t;
            continue;
        }
        t->listed = false;
        if (!t->doomed) continue;
        if (t->ended) *t->ended = PDL_TASK_FAILED;
        pdl_task_release(t);
    }
    e->tasks.n = kept;
}

static bool any_ready(const pdl_engine *e) {
    for (size_t i = 0; i < e->tasks.n; i++)
        if (pdl_session_is_ready(e->tasks.p[i]->session)) return true;
    return pdl_session_inner_is_ready(e->base);
}

static bool any_only_waits(const pdl_engine *e) {
    for (size_t i = 0; i < e->tasks.n; i++)
        if (pdl_session_only_waits(e->tasks.p[i]->session)) return true;
    return false;
}

/* Parks the runs that only wait for answers of people, even while other tasks still work. */
static bool park_all(const pdl_engine *e) {
    bool any = false;
    for (size_t i = 0; i < e->tasks.n; i++) any |= pdl_session_park(e->tasks.p[i]->session);
    return any;
}

static void cancel_all(const pdl_engine *e) {
    for (size_t i = 0; i < e->tasks.n; i++) {
        pdl_err err = {0};
        pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0},
                    "the run waits for an answer that cannot come");
        pdl_session_cancel(e->tasks.p[i]->session, &err);
    }
}

/* Returns how many milliseconds the loop may wait: at most PDL_FLAG_MS when a task has a flag. */
static int wait_of(const pdl_engine *e, int left) {
    if (left >= 0 && left <= PDL_FLAG_MS) return left;
    for (size_t i = 0; i < e->tasks.n; i++)
        if (e->tasks.p[i]->opt.interrupt) return PDL_FLAG_MS;
    return left;
}

/* Returns how many of the timeout_ms milliseconds since `start` are left; -1 when there is no
 * limit. */
static int time_left(uint64_t start, int timeout_ms) {
    uint64_t gone = timeout_ms > 0 ? (pdl_clock_ns() - start) / 1000000 : 0;
    if (timeout_ms <= 0) return timeout_ms;
    return gone >= (uint64_t)timeout_ms ? 0 : timeout_ms - (int)gone;
}

void pdl_turns_run(pdl_engine *e, pdl_task *t, int timeout_ms) {
    if (e->busy || !e->base) return;
    const pdl_state *state = t ? t->ended : NULL;
    uint64_t start = timeout_ms > 0 ? pdl_clock_ns() : 0;
    pdl_pool *before = pdl_pool_enter(e->pool);
    e->busy = true;
    for (bool last = false;; last = timeout_ms >= 0 && time_left(start, timeout_ms) == 0) {
        turn(e);
        sweep(e);
        if (!e->tasks.n || (state && *state != PDL_TASK_WAITING) || last) break;
        bool ready = any_ready(e), parks = any_only_waits(e);
        int left = ready || parks ? 0 : time_left(start, timeout_ms);
        bool open = pdl_loop_run(pdl_session_loop(e->base), wait_of(e, left));
        if (parks && park_all(e)) continue;
        if (!open && !ready && !any_ready(e)) cancel_all(e);
    }
    e->busy = false;
    pdl_pool_enter(before);
}

size_t pdl_engine_step(pdl_engine *engine, int timeout_ms) {
    if (!engine || !engine->shared) return 0;
    pdl_engine_keep(engine);
    pdl_turns_run(engine, NULL, timeout_ms < 0 ? -1 : timeout_ms);
    size_t n = engine->tasks.n;
    pdl_engine_free(engine);
    return n;
}

int pdl_engine_fd(const pdl_engine *engine) {
    return engine && engine->base ? pdl_loop_fd(pdl_session_loop(engine->base)) : -1;
}

int pdl_engine_deadline_ms(const pdl_engine *engine) {
    if (!engine || !engine->base || !engine->tasks.n) return -1;
    if (any_ready(engine)) return 0;
    int ms = pdl_loop_deadline_ms(pdl_session_loop(engine->base));
    return ms < 0 || ms > MAX_WAIT_MS ? MAX_WAIT_MS : ms;
}
