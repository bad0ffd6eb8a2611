/* exec.c -- the instruction loop, and the only C function that runs programs. It returns DONE (the
 * fiber ended), WAIT or FAIL. Short instructions are here; long ones are in ops_*.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "value/context.h"
#include "value/handle.h"
#include "value/pyvalues.h"
#include "value/text.h"
#include "vm/closure.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/inflight_limit.h"
#include "vm/loop.h"
#include "vm/ops.h"
#include "vm/output_order.h"
#include "vm/particle.h"
#include "vm/retry.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

/* Makes a step. An instruction that must wait is executed again: pc goes back to it. */
#define STEP(call)                                                                                 \
    do {                                                                                           \
        pdl_step s_ = (call);                                                                      \
        if (PDL_UNLIKELY(s_ != PDL_STEP_DONE)) {                                                   \
            if (s_ == PDL_STEP_WAIT) f->pc--;                                                      \
            return s_;                                                                             \
        }                                                                                          \
    } while (0)

static pdl_step jump_if(pdl_fiber *f, const pdl_ins *i, bool when, bool keep, pdl_err *err) {
    bool truth;
    pdl_step s = pdl_vm_truth(f, &truth, err);
    if (s != PDL_STEP_DONE) return s;
    if (PDL_UNLIKELY(pdl_vm_is_strict(f))) {
        f->control |= pdl_label_of_truth(pdl_label_of(*top(f)));
        f->choices += pdl_label_origins(pdl_label_of(*top(f))) != 0;
    }
    if (truth == when) {
        f->pc = i->c;
        if (keep) return PDL_STEP_DONE;
    }
    pdl_drop(pop(f));
    return PDL_STEP_DONE;
}

static void op_list(pdl_fiber *f, size_t n, bool tuple) {
    pdl_val v;
    if (tuple) {
        v = pdl_tuple_new(n ? f->stack.p + f->stack.n - n : NULL, n);
    } else {
        v = pdl_list_new(n);
        for (size_t i = 0; i < n; i++) v = pdl_list_push(v, f->stack.p[f->stack.n - n + i]);
    }
    f->stack.n -= n;
    push(f, v);
}

static pdl_step op_fail(pdl_fiber *f, const pdl_ins *i, pdl_err *err) {
    const pdl_srcsite *site = &f->code->sites.p[f->code->where.p[f->pc - 1].site];
    if (i->op == PDL_OP_FAIL_TO_READ) {
        pdl_err_host(err, site->expr->fault->cls, "%.*s", PDL_FMT(site->expr->fault->msg));
        pdl_str hint = pdl_fault_hint(site->expr->fault, site->node);
        if (hint.n) pdl_err_hint(err, "%.*s", PDL_FMT(hint));
        return PDL_STEP_FAIL;
    }
    pdl_vref what = f->code->consts.p[i->c];
    if (i->op == PDL_OP_ERROR) {
        pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "%.*s", PDL_FMT(pdl_str_get(what)));
    } else { /* the value is [text, class] */
        pdl_str cls = pdl_str_get(pdl_list_at(what, 1));
        pdl_err_host(err, cls.p, "%.*s", PDL_FMT(pdl_str_get(pdl_list_at(what, 0))));
    }
    return PDL_STEP_FAIL;
}

/* Returns true for an attribute or item of a remote object: only the worker knows whether it
 * exists. Any other promise is a value, so nothing has to be waited for. */
static bool is_looked_up(const pdl_fiber *f, pdl_vref v) {
    if (!pdl_is(v, PDL_V_PROMISE)) return false;
    const pdl_promise *p = pdl_promise_of(v);
    if (p->state == PDL_PROMISE_FILLED) return pdl_is(p->value, PDL_V_UNDEFINED);
    const pdl_inflight *c = p->id ? pdl_idmap_find(&f->run->effects.by_id, p->id) : NULL;
    if (!c || c->kind != PDL_EFFECT_object || !c->expr || !c->expr->root) return false;
    return c->expr->root->kind == PDL_X_ATTR || c->expr->root->kind == PDL_X_ITEM;
}

static pdl_step op_defined(pdl_fiber *f, pdl_err *err) {
    if (is_looked_up(f, *top(f))) {
        pdl_step s = pdl_vm_force(f, top(f), err);
        if (s != PDL_STEP_DONE) return s;
    }
    if (!pdl_is(*top(f), PDL_V_UNDEFINED)) return PDL_STEP_DONE;
    pdl_undefined_error(*top(f), err);
    return PDL_STEP_FAIL;
}

static void op_scope_save(pdl_fiber *f) {
    *pdl_vec_push(&f->saves) =
        (pdl_save){pdl_scope_keep(f->scope), pdl_absent(), f->print, (uint32_t)f->frames.n};
}

static void op_scope_back(pdl_fiber *f) {
    pdl_save s = pop_save(f);
    pdl_scope_drop(f->scope);
    f->scope = s.scope;
    pdl_drop(s.ctx);
}

static void op_locals_open(pdl_fiber *f, size_t n) {
    for (size_t i = 0; i < n; i++) *pdl_vec_push(&f->locals) = pdl_absent();
}

static void op_try(pdl_fiber *f, uint32_t pc) {
    pdl_handler *h = pdl_vec_push(&f->handlers);
    pdl_attempts *a = block(f)->attempts;
    /* earlier attempts added messages, which follow the incoming context */
    if (!pdl_is_absent(a->extra)) {
        set_val(&f->ctx, pdl_context_dep(pdl_keep(block(f)->ctx_in), pdl_keep(a->extra)));
    }
    *h = (pdl_handler){
        .pc = pc,
        .frame = (uint32_t)f->frames.n,
        .stack = (uint32_t)f->stack.n,
        .blocks = (uint32_t)f->blocks.n,
        .saves = (uint32_t)f->saves.n,
        .loops = (uint32_t)f->loops.n,
        .bufs = (uint32_t)f->bufs.n,
        .locals = (uint32_t)f->locals.n,
        .scope = pdl_scope_keep(f->scope),
        .ctx = pdl_keep(f->ctx),
        .role = pdl_keep(f->role),
        .print = f->print,
        .autoescape = f->autoescape,
        .control = f->control,
        .chosen = f->chosen,
        .attempt_control = f->attempt_control,
        .calls_from = f->n_calls,
        .out = f->out,
        .out_mark = pdl_out_mark(f),
    };
}

static pdl_step op_try_end(pdl_fiber *f, pdl_err *err) {
    pdl_handler *h = handler(f);
    pdl_step s = pdl_inflight_await(f, h->calls_from, true, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_scope_drop(h->scope);
    pdl_drop(h->ctx);
    pdl_drop(h->role);
    f->attempt_control = h->attempt_control;
    f->handlers.n--;
    return PDL_STEP_DONE;
}

static pdl_step op_usage(pdl_fiber *f, pdl_name name, pdl_err *err) {
    pdl_step s = pdl_inflight_await(f, 0, false, err);
    if (s != PDL_STEP_DONE) return s;
    /* in templates this may be a loop variable of that name */
    pdl_vref own = pdl_scope_find(f->scope, name);
    push(f, pdl_is_absent(own) ? pdl_vm_usage_value(f->run) : pdl_keep(own));
    return PDL_STEP_DONE;
}

static void op_context(pdl_fiber *f) { push(f, pdl_keep(f->ctx)); }

static void swap(pdl_fiber *f) {
    pdl_val t = *top(f);
    *top(f) = *under(f, 1);
    *under(f, 1) = t;
}

static void rot3(pdl_fiber *f) {
    pdl_val c = *top(f);
    *top(f) = *under(f, 1);
    *under(f, 1) = *under(f, 2);
    *under(f, 2) = c;
}

static void op_buf_pop(pdl_fiber *f, bool macro) {
    pdl_outbuf *b = &f->bufs.p[--f->bufs.n];
    pdl_label label = pdl_label_combined(pdl_label_built(b->label), b->chosen);
    pdl_val v = pdl_with_label(pdl_text_of_buf(&b->text), label);
    pdl_buf_fini(&b->text);
    push(f, macro && f->autoescape ? pdl_with_flags(v, PDL_F_SAFE) : v);
}

static pdl_step op_name(pdl_fiber *f, const pdl_ins *i, pdl_err *err) {
    pdl_vref v = pdl_scope_find(f->scope, i->c);
    if (PDL_UNLIKELY(pdl_is_absent(v)) && i->c == f->run->code.names.stdlib && f->run->opt.stdlib.n)
        return pdl_op_STDLIB(f, err);
    if (PDL_UNLIKELY(pdl_is_absent(v)) && i->c == f->run->code.names.particle &&
        f->run->opt.particle.is_one) {
        pdl_step s = pdl_await_chance(f, false);
        if (s == PDL_STEP_DONE) push(f, pdl_int(f->run->opt.particle.number));
        return s;
    }
    push(f, PDL_LIKELY(!pdl_is_absent(v)) ? pdl_keep(v) : pdl_vm_name_value(f, i->c));
    return PDL_STEP_DONE;
}

static pdl_step op_autoescape(pdl_fiber *f, pdl_err *err) {
    bool truth;
    pdl_step s = pdl_vm_truth(f, &truth, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_drop(pop(f));
    *pdl_vec_push(&f->saves) = (pdl_save){NULL, pdl_absent(), f->autoescape, (uint32_t)f->frames.n};
    f->autoescape = truth;
    return PDL_STEP_DONE;
}

static pdl_step op_ns_set(pdl_fiber *f, pdl_vref name, pdl_err *err) {
    pdl_val ns = *under(f, 1);
    if (!pdl_is_namespace(ns)) {
        pdl_err_host(err, "TemplateRuntimeError",
                     "cannot assign attribute on non-namespace object");
        return PDL_STEP_FAIL;
    }
    pdl_val x = pdl_with_label(pop(f), f->control);
    return pdl_namespace_set(ns, pdl_str_get(name), x, err) ? PDL_STEP_DONE : PDL_STEP_FAIL;
}

static pdl_step op_match(pdl_fiber *f, const pdl_pattern *p, pdl_err *err) {
    bool fits = pdl_vm_pattern_match(f, p, *top(f));
    if (!pdl_check_walk(err)) return PDL_STEP_FAIL;
    push(f, pdl_with_label(pdl_bool(fits), pdl_label_of_truth(pdl_label_of(*top(f)))));
    return PDL_STEP_DONE;
}

static void field_event(pdl_fiber *f, const pdl_field_info *field) {
    if (wants_blocks(f->run)) pdl_vm_send_field(f, field->key, *top(f), field->number);
}

PDL_COLD static void trace_instruction(const pdl_fiber *f) {
    pdl_buf b = PDL_BUF;
    pdl_code_dump_at(f->code, f->pc, &b);
    PDL_TRACE(f->run->opt.debug, exec, "fiber %u: %s", f->id, pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

/* Called at each turn of a loop, each further attempt and each return of a call. Here a program
 * that never waits handles signals and lets other fibers run. A program whose time is over ends
 * here, and a fiber that requests effects without ever using a reply is parked here. */
static inline pdl_step turn(pdl_fiber *f, pdl_err *err) {
    if (PDL_UNLIKELY(++f->run->fibers.turns >= f->run->opt.turns)) {
        f->run->fibers.turns = 0;
        if (!pdl_run_has_memory(f->run, err) || !pdl_check_walk(err))
            return PDL_STEP_FAIL; /* a walk was cancelled where it could not return an error */
        f->run->fibers.yielded = true;
        pdl_fiber_ready(f);
        return PDL_STEP_WAIT;
    }
    if (PDL_UNLIKELY(pdl_run_is_full(f->run)) && pdl_await_effect_slot(f) != PDL_STEP_DONE)
        return PDL_STEP_WAIT;
    return PDL_LIKELY(!f->budget) || pdl_budget_check_time(f, 1, err) ? PDL_STEP_DONE
                                                                      : PDL_STEP_FAIL;
}

/* The operands of an instruction, as arguments for its function. */
#define ARG_NONE
#define ARG_FLAG(what)        , i->a == 1
#define ARG_ENUM(type)        , (type)i->a
#define ARG_NAME              , i->c
#define ARG_CONST             , f->code->consts.p[i->c]
#define ARG_TARGET            , i->c
#define ARG_ENTRY             , i->c
#define ARG_COUNT             , i->c
#define ARG_SLOT              , i->c
#define ARG_PTR(type)         , f->code->operands.p[i->c]
#define ARG_PTR_OR_NULL(type) , f->code->operands.p[i->c]

/* This function is a flat switch with one case for each opcode. */
pdl_step pdl_fiber_run(pdl_fiber *f, pdl_err *err) {
    const bool traced = PDL_TRACES(f->run->opt.debug, exec);
    for (;;) {
        if (PDL_UNLIKELY(traced)) trace_instruction(f);
        const pdl_ins *i = &f->code->ins.p[f->pc++];
        switch ((pdl_opcode)i->op) {
        case PDL_OP_CONST: push(f, pdl_keep(f->code->consts.p[i->c])); break;
        case PDL_OP_POP: pdl_drop(pop(f)); break;
        case PDL_OP_DUP: push(f, pdl_keep(*top(f))); break;
        case PDL_OP_PICK: push(f, pdl_keep(*under(f, i->c))); break;
        case PDL_OP_SWAP: swap(f); break;
        case PDL_OP_ROT3: rot3(f); break;
        case PDL_OP_NAME: STEP(op_name(f, i, err)); break;
        case PDL_OP_GIVEN:
            push(f, pdl_bool(!pdl_is(pdl_scope_find(f->scope, i->c), PDL_V_UNDEFINED)));
            break;
        case PDL_OP_CONTEXT: op_context(f); break;
        case PDL_OP_USAGE: STEP(op_usage(f, i->c, err)); break;
        case PDL_OP_BIND:
            f->scope = pdl_scope_put(f->scope, i->c, pdl_with_label(pop(f), f->control));
            break;
        case PDL_OP_BIND_KEEP:
            f->scope = pdl_scope_put(f->scope, i->c, pdl_with_label(pdl_keep(*top(f)), f->control));
            break;
        case PDL_OP_NEG:
        case PDL_OP_POS:
        case PDL_OP_NOT: STEP(pdl_vm_unary(f, (pdl_opcode)i->op, err)); break;
        case PDL_OP_JUMP:
            if (i->c < f->pc) STEP(turn(f, err));
            f->pc = i->c;
            break;
        case PDL_OP_JUMP_FALSE: STEP(jump_if(f, i, false, false, err)); break;
        case PDL_OP_JUMP_TRUE: STEP(jump_if(f, i, true, false, err)); break;
        case PDL_OP_JUMP_FALSE_KEEP: STEP(jump_if(f, i, false, true, err)); break;
        case PDL_OP_JUMP_TRUE_KEEP: STEP(jump_if(f, i, true, true, err)); break;
        case PDL_OP_LIST: op_list(f, i->c, false); break;
        case PDL_OP_TUPLE: op_list(f, i->c, true); break;
        case PDL_OP_UNDEFINED: push(f, pdl_undefined(pdl_keep(f->code->consts.p[i->c]))); break;
        case PDL_OP_DEFINED: STEP(op_defined(f, err)); break;
        case PDL_OP_REBIND: pdl_vm_rebind(f, f->code->operands.p[i->c]); break;
        case PDL_OP_FAIL_TO_READ:
        case PDL_OP_RAISE:
        case PDL_OP_ERROR: STEP(op_fail(f, i, err)); break;
        case PDL_OP_BUF_PUSH:
            *pdl_vec_push(&f->bufs) = (pdl_outbuf){.text = PDL_BUF_INIT(PDL_MAX_TEXT)};
            break;
        case PDL_OP_BUF_POP: op_buf_pop(f, i->a == 1); break;
        case PDL_OP_OUT_TEXT:
            outbuf(f)->label |= f->code->label;
            if (!pdl_buf_add(&outbuf(f)->text, pdl_str_get(f->code->consts.p[i->c]), err))
                return PDL_STEP_FAIL;
            break;
        case PDL_OP_SCOPE_SAVE: op_scope_save(f); break;
        case PDL_OP_SCOPE_RESTORE: op_scope_back(f); break;
        case PDL_OP_SCOPE_FORGET: pdl_vm_cut_saves(f, f->saves.n - 1); break;
        case PDL_OP_LOOP: STEP(pdl_vm_loop_begin(f, false, 0, err)); break;
        case PDL_OP_LOOP_RECURSIVE: STEP(pdl_vm_loop_begin(f, true, i->c, err)); break;
        case PDL_OP_LOOP_NEXT: {
            pdl_val item;
            if (pdl_vm_loop_next(f, &item))
                push(f, item);
            else
                f->pc = i->c;
            break;
        }
        case PDL_OP_LIST_ADD: {
            if (!pdl_list_may_grow(*under(f, 1), err)) return PDL_STEP_FAIL;
            pdl_val x = pop(f);
            *top(f) = pdl_list_push(*top(f), x);
            break;
        }
        case PDL_OP_LOCALS_OPEN: op_locals_open(f, i->c); break;
        case PDL_OP_LOCALS_CLOSE: pdl_vm_cut_locals(f, f->locals.n - i->c); break;
        case PDL_OP_LOCAL: push(f, pdl_keep(*local(f, i->c))); break;
        case PDL_OP_LOCAL_SET: set_val(local(f, i->c), pop(f)); break;
        case PDL_OP_LOCAL_SET_KEEP: set_val(local(f, i->c), pdl_keep(*top(f))); break;
        case PDL_OP_NS_SET: STEP(op_ns_set(f, f->code->consts.p[i->c], err)); break;
        case PDL_OP_MACRO: push(f, pdl_vm_macro_new(f, f->code->operands.p[i->c])); break;
        case PDL_OP_AUTOESCAPE: STEP(op_autoescape(f, err)); break;
        case PDL_OP_AUTOESCAPE_BACK: f->autoescape = pop_save(f).print != 0; break;
        case PDL_OP_RETURN: {
            bool ended = false;
            STEP(pdl_vm_return(f, err, &ended));
            if (ended) return PDL_STEP_DONE;
            /* STEP is not used here: the return is complete, so it must not be executed again after
             * a wait */
            pdl_step s = turn(f, err);
            if (PDL_UNLIKELY(s != PDL_STEP_DONE)) return s;
            break;
        }
        case PDL_OP_ENTER:
            if (!pdl_run_has_memory(f->run, err) || !pdl_check_walk(err))
                return PDL_STEP_FAIL; /* a walk was cancelled where it could not return an error */
            pdl_vm_enter(f, f->code->operands.p[i->c]);
            break;
        case PDL_OP_MUTE: f->print &= (uint8_t)~PRINT_RESULT; break;
        case PDL_OP_UNMUTE: f->print = block(f)->print; break;
        case PDL_OP_HOLD:
            block(f)->holds = f->run->opt.holds_refusable;
            if (block(f)->holds) pdl_out_hold(f);
            break;
        case PDL_OP_RELEASE:
            if (block(f)->holds) pdl_out_accept(f);
            break;
        case PDL_OP_EMIT_TEXT:
            if (f->print & PRINT_RESULT)
                pdl_out_text(f, pdl_str_get(f->code->consts.p[i->c]), PDL_LOOK_PLAIN, 0);
            break;
        case PDL_OP_AWAIT: STEP(pdl_vm_force(f, top(f), err)); break;
        case PDL_OP_TRACE_FIELD: field_event(f, f->code->operands.p[i->c]); break;
        case PDL_OP_TRY: op_try(f, i->c); break;
        case PDL_OP_TRY_END: STEP(op_try_end(f, err)); break;
        case PDL_OP_CATCH:
        case PDL_OP_CATCH_FALLBACK:
            STEP(pdl_vm_catch(f, i->op == PDL_OP_CATCH_FALLBACK, i->c, err));
            break;
        case PDL_OP_RETRY_AGAIN:
            STEP(turn(f, err));
            pdl_vm_retry_again(f, i->c);
            break;
        case PDL_OP_EXPECT_RETRY:
            if (!pdl_vm_expect_retry(f)) f->pc = i->c;
            break;
        case PDL_OP_FOR_NEXT:
            if (!pdl_vm_for_next(f)) f->pc = i->c;
            break;
        case PDL_OP_MATCH: STEP(op_match(f, f->code->operands.p[i->c], err)); break;
        case PDL_OP_FUNC: push(f, pdl_closure_new(f, f->code->operands.p[i->c])); break;
        case PDL_OP_SOURCE_FOUND:
            if (pdl_vm_source_found(f)) f->pc = i->c;
            break;
        case PDL_OP_TO_MESSAGE:
            pdl_vm_to_message(f);
            break;
/* clang-format would put the include into the macros. */
/* clang-format off */
#define OP(name, pops, pushes, flow, sees, a, c, doc)                                              \
    case PDL_OP_##name:                                                                            \
        STEP(pdl_op_##name(f ARG_##a ARG_##c, err));                                               \
        break;
#define OP_SURE(name, pops, pushes, flow, sees, a, c, doc)                                         \
    case PDL_OP_##name:                                                                            \
        pdl_op_##name(f ARG_##a ARG_##c);                                                          \
        break;
#define OP_INLINE(name, pops, pushes, flow, sees, a, c, doc)
#include "compile/ops.def"
        /* clang-format on */
        case PDL_OPCODE_COUNT: PDL_BUG("opcode %u", i->op);
        }
    }
}
