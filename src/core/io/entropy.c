/* entropy.c -- makes seeds and secrets from random numbers of the system; see entropy.h.
 *
 * A seed only has to differ between runs, so it is made from the clock when the system has no
 * random numbers yet. A secret waits until the system has random numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/entropy.h"

#include "base/os.h"
#include "io/clock.h"

#include "base/banned.h"

uint64_t pdl_rand_fresh_seed(void) {
    uint64_t seed;
    if (pdl_os_random(&seed, sizeof seed, false)) return seed;
    return pdl_clock_ns() ^ (uint64_t)pdl_clock_wall_ns() << 20;
}

bool pdl_rand_secret(void *out, size_t n) { return pdl_os_random(out, n, true); }
