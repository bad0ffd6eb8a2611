/* effect_key.c -- where an effect stands in a run: the key of a recording (spec execution 6.3).
 *
 * A place is the chain of what led to the effect: the id of the block whose expression called a
 * function, the number of the call there, what stands below in the function's body, and so on to
 * the block that asks. The numbers of trace ids (instance4) count calls over the whole run and so
 * depend on how fibers take turns; they are no part of a place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/effect_key.h"

#include "vm/fiber.h"
#include "vm/run.h"

#include "base/banned.h"

/* The record that counts what an expression starts. A plain value has a record of its own only when
 * the run is traced, so it never counts. */
pdl_vm_block *pdl_vm_place_block(pdl_fiber *f) {
    size_t k = f->blocks.n;
    while (k > 1 && f->blocks.p[k - 1].info &&
           f->blocks.p[k - 1].info->block->kind == PDL_BLOCK_scalar)
        k--;
    return k ? &f->blocks.p[k - 1] : NULL;
}

/* Its id; an iteration of a map, which has no block of its own, is told from the others by its
 * number. Owned. */
pdl_path *pdl_vm_place_path(pdl_fiber *f) {
    pdl_vm_block_path(f);
    pdl_vm_block *b = pdl_vm_place_block(f);
    if (!b) return NULL;
    return !b->info && f->parent && b == f->blocks.p ? pdl_path_index(b->path, b->iter)
                                                     : pdl_path_keep(b->path);
}

/* The chain of the innermost call from an expression, and the id below which blocks stand in its
 * body. Borrowed; both NULL outside of calls. Each frame is looked at once: its chain is kept. */
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

void pdl_vm_place_child(pdl_fiber *f, pdl_fiber *child) {
    pdl_path *from;
    child->base = pdl_path_keep(enclosing(f, &from));
    child->base_from = pdl_path_keep(from);
}
