/* word.h -- short runs of bytes, compared a word at a time.
 *
 * Readers of text spend their time on runs that hold nothing special, and the call of memcmp costs
 * more than comparing a short key. Working on words of 8 bytes speeds up both with a few operations
 * and no branch per byte. This is plain C: alignment and byte order are settled in the two
 * functions that load a word.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_WORD_H
#define PDL_BASE_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A word that has the given byte in each of its eight places. */
#define PDL_EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (c))

/* Loads a word from any address; memcpy of a constant size becomes one instruction. */
static inline uint32_t pdl_word32(const char *p) {
    uint32_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

/* Returns the 8 bytes at p as a number whose lowest byte is the first one, on every machine. */
static inline uint64_t pdl_word64(const char *p) {
    uint64_t w;
    memcpy(&w, p, sizeof w);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

/* Returns a word that has the highest bit of each byte set that is zero in w. Only the lowest set
 * bit is reliable. */
static inline uint64_t pdl_word_zeros(uint64_t w) {
    return (w - PDL_EACH_BYTE(1)) & ~w & PDL_EACH_BYTE(0x80);
}

/* Returns true when n bytes are equal. Short runs are compared as two words that may overlap: no
 * call, no loop. */
static inline bool pdl_bytes_eq(const char *a, const char *b, size_t n) {
    if (n > 16) return memcmp(a, b, n) == 0;
    if (n >= 8)
        return ((pdl_word64(a) ^ pdl_word64(b)) |
                (pdl_word64(a + n - 8) ^ pdl_word64(b + n - 8))) == 0;
    if (n >= 4)
        return ((pdl_word32(a) ^ pdl_word32(b)) |
                (pdl_word32(a + n - 4) ^ pdl_word32(b + n - 4))) == 0;
    return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}

/* Copies n bytes between areas that do not overlap. Short runs are copied as two words that may
 * overlap. */
static inline void pdl_bytes_copy(char *to, const char *from, size_t n) {
    if (n > 16) {
        memcpy(to, from, n);
    } else if (n >= 8) {
        uint64_t first, last;
        memcpy(&first, from, 8);
        memcpy(&last, from + n - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + n - 8, &last, 8);
    } else if (n >= 4) {
        uint32_t first, last;
        memcpy(&first, from, 4);
        memcpy(&last, from + n - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + n - 4, &last, 4);
    } else if (n) {
        to[0] = from[0];
        to[n / 2] = from[n / 2];
        to[n - 1] = from[n - 1];
    }
}

#endif
