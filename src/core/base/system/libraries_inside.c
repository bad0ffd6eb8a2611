/* libraries_inside.c -- see libraries.h. The libraries are linked into the static command, so
 * nothing is opened. In that command this file replaces libraries.c. tools/inside-libraries writes
 * the list of the functions, from the tables of the files that need them. The modules of the
 * language are inside as well, since the command has no folder beside it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/libraries.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

extern const unsigned char pdl_certificates_text[];
extern const size_t pdl_certificates_text_len;

void *pdl_library_open(const char *const *names, size_t n) {
    static char inside;
    return n && strcmp(names[0], PDL_INSIDE_NAME) == 0 ? &inside : NULL;
}

void pdl_library_close(void *library) { (void)library; }

static int by_name(const void *name, const void *row) {
    return strcmp(name, ((const pdl_inside_function *)row)->name);
}

void *pdl_library_at(void *library, const char *name) {
    const pdl_inside_function *f =
        library ? bsearch(name, pdl_inside, pdl_n_inside, sizeof *pdl_inside, by_name) : NULL;
    return f ? (void *)(uintptr_t)f->at : NULL;
}

bool pdl_library_is_inside(void) { return true; }

pdl_str pdl_library_certificates(void) {
    return (pdl_str){(const char *)pdl_certificates_text, pdl_certificates_text_len};
}

static int by_path(const void *path, const void *row) {
    return strcmp(path, ((const pdl_inside_module *)row)->path);
}

bool pdl_library_module(const char *path, pdl_str *bytes) {
    const pdl_inside_module *m = bsearch(path, pdl_modules_inside, pdl_n_modules_inside,
                                         sizeof *pdl_modules_inside, by_path);
    if (m) *bytes = (pdl_str){(const char *)m->bytes, m->n};
    return m != NULL;
}
