/* install_folders.c -- finds the folders of the installation; see install_folders.h. A command, a
 * shared library and a Python package lie in different places relative to their library modules,
 * and none has a fixed path. So the possible places are computed from the path of the running code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/setup/install_folders.h"

#include <dlfcn.h>

#include "api/import_search.h"
#include "base/buf.h"
#include "io/file.h"

#include "base/banned.h"

#ifndef PDL_LIBDIR
#define PDL_LIBDIR "/usr/local/share/pdl"
#endif

pdl_str pdl_find_installed(void) { return PDL_STR(PDL_LIBDIR); }

extern const unsigned char pdl_stdlib_text[]; /* the address of this text is inside the library */

static pdl_str folder_of(pdl_arena *a, pdl_str file) {
    size_t slash = pdl_str_rfind(file, PDL_STR("/"));
    return slash == PDL_NOT_FOUND ? (pdl_str){0} : pdl_arena_str(a, pdl_str_sub(file, 0, slash));
}

/* Returns the folder of the running command, without a slash at its end; empty when it cannot be
 * determined. */
static pdl_str command_dir(pdl_arena *a) {
    pdl_buf self = PDL_BUF;
    pdl_file_put_self(&self);
    pdl_str folder = folder_of(a, pdl_buf_str(&self));
    pdl_buf_fini(&self);
    return folder;
}

/* Returns the folder of the shared library, or of the Python extension that contains the library;
 * empty when the command contains it. */
static pdl_str library_dir(pdl_arena *a) {
    Dl_info info;
    if (!dladdr(pdl_stdlib_text, &info) || !info.dli_fname) return (pdl_str){0};
    pdl_str file = pdl_str_of(info.dli_fname);
    bool is_library = pdl_str_find(file, PDL_STR("libpdl.so"), 0) != PDL_NOT_FOUND ||
                      pdl_str_find(file, PDL_STR("/_pdl."), 0) != PDL_NOT_FOUND;
    return is_library ? folder_of(a, file) : (pdl_str){0};
}

static void add(pdl_folders *f, pdl_str dir) { f->path[f->n++] = dir; }

static void add_below(pdl_folders *f, pdl_arena *a, pdl_str dir, const char *more) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%.*s%s", PDL_FMT(dir), more);
    add(f, pdl_arena_str(a, pdl_buf_str(&b)));
    pdl_buf_fini(&b);
}

/* Returns the folders of PDL_PATH and of the options, and then the possible parents of lib/. These
 * are the folder above the command (a build tree), the command's share folder, the folders of the
 * shared library (which may be one level deeper), and the folder of the installation. */
pdl_folders pdl_api_folders(pdl_arena *arena, const char *var, const pdl_str *given,
                            size_t n_given) {
    enum { INSTALLED = 6 }; /* number of places that are added below */
    pdl_folders f = {0};
    pdl_str rest = pdl_str_of(var ? var : "");
    size_t most = INSTALLED + n_given + 1;
    for (size_t i = 0; i < rest.n; i++) most += rest.p[i] == ':';
    f.path = pdl_arena_new_n(arena, pdl_str, most);
    while (rest.n) {
        size_t colon = pdl_str_find(rest, PDL_STR(":"), 0),
               k = colon == PDL_NOT_FOUND ? rest.n : colon;
        if (k) add(&f, pdl_arena_str(arena, pdl_str_sub(rest, 0, k)));
        rest = pdl_str_sub(rest, k + 1, rest.n);
    }
    for (size_t i = 0; i < n_given; i++) add(&f, pdl_arena_str(arena, given[i]));
    f.n_chosen = f.n;
    pdl_str dir = command_dir(arena), lib = library_dir(arena);
    if (dir.n) {
        /* dir has no links in it, so its parent is the text before the last slash */
        pdl_str above = folder_of(arena, dir);
        add(&f, above.n ? above : PDL_STR("/"));
        add_below(&f, arena, above, "/share/pdl");
    }
    if (lib.n) {
        add(&f, lib); /* a Python package has the folder lib/ beside its extension module */
        add_below(&f, arena, lib, "/../share/pdl");
        add_below(&f, arena, lib, "/../../share/pdl");
    }
    add(&f, PDL_STR(PDL_LIBDIR));
    return f;
}
