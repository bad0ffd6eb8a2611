/* run.c -- starts, steps, ends and cancels one run.
 *
 * The scheduler is a queue of runnable fibers in one thread; a fiber runs until it waits, ends or
 * has used its turns. Threads would need locks around every value and make the order of execution
 * random. The result of a program does not depend on the order in which its fibers run. Fibers
 * share only immutable values and promises, and each has its own output queue.
 * PDL_STRESS=sched:SEED shuffles the order to test this.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/run.h"

#include <assert.h>

#include "compile/compile.h"
#include "value/context.h"
#include "value/text.h"
#include "vm/closure.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/inflight_limit.h"
#include "vm/loop.h"
#include "vm/ops.h"
#include "vm/output_order.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

/* Number of loop turns between two polls of the world. A turn whose blocks go into a trace takes
 * longer, and work for the trace does not end when the run is cancelled. */
enum { TURNS_A_STEP = 20000, TRACED_TURNS_A_STEP = 500 };

pdl_run *pdl_run_new(const pdl_run_options *options) {
    pdl_run *r = PDL_NEW(pdl_run);
    r->opt = *options;
    if (!r->opt.turns)
        r->opt.turns = r->opt.sinks.wants_blocks ? TRACED_TURNS_A_STEP : TURNS_A_STEP;
    pdl_path_keep(r->opt.place);
    (void)pdl_keep(r->opt.sandbox);
    pdl_budget_keep(r->opt.budget);
    r->effects.last_id = options->first_id;
    r->effects.call_in = (pdl_call_in){r, pdl_run_call_in};
    r->output.queue = pdl_outq_new(r, NULL);
    r->outcome.result = r->outcome.answer = pdl_absent();
    pdl_run_code_open(r);
    pdl_run_memory_open(r);
    return r;
}

/* Fetches the memory of a run into the processor's cache. A run that waited among thousands of
 * others is not in the cache any more. The caller reads other answers meanwhile. */
static void prefetch(const pdl_run *r) {
    enum { TOP = 128 /* initial size of a stack, in bytes */ };
    const pdl_fiber *f = r->fibers.main;
    pdl_prefetch(r, sizeof *r);
    pdl_prefetch(r->output.queue, TOP);
    pdl_prefetch(r->code.globals, 1);
    pdl_prefetch(r->code.initial, 1);
    if (!f) return;
    const void *const stacks[] = {f->stack.p,    f->frames.p, f->blocks.p, f->saves.p,
                                  f->handlers.p, f->bufs.p,   f->calls.p,  f->scope};
    pdl_prefetch(f, sizeof *f);
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) pdl_prefetch(stacks[i], TOP);
}

void pdl_run_announce(const pdl_run *r) {
    bool mute = r->opt.debug && r->opt.debug->mute;
    if (!r->opt.waker.fn || mute) return;
    prefetch(r);
    r->opt.waker.fn(r->opt.waker.user);
}

/* The order matters: items of the output refer to effects, and fibers refer to effects
 * and to code. */
void pdl_run_free(pdl_run *r) {
    if (!r) return;
    pdl_run_effects_cancel(r);
    pdl_run_output_end(&r->output);
    pdl_run_fibers_end(&r->fibers);
    pdl_run_effects_end(&r->effects);
    pdl_run_code_end(&r->code);
    pdl_run_outcome_end(&r->outcome);
    pdl_random_source_end(&r->random);
    pdl_run_memory_end(&r->memory);
    pdl_path_drop(r->opt.place);
    pdl_budget_drop(r->opt.budget);
    pdl_drop(r->opt.sandbox);
    pdl_free(r);
}

/* Binds the variables of the command line. The variable pdl_context becomes the first context; it
 * may be a list of messages. The command line cannot replace the standard library and the usage
 * record. */
static void bind_variables(pdl_fiber *f, pdl_vref vars) {
    for (size_t i = 0; i < pdl_dict_len(vars); i++) {
        pdl_vref k = pdl_dict_key_at(vars, i), v = pdl_dict_val_at(vars, i);
        pdl_err ignored = {0};
        pdl_val ctx;
        if (pdl_text_is(k, "pdl_context") && pdl_context_from(v, &ctx, &ignored))
            set_val(&f->ctx, ctx);
        else if (pdl_is_str(k) && !pdl_text_is(k, "stdlib") && !pdl_text_is(k, "pdl_usage"))
            f->scope =
                pdl_scope_put(f->scope, pdl_intern(f->run->opt.names, pdl_str_get(k)), pdl_keep(v));
        pdl_err_fini(&ignored);
    }
}

/* Returns true when neither v nor a value in it can be a function. Examines at most *left values,
 * which also bounds the recursion. */
static bool is_data(pdl_vref v, unsigned *left) {
    if (!(*left)--) return false;
    bool is = true;
    if (pdl_is_dict(v))
        for (size_t i = 0; is && i < pdl_dict_len(v); i++)
            is = is_data(pdl_dict_val_at(v, i), left);
    else if (pdl_is_list(v))
        for (size_t i = 0; is && i < pdl_list_len(v); i++) is = is_data(pdl_list_at(v, i), left);
    else
        is = pdl_is_null(v) || pdl_is_bool(v) || pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT) ||
             pdl_is_str(v);
    return is;
}

/* Returns true when someone besides the caller of the run may read messages: the program, functions
 * of other programs in its variables, or a sink that receives events of blocks. */
static bool messages_are_read(const pdl_run *r, const pdl_code *code, pdl_vref variables) {
    unsigned looks = 256;
    return code->sees_context || wants_blocks(r) ||
           (!pdl_is_absent(variables) && !is_data(variables, &looks));
}

void pdl_run_start(pdl_run *r, pdl_code *code, pdl_vref variables) {
    /* the check below finds out whether one of the functions reads messages */
    pdl_compile_functions(code);
    pdl_fiber *f = pdl_fiber_new(r, code, 0);
    r->fibers.main = f;
    r->output.print_silent = messages_are_read(r, code, variables) ? 0 : MESSAGES_UNREAD;
    f->out = r->output.queue;
    f->scope = pdl_scope_keep(r->code.globals);
    f->print = r->opt.stream == PDL_STREAM_RESULT    ? PRINT_RESULT
               : r->opt.stream == PDL_STREAM_CONTEXT ? PRINT_CONTEXT
                                                     : 0;
    if (pdl_is_dict(variables)) bind_variables(f, variables);
    r->code.initial = pdl_scope_keep(f->scope);
    pdl_sinks_send(&r->opt.sinks, &(pdl_event){
                                      .kind = PDL_EVENT_run_begin,
                                      .value = pdl_absent(),
                                      .context = pdl_absent(),
                                  });
    pdl_fiber_ready(f);
}

static void outside_call_ended(pdl_fiber *f) {
    if (f->state == FIBER_FAILED) {
        f->done(f->done_user, pdl_absent(), &f->err);
    } else {
        f->done(f->done_user, pop(f), NULL);
        pdl_inflight_adopt(f->run->fibers.main, f);
    }
    pdl_fiber_free(f);
}

static void fiber_ended(pdl_fiber *f) {
    if (f->parent) {
        pdl_vm_map_child_ended(f);
        pdl_fiber_free(f);
    } else if (f->done) {
        outside_call_ended(f);
    }
}

static const char *turn_ended(const pdl_fiber *f, pdl_step s) {
    if (s != PDL_STEP_WAIT) return s == PDL_STEP_FAIL ? "fails" : "ends";
    switch (f->state) {
    case FIBER_READY: return "lets others run";
    case FIBER_WAIT_CALL: return "waits for a call";
    case FIBER_WAIT_CALLS: return "waits for the calls it made";
    case FIBER_WAIT_MAP: return "waits for iterations";
    case FIBER_WAIT_SLOT: return "waits until fewer calls are in flight";
    case FIBER_HELD: return "is held for the inference";
    case FIBER_DONE:
    case FIBER_FAILED: break;
    }
    PDL_BUG("fiber %u waits in state %d", f->id, (int)f->state);
}

static void trace_turn(const pdl_run *r, const pdl_fiber *f, pdl_step s) {
    if (s == PDL_STEP_WAIT && f->state == FIBER_WAIT_CALL)
        PDL_TRACE(r->opt.debug, sched, "fiber %u waits for call %u", f->id, f->wait_id);
    else
        PDL_TRACE(r->opt.debug, sched, "fiber %u %s", f->id, turn_ended(f, s));
}

/* When streaming, an error takes effect only after earlier calls have ended, unless it cannot be
 * caught or is about a budget. The replies of these calls are shown, because they were paid for. If
 * one of the calls fails, its error is reported instead. Calls that were made before the block that
 * will catch the error are left out. */
static pdl_step settle(pdl_fiber *f, pdl_err *err) {
    if (f->run->opt.stream == PDL_STREAM_NONE || err->uncatchable || err->kind == PDL_E_budget)
        return PDL_STEP_DONE;
    if (f->parent && !f->handlers.n) pdl_vm_map_child_fails(f);
    pdl_err first = {0};
    pdl_step s = pdl_inflight_await(f, f->handlers.n ? handler(f)->calls_from : 0, true, &first);
    if (s == PDL_STEP_WAIT) pdl_err_move(&f->raised, err);
    if (s == PDL_STEP_FAIL) {
        pdl_err_fini(err);
        pdl_err_move(err, &first);
    }
    return s == PDL_STEP_WAIT ? s : PDL_STEP_DONE;
}

/* Adds the labels of an instruction's operands to its error, whose message may quote them: a key
 * that was not found, or a text that is not a number. The operands are still on the stack, because
 * an instruction fails before it takes them. */
static void label_of_operands(const pdl_fiber *f, pdl_err *err) {
    if (!f->pc || f->pc > f->code->ins.n) return;
    size_t n = pdl_code_operands_at(f->code, f->pc - 1);
    pdl_label all = 0;
    for (size_t i = 0; i < n && i < f->stack.n; i++)
        all |= pdl_label_of(f->stack.p[f->stack.n - 1 - i]);
    err->label |= pdl_label_built(all);
}

static pdl_step run_to_end(pdl_run *r, pdl_fiber *f, pdl_err *err) {
    pdl_step s = PDL_STEP_FAIL;
    if (f->raised.kind)
        pdl_err_move(err, &f->raised);
    else
        s = f == r->fibers.main && !f->frames.n ? pdl_run_finish(r, err) : pdl_fiber_run(f, err);
    while (s == PDL_STEP_FAIL) {
        label_of_operands(f, err);
        if (settle(f, err) == PDL_STEP_WAIT) return PDL_STEP_WAIT;
        if (!pdl_fiber_unwind(f, err)) return PDL_STEP_FAIL;
        s = pdl_fiber_run(f, err);
    }
    return s;
}

/* Executes RETURN in the main frame. The result stays on the stack, and the final variables and
 * messages stay in the registers. The turn that finishes the run takes them from there. */
static void leave_main_frame(pdl_fiber *f) {
    pdl_val result = pop(f), background = f->background;
    pdl_scope *scope = pdl_scope_keep(f->scope);
    f->background = pdl_absent();
    pdl_vm_frame_pop(f);
    push(f, result);
    pdl_scope_drop(f->scope);
    f->scope = scope;
    set_val(&f->background, background);
    f->state = FIBER_READY;
    pdl_fiber_ready(f);
}

/* Runs a fiber for one turn. The turn ends when the fiber ends, waits, or fails and has no handler
 * left. */
static void run_fiber(pdl_run *r, pdl_fiber *f) {
    pdl_err err = {0};
    if (f == r->fibers.main && f->state == FIBER_DONE) return;
    f->state = FIBER_READY;
    pdl_fiber_clear_woken(f);
    PDL_TRACE(r->opt.debug, sched, "fiber %u runs", f->id);
    /* An iteration that begins only one effect has no loop turn, so it is parked here. */
    if (f->is_new && pdl_await_effect_slot(f) != PDL_STEP_DONE) return;
    f->is_new = false;
    pdl_step s = run_to_end(r, f, &err);
    if (PDL_TRACES(r->opt.debug, sched)) trace_turn(r, f, s);
    if (s == PDL_STEP_WAIT) return;
    if (f != r->fibers.main)
        fiber_ended(f);
    else if (s == PDL_STEP_FAIL)
        pdl_run_fail(r, &f->err);
    else if (!r->outcome.finished)
        leave_main_frame(f);
}

static pdl_step run_turns(pdl_run *r) {
    while (!r->outcome.failed && !r->outcome.finished) {
        if (r->output.stream_failed) {
            pdl_err err = {0};
            if (pdl_out_failed(r, &err)) {
                pdl_run_fail(r, &err);
                break;
            }
            r->output.stream_failed = false;
        }
        if (r->random.err.kind) {
            pdl_run_fail(r, &r->random.err);
            break;
        }
        pdl_fiber *f = pdl_run_next_fiber(r);
        if (!f) return PDL_STEP_WAIT;
        r->fibers.current = f;
        if (f->cancelled)
            pdl_fiber_free(f);
        else
            run_fiber(r, f);
        r->fibers.current = NULL;
        if (r->fibers.yielded) {
            r->fibers.yielded = false;
            return PDL_STEP_WAIT;
        }
    }
    return r->outcome.failed ? PDL_STEP_FAIL : PDL_STEP_DONE;
}

pdl_step pdl_run_step(pdl_run *r) {
    pdl_alloc_watch before = pdl_run_watch(r);
    const pdl_cancel *outer = pdl_cancel_enter(&r->memory.cancel);
    assert(pdl_run_ok(r));
    pdl_step s = run_turns(r);
    assert(pdl_run_ok(r));
    (void)pdl_cancel_enter(outer);
    (void)pdl_alloc_set_watch(before);
    return s;
}

const pdl_cancel *pdl_run_cancel_scope(const pdl_run *r) { return &r->memory.cancel; }

pdl_step pdl_run_wait(pdl_run *r) {
    for (;;) {
        pdl_step s = pdl_run_step(r);
        if (s != PDL_STEP_WAIT) return s;
        if (!r->opt.world->ops->poll(r->opt.world, r->fibers.ready_first ? 0 : -1) &&
            !r->fibers.ready_first && !r->output.stream_failed) {
            pdl_err err = {0};
            pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0},
                        "the run waits for an answer that cannot come");
            pdl_run_fail(r, &err);
        }
    }
}

void pdl_run_cancel(pdl_run *r, pdl_err *err) {
    err->uncatchable = true;
    pdl_fiber *f = r->fibers.main;
    if (f && f->code && f->pc && !err->loc.src)
        err->loc = f->code->sites.p[f->code->where.p[f->pc ? f->pc - 1 : 0].site].loc;
    pdl_run_fail(r, err);
}

/* Returns the effect for which a strand waits; 0 when it waits for no effect. */
static uint32_t awaited(const pdl_fiber *f) {
    if (f->state == FIBER_WAIT_CALL) return f->wait_id;
    if (f->state == FIBER_WAIT_SLOT && f->run->effects.queue_head < f->run->effects.queue.n)
        return f->run->effects.queue.p[f->run->effects.queue_head];
    if (f->state != FIBER_WAIT_CALLS) return 0;
    for (size_t i = 0; i < f->calls.n; i++)
        if (f->calls.p[i].number >= f->wait_from && pdl_is_absent(f->calls.p[i].failed))
            return f->calls.p[i].id;
    return 0;
}

pdl_loc pdl_fiber_loc(const pdl_fiber *f) {
    for (; f; f = f->parent) {
        if (f->code) {
            pdl_loc at = f->code->sites.p[f->code->where.p[f->pc ? f->pc - 1 : 0].site].loc;
            if (at.src) return at;
        }
        for (size_t i = f->blocks.n; i-- > 0;)
            if (f->blocks.p[i].info) return f->blocks.p[i].info->block->loc;
    }
    return (pdl_loc){0};
}

void pdl_run_each_wait(const pdl_run *r, void (*fn)(void *user, const pdl_wait *w), void *user) {
    PDL_VEC(const pdl_block *) blocks = {0};
    const pdl_fiber *f = r->fibers.all;
    while (f && f->next_all) f = f->next_all;
    for (; f; f = f->prev_all) {
        uint32_t id = awaited(f);
        if (!id) continue;
        blocks.n = 0;
        for (const pdl_fiber *up = f; up; up = up->parent)
            for (size_t i = up->blocks.n; i-- > 0;)
                if (up->blocks.p[i].info) *pdl_vec_push(&blocks) = up->blocks.p[i].info->block;
        fn(user, &(pdl_wait){pdl_fiber_loc(f), id, blocks.p, blocks.n});
    }
    pdl_vec_fini(&blocks);
}

void pdl_run_yield(pdl_run *r) { r->fibers.turns = UINT32_MAX - 1; }

bool pdl_run_is_ready(const pdl_run *r) {
    return r->fibers.ready_first != NULL || r->output.stream_failed;
}
