/* pool.h -- small blocks of one engine, taken from slabs instead of malloc.
 *
 * Programs make and drop millions of small objects of a few sizes; reusing the block that was
 * released last costs a handful of instructions. A thread enters the pool of the engine it works
 * for. From then on pdl_alloc and the other allocation functions serve small requests from the pool
 * and large ones from malloc. A block knows its slab, so it may be released outside of its pool,
 * inside of another engine's pool, on another thread, and even after its pool was closed. Pools are
 * off in builds that look for memory errors, such as sanitizer and debug builds, and while the
 * embedder has set an allocator. Every block then comes from malloc.
 *
 * Invariants: the address of a block is 8 modulo 16, and addresses from malloc are 0 modulo 16, so
 * one bit distinguishes them. Slabs are pieces of aligned regions, so clearing low bits of an
 * address finds the region, and with it slab and pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_POOL_H
#define PDL_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pdl_pool pdl_pool;

/* Returns NULL where pools are off; every function here accepts NULL. */
pdl_pool *pdl_pool_new(void);

/* Closes a pool. No other thread may be inside, and this one leaves it. The memory is released at
 * once, or with the last block that is in use. */
void pdl_pool_close(pdl_pool *pool);

/* From now on this thread takes small blocks from pool. Returns the previous pool of the thread, or
 * NULL; the caller enters it again at the end. At most one thread is inside of a pool. */
pdl_pool *pdl_pool_enter(pdl_pool *pool);

/* Returns the bytes held by the pool's regions. */
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

enum { PDL_POOL_MAX = 8192 }; /* larger requests are served by malloc */

/* Returns a block of n <= PDL_POOL_MAX bytes from this thread's pool, or from pdl_alloc_system when
 * the thread is in no pool. */
void *pdl_pool_take(size_t n);
void *pdl_alloc_system(size_t n);
void pdl_pool_give(void *p);         /* p is a block of a pool */
size_t pdl_pool_block_size(void *p); /* returns the usable bytes of a pool's block */

#endif
