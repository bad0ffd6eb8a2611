/* sha_x86.c -- SHA-256 of a block by the SHA instructions of x86; see sha.h. The program finds out
 * at run time whether the processor has them, so the command also runs on older processors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/tables/sha.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif
#include <stdatomic.h>

#include "base/banned.h"

#if defined(__x86_64__)

enum { UNKNOWN, WORKS, MISSING };

static int ask_processor(void) {
    unsigned a, b, c, d;
    bool vectors = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3) && (c & bit_SSE4_1);
    return vectors && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) ? WORKS : MISSING;
}

bool pdl_sha_x86_works(void) {
    static _Atomic int known;
    int k = atomic_load_explicit(&known, memory_order_relaxed);
    if (k == UNKNOWN) atomic_store_explicit(&known, k = ask_processor(), memory_order_relaxed);
    return k == WORKS;
}

#define WITH_SHA __attribute__((target("sha,sse4.1,ssse3")))

/* Reads four words of a block. Their bytes are in network order. */
WITH_SHA static __m128i four_words(const unsigned char *block) {
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)block), order);
}

/* Returns the next four words of the schedule. w has the sixteen words before them, of which w[at]
 * is the oldest. */
WITH_SHA static __m128i next_words(const __m128i w[4], unsigned at) {
    __m128i last = w[(at + 3) % 4],
            sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[at], w[(at + 1) % 4]),
                                _mm_alignr_epi8(last, w[(at + 2) % 4], 4));
    return _mm_sha256msg2_epu32(sum, last);
}

/* The instructions need the words of the state in the order A, B, E, F and C, D, G, H. */
WITH_SHA void pdl_sha_x86_block(uint32_t state[8], const unsigned char block[64]) {
    __m128i *halves = (__m128i *)(void *)state, w[4];
    __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(halves), 0xB1),
            efgh = _mm_shuffle_epi32(_mm_loadu_si128(halves + 1), 0x1B),
            abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
    const __m128i abef_before = abef, cdgh_before = cdgh;
    for (unsigned i = 0; i < 16; i++) {
        w[i % 4] = i < 4 ? four_words(block + (size_t)16 * i) : next_words(w, i % 4);
        __m128i k = _mm_loadu_si128((const __m128i *)(const void *)(pdl_sha_rounds + 4 * i)),
                sum = _mm_add_epi32(w[i % 4], k);
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
    }
    __m128i feba = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1B),
            dchg = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xB1);
    _mm_storeu_si128(halves, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128(halves + 1, _mm_alignr_epi8(dchg, feba, 8));
}

#else

bool pdl_sha_x86_works(void) { return false; }
void pdl_sha_x86_block(uint32_t state[8], const unsigned char block[64]) {
    pdl_sha_block(state, block);
}

#endif
