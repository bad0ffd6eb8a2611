/* c_loop.c -- `for` of Jinja templates to bytecode. */
#include "compile/emit.h"

#include "base/banned.h"

/* The list of the items that pass the loop's filter, so that loop.length and the like count only them. */
static void c_loop_filter(pdl_emit *e, const pdl_xnode *x) {
    emit(e, PDL_OP_SCOPE_SAVE, 0, 0, 0);
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
    emit(e, PDL_OP_SCOPE_BACK, 0, 0, 0);
}

/* Do the instructions from `from` on leave a variable of theirs in the scope? */
static bool binds(const pdl_emit *e, uint32_t from) {
    size_t saved = 0;
    for (uint32_t i = from; i < here(e); i++) {
        switch ((int)e->code->ins.p[i].op) {
        case PDL_OP_SCOPE_SAVE: saved++; break;
        case PDL_OP_SCOPE_BACK: saved--; break;
        case PDL_OP_BIND: case PDL_OP_BIND_KEEP: case PDL_OP_REBIND:
            if (!saved) return true;
            break;
        default: break;
        }
    }
    return false;
}

/* iterable on the stack -> nothing; also the body of loop(...) in a recursive loop, which ends with its own
 * text. The target is bound anew in place; a body that binds more has it taken back after each iteration. */
static void c_loop_run(pdl_emit *e, const pdl_xnode *x, uint32_t self) {
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
    if (binds(e, body)) {
        emit(e, PDL_OP_SCOPE_BACK, 0, 0, 0);
        emit(e, PDL_OP_SCOPE_SAVE, 0, 0, 0);
        emit(e, PDL_OP_BIND_KEEP, 0, 0, loop_name);
    }
    emit(e, PDL_OP_JUMP, 0, 0, again);
    patch(e, next); /* the loop object, on top, knows whether there was an item */
    emit(e, PDL_OP_SCOPE_BACK, 0, 0, 0);
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

void c_for(pdl_emit *e, const pdl_xnode *x) {
    uint32_t self = 0;
    if (x->u.loop.recursive) { /* the body as a routine: entered by loop(items) with the items on the stack */
        uint32_t over = emit_jump(e, PDL_OP_JUMP);
        self = here(e);
        emit(e, PDL_OP_BUF_PUSH, 0, 0, 0);
        c_loop_run(e, x, self);
        emit(e, PDL_OP_BUF_POP, 0, 0, 0);
        emit(e, PDL_OP_RETURN, 0, 0, 0);
        patch(e, over);
    }
    c_x(e, x->u.loop.over);
    c_loop_run(e, x, self);
}
