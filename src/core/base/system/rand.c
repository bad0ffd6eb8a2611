/* rand.c -- seeded random numbers; see rand.h.
 *
 * The generator is xoshiro256++ 1.0, and splitmix64 makes its state from the seed. Both are by
 * Blackman and Vigna (public domain), https://prng.di.unimi.it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/rand.h"

#include "base/banned.h"

/* Spreads a seed over the state. */
static uint64_t splitmix(uint64_t *x) {
    uint64_t z = *x += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

void pdl_rand_seed(pdl_rand *r, uint64_t seed) {
    for (int i = 0; i < 4; i++) r->s[i] = splitmix(&seed);
}

uint64_t pdl_rand_u64(pdl_rand *r) {
    uint64_t *s = r->s, out = rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

double pdl_rand_double(pdl_rand *r) { return (double)(pdl_rand_u64(r) >> 11) * 0x1p-53; }
