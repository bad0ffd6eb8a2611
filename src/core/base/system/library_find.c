/* library_find.c -- finds the functions of a library by their names; see libraries.h.
 *
 * Both kinds of builds have this file: builds that open the libraries, and builds that have them
 * linked in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/libraries.h"

#include <string.h>

#include "base/banned.h"

const char *pdl_library_find(void *library, const pdl_library_symbol *symbols, size_t n,
                             void *out) {
    for (size_t i = 0; i < n; i++) {
        void *p = pdl_library_at(library, symbols[i].name);
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
