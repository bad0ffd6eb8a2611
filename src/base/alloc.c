/* alloc.c -- see alloc.h. The only caller of malloc, realloc and free. Small requests go to the pool that this thread
 * is in (pool.h); the address of a block tells where it came from. */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"

/* Both set by the embedder before threads exist. */
static pdl_oom_fn *on_oom;   /* its last words */
static pdl_allocator custom; /* all-zero: malloc */

void pdl_alloc_on_oom(pdl_oom_fn *fn) { on_oom = fn; }
void pdl_alloc_from(const pdl_allocator *a) { custom = a ? *a : (pdl_allocator){0}; }
bool pdl_alloc_is_custom(void) { return custom.alloc != NULL; }

PDL_NORETURN PDL_COLD static void out_of_memory(size_t n) {
    if (on_oom) on_oom(n);
    fprintf(stderr, "pdl: error: out of memory (%zu bytes asked for)\n", n);
    exit(1);
}

static bool is_pooled(const void *p) { return PDL_POOLS && ((uintptr_t)p & 8) != 0; }

void *pdl_alloc_system(size_t n) {
    void *p = PDL_LIKELY(!custom.alloc) ? malloc(n ? n : 1) : custom.alloc(n ? n : 1);
    if (PDL_UNLIKELY(!p)) out_of_memory(n);
    return p;
}

void *pdl_alloc(size_t n) { return PDL_POOLS && n <= PDL_POOL_MAX ? pdl_pool_take(n) : pdl_alloc_system(n); }

void *pdl_calloc(size_t n, size_t size) {
    size_t bytes;
    if (PDL_MUL_OVERFLOWS(n, size, &bytes)) out_of_memory((size_t)-1);
    if (bytes <= PDL_POOL_MAX || custom.alloc) return memset(pdl_alloc(bytes), 0, bytes);
    void *p = calloc(1, bytes); /* large: fresh pages are zero already */
    if (PDL_UNLIKELY(!p)) out_of_memory(bytes);
    return p;
}

/* A pool's block moves when it does not fit or would waste more than half. */
static void *resize_pooled(void *p, size_t n) {
    size_t size = pdl_pool_block_size(p);
    if (n <= size && n >= size / 2) return p;
    void *q = pdl_alloc(n);
    memcpy(q, p, n < size ? n : size);
    pdl_pool_give(p);
    return q;
}

void *pdl_realloc(void *p, size_t n) {
    if (is_pooled(p)) return resize_pooled(p, n);
    if (!p) return pdl_alloc(n);
    void *q = PDL_LIKELY(!custom.alloc) ? realloc(p, n ? n : 1) : custom.resize(p, n ? n : 1);
    if (PDL_UNLIKELY(!q)) out_of_memory(n);
    return q;
}

void *pdl_realloc_n(void *p, size_t n, size_t size) {
    size_t bytes;
    if (PDL_MUL_OVERFLOWS(n, size, &bytes)) out_of_memory((size_t)-1);
    return pdl_realloc(p, bytes);
}

void pdl_free(void *p) {
    if (is_pooled(p)) pdl_pool_give(p);
    else if (PDL_LIKELY(!custom.alloc)) free(p);
    else custom.release(p);
}

void pdl_bug(const char *file, int line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s:%d: bug: ", file, line);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}
