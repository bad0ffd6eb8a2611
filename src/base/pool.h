/* pool.h -- small blocks of one engine, taken from slabs instead of malloc.
 *
 * Programs make and drop millions of small objects of a few sizes; handing out the block that was
 * released last costs a handful of instructions. A thread enters the pool of the engine it works
 * for; pdl_alloc and its like then serve small requests from there, and malloc serves everything
 * else. A block knows the slab it came from, so it may be released anywhere: outside, under another
 * engine's pool, on another thread, after its pool was closed.
 *
 * Pools are off, so that every block is malloc's own, in builds that look for memory errors
 * (sanitizers, debug builds) and while the embedder has set an allocator.
 *
 * Invariants: a block's address is 8 modulo 16 and malloc's are 0, so one bit tells them apart;
 * slabs are pieces of aligned regions, so clearing low bits finds the region, and with it slab and
 * pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_POOL_H
#define PDL_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pdl_pool pdl_pool;

/* NULL where pools are off; every function here takes that. */
pdl_pool *pdl_pool_new(void);

/* No other thread is inside, this one leaves. Gives back the memory at once, or when the last block
 * is released. */
void pdl_pool_close(pdl_pool *pool);

/* This thread's small blocks come from pool until it enters another. Returns the one it was in
 * (NULL: none), to be entered again at the end. A pool has at most one thread inside. */
pdl_pool *pdl_pool_enter(pdl_pool *pool);

/* Bytes held by the pool's regions. */
size_t pdl_pool_size(const pdl_pool *pool);

/* --- for alloc.c ------------------------------------------------------------------------------ */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) /* gcc's names */
#define PDL_SANITIZED 1
#elif defined(__has_feature) /* clang's */
#define PDL_SANITIZED                                                                              \
    (__has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||                        \
     __has_feature(thread_sanitizer))
#else
#define PDL_SANITIZED 0
#endif
#if defined(NDEBUG) && !PDL_SANITIZED && __BIGGEST_ALIGNMENT__ >= 16
#define PDL_POOLS 1
#else
#define PDL_POOLS 0
#endif

enum { PDL_POOL_MAX = 512 }; /* larger requests are malloc's */

/* A block of n <= PDL_POOL_MAX bytes of this thread's pool; pdl_alloc_system's when it is in
 * none. */
void *pdl_pool_take(size_t n);
void *pdl_alloc_system(size_t n);
void pdl_pool_give(void *p);         /* p is a pool's block */
size_t pdl_pool_block_size(void *p); /* usable bytes of a pool's block */

#endif
