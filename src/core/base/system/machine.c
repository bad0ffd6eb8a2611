/* machine.c -- Facts about the machine, which come from the system or from a test.
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
