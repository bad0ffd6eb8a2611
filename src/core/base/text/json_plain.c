/* json_plain.c -- finds the end of a text that JSON needs no escapes for; see json_plain.h.
 *
 * Nearly all bytes of JSON are such text. So sixteen bytes at a time are checked when the build has
 * SSE2, and otherwise eight bytes in a word.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_plain.h"

#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/word.h"

#include "base/banned.h"

enum { FIRST_PRINTABLE = 0x20 };

static bool is_special(unsigned char c) { return c < FIRST_PRINTABLE || c == '"' || c == '\\'; }

#ifdef __SSE2__

enum { STEP = 16 };

/* Returns how many of the STEP bytes at p come before the first special byte. *high gets a bit for
 * each byte that is not ASCII. */
static size_t count_plain(const char *p, unsigned *high) {
    __m128i w = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i last_control = _mm_set1_epi8(FIRST_PRINTABLE - 1);
    __m128i special =
        _mm_or_si128(_mm_cmpeq_epi8(w, _mm_set1_epi8('"')), _mm_cmpeq_epi8(w, _mm_set1_epi8('\\')));
    special = _mm_or_si128(special, _mm_cmpeq_epi8(_mm_max_epu8(w, last_control), last_control));
    unsigned hit = (unsigned)_mm_movemask_epi8(special) | 1u << STEP;
    *high = (unsigned)_mm_movemask_epi8(w) &
            (hit ^ (hit - 1)); /* bits up to the first special byte, which is ASCII */
    return (size_t)__builtin_ctz(hit);
}

#else

enum { STEP = 8 };

static size_t count_plain(const char *p, unsigned *high) {
    const uint64_t highs = PDL_EACH_BYTE(0x80);
    uint64_t w = pdl_word64(p), control = (w - PDL_EACH_BYTE(FIRST_PRINTABLE)) & ~w & highs;
    /* A byte below the searched value borrows, so only the lowest hit is exact. Only that hit is
     * used. */
    uint64_t hit =
        pdl_word_zeros(w ^ PDL_EACH_BYTE('"')) | pdl_word_zeros(w ^ PDL_EACH_BYTE('\\')) | control;
    *high = (w & highs & (hit - 1)) != 0;
    size_t n = 0;
    while (n < STEP && !(hit >> (8 * n + 7) & 1)) n++;
    return n;
}

#endif

const char *pdl_plain_end(const char *p, const char *end, bool *ascii) {
    unsigned high, seen = 0;
    for (; end - p >= STEP; p += STEP) {
        size_t n = count_plain(p, &high);
        seen |= high;
        if (n == STEP) continue;
        if (seen) *ascii = false;
        return p + n;
    }
    for (; p < end && !is_special((unsigned char)*p); p++) seen |= (unsigned char)*p & 0x80u;
    if (seen) *ascii = false;
    return p;
}
