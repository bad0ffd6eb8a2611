/* libraries.c -- see libraries.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/libraries.h"

#include <dlfcn.h>
#include <string.h>

#include "base/banned.h"

bool pdl_library_open(const char *const *names, size_t n_names, const pdl_library_symbol *symbols,
                      size_t n_symbols, void *out) {
    void *lib = NULL;
    for (size_t i = 0; i < n_names && !lib; i++) lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib) return false;
    for (size_t i = 0; i < n_symbols; i++) {
        void *p = dlsym(lib, symbols[i].name);
        if (!p) return false;
        memcpy((char *)out + symbols[i].at, &p, sizeof p);
    }
    return true;
}
