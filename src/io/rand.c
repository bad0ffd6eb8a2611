/* rand.c -- see rand.h. xoshiro256** 1.0 and splitmix64 by Blackman and Vigna (public domain),
 * https://prng.di.unimi.it */
#include "io/rand.h"

#include <assert.h>
#include <sys/random.h>

#include "io/clock.h"

#include "base/banned.h"

static uint64_t splitmix(uint64_t *x) {
    uint64_t z = *x += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

void pdl_rand_seed(pdl_rand *r, uint64_t seed) {
    for (int i = 0; i < 4; i++) r->s[i] = splitmix(&seed);
}

uint64_t pdl_rand_u64(pdl_rand *r) {
    uint64_t *s = r->s, out = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

double pdl_rand_double(pdl_rand *r) {
    return (double)(pdl_rand_u64(r) >> 11) * 0x1p-53;
}

uint64_t pdl_rand_below(pdl_rand *r, uint64_t n) {
    assert(n > 0);
    uint64_t low = (0 - n) % n; /* 2^64 mod n: numbers below it would favour small results */
    for (;;) {
        uint64_t x = pdl_rand_u64(r);
        if (x >= low) return x % n;
    }
}

uint64_t pdl_rand_fresh_seed(void) {
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed) return seed;
    return pdl_clock_ns() ^ (uint64_t)pdl_clock_wall_ns() << 20;
}
