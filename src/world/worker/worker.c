/* worker.c -- the world: effects become jobs, and jobs get replies; see worker.h. The table of jobs
 * is here; commands and Python code, which share it, are in command.c and python.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "worker/worker.h"

#include <assert.h>
#include <math.h>

#include "base/limits.h"
#include "io/clock.h"
#include "sandbox/sandbox.h"
#include "value/handle.h"
#include "worker/worker_impl.h"

#include "base/banned.h"

/* --- jobs ------------------------------------------------------------------------------------- */

static job *job_new(worker *w, pdl_effect *e) {
    job *j = PDL_NEW(job);
    j->w = w;
    j->e = e;
    j->id = ++w->next_id;
    j->started = pdl_clock_ns();
    j->out = PDL_BUF_INIT((size_t)PDL_MAX_COMMAND_BYTES);
    *pdl_vec_push(&w->jobs) = j;
    return j;
}

job *pdl_worker_job_find(worker *w, uint64_t id) {
    for (size_t i = w->jobs.n; i-- > 0;)
        if (w->jobs.p[i]->id == id) return w->jobs.p[i];
    return NULL;
}

bool pdl_worker_ok(const worker *w) {
    size_t python = 0, n = w->held.n;
    for (size_t i = 0; i < w->jobs.n; i++) {
        const job *j = w->jobs.p[i];
        if (j->w != w || j->id > w->next_id || (i && j->id <= w->jobs.p[i - 1]->id)) return false;
        python += j->python;
    }
    return python == w->n_python && w->n_released <= n / 2 && (!w->ready || w->proc) &&
           (n < 2 || w->held.p[n - 2].id < w->held.p[n - 1].id);
}

/* Removes the job from the table. The caller owns its effect. */
static pdl_effect *job_end(job *j) {
    worker *w = j->w;
    pdl_effect *e = j->e;
    size_t i = 0;
    while (i < w->jobs.n && w->jobs.p[i] != j) i++;
    assert(i < w->jobs.n); /* a job can end only once */
    memmove(&w->jobs.p[i], &w->jobs.p[i + 1], (w->jobs.n - i - 1) * sizeof *w->jobs.p);
    w->jobs.n--;
    assert(!j->python || w->n_python > 0);
    if (j->python && --w->n_python == 0 && w->proc) pdl_proc_set_open(w->proc, false);
    pdl_timer_stop(j->limit);
    pdl_timer_stop(j->interrupt_retry);
    pdl_proc_free(j->proc);
    pdl_buf_fini(&j->out);
    pdl_free(j);
    return e;
}

void pdl_worker_job_answer(job *j, pdl_val value) {
    double seconds = (double)(pdl_clock_ns() - j->started) / 1e9;
    pdl_effect *e = job_end(j);
    if (e)
        pdl_effect_answer(e, value, seconds);
    else
        pdl_drop(value);
}

void pdl_worker_job_refuse(job *j, pdl_err *err) {
    pdl_effect *e = job_end(j);
    if (e)
        pdl_effect_refuse(e, err);
    else
        pdl_err_fini(err);
}

/* --- the world -------------------------------------------------------------------------------- */

static worker *worker_of(pdl_world *w) { return (worker *)(void *)w; }

static void refuse_kind(pdl_effect *e) {
    pdl_err err = {0};
    pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0}, "no code worker answers effects of kind %s",
                pdl_effect_kind_name(e->kind));
    pdl_effect_refuse(e, &err);
}

static void start(pdl_world *base, pdl_effect *e) {
    worker *w = worker_of(base);
    PDL_TRACE(w->opt.debug, worker, "%s %u starts", pdl_effect_kind_name(e->kind), e->id);
    if (e->kind == PDL_EFFECT_command)
        pdl_command_start(job_new(w, e));
    else if (e->kind == PDL_EFFECT_code || e->kind == PDL_EFFECT_object)
        pdl_python_start(job_new(w, e));
    else
        refuse_kind(e);
    assert(pdl_worker_ok(w));
}

static void cancel(pdl_world *base, uint32_t id) {
    worker *w = worker_of(base);
    assert(pdl_worker_ok(w));
    for (size_t i = w->jobs.n; i-- > 0;) {
        job *j = w->jobs.p[i];
        if (!j->e || j->e->id != id) continue;
        pdl_effect_free(j->e);
        j->e = NULL;
        if (j->python)
            pdl_python_cancel(j);
        else
            job_end(j); /* this also kills the process of the command */
        return;
    }
}

static bool is_open(const worker *w) {
    for (size_t i = 0; i < w->jobs.n; i++)
        if (w->jobs.p[i]->e) return true;
    return false;
}

static bool poll_world(pdl_world *base, int timeout_ms) {
    worker *w = worker_of(base);
    if (!is_open(w)) return false;
    pdl_loop_run(w->loop, timeout_ms);
    assert(pdl_worker_ok(w));
    return true;
}

static void close_world(pdl_world *base) {
    worker *w = worker_of(base);
    w->busy_at_close = w->n_python > 0;
    while (w->jobs.n) pdl_effect_free(job_end(w->jobs.p[w->jobs.n - 1]));
    pdl_python_close(w);
    w->lease->w = NULL;
    if (--w->lease->refs == 0) pdl_free(w->lease);
    for (size_t i = 0; i < w->pythons.n; i++) pdl_free(w->pythons.p[i]);
    pdl_vec_fini(&w->pythons);
    pdl_vec_fini(&w->jobs);
    pdl_vec_fini(&w->held);
    pdl_vec_fini(&w->drops);
    pdl_free(w->dir);
    pdl_free(w);
}

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll_world, .close = close_world};

pdl_world *pdl_worker_world_new(pdl_loop *loop, const pdl_worker_options *opt) {
    worker *w = PDL_NEW(worker);
    w->base.ops = &ops;
    w->loop = loop;
    if (opt) w->opt = *opt;
    for (size_t i = 0; i < w->opt.n_pythons; i++)
        *pdl_vec_push(&w->pythons) = pdl_str_dup(pdl_str_of(w->opt.pythons[i]));
    if (!w->pythons.n) *pdl_vec_push(&w->pythons) = pdl_str_dup(PDL_STR("python3"));
    w->opt.pythons = NULL;
    w->dir = pdl_str_dup(w->opt.dir);
    w->opt.dir = pdl_str_of(w->dir);
    double own = w->opt.sandbox ? pdl_sandbox_seconds(w->opt.sandbox) : 0;
    if (own > 0 && (!w->opt.time_limit_ms || own * 1000 < (double)w->opt.time_limit_ms))
        w->opt.time_limit_ms = (uint64_t)ceil(fmin(own, 1e12) * 1000);
    w->frame.kind = PDL_FRAME_LENGTH;
    w->lease = PDL_NEW(lease);
    w->lease->refs = 1;
    w->lease->w = w;
    return &w->base;
}

static bool is_here(const worker *w, pdl_vref v) {
    return pdl_is(v, PDL_V_HANDLE) && pdl_handle_of(v)->id >> HANDLE_BITS == w->generation;
}

bool pdl_worker_has_object(const pdl_world *base, pdl_vref request) {
    const worker *w = (const worker *)(const void *)base;
    pdl_vref id = pdl_dict_getz(request, "id"), args = pdl_dict_getz(request, "args");
    if (pdl_is(id, PDL_V_INT)) return (uint64_t)pdl_int_of(id) >> HANDLE_BITS == w->generation;
    for (size_t i = 0, n = pdl_is_list(args) ? pdl_list_len(args) : 0; i < n; i++)
        if (is_here(w, pdl_list_at(args, i))) return true;
    return is_here(w, pdl_dict_getz(request, "left")) ||
           is_here(w, pdl_dict_getz(request, "right"));
}

bool pdl_worker_is_idle(const pdl_world *base) {
    const worker *w = (const worker *)(const void *)base;
    return !w->jobs.n && w->lease->refs == 1;
}

int pdl_worker_pid(const pdl_world *base) {
    const worker *w = (const worker *)(const void *)base;
    return w->proc && pdl_proc_is_running(w->proc) ? pdl_proc_pid(w->proc) : 0;
}
