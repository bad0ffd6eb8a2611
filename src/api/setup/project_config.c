/* project_config.c -- finds and reads pdl.toml; see project_config.h.
 *
 * The nearest file is used, in the folder of the program or above it, up to the root of a work tree
 * of git or the home folder. A file that belongs to another user is ignored: in a folder to which
 * everyone may write, such a file could decide where imports come from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <unistd.h>

#include "api/project_config.h"
#include "io/file.h"

#include "base/banned.h"

#define NAME "pdl.toml"

enum { MAX_UP = 64, MAX_BYTES = 65536 };

static bool is_there(const pdl_buf *folder, const char *name) {
    pdl_buf path = PDL_BUF;
    pdl_buf_putf(&path, "%.*s/%s", PDL_FMT(pdl_buf_str(folder)), name);
    bool found = pdl_file_kind_of(pdl_buf_z(&path)) != PDL_FILE_NONE;
    pdl_buf_fini(&path);
    return found;
}

/* Stores the absolute path of the folder of a program. */
static bool start_folder(pdl_str file, pdl_buf *folder) {
    char cwd[4096];
    pdl_str dir = pdl_file_folder(file);
    if (dir.n && dir.p[0] == '/') {
        pdl_buf_put(folder, dir);
        return true;
    }
    if (!getcwd(cwd, sizeof cwd)) return false;
    pdl_buf_put(folder, pdl_str_of(cwd));
    if (dir.n && !pdl_str_is(dir, ".")) pdl_buf_putf(folder, "/%.*s", PDL_FMT(dir));
    return true;
}

/* Finds the nearest file. path gets its path, and folder gets its folder. */
static bool find(pdl_buf *folder, pdl_buf *path) {
    const char *home = getenv("HOME");
    for (int up = 0; up < MAX_UP; up++) {
        pdl_buf_clear(path);
        pdl_buf_putf(path, "%.*s/" NAME, PDL_FMT(pdl_buf_str(folder)));
        if (pdl_file_is_ours(pdl_buf_z(path))) return true;
        if (is_there(folder, ".git") || (home && pdl_str_is(pdl_buf_str(folder), home)))
            return false;
        size_t slash = pdl_str_rfind(pdl_buf_str(folder), PDL_STR("/"));
        if (slash == PDL_NOT_FOUND || !folder->len) return false;
        pdl_buf_cut(folder, slash);
    }
    return false;
}

static bool read_file(pdl_str file, pdl_check_config *c, pdl_err *err) {
    pdl_buf folder = PDL_BUF, path = PDL_BUF, text = PDL_BUF_INIT(MAX_BYTES);
    bool ok = true;
    if (start_folder(file, &folder) && find(&folder, &path))
        ok = pdl_file_read_found(pdl_buf_z(&path), 0, &text, err) &&
             pdl_check_config_read(c, pdl_buf_str(&path), pdl_buf_str(&folder), pdl_buf_str(&text),
                                   err);
    pdl_buf_fini(&folder);
    pdl_buf_fini(&path);
    pdl_buf_fini(&text);
    return ok;
}

bool pdl_config_read(pdl_str file, pdl_check_config *c, pdl_err *err) {
    const char *var = getenv("PDL_RULES");
    if (!read_file(file, c, err)) return false;
    if (!var || pdl_check_config_rules(c, pdl_str_of(var), err)) return true;
    if (!err->hint) pdl_err_hint(err, "PDL_RULES in the environment says so");
    return false;
}

void pdl_config_use(const pdl_check_config *c, pdl_session_options *o) {
    o->run.levels = c->levels;
    o->program.path = c->import.p;
    o->program.n_path = c->import.n;
}

void pdl_config_fini(pdl_check_config *c) {
    pdl_vec_fini(&c->import);
    pdl_arena_free(c->arena);
    c->arena = NULL;
}
