/* bisect.h -- binary search in arrays and in everything else that has an index.
 *
 * bsearch of the C library finds an element that is equal to a key. But callers mostly need the
 * first element that is not before a position. Some callers also search values that are computed
 * from an index, so there is no array to pass to bsearch. Without this macro, each search would be
 * eight lines in which `<` and `<=` are easily confused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_BISECT_H
#define PDL_BASE_BISECT_H

#include <stddef.h>

/* Searches the indexes from lo to n, where lo is a variable. Sets lo to the lowest index for which
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
