/* effect_key.h -- the place of an effect in the run, which is its key in a recording. Private to
 * vm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_EFFECT_KEY_H
#define PDL_VM_EFFECT_KEY_H

#include "vm/fiber.h"

/* Returns the record of the block that counts the effects and calls of an expression. */
pdl_vm_block *pdl_vm_place_block(pdl_fiber *f);
pdl_path *pdl_vm_place_path(pdl_fiber *f);
/* Returns the id of the innermost block with the calls from expressions that led to it; owned. NULL
 * when there were no such calls. */
pdl_path *pdl_vm_place_in_calls(pdl_fiber *f);
/* Returns the place of an effect that the fiber starts now. The caller owns it. */
pdl_path *pdl_vm_place_of(pdl_fiber *f);
/* Sets the calls around child, which is an iteration of a map, to the calls around f. */
void pdl_vm_place_child(pdl_fiber *f, pdl_fiber *child);

#endif
