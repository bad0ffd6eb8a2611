/* hash.c -- see hash.h. The hash of tables folds words of 8 bytes by a multiplication of 64x64 to
 * 128 bits; SHA-256 follows FIPS 180-4.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/hash.h"

#include <stdatomic.h>
#include <time.h>

#include "base/alloc.h"
#include "base/os.h"
#include "base/tables/sha.h"

#include "base/banned.h"

/* Odd constants. About half of their bits are set. They come from the fractional parts of the
 * square roots of 2, 3 and 5. */
#define MIX_A UINT64_C(0x6a09e667f3bcc909)
#define MIX_B UINT64_C(0xbb67ae8584caa73b)
#define MIX_C UINT64_C(0x3c6ef372fe94f82b)

static _Atomic uint64_t drawn;

PDL_COLD static uint64_t draw_seed(void) {
    uint64_t fresh = 0, s = 0;
    if (!pdl_os_random(&fresh, sizeof fresh, false))
        fresh = (uint64_t)time(NULL) * MIX_A ^ (uint64_t)(uintptr_t)&drawn;
    fresh |= 1;
    /* Two threads may draw a seed at once. The first to store its seed wins. */
    return atomic_compare_exchange_strong(&drawn, &s, fresh) ? fresh : s;
}

/* Drawn once for each process: all hashes of a table must use the same seed. */
static inline uint64_t seed(void) {
    uint64_t s = atomic_load_explicit(&drawn, memory_order_relaxed);
    return PDL_LIKELY(s != 0) ? s : draw_seed();
}

static uint64_t fold(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    wide m = (wide)a * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t word(const char *p) {
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

/* Returns the n <= 8 bytes at p as one number. */
static uint64_t short_word(const char *p, size_t n) {
    uint32_t lo = 0, hi = 0;
    if (n >= 4) {
        memcpy(&lo, p, 4);
        memcpy(&hi, p + n - 4, 4);
        return (uint64_t)hi << 32 | lo;
    }
    if (n == 0) return 0;
    const unsigned char *u = (const unsigned char *)p;
    return (uint64_t)u[0] << 16 | (uint64_t)u[n / 2] << 8 | u[n - 1];
}

static uint32_t finish(uint64_t h) {
    uint32_t r = (uint32_t)(h ^ h >> 32);
    return r ? r : 1;
}

uint32_t pdl_hash_str(pdl_str s) {
    const char *p = s.p;
    size_t n = s.n;
    /* most names are short, so their length is multiplied together with their bytes */
    if (PDL_LIKELY(n <= 8))
        return finish(fold(fold(short_word(p, n) ^ MIX_C, seed() ^ (n + 1) * MIX_B), MIX_A));
    uint64_t h = seed() ^ fold(n ^ MIX_A, MIX_B);
    for (; n > 16; p += 16, n -= 16) h = fold(word(p) ^ MIX_B, word(p + 8) ^ h);
    if (n > 8)
        h = fold(word(p) ^ MIX_B, word(p + n - 8) ^ h);
    else
        h = fold(short_word(p, n) ^ MIX_C, h ^ MIX_B);
    return finish(fold(h ^ MIX_A, s.n ^ MIX_C));
}

uint32_t pdl_hash_u64(uint64_t x) { return finish(fold(fold(x ^ MIX_A, seed() ^ MIX_B), MIX_C)); }

const uint32_t pdl_sha_rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int k) { return x >> k | x << (32 - k); }

static uint32_t choose(uint32_t e, uint32_t f, uint32_t g) { return (e & f) ^ (~e & g); }
static uint32_t most_of(uint32_t a, uint32_t b, uint32_t c) { return (a & b) ^ (a & c) ^ (b & c); }

static void schedule(const unsigned char block[64], uint32_t w[64]) {
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

/* Each round renames the eight numbers instead of moving them, which would take half of the time of
 * a round. */
void pdl_sha_block(uint32_t state[8], const unsigned char block[64]) {
    uint32_t w[64], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4],
                    f = state[5], g = state[6], h = state[7];
    schedule(block, w);
#define ROUND(a, b, c, d, e, f, g, h, i)                                                           \
    do {                                                                                           \
        uint32_t t = (h) + (rotr((e), 6) ^ rotr((e), 11) ^ rotr((e), 25)) +                        \
                     choose((e), (f), (g)) + pdl_sha_rounds[i] + w[i];                             \
        (d) += t;                                                                                  \
        (h) = t + (rotr((a), 2) ^ rotr((a), 13) ^ rotr((a), 22)) + most_of((a), (b), (c));         \
    } while (0)
    for (size_t i = 0; i < 64; i += 8) {
        ROUND(a, b, c, d, e, f, g, h, i);
        ROUND(h, a, b, c, d, e, f, g, i + 1);
        ROUND(g, h, a, b, c, d, e, f, i + 2);
        ROUND(f, g, h, a, b, c, d, e, i + 3);
        ROUND(e, f, g, h, a, b, c, d, i + 4);
        ROUND(d, e, f, g, h, a, b, c, i + 5);
        ROUND(c, d, e, f, g, h, a, b, i + 6);
        ROUND(b, c, d, e, f, g, h, a, i + 7);
    }
#undef ROUND
    const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; i++) state[i] += sums[i];
}

void pdl_sha256_init(pdl_sha256 *h) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    *h = (pdl_sha256){0};
    memcpy(h->state, start, sizeof start);
}

void pdl_sha256_add(pdl_sha256 *h, pdl_str bytes) {
    size_t have = h->len % 64;
    void (*add_block)(uint32_t *, const unsigned char *) =
        pdl_sha_x86_works() ? pdl_sha_x86_block : pdl_sha_block;
    h->len += bytes.n;
    while (bytes.n) {
        size_t take = 64 - have < bytes.n ? 64 - have : bytes.n;
        memcpy(h->block + have, bytes.p, take);
        bytes = pdl_str_sub(bytes, take, bytes.n);
        have += take;
        if (have < 64) return;
        add_block(h->state, h->block);
        have = 0;
    }
}

void pdl_sha256_done(pdl_sha256 *h, unsigned char out[32]) {
    static const char pad[64] = {(char)0x80};
    uint64_t bits = h->len * 8;
    char tail[8];
    for (size_t i = 0; i < 8; i++) tail[i] = (char)(unsigned char)(bits >> (56 - 8 * i));
    pdl_sha256_add(h, (pdl_str){pad, 1 + (119 - h->len % 64) % 64});
    pdl_sha256_add(h, (pdl_str){tail, sizeof tail});
    for (size_t i = 0; i < 32; i++) out[i] = (unsigned char)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}

void pdl_hash_hex(pdl_str bytes, char out[65]) {
    static const char digits[] = "0123456789abcdef";
    pdl_sha256 h;
    unsigned char sum[32];
    pdl_sha256_init(&h);
    pdl_sha256_add(&h, bytes);
    pdl_sha256_done(&h, sum);
    for (size_t i = 0; i < 32; i++) {
        out[2 * i] = digits[sum[i] >> 4];
        out[2 * i + 1] = digits[sum[i] & 15];
    }
    out[64] = 0;
}
