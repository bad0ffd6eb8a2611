/* library_names.c -- see library_names.h. A name without `lib/` may also mean a file of the user
 * that is missing. So the folder or the last part of such a name must be exactly that of a module.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/setup/library_names.h"

#include "base/arena.h"
#include "base/vec.h"
#include "io/file.h"

#include "base/banned.h"

typedef PDL_VEC(pdl_str) name_list;

/* The walk through one folder lib/. Names have neither `lib/` nor a suffix. */
typedef struct module_walk {
    pdl_arena *arena;
    const char *folder;
    pdl_str inside; /* the folder of lib/ that is read, with a slash; empty for lib/ itself */
    name_list *names;
} module_walk;

static void add_entry(void *user, const char *name, pdl_file_kind kind) {
    module_walk *w = user;
    pdl_str own = pdl_str_of(name), suffix = PDL_STR(".pdl");
    pdl_buf b = PDL_BUF;
    if (kind == PDL_FILE_DIR && !w->inside.n) {
        pdl_buf_putf(&b, "%s/%s", w->folder, name);
        module_walk inner = {w->arena, pdl_buf_z(&b), {0}, w->names};
        pdl_buf slashed = PDL_BUF;
        pdl_buf_putf(&slashed, "%s/", name);
        inner.inside = pdl_buf_str(&slashed);
        pdl_file_each(inner.folder, add_entry, &inner);
        pdl_buf_fini(&slashed);
    } else if (kind != PDL_FILE_DIR && pdl_str_ends(own, suffix)) {
        pdl_buf_put(&b, w->inside);
        pdl_buf_put(&b, pdl_str_sub(own, 0, own.n - suffix.n));
        *pdl_vec_push(w->names) = pdl_arena_str(w->arena, pdl_buf_str(&b));
    }
    pdl_buf_fini(&b);
}

/* Lists the modules of the library. A folder lib/ without stdlib.pdl is not that of PDL, but one
 * such as /usr/lib. */
static void list_modules(pdl_arena *arena, const pdl_str *folders, size_t n, name_list *names) {
    pdl_buf lib = PDL_BUF, mark = PDL_BUF;
    for (size_t i = 0; i < n && !names->n; i++) {
        pdl_buf_clear(&lib);
        pdl_buf_clear(&mark);
        pdl_buf_putf(&lib, "%.*s/lib", PDL_FMT(folders[i]));
        pdl_buf_putf(&mark, "%s/stdlib.pdl", pdl_buf_z(&lib));
        if (pdl_file_kind_of(pdl_buf_z(&mark)) != PDL_FILE_REGULAR) continue;
        module_walk w = {arena, pdl_buf_z(&lib), {0}, names};
        pdl_file_each(w.folder, add_entry, &w);
    }
    pdl_buf_fini(&lib);
    pdl_buf_fini(&mark);
}

static void keep_named(const name_list *names, pdl_str last, name_list *out) {
    for (size_t i = 0; i < names->n; i++)
        if (pdl_str_eq(pdl_file_name(names->p[i]), last)) *pdl_vec_push(out) = names->p[i];
}

static void keep_inside(const name_list *names, pdl_str folder, name_list *out) {
    for (size_t i = 0; i < names->n; i++)
        if (names->p[i].n > folder.n && pdl_str_starts(names->p[i], folder) &&
            names->p[i].p[folder.n] == '/')
            *pdl_vec_push(out) = names->p[i];
}

/* Adds the modules of `from` whose last part is most like `last`. */
static void keep_nearest(const name_list *from, pdl_str last, name_list *out) {
    name_list last_parts = {0};
    for (size_t i = 0; i < from->n; i++) *pdl_vec_push(&last_parts) = pdl_file_name(from->p[i]);
    pdl_str near = pdl_str_nearest(last, last_parts.p, last_parts.n);
    if (near.n) keep_named(from, near, out);
    pdl_vec_fini(&last_parts);
}

/* Finds the modules that the path may mean. */
static void find_meant(const name_list *names, pdl_str path, bool is_of_library, name_list *out) {
    pdl_str last = pdl_file_name(path), folder = pdl_file_folder(path);
    name_list beside = {0};
    if (folder.n) keep_inside(names, folder, &beside);
    keep_nearest(&beside, last, out);
    pdl_vec_fini(&beside);
    if (!out->n) keep_named(names, last, out);
    if (!out->n && is_of_library) keep_nearest(names, last, out);
}

static void put_list(const name_list *list, pdl_str word, pdl_buf *out) {
    for (size_t i = 0; i < list->n; i++) {
        if (i) pdl_buf_put(out, i + 1 == list->n ? word : PDL_STR(", "));
        pdl_buf_putf(out, "lib/%.*s", PDL_FMT(list->p[i]));
    }
}

bool pdl_library_advise(const pdl_str *folders, size_t n, pdl_str path, pdl_buf *out) {
    enum { MAX_MEANT = 3, MAX_INSIDE = 12 };
    pdl_str lib = PDL_STR("lib/"), suffix = PDL_STR(".pdl");
    name_list names = {0}, meant = {0}, inside = {0};
    pdl_arena *arena = pdl_arena_make();
    if (pdl_str_ends(path, suffix)) path = pdl_str_sub(path, 0, path.n - suffix.n);
    bool is_of_library = pdl_str_starts(path, lib);
    if (is_of_library) path = pdl_str_sub(path, lib.n, path.n);
    list_modules(arena, folders, n, &names);
    keep_inside(&names, path, &inside);
    if (path.n && !inside.n) find_meant(&names, path, is_of_library, &meant);
    size_t before = out->len;
    if (inside.n && inside.n <= MAX_INSIDE) {
        pdl_buf_putf(out, "lib/%.*s is a folder of the library: it has ", PDL_FMT(path));
        put_list(&inside, PDL_STR(" and "), out);
    } else if (meant.n && meant.n <= MAX_MEANT) {
        PDL_PUT(out, "did you mean ");
        put_list(&meant, PDL_STR(" or "), out);
        PDL_PUT(out, "?");
    }
    pdl_vec_fini(&names);
    pdl_vec_fini(&meant);
    pdl_vec_fini(&inside);
    pdl_arena_free(arena);
    return out->len > before;
}
