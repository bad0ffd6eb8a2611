/* pool.c -- see pool.h. Regions of 2 MB are cut into slabs of 64 KB, a slab into blocks of one
 * size.
 *
 * A slab of a pool is in one of four states. It is free (its bit in region.vacant is set), current
 * (blocks of its class are taken from it), waiting (it has free blocks and is in the list of its
 * class), or full (it is in no list). When a block of a full slab is released, the slab waits
 * again. The headers of a region's slabs are adjacent, so that they do not compete for one set of
 * the processor's cache.
 *
 * The warm list of each class holds the blocks that were released last. They are handed out before
 * blocks of a slab, the last one first, because they are still in the processor's cache. Without
 * warm lists, a batch with thousands of rows in flight took blocks from the current slab, while the
 * blocks of a row that had just ended returned to slabs all over the pool. A slab counts a block in
 * a warm list as live.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os.h"

#include "base/banned.h"

enum {
    GRAIN = 16, /* the small block sizes are multiples of this */
    FINE = 512, /* the largest small size */
    /* the distance between the larger sizes; a run or a model call needs a few blocks of each of
     * them */
    STEP = 256,
    CLASSES = FINE / GRAIN + 1 + (PDL_POOL_MAX - FINE) / STEP,
    OFFSET = 8, /* the address of every block is this, modulo GRAIN */
    REGION = 1 << 21,
    SLAB = 1 << 16,
    SLABS = REGION / SLAB,
    /* number of bytes that are made into blocks at a time, because memory that is not touched costs
     * nothing */
    BATCH = 2048,
    SMALL_POOL =
        /* A pool with more regions asks for huge pages, because a page fault for each 4 KB is
         * slow. */
    4,
    SPARES = 4, /* number of vacant regions that are kept, because mapping a new one is slow */
    WARM = 128, /* number of blocks of a small size that a warm list holds */
    WARM_LARGE = 16,
};
static_assert(SLABS == 32, "region.vacant has a bit for each slab");
static_assert(FINE % GRAIN == 0 && STEP % GRAIN == 0 && (PDL_POOL_MAX - FINE) % STEP == 0,
              "classes end at the maximum");

typedef struct block {
    struct block *next;
} block;

typedef struct slab {
    block *ready;      /* free blocks */
    char *fresh, *end; /* memory that was not made into blocks yet */
    uint32_t live;     /* number of blocks that are in use */
    uint16_t class;
    bool full;
    struct slab *next, *prev; /* used while the slab waits */
} slab;

/* The head of a region is at the start of its 2 MB; slab 0 follows it. */
typedef struct region {
    pdl_pool *pool;
    uint32_t vacant;
    struct region *next, *prev; /* links of the list of all regions of the pool */
    slab slabs[SLABS];
} region;

/* The blocks that were released last, the last one first. */
typedef struct warm_list {
    block *first;
    size_t room; /* number of further blocks that fit into the list */
} warm_list;

struct pdl_pool {
    warm_list warm[CLASSES];
    slab *current[CLASSES]; /* `none` until the first block of the class */
    slab *waiting[CLASSES];
    region *regions;
    size_t n_regions;
    region *roomy;   /* the region at which the search for a vacant slab begins; may be NULL */
    size_t n_vacant; /* number of regions that have no slab in use */
    /* The lock protects what other threads released, and the end of the pool. */
    pthread_mutex_t lock;
    _Atomic(block *) strays; /* written under the lock, read without it */
    bool closed;
    size_t left; /* after closing: number of blocks that are still in use */
};

static slab none; /* a slab without blocks, which never changes */
static _Thread_local pdl_pool *here;

/* --- places ----------------------------------------------------------------------------------- */

static region *region_of(const void *p) {
    return (region *)((uintptr_t)p & ~(uintptr_t)(REGION - 1));
}

static slab *slab_of(const void *p) {
    return &region_of(p)->slabs[((uintptr_t)p & (REGION - 1)) / SLAB];
}

static size_t class_of(size_t n) {
    return n <= FINE ? (n + GRAIN - 1) / GRAIN : FINE / GRAIN + (n - FINE + STEP - 1) / STEP;
}
static size_t block_size(size_t class) {
    if (class > FINE / GRAIN) return FINE + (class - FINE / GRAIN) * STEP;
    return class ? class * GRAIN : GRAIN;
}

/* --- regions ---------------------------------------------------------------------------------- */

/* Returns REGION bytes at a multiple of REGION; NULL when there is no memory. */
static void *map_region(void) {
    void *p = pdl_os_map(REGION);
    if (p) pdl_alloc_note(REGION);
    return p;
}

static region *region_new(pdl_pool *pool) {
    region *r = map_region();
    if (!r) return NULL;
    if (pool->n_regions >= SMALL_POOL) pdl_os_use_large_pages(r, REGION);
    r->pool = pool;
    r->vacant = UINT32_MAX;
    r->next = pool->regions;
    if (r->next) r->next->prev = r;
    pool->regions = r;
    pool->n_regions++;
    pool->n_vacant++;
    return r;
}

static void region_free(pdl_pool *pool, region *r) {
    if (pool->roomy == r) pool->roomy = NULL;
    if (r->prev)
        r->prev->next = r->next;
    else
        pool->regions = r->next;
    if (r->next) r->next->prev = r->prev;
    pool->n_regions--;
    pdl_os_unmap(r, REGION);
}

static region *find_roomy(pdl_pool *pool) {
    if (pool->roomy && pool->roomy->vacant) return pool->roomy;
    for (region *r = pool->regions; r; r = r->next)
        if (r->vacant) return r;
    return region_new(pool);
}

/* --- slabs ------------------------------------------------------------------------------------ */

static slab *slab_new(pdl_pool *pool, size_t class) {
    region *r = pool->roomy = find_roomy(pool);
    if (!r) return NULL;
    if (r->vacant == UINT32_MAX) pool->n_vacant--;
    size_t i = (size_t)__builtin_ctz(r->vacant);
    r->vacant &= r->vacant - 1;
    char *start = (char *)r + i * SLAB;
    slab *s = &r->slabs[i];
    *s = (slab){.fresh = start + OFFSET, .end = start + SLAB, .class = (uint16_t) class};
    if (i == 0) s->fresh += (sizeof *r + GRAIN - 1) / GRAIN * GRAIN;
    return s;
}

static void wait_in_list(pdl_pool *pool, slab *s) {
    s->prev = NULL;
    s->next = pool->waiting[s->class];
    if (s->next) s->next->prev = s;
    pool->waiting[s->class] = s;
}

static void leave_list(pdl_pool *pool, slab *s) {
    if (s->prev)
        s->prev->next = s->next;
    else
        pool->waiting[s->class] = s->next;
    if (s->next) s->next->prev = s->prev;
}

/* Takes a waiting slab that has no blocks in use out of its class, so that every class
 * can use it. */
static void slab_free(pdl_pool *pool, slab *s) {
    region *r = region_of(s);
    leave_list(pool, s);
    r->vacant |= (uint32_t)1 << (s - r->slabs);
    pool->roomy = r;
    if (r->vacant != UINT32_MAX) return;
    if (pool->n_vacant == SPARES)
        region_free(pool, r);
    else
        pool->n_vacant++;
}

/* Makes blocks from the part of s that was never used. Returns false when s has no such part
 * left. */
static bool refill(slab *s) {
    size_t size = block_size(s->class), n = (size_t)(s->end - s->fresh) / size;
    if (!n) return false;
    if (n > BATCH / size) n = size < BATCH ? BATCH / size : 1;
    char *p = s->fresh;
    s->fresh += n * size;
    s->ready = (block *)(void *)p;
    for (; n > 1; n--, p += size) ((block *)(void *)p)->next = (block *)(void *)(p + size);
    ((block *)(void *)p)->next = NULL;
    return true;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void *take_from(slab *s) {
    block *b = s->ready;
    s->ready = b->next;
    s->live++;
    return b;
}

/* Called after a block was released, when its slab was full before, or has no block in use any
 * more. */
PDL_COLD static void settle(pdl_pool *pool, slab *s) {
    if (s == pool->current[s->class]) return;
    if (s->full) {
        s->full = false;
        wait_in_list(pool, s);
    }
    if (!s->live) slab_free(pool, s);
}

static inline void give_back(pdl_pool *pool, void *p) {
    slab *s = slab_of(p);
    block *b = p;
    b->next = s->ready;
    s->ready = b;
    s->live--;
    if (PDL_UNLIKELY(!s->live || s->full)) settle(pool, s);
}

/* Releases a block of the pool in which this thread is. */
static inline void give_here(pdl_pool *pool, void *p) {
    warm_list *w = &pool->warm[slab_of(p)->class];
    if (PDL_UNLIKELY(!w->room)) {
        give_back(pool, p);
        return;
    }
    block *b = p;
    b->next = w->first;
    w->first = b;
    w->room--;
}

static void return_warm(pdl_pool *pool) {
    for (warm_list *w = pool->warm; w < pool->warm + CLASSES; w++)
        for (block *b; (b = w->first); w->room++) {
            w->first = b->next;
            give_back(pool, b);
        }
}

/* Takes over the blocks that other threads released. */
static void gather(pdl_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    block *b = atomic_exchange(&pool->strays, NULL);
    pthread_mutex_unlock(&pool->lock);
    while (b) {
        block *next = b->next;
        give_back(pool, b);
        b = next;
    }
}

/* Called when the current slab of the class has no block left. */
PDL_COLD static void *take_slowly(pdl_pool *pool, size_t n) {
    size_t class = class_of(n);
    slab *s = pool->current[class];
    if (s != &none) {
        if (refill(s)) return take_from(s);
        s->full = true;
        pool->current[class] = &none;
    }
    if (!pool->waiting[class] && atomic_load_explicit(&pool->strays, memory_order_relaxed))
        gather(pool);
    if (pool->waiting[class]) {
        s = pool->waiting[class];
        leave_list(pool, s);
    } else if (!(s = slab_new(pool, class))) {
        return pdl_alloc_system(n);
    }
    pool->current[class] = s;
    return s->ready || refill(s) ? take_from(s) : pdl_alloc_system(n);
}

void *pdl_pool_take(size_t n) {
    pdl_pool *pool = here;
    if (!pool) return pdl_alloc_system(n);
    size_t class = class_of(n);
    warm_list *w = &pool->warm[class];
    block *b = w->first;
    if (PDL_LIKELY(b != NULL)) {
        w->first = b->next;
        w->room++;
        return b;
    }
    slab *s = pool->current[class];
    return PDL_LIKELY(s->ready != NULL) ? take_from(s) : take_slowly(pool, n);
}

static void destroy(pdl_pool *pool) {
    while (pool->regions) region_free(pool, pool->regions);
    pthread_mutex_destroy(&pool->lock);
    pdl_free(pool);
}

/* Releases a block of a pool in which this thread is not. */
PDL_COLD static void give_away(pdl_pool *pool, void *p) {
    block *b = p;
    pthread_mutex_lock(&pool->lock);
    bool last = pool->closed && --pool->left == 0;
    b->next = atomic_load(&pool->strays);
    atomic_store(&pool->strays, b);
    pthread_mutex_unlock(&pool->lock);
    if (last) destroy(pool);
}

void pdl_pool_give(void *p) {
    pdl_pool *pool = region_of(p)->pool;
    if (PDL_LIKELY(pool == here))
        give_here(pool, p);
    else
        give_away(pool, p);
}

size_t pdl_pool_block_size(void *p) { return block_size(slab_of(p)->class); }

/* --- pools ------------------------------------------------------------------------------------ */

pdl_pool *pdl_pool_new(void) {
    if (!PDL_POOLS || pdl_alloc_is_custom()) return NULL;
    /* the new pool is not allocated in the current pool, which may be closed before it */
    pdl_pool *before = pdl_pool_enter(NULL);
    pdl_pool *pool = PDL_NEW(pdl_pool);
    pdl_pool_enter(before);
    pthread_mutex_init(&pool->lock, NULL);
    for (size_t i = 0; i < CLASSES; i++) {
        pool->warm[i].room = i <= FINE / GRAIN ? WARM : WARM_LARGE;
        pool->current[i] = &none;
    }
    return pool;
}

pdl_pool *pdl_pool_enter(pdl_pool *pool) {
    pdl_pool *before = here;
    here = pool;
    return before;
}

static size_t count_live(const pdl_pool *pool) {
    size_t n = 0;
    for (const region *r = pool->regions; r; r = r->next)
        for (size_t i = 0; i < SLABS; i++)
            if (!(r->vacant >> i & 1)) n += r->slabs[i].live;
    return n;
}

void pdl_pool_close(pdl_pool *pool) {
    if (!pool) return;
    if (here == pool) here = NULL;
    return_warm(pool);
    gather(pool);
    pthread_mutex_lock(&pool->lock);
    pool->closed = true;
    pool->left = count_live(pool);
    for (block *b = atomic_load(&pool->strays); b; b = b->next) pool->left--;
    bool last = pool->left == 0;
    pthread_mutex_unlock(&pool->lock);
    if (last) destroy(pool);
}

size_t pdl_pool_size(const pdl_pool *pool) { return pool ? pool->n_regions * REGION : 0; }
