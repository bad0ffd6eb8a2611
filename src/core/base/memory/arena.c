/* arena.c -- allocates many small objects that are freed together; see arena.h.
 *
 * Chunks double in size, up to a bound, so that a small program takes little memory and a large one
 * has few chunks. A large object gets its own chunk.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>

#include "base/banned.h"

enum { FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 20, ALIGN = PDL_ARENA_ALIGN };
static_assert(alignof(void *) <= ALIGN && alignof(int64_t) <= ALIGN && alignof(double) <= ALIGN,
              "what is kept in arenas");

typedef struct pdl_arena_chunk {
    struct pdl_arena_chunk *prev;
    size_t cap; /* a multiple of ALIGN */
    alignas(ALIGN) char data[];
} chunk;

typedef struct pdl_arena_deferred {
    struct pdl_arena_deferred *prev;
    void (*fn)(void *p);
    void *p;
} deferred;

/* Returns true when the free bytes are the end of the newest chunk. */
static inline bool arena_ok(const pdl_arena *a) {
    if (!a->top) return !a->at && !a->end;
    return a->end == a->top->data + a->top->cap && a->at >= a->top->data && a->at <= a->end &&
           (size_t)(a->at - a->top->data) % ALIGN == 0;
}

/* Uses the newest chunk from its byte `used` on. */
static void use_top(pdl_arena *a, size_t used) {
    a->at = a->top ? a->top->data + used : NULL;
    a->end = a->top ? a->top->data + a->top->cap : NULL;
}

static void add_chunk_of(pdl_arena *a, size_t cap) {
    assert(cap <= (size_t)-1 - sizeof(chunk) && cap % ALIGN == 0);
    chunk *c = pdl_alloc(sizeof(chunk) + cap);
    c->prev = a->top;
    c->cap = cap;
    a->top = c;
    use_top(a, 0);
}

static void add_chunk(pdl_arena *a, size_t need) {
    size_t cap = a->top ? a->top->cap * 2 : FIRST_CHUNK;
    if (cap > LARGEST_CHUNK) cap = LARGEST_CHUNK;
    add_chunk_of(a, cap < need ? need : cap);
}

void pdl_arena_expect(pdl_arena *a, size_t n) {
    assert(arena_ok(a));
    if (n < FIRST_CHUNK || n <= (size_t)(a->end - a->at)) return;
    n = n > LARGEST_CHUNK ? LARGEST_CHUNK : (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    add_chunk_of(a, n);
    pdl_alloc_touch(a->at, n);
}

pdl_arena *pdl_arena_make(void) { return PDL_NEW(pdl_arena); }

void pdl_arena_free(pdl_arena *a) {
    if (!a) return;
    for (deferred *d = a->deferred; d; d = d->prev) d->fn(d->p);
    for (chunk *c = a->top; c;) {
        chunk *prev = c->prev;
        pdl_free(c);
        c = prev;
    }
    pdl_free(a);
}

void *pdl_arena_more(pdl_arena *a, size_t n) {
    assert(arena_ok(a));
    if (n > (size_t)-1 - 2 * ALIGN) PDL_BUG("arena object of %zu bytes", n);
    n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!a->top || (size_t)(a->end - a->at) < n) add_chunk(a, n);
    void *p = a->at;
    a->at += n;
    a->total += n;
    return p;
}

void *pdl_arena_get_n(pdl_arena *a, size_t n, size_t size) {
    assert(arena_ok(a));
    size_t bytes;
    if (PDL_MUL_OVERFLOWS(n, size, &bytes)) PDL_BUG("arena array of %zu items", n);
    return pdl_arena_get(a, bytes);
}

pdl_str pdl_arena_str(pdl_arena *a, pdl_str s) {
    assert(arena_ok(a));
    assert(s.p || !s.n);
    char *p = pdl_arena_raw(a, s.n + 1);
    if (s.n) memcpy(p, s.p, s.n);
    p[s.n] = 0;
    return (pdl_str){p, s.n};
}

void pdl_arena_defer(pdl_arena *a, void (*fn)(void *p), void *p) {
    assert(arena_ok(a));
    assert(fn);
    deferred *d = pdl_arena_new(a, deferred);
    *d = (deferred){a->deferred, fn, p};
    a->deferred = d;
}

pdl_mark pdl_arena_mark(pdl_arena *a) {
    assert(arena_ok(a));
    return (pdl_mark){a->top, a->top ? (size_t)(a->at - a->top->data) : 0};
}

void pdl_arena_reset(pdl_arena *a, pdl_mark m) {
    assert(arena_ok(a));
    while (a->top && a->top != m.chunk) {
        chunk *prev = a->top->prev;
        pdl_free(a->top);
        a->top = prev;
    }
    /* the mark belongs to this arena, and no older mark was reset before it */
    assert(a->top == m.chunk);
    use_top(a, m.used);
}

size_t pdl_arena_size(const pdl_arena *a) { return a->total; }
