/* scan.h -- bounded cursor used by all readers of text.
 *
 * Readers move a cursor instead of a pointer, so that bounds are checked here and nowhere else. A
 * read beyond the end returns -1, which is no byte; no reader needs a terminating NUL. Invariant:
 * pos <= src.n, always.
 *
 * None of these functions fails. Those that accept something move the cursor only when it was
 * there, and return whether it was, so that a grammar reads as a chain of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_SCAN_H
#define PDL_BASE_SCAN_H

#include "base/str.h"

typedef struct {
    pdl_str src;
    size_t pos;
} pdl_scan;

/* The byte at the cursor (or k bytes further), -1 at the end. */
static inline int scan_peek(const pdl_scan *s) {
    return s->pos < s->src.n ? (unsigned char)s->src.p[s->pos] : -1;
}
static inline int scan_peek_at(const pdl_scan *s, size_t k) {
    return k < s->src.n - s->pos ? (unsigned char)s->src.p[s->pos + k] : -1;
}
/* The byte at the cursor, which moves past it; -1 at the end, where it stays. */
static inline int scan_next(pdl_scan *s) {
    return s->pos < s->src.n ? (unsigned char)s->src.p[s->pos++] : -1;
}
/* Accept one byte: true, and the cursor past it, if it is c. */
static inline bool scan_accept(pdl_scan *s, int c) {
    if (scan_peek(s) != c) return false;
    s->pos++;
    return true;
}
/* Accept the whole of lit at the cursor. */
static inline bool scan_accept_str(pdl_scan *s, pdl_str lit) {
    if (s->src.n - s->pos < lit.n || (lit.n && memcmp(s->src.p + s->pos, lit.p, lit.n) != 0))
        return false;
    s->pos += lit.n;
    return true;
}
/* True at the end of the text. */
static inline bool scan_done(const pdl_scan *s) { return s->pos == s->src.n; }
/* All from the cursor to the end; borrowed. */
static inline pdl_str scan_rest(const pdl_scan *s) { return pdl_str_sub(s->src, s->pos, s->src.n); }

#endif
