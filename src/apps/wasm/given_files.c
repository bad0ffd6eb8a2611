/* given_files.c -- finds a file by its name among the files that the host gave; see given_files.h.
 * A name is searched as a run of the command would search it: first relative to the main folder,
 * then beside the file that names it. No other file can be reached.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wasm/given_files.h"

#include "base/str.h"

#include "base/banned.h"

pdl_vref pdl_wasm_file(const pdl_wasm_files *files, pdl_str path) {
    char *room = pdl_alloc(path.n + 1);
    pdl_str plain = pdl_file_plain(path, room);
    pdl_vref v = pdl_is_dict(files->given) ? pdl_dict_gets(files->given, plain) : pdl_absent();
    pdl_free(room);
    return pdl_is_str(v) ? v : pdl_absent();
}

static pdl_vref find(const pdl_wasm_files *files, pdl_str folder, pdl_str path, bool import,
                     pdl_buf *name) {
    pdl_buf_clear(name);
    if (folder.n && !pdl_str_starts(path, PDL_STR("/"))) {
        pdl_buf_put(name, folder);
        if (!pdl_str_ends(folder, PDL_STR("/"))) pdl_buf_putc(name, '/');
    }
    pdl_buf_put(name, path);
    if (import && !pdl_str_ends(path, PDL_STR(".pdl"))) PDL_PUT(name, ".pdl");
    return pdl_wasm_file(files, pdl_buf_str(name));
}

bool pdl_wasm_open_source(void *user, const pdl_module_name *module, pdl_buf *name, pdl_buf *bytes,
                          pdl_err *err) {
    const pdl_wasm_files *files = user;
    pdl_vref text = find(files, PDL_STR(""), module->path, module->is_import, name);
    if (pdl_is_absent(text))
        text = find(files, pdl_file_folder(module->from), module->path, module->is_import, name);
    if (pdl_is_absent(text)) {
        pdl_err_set(err, PDL_E_include, (pdl_loc){0}, "file %s not found", pdl_buf_z(name));
        return pdl_err_hint(err, "the host gave no file of this name"), false;
    }
    return pdl_buf_add(bytes, pdl_str_get(text), err);
}
