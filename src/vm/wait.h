/* wait.h -- waiting for promises and for model calls. Private to vm.
 *
 * pdl_vm_force is the only place where a fiber waits for content, pdl_inflight_await the only one
 * where it waits for calls to end. Both return WAIT after they have parked the fiber; the
 * instruction is then executed again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_WAIT_H
#define PDL_VM_WAIT_H

#include "vm/fiber.h"

/* Replaces the promise in *slot by its content. */
pdl_step pdl_vm_force(pdl_fiber *f, pdl_val *slot, pdl_err *err);
/* The same for the n topmost values. */
pdl_step pdl_vm_force_n(pdl_fiber *f, size_t n, pdl_err *err);
/* Waits for the fiber's calls numbered `from` and later. raise: fails with the error of the
 * first of them that failed. */
pdl_step pdl_inflight_await(pdl_fiber *f, uint32_t from, bool raise, pdl_err *err);
/* Fails with the first failure that is an error although nobody used the reply. */
PDL_MUST bool pdl_inflight_raise_unnoticed(const pdl_fiber *f, pdl_err *err);

#endif
