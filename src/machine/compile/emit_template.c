/* emit_template.c -- statements of Jinja templates to bytecode. Variables of a template are in the
 * scope of its frame. Variables that a loop, macro or `with` sets do not leak, because the scope is
 * saved before and restored afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/emit.h"

#include "expr/cases.h"

#include "base/banned.h"

/* Moves the top of the stack to a target: a name, a tuple of targets, or an attribute of a
 * namespace. */
void pdl_emit_target(pdl_emit *e, const pdl_xnode *t) {
    pdl_emit_set_span(e, t);
    if (t->kind == PDL_X_NAME) {
        pdl_name name = pdl_emit_intern(e, t->u.name);
        uint32_t slot;
        if (pdl_emit_local_find(e, name, &slot))
            emit_LOCAL_SET(e, slot);
        else
            emit_BIND(e, name);
    } else if (t->kind == PDL_X_NSREF) {
        pdl_emit_xnode(e, t->u.access.obj);
        emit_SWAP(e);
        pdl_emit_set_span(e, t);
        emit_NS_SET(e, pdl_emit_add_const(e, pdl_text(t->u.access.name)));
        emit_POP(e);
    } else {
        emit_UNPACK(e, t->u.list.n);
        for (uint32_t i = t->u.list.n; i-- > 0;) pdl_emit_target(e, t->u.list.p[i]);
    }
}

bool pdl_emit_has_bindings(const pdl_emit *e, uint32_t from) {
    size_t saved = 0;
    for (uint32_t i = from; i < pdl_emit_next_index(e); i++) {
        const pdl_ins *ins = &e->code->ins.p[i];
        if (ins->op == PDL_OP_SCOPE_SAVE)
            saved++;
        else if (ins->op == PDL_OP_SCOPE_RESTORE)
            saved--;
        if (!saved && (ins->op == PDL_OP_BIND || ins->op == PDL_OP_BIND_KEEP)) return true;
    }
    return false;
}

static void emit_if_stmt(pdl_emit *e, const pdl_xnode *x) {
    /* An elif chain is nested in the else parts. This loop follows the nesting. */
    size_t n = 0, count = 0;
    for (const pdl_xnode *i = x; i && i->kind == PDL_X_IF; i = i->u.cond.no) count++;
    uint32_t *outs = pdl_arena_new_n(e->a, uint32_t, count);
    emit_CHOICE(e);
    for (;;) {
        pdl_emit_xnode(e, x->u.cond.test);
        pdl_emit_set_span(e, x);
        uint32_t no = emit_JUMP_FALSE(e, PDL_LATER);
        pdl_emit_stmt(e, x->u.cond.yes);
        outs[n++] = emit_JUMP(e, PDL_LATER);
        pdl_emit_patch(e, no);
        if (!x->u.cond.no) break;
        if (x->u.cond.no->kind != PDL_X_IF) {
            pdl_emit_stmt(e, x->u.cond.no);
            break;
        }
        x = x->u.cond.no;
    }
    while (n-- > 0) pdl_emit_patch(e, outs[n]);
    emit_CHOSEN_TEXT(e);
}

/* Collects the output of a body as a text on the stack, and filters it when there is a filter. In a
 * template whose output is escaped, the text is marked as safe, because its parts were escaped
 * already. */
static void emit_captured(pdl_emit *e, const pdl_xnode *body, const pdl_xnode *filter) {
    emit_SCOPE_SAVE(e);
    emit_BUF_PUSH(e);
    pdl_emit_stmt(e, body);
    emit_BUF_POP(e, true);
    emit_SCOPE_RESTORE(e);
    if (filter) pdl_emit_filter_on_top(e, filter);
}

/* Emits the body of a macro or call block as a routine that begins with its defaults. Returns the
 * operand of MACRO. */
static pdl_macro_info *emit_routine(pdl_emit *e, const pdl_xnode *x, pdl_str name) {
    pdl_macro_info *m = pdl_arena_new(e->a, pdl_macro_info);
    m->name = name;
    m->n_params = x->u.macro.n_params;
    m->n_defaults = x->u.macro.n_defaults;
    m->params = x->u.macro.params;
    m->uses_caller = x->u.macro.uses_caller;
    m->uses_varargs = x->u.macro.uses_varargs;
    m->uses_kwargs = x->u.macro.uses_kwargs;
    m->names = pdl_arena_new_n(e->a, pdl_name, m->n_params);
    for (uint32_t i = 0; i < m->n_params; i++) m->names[i] = pdl_emit_intern(e, m->params[i]);
    m->defaults = pdl_arena_new_n(e->a, uint32_t, m->n_defaults);
    uint32_t over = emit_JUMP(e, PDL_LATER);
    m->entry = pdl_emit_next_index(e);
    /* A missing argument is absent in the scope: its default is evaluated inside of the macro, in
     * order. */
    for (uint32_t i = 0; i < m->n_defaults; i++) {
        pdl_name param = m->names[m->n_params - m->n_defaults + i];
        emit_GIVEN(e, param);
        uint32_t given = emit_JUMP_TRUE(e, PDL_LATER);
        pdl_emit_xnode(e, x->u.macro.defaults[i]);
        emit_BIND(e, param);
        pdl_emit_patch(e, given);
    }
    emit_BUF_PUSH(e);
    pdl_emit_stmt(e, x->u.macro.body);
    emit_BUF_POP(e, false);
    emit_RETURN(e);
    pdl_emit_patch(e, over);
    return m;
}

static void emit_macro(pdl_emit *e, const pdl_xnode *x) {
    pdl_macro_info *m = emit_routine(e, x, x->u.macro.name);
    pdl_emit_set_span(e, x);
    emit_MACRO(e, m);
    emit_BIND(e, pdl_emit_intern(e, x->u.macro.name));
}

static void emit_call_block(pdl_emit *e, const pdl_xnode *x) {
    pdl_macro_info *m = emit_routine(e, x, PDL_STR("caller"));
    const pdl_xnode *call = x->u.macro.call;
    /* `caller` is passed as an additional keyword argument. */
    pdl_emit_xnode(e, call->u.call.obj);
    const pdl_xargs *args = &call->u.call.args;
    for (uint32_t i = 0; i < args->n_pos; i++) pdl_emit_xnode(e, args->pos[i]);
    for (uint32_t i = 0; i < args->n_kw; i++) pdl_emit_xnode(e, args->kw[i]);
    pdl_emit_set_span(e, x);
    emit_MACRO(e, m);
    if (args->star) pdl_emit_xnode(e, args->star);
    if (args->starstar) pdl_emit_xnode(e, args->starstar);
    pdl_callsig *s = pdl_arena_new(e->a, pdl_callsig);
    s->n_pos = args->n_pos;
    s->n_kw = args->n_kw + 1;
    s->kw = pdl_arena_new_n(e->a, pdl_str, s->n_kw);
    for (uint32_t i = 0; i < args->n_kw; i++) s->kw[i] = args->kw_names[i];
    s->kw[args->n_kw] = PDL_STR("caller");
    s->star = args->star != NULL;
    s->starstar = args->starstar != NULL;
    pdl_emit_set_span(e, call);
    emit_CALL(e, s);
    emit_OUT(e, false);
}

static void emit_with(pdl_emit *e, const pdl_xnode *x) {
    for (uint32_t i = 0; i < x->u.with.n; i++) pdl_emit_xnode(e, x->u.with.values[i]);
    emit_SCOPE_SAVE(e);
    for (uint32_t i = x->u.with.n; i-- > 0;) pdl_emit_target(e, x->u.with.targets[i]);
    pdl_emit_stmt(e, x->u.with.body);
    emit_SCOPE_RESTORE(e);
}

/* Replaces the last emitted filter and its output by one instruction that writes the result
 * directly. Returns false when the filter has no such writer. */
static bool emit_written(pdl_emit *e) {
    pdl_ins *last = &e->code->ins.p[pdl_emit_next_index(e) - 1];
    pdl_callsig *s = (pdl_callsig *)(uintptr_t)e->code->operands.p[last->c];
    if (!s->row || s->n_kw || s->star || s->starstar) return false;
    s->writer = pdl_filter_writer(s->row, s->n_pos + 1);
    if (s->writer) last->op = PDL_OP_OUT_FILTER;
    return s->writer != NULL;
}

static void emit_output(pdl_emit *e, const pdl_xnode *x) {
    for (uint32_t i = 0; i < x->u.list.n; i++) {
        pdl_emit_xnode(e, x->u.list.p[i]);
        if (x->u.list.p[i]->kind == PDL_X_FILTER && emit_written(e)) continue;
        pdl_emit_set_span(e, x->u.list.p[i]);
        emit_OUT(e, false);
    }
}

static void emit_autoescape(pdl_emit *e, const pdl_xnode *x) {
    pdl_emit_xnode(e, x->u.set.value);
    emit_AUTOESCAPE(e);
    emit_SCOPE_SAVE(e);
    pdl_emit_stmt(e, x->u.set.body);
    emit_SCOPE_RESTORE(e);
    emit_AUTOESCAPE_BACK(e);
}

/* Emits a block of a template. The block sees the template's variables. A block that is `scoped`
 * also sees the variables of a loop around it. The routines of all blocks are in `self`. */
static void emit_block_stmt(pdl_emit *e, const pdl_xnode *x) {
    if (x->u.macro.scoped) {
        emit_SCOPE_SAVE(e);
        pdl_emit_stmt(e, x->u.macro.body);
        emit_SCOPE_RESTORE(e);
        return;
    }
    pdl_emit_set_span(e, x);
    emit_NAME(e, pdl_emit_intern(e, PDL_STR("self")));
    pdl_emit_attr(e, x->u.macro.name);
    emit_CALL(e, pdl_arena_new(e->a, pdl_callsig));
    emit_OUT(e, false);
}

/* Pushes the name and the routine of every block below x. Returns the number of these blocks. The C
 * stack is as deep as the nesting of statements, which the reader bounds. */
static uint32_t emit_block_routines(pdl_emit *e, const pdl_xnode *x) {
    if (!x) return 0;
    uint32_t n = 0;
    switch (x->kind) {
    case PDL_X_SEQ:
        for (uint32_t i = 0; i < x->u.list.n; i++) n += emit_block_routines(e, x->u.list.p[i]);
        return n;
    case PDL_X_IF:
        for (; x && x->kind == PDL_X_IF; x = x->u.cond.no)
            n += emit_block_routines(e, x->u.cond.yes);
        return n + emit_block_routines(e, x);
    case PDL_X_FOR:
        return emit_block_routines(e, x->u.loop.body) + emit_block_routines(e, x->u.loop.otherwise);
    case PDL_X_WITH: return emit_block_routines(e, x->u.with.body);
    case PDL_X_SETBLOCK:
    case PDL_X_FILTERBLOCK:
    case PDL_X_AUTOESCAPE: return emit_block_routines(e, x->u.set.body);
    case PDL_X_MACRO:
    case PDL_X_CALLBLOCK: return emit_block_routines(e, x->u.macro.body);
    case PDL_X_BLOCK:
        if (x->u.macro.required) return 0;
        pdl_emit_text(e, x->u.macro.name);
        emit_MACRO(e, emit_routine(e, x, x->u.macro.name));
        return 1 + emit_block_routines(e, x->u.macro.body);
    PDL_X_EXPRESSIONS:
    case PDL_X_TEXT:
    case PDL_X_OUTPUT:
    case PDL_X_SET:
    case PDL_X_NSREF:
    case PDL_X_RAISE:
    case PDL_X_COUNT: break;
    }
    return 0;
}

void pdl_emit_self(pdl_emit *e, const pdl_xnode *root) {
    uint32_t n = emit_block_routines(e, root);
    if (!n) return;
    emit_DICT(e, n);
    emit_BIND(e, pdl_emit_intern(e, PDL_STR("self")));
}

static void emit_required(pdl_emit *e, const pdl_xnode *x) {
    pdl_emit_set_span(e, x);
    pdl_val what = pdl_list_push(
        pdl_list_new(2), pdl_textf("Required block '%.*s' not found", PDL_FMT(x->u.macro.name)));
    emit_RAISE(e, pdl_emit_add_const(e, pdl_list_push(what, pdl_textz("TemplateRuntimeError"))));
}

/* Emits an instruction that fails when it is executed: for include, extends, and unknown filters
 * and tests. */
static void emit_raise(pdl_emit *e, const pdl_xnode *x) {
    if (x->u.fault.value) {
        pdl_emit_xnode(e, x->u.fault.value);
        if (x->u.fault.strict) emit_DEFINED(e);
        emit_POP(e);
    }
    pdl_emit_set_span(e, x);
    pdl_val what = pdl_list_push(pdl_list_push(pdl_list_new(2), pdl_text(x->u.fault.text)),
                                 pdl_textz(x->u.fault.cls));
    emit_RAISE(e, pdl_emit_add_const(e, what));
}

/* This function is a flat switch over the kinds of statements. */
void pdl_emit_stmt(pdl_emit *e, const pdl_xnode *x) {
    if (!x) return;
    switch (x->kind) {
    case PDL_X_TEXT:
        pdl_emit_set_span(e, x);
        emit_OUT_TEXT(e, pdl_emit_add_const(e, pdl_text(x->u.text)));
        return;
    case PDL_X_OUTPUT: emit_output(e, x); return;
    case PDL_X_SEQ:
        for (uint32_t i = 0; i < x->u.list.n; i++) pdl_emit_stmt(e, x->u.list.p[i]);
        return;
    case PDL_X_IF: emit_if_stmt(e, x); return;
    case PDL_X_FOR: pdl_emit_for(e, x); return;
    case PDL_X_SET:
        pdl_emit_xnode(e, x->u.set.value);
        pdl_emit_target(e, x->u.set.target);
        return;
    case PDL_X_SETBLOCK:
        emit_captured(e, x->u.set.body, x->u.set.filter);
        pdl_emit_target(e, x->u.set.target);
        return;
    case PDL_X_MACRO: emit_macro(e, x); return;
    case PDL_X_CALLBLOCK: emit_call_block(e, x); return;
    case PDL_X_FILTERBLOCK:
        emit_captured(e, x->u.set.body, x->u.set.filter);
        emit_OUT(e, true);
        return;
    case PDL_X_WITH: emit_with(e, x); return;
    case PDL_X_BLOCK:
        if (x->u.macro.required) {
            emit_required(e, x);
            return;
        }
        emit_block_stmt(e, x);
        return;
    case PDL_X_AUTOESCAPE: emit_autoescape(e, x); return;
    case PDL_X_RAISE:
        emit_raise(e, x);
        return;
    PDL_X_EXPRESSIONS:
    case PDL_X_NSREF:
    case PDL_X_COUNT: break;
    }
    PDL_BUG("statement kind %d", (int)x->kind);
}
