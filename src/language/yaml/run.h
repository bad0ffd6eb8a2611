/* run.h -- finds runs of bytes in which no word, quote, comment or scalar can end. Private to yaml.
 *
 * Most bytes of a program are inside of words, quotes, comments and block scalars. A loop that
 * looks up the class of each byte takes three instructions for each, and at its end the processor
 * has nearly always guessed wrong. With SSE2, which every x86-64 has, sixteen bytes are compared at
 * once and the end of the run is the lowest bit of a mask. Other processors use the loop over the
 * classes of bytes. A run ends at a byte that may end the text that is read; the caller decides and
 * continues after it. The functions read up to PDL_YRUN_STEP bytes from p on, which is why NULs
 * follow a source. The sets are defined twice, in this file and by pdl_yclass (scan.c):
 * tests/unit/yaml/test_yaml_run.c compares them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_RUN_H
#define PDL_YAML_RUN_H

#include <assert.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "yaml/scan.h"

enum { PDL_YRUN_STEP = 16 };
static_assert((int)PDL_SOURCE_PAD >= (int)PDL_YRUN_STEP, "a step may begin at the end of the text");

static inline bool pdl_yis_simple_byte(char c) { return (c >= ' ' && c <= '~') || c == '\n'; }

#ifdef __SSE2__

static inline __m128i pdl_yload(const char *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline __m128i pdl_yeq(__m128i w, int c) {
    return _mm_cmpeq_epi8(w, _mm_set1_epi8((char)c));
}

/* Returns a mask whose bit i is set when byte i of w is in the set: END, BLOCK, FLOW, SINGLE or
 * DOUBLE. */
static inline unsigned pdl_yin(__m128i w, int set) {
    const __m128i last = _mm_set1_epi8(0x1f), bit = _mm_set1_epi8(0x20);
    /* control characters, and C2 and E2, which differ in one bit */
    __m128i in = _mm_or_si128(_mm_cmpeq_epi8(_mm_max_epu8(w, last), last),
                              pdl_yeq(_mm_or_si128(w, bit), 0xe2));
    if (set & (PDL_YC_BLOCK | PDL_YC_FLOW))
        in = _mm_or_si128(in, _mm_or_si128(pdl_yeq(w, ':'), pdl_yeq(w, '#')));
    if (set & PDL_YC_FLOW) { /* brackets and braces differ in the same bit */
        in = _mm_or_si128(in, _mm_or_si128(pdl_yeq(w, ','), pdl_yeq(w, '?')));
        w = _mm_or_si128(w, bit);
        in = _mm_or_si128(in, _mm_or_si128(pdl_yeq(w, '{'), pdl_yeq(w, '}')));
    }
    if (set & PDL_YC_SINGLE) in = _mm_or_si128(in, pdl_yeq(w, '\''));
    if (set & PDL_YC_DOUBLE) in = _mm_or_si128(in, _mm_or_si128(pdl_yeq(w, '"'), pdl_yeq(w, '\\')));
    return (unsigned)_mm_movemask_epi8(in);
}

/* Returns the first byte from p on that is in the set. */
static inline const char *pdl_yrun(const char *p, int set) {
    for (;; p += PDL_YRUN_STEP) {
        unsigned in = pdl_yin(pdl_yload(p), set);
        if (in) return p + __builtin_ctz(in);
    }
}

/* Returns the first byte from p on that is not a space. */
static inline const char *pdl_yrun_spaces(const char *p) {
    for (;; p += PDL_YRUN_STEP) {
        unsigned spaces = (unsigned)_mm_movemask_epi8(pdl_yeq(pdl_yload(p), ' '));
        if (spaces != 0xffff) return p + __builtin_ctz(~spaces);
    }
}

/* Returns the first byte in [p, end) that is not ASCII, or end. */
static inline const char *pdl_yrun_ascii(const char *p, const char *end) {
    for (; end - p >= PDL_YRUN_STEP; p += PDL_YRUN_STEP) {
        unsigned high = (unsigned)_mm_movemask_epi8(pdl_yload(p));
        if (high) return p + __builtin_ctz(high);
    }
    while (p < end && (unsigned char)*p < 0x80) p++;
    return p;
}

/* Returns true when s is printable ASCII and LF. */
static inline bool pdl_yis_simple(pdl_str s) {
    __m128i fine = _mm_set1_epi8(-1);
    bool rest = true;
    size_t i = 0;
    for (; s.n - i >= PDL_YRUN_STEP; i += PDL_YRUN_STEP) {
        __m128i w = pdl_yload(s.p + i); /* bytes from 0x80 on are negative as signed numbers */
        __m128i plain = _mm_andnot_si128(pdl_yeq(w, 0x7f), _mm_cmpgt_epi8(w, _mm_set1_epi8(0x1f)));
        fine = _mm_and_si128(fine, _mm_or_si128(plain, pdl_yeq(w, '\n')));
    }
    for (; i < s.n; i++) rest &= pdl_yis_simple_byte(s.p[i]);
    return rest && _mm_movemask_epi8(fine) == 0xffff;
}

#else

static inline const char *pdl_yrun(const char *p, int set) {
    while (!pdl_yis(*p, set)) p++;
    return p;
}

static inline const char *pdl_yrun_spaces(const char *p) {
    while (*p == ' ') p++;
    return p;
}

static inline const char *pdl_yrun_ascii(const char *p, const char *end) {
    while (p < end && (unsigned char)*p < 0x80) p++;
    return p;
}

static inline bool pdl_yis_simple(pdl_str s) {
    bool fine = true;
    for (size_t i = 0; i < s.n; i++) fine &= pdl_yis_simple_byte(s.p[i]);
    return fine;
}

#endif

/* Returns the first line end from p on, or the end of the text. */
static inline const char *pdl_yline_end(const char *p) {
    for (p = pdl_yrun(p, PDL_YC_END); !pdl_yends(p);) p = pdl_yrun(p + 1, PDL_YC_END);
    return p;
}

#endif
