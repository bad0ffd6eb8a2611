/* confined.c -- see confined.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/confined.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"

#include "base/banned.h"

/* The command pdl: this process, or the one beside the library, or on PATH. */
static const char *helper_of(const char *(*env)(void *user, const char *name), void *user,
                             pdl_arena *arena) {
    char path[4096];
    const char *own = env(user, "PDL_COMMAND");
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    if (own && *own && access(own, X_OK) == 0) return own;
    if (pdl_str_is(pdl_file_name(pdl_str_of(path)), "pdl"))
        return pdl_arena_str(arena, pdl_str_of(path)).p;
    const char *search = env(user, "PATH");
    for (pdl_str rest = pdl_str_of(search ? search : ""); rest.n;) {
        size_t colon = pdl_str_find(rest, PDL_STR(":"), 0);
        size_t k = colon == PDL_NOT_FOUND ? rest.n : colon;
        snprintf(path, sizeof path, "%.*s/pdl", (int)k, rest.p);
        struct stat st;
        /* the reference's command of this name is a script */
        if (access(path, X_OK) == 0 && stat(path, &st) == 0 && st.st_size > 1 << 18)
            return pdl_arena_str(arena, pdl_str_of(path)).p;
        rest = pdl_str_sub(rest, k + 1, rest.n);
    }
    return NULL;
}

bool pdl_api_open_sandbox(const pdl_session_options *o,
                          const char *(*env)(void *user, const char *name), void *user,
                          pdl_arena *arena, pdl_sandbox **out, pdl_err *err) {
    *out = NULL;
    if (!o->sandbox.n || o->replay.n || o->shared) return true;
    const char *own = env(user, "PDL_PYTHON");
    const char *venv = env(user, "VIRTUAL_ENV");
    pdl_buf in_venv = PDL_BUF, note = PDL_BUF;
    if (venv) pdl_buf_putf(&in_venv, "%s/bin/python3", venv);
    const char *pythons[] = {own && *own ? own : venv ? pdl_buf_z(&in_venv) : "python3", "python3"};
    char *files[4] = {0};
    size_t n = 0;
    const pdl_str hide[] = {o->record, o->replay, o->cache};
    for (size_t i = 0; i < 3; i++)
        if (hide[i].n) files[n++] = pdl_str_dup(hide[i]);
    pdl_sandbox_options so = {
        .profile = o->sandbox,
        .given = pdl_absent(),
        .process_is_enough = o->sandbox_process,
        .dir = o->dir,
        .hide = (const char *const *)files,
        .pythons = pythons,
        .n_pythons = 2,
        .env = env,
        .user = user,
        .helper = helper_of(env, user, arena),
    };
    bool ok = pdl_sandbox_new(&so, out, &note, err);
    if (ok && note.len && o->sandbox_note) o->sandbox_note(o->sink.user, pdl_buf_str(&note));
    for (size_t i = 0; i < n; i++) pdl_free(files[i]);
    pdl_buf_fini(&in_venv);
    pdl_buf_fini(&note);
    return ok;
}
