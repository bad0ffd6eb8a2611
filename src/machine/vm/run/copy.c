/* copy.c -- copies a run that is held. The copy is at the same place of the same program, and then
 * continues separately.
 *
 * Inference replaces particles with little weight by copies of particles with much weight. Values
 * are immutable or shared until they are changed, so only the stacks are copied. A held run has
 * nothing in flight. A run whose code left an object, or whose aggregator writes a file, cannot be
 * copied; pdl_run_copy then returns the reason.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>

#include "base/limits.h"
#include "vm/fiber.h"
#include "vm/loop.h"
#include "vm/ops.h"
#include "vm/output_order_impl.h"
#include "vm/particle.h"
#include "vm/retry.h"
#include "vm/stacks.h"

#include "base/banned.h"

/* Returns the reason why a held run cannot be copied; NULL when it can be. */
static const char *obstacle(const pdl_run *r) {
    if (r->fibers.not_copied.src) return "code left an object or a session there";
    if (r->output.files.n) return "an aggregator writes a file";
    for (const pdl_fiber *f = r->fibers.all; f; f = f->next_all) {
        if (f->done) return "code waits for a function of the program";
        if (f->state != FIBER_HELD && f->state != FIBER_WAIT_MAP && f->state != FIBER_DONE)
            return "a part of it waits";
    }
    return NULL;
}

bool pdl_run_is_replayable(const pdl_run *r) {
    return r->fibers.not_copied.src && !r->output.files.n;
}

/* Appends the n elements of a stack to an empty stack. */
#define COPY_STACK(to, from)                                                                       \
    do {                                                                                           \
        for (size_t i_ = 0; i_ < (from).n; i_++) *pdl_vec_push(&(to)) = (from).p[i_];              \
    } while (0)

static void copy_vals(pdl_val *p, size_t n) {
    for (size_t i = 0; i < n; i++) p[i] = pdl_keep(p[i]);
}

static void copy_frames(pdl_fiber *t, const pdl_fiber *f) {
    for (size_t i = 0; i < f->frames.n; i++) {
        pdl_vm_frame *fr = pdl_vec_push(&t->frames);
        *fr = f->frames.p[i];
        (void)pdl_code_keep(fr->code);
        fr->scope = pdl_scope_keep(fr->scope);
        fr->ctx = pdl_keep(fr->ctx);
        fr->role = pdl_keep(fr->role);
        fr->background = pdl_keep(fr->background);
        fr->func = pdl_keep(fr->func);
        fr->key = pdl_keep(fr->key);
        fr->library = pdl_keep(fr->library);
        fr->place = pdl_path_keep(fr->place);
        fr->chain = NULL;
    }
}

static pdl_attempts *copy_attempts(const pdl_attempts *a) {
    if (!a) return NULL;
    pdl_attempts *t = PDL_NEW(pdl_attempts);
    *t = *a;
    t->exceptions = pdl_keep(a->exceptions);
    t->extra = pdl_keep(a->extra);
    t->answer = pdl_keep(a->answer);
    t->repair = pdl_keep(a->repair);
    t->pdl_error = pdl_keep(a->pdl_error);
    t->err = (pdl_err){0};
    if (a->err.kind) pdl_err_copy(&t->err, &a->err);
    return t;
}

/* Copies a budget into the copy of the budget around it. Takes nothing. */
static pdl_budget *copy_budget(const pdl_budget *b, pdl_budget *up) {
    pdl_budget *t = pdl_budget_new(b->limit, up, b->loc);
    memcpy(t->used, b->used, sizeof t->used);
    t->answers = b->answers;
    t->answer_tokens = b->answer_tokens;
    t->start_ns = b->start_ns;
    t->earlier_ns = b->earlier_ns;
    return t;
}

static void copy_blocks(pdl_fiber *t, const pdl_fiber *f) {
    for (size_t i = 0; i < f->blocks.n; i++) {
        pdl_vm_block *b = pdl_vec_push(&t->blocks);
        *b = f->blocks.p[i];
        b->ctx_in = pdl_keep(b->ctx_in);
        b->role_in = pdl_keep(b->role_in);
        b->child_messages = pdl_keep(b->child_messages);
        b->path = pdl_path_keep(b->path);
        b->attempts = copy_attempts(b->attempts);
        if (!b->budget) continue;
        b->budget = copy_budget(b->budget, t->budget);
        pdl_vm_set_budget(t, b->budget);
    }
}

static void copy_saves(pdl_fiber *t, const pdl_fiber *f) {
    COPY_STACK(t->saves, f->saves);
    for (size_t i = 0; i < t->saves.n; i++) {
        t->saves.p[i].scope = pdl_scope_keep(t->saves.p[i].scope);
        t->saves.p[i].ctx = pdl_keep(t->saves.p[i].ctx);
    }
}

static void copy_handlers(pdl_fiber *t, const pdl_fiber *f) {
    COPY_STACK(t->handlers, f->handlers);
    for (size_t i = 0; i < t->handlers.n; i++) {
        pdl_handler *h = &t->handlers.p[i];
        h->scope = pdl_scope_keep(h->scope);
        h->ctx = pdl_keep(h->ctx);
        h->role = pdl_keep(h->role);
        h->out = h->out ? h->out->twin : NULL;
    }
}

static void copy_bufs(pdl_fiber *t, const pdl_fiber *f) {
    for (size_t i = 0; i < f->bufs.n; i++) {
        pdl_outbuf *b = pdl_vec_push(&t->bufs);
        *b = f->bufs.p[i];
        b->text = PDL_BUF_INIT(PDL_MAX_TEXT);
        pdl_buf_put(&b->text, pdl_buf_str(&f->bufs.p[i].text));
    }
}

/* Copies a map in progress without its fibers, which join_map adds. */
static pdl_mapping *copy_mapping(const pdl_mapping *m) {
    if (!m) return NULL;
    pdl_mapping *t = PDL_NEW(pdl_mapping);
    *t = *m;
    t->results = PDL_NEW_N(pdl_val, m->n);
    for (size_t i = 0; i < m->n; i++) t->results[i] = pdl_keep(m->results[i]);
    t->err = (pdl_err){0};
    if (m->err.kind) pdl_err_copy(&t->err, &m->err);
    t->fibers = m->fibers_cap ? PDL_NEW_N(pdl_fiber *, m->fibers_cap) : NULL;
    return t;
}

static void copy_loops(pdl_fiber *t, const pdl_fiber *f) {
    COPY_STACK(t->loops, f->loops);
    for (size_t i = 0; i < t->loops.n; i++) {
        pdl_vm_loop *l = &t->loops.p[i];
        const pdl_vm_loop *from = &f->loops.p[i];
        l->func = pdl_keep(l->func);
        l->map = copy_mapping(from->map);
        l->names = from->names ? PDL_NEW_N(pdl_name, l->n) : NULL;
        l->lists = from->lists ? PDL_NEW_N(pdl_val, l->n) : NULL;
        for (uint32_t k = 0; k < l->n; k++) {
            if (l->names) l->names[k] = from->names[k];
            l->lists[k] = pdl_keep(from->lists[k]);
        }
    }
}

static void copy_registers(pdl_fiber *t, const pdl_fiber *f) {
    t->state = f->state;
    t->code = f->code;
    t->pc = f->pc;
    t->scope = pdl_scope_keep(f->scope);
    set_val(&t->ctx, pdl_keep(f->ctx));
    set_val(&t->filtered, pdl_keep(f->filtered));
    set_val(&t->background, pdl_keep(f->background));
    set_val(&t->role, pdl_keep(f->role));
    set_val(&t->sandbox, pdl_keep(f->sandbox));
    t->print = f->print;
    t->autoescape = f->autoescape;
    t->control = f->control;
    t->choices = f->choices;
    t->chosen = f->chosen;
    t->attempt_control = f->attempt_control;
    t->turns_since_effect = f->turns_since_effect;
    t->modules = f->modules;
    t->by_code = f->by_code;
    t->caller = f->caller;
    t->local_base = f->local_base;
    t->n_calls = f->n_calls;
    t->index = f->index;
    t->nested = f->nested;
    t->handled = f->handled;
    t->is_new = f->is_new;
    t->waits = f->waits;
    t->is_weighed = f->is_weighed;
}

/* Copies the items of a queue and the queues of iterations. The member `twin` of each queue then
 * points to its copy. The nesting of maps in the source bounds the recursion. */
static void copy_queue(pdl_outq *t, pdl_outq *q) {
    q->twin = t;
    t->n_added = q->n_added;
    t->last_sent = q->last_sent;
    t->ended = q->ended;
    t->is_held = q->is_held;
    for (const pdl_outitem *i = q->first; i; i = i->next) {
        pdl_outitem *c = PDL_NEW(pdl_outitem);
        *c = *i;
        c->text = pdl_keep(i->text);
        c->role = pdl_keep(i->role);
        c->call = NULL;
        c->next = NULL;
        c->before = t->last;
        if (i->queue) {
            c->queue = pdl_outq_new(t->run, t);
            c->queue->item = c;
            copy_queue(c->queue, i->queue);
        }
        *(t->last ? &t->last->next : &t->first) = c;
        t->last = c;
    }
}

/* Makes the copy an iteration of its parent's map. The parent is older, so it was copied before. */
static void join_map(pdl_run *t, pdl_fiber *c, const pdl_fiber *f) {
    c->parent = pdl_idmap_find(&t->fibers.by_id, f->parent->id);
    for (size_t i = c->parent->loops.n; i-- > 0;) {
        pdl_mapping *m = c->parent->loops.p[i].map;
        if (!m) continue;
        m->fibers[f->index] = c;
        return;
    }
}

static pdl_fiber *copy_fiber(pdl_run *t, const pdl_fiber *f) {
    pdl_fiber *c = PDL_NEW(pdl_fiber);
    c->run = t;
    c->id = f->id;
    c->ctx = c->filtered = c->background = c->role = c->sandbox = pdl_absent();
    c->next_all = t->fibers.all;
    if (t->fibers.all) t->fibers.all->prev_all = c;
    t->fibers.all = c;
    pdl_idmap_put(&t->fibers.by_id, c->id, c);
    copy_registers(c, f);
    if (f->parent) join_map(t, c, f);
    pdl_vm_set_budget(c, c->parent ? c->parent->budget : t->opt.budget);
    pdl_vm_native_env_init(c);
    COPY_STACK(c->stack, f->stack);
    copy_vals(c->stack.p, c->stack.n);
    COPY_STACK(c->locals, f->locals);
    copy_vals(c->locals.p, c->locals.n);
    COPY_STACK(c->calls, f->calls);
    for (size_t i = 0; i < c->calls.n; i++) (void)pdl_keep(c->calls.p[i].failed);
    copy_frames(c, f);
    copy_blocks(c, f);
    copy_saves(c, f);
    copy_loops(c, f);
    copy_handlers(c, f);
    copy_bufs(c, f);
    c->base = f->parent ? pdl_path_keep(f->base) : NULL;
    c->base_from = pdl_path_keep(f->base_from);
    c->out = f->out ? f->out->twin : NULL;
    return c;
}

static void copy_code(pdl_run *t, const pdl_run *r) {
    pdl_scope_drop(t->code.globals);
    t->code.globals = pdl_scope_keep(r->code.globals);
    t->code.initial = pdl_scope_keep(r->code.initial);
    set_val(&t->code.imports, pdl_keep(r->code.imports));
    set_val(&t->code.tool_names, pdl_keep(r->code.tool_names));
    set_val(&t->code.left_out, pdl_keep(r->code.left_out));
    t->code.has_modules = r->code.has_modules;
    for (size_t i = 0; i < r->code.failed.n; i++) pdl_vm_keep_code(t, r->code.failed.p[i]);
}

pdl_run *pdl_run_copy(const pdl_run *r, const pdl_run_options *o, const char **why, pdl_loc *loc) {
    *why = obstacle(r);
    *loc = r->fibers.not_copied;
    if (*why) return NULL;
    assert(pdl_run_ok(r) && !r->effects.by_id.n);
    pdl_run *t = pdl_run_new(o);
    copy_code(t, r);
    copy_queue(t->output.queue, r->output.queue);
    t->output.print_silent = r->output.print_silent;
    t->output.held_bytes = r->output.held_bytes;
    t->effects.usage = r->effects.usage;
    t->effects.nested_usage = r->effects.nested_usage;
    t->outcome.score = r->outcome.score;
    t->outcome.impossible = r->outcome.impossible;
    t->fibers.last_id = r->fibers.last_id;
    t->fibers.held = r->fibers.held;
    const pdl_fiber *f = r->fibers.all;
    while (f && f->next_all) f = f->next_all;
    for (; f; f = f->prev_all) {
        pdl_fiber *c = copy_fiber(t, f);
        if (f == r->fibers.main) t->fibers.main = c;
        assert(pdl_fiber_ok(c));
    }
    assert(pdl_run_ok(t));
    return t;
}
