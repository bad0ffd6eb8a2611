/* tasks.c -- pdl_task: one run of a program for users of the library, its callbacks, and its
 * results. A task only runs while its caller steps it or waits for it, and its callbacks are called
 * then. When an engine shares a loop, one turn of the loop (turns.c) steps all of its tasks. A
 * callback may free its own task, which is then released after the step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "api/handles.h"
#include "base/limits.h"
#include "base/word_list.h"
#include "io/clock.h"
#include "io/loop.h"
#include "trace/sink.h"
#include "value/context.h"
#include "value/func.h"
#include "value/promise.h"

#include "base/banned.h"

/* --- events, for the callbacks ---------------------------------------------------------------- */

static const char *const shown_kinds[] = {"block_begin", "block_end", "block_fail", "field"};

static bool is_of_blocks(const char *kind) { return PDL_STR_IN(pdl_str_of(kind), shown_kinds); }

static const char *look_name(pdl_look look) {
    switch (look) {
    case PDL_LOOK_MODEL: return "model";
    case PDL_LOOK_CODE: return "code";
    case PDL_LOOK_PLAIN: return "";
    }
    PDL_BUG("look %d", (int)look);
}

/* Passes NUL-terminated copies of an event's texts to the callbacks. The copies live during that
 * call. */
static void report(const pdl_task *t, const pdl_event *e) {
    const char *kind = pdl_event_name(e->kind);
    if (!t->opt.blocks && is_of_blocks(kind)) return;
    pdl_buf place = PDL_BUF, text = PDL_BUF, role = PDL_BUF, file = PDL_BUF;
    bool is_input = e->kind == PDL_EVENT_field && pdl_str_is(e->key, "pdl__model_input");
    bool of_reply = pdl_is_absent(e->value) && e->reply;
    pdl_value value = {.v = pdl_keep(of_reply ? e->reply->value : e->value),
                       .shows_list = is_input && pdl_is(e->value, PDL_V_CONTEXT)};
    bool has_value = !pdl_is_absent(value.v);
    const pdl_err *why = e->err ? e->err : e->reply && e->reply->err.kind ? &e->reply->err : NULL;
    pdl_error *error = why ? pdl_error_make(why, t->session) : NULL;
    pdl_loc loc = e->effect ? e->effect->loc : e->block ? e->block->loc : (pdl_loc){0};
    const pdl_path *at = e->place ? e->place : e->path;
    pdl_path_text(at ? at : e->effect ? e->effect->place : NULL, &place);
    pdl_buf_put(&text, e->kind == PDL_EVENT_field ? e->key : e->text);
    pdl_buf_put(&role, e->role);
    if (loc.src) pdl_buf_put(&file, loc.src->name);
    pdl_report r = {
        .size = sizeof r,
        .kind = kind,
        .place = pdl_buf_z(&place),
        .file = pdl_buf_z(&file),
        .line = pdl_loc_line(loc),
        .text = pdl_buf_z(&text),
        .n_text = text.len,
        .role = pdl_buf_z(&role),
        .effect = e->effect ? pdl_effect_kind_name(e->effect->kind) : "",
        .value = has_value ? &value : NULL,
        .error = error,
        .number = e->number,
        .look = look_name(e->look),
        .untrusted = e->untrusted,
    };
    t->opt.report(t->opt.user, &r);
    pdl_drop(value.v);
    pdl_error_free(error);
    pdl_buf_fini(&place);
    pdl_buf_fini(&text);
    pdl_buf_fini(&role);
    pdl_buf_fini(&file);
}

static void give(pdl_task *t, pdl_printed kind, pdl_str s) {
    bool text = kind == PDL_PRINTED_TEXT;
    void (*fn)(void *user, const char *text, size_t n_bytes) =
        text ? t->opt.text : t->opt.error_text;
    if (!fn || !s.n) return;
    if (t->durable)
        pdl_task_hold(t, kind, PDL_STR(""), s);
    else
        fn(t->opt.user, s.p, s.n);
}

static void give_message(pdl_task *t, pdl_str role, pdl_str text) {
    if (t->durable) {
        pdl_task_hold(t, PDL_PRINTED_MESSAGE, role, text);
        return;
    }
    char *z = pdl_str_dup(role);
    t->opt.message(t->opt.user, z, text.p ? text.p : "", text.n);
    pdl_free(z);
}

static void on_event(void *user, const pdl_event *e) {
    pdl_task *t = user;
    const pdl_task_options *o = &t->opt;
    if (t->doomed) return; /* the callback has freed the task */
    if (e->kind == PDL_EVENT_text || (e->kind == PDL_EVENT_out && e->number != 2))
        give(t, PDL_PRINTED_TEXT, e->text);
    if (e->kind == PDL_EVENT_note || (e->kind == PDL_EVENT_out && e->number == 2))
        give(t, PDL_PRINTED_ERROR, e->text);
    if (e->kind == PDL_EVENT_message && o->message)
        give_message(t, e->role.n ? e->role : PDL_STR("assistant"), e->text);
    if (o->report) report(t, e);
}

/* --- the current task ------------------------------------------------------------------------- */

pdl_task *pdl_task_enter(pdl_engine *e, pdl_task *t) {
    pdl_task *before = e->current;
    e->current = t;
    return before;
}

void *pdl_engine_current_user(const pdl_engine *engine) {
    const pdl_task *t = engine ? engine->current : NULL;
    return t && !t->doomed ? t->opt.user : NULL;
}

/* --- start and end ---------------------------------------------------------------------------- */

static char *copy_of(const char *z) { return pdl_str_dup(pdl_str_of(z ? z : "")); }

void pdl_task_release(pdl_task *t) {
    pdl_pool *before = pdl_pool_enter(t->engine->pool);
    /* effects in flight stay in the state in which a killed process leaves them */
    if (t->durable) pdl_durable_ends(t->durable);
    pdl_session_free(t->session);
    pdl_task_close_durable(t);
    pdl_error_free(t->error);
    pdl_err_fini(&t->unkept);
    pdl_free(t->hooks);
    pdl_vec_fini(&t->policies);
    pdl_free(t->file);
    pdl_free(t->record);
    pdl_free(t->replay);
    pdl_free(t->cache);
    pdl_free(t->prices);
    pdl_free(t->timeout);
    pdl_engine *engine = t->engine;
    pdl_free(t);
    pdl_pool_enter(before);
    /* this releases the last reference to the engine, and the pool with it */
    pdl_engine_free(engine);
}

static bool read_options(pdl_task_options *o, const pdl_task_options *options, pdl_error **error) {
    if (!pdl_options_read(o, options, sizeof *o, "pdl_task_options", error)) return false;
    if (o->inputs && pdl_value_kind(o->inputs) != PDL_KIND_DICT)
        return pdl_misuse(error, "pdl_task_options.inputs is not a dict");
    if (o->output != PDL_OUTPUT_NONE && o->output != PDL_OUTPUT_RESULT &&
        o->output != PDL_OUTPUT_CONTEXT)
        return pdl_misuse(error, "pdl_task_options.output is %d", (int)o->output);
    bool record = o->record && *o->record, replay = o->replay && *o->replay;
    if (record && replay)
        return pdl_misuse(error, "pdl_task_options: record and replay exclude each other");
    for (size_t i = 0; i < o->n_policies; i++)
        if (!o->policies || !o->policies[i] || !*o->policies[i])
            return pdl_misuse(error, "pdl_task_options.policies: number %zu is NULL or empty", i);
    if (o->durable && (record || replay))
        return pdl_misuse(error, "pdl_task_options: durable excludes record and replay");
    if (!(o->max_rps >= 0) || !(o->max_tokens_per_minute >= 0))
        return pdl_misuse(error,
                          "pdl_task_options: max_rps and max_tokens_per_minute are 0 or greater");
    return true;
}

static bool read_durable(pdl_task_durable *to, const pdl_task_durable *from, pdl_error **error) {
    if (!pdl_options_read(to, from, sizeof *to, "pdl_task_durable", error)) return false;
    return !from || (to->run && *to->run) || pdl_misuse(error, "pdl_task_durable.run is not named");
}

/* Refuses options that a task cannot have when it shares a loop with others. */
static bool fits_shared(const pdl_engine *e, const pdl_task_options *o, pdl_error **error) {
    bool own = (o->timeout && *o->timeout) || (o->prices && *o->prices) || o->max_rps > 0 ||
               o->max_tokens_per_minute > 0;
    if (!e->shared || o->alone || !own) return true;
    return pdl_misuse(error, "pdl_task_options: timeout, prices, max_rps and max_tokens_per_minute "
                             "are those of the engine for tasks that share a loop");
}

static double or_else(double given, double other) { return given > 0 ? given : other; }

static void note_missing(void *user, pdl_str text) {
    const pdl_task *t = user;
    pdl_engine_say(t->engine, text);
}

static bool open_session(pdl_task *t, pdl_err *err) {
    pdl_str file = pdl_str_of(t->file);
    static const pdl_stream streams[] = {PDL_STREAM_NONE, PDL_STREAM_RESULT, PDL_STREAM_CONTEXT};
    size_t n_hooks = t->engine->hooks.n, n_given = t->engine->policies.n;
    for (size_t i = 0; i < n_given; i++) *pdl_vec_push(&t->policies) = t->engine->policies.p[i];
    for (size_t i = 0; i < t->opt.n_policies; i++)
        *pdl_vec_push(&t->policies) = pdl_str_of(t->opt.policies[i]);
    bool has_budget = t->opt.budget && *t->opt.budget;
    if (has_budget && !pdl_budget_read(pdl_str_of(t->opt.budget), t->budget, err)) return false;
    t->hooks = PDL_NEW_N(pdl_hook, n_hooks);
    if (n_hooks) memcpy(t->hooks, t->engine->hooks.p, n_hooks * sizeof *t->hooks);
    pdl_session_options o = {
        .program = {.file = file,
                    .dir = pdl_file_folder(file),
                    .path = t->engine->paths.p,
                    .n_path = t->engine->paths.n,
                    .names = t->engine->names,
                    .label_names = &t->engine->labels,
                    .variables = t->opt.inputs ? t->opt.inputs->v : pdl_absent()},
        .run = {.stream = streams[t->opt.output],
                .jobs = t->engine->jobs,
                .budget = has_budget ? t->budget : NULL,
                .cancel = t->opt.interrupt},
        .files = {.record = pdl_str_of(t->record),
                  .replay = pdl_str_of(t->replay),
                  .cache = pdl_str_of(t->cache)},
        .models = {.prices = pdl_str_of(t->prices),
                   .timeouts = *t->timeout ? t->timeout : NULL,
                   .rates = {or_else(t->opt.max_rps, t->engine->rates.requests_per_second),
                             or_else(t->opt.max_tokens_per_minute,
                                     t->engine->rates.tokens_per_minute)}},
        .guards = {.sandbox = pdl_str_of(t->engine->sandbox),
                   .sandbox_process = t->engine->sandbox_process,
                   .no_sandbox = t->engine->no_sandbox,
                   .policies = t->policies.p,
                   .n_policies = t->policies.n,
                   .files = t->engine->files},
        .reports = {.trace = t->opt.trace,
                    .trace_whole = t->opt.trace_whole,
                    .sink = {t, on_event, t->opt.blocks},
                    .note = note_missing},
        .host = {.hooks = t->hooks, .n_hooks = n_hooks, .task = t},
    };
    if (!t->opt.alone && !pdl_turns_base(t->engine, &o.host.shared, err)) return false;
    if (o.host.shared) { /* the settings of the shared session apply */
        o.models.timeouts = NULL;
        o.models.prices = PDL_STR("");
    }
    return pdl_session_new(&o, &t->session, err) &&
           pdl_session_confine(t->session, n_given, pdl_str_of(t->opt.sandbox), err);
}

/* Makes a task, inside the pool of the engine. */
static pdl_task *start(pdl_engine *engine, pdl_program *program, pdl_task_options o,
                       const pdl_task_durable *durable, pdl_error **error) {
    pdl_err err = {0};
    pdl_task *t = PDL_NEW(pdl_task);
    t->engine = pdl_engine_keep(engine);
    t->opt = o;
    t->file = pdl_str_dup(program->source ? program->source->name : PDL_STR(""));
    t->record = copy_of(o.record);
    t->replay = copy_of(o.replay);
    t->cache = copy_of(o.cache);
    t->prices = copy_of(o.prices && *o.prices ? o.prices : engine->prices);
    t->timeout = copy_of(o.timeout && *o.timeout ? o.timeout : engine->timeout);
    if (!open_session(t, &err)) {
        pdl_error_give(error, &err, NULL);
        pdl_task_release(t);
        return NULL;
    }
    pdl_session_use(t->session, program);
    if (durable && !pdl_task_open_durable(t, program, durable, &err)) {
        pdl_error_give(error, &err, t->session);
        pdl_task_release(t);
        return NULL;
    }
    t->opt.durable = NULL;
    pdl_code *known = pdl_codes_find(engine->codes, program, o.trace);
    if (known) pdl_session_use_code(t->session, known);
    t->busy = true; /* set because the first events are reported before this function returns */
    pdl_task *before = pdl_task_enter(engine, t);
    pdl_session_start(t->session);
    (void)pdl_task_enter(engine, before);
    t->busy = false;
    if (!known) pdl_codes_add(engine->codes, pdl_session_code(t->session), o.trace);
    t->opt.inputs = NULL; /* the run has made its own copies */
    if (engine->shared && !o.alone) pdl_turns_add(engine, t);
    return t;
}

pdl_task *pdl_task_start(pdl_engine *engine, pdl_program *program, const pdl_task_options *options,
                         pdl_error **error) {
    pdl_task_options o = {0};
    if (!engine || !program) {
        pdl_misuse(error, "pdl_task_start: the %s is NULL", engine ? "program" : "engine");
        return NULL;
    }
    if (!read_options(&o, options, error) || !fits_shared(engine, &o, error)) return NULL;
    pdl_task_durable durable = {0};
    if (!read_durable(&durable, o.durable, error)) return NULL;
    pdl_pool *before = pdl_pool_enter(engine->pool);
    pdl_task *t = start(engine, program, o, o.durable ? &durable : NULL, error);
    pdl_pool_enter(before);
    return t;
}

void pdl_task_free(pdl_task *task) {
    if (!task) return;
    if (task->busy || (task->listed && task->engine->busy)) {
        task->doomed = true;
        return;
    }
    if (task->listed) pdl_turns_remove(task->engine, task);
    pdl_task_release(task);
}

/* --- running ---------------------------------------------------------------------------------- */

static const pdl_err *why_failed(const pdl_task *t) {
    return t->unkept.kind ? &t->unkept : pdl_run_error(pdl_session_get(t->session));
}

void pdl_task_settle(pdl_task *t, pdl_step step) {
    if (step == PDL_STEP_WAIT || t->state != PDL_TASK_WAITING) return;
    bool ends = step == PDL_STEP_DONE || t->durable;
    bool kept = ends && pdl_session_finish(t->session, &t->unkept) && step == PDL_STEP_DONE;
    t->state = kept ? PDL_TASK_DONE : PDL_TASK_FAILED;
    if (t->ended) *t->ended = t->state;
    t->ended = NULL;
    if (!kept) t->error = pdl_error_make(why_failed(t), t->session);
    if (t->opt.done && !t->doomed) t->opt.done(t->opt.user, t);
}

void pdl_task_check_flag(pdl_task *t) {
    int number = t->opt.interrupt ? *t->opt.interrupt : 0;
    if (!number || t->state != PDL_TASK_WAITING) return;
    pdl_err err = {0};
    (void)pdl_err_signal(&err, number);
    pdl_session_cancel(t->session, &err);
}

/* Steps a task on its own loop. Checks its flag from time to time, because a run that waits, or
 * that consists of many short operations, does not check the flag itself. */
static pdl_step step_alone(pdl_task *t, int timeout_ms) {
    uint64_t start = pdl_clock_ns(), gone = 0;
    if (!t->opt.interrupt) return pdl_session_step(t->session, timeout_ms);
    for (;;) {
        int left = timeout_ms < 0 ? PDL_FLAG_MS : timeout_ms - (int)gone;
        int slice = left < PDL_FLAG_MS ? left : PDL_FLAG_MS;
        uint64_t before = pdl_clock_ns();
        pdl_task_check_flag(t);
        pdl_step step = pdl_session_step(t->session, slice);
        uint64_t now = pdl_clock_ns();
        gone = (now - start) / 1000000;
        bool is_early = now - before < (uint64_t)slice * 1000000;
        bool is_over = timeout_ms >= 0 && gone >= (uint64_t)timeout_ms;
        if (step != PDL_STEP_WAIT || is_early || is_over) return step;
    }
}

/* Steps a task on the loop that its engine shares. */
static pdl_state advance_shared(pdl_task *t, int timeout_ms) {
    pdl_engine *e = pdl_engine_keep(t->engine);
    pdl_state state = PDL_TASK_WAITING;
    t->ended = &state; /* the task may be freed during this call */
    pdl_turns_run(e, t, timeout_ms);
    if (state == PDL_TASK_WAITING) t->ended = NULL;
    pdl_engine_free(e);
    return state;
}

/* Returns true when t uses the shared loop and that loop is inside a step. */
static bool is_blocked(const pdl_task *t) { return t->engine->busy && !t->opt.alone; }

static pdl_state advance(pdl_task *t, int timeout_ms) {
    if (!t) return PDL_TASK_FAILED;
    if (t->busy || is_blocked(t) || t->state != PDL_TASK_WAITING) return t->state;
    if (t->engine->shared && !t->opt.alone) return advance_shared(t, timeout_ms);
    t->busy = true;
    pdl_pool *before = pdl_pool_enter(t->engine->pool);
    pdl_task *current = pdl_task_enter(t->engine, t);
    pdl_task_settle(t, step_alone(t, timeout_ms));
    (void)pdl_task_enter(t->engine, current);
    t->busy = false;
    pdl_pool_enter(before);
    pdl_state state = t->state;
    if (t->doomed) pdl_task_release(t);
    return state;
}

pdl_state pdl_task_step(pdl_task *task) { return advance(task, 0); }
pdl_state pdl_task_wait(pdl_task *task, int timeout_ms) {
    return advance(task, timeout_ms < 0 ? -1 : timeout_ms);
}

void pdl_task_cancel(pdl_task *task) {
    if (!task || task->state != PDL_TASK_WAITING) return;
    pdl_err err = {0};
    pdl_err_set(&err, PDL_E_interrupt, (pdl_loc){0}, "cancelled by the host program");
    bool inside = task->busy || is_blocked(task);
    bool busy = task->busy;
    task->busy = true;
    pdl_task *current = pdl_task_enter(task->engine, task);
    pdl_session_cancel(task->session, &err);
    (void)pdl_task_enter(task->engine, current);
    task->busy = busy;
    if (!inside) advance(task, 0);
}

void pdl_task_wake(pdl_task *task) {
    if (task) pdl_loop_wake(pdl_session_loop(task->session));
}

pdl_state pdl_task_state(const pdl_task *task) { return task ? task->state : PDL_TASK_FAILED; }
int pdl_task_fd(const pdl_task *task) {
    return task ? pdl_loop_fd(pdl_session_loop(task->session)) : -1;
}

int pdl_task_deadline_ms(const pdl_task *task) {
    if (!task || task->state != PDL_TASK_WAITING) return -1;
    return task->engine->shared && !task->opt.alone ? pdl_engine_deadline_ms(task->engine)
                                                    : pdl_session_deadline_ms(task->session);
}

/* --- results ---------------------------------------------------------------------------------- */

static bool is_done(const pdl_task *t, const char *what, pdl_error **error) {
    if (!t) return pdl_misuse(error, "%s: the task is NULL", what);
    if (t->state == PDL_TASK_WAITING) return pdl_misuse(error, "%s: the task has not ended", what);
    if (t->state == PDL_TASK_DONE) return true;
    if (error) *error = pdl_error_make(why_failed(t), t->session);
    return false;
}

/* Replaces the promises in v by the values that filled them. Takes v. */
static pdl_value *settled(pdl_val v) {
    pdl_val out;
    pdl_err err = {0};
    if (pdl_may_hold_promise(v) && pdl_is_absent(pdl_promise_blocking(v)) &&
        pdl_promise_resolve(v, &out, &err)) {
        pdl_drop(v);
        v = out;
    }
    pdl_err_fini(&err);
    return pdl_value_box(v);
}

pdl_value *pdl_task_result(const pdl_task *task, pdl_error **error) {
    if (!is_done(task, "pdl_task_result", error)) return NULL;
    return settled(pdl_keep(pdl_run_result(pdl_session_get(task->session))));
}

static pdl_val usage_of(const pdl_task *t) {
    int64_t calls, completion, prompt;
    pdl_run_usage(pdl_session_get(t->session), &calls, &completion, &prompt);
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "model_calls", pdl_int(calls));
    d = pdl_dict_putz(d, "completion_tokens", pdl_int(completion));
    return pdl_dict_putz(d, "prompt_tokens", pdl_int(prompt));
}

/* Returns the library, borrowed. It is loaded only once. */
static pdl_vref library_of(const pdl_task *t) {
    if (pdl_is_absent(t->engine->library)) {
        pdl_pool *before = pdl_pool_enter(t->engine->pool);
        t->engine->library = pdl_session_library(t->session);
        pdl_pool_enter(before);
    }
    return t->engine->library;
}

static pdl_val context_of(const pdl_task *task) {
    pdl_vref context = pdl_run_context(pdl_session_get(task->session));
    return pdl_is(context, PDL_V_CONTEXT) ? pdl_keep(context) : pdl_context_empty();
}

pdl_value *pdl_task_variables(const pdl_task *task, pdl_error **error) {
    if (!is_done(task, "pdl_task_variables", error)) return NULL;
    pdl_val d = pdl_run_scope(pdl_session_get(task->session));
    if (pdl_is_absent(pdl_dict_getz(d, "stdlib")))
        d = pdl_dict_putz(d, "stdlib", pdl_keep(library_of(task)));
    if (pdl_is_absent(pdl_dict_getz(d, "pdl_usage")))
        d = pdl_dict_putz(d, "pdl_usage", usage_of(task));
    return settled(pdl_dict_putz(d, "pdl_context", context_of(task)));
}

pdl_value *pdl_task_messages(const pdl_task *task, pdl_error **error) {
    if (!is_done(task, "pdl_task_messages", error)) return NULL;
    pdl_vref context = pdl_run_context(pdl_session_get(task->session));
    return settled(pdl_is(context, PDL_V_CONTEXT) ? pdl_context_to_list(context) : pdl_list_new(0));
}

pdl_value *pdl_task_context(const pdl_task *task, pdl_error **error) {
    if (!is_done(task, "pdl_task_context", error)) return NULL;
    return settled(context_of(task));
}

pdl_value *pdl_task_usage(const pdl_task *task) {
    return task ? pdl_value_box(usage_of(task)) : NULL;
}

double pdl_task_score(const pdl_task *task) {
    return task ? pdl_run_score(pdl_session_get(task->session)) : 0;
}

pdl_value *pdl_task_trace(const pdl_task *task, pdl_error **error) {
    pdl_err err = {0};
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    bool can = task && task->opt.trace && task->state != PDL_TASK_WAITING;
    if (!can) {
        pdl_misuse(error, "pdl_task_trace: %s",
                   !task              ? "the task is NULL"
                   : !task->opt.trace ? "pdl_task_options.trace was not set"
                                      : "the task has not ended");
        return NULL;
    }
    pdl_label seen = pdl_label_built(pdl_run_seen(pdl_session_get(task->session)));
    if (pdl_session_trace(task->session, pdl_fold_put_buf, &b, &err))
        return pdl_value_box(pdl_with_label(pdl_text_of_buf(&b), pdl_label_elsewhere(seen)));
    pdl_buf_fini(&b);
    pdl_error_give(error, &err, NULL);
    return NULL;
}

const pdl_error *pdl_task_error(const pdl_task *task) { return task ? task->error : NULL; }

/* --- functions of programs -------------------------------------------------------------------- */

static bool read_call(pdl_engine *engine, const pdl_value *function, const pdl_value *args,
                      const pdl_value *kwargs, pdl_error **error) {
    if (!engine || !function)
        return pdl_misuse(error, "pdl_value_call: the %s is NULL", engine ? "function" : "engine");
    if (args && (pdl_value_kind(args) != PDL_KIND_LIST || !pdl_is_list(pdl_value_settled(args))))
        return pdl_misuse(error, "pdl_value_call: args is not a list");
    if (!kwargs) return true;
    if (pdl_value_kind(kwargs) != PDL_KIND_DICT)
        return pdl_misuse(error, "pdl_value_call: kwargs is not a dict");
    pdl_vref d = pdl_value_settled(kwargs);
    for (size_t i = 0; i < pdl_dict_len(d); i++)
        if (!pdl_is_str(pdl_dict_key_at(d, i)))
            return pdl_misuse(error, "pdl_value_call: kwargs has a key that is not a text");
    return true;
}

pdl_task *pdl_value_call(pdl_engine *engine, const pdl_value *function, const pdl_value *args,
                         const pdl_value *kwargs, const pdl_task_options *options,
                         pdl_error **error) {
    static const char program[] = "data: ${ pdl__function(*pdl__args, **pdl__kwargs) }";
    pdl_task_options o = {0};
    if (!read_call(engine, function, args, kwargs, error) || !read_options(&o, options, error))
        return NULL;
    if (o.inputs) {
        pdl_misuse(error, "pdl_value_call: a call has no inputs");
        return NULL;
    }
    if (!engine->calling)
        engine->calling = pdl_load_text(engine, program, strlen(program), "<call>", error);
    if (!engine->calling) return NULL;
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "pdl__function", pdl_keep(function->v));
    d = pdl_dict_putz(d, "pdl__args", args ? pdl_keep(args->v) : pdl_list_new(0));
    d = pdl_dict_putz(d, "pdl__kwargs", kwargs ? pdl_keep(kwargs->v) : pdl_dict_new(0));
    pdl_value inputs = {.v = d};
    o.size = sizeof o;
    o.inputs = &inputs;
    pdl_task *t = pdl_task_start(engine, engine->calling, &o, error);
    pdl_drop(inputs.v);
    return t;
}

pdl_value *pdl_value_signature(const pdl_value *v) {
    if (!v || !pdl_is(pdl_value_settled(v), PDL_V_FUNC)) return NULL;
    return pdl_value_box(pdl_keep(pdl_func_about(pdl_value_settled(v))->signature));
}

pdl_value *pdl_run_program(pdl_engine *engine, pdl_program *program, const pdl_value *inputs,
                           pdl_error **error) {
    pdl_task_options o = {.size = sizeof o, .inputs = inputs, .alone = engine && engine->busy};
    pdl_task *t = pdl_task_start(engine, program, &o, error);
    if (!t) return NULL;
    pdl_task_wait(t, -1);
    pdl_value *result = pdl_task_result(t, error);
    pdl_task_release(t);
    return result;
}
