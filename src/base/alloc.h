/* alloc.h -- allocation that never returns NULL.
 *
 * Running out of memory is not an error that callers handle: the handler installed by the embedder
 * is called, then what works on the thread (a run keeps some aside, and turns the failure into an
 * error of its program); when nobody has anything to give back the process ends with its last words
 * on standard error and exit status 1. In exchange everything that grows with input has a ceiling
 * (limits.h). Nobody outside alloc.c calls malloc, realloc or free.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_ALLOC_H
#define PDL_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__GNUC__)
#define PDL_MUST         __attribute__((warn_unused_result))
#define PDL_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define PDL_NORETURN     __attribute__((noreturn))
#define PDL_COLD         __attribute__((cold, noinline))
/* keeps its frame out of a recursion that calls it */
#define PDL_APART                    __attribute__((noinline))
#define PDL_LIKELY(x)                __builtin_expect(!!(x), 1)
#define PDL_UNLIKELY(x)              __builtin_expect(!!(x), 0)
#define PDL_ADD_OVERFLOWS(a, b, out) __builtin_add_overflow(a, b, out)
#define PDL_SUB_OVERFLOWS(a, b, out) __builtin_sub_overflow(a, b, out)
#define PDL_MUL_OVERFLOWS(a, b, out) __builtin_mul_overflow(a, b, out)
#else
#error "gcc or clang is needed"
#endif

/* Fresh memory of n bytes (n may be 0), contents undefined. Release with pdl_free. */
void *pdl_alloc(size_t n);

/* Fresh memory of n items of size bytes, all zero; the product is checked. */
void *pdl_calloc(size_t n, size_t size);

/* Memory p (or NULL) resized to n bytes; takes p. */
void *pdl_realloc(void *p, size_t n);

/* Memory p (or NULL) resized to n items of size bytes; the product is checked. */
void *pdl_realloc_n(void *p, size_t n, size_t size);

/* Is there memory for n more bytes? Asked before something large is made for which an error of the
 * program is better than the end of the process; small requests are not worth the question. */
enum { PDL_ALLOC_LARGE = 1 << 20 }; /* bytes; what is smaller is small */
bool pdl_alloc_has_room(size_t n);

/* Release p; NULL is fine. */
void pdl_free(void *p);

#define PDL_NEW(T)      ((T *)pdl_calloc(1, sizeof(T)))
#define PDL_NEW_N(T, n) ((T *)pdl_calloc((n), sizeof(T)))

/* Called when memory runs out, with the size asked for: true: it released some, try again. NULL
 * restores the default. */
typedef bool pdl_oom_fn(size_t size);
void pdl_alloc_on_oom(pdl_oom_fn *fn);

/* What works on this thread, asked after the handler above. All NULL: nobody. */
typedef struct pdl_alloc_watch {
    bool (*give)(void *user, size_t size); /* true: it released some, try again */
    void (*last_words)(
        void *user,
        size_t size); /* in place of the line on standard error; the process ends then */
    void *user;
} pdl_alloc_watch;
/* Returns the one before, to be set again at the end. */
pdl_alloc_watch pdl_alloc_set_watch(pdl_alloc_watch w);

/* n bytes, or NULL when there are none: memory to be given back. */
void *pdl_alloc_try(size_t n);

/* The end for want of memory: where a library that allocates by itself has none. */
PDL_NORETURN PDL_COLD void pdl_out_of_memory(size_t size);

/* The nth allocation from now on fails, once (PDL_STRESS=alloc:N). For the whole process; replaces
 * what pdl_alloc_from set. */
void pdl_alloc_fail_at(long n);

/* Where memory comes from instead of malloc, for the whole process. NULL restores malloc. Before
 * anything was allocated. */
typedef struct pdl_allocator {
    void *(*alloc)(size_t n);           /* n > 0; aligned as malloc's */
    void *(*resize)(void *p, size_t n); /* p may be NULL, n > 0 */
    void (*release)(void *p);           /* p may be NULL */
} pdl_allocator;
void pdl_alloc_from(const pdl_allocator *a);
bool pdl_alloc_is_custom(void);

/* Prints file:line and aborts: a broken promise of the program to itself, never bad input. */
PDL_NORETURN PDL_COLD PDL_PRINTF(3, 4) void pdl_bug(const char *file, int line, const char *fmt,
                                                    ...);
#define PDL_BUG(...) pdl_bug(__FILE__, __LINE__, __VA_ARGS__)

#endif
