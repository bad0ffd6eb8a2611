/* os_wasi.c -- see os.h. WebAssembly: a module that has no processes, sockets and files.
 *
 * This file has only the functions that the rooms of the module use (apps/wasm/parts.txt). Code
 * that needs others cannot work in the module, and the linker reports the missing function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/libraries.h"
#include "base/os.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* This file does not include base/banned.h, because it allocates and frees regions, whose alignment
 * pdl_alloc does not promise. */

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

void *pdl_os_map(size_t n) {
    void *p = aligned_alloc(n, n);
    if (p) memset(p, 0, n);
    return p;
}

void pdl_os_unmap(void *p, size_t n) {
    (void)n;
    free(p);
}

void pdl_os_use_large_pages(void *p, size_t n) { (void)p, (void)n; }

uint64_t pdl_os_memory_left(void) { return UINT64_MAX; } /* a request that is too large fails */

void pdl_os_keep_large_blocks(void) {} /* memory never returns to the host */

bool pdl_library_module(const char *path, pdl_str *bytes) {
    (void)path, (void)bytes;
    return false; /* the host program provides the modules */
}
