/* fiber.c -- handles stacks, frames and ids of blocks, and unwinds to handlers. The stacks of a
 * fiber are on the heap, so calls of PDL functions need no C stack, and a parked fiber is only
 * memory. Unwinding gives an error its place and its frames, and stops at the nearest handler.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/fiber.h"

#include <assert.h>

#include "base/idmap.h"
#include "base/limits.h"
#include "value/context.h"
#include "value/func.h"
#include "value/handle.h"
#include "value/text.h"
#include "vm/err_span.h"
#include "vm/inflight.h"
#include "vm/inflight_limit.h"
#include "vm/loop.h"
#include "vm/ops.h"
#include "vm/output_order.h"
#include "vm/retry.h"
#include "vm/run.h"
#include "vm/stacks.h"

#include "base/banned.h"

pdl_fiber *pdl_fiber_new(pdl_run *r, pdl_code *code, uint32_t entry) {
    pdl_fiber *f = PDL_NEW(pdl_fiber);
    f->run = r;
    f->id = ++r->fibers.last_id;
    f->ctx = pdl_context_empty();
    f->filtered = pdl_absent();
    f->background = pdl_absent();
    f->role = pdl_textz("user");
    f->sandbox = pdl_keep(r->opt.sandbox);
    f->modules = r->opt.modules;
    f->by_code = r->opt.by_code;
    f->budget = pdl_budget_keep(r->opt.budget);
    pdl_vm_native_env_init(f);
    f->next_all = r->fibers.all;
    if (r->fibers.all) r->fibers.all->prev_all = f;
    r->fibers.all = f;
    pdl_idmap_put(&r->fibers.by_id, f->id, f);
    pdl_vm_frame_push(f, FRAME_MAIN, code, entry, (pdl_loc){0});
    return f;
}

void pdl_vm_attempts_free(pdl_attempts *a) {
    if (!a) return;
    pdl_drop(a->exceptions);
    pdl_drop(a->extra);
    pdl_drop(a->answer);
    pdl_drop(a->repair);
    pdl_drop(a->pdl_error);
    pdl_err_fini(&a->err);
    pdl_free(a);
}

void pdl_vm_block_fini(pdl_fiber *f, pdl_vm_block *b) {
    if (b->budget) {
        pdl_vm_set_budget(f, b->budget->up);
        pdl_budget_drop(b->budget);
    }
    pdl_drop(b->ctx_in);
    pdl_drop(b->role_in);
    pdl_drop(b->child_messages);
    pdl_path_drop(b->path);
    pdl_vm_attempts_free(b->attempts);
}

void pdl_vm_loop_fini(pdl_fiber *f, pdl_vm_loop *l) {
    for (uint32_t i = 0; i < l->n; i++) pdl_drop(l->lists[i]);
    pdl_free(l->lists);
    pdl_free(l->names);
    pdl_drop(l->func);
    if (l->map) pdl_vm_mapping_free(f->run, l->map);
}

void pdl_vm_cut_stack(pdl_fiber *f, size_t n) {
    while (f->stack.n > n) pdl_drop(pop(f));
}

void pdl_vm_cut_locals(pdl_fiber *f, size_t n) {
    while (f->locals.n > n) pdl_drop(f->locals.p[--f->locals.n]);
}

void pdl_vm_cut_blocks(pdl_fiber *f, size_t n) {
    while (f->blocks.n > n) pdl_vm_block_fini(f, &f->blocks.p[--f->blocks.n]);
}

void pdl_vm_cut_saves(pdl_fiber *f, size_t n) {
    while (f->saves.n > n) {
        pdl_save *s = &f->saves.p[--f->saves.n];
        pdl_scope_drop(s->scope);
        pdl_drop(s->ctx);
    }
}

static void cut_loops(pdl_fiber *f, size_t n) {
    assert(n <= f->loops.n);
    while (f->loops.n > n) {
        pdl_vm_loop l = f->loops.p[--f->loops.n];
        pdl_vm_loop_fini(f, &l);
    }
}

static void cut_bufs(pdl_fiber *f, size_t n) {
    assert(n <= f->bufs.n);
    while (f->bufs.n > n) pdl_buf_fini(&f->bufs.p[--f->bufs.n].text);
}

static void handler_fini(pdl_handler *h) {
    pdl_scope_drop(h->scope);
    pdl_drop(h->ctx);
    pdl_drop(h->role);
}

static void cut_handlers(pdl_fiber *f, size_t n) {
    assert(n <= f->handlers.n);
    while (f->handlers.n > n) handler_fini(&f->handlers.p[--f->handlers.n]);
}

void pdl_vm_frame_push(pdl_fiber *f, pdl_vm_frame_kind kind, const pdl_code *code, uint32_t entry,
                       pdl_loc loc) {
    assert(pdl_fiber_ok(f));
    pdl_vm_frame *fr = pdl_vec_push(&f->frames);
    *fr = (pdl_vm_frame){
        .kind = kind,
        .code = pdl_code_keep((pdl_code *)(uintptr_t)code),
        .return_pc = f->pc,
        .stack = (uint32_t)f->stack.n,
        .blocks = (uint32_t)f->blocks.n,
        .saves = (uint32_t)f->saves.n,
        .loops = (uint32_t)f->loops.n,
        .bufs = (uint32_t)f->bufs.n,
        .handlers = (uint32_t)f->handlers.n,
        .locals = (uint32_t)f->locals.n,
        .local_base = f->local_base,
        .scope = pdl_scope_keep(f->scope),
        .ctx = pdl_keep(f->ctx),
        .role = pdl_keep(f->role),
        .background = f->background,
        .print = f->print,
        .autoescape = f->autoescape,
        .control = f->control,
        .chosen = f->chosen,
        .func = pdl_absent(),
        .key = pdl_absent(),
        .loc = loc,
    };
    if (PDL_UNLIKELY(f->run->opt.reports_tools)) fr->begun_ms = pdl_vm_now_ms(f);
    f->background = pdl_absent();
    f->local_base = (uint32_t)f->locals.n;
    f->chosen |= code->label;
    f->code = code;
    f->pc = entry;
}

static void frame_fini(pdl_vm_frame *fr) {
    pdl_code_drop(fr->code);
    pdl_scope_drop(fr->scope);
    pdl_drop(fr->ctx);
    pdl_drop(fr->role);
    pdl_drop(fr->background);
    pdl_drop(fr->func);
    pdl_drop(fr->key);
    pdl_drop(fr->library);
    pdl_path_drop(fr->place);
    pdl_path_drop(fr->chain);
}

void pdl_vm_chosen_by(pdl_fiber *f, pdl_label label) {
    if (pdl_vm_is_strict(f)) f->control |= label;
}

void pdl_vm_enter_chosen(pdl_fiber *f, pdl_label label) {
    f->chosen |= label;
    frame(f)->label |= label;
    pdl_vm_chosen_by(f, label);
}

void pdl_vm_frame_pop(pdl_fiber *f) {
    assert(f->frames.n > 0 && pdl_fiber_ok(f));
    /* fr stays valid after it is popped, because nothing below pushes a frame */
    pdl_vm_frame *fr = &f->frames.p[--f->frames.n];
    pdl_vm_cut_stack(f, fr->stack);
    pdl_vm_cut_blocks(f, fr->blocks);
    pdl_vm_cut_saves(f, fr->saves);
    cut_loops(f, fr->loops);
    cut_bufs(f, fr->bufs);
    cut_handlers(f, fr->handlers);
    pdl_vm_cut_locals(f, fr->locals);
    f->local_base = fr->local_base;
    pdl_scope_drop(f->scope);
    f->scope = fr->scope;
    fr->scope = NULL;
    set_val(&f->ctx, fr->ctx);
    set_val(&f->role, fr->role);
    set_val(&f->background, fr->background);
    fr->ctx = fr->role = fr->background = pdl_absent();
    f->print = fr->print;
    f->autoescape = fr->autoescape;
    f->control = fr->control | f->attempt_control;
    f->chosen = fr->chosen;
    f->pc = fr->return_pc;
    f->code = f->frames.n ? frame(f)->code : NULL;
    assert(fr->kind != FRAME_PDL || f->nested > 0);
    if (fr->kind == FRAME_PDL) f->nested--;
    frame_fini(fr);
    assert(pdl_fiber_ok(f));
}

void pdl_fiber_free(pdl_fiber *f) {
    pdl_run *r = f->run;
    pdl_idmap_del(&r->fibers.by_id, f->id);
    pdl_fiber_clear_woken(f);
    pdl_path_drop(f->base);
    pdl_path_drop(f->base_from);
    if (f->prev_all)
        f->prev_all->next_all = f->next_all;
    else
        r->fibers.all = f->next_all;
    if (f->next_all) f->next_all->prev_all = f->prev_all;
    while (f->frames.n) pdl_vm_frame_pop(f);
    pdl_vm_cut_stack(f, 0);
    pdl_scope_drop(f->scope);
    pdl_drop(f->ctx);
    pdl_drop(f->filtered);
    pdl_drop(f->background);
    pdl_drop(f->role);
    pdl_drop(f->sandbox);
    pdl_err_fini(&f->err);
    pdl_err_fini(&f->raised);
    pdl_budget_drop(f->budget);
    pdl_vec_fini(&f->stack);
    pdl_vec_fini(&f->frames);
    pdl_vec_fini(&f->blocks);
    pdl_vec_fini(&f->saves);
    pdl_vec_fini(&f->loops);
    pdl_vec_fini(&f->handlers);
    pdl_vec_fini(&f->bufs);
    pdl_vec_fini(&f->locals);
    for (size_t i = 0; i < f->calls.n; i++) pdl_drop(f->calls.p[i].failed);
    pdl_vec_fini(&f->calls);
    f->run->fibers.n_for_code -= f->is_for_code;
    pdl_free(f);
}

void pdl_fiber_ready(pdl_fiber *f) {
    if (f->queued || f->state == FIBER_DONE || f->state == FIBER_FAILED) return;
    f->state = FIBER_READY;
    f->queued = true;
    f->next_ready = NULL;
    pdl_run *r = f->run;
    if (r->fibers.ready_last) {
        r->fibers.ready_last->next_ready = f;
    } else {
        r->fibers.ready_first = f;
        pdl_run_announce(r);
    }
    r->fibers.ready_last = f;
    assert(pdl_fiber_ok(f));
}

/* --- ids -------------------------------------------------------------------------------------- */

static pdl_path *seg_path(pdl_path *up, const pdl_blockinfo *info,
                          uint32_t iter) { /* returns an owned path; borrows up */
    pdl_path *p = NULL, *q;
    switch (info->seg) {
    case PDL_SEG_NONE: return pdl_path_keep(up);
    case PDL_SEG_INDEX: return pdl_path_index(up, info->index);
    case PDL_SEG_ITER: return pdl_path_iteration(up, iter);
    case PDL_SEG_NAME: return pdl_path_name(up, info->name);
    case PDL_SEG_DEFS:
        p = pdl_path_name(up, "defs");
        q = pdl_path_name(p, info->name);
        pdl_path_drop(p);
        return q;
    }
    PDL_BUG("segment %d", (int)info->seg);
}

static pdl_path *with_kind(pdl_path *p, const char *kind) { /* takes p */
    pdl_path *q = pdl_path_name(p, kind);
    pdl_path_drop(p);
    return q;
}

static void make_path(pdl_fiber *f, size_t k) {
    pdl_vm_block *b = &f->blocks.p[k];
    pdl_path *up = k ? f->blocks.p[k - 1].path : NULL;
    b->path = with_kind(seg_path(up, b->info, k ? f->blocks.p[k - 1].iter : 0), b->info->kind);
    /* A fallback belongs to none of the attempts. */
    if (!b->info->has_retry || !b->attempts || b->attempts->in_fallback) return;
    pdl_path *p = b->path;
    b->path = pdl_path_numbered(p, "retry", (uint32_t)b->attempts->done);
    pdl_path_drop(p);
}

pdl_path *pdl_vm_block_path(pdl_fiber *f) {
    size_t k = f->blocks.n;
    while (k > 0 && !f->blocks.p[k - 1].path && f->blocks.p[k - 1].info) k--;
    for (; k < f->blocks.n; k++) make_path(f, k);
    return f->blocks.n ? block(f)->path : NULL;
}

pdl_path *pdl_vm_part_path(pdl_fiber *f, const pdl_blockinfo *info) {
    pdl_path *up = pdl_vm_block_path(f);
    return with_kind(seg_path(up, info, f->blocks.n ? block(f)->iter : 0), info->kind);
}

pdl_scope *pdl_vm_scope_of_dict(pdl_run *r, pdl_vref d) {
    pdl_scope *s = NULL;
    for (size_t i = 0; i < pdl_dict_len(d); i++) {
        pdl_vref k = pdl_dict_key_at(d, i);
        if (pdl_is_str(k))
            s = pdl_scope_put(s, pdl_intern(r->opt.names, pdl_str_get(k)), pdl_dict_part(d, i));
    }
    return s;
}

/* --- errors ----------------------------------------------------------------------------------- */

void pdl_vm_code_error(const char *language, const char *class_name, pdl_loc loc, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s Code error: %s(", language, err->py_class ? err->py_class : class_name);
    pdl_str_repr(pdl_str_of(err->msg), &b);
    pdl_buf_putc(&b, ')');
    pdl_err_reword(err, &b);
    err->kind = PDL_E_code;
    err->loc = loc;
}

/* Puts a text before the message. The text is followed by a quotation of the expression. `at` is
 * the offset of the fault. A long expression is quoted only around the fault. */
static void put_in_front(const char *what, const pdl_expr *expr, size_t at, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s ", what);
    pdl_expr_quote(expr->source, at, &b);
    PDL_PUT(&b, ": ");
    pdl_err_put_before(err, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

void pdl_vm_expression_error(const pdl_expr *expr, pdl_err *err) {
    put_in_front("Error during the evaluation of", expr, 0, err);
    err->kind = PDL_E_expression;
}

static void expression_message(const pdl_fiber *f, const pdl_srcsite *site, const pdl_srcspan *w,
                               pdl_err *err) {
    bool syntax = f->code->ins.p[f->pc - 1].op == PDL_OP_FAIL_TO_READ;
    put_in_front(syntax ? "Syntax error in" : "Error during the evaluation of", site->expr,
                 w->start, err);
    err->loc = site->loc;
    if (site->node && !err->mark.src) err->mark = pdl_node_text_loc(site->node, w->start, w->end);
}

static void template_message(pdl_fiber *f, const pdl_srcsite *site, const pdl_srcspan *w,
                             pdl_err *err) {
    bool limit = err->kind == PDL_E_limit;
    if (err->kind == PDL_E_budget) {
        err->loc = frame(f)->loc; /* an exceeded budget is no error of the template */
        return;
    }
    pdl_vm_code_error("Jinja", "TypeError", frame(f)->loc, err);
    if (f->blocks.n && block(f)->info) pdl_vm_mark_template(block(f)->info->block, site, w, err);
    if (limit) err->kind = PDL_E_limit;
}

/* Adds to err the place of the instruction that failed. For an expression, also puts the words of
 * an expression error before the message. */
static void decorate(pdl_fiber *f, pdl_err *err) {
    if (err->loc.src || err->preformatted || !f->code || !f->pc) return;
    const pdl_srcspan *w = &f->code->where.p[f->pc - 1];
    const pdl_srcsite *site = &f->code->sites.p[w->site];
    if (f->code->jinja && !err->uncatchable) {
        template_message(f, site, w, err);
        return;
    }
    /* inside the library, an exceeded limit is not reported as an error of the expression */
    bool limit = err->kind == PDL_E_limit && site->expr && !f->code->library && !f->code->stdlib;
    bool plain = err->kind == PDL_E_expression || limit;
    if (plain && site->expr) {
        pdl_vm_advise(f, site, err);
        expression_message(f, site, w, err);
    } else {
        err->loc = site->loc;
    }
}

bool pdl_vm_enters_program(const pdl_fiber *f, const pdl_vm_frame *fr) {
    if (fr == f->frames.p || (fr->kind != FRAME_CALL && fr->kind != FRAME_EXPR)) return false;
    return fr[-1].code->library && !fr->code->library && !pdl_is_absent(fr->func);
}

static void frame_note(const pdl_fiber *f, const pdl_vm_frame *fr, pdl_err *err) {
    enum { MAX_FRAMES = 64 };
    bool is_tool = pdl_vm_enters_program(f, fr);
    if (is_tool && f->run->opt.reports_tools && !pdl_err_is_cancel(err))
        pdl_vm_report_tool(f, fr, true);
    if (is_tool && !fr->code->stdlib) pdl_vm_note_tool(f, fr, err);
    if (err->n_frames >= MAX_FRAMES || !fr->loc.src) return;
    if (fr->kind == FRAME_CALL || fr->kind == FRAME_EXPR) {
        pdl_val name = pdl_is_absent(fr->func) ? pdl_null() : pdl_func_of(fr->func)->name;
        if (pdl_is_str(name))
            pdl_err_frame_add(err, fr->loc, "call to %.*s", PDL_FMT(pdl_str_get(name)));
        else
            pdl_err_frame_add(err, fr->loc, "call to a function");
    } else if (fr->kind == FRAME_INCLUDE || fr->kind == FRAME_IMPORT) {
        pdl_err_frame_add(err, fr->loc, fr->kind == FRAME_INCLUDE ? "include" : "import");
    }
}

/* Rewords a failure inside of `lang: pdl` as a failure of the code block. */
static void pdl_code_error(pdl_err *err, pdl_loc loc) {
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "PDL Code error: ");
    if (err->loc.src) pdl_buf_putf(&b, "line %u - ", pdl_loc_line(err->loc));
    pdl_err_put_before(err, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    err->loc = loc;
    err->mark = (pdl_loc){0};
}

static void resume_at(pdl_fiber *f, pdl_handler *h) {
    pdl_vm_cut_stack(f, h->stack);
    pdl_vm_cut_blocks(f, h->blocks);
    pdl_vm_cut_saves(f, h->saves);
    cut_loops(f, h->loops);
    cut_bufs(f, h->bufs);
    pdl_vm_cut_locals(f, h->locals);
    pdl_scope_drop(f->scope);
    f->scope = h->scope;
    set_val(&f->ctx, h->ctx);
    set_val(&f->role, h->role);
    f->print = h->print;
    f->autoescape = h->autoescape;
    f->control = h->control;
    f->chosen = h->chosen;
    f->attempt_control = h->attempt_control;
    f->pc = h->pc;
}

static bool is_ours(const pdl_code *c) { return c->library || c->stdlib; }

/* Returns true when the program calls the library in this frame. */
static bool enters_library(const pdl_vm_frame *fr) {
    if (fr->kind != FRAME_CALL && fr->kind != FRAME_EXPR) return false;
    return is_ours(fr->code) && !is_ours(fr[-1].code) && fr->loc.src;
}

bool pdl_vm_enters_library(const pdl_fiber *f) {
    if (f->frames.n < 2) return false;
    const pdl_vm_frame *fr = &f->frames.p[f->frames.n - 1];
    bool calls = fr->kind == FRAME_CALL || fr->kind == FRAME_EXPR;
    return calls && is_ours(fr->code) && !is_ours(fr[-1].code);
}

pdl_loc pdl_library_entry_loc(const pdl_fiber *f) {
    for (size_t i = f->frames.n; i-- > 1 && is_ours(f->frames.p[i].code);)
        if (enters_library(&f->frames.p[i])) return f->frames.p[i].loc;
    return (pdl_loc){0};
}

void pdl_err_move_to_call(pdl_err *err, pdl_loc call) {
    if (!call.src || err->preformatted) return;
    err->loc = call;
    err->mark = (pdl_loc){0};
    err->skips_library = true;
}

bool pdl_fiber_unwind(pdl_fiber *f, pdl_err *err) {
    assert(err->kind != PDL_E_NONE && pdl_fiber_ok(f));
    decorate(f, err);
    err->label |= f->code ? f->code->label : 0; /* messages quote text of the program */
    while (f->frames.n) {
        pdl_vm_frame *fr = frame(f);
        bool here = f->handlers.n > fr->handlers && !err->uncatchable;
        if (!here) cut_handlers(f, fr->handlers); /* a handler ends together with its block */
        size_t floor = here ? handler(f)->blocks : fr->blocks;
        for (size_t k = f->blocks.n; wants_blocks(f->run) && k-- > floor;) {
            if (f->blocks.p[k].info)
                pdl_vm_send_block(f, PDL_EVENT_block_fail, f->blocks.p[k].info, pdl_absent(), err);
            pdl_vm_cut_blocks(f, k);
        }
        if (here) {
            pdl_handler h = pop_handler(f);
            f->out = h.out;
            bool was_sent = pdl_out_was_sent(f, h.out_mark);
            pdl_out_forget(f, h.out_mark);
            resume_at(f, &h);
            pdl_vm_chosen_by(f, err->label); /* the fallback runs because of the error */
            pdl_inflight_forget(f, h.calls_from);
            pdl_attempts *a = block(f)->attempts;
            a->was_sent = was_sent;
            pdl_err_fini(&a->err);
            pdl_err_move(&a->err, err);
            if (wants_blocks(f->run))
                pdl_vm_send_block(f, PDL_EVENT_attempt, block(f)->info, pdl_absent(), &a->err);
            return true;
        }
        if (fr->kind == FRAME_TEMPLATE && err->loc.src == NULL && !err->preformatted)
            err->loc = fr->loc;
        frame_note(f, fr, err);
        if (f->frames.n > 1 && enters_library(fr)) {
            pdl_err_move_to_call(err, fr->loc);
            /* the functions of the standard library are words of the language */
            err->skips_library = !fr->code->stdlib;
        }
        if (fr->kind == FRAME_PDL) pdl_code_error(err, fr->loc);
        pdl_vm_keep_code(f->run, fr->code);
        pdl_vm_frame_pop(f);
    }
    pdl_err_move(&f->err, err);
    f->state = FIBER_FAILED;
    return false;
}
