/* arena.h -- region allocator: many small objects that are freed together.
 *
 * A program (source text, nodes, blocks, expressions, bytecode) lives in one arena. A scratch arena
 * is used with marks. The function that sets a mark resets the arena to the mark before it returns,
 * so a scratch arena is empty again before a fiber parks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_ARENA_H
#define PDL_BASE_ARENA_H

#include "base/alloc.h"
#include "base/str.h"

/* Only the functions below read these members. They are in this header because these functions are
 * inlined into inner loops. */
typedef struct pdl_arena {
    char *at, *end; /* the free bytes of the newest chunk */
    struct pdl_arena_chunk *top;
    struct pdl_arena_deferred *deferred;
    size_t total;
} pdl_arena;

enum { PDL_ARENA_ALIGN = 8 };

pdl_arena *pdl_arena_make(void);
void pdl_arena_free(pdl_arena *a); /* NULL is allowed */

/* pdl_arena_get and pdl_arena_raw return n bytes, aligned for pointers, 64-bit integers and
 * doubles. pdl_arena_get fills the bytes with zeros. The bytes live as long as the arena, or until
 * a reset. The result is never NULL. */
static inline void *pdl_arena_get(pdl_arena *a, size_t n);
static inline void *pdl_arena_raw(pdl_arena *a, size_t n);

/* The slow part of pdl_arena_raw, called when the newest chunk is too small for n bytes. */
void *pdl_arena_more(pdl_arena *a, size_t n);

/* Returns n items of size bytes, filled with zeros. The product is checked. */
void *pdl_arena_get_n(pdl_arena *a, size_t n, size_t size);

/* Announces that the next objects take about n bytes. They get one chunk of at most 1 MB, whose
 * pages the system maps at once. A page fault for each page would take twice as long. */
void pdl_arena_expect(pdl_arena *a, size_t n);

/* Copies s into the arena and NUL-terminates the copy. */
pdl_str pdl_arena_str(pdl_arena *a, pdl_str s);

#define pdl_arena_new(a, T)      ((T *)pdl_arena_get((a), sizeof(T)))
#define pdl_arena_new_n(a, T, n) ((T *)pdl_arena_get_n((a), (n), sizeof(T)))

/* Calls fn(p) when the arena is freed, but not on a reset. In this way resources outside of the
 * arena are released with the program. */
void pdl_arena_defer(pdl_arena *a, void (*fn)(void *p), void *p);

typedef struct {
    void *chunk;
    size_t used;
} pdl_mark;

pdl_mark pdl_arena_mark(pdl_arena *a);
void pdl_arena_reset(pdl_arena *a, pdl_mark m);

/* Returns how many bytes the arena has handed out. */
size_t pdl_arena_size(const pdl_arena *a);

static inline void *pdl_arena_raw(pdl_arena *a, size_t n) {
    size_t room = (size_t)(a->end - a->at); /* a multiple of the alignment */
    if (__builtin_expect(n >= room, 0)) return pdl_arena_more(a, n);
    n = (n + PDL_ARENA_ALIGN - 1) & ~(size_t)(PDL_ARENA_ALIGN - 1);
    void *p = a->at;
    a->at += n;
    a->total += n;
    return p;
}

static inline void *pdl_arena_get(pdl_arena *a, size_t n) {
    return memset(pdl_arena_raw(a, n), 0, n);
}

#endif
