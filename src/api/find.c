/* find.c -- see find.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/find.h"

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

bool pdl_find_open(void *user, pdl_str from, pdl_str path, bool import, pdl_buf *name,
                   pdl_buf *bytes, pdl_err *err) {
    if (!find(user, from, path, import, name))
        return pdl_err_set(err, PDL_E_include, (pdl_loc){0}, "file %s not found", pdl_buf_z(name));
    return pdl_file_read(pdl_buf_z(name), bytes, err);
}
