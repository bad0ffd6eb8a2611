/* rand.h -- seeded generator (xoshiro256++, seeded through splitmix64). The same seed gives the
 * same numbers on every machine, which a replay needs. Secrets are not made with it: they come from
 * the system (io/entropy.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_RAND_H
#define PDL_BASE_RAND_H

#include <stdint.h>

typedef struct pdl_rand {
    uint64_t s[4];
} pdl_rand;

void pdl_rand_seed(pdl_rand *r, uint64_t seed);
uint64_t pdl_rand_u64(pdl_rand *r);
/* Returns a number that is uniform in [0, 1), with 53 random bits. */
double pdl_rand_double(pdl_rand *r);

#endif
