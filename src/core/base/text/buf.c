/* buf.c -- growable bytes with a ceiling; see buf.h.
 *
 * A buffer grows by half, so n appends copy O(n) bytes. Large texts are copied piece by piece, with
 * a check for cancellation between two pieces.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"

#include <assert.h>
#include <stdio.h>

#include "base/banned.h"

enum { FIRST_CAP = 64 }; /* most rendered expressions are shorter than this */

/* Checks the invariants of buf.h. */
static inline bool buf_ok(const pdl_buf *b) {
    if (!b->p) return b->len == 0 && b->cap == 0;
    return b->len < b->cap && b->len <= b->limit;
}

static size_t cap_for(const pdl_buf *b, size_t need) {
    size_t cap = b->cap ? b->cap : FIRST_CAP;
    while (cap < need) cap += cap / 2;
    return cap;
}

static void resize(pdl_buf *b, size_t cap) {
    assert(cap > b->len);
    bool lent = b->p == b->lent;
    char *p = pdl_realloc(lent ? NULL : b->p, cap);
    if (lent && b->p) memcpy(p, b->p, b->len + 1);
    p[b->len] = 0;
    b->p = p;
    b->cap = cap;
}

/* Returns true when n more bytes and the NUL fit. The comparison subtracts, because len + n may
 * overflow and the differences cannot. */
static inline bool has_room(const pdl_buf *b, size_t n) {
    return n < b->cap - b->len && n <= b->limit - b->len;
}

static inline void append(pdl_buf *b, pdl_str s) {
    assert(s.n < b->cap - b->len);
    if (s.n) memcpy(b->p + b->len, s.p, s.n);
    pdl_buf_grown(b, s.n);
}

char *pdl_buf_room(pdl_buf *b, size_t n) {
    assert(buf_ok(b));
    if (PDL_LIKELY(has_room(b, n))) return b->p + b->len;
    if (n > b->limit - b->len) PDL_BUG("buffer of %zu bytes passed its ceiling", b->len);
    resize(b, cap_for(b, b->len + n + 1));
    return b->p + b->len;
}

void pdl_buf_put(pdl_buf *b, pdl_str s) {
    assert(buf_ok(b));
    assert(s.p || !s.n);
    (void)pdl_buf_room(b, s.n);
    append(b, s);
}

void pdl_buf_putc(pdl_buf *b, char c) {
    assert(buf_ok(b));
    *pdl_buf_room(b, 1) = c;
    pdl_buf_grown(b, 1);
}

static bool too_long(size_t limit, pdl_err *err) {
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "text is longer than %zu bytes", limit);
}

bool pdl_buf_relimit(pdl_buf *b, size_t limit, size_t start, bool ok, pdl_err *err) {
    b->limit = limit;
    if (ok && b->len > limit) ok = too_long(limit, err);
    if (!ok) pdl_buf_cut(b, start);
    return ok;
}

/* Appends s, for which there is room, piece by piece. When the work is cancelled in between, it
 * removes what it appended and returns false. */
static bool append_large(pdl_buf *b, pdl_str s, pdl_err *err) {
    size_t start = b->len;
    for (size_t i = 0; i < s.n; i += PDL_CANCEL_BYTES) {
        if (!pdl_check_cancel(err)) {
            pdl_buf_cut(b, start);
            return false;
        }
        append(b, pdl_str_sub(s, i, i + PDL_CANCEL_BYTES));
    }
    return true;
}

bool pdl_buf_add(pdl_buf *b, pdl_str s, pdl_err *err) {
    assert(buf_ok(b));
    assert(err->kind == PDL_E_NONE);
    if (PDL_LIKELY(has_room(b, s.n) && s.n <= PDL_CANCEL_BYTES)) {
        append(b, s);
        return true;
    }
    if (s.n > b->limit - b->len) return too_long(b->limit, err);
    if (b->len + s.n >= b->cap && !pdl_err_memory(err, cap_for(b, b->len + s.n + 1) - b->cap))
        return false;
    (void)pdl_buf_room(b, s.n);
    return append_large(b, s, err);
}

bool pdl_buf_check(const pdl_buf *b, pdl_err *err) {
    assert(buf_ok(b));
    return pdl_check_cancel(err) && pdl_err_memory(err, b->cap / 2); /* the buffer grows by half */
}

/* Appends n bytes of repeated units, for which there is room. Each step doubles what was appended
 * so far, until a step is as long as a piece between two checks. Errors are those of
 * append_large. */
static bool append_units(pdl_buf *b, pdl_str unit, size_t n, pdl_err *err) {
    size_t start = b->len, end = start + n;
    while (b->len < end) {
        size_t done = b->len - start, from = done % unit.n; /* the next byte of the unit */
        bool first = done < unit.n;
        pdl_str src = {first ? unit.p + from : b->p + start + from, (first ? unit.n : done) - from};
        if (src.n > end - b->len) src.n = end - b->len;
        if (src.n >= PDL_CANCEL_BYTES) {
            src.n = PDL_CANCEL_BYTES;
            if (!pdl_check_cancel(err)) {
                pdl_buf_cut(b, start);
                return false;
            }
        }
        append(b, src);
    }
    return true;
}

bool pdl_buf_fill(pdl_buf *b, pdl_str unit, size_t times, pdl_err *err) {
    assert(buf_ok(b));
    assert(err->kind == PDL_E_NONE);
    size_t n;
    if (PDL_MUL_OVERFLOWS(unit.n, times, &n) || n > b->limit - b->len)
        return too_long(b->limit, err);
    if (!n) return true;
    if (!pdl_err_memory(err, n)) return false;
    if (b->len + n >= b->cap)
        /* the buffer gets no room for further bytes, because a filled buffer rarely grows */
        resize(b, b->len + n + 1);
    return append_units(b, unit, n, err);
}

void pdl_buf_vputf(pdl_buf *b, const char *fmt, va_list ap) {
    assert(buf_ok(b));
    /* from this line, the checks of instrumented builds know that fmt is not NULL */
    if (!fmt) PDL_BUG("no format");
    va_list again;
    va_copy(again, ap);
    /* Most texts fit into the free bytes and are formatted once. */
    if (!b->p) resize(b, FIRST_CAP);
    size_t room = b->cap - b->len;
    int n = vsnprintf(b->p + b->len, room, fmt, ap);
    if (n < 0) PDL_BUG("bad format %s", fmt);
    if ((size_t)n >= room) b->p[b->len] = 0; /* removes the cut text */
    char *at = pdl_buf_room(b, (size_t)n);
    if ((size_t)n >= room) vsnprintf(at, (size_t)n + 1, fmt, again);
    va_end(again);
    b->len += (size_t)n;
}

void pdl_buf_putf(pdl_buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(b, fmt, ap);
    va_end(ap);
}

char *pdl_buf_take(pdl_buf *b) {
    assert(buf_ok(b));
    char *p = b->p == b->lent ? pdl_str_dup(pdl_buf_str(b)) : b->p;
    *b = PDL_BUF_INIT(b->limit);
    return p;
}

void pdl_buf_shift(pdl_buf *b, size_t n) {
    assert(buf_ok(b));
    assert(n <= b->len);
    if (n == 0) return;
    memmove(b->p, b->p + n, b->len - n);
    b->len -= n;
    b->p[b->len] = 0;
}

void pdl_buf_fini(pdl_buf *b) {
    assert(buf_ok(b));
    if (b->p != b->lent) pdl_free(b->p);
    *b = PDL_BUF_INIT(b->limit);
}
