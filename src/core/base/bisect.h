/* bisect.h -- binary search in arrays and in everything else that has an index.
 *
 * bsearch of the C library finds an element that is equal to a key. Here the first element that is
 * not before a position is wanted most of the time, in arrays, in numbered rows and in functions of
 * an index. Written out each time, the search is eight lines in which `<` and `<=` are easily
 * confused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_BISECT_H
#define PDL_BASE_BISECT_H

#include <stddef.h>

/* Sets the variable lo, which holds the first index, to the lowest index from there to n for which
 * `before` does not hold, or to n. `before` is an expression of the variable `mid`; it must hold
 * for a prefix of the indexes and for no other. */
#define PDL_BISECT(lo, n, before)                                                                  \
    do {                                                                                           \
        for (size_t pdl_high = (n), mid; (lo) < pdl_high;) {                                       \
            mid = (lo) + (pdl_high - (lo)) / 2;                                                    \
            if (before)                                                                            \
                (lo) = mid + 1;                                                                    \
            else                                                                                   \
                pdl_high = mid;                                                                    \
        }                                                                                          \
    } while (0)

#endif
