/* stacks.h -- short functions for the stacks of a fiber, which every instruction uses. Private to
 * vm.
 *
 * The compiler proves how high each stack is (compile/verify.c), so these functions only assert
 * that the stack is not empty. An instruction that finds a stack empty is a fault of the compiler.
 * A build with assertions aborts there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_STACKS_H
#define PDL_VM_STACKS_H

#include <assert.h>

#include "vm/fiber.h"

static inline pdl_step step_of(bool ok) { return ok ? PDL_STEP_DONE : PDL_STEP_FAIL; }
static inline void push(pdl_fiber *f, pdl_val v) { *pdl_vec_push(&f->stack) = v; }
static inline pdl_val pop(pdl_fiber *f) {
    assert(f->stack.n > 0);
    return f->stack.p[--f->stack.n];
}
static inline pdl_val *top(pdl_fiber *f) {
    assert(f->stack.n > 0);
    return &f->stack.p[f->stack.n - 1];
}
static inline pdl_val *under(pdl_fiber *f, size_t k) {
    assert(k < f->stack.n);
    return &f->stack.p[f->stack.n - 1 - k];
}
static inline void set_top(pdl_fiber *f, pdl_val v) {
    pdl_val *slot = top(f);
    pdl_drop(*slot);
    *slot = v;
}
static inline pdl_val *local(pdl_fiber *f, size_t slot) {
    assert(f->local_base + slot < f->locals.n);
    return &f->locals.p[f->local_base + slot];
}
static inline pdl_vm_block *block(pdl_fiber *f) {
    assert(f->blocks.n > 0);
    return &f->blocks.p[f->blocks.n - 1];
}
/* Each of these returns the innermost element: of the frames, loops, handlers, saved scopes, or
 * texts that are being made. */
static inline pdl_vm_frame *frame(pdl_fiber *f) {
    assert(f->frames.n > 0);
    return &f->frames.p[f->frames.n - 1];
}
static inline pdl_vm_loop *innermost_loop(pdl_fiber *f) {
    assert(f->loops.n > 0);
    return &f->loops.p[f->loops.n - 1];
}
static inline pdl_handler *handler(pdl_fiber *f) {
    assert(f->handlers.n > 0);
    return &f->handlers.p[f->handlers.n - 1];
}
static inline pdl_handler pop_handler(pdl_fiber *f) {
    pdl_handler h = *handler(f);
    f->handlers.n--;
    return h;
}
static inline pdl_save *save(pdl_fiber *f) {
    assert(f->saves.n > 0);
    return &f->saves.p[f->saves.n - 1];
}
static inline pdl_save pop_save(pdl_fiber *f) {
    pdl_save s = *save(f);
    f->saves.n--;
    return s;
}
static inline pdl_outbuf *outbuf(pdl_fiber *f) {
    assert(f->bufs.n > 0);
    return &f->bufs.p[f->bufs.n - 1];
}
static inline void set_val(pdl_val *slot, pdl_val v) { /* takes v */
    pdl_val old = *slot;
    *slot = v;
    pdl_drop(old);
}

#endif
