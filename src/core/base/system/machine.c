/* machine.c -- reports how much memory the machine has left; see machine.h.
 *
 * The number comes from the system, or from a test that sets it (PDL_STRESS=room:N), since a test
 * must not use up the memory of the machine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/machine.h"

#include <stdatomic.h>
#include <stdint.h>

#include "base/os.h"

#include "base/banned.h"

/* The number of free bytes that PDL_STRESS=room:N sets; 0 without this switch. */
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
