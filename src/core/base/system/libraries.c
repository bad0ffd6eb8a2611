/* libraries.c -- see libraries.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/libraries.h"

#include <dlfcn.h>
#include <string.h>

#include "base/banned.h"

void *pdl_library_open(const char *const *names, size_t n) {
    void *library = NULL;
    for (size_t i = 0; i < n && !library; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

const char *pdl_library_find(void *library, const pdl_library_symbol *symbols, size_t n,
                             void *out) {
    for (size_t i = 0; i < n; i++) {
        void *p = dlsym(library, symbols[i].name);
        if (!p) return symbols[i].name;
        memcpy((char *)out + symbols[i].at, &p, sizeof p);
    }
    return NULL;
}

bool pdl_library_load(const char *const *names, size_t n_names, const pdl_library_symbol *symbols,
                      size_t n_symbols, void *out) {
    void *library = pdl_library_open(names, n_names);
    return library && !pdl_library_find(library, symbols, n_symbols, out);
}
