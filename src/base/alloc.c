/* alloc.c -- see alloc.h. The only caller of malloc, realloc and free. */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both set by the embedder before threads exist. */
static pdl_oom_fn *on_oom;   /* its last words */
static pdl_allocator custom; /* all-zero: malloc */

void pdl_alloc_on_oom(pdl_oom_fn *fn) { on_oom = fn; }
void pdl_alloc_from(const pdl_allocator *a) { custom = a ? *a : (pdl_allocator){0}; }

PDL_NORETURN PDL_COLD static void out_of_memory(size_t n) {
    if (on_oom) on_oom(n);
    fprintf(stderr, "pdl: error: out of memory (%zu bytes asked for)\n", n);
    exit(1);
}

void *pdl_alloc(size_t n) {
    void *p = PDL_LIKELY(!custom.alloc) ? malloc(n ? n : 1) : custom.alloc(n ? n : 1);
    if (PDL_UNLIKELY(!p)) out_of_memory(n);
    return p;
}

/* Zeroed memory of the embedder's. */
static void *custom_calloc(size_t n, size_t size) {
    size_t bytes;
    if (PDL_MUL_OVERFLOWS(n, size, &bytes)) out_of_memory((size_t)-1);
    void *p = custom.alloc(bytes ? bytes : 1);
    if (!p) out_of_memory(bytes);
    return memset(p, 0, bytes);
}

void *pdl_calloc(size_t n, size_t size) {
    if (PDL_UNLIKELY(custom.alloc != NULL)) return custom_calloc(n, size);
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (PDL_UNLIKELY(!p)) out_of_memory(n);
    return p;
}

void *pdl_realloc(void *p, size_t n) {
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
    if (PDL_LIKELY(!custom.alloc)) free(p);
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
