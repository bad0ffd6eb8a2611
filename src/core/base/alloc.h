/* alloc.h -- allocation that never returns NULL.
 *
 * Callers do not handle running out of memory. When malloc fails, the embedder's handler is called
 * first, then the watch of this thread. A run sets the watch, which releases memory that was kept
 * in reserve, so that the failure becomes an error of the program. When neither can release memory,
 * the process writes a line to standard error and ends with exit status 1. To make this rare,
 * everything that grows with input has a ceiling (limits.h). Only alloc.c calls malloc, realloc and
 * free.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_ALLOC_H
#define PDL_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PDL_MUST         __attribute__((warn_unused_result))
#define PDL_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define PDL_NORETURN     __attribute__((noreturn))
#define PDL_COLD         __attribute__((cold, noinline))
/* Keeps the function's frame out of a recursive caller. */
#define PDL_APART                    __attribute__((noinline))
#define PDL_LIKELY(x)                __builtin_expect(!!(x), 1)
#define PDL_UNLIKELY(x)              __builtin_expect(!!(x), 0)
#define PDL_ADD_OVERFLOWS(a, b, out) __builtin_add_overflow(a, b, out)
#define PDL_SUB_OVERFLOWS(a, b, out) __builtin_sub_overflow(a, b, out)
#define PDL_MUL_OVERFLOWS(a, b, out) __builtin_mul_overflow(a, b, out)
#else
#error "gcc or clang is needed"
#endif

/* Returns new memory of n bytes, whose content is undefined. n may be 0. The caller releases it
 * with pdl_free. */
void *pdl_alloc(size_t n);

/* Returns new memory of n items of `size` bytes, filled with zeros. The product is checked. */
void *pdl_calloc(size_t n, size_t size);

/* Resizes the memory p (or NULL) to n bytes. Takes ownership of p. */
void *pdl_realloc(void *p, size_t n);

/* Resizes the memory p (or NULL) to n items of size bytes; the product is checked. Takes ownership
 * of p. */
void *pdl_realloc_n(void *p, size_t n, size_t size);

/* Returns true when n more bytes can be allocated. A caller that is about to make something large
 * asks first, because an error of the program is better than the end of the process. Small requests
 * need not ask. */
enum { PDL_ALLOC_LARGE = 1 << 20 }; /* bytes; smaller requests need no such check */
bool pdl_alloc_has_room(size_t n);

/* Notes that this thread took n bytes from the system. Now and then the thread then checks how much
 * memory the machine has left. */
void pdl_alloc_note(size_t n);
/* True when the machine had hardly any memory left at the last check of this thread. The work of
 * the thread then ends with an error (base/cancel.h); the code that raises the error sets this to
 * false. */
extern _Thread_local bool pdl_alloc_low;

/* Releases p. NULL is allowed. */
void pdl_free(void *p);

#define PDL_NEW(T)      ((T *)pdl_calloc(1, sizeof(T)))
#define PDL_NEW_N(T, n) ((T *)pdl_calloc((n), sizeof(T)))

/* Called with the failed size when memory runs out. Returns true when it has released memory; the
 * allocation is then tried again. pdl_alloc_on_oom(NULL) removes the handler. */
typedef bool pdl_oom_fn(size_t size);
void pdl_alloc_on_oom(pdl_oom_fn *fn);

/* The watch of this thread is called after the handler above. With all members NULL there is no
 * watch. */
typedef struct pdl_alloc_watch {
    /* returns true when some memory was released, so the allocation is tried again */
    bool (*give)(void *user, size_t size);
    /* called in place of writing the line to standard error; the process ends after the call */
    void (*last_words)(void *user, size_t size);
    void *user;
} pdl_alloc_watch;
/* Returns the previous watch, which the caller sets again at the end. */
pdl_alloc_watch pdl_alloc_set_watch(pdl_alloc_watch w);

/* Asks the system to provide the pages of the n bytes at p now, because all of them will soon be
 * written. */
void pdl_alloc_touch(void *p, size_t n);

/* Makes the processor fetch the n bytes at p into its second-level cache, because they will soon be
 * read. The first-level cache does not change. p need not be valid. */
static inline void pdl_prefetch(const void *p, size_t n) {
    enum { LINE = 64 };
    for (size_t i = 0; i < n; i += LINE) __builtin_prefetch((const void *)((uintptr_t)p + i), 0, 2);
}

/* Returns n bytes, or NULL when the system has no more memory. The reserve that runs share is
 * allocated with this function. */
void *pdl_alloc_try(size_t n);

/* Ends the process because memory ran out. Libraries that allocate by themselves use this
 * function. */
PDL_NORETURN PDL_COLD void pdl_out_of_memory(size_t size);

/* Makes allocation number n, counted from now, fail once (PDL_STRESS=alloc:N). Applies to the whole
 * process and replaces the allocator that pdl_alloc_from set. */
void pdl_alloc_fail_at(long n);

/* pdl_alloc_from replaces malloc for the whole process. NULL restores malloc. The embedder calls it
 * before anything is allocated. */
typedef struct pdl_allocator {
    /* n is positive; the result is aligned like that of malloc */
    void *(*alloc)(size_t n);
    void *(*resize)(void *p, size_t n); /* p may be NULL, n > 0 */
    void (*release)(void *p);           /* p may be NULL */
} pdl_allocator;
void pdl_alloc_from(const pdl_allocator *a);
bool pdl_alloc_is_custom(void);

/* Prints file:line and aborts. Called when an invariant of the library is broken, and never for
 * wrong input. */
PDL_NORETURN PDL_COLD PDL_PRINTF(3, 4) void pdl_bug(const char *file, int line, const char *fmt,
                                                    ...);
#define PDL_BUG(...) pdl_bug(__FILE__, __LINE__, __VA_ARGS__)

#endif
