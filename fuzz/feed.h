/* feed.h -- gives a reader of a stream its bytes in any portions: the notes that it makes must be
 * equal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_FUZZ_FEED_H
#define PDL_FUZZ_FEED_H

#include "fuzz.h"

/* Reads s in portions of `step` bytes and appends notes about the results to out. Returns false
 * after an error. */
typedef bool fuzz_feed_fn(pdl_str s, size_t step, pdl_buf *out);

static inline void fuzz_portions(fuzz_feed_fn *feed, pdl_str s) {
    static const size_t steps[] = {1, 2, 3, 7, 64};
    pdl_buf whole = PDL_BUF;
    bool ok = feed(s, s.n + 1, &whole);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        pdl_buf parts = PDL_BUF;
        FUZZ_MUST(feed(s, steps[i], &parts) == ok);
        FUZZ_MUST(pdl_str_eq(pdl_buf_str(&whole), pdl_buf_str(&parts)));
        pdl_buf_fini(&parts);
    }
    pdl_buf_fini(&whole);
}

static inline pdl_str fuzz_portion(pdl_str s, size_t at, size_t step) {
    return pdl_str_sub(s, at, step < s.n - at ? at + step : s.n);
}

#endif
