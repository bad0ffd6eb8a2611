/* regex_flags.h -- inline flags of Python `re` patterns: the letters between `(?` and `)` or `:`.
 * Used by regex_translate.c only.
 *
 * A pattern may set flags for the whole pattern, `(?im)`, but only at its start, or for one group,
 * `(?i-m:...)`. Python checks which letters may be combined. `a`, `u` and `L` say how text is read
 * and exclude each other. `L` needs bytes, which PDL does not have. `t` does nothing, and can only
 * be set for the whole pattern. All errors have the words and the places of Python's errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_REGEX_FLAGS_H
#define PDL_BASE_REGEX_FLAGS_H

#include "base/regex/regex_scan.h"

/* Returns true when c is the letter of a flag. */
bool pdl_rx_is_flag(int32_t c);

/* pdl_rx_read_flags reads letters up to the sign that ends the flags, and fills these members. c is
 * the first letter, which was read before. */
typedef struct pdl_rx_flags {
    unsigned added, removed; /* PDL_RX_*, and bits of letters that have no PDL_RX_* */
    bool for_all;            /* `)` ends the flags, so they are for the whole pattern */
} pdl_rx_flags;
PDL_MUST bool pdl_rx_read_flags(pdl_rx_scan *s, int32_t c, pdl_rx_flags *out);

/* Returns the PDL_RX_* flags that hold after the change. */
unsigned pdl_rx_with_flags(unsigned flags, const pdl_rx_flags *change);

#endif
