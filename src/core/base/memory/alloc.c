/* alloc.c -- see alloc.h. This file is the only caller of malloc, realloc and free. Small requests
 * go to the pool that this thread is in (pool.h). The address of a block shows whether the block is
 * from a pool or from malloc.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/machine.h"
#include "base/pool.h"

/* The embedder sets on_oom and custom before threads exist. */
static pdl_oom_fn *on_oom;   /* the embedder's handler; may be NULL */
static pdl_allocator custom; /* all-zero: malloc */

void pdl_alloc_on_oom(pdl_oom_fn *fn) { on_oom = fn; }
void pdl_alloc_from(const pdl_allocator *a) { custom = a ? *a : (pdl_allocator){0}; }
bool pdl_alloc_is_custom(void) { return custom.alloc != NULL; }

static _Thread_local pdl_alloc_watch watch;

pdl_alloc_watch pdl_alloc_set_watch(pdl_alloc_watch w) {
    pdl_alloc_watch before = watch;
    watch = w;
    return before;
}

void pdl_out_of_memory(size_t size) {
    pdl_alloc_watch w =
        /* the report of the watch may run out of memory, too */
        pdl_alloc_set_watch((pdl_alloc_watch){0});
    if (w.last_words)
        w.last_words(w.user, size);
    else
        fprintf(stderr, "pdl: error: out of memory (%zu bytes asked for)\n", size);
    exit(
        /* this runs the exit handlers, which flush output and end children */
        1);
}

/* --- what the machine has left ------------------------------------------------------------------
 *
 * malloc rarely fails on Linux: the process is killed instead, once it uses what it was promised.
 * So a thread checks what the machine has left each time it has taken STEP bytes. When hardly
 * anything is left, pdl_alloc_low is true and the current operation ends with an error. */

enum { STEP = 32 << 20, MIN_LEFT = 48 << 20 };

static _Thread_local size_t taken;
_Thread_local bool pdl_alloc_low;

PDL_COLD static void look(void) {
    size_t n = taken;
    taken = 0;
    pdl_alloc_low = pdl_machine_left(n) < MIN_LEFT;
}

void pdl_alloc_note(size_t n) {
    taken += n < STEP ? n : STEP;
    if (PDL_UNLIKELY(taken >= STEP)) look();
}

/* --- malloc ----------------------------------------------------------------------------------- */

static void *resize(void *p, size_t n) {
    return PDL_LIKELY(!custom.alloc) ? realloc(p, n) : custom.resize(p, n);
}

/* Asks the handler and the watch for memory and tries again: p (or NULL) is resized to n > 0 bytes
 * after the first attempt failed. */
PDL_COLD static void *ask_again(void *p, size_t n) {
    while ((on_oom && on_oom(n)) || (watch.give && watch.give(watch.user, n))) {
        void *q = resize(p, n);
        if (q) return q;
    }
    pdl_out_of_memory(n);
}

static bool is_pooled(const void *p) { return PDL_POOLS && ((uintptr_t)p & 8) != 0; }

void *pdl_alloc_system(size_t n) {
    n += n == 0;
    pdl_alloc_note(n);
    void *p = PDL_LIKELY(!custom.alloc) ? malloc(n) : custom.alloc(n);
    return PDL_LIKELY(p != NULL) ? p : ask_again(NULL, n);
}

void *pdl_alloc(size_t n) {
    return PDL_POOLS && n <= PDL_POOL_MAX ? pdl_pool_take(n) : pdl_alloc_system(n);
}

void *pdl_calloc(size_t n, size_t size) {
    size_t bytes;
    if (PDL_MUL_OVERFLOWS(n, size, &bytes)) pdl_out_of_memory((size_t)-1);
    if (bytes <= PDL_POOL_MAX || custom.alloc) return memset(pdl_alloc(bytes), 0, bytes);
    void *p = calloc(1, bytes); /* a large block consists of fresh pages, which are zero */
    return PDL_LIKELY(p != NULL) ? p : memset(ask_again(NULL, bytes), 0, bytes);
}

/* Resizes a block of a pool. The block moves when n does not fit, or when it would waste more than
 * half. */
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
    n += n == 0;
    void *q = resize(p, n);
    return PDL_LIKELY(q != NULL) ? q : ask_again(p, n);
}

void *pdl_realloc_n(void *p, size_t n, size_t size) {
    size_t bytes;
    if (PDL_MUL_OVERFLOWS(n, size, &bytes)) pdl_out_of_memory((size_t)-1);
    return pdl_realloc(p, bytes);
}

void *pdl_alloc_try(size_t n) { return resize(NULL, n); }

void pdl_alloc_touch(void *p, size_t n) {
#ifdef MADV_POPULATE_WRITE
    enum { PAGE = 4096 }; /* when pages are larger than this the call fails, which does no harm */
    uintptr_t from = ((uintptr_t)p + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    uintptr_t to = ((uintptr_t)p + n) & ~(uintptr_t)(PAGE - 1);
    if (to > from) (void)madvise((void *)from, to - from, MADV_POPULATE_WRITE);
#else
    (void)p, (void)n;
#endif
}

bool pdl_alloc_has_room(size_t n) {
    if (n < PDL_ALLOC_LARGE) return true;
    pdl_alloc_note(n);
    if (pdl_alloc_low || (n >= STEP && n > pdl_machine_left(0))) return false;
    void *p = resize(NULL, n);
    if (!p) return false;
    pdl_free(p);
    return true;
}

void pdl_free(void *p) {
    if (is_pooled(p))
        pdl_pool_give(p);
    else if (PDL_LIKELY(!custom.alloc))
        free(p);
    else
        custom.release(p);
}

/* --- an allocator that fails once ------------------------------------------------------------- */

static atomic_long until_failure;

static bool fails(void) { return atomic_fetch_sub(&until_failure, 1) == 1; }
static void *failing_alloc(size_t n) { return fails() ? NULL : malloc(n); }
static void *failing_resize(void *p, size_t n) { return fails() ? NULL : realloc(p, n); }

void pdl_alloc_fail_at(long n) {
    (void)pdl_pool_enter(NULL); /* a pool would serve requests that are not counted here */
    atomic_store(&until_failure, n);
    pdl_alloc_from(&(pdl_allocator){failing_alloc, failing_resize, free});
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
