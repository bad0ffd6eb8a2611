/* packed_files.c -- keeps the files that are packed into this command; see packed_files.h.
 *
 * A command has at most a dozen packed files, so their paths are compared one after the other. The
 * modules of a static command are searched after these files (libraries.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/packed_files.h"

#include <string.h>

#include "base/libraries.h"
#include "base/vec.h"

#include "base/banned.h"

typedef struct packed_file {
    char *path;
    pdl_str bytes;
} packed_file;

static PDL_VEC(packed_file) files; /* the list lives as long as the process */

static struct {
    pdl_packed_seen_fn *fn;
    void *user;
} watch;

void pdl_packed_add(char *path, pdl_str bytes) {
    *pdl_vec_push(&files) = (packed_file){path, bytes};
}

bool pdl_packed_find(const char *path, pdl_str *bytes) {
    for (size_t i = 0; i < files.n; i++) {
        if (strcmp(files.p[i].path, path) != 0) continue;
        if (bytes) *bytes = files.p[i].bytes;
        return true;
    }
    pdl_str inside;
    bool found = pdl_library_module(path, &inside);
    if (found && bytes) *bytes = inside;
    return found;
}

void pdl_packed_watch(pdl_packed_seen_fn *fn, void *user) {
    watch.fn = fn;
    watch.user = user;
}

void pdl_packed_seen(const char *path, pdl_str bytes) {
    if (watch.fn) watch.fn(watch.user, path, bytes);
}
