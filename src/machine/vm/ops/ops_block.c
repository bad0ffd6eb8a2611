/* ops_block.c -- the instructions that run before and after the body of a block: records,
 * background, messages, printing, joins. The compiler decides which of them a block needs, and
 * places them (compile/emit_block.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "value/context.h"
#include "value/text.h"
#include "vm/closure.h"
#include "vm/effect_key.h"
#include "vm/err_span.h"
#include "vm/fiber.h"
#include "vm/ops.h"
#include "vm/output_order.h"
#include "vm/retry.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

/* Returns the way in which the innermost block was entered. */
static pdl_entry entry_of(const pdl_fiber *f, const pdl_blockinfo *info) {
    const pdl_vm_frame *fr = &f->frames.p[f->frames.n - 1];
    if (info->seg == PDL_SEG_DEFS) return PDL_ENTRY_DEF;
    /* A call from an expression or from outside of the run pushes a record (push_instance) below
     * its first block. Other frames push none. */
    bool first = f->blocks.n == fr->blocks + (fr->kind == FRAME_EXPR || f->done ? 2u : 1u);
    if (!first) return PDL_ENTRY_PART;
    switch (fr->kind) {
    case FRAME_MAIN:
        return f->parent || f == f->run->fibers.main ? PDL_ENTRY_PART : PDL_ENTRY_SILENT;
    case FRAME_CALL: return PDL_ENTRY_CALL;
    case FRAME_INCLUDE:
    case FRAME_IMPORT: return PDL_ENTRY_INCLUDE;
    case FRAME_EXPR:
    case FRAME_MACRO:
    case FRAME_TEMPLATE:
    case FRAME_PDL: return PDL_ENTRY_SILENT;
    }
    PDL_BUG("frame kind %d", (int)fr->kind);
}

/* Returns the arguments of the function whose body begins; owned. */
static pdl_val arguments_of(const pdl_fiber *f, const pdl_closure *c) {
    pdl_val args = pdl_dict_new(c->info->n_params);
    for (uint32_t i = 0; i < c->info->n_params; i++) {
        pdl_vref v = pdl_scope_find(f->scope, c->info->params[i]);
        if (!pdl_is_absent(v))
            args = pdl_dict_puts(args, c->info->block->params.names[i], pdl_keep(v));
    }
    return args;
}

/* Notes the functions of the library in a value that the program hands to the library. Only the
 * first items of large values are examined, since lists of tools are short. */
static void note_handed(pdl_run *r, pdl_vref v, unsigned depth) {
    enum { MAX_ITEMS = 256, MAX_DEPTH = 4 };
    if (pdl_is(v, PDL_V_FUNC)) {
        const pdl_closure *c = closure_of(v);
        if (c->code->library || c->code->stdlib)
            pdl_idmap_put(&r->code.handed, (uintptr_t)c->info, r);
    } else if (depth < MAX_DEPTH && pdl_is_list(v)) {
        for (size_t i = 0; i < pdl_list_len(v) && i < MAX_ITEMS; i++)
            note_handed(r, pdl_list_at(v, i), depth + 1);
    } else if (depth < MAX_DEPTH && pdl_is_dict(v)) {
        for (size_t i = 0; i < pdl_dict_len(v) && i < MAX_ITEMS; i++)
            note_handed(r, pdl_dict_val_at(v, i), depth + 1);
    }
}

/* Notes the functions among the arguments of the function whose body begins. */
static void note_handed_arguments(pdl_fiber *f, const pdl_closure *c) {
    for (uint32_t i = 0; i < c->info->n_params; i++) {
        pdl_vref v = pdl_scope_find(f->scope, c->info->params[i]);
        if (!pdl_is_absent(v)) note_handed(f->run, v, 0);
    }
}

/* Returns true when the body of a function begins that the program has handed to the library, and
 * that another module of the library has called. */
static bool is_handed(const pdl_fiber *f, pdl_vref func) {
    const pdl_vm_frame *fr = &f->frames.p[f->frames.n - 1];
    return f->frames.n > 1 && fr[-1].code != fr->code &&
           pdl_idmap_find(&f->run->code.handed, (uintptr_t)closure_of(func)->info);
}

/* Describes a block that begins. Returns the arguments of the block, owned; the event borrows them.
 * Absent when the block has no arguments. */
static pdl_val describe_begin(pdl_fiber *f, const pdl_blockinfo *info, pdl_event *e) {
    pdl_val args = pdl_absent();
    pdl_vref func = f->frames.p[f->frames.n - 1].func;
    e->entry = entry_of(f, info);
    e->parent = f->parent ? f->parent->id : f->caller;
    e->number = (uint32_t)f->index;
    e->program = f->code->program;
    e->library = f->code->library || f->code->stdlib;
    e->entered = e->library && pdl_vm_enters_library(f);
    bool called = e->entry == PDL_ENTRY_SILENT || e->entry == PDL_ENTRY_CALL;
    if (!called || !pdl_is(func, PDL_V_FUNC)) return args;
    if (e->entered) note_handed_arguments(f, closure_of(func));
    e->handed = e->library && !e->entered && is_handed(f, func);
    e->tool = pdl_vm_enters_program(f, &f->frames.p[f->frames.n - 1]);
    if (e->entry == PDL_ENTRY_CALL) {
        if (e->tool) e->key = closure_of(func)->info->name_text;
        return args;
    }
    e->key = closure_of(func)->info->name_text;
    args = arguments_of(f, closure_of(func));
    e->value = args;
    return args;
}

void pdl_vm_send_block(pdl_fiber *f, pdl_event_kind kind, const pdl_blockinfo *info, pdl_vref value,
                       const pdl_err *err) {
    pdl_event e = {
        .kind = kind,
        .fiber = f->id,
        .block = info->block,
        .path = pdl_vm_block_path(f),
        .place = pdl_vm_place_in_calls(f),
        .value = value,
        .context = kind == PDL_EVENT_block_end ? f->background : f->ctx,
        .err = err,
        .label = f->code->label,
    };
    pdl_val args = pdl_absent();
    if (kind == PDL_EVENT_block_begin)
        args = describe_begin(f, info, &e);
    else if (kind == PDL_EVENT_attempt)
        e.number = (uint32_t)block(f)->attempts->done;
    pdl_sinks_send(&f->run->opt.sinks, &e);
    pdl_drop(args);
    pdl_path_drop(e.place);
}

void pdl_vm_send_field(pdl_fiber *f, const char *key, pdl_vref value, uint32_t number) {
    if (!f->blocks.n || !block(f)->info) return;
    pdl_event e = {.kind = PDL_EVENT_field,
                   .fiber = f->id,
                   .block = block(f)->info->block,
                   .path = pdl_vm_block_path(f),
                   .value = value,
                   .context = pdl_absent(),
                   .key = pdl_str_of(key),
                   .number = number,
                   .label = f->code->label};
    pdl_sinks_send(&f->run->opt.sinks, &e);
}

pdl_val pdl_vm_background_add(pdl_val a, pdl_val b) {
    if (pdl_is_absent(a)) return b;
    if (pdl_is_absent(b)) return a;
    return pdl_context_dep(a, b);
}

void pdl_vm_enter(pdl_fiber *f, const pdl_blockinfo *info) {
    pdl_vm_block *b = pdl_vec_push(&f->blocks);
    *b = (pdl_vm_block){
        .info = info,
        .ctx_in = pdl_keep(f->ctx),
        .role_in = f->role,
        .child_messages = pdl_absent(),
        .print_in = f->print,
        .control_in = f->control,
    };
    f->role = pdl_keep(pdl_is_absent(info->role) ? b->role_in : info->role);
    if (info->no_result) f->print &= (uint8_t)~PRINT_RESULT;
    if (info->adds_no_messages) f->print &= (uint8_t)~PRINT_CONTEXT;
    b->print = f->print;
    set_val(&f->background, pdl_absent());
    if (wants_blocks(f->run)) pdl_vm_send_block(f, PDL_EVENT_block_begin, info, pdl_absent(), NULL);
}

void pdl_op_LEAVE(pdl_fiber *f) {
    pdl_vm_block *b = block(f);
    const pdl_blockinfo *info = b->info;
    *top(f) = pdl_with_label(*top(f), f->control);
    f->control = b->control_in | f->attempt_control;
    if (wants_blocks(f->run)) pdl_vm_send_block(f, PDL_EVENT_block_end, info, *top(f), NULL);
    if (!info->leaf) {
        set_val(&f->background, b->child_messages);
        b->child_messages = pdl_absent();
    }
    if (info->no_context) set_val(&f->background, pdl_absent());
    set_val(&f->ctx, b->ctx_in);
    set_val(&f->role, b->role_in);
    b->ctx_in = b->role_in = pdl_absent();
    f->print = b->print_in;
    if (b->budget || b->path || b->attempts || !pdl_is_absent(b->child_messages))
        pdl_vm_block_fini(f, b); /* most blocks leave nothing in their record */
    f->blocks.n--;
}

/* Called after a part. In a block with a fallback or retries, everything after the part happens
 * only because the part did not fail. So the value of the part has chosen what happens, and its
 * labels are added to `control`. */
void pdl_op_SURVIVED(pdl_fiber *f) {
    bool is_guarded = f->handlers.n > 0 || f->handled;
    if (PDL_LIKELY(!is_guarded) || !pdl_vm_is_strict(f)) return;
    f->attempt_control |= pdl_label_of_truth(pdl_label_of(*top(f)));
    f->control |= f->attempt_control;
}

/* Pushes the number of choices so far, which CHOSEN compares with the number after the choice. The
 * result of one choice among constants is as bounded as the value that chose it, but a text of
 * several such results is not. So CHOSEN gives each result its labels, and pdl_label_combined marks
 * a text that is made of several results as unbounded. */
void pdl_op_CHOICE(pdl_fiber *f) { push(f, pdl_int(f->choices)); }

void pdl_op_CHOSEN(pdl_fiber *f) {
    pdl_val v = pop(f);
    if (PDL_UNLIKELY(pdl_int_of(*top(f)) != f->choices)) v = pdl_with_label(v, f->control);
    set_top(f, v);
}

void pdl_op_CHOSEN_TEXT(pdl_fiber *f) {
    pdl_vref before = pop(f);
    pdl_outbuf *to = outbuf(f);
    if (PDL_UNLIKELY(pdl_int_of(before) != f->choices))
        to->chosen = pdl_label_combined(to->chosen, f->control);
}

void pdl_op_DISCARD_RESULT(pdl_fiber *f) {
    pdl_op_SURVIVED(f);
    set_top(f, pdl_textz(""));
}

pdl_step pdl_op_CHILD(pdl_fiber *f, pdl_err *err) {
    pdl_vm_block *b = block(f);
    pdl_op_SURVIVED(f);
    if (PDL_LIKELY(pdl_is_absent(f->background))) return PDL_STEP_DONE;
    bool wants_all = !b->info->no_context;
    if (!b->info->block->independent.value) {
        set_val(&f->ctx, pdl_context_dep(pdl_keep(f->ctx), pdl_keep(f->background)));
        if (wants_all)
            b->child_messages = pdl_vm_background_add(b->child_messages, f->background);
        else
            pdl_drop(f->background);
    } else {
        if (wants_all)
            b->child_messages = pdl_is_absent(b->child_messages)
                                    ? f->background
                                    : pdl_context_ind(b->child_messages, f->background);
        else
            pdl_drop(f->background);
    }
    f->background = pdl_absent();
    bool fits = pdl_context_fits(f->ctx, err) &&
                (pdl_is_absent(b->child_messages) || pdl_context_fits(b->child_messages, err));
    return step_of(fits);
}

void pdl_op_PART_BEGIN(pdl_fiber *f, bool silent) {
    *pdl_vec_push(&f->saves) =
        (pdl_save){pdl_scope_keep(f->scope), pdl_keep(f->ctx), f->print, (uint32_t)f->frames.n};
    if (silent) f->print = f->run->output.print_silent;
}

void pdl_op_PART_END(pdl_fiber *f) {
    pdl_save s = pop_save(f);
    pdl_scope_drop(f->scope);
    f->scope = s.scope;
    set_val(&f->ctx, s.ctx);
    f->print = s.print;
}

/* Saves the messages of the iteration that has just ended, because `until` sees only these. They
 * must be saved before the instruction CHILD, which appends them to the context of the block.
 * UNTIL_SET_CONTEXT then makes them the context while `until` is tested. */
void pdl_op_UNTIL_SAVE_CONTEXT(pdl_fiber *f) {
    pdl_val seen = pdl_is_absent(f->background) ? pdl_context_empty() : pdl_keep(f->background);
    *pdl_vec_push(&f->saves) =
        (pdl_save){pdl_scope_keep(f->scope), seen, f->print, (uint32_t)f->frames.n};
}

void pdl_op_UNTIL_SET_CONTEXT(pdl_fiber *f) {
    pdl_save *s = &f->saves.p[f->saves.n - 1];
    pdl_val all = f->ctx;
    f->ctx = s->ctx;
    s->ctx = all;
}

pdl_step pdl_op_SET_CONTEXT(pdl_fiber *f, pdl_err *err) {
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_val c;
    if (!pdl_context_from(*top(f), &c, err)) return PDL_STEP_FAIL;
    pdl_drop(pop(f));
    set_val(&f->ctx, c);
    return PDL_STEP_DONE;
}

/* --- messages --------------------------------------------------------------------------------- */

/* Returns the id of the block that makes a message; owned. A message costs more time than most
 * blocks, since it needs a node of the context and the id of the block. The messages of a silent
 * part (an entry of defs, a call in an expression) end with it, so only the part itself can read
 * them. When no instruction of the program reads messages, they are not made; a function that
 * computes is then a quarter faster. */

static pdl_path *own_path(pdl_fiber *f, const pdl_blockinfo *info) {
    return info ? pdl_vm_part_path(f, info) : pdl_path_keep(pdl_vm_block_path(f));
}

/* Prints a content in a context stream, in the form of Python's str. */
static bool stream_message(pdl_fiber *f, pdl_vref role, pdl_vref content, pdl_err *err) {
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    bool ok = pdl_val_str(content, &b, err);
    if (ok) pdl_out_message(f, role, pdl_buf_str(&b), pdl_label_of(content));
    pdl_buf_fini(&b);
    return ok;
}

pdl_step pdl_op_MESSAGE(pdl_fiber *f, pdl_message_form form, const pdl_blockinfo *info,
                        pdl_err *err) {
    bool streams = (f->print & PRINT_CONTEXT) != 0;
    if (form == PDL_MESSAGE_SILENT && !streams) {
        set_val(&f->background, pdl_absent());
        return PDL_STEP_DONE;
    }
    if (form == PDL_MESSAGE_STR || streams) {
        pdl_step s = pdl_vm_force(f, top(f), err);
        if (s != PDL_STEP_DONE) return s;
    }
    pdl_val content;
    if (form == PDL_MESSAGE_STR) {
        if (!pdl_val_str_val(*top(f), &content, err)) return PDL_STEP_FAIL;
    } else {
        if (f->print & MESSAGES_UNREAD) {
            set_val(&f->background, pdl_absent());
            return PDL_STEP_DONE;
        }
        content = pdl_keep(*top(f));
    }
    content = pdl_with_label(content, f->control);
    pdl_val role = pdl_keep(info && !pdl_is_absent(info->role) ? info->role : f->role);
    bool ok = !streams || stream_message(f, role, content, err);
    if (!ok || form == PDL_MESSAGE_SILENT) {
        pdl_drop(content);
        pdl_drop(role);
        set_val(&f->background, pdl_absent());
        return ok ? PDL_STEP_DONE : PDL_STEP_FAIL;
    }
    pdl_path *p = form == PDL_MESSAGE_UNPLACED ? NULL : own_path(f, info);
    set_val(&f->background, pdl_context_one(role, content, pdl_absent(), p));
    pdl_path_drop(p);
    return PDL_STEP_DONE;
}

static pdl_val with_extra(pdl_val extra, const char *key, pdl_vref v) {
    if (pdl_is_null(v) || pdl_is_absent(v)) return extra;
    return pdl_dict_putz(pdl_is_absent(extra) ? pdl_dict_new(3) : extra, key, pdl_keep(v));
}

/* Takes content, name, id and calls from the stack and puts the message there; the message also
 * becomes the background context. */
void pdl_vm_to_message(pdl_fiber *f) {
    pdl_val extra = with_extra(pdl_absent(), "name", *under(f, 2));
    extra = with_extra(extra, "tool_call_id", *under(f, 1));
    extra = with_extra(extra, "tool_calls", *top(f));
    pdl_vm_cut_stack(f, f->stack.n - 3);
    pdl_val content = pop(f);
    pdl_val m = pdl_context_one(pdl_keep(f->role), content, extra, pdl_vm_block_path(f));
    set_val(&f->background, pdl_keep(m));
    push(f, m);
}

/* --- printing --------------------------------------------------------------------------------- */

static pdl_step emit(pdl_fiber *f, pdl_vref v, pdl_look look, pdl_err *err) {
    if (pdl_is_str(v)) {
        pdl_out_text(f, pdl_str_get(v), look, pdl_label_of(v));
        return PDL_STEP_DONE;
    }
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_val shown =
        /* each part is redacted by its own label */
        pdl_redact_labelled(f->run->opt.redaction, pdl_keep(v));
    bool ok = pdl_stringify(shown, &b, err);
    if (ok) pdl_out_text(f, pdl_buf_str(&b), look, pdl_label_of(shown));
    pdl_drop(shown);
    pdl_buf_fini(&b);
    return step_of(ok);
}

pdl_step pdl_op_EMIT(pdl_fiber *f, bool is_of_code, pdl_err *err) {
    if (!(f->print & PRINT_RESULT) || f->run->opt.prints_nothing) return PDL_STEP_DONE;
    /* the promise stays unchanged, because it records which model made it */
    pdl_val v = pdl_keep(*top(f));
    pdl_step s = pdl_vm_force(f, &v, err);
    if (s == PDL_STEP_DONE) s = emit(f, v, is_of_code ? PDL_LOOK_CODE : PDL_LOOK_PLAIN, err);
    pdl_drop(v);
    return s;
}

/* --- joins ------------------------------------------------------------------------------------ */

static pdl_step join_pending(pdl_fiber *f, size_t n) {
    pdl_val pieces = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) pieces = pdl_list_push(pieces, f->stack.p[f->stack.n - n + i]);
    f->stack.n -= n;
    push(f, pdl_promise_join(pieces));
    return PDL_STEP_DONE;
}

/* Returns true when one of the n pieces is a promise, or may contain one. The result of the join is
 * then a promise, too. */
static bool pieces_pend(pdl_fiber *f, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (pdl_may_hold_promise(*under(f, i))) return true;
    return false;
}

pdl_step pdl_op_JOIN_TEXT(pdl_fiber *f, size_t n, pdl_err *err) {
    if (n && pieces_pend(f, n)) return join_pending(f, n);
    if (n == 1 && pdl_is_str(*top(f))) return PDL_STEP_DONE;
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_label label = 0;
    bool ok = true;
    for (size_t i = n; ok && i-- > 0;) {
        label |= pdl_label_of(*under(f, i));
        ok = pdl_stringify(*under(f, i), &b, err);
    }
    if (ok) {
        pdl_vm_cut_stack(f, f->stack.n - n);
        push(f, pdl_with_label(pdl_text_of_buf(&b), n > 1 ? pdl_label_built(label) : label));
    }
    pdl_buf_fini(&b);
    return step_of(ok);
}

/* appends to the text on top of the stack */
static pdl_step text_append(pdl_fiber *f, pdl_vref x, pdl_err *err) {
    pdl_val acc = *top(f), out, text = pdl_absent();
    bool first = pdl_is_str(acc) && !pdl_str_get(acc).n;
    pdl_label label = pdl_label_of(x) | pdl_label_of(acc);
    if (!first) label = pdl_label_built(label);
    if (!pdl_is_str(x)) {
        if (!pdl_stringify_val(x, &text, err)) return PDL_STEP_FAIL;
        x = text;
    }
    *top(f) = pdl_absent();
    bool ok = pdl_text_append(acc, pdl_str_get(x), &out, err);
    pdl_drop(text);
    if (ok) *top(f) = pdl_with_label(out, label);
    return step_of(ok);
}

/* Makes a join of the text so far and a further piece. The pieces are a list that grows in
 * place. */
static void piece_add(pdl_fiber *f, pdl_val x) {
    pdl_val acc = *top(f);
    bool is_join = pdl_is(acc, PDL_V_PROMISE) &&
                   pdl_promise_of(acc)->state == PDL_PROMISE_PENDING && !pdl_promise_of(acc)->id;
    if (is_join && pdl_obj_of(acc)->refs == 1) {
        pdl_promise *p = pdl_promise_of(acc);
        p->pieces = pdl_list_push(p->pieces, x);
        return;
    }
    pdl_val pieces = pdl_list_push(pdl_list_push(pdl_list_new(4), acc), x);
    *top(f) = pdl_promise_join(pieces);
}

pdl_step pdl_op_TEXT_ADD(pdl_fiber *f, pdl_err *err) {
    pdl_val x = pop(f);
    if (pdl_may_hold_promise(x) || pdl_may_hold_promise(*top(f))) {
        piece_add(f, x);
        return PDL_STEP_DONE;
    }
    pdl_step s = text_append(f, x, err);
    pdl_drop(x);
    return s;
}

/* Writes the separator to a context stream. The separator is a separate message when the loop has
 * its own role. */
static void stream_separator(pdl_fiber *f, pdl_vref sep) {
    pdl_vref role = block(f)->info->role;
    if (pdl_is_absent(role))
        pdl_out_text(f, pdl_str_get(sep), PDL_LOOK_PLAIN, pdl_label_of(sep));
    else
        pdl_out_message(f, role, pdl_str_get(sep), pdl_label_of(sep));
}

pdl_step pdl_op_FOR_SEP(pdl_fiber *f, pdl_vref sep, pdl_err *err) {
    if (innermost_loop(f)->i <= 1) return PDL_STEP_DONE;
    if (f->print & PRINT_RESULT)
        pdl_out_text(f, pdl_str_get(sep), PDL_LOOK_PLAIN, pdl_label_of(sep));
    if (f->print & PRINT_CONTEXT) stream_separator(f, sep);
    if (pdl_may_hold_promise(*top(f))) {
        piece_add(f, pdl_keep(sep));
        return PDL_STEP_DONE;
    }
    return text_append(f, sep, err);
}

static pdl_step list_text(pdl_fiber *f, pdl_vref sep, pdl_err *err) {
    pdl_val list = *top(f);
    size_t n = pdl_list_len(list);
    if (pdl_may_hold_promise(list)) {
        pdl_val pieces = pdl_list_new(2 * n);
        for (size_t i = 0; i < n; i++) {
            if (i && pdl_str_get(sep).n) pieces = pdl_list_push(pieces, pdl_keep(sep));
            pieces = pdl_list_push(pieces, pdl_list_part(list, i));
        }
        set_top(f, pdl_promise_join(pieces));
        return PDL_STEP_DONE;
    }
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        if (i) ok = pdl_buf_add(&b, pdl_str_get(sep), err);
        ok = ok && pdl_stringify(pdl_list_at(list, i), &b, err);
    }
    pdl_label label = pdl_label_of(list);
    if (ok) set_top(f, pdl_with_label(pdl_text_of_buf(&b), n > 1 ? pdl_label_built(label) : label));
    pdl_buf_fini(&b);
    return step_of(ok);
}

static pdl_step list_object(pdl_fiber *f, pdl_err *err) {
    pdl_val list = *top(f);
    for (size_t i = 0, n = pdl_list_len(list); i < n;
         i++) { /* the parts of an element are not examined */
        pdl_vref x = pdl_list_at(list, i);
        if (pdl_is(x, PDL_V_PROMISE))
            return pdl_vm_force(f, top(f), err) == PDL_STEP_DONE
                       ? list_object(f, err)
                       : (err->kind ? PDL_STEP_FAIL : PDL_STEP_WAIT);
        if (!pdl_is_dict(x)) {
            pdl_err_set(
                err, PDL_E_type, (pdl_loc){0},
                "objects are expected to be joined as an object, but element %zu is of type %s",
                i + 1, pdl_type_name(x));
            return PDL_STEP_FAIL;
        }
    }
    pdl_val d = pdl_dict_new(0);
    for (size_t i = 0; i < pdl_list_len(list); i++) d = pdl_dict_merge(d, pdl_list_at(list, i));
    set_top(f, d);
    return PDL_STEP_DONE;
}

pdl_step pdl_op_JOIN_LIST(pdl_fiber *f, pdl_join_kind kind, pdl_vref sep, pdl_err *err) {
    pdl_val list = *top(f);
    switch (kind) {
    case PDL_JOIN_TEXT: return list_text(f, sep, err);
    case PDL_JOIN_OBJECT: return list_object(f, err);
    case PDL_JOIN_LASTOF: {
        size_t n = pdl_list_len(list);
        set_top(f, n ? pdl_list_part(list, n - 1) : pdl_null());
        return PDL_STEP_DONE;
    }
    case PDL_JOIN_ARRAY:
    case PDL_JOIN_REDUCE: return PDL_STEP_DONE;
    }
    PDL_BUG("join %d", (int)kind);
}
