/* pace.c -- scales the waits that libpdl chooses itself; see pace.h. The factor is atomic, because
 * all threads of the process read it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/pace.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/banned.h"

/* The factor is an integer, since an atomic double may need a lock. */
enum { ONE = 1000000 };
static atomic_uint_least64_t millionths = ONE;

void pdl_pace_say(double factor) {
    assert(factor >= 0 && factor <= PDL_PACE_MAX);
    atomic_store(&millionths, (uint64_t)(factor * ONE + 0.5));
}

uint64_t pdl_pace_ms(uint64_t ms) {
    uint64_t m = atomic_load(&millionths);
    if (m == ONE || ms == 0) return ms;
    double paced = (double)ms * (double)m / ONE;
    return paced < 1 ? 1 : paced < 1e15 ? (uint64_t)paced : (uint64_t)1e15;
}
