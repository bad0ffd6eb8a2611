/* libraries.c -- opens libraries with the loader of the system; see libraries.h.
 *
 * Every build but the static command has this file. In the static command, libraries_inside.c
 * replaces it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/libraries.h"

#include <dlfcn.h>

#include "base/banned.h"

void *pdl_library_open(const char *const *names, size_t n) {
    /* LAZY: to find all functions that libcurl and its thirty libraries call takes half a
     * millisecond. NODELETE: a process that opens one database after another loads SQLite once. */
    const int flags = RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE;
    void *library = NULL;
    for (size_t i = 0; i < n && !library; i++) library = dlopen(names[i], flags);
    return library;
}

void pdl_library_close(void *library) {
    if (library) dlclose(library);
}

void *pdl_library_at(void *library, const char *name) { return dlsym(library, name); }

pdl_str pdl_library_certificates(void) { return (pdl_str){0}; }
bool pdl_library_is_inside(void) { return false; }

bool pdl_library_module(const char *path, pdl_str *bytes) {
    (void)path, (void)bytes;
    return false;
}
