/* loop.h -- repeat, map and reduce: iteration state and running maps. Private to vm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_LOOP_H
#define PDL_VM_LOOP_H

#include <assert.h>

#include "vm/fiber.h"

/* A map in progress. */
struct pdl_mapping {
    pdl_val *results; /* n results; a result is absent until its iteration has ended */
    size_t n, started, ended, open;
    size_t failed; /* smallest index of an iteration that failed; (size_t)-1 when none failed */
    pdl_err err;
    bool begun;
    /* by index: the fibers of iterations that have started and not ended; NULL for others */
    pdl_fiber **fibers;
    size_t fibers_cap;
};

void pdl_vm_loop_fini(pdl_fiber *f, pdl_vm_loop *l);
/* Executes FOR_NEXT. Returns false at the end of the loop. */
bool pdl_vm_for_next(pdl_fiber *f);
/* Called when the fiber of an iteration has ended, with or without an error. */
void pdl_vm_map_child_ended(pdl_fiber *child);
/* Called when an error will end the iteration: cancels later iterations, whose results cannot be
 * used. */
void pdl_vm_map_child_fails(pdl_fiber *child);
void pdl_vm_mapping_free(pdl_run *r, pdl_mapping *m);
/* Returns true when the counts of the iterations of m agree. */
bool pdl_mapping_ok(const pdl_mapping *m);

#endif
