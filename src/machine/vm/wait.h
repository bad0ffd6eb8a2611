/* wait.h -- waiting for promises and for model calls. Private to vm.
 *
 * A fiber waits for content only in pdl_vm_force, and for the end of calls only in
 * pdl_inflight_await. Both return WAIT after they have parked the fiber; the instruction is then
 * executed again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_WAIT_H
#define PDL_VM_WAIT_H

#include "vm/stacks.h"

/* Completes pdl_vm_force, for a value that holds a promise. */
pdl_step pdl_vm_force_promise(pdl_fiber *f, pdl_val *slot, pdl_err *err);
/* Replaces the promise in *slot by its content. The function is inline because most instructions
 * call it first, and most values hold no promise. */
static inline pdl_step pdl_vm_force(pdl_fiber *f, pdl_val *slot, pdl_err *err) {
    return PDL_LIKELY(!pdl_may_hold_promise(*slot)) ? PDL_STEP_DONE
                                                    : pdl_vm_force_promise(f, slot, err);
}
/* Waits for the n topmost values. */
static inline pdl_step pdl_vm_force_n(pdl_fiber *f, size_t n, pdl_err *err) {
    for (size_t i = 0; i < n; i++) {
        pdl_step s = pdl_vm_force(f, under(f, i), err);
        if (PDL_UNLIKELY(s != PDL_STEP_DONE)) return s;
    }
    return PDL_STEP_DONE;
}
/* Waits for the fiber's calls numbered `from` and later. With `raise`, fails with the error of the
 * first failed call among them. */
pdl_step pdl_inflight_await(pdl_fiber *f, uint32_t from, bool raise, pdl_err *err);
/* Fails with the error of the first failed call that ends the run even when its reply is not used.
 * Returns true when there is no such call. */
PDL_MUST bool pdl_inflight_raise_unnoticed(const pdl_fiber *f, pdl_err *err);

#endif
