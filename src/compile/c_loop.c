/* c_loop.c -- `for` of Jinja templates to bytecode.
 *
 * The variables of a closed loop (expr.h) are seen by its own instructions only: they have slots in the frame. Those of
 * any other are bound in the scope, which is saved before and taken back after. */
#include "compile/emit.h"

#include "base/banned.h"

bool local_find(const pdl_emit *e, pdl_name name, uint32_t *slot) {
    for (size_t i = e->locals.n; i-- > 0;) {
        if (e->locals.p[i] != name) continue;
        *slot = (uint32_t)i;
        return true;
    }
    return false;
}

/* The list of the items that pass the loop's filter, so that loop.length and the like count only them. */
static void c_loop_filter(pdl_emit *e, const pdl_xnode *x) {
    uint32_t from = emit(e, PDL_OP_SCOPE_SAVE, 0, 0, 0) + 1;
    span(e, x->u.loop.over);
    emit(e, PDL_OP_LOOP, 0, 0, 0);
    emit(e, PDL_OP_LIST, 0, 0, 0);
    emit(e, PDL_OP_SWAP, 0, 0, 0); /* list loop */
    uint32_t again = here(e);
    uint32_t next = emit_jump(e, PDL_OP_LOOP_NEXT); /* list loop item */
    emit(e, PDL_OP_DUP, 0, 0, 0);
    c_target(e, x->u.loop.target);
    c_x(e, x->u.loop.test);
    uint32_t no = emit_jump(e, PDL_OP_JUMP_FALSE);
    emit(e, PDL_OP_ROT3, 0, 0, 0); /* item list loop */
    emit(e, PDL_OP_ROT3, 0, 0, 0); /* loop item list */
    emit(e, PDL_OP_SWAP, 0, 0, 0); /* loop list item */
    emit(e, PDL_OP_LIST_ADD, 0, 0, 0);
    emit(e, PDL_OP_SWAP, 0, 0, 0); /* list loop */
    emit(e, PDL_OP_JUMP, 0, 0, again);
    patch(e, no);
    emit(e, PDL_OP_POP, 0, 0, 0);
    emit(e, PDL_OP_JUMP, 0, 0, again);
    patch(e, next);
    emit(e, PDL_OP_POP, 0, 0, 0); /* list */
    c_scope_back(e, from);
}

/* The loop object is on top: it knows whether there was an item. */
static void c_loop_else(pdl_emit *e, const pdl_xnode *x) {
    if (!x->u.loop.otherwise) {
        emit(e, PDL_OP_POP, 0, 0, 0);
        return;
    }
    emit_attr(e, PDL_STR("index0"));
    emit_const(e, pdl_int(0));
    emit(e, PDL_OP_COMPARE, PDL_XOP_GE, 0, 0);
    uint32_t some = emit_jump(e, PDL_OP_JUMP_TRUE);
    c_stmt(e, x->u.loop.otherwise);
    patch(e, some);
}

/* --- closed loops: variables in slots ------------------------------------------------------------------- */

static void declare(pdl_emit *e, const pdl_xnode *target) {
    if (target->kind == PDL_X_NAME) *pdl_vec_push(&e->locals) = name_of(e, target->u.name);
    else for (uint32_t i = 0; i < target->u.list.n; i++) declare(e, target->u.list.p[i]);
}

/* iterable on the stack -> nothing */
static void c_closed_run(pdl_emit *e, const pdl_xnode *x) {
    size_t outer = e->locals.n;
    declare(e, x->u.loop.target);
    size_t slot = e->locals.n, n = slot + 1 - outer; /* the last is for `loop` */
    span(e, x->u.loop.over);
    emit(e, PDL_OP_LOCALS, 0, 0, n);
    if (x->u.loop.test) c_loop_filter(e, x);
    span(e, x->u.loop.over);
    emit(e, PDL_OP_LOOP, 0, 0, 0);
    pdl_name loop = name_of(e, PDL_STR("loop"));
    *pdl_vec_push(&e->locals) = loop;
    emit(e, PDL_OP_LOCAL_SET, 1, 0, slot);
    uint32_t again = here(e);
    uint32_t next = emit_jump(e, PDL_OP_LOOP_NEXT);
    c_target(e, x->u.loop.target);
    c_stmt(e, x->u.loop.body);
    emit(e, PDL_OP_JUMP, 0, 0, again);
    patch(e, next);
    e->locals.n = outer;
    emit(e, PDL_OP_LOCALS, 1, 0, n);
    c_loop_else(e, x);
}

/* --- open loops: variables in the scope ----------------------------------------------------------------- */

/* iterable on the stack -> nothing; also the body of loop(...) in a recursive loop, which ends with its own
 * text. The target is bound anew in place; a body that binds more has it taken back after each iteration. */
static void c_open_run(pdl_emit *e, const pdl_xnode *x, uint32_t self) {
    if (x->u.loop.test) c_loop_filter(e, x);
    span(e, x->u.loop.over);
    emit(e, PDL_OP_SCOPE_SAVE, 0, 0, 0);
    emit(e, PDL_OP_LOOP, x->u.loop.recursive, 0, self);
    uint32_t loop_name = name_of(e, PDL_STR("loop"));
    emit(e, PDL_OP_BIND_KEEP, 0, 0, loop_name);
    uint32_t again = here(e);
    uint32_t next = emit_jump(e, PDL_OP_LOOP_NEXT);
    c_target(e, x->u.loop.target);
    uint32_t body = here(e);
    c_stmt(e, x->u.loop.body);
    if (binds(e, body, NULL)) {
        c_scope_back(e, again);
        emit(e, PDL_OP_SCOPE_SAVE, 0, 0, 0);
        emit(e, PDL_OP_BIND_KEEP, 0, 0, loop_name);
    }
    emit(e, PDL_OP_JUMP, 0, 0, again);
    patch(e, next);
    c_scope_back(e, again);
    c_loop_else(e, x);
}

void c_for(pdl_emit *e, const pdl_xnode *x) {
    if (x->u.loop.closed) {
        c_x(e, x->u.loop.over);
        c_closed_run(e, x);
        return;
    }
    uint32_t self = 0;
    if (x->u.loop.recursive) { /* the body as a routine: entered by loop(items) with the items on the stack */
        uint32_t over = emit_jump(e, PDL_OP_JUMP);
        self = here(e);
        emit(e, PDL_OP_BUF_PUSH, 0, 0, 0);
        c_open_run(e, x, self);
        emit(e, PDL_OP_BUF_POP, 0, 0, 0);
        emit(e, PDL_OP_RETURN, 0, 0, 0);
        patch(e, over);
    }
    c_x(e, x->u.loop.over);
    c_open_run(e, x, self);
}
