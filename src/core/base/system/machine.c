/* machine.c -- see machine.h. Facts about the machine: from the system, or from a test that
 * replaces them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/machine.h"

#include <stdatomic.h>
#include <stdint.h>

#include "base/os.h"

#include "base/banned.h"

/* The number of free bytes that PDL_STRESS=room:N pretends; 0 without that switch. */
static atomic_size_t said;

void pdl_machine_say_left(size_t bytes) { atomic_store(&said, bytes); }

size_t pdl_machine_left(size_t taken) {
    size_t left = atomic_load(&said);
    if (left) {
        left = left > taken ? left - taken : 1;
        atomic_store(&said, left);
        return left;
    }
    uint64_t least = pdl_os_memory_left();
    return least < SIZE_MAX ? (size_t)least : SIZE_MAX;
}
