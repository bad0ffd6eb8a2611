/* scan.h -- bounded cursor used by all readers of text.
 *
 * Readers move a cursor instead of a pointer, so that bounds are checked here and nowhere else. A
 * read beyond the end returns -1, which is no byte, so no reader needs a terminating NUL.
 * Invariant: pos <= src.n.
 *
 * None of these functions fails. When a text is at the cursor, the functions that accept it move
 * the cursor past the text and return true. Otherwise they return false. So a grammar reads as a
 * chain of calls.
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

/* scan_peek returns the byte at the cursor, and scan_peek_at the byte k bytes further. Both return
 * -1 at the end of the text and beyond it. */
static inline int scan_peek(const pdl_scan *s) {
    return s->pos < s->src.n ? (unsigned char)s->src.p[s->pos] : -1;
}
static inline int scan_peek_at(const pdl_scan *s, size_t k) {
    return k < s->src.n - s->pos ? (unsigned char)s->src.p[s->pos + k] : -1;
}
/* Returns the byte at the cursor and moves past it. At the end, returns -1 and does not move. */
static inline int scan_next(pdl_scan *s) {
    return s->pos < s->src.n ? (unsigned char)s->src.p[s->pos++] : -1;
}
/* Moves past the byte c and returns true, if c is at the cursor. */
static inline bool scan_accept(pdl_scan *s, int c) {
    if (scan_peek(s) != c) return false;
    s->pos++;
    return true;
}
/* Moves past the whole of lit and returns true, if lit is at the cursor. */
static inline bool scan_accept_str(pdl_scan *s, pdl_str lit) {
    if (s->src.n - s->pos < lit.n || (lit.n && memcmp(s->src.p + s->pos, lit.p, lit.n) != 0))
        return false;
    s->pos += lit.n;
    return true;
}
/* Returns true at the end of the text. */
static inline bool scan_done(const pdl_scan *s) { return s->pos == s->src.n; }
/* Returns the text from the cursor to the end; borrowed. */
static inline pdl_str scan_rest(const pdl_scan *s) { return pdl_str_sub(s->src, s->pos, s->src.n); }

#endif
