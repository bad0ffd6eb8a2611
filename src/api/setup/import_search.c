/* import_search.c -- searches the folders of a run for included and imported files; see
 * import_search.h. A run, a check and an editor must find the same file for a name, so all of them
 * search here. When there is no such file, an error suggests the file that the user may have meant.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/import_search.h"

#include "api/setup/library_names.h"
#include "base/word_list.h"
#include "io/file.h"

#include "base/banned.h"

static void join(pdl_str dir, pdl_str path, bool import, pdl_buf *out) {
    pdl_buf_clear(out);
    if (dir.n && !pdl_str_starts(path, PDL_STR("/"))) {
        pdl_buf_put(out, dir);
        if (!pdl_str_ends(dir, PDL_STR("/"))) pdl_buf_putc(out, '/');
    }
    while (!dir.n && pdl_str_starts(path, PDL_STR("./"))) path = pdl_str_sub(path, 2, path.n);
    pdl_buf_put(out, path);
    if (import && !pdl_str_ends(path, PDL_STR(".pdl"))) PDL_PUT(out, ".pdl");
}

static bool is_file(const pdl_buf *path) {
    return pdl_file_kind_of(pdl_buf_z(path)) != PDL_FILE_NONE;
}

static bool find(const pdl_finder *f, pdl_str from, pdl_str path, bool import, pdl_buf *name) {
    join(pdl_file_folder(f->file), path, import, name);
    if (is_file(name)) return true;
    join(pdl_file_folder(from), path, import, name);
    if (is_file(name)) return true;
    for (size_t i = 0; import && i < f->n_path; i++) {
        join(f->path[i], path, import, name);
        if (is_file(name)) return true;
    }
    join(pdl_file_folder(f->file), path, import, name);
    return false;
}

/* Appends the name in dir that is most similar to the name of the file, as the program would write
 * it. */
static bool similar_in(pdl_str dir, pdl_str path, bool import, pdl_buf *out) {
    pdl_buf where = PDL_BUF;
    pdl_str own = pdl_file_folder(path), name = pdl_file_name(path), suffix = PDL_STR(".pdl");
    join(dir, own, false, &where);
    char *near =
        pdl_file_similar(where.len ? pdl_buf_z(&where) : ".", name, import ? suffix : (pdl_str){0});
    if (near) {
        pdl_str found = pdl_str_of(near);
        pdl_buf_put(out, pdl_str_sub(path, 0, path.n - name.n));
        pdl_buf_put(out, import ? pdl_str_sub(found, 0, found.n - suffix.n) : found);
    }
    pdl_free(near);
    pdl_buf_fini(&where);
    return near != NULL;
}

/* Appends path with one folder of it replaced by a similar folder of dir, if the file
 * exists there. */
static bool similar_folder(pdl_str dir, pdl_str path, bool import, pdl_buf *out) {
    size_t from = 0, to;
    char *near = NULL;
    pdl_buf at = PDL_BUF;
    while (!near && (to = pdl_str_find(path, PDL_STR("/"), from)) != PDL_NOT_FOUND) {
        join(dir, pdl_str_sub(path, 0, to), false, &at);
        if (pdl_file_kind_of(pdl_buf_z(&at)) != PDL_FILE_DIR) {
            join(dir, pdl_str_sub(path, 0, from), false, &at);
            near = pdl_file_similar(at.len ? pdl_buf_z(&at) : ".", pdl_str_sub(path, from, to),
                                    (pdl_str){0});
            if (!near) break;
        }
        if (!near) from = to + 1;
    }
    bool found = false;
    if (near) {
        pdl_buf whole = PDL_BUF;
        pdl_buf_putf(&whole, "%.*s%s%.*s", (int)from, path.p, near,
                     PDL_FMT(pdl_str_sub(path, to, path.n)));
        join(dir, pdl_buf_str(&whole), import, &at);
        found = pdl_file_kind_of(pdl_buf_z(&at)) == PDL_FILE_REGULAR;
        if (found) pdl_buf_put(out, pdl_buf_str(&whole));
        pdl_buf_fini(&whole);
    }
    pdl_free(near);
    pdl_buf_fini(&at);
    return found;
}

static bool similar(pdl_str dir, pdl_str path, bool import, pdl_buf *out) {
    return similar_in(dir, path, import, out) || similar_folder(dir, path, import, out);
}

static bool find_similar(const pdl_finder *f, pdl_str from, pdl_str path, bool import,
                         pdl_buf *out) {
    if (similar(pdl_file_folder(f->file), path, import, out)) return true;
    if (similar(pdl_file_folder(from), path, import, out)) return true;
    for (size_t i = 0; import && i < f->n_path; i++)
        if (similar(f->path[i], path, import, out)) return true;
    return false;
}

static void put_folder(pdl_str folder, pdl_buf *out) {
    pdl_buf one = PDL_BUF;
    pdl_buf_put(&one, folder.n ? folder : PDL_STR("."));
    /* whole items of the list are compared, since the name of a folder may begin like the name of
     * another */
    pdl_buf_putc(&one, ';');
    if (pdl_str_find(pdl_buf_str(out), pdl_buf_str(&one), 0) == PDL_NOT_FOUND) {
        if (out->len) PDL_PUT(out, " ");
        pdl_buf_put(out, pdl_buf_str(&one));
    }
    pdl_buf_fini(&one);
}

/* Returns true when an import names a folder, as imports of Python may. */
static bool is_folder(const pdl_finder *f, pdl_str from, pdl_str path) {
    pdl_buf at = PDL_BUF;
    join(pdl_file_folder(f->file), path, false, &at);
    bool found = pdl_file_kind_of(pdl_buf_z(&at)) == PDL_FILE_DIR;
    join(pdl_file_folder(from), path, false, &at);
    found = found || pdl_file_kind_of(pdl_buf_z(&at)) == PDL_FILE_DIR;
    pdl_buf_fini(&at);
    return found;
}

static bool is_importable(const pdl_finder *f, pdl_str from, pdl_str path) {
    pdl_buf name = PDL_BUF;
    bool found = find(f, from, path, true, &name);
    pdl_buf_fini(&name);
    return found;
}

/* Returns true for a path such as ./react/qwen, which means a file beside the program. */
static bool is_relative(pdl_str path) { return pdl_str_starts(path, PDL_STR(".")); }

/* Returns true for a name such as `react/qwen` of the library, which is imported as
 * lib/react/qwen. */
static bool is_of_library(const pdl_finder *f, pdl_str from, pdl_str path) {
    pdl_buf inside = PDL_BUF;
    if (is_relative(path)) return false;
    pdl_buf_putf(&inside, "lib/%.*s", PDL_FMT(path));
    bool found = is_importable(f, from, pdl_buf_str(&inside));
    pdl_buf_fini(&inside);
    return found;
}

/* Names the module of the library that an import may mean. A path into an existing folder of the
 * user means a file in that folder. */
static bool advise_library(const pdl_finder *f, pdl_str from, pdl_str path, pdl_buf *out) {
    pdl_str folder = pdl_file_folder(path);
    bool is_own = folder.n && !pdl_str_eq(folder, PDL_STR("lib")) && is_folder(f, from, folder);
    return !is_own && !is_relative(path) && pdl_library_advise(f->path, f->n_path, path, out);
}

static bool is_python(pdl_str path) {
    static const char *const modules[] = {"json",   "os",     "sys",     "re",  "math",
                                          "random", "time",   "copy",    "csv", "requests",
                                          "numpy",  "pandas", "datetime"};
    return PDL_STR_IN(path, modules);
}

void pdl_find_advise(const pdl_finder *f, pdl_str from, pdl_str path, bool import, pdl_err *err) {
    pdl_buf folders = PDL_BUF, near = PDL_BUF;
    put_folder(pdl_file_folder(f->file), &folders);
    put_folder(pdl_file_folder(from), &folders);
    for (size_t i = 0; import && i < f->n_path; i++) put_folder(f->path[i], &folders);
    pdl_buf_cut(&folders, folders.len - 1);
    if (pdl_str_find(path, PDL_STR("://"), 0) != PDL_NOT_FOUND)
        pdl_err_hint(err, "a program is a file of this machine: download it first");
    else if (import && pdl_str_find(path, PDL_STR(" as "), 0) != PDL_NOT_FOUND)
        pdl_err_hint(err, "a module is named by a variable: defs: {NAME: {import: FILE}}");
    else if (import && is_python(path))
        pdl_err_hint(err, "modules of Python are imported in code: lang: python");
    else if (import && is_folder(f, from, path))
        pdl_err_hint(err, "%.*s is a folder: name a file in it", PDL_FMT(path));
    else if (pdl_str_starts(path, PDL_STR("/")))
        pdl_err_hint(err, "there is no such file");
    else if (import && is_of_library(f, from, path))
        pdl_err_hint(err, "did you mean lib/%.*s?", PDL_FMT(path));
    else if (!import && is_importable(f, from, path))
        pdl_err_hint(err,
                     "include looks beside the program; import: %.*s looks in the library, too",
                     PDL_FMT(path));
    else if (find_similar(f, from, path, import, &near))
        pdl_err_hint(err, "did you mean %s? Searched: %s", pdl_buf_z(&near), pdl_buf_z(&folders));
    else if (import && advise_library(f, from, path, &near))
        pdl_err_hint(err, "%s", pdl_buf_z(&near));
    else
        pdl_err_hint(err, "searched: %s", pdl_buf_z(&folders));
    pdl_buf_fini(&folders);
    pdl_buf_fini(&near);
}

bool pdl_find_open(void *user, const pdl_module_name *module, pdl_buf *name, pdl_buf *bytes,
                   pdl_err *err) {
    if (!find(user, module->from, module->path, module->is_import, name)) {
        pdl_err_set(err, PDL_E_include, (pdl_loc){0}, "file %s not found", pdl_buf_z(name));
        pdl_find_advise(user, module->from, module->path, module->is_import, err);
        return false;
    }
    pdl_finder *f = user;
    if (f->only_files && pdl_file_kind_of(pdl_buf_z(name)) == PDL_FILE_OTHER) {
        f->left_out = true;
        return pdl_err_set(err, PDL_E_include, (pdl_loc){0}, "%s is no file", pdl_buf_z(name));
    }
    if (pdl_file_read(pdl_buf_z(name), bytes, err)) return true;
    if (pdl_file_kind_of(pdl_buf_z(name)) == PDL_FILE_DIR)
        pdl_err_hint(err, "it is a folder: name a file in it");
    return false;
}
