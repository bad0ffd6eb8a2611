/* emit_template_loop.c -- `for` of Jinja templates to bytecode.
 *
 * The variables of a closed loop (expr.h) are visible to its own instructions only, so they have
 * slots in the frame. The variables of other loops are bound in the scope, which is saved before
 * the loop and restored after it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/emit.h"

#include "base/banned.h"

bool pdl_emit_local_find(const pdl_emit *e, pdl_name name, uint32_t *slot) {
    for (size_t i = e->locals.n; i-- > 0;) {
        if (e->locals.p[i] != name) continue;
        *slot = (uint32_t)i;
        return true;
    }
    return false;
}

/* Emits the list of the items that pass the loop's filter, so that loop.length and the like count
 * only them. */
static void emit_loop_filter(pdl_emit *e, const pdl_xnode *x) {
    emit_SCOPE_SAVE(e);
    pdl_emit_set_span(e, x->u.loop.over);
    emit_LOOP(e);
    emit_LIST(e, 0);
    /* The comments of this function show the stack; its top is at the end. stack: list loop */
    emit_SWAP(e);
    uint32_t again = pdl_emit_next_index(e);
    uint32_t next = emit_LOOP_NEXT(e, PDL_LATER); /* stack: list loop item */
    emit_DUP(e);
    pdl_emit_target(e, x->u.loop.target);
    pdl_emit_xnode(e, x->u.loop.test);
    uint32_t no = emit_JUMP_FALSE(e, PDL_LATER);
    emit_ROT3(e); /* stack: item list loop */
    emit_ROT3(e); /* stack: loop item list */
    emit_SWAP(e); /* stack: loop list item */
    emit_LIST_ADD(e);
    emit_SWAP(e); /* stack: list loop */
    emit_JUMP(e, again);
    pdl_emit_patch(e, no);
    emit_POP(e);
    emit_JUMP(e, again);
    pdl_emit_patch(e, next);
    emit_POP(e); /* stack: list */
    emit_SCOPE_RESTORE(e);
}

/* Emits the `else` of a loop. The loop object is on top of the stack; it records whether the loop
 * had an item. */
static void emit_loop_else(pdl_emit *e, const pdl_xnode *x) {
    if (!x->u.loop.otherwise) {
        emit_POP(e);
        return;
    }
    pdl_emit_attr(e, PDL_STR("index0"));
    pdl_emit_const(e, pdl_int(0));
    emit_COMPARE(e, PDL_XOP_GE);
    uint32_t some = emit_JUMP_TRUE(e, PDL_LATER);
    pdl_emit_stmt(e, x->u.loop.otherwise);
    pdl_emit_patch(e, some);
}

/* --- closed loops: variables in slots --------------------------------------------------------- */

static void declare(pdl_emit *e, const pdl_xnode *target) {
    if (target->kind == PDL_X_NAME)
        *pdl_vec_push(&e->locals) = pdl_emit_intern(e, target->u.name);
    else
        for (uint32_t i = 0; i < target->u.list.n; i++) declare(e, target->u.list.p[i]);
}

/* Emits a loop that takes the iterable from the stack and leaves nothing there. */
static void emit_closed_run(pdl_emit *e, const pdl_xnode *x) {
    size_t outer = e->locals.n;
    declare(e, x->u.loop.target);
    size_t slot = e->locals.n, n = slot + 1 - outer; /* the last slot is for `loop` */
    pdl_emit_set_span(e, x->u.loop.over);
    emit_LOCALS_OPEN(e, n);
    if (x->u.loop.test) emit_loop_filter(e, x);
    pdl_emit_set_span(e, x->u.loop.over);
    emit_LOOP(e);
    pdl_name loop = pdl_emit_intern(e, PDL_STR("loop"));
    *pdl_vec_push(&e->locals) = loop;
    emit_LOCAL_SET_KEEP(e, (uint32_t)slot);
    uint32_t again = pdl_emit_next_index(e);
    uint32_t next = emit_LOOP_NEXT(e, PDL_LATER);
    pdl_emit_target(e, x->u.loop.target);
    pdl_emit_stmt(e, x->u.loop.body);
    emit_JUMP(e, again);
    pdl_emit_patch(e, next);
    e->locals.n = outer;
    emit_LOCALS_CLOSE(e, n);
    emit_loop_else(e, x);
}

/* --- open loops: variables in the scope ------------------------------------------------------- */

/* Emits a loop that takes the iterable from the stack and leaves nothing there. In a recursive
 * loop, a call loop(...) runs the same instructions, and its result is their text. The target is
 * rebound in place. Other variables that the body binds are undone after each iteration. */
static void emit_open_run(pdl_emit *e, const pdl_xnode *x, uint32_t self) {
    if (x->u.loop.test) emit_loop_filter(e, x);
    pdl_emit_set_span(e, x->u.loop.over);
    emit_SCOPE_SAVE(e);
    if (x->u.loop.recursive)
        emit_LOOP_RECURSIVE(e, self);
    else
        emit_LOOP(e);
    uint32_t loop_name = pdl_emit_intern(e, PDL_STR("loop"));
    emit_BIND_KEEP(e, loop_name);
    uint32_t again = pdl_emit_next_index(e);
    uint32_t next = emit_LOOP_NEXT(e, PDL_LATER);
    pdl_emit_target(e, x->u.loop.target);
    uint32_t body = pdl_emit_next_index(e);
    pdl_emit_stmt(e, x->u.loop.body);
    if (pdl_emit_has_bindings(e, body)) {
        emit_SCOPE_RESTORE(e);
        emit_SCOPE_SAVE(e);
        emit_BIND_KEEP(e, loop_name);
    }
    emit_JUMP(e, again);
    pdl_emit_patch(e, next);
    emit_SCOPE_RESTORE(e);
    emit_loop_else(e, x);
}

void pdl_emit_for(pdl_emit *e, const pdl_xnode *x) {
    if (x->u.loop.closed) {
        pdl_emit_xnode(e, x->u.loop.over);
        emit_closed_run(e, x);
        return;
    }
    uint32_t self = 0;
    if (x->u.loop.recursive) {
        /* The body is a routine: loop(items) enters it with the items on the stack. */
        uint32_t over = emit_JUMP(e, PDL_LATER);
        self = pdl_emit_next_index(e);
        emit_BUF_PUSH(e);
        emit_open_run(e, x, self);
        emit_BUF_POP(e, false);
        emit_RETURN(e);
        pdl_emit_patch(e, over);
    }
    pdl_emit_xnode(e, x->u.loop.over);
    emit_open_run(e, x, self);
}
