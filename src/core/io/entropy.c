/* entropy.c -- see entropy.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/entropy.h"

#include <sys/random.h>

#include "io/clock.h"

#include "base/banned.h"

uint64_t pdl_rand_fresh_seed(void) {
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed) return seed;
    return pdl_clock_ns() ^ (uint64_t)pdl_clock_wall_ns() << 20;
}

bool pdl_rand_secret(void *out, size_t n) { return getrandom(out, n, 0) == (ssize_t)n; }
