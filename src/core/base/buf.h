/* buf.h -- pdl_buf: growable bytes with a ceiling.
 *
 * After the first append the content is always NUL-terminated, so pdl_buf_z can be passed to C
 * functions. A buffer is empty and valid when all members but limit are zero.
 *
 * Every buffer has a ceiling because its size is often decided by a program or by a model. Text
 * that may pass the ceiling is appended with functions that can fail (add, fill). Text that is
 * bounded by something already in memory is appended with functions that cannot fail (put): passing
 * the ceiling there is a bug of this library.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_BUF_H
#define PDL_BASE_BUF_H

#include <assert.h>
#include <stdarg.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/str.h"

/* Invariants: len <= limit; p is NULL, or p has cap > len bytes and p[len] == 0. The buffer owns p
 * unless p is lent. */
struct pdl_buf {
    char *p;
    size_t len, cap;
    size_t limit; /* maximum of len; appending beyond it is the error PDL_E_limit */
    char *lent;   /* the caller's array in which the buffer began, or NULL */
};

#define PDL_BUF_INIT(max) ((pdl_buf){NULL, 0, 0, (max), NULL})
/* An empty buffer, for text whose size is bounded by something already in memory. */
#define PDL_BUF PDL_BUF_INIT((size_t)-1 >> 2)

/* Size of a caller's array for pdl_buf_in. Most texts of expressions are shorter. */
enum { PDL_SHORT_TEXT = 128 };
/* Returns a buffer that begins in an array of the caller. The array must outlive the buffer. A
 * short text stays in the array and needs no allocation, unless pdl_buf_take copies it. */
static inline pdl_buf pdl_buf_in(char *array, size_t size, size_t limit) {
    array[0] = 0;
    return (pdl_buf){array, 0, size, limit, array};
}

/* Appends s. Returns false with PDL_E_limit when the ceiling is passed or there is no memory. Also
 * returns false when the work is cancelled. In both cases the content is unchanged. */
PDL_MUST bool pdl_buf_add(pdl_buf *b, pdl_str s, pdl_err *err);
/* Appends unit `times` times. The errors are those of pdl_buf_add. */
PDL_MUST bool pdl_buf_fill(pdl_buf *b, pdl_str unit, size_t times, pdl_err *err);

/* A writer calls this after each PDL_BUF_CHECK_EVERY further bytes in b. Returns false when the
 * work is cancelled, or when there is no memory with which b can grow. */
enum { PDL_BUF_CHECK_EVERY = 1 << 16 };
PDL_MUST bool pdl_buf_check(const pdl_buf *b, pdl_err *err);

/* Appends s without an error channel. The size of s must be bounded by something already in memory:
 * exceeding the ceiling is a bug of libpdl, and aborts. */
void pdl_buf_put(pdl_buf *b, pdl_str s);
void pdl_buf_putc(pdl_buf *b, char c);
PDL_PRINTF(2, 3) void pdl_buf_putf(pdl_buf *b, const char *fmt, ...);
PDL_PRINTF(2, 0) void pdl_buf_vputf(pdl_buf *b, const char *fmt, va_list ap);
#define PDL_PUT(b, lit) pdl_buf_put((b), PDL_STR(lit))

/* Reserves n more bytes at the end, and returns their address. The caller reports the bytes that it
 * has written with pdl_buf_grown. */
char *pdl_buf_room(pdl_buf *b, size_t n);
static inline void pdl_buf_grown(pdl_buf *b, size_t n) {
    assert(n < b->cap - b->len);
    b->len += n;
    b->p[b->len] = 0;
}

static inline pdl_str pdl_buf_str(const pdl_buf *b) { return (pdl_str){b->p ? b->p : "", b->len}; }

/* Returns the content, NUL-terminated and borrowed. */
static inline const char *pdl_buf_z(const pdl_buf *b) { return b->p ? b->p : ""; }

/* Passes the content, NUL-terminated, to the caller, who frees it. The buffer becomes empty. The
 * result is never NULL. */
char *pdl_buf_take(pdl_buf *b);

/* Empties the buffer, which keeps its memory. */
static inline void pdl_buf_clear(pdl_buf *b) {
    b->len = 0;
    if (b->p) b->p[0] = 0;
}
static inline void pdl_buf_cut(pdl_buf *b, size_t len) {
    if (len < b->len) {
        b->len = len;
        b->p[len] = 0;
    }
}

/* pdl_buf_unlimit and pdl_buf_relimit are for a writer that cannot report an error for each piece.
 * pdl_buf_unlimit removes the ceiling and returns it. pdl_buf_relimit sets it again at the end, and
 * returns false with PDL_E_limit when the text has exceeded the ceiling. When the ceiling was
 * exceeded, or when the writing failed (ok is false), pdl_buf_relimit removes everything after
 * start and returns false. */
static inline size_t pdl_buf_unlimit(pdl_buf *b) {
    size_t limit = b->limit;
    b->limit = PDL_BUF.limit;
    return limit;
}
PDL_MUST bool pdl_buf_relimit(pdl_buf *b, size_t limit, size_t start, bool ok, pdl_err *err);

/* Removes the first n bytes (n <= len). */
void pdl_buf_shift(pdl_buf *b, size_t n);

void pdl_buf_fini(pdl_buf *b);

#endif
