/* folders.c -- see folders.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/folders.h"

#include <dlfcn.h>
#include <unistd.h>

#include "base/buf.h"

#include "base/banned.h"

#ifndef PDL_LIBDIR
#define PDL_LIBDIR "/usr/local/share/pdl"
#endif

extern const unsigned char pdl_stdlib_text[]; /* a place in the library */

typedef struct folder_list {
    pdl_arena *arena;
    pdl_str *path;
    size_t n_path;
} list;

static pdl_str folder_of(pdl_arena *a, pdl_str file) {
    size_t slash = pdl_str_rfind(file, PDL_STR("/"));
    return slash == PDL_NOT_FOUND ? (pdl_str){0} : pdl_arena_str(a, pdl_str_sub(file, 0, slash));
}

/* Folder that holds the running command, without a slash behind; empty when it cannot be known. */
static pdl_str command_dir(pdl_arena *a) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    return n <= 0 || (size_t)n == sizeof path ? (pdl_str){0}
                                              : folder_of(a, (pdl_str){path, (size_t)n});
}

/* Folder that holds the shared library, or the extension of Python that the library is a part of;
 * empty when it is a part of the command. */
static pdl_str library_dir(pdl_arena *a) {
    Dl_info info;
    if (!dladdr(pdl_stdlib_text, &info) || !info.dli_fname) return (pdl_str){0};
    pdl_str file = pdl_str_of(info.dli_fname);
    bool is_library = pdl_str_find(file, PDL_STR("libpdl.so"), 0) != PDL_NOT_FOUND ||
                      pdl_str_find(file, PDL_STR("/_pdl."), 0) != PDL_NOT_FOUND;
    return is_library ? folder_of(a, file) : (pdl_str){0};
}

static void add_path(list *s, pdl_str dir, const char *more) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%.*s%s", PDL_FMT(dir), more);
    s->path[s->n_path++] = pdl_arena_str(s->arena, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

/* PDL_PATH and the folders of the options; then where lib/ stands: above the folder of the command
 * (a build tree), its share folder, that of the shared library (which may lie one level deeper),
 * the installed one. */
pdl_str *pdl_api_folders(pdl_arena *arena, const char *var, const pdl_str *given, size_t n_given,
                         size_t *n_out) {
    list l = {.arena = arena}, *s = &l;
    pdl_str rest = pdl_str_of(var ? var : "");
    size_t n = 7 + n_given;
    for (size_t i = 0; i < rest.n; i++) n += rest.p[i] == ':';
    s->path = pdl_arena_new_n(s->arena, pdl_str, n + 1);
    while (rest.n) {
        size_t colon = pdl_str_find(rest, PDL_STR(":"), 0),
               k = colon == PDL_NOT_FOUND ? rest.n : colon;
        if (k) s->path[s->n_path++] = pdl_arena_str(s->arena, pdl_str_sub(rest, 0, k));
        rest = pdl_str_sub(rest, k + 1, rest.n);
    }
    for (size_t i = 0; i < n_given; i++)
        s->path[s->n_path++] = pdl_arena_str(s->arena, given[i]);
    pdl_str dir = command_dir(s->arena), lib = library_dir(s->arena);
    if (dir.n) {
        pdl_str above = folder_of(s->arena, dir); /* without "..": dir has no links in it */
        s->path[s->n_path++] = above.n ? above : PDL_STR("/");
        add_path(s, above, "/share/pdl");
    }
    if (lib.n) {
        add_path(s, lib, ""); /* a Python package: lib/ beside the extension */
        add_path(s, lib, "/../share/pdl");
        add_path(s, lib, "/../../share/pdl");
    }
    s->path[s->n_path++] = PDL_STR(PDL_LIBDIR);
    *n_out = s->n_path;
    return s->path;
}
