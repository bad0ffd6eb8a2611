/* os_wasi.c -- see os.h. WebAssembly: a module that has no processes, sockets and files.
 *
 * This file has only the functions that the rooms of the module use (apps/wasm/parts.txt). Code
 * that needs another function of os.h cannot work in the module, and the linker reports the missing
 * function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/libraries.h"
#include "base/os.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

/* The host gives at most 256 bytes at a time. */
bool pdl_os_random(void *out, size_t n, bool may_wait) {
    enum { AT_ONCE = 256 };
    (void)may_wait; /* the generator of the host is always ready */
    for (unsigned char *p = out; n; p += AT_ONCE) {
        size_t m = n < AT_ONCE ? n : AT_ONCE;
        if (getentropy(p, m) != 0) return false;
        n -= m;
    }
    return true;
}

void pdl_os_wipe(void *p, size_t n) {
    volatile unsigned char *at = p;
    while (n--) *at++ = 0;
}

/* --- regions ---------------------------------------------------------------------------------- */

enum {
    PAGE = 1 << 16,
    /* number of regions by which memory grows, because each growth costs the host a millisecond */
    AT_A_TIME = 4,
};

/* A region that is not in use. All regions have one size, that of memory/pool.c. */
typedef struct spare {
    struct spare *next;
} spare;

static spare *spares;

/* Grows the memory by n bytes, a multiple of PAGE. Returns the address of the first new byte; 0
 * when there is no memory. */
static uintptr_t grown(size_t n) {
    size_t before = __builtin_wasm_memory_grow(0, n / PAGE);
    return before == SIZE_MAX ? 0 : (uintptr_t)before * PAGE;
}

/* Makes spare regions of n bytes, which begin at a multiple of n. */
static void add_spares(size_t count, size_t n) {
    uintptr_t end = (uintptr_t)__builtin_wasm_memory_size(0) * PAGE;
    size_t gap = (n - end % n) % n;
    uintptr_t at = grown(gap + count * n);
    if (!at) return;
    for (at = (at + n - 1) / n * n; count--; at += n) {
        spare *s = (void *)at;
        s->next = spares;
        spares = s;
    }
}

/* Memory that the host gave is zero, and so is a region that comes back. */
void *pdl_os_map(size_t n) {
    if (!spares) add_spares(AT_A_TIME, n);
    if (!spares) add_spares(1, n);
    spare *s = spares;
    if (!s) return NULL;
    spares = s->next;
    s->next = NULL;
    return s;
}

void pdl_os_unmap(void *p, size_t n) {
    spare *s = p;
    memset(p, 0, n);
    s->next = spares;
    spares = s;
}

void pdl_os_use_large_pages(void *p, size_t n) { (void)p, (void)n; }

uint64_t pdl_os_memory_left(void) { return UINT64_MAX; } /* a request that is too large fails */

void pdl_os_keep_large_blocks(void) {} /* memory never returns to the host */

bool pdl_library_module(const char *path, pdl_str *bytes) {
    (void)path, (void)bytes;
    return false; /* the host program provides the modules */
}
