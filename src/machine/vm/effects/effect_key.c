/* effect_key.c -- the place of an effect in a run: its key in a recording (spec execution 6.3).
 *
 * A recording must give each effect its own reply, although parallel calls start and end in another
 * order in each run. So a number in the order of time cannot be the key. Instead, a place is the
 * chain of steps that led to the effect. It begins with the id of the block whose expression called
 * a function, the number of the call there, and the position in the function's body. The chain ends
 * with the block that makes the request. The numbers of trace ids (instance4) count calls over the
 * whole run and so depend on the order in which fibers run. Therefore they are not part of a place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/effect_key.h"

#include "vm/fiber.h"
#include "vm/run.h"

#include "base/banned.h"

/* Returns the record that counts the effects and calls of an expression. The record of a plain
 * value is skipped: only a traced run has such records, and the numbers must not depend on the
 * trace. */
pdl_vm_block *pdl_vm_place_block(pdl_fiber *f) {
    size_t k = f->blocks.n;
    while (k > 1 && f->blocks.p[k - 1].info &&
           f->blocks.p[k - 1].info->block->kind == PDL_BLOCK_scalar)
        k--;
    return k ? &f->blocks.p[k - 1] : NULL;
}

/* Returns the id of the block that pdl_vm_place_block finds. An iteration of a map has no block;
 * its number distinguishes it. The caller owns the path. */
pdl_path *pdl_vm_place_path(pdl_fiber *f) {
    pdl_vm_block_path(f);
    pdl_vm_block *b = pdl_vm_place_block(f);
    if (!b) return NULL;
    return !b->info && f->parent && b == f->blocks.p ? pdl_path_iteration(b->path, b->iter)
                                                     : pdl_path_keep(b->path);
}

/* Returns the chain of the innermost call from an expression. *from gets the id that begins the ids
 * of all blocks in the body of the call. Both are borrowed, and both are NULL outside of calls.
 * Each frame is examined once, because its chain is kept. */
static pdl_path *enclosing(pdl_fiber *f, pdl_path **from) {
    size_t known = f->frames.n;
    while (known && !f->frames.p[known - 1].chain) known--;
    pdl_path *chain = f->base ? f->base : f->run->opt.place, *below = f->base_from;
    if (known) {
        pdl_vm_frame *fr = &f->frames.p[known - 1];
        chain = fr->chain;
        below = f->blocks.p[fr->blocks].path;
    }
    for (size_t i = known; i < f->frames.n; i++) {
        pdl_vm_frame *fr = &f->frames.p[i];
        if (fr->kind != FRAME_EXPR || !fr->place) continue;
        chain = fr->chain = pdl_path_rebase(chain, fr->place, below);
        below = f->blocks.p[fr->blocks].path;
    }
    *from = below;
    return chain;
}

pdl_path *pdl_vm_place_of(pdl_fiber *f) {
    pdl_path *own = pdl_vm_place_path(f), *from;
    pdl_path *chain = enclosing(f, &from);
    if (!chain) return own;
    pdl_path *p = pdl_path_rebase(chain, own, from);
    pdl_path_drop(own);
    return p;
}

/* Returns true when no block of the fiber is in a call from an expression. */
static bool is_outside_calls(const pdl_fiber *f) {
    if (f->base_from) return false;
    for (size_t i = f->frames.n; i-- > 0;)
        if (f->frames.p[i].chain || f->frames.p[i].kind == FRAME_EXPR) return false;
    return true;
}

pdl_path *pdl_vm_place_in_calls(pdl_fiber *f) {
    if (is_outside_calls(f)) return NULL;
    pdl_path *own = pdl_vm_block_path(f), *from;
    pdl_path *chain = enclosing(f, &from);
    return from ? pdl_path_rebase(chain, own, from) : NULL;
}

void pdl_vm_place_child(pdl_fiber *f, pdl_fiber *child) {
    pdl_path *from;
    child->base = pdl_path_keep(enclosing(f, &from));
    child->base_from = pdl_path_keep(from);
}
