/* confined.c -- makes the sandboxes of a session and keeps them by their profiles; see confined.h.
 * A sandbox is expensive to make, and blocks of one profile must share a Python process. So a table
 * has a row for each list of profiles that effects have brought, and the same list finds its row
 * again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/confined.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "io/file.h"
#include "sqlite/db_files.h"

#include "base/banned.h"

/* Returns true for the `pdl` command of this project. The reference has a script of the same name,
 * which is much smaller. */
static bool is_command(const char *path) {
    struct stat st;
    return access(path, X_OK) == 0 && stat(path, &st) == 0 && st.st_size > 1 << 18;
}

/* Returns the path of a command near the folder of the library, where packages install it; NULL
 * when there is none. */
static const char *beside_library(pdl_arena *arena) {
    static const char *const places[] = {"pdl", "bin/pdl", "../bin/pdl", "../../bin/pdl"};
    char path[4096];
    Dl_info info;
    if (!dladdr((const void *)(uintptr_t)&pdl_confined_new, &info) || !info.dli_fname) return NULL;
    pdl_str folder = pdl_file_folder(pdl_str_of(info.dli_fname));
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%.*s/%s", PDL_FMT(folder), places[i]);
        if (is_command(path)) return pdl_arena_str(arena, pdl_str_of(path)).p;
    }
    return NULL;
}

/* Returns the path of the pdl command: PDL_COMMAND, the running process, the command near the
 * library, or the command on PATH. Returns NULL when none is found. */
static const char *helper_of(const char *(*env)(void *user, const char *name), void *user,
                             pdl_arena *arena) {
    char path[4096];
    pdl_buf self = PDL_BUF;
    const char *own = env(user, "PDL_COMMAND"), *found = NULL;
    if (own && *own && access(own, X_OK) == 0) return own;
    if (pdl_file_put_self(&self) && pdl_str_is(pdl_file_name(pdl_buf_str(&self)), "pdl"))
        found = pdl_arena_str(arena, pdl_buf_str(&self)).p;
    pdl_buf_fini(&self);
    if (!found) found = beside_library(arena);
    if (found) return found;
    const char *search = env(user, "PATH");
    for (pdl_str rest = pdl_str_of(search ? search : ""); rest.n;) {
        size_t colon = pdl_str_find(rest, PDL_STR(":"), 0);
        size_t k = colon == PDL_NOT_FOUND ? rest.n : colon;
        snprintf(path, sizeof path, "%.*s/pdl", (int)k, rest.p);
        if (is_command(path)) return pdl_arena_str(arena, pdl_str_of(path)).p;
        rest = pdl_str_sub(rest, k + 1, rest.n);
    }
    return NULL;
}

typedef struct sandbox_row {
    pdl_val server, profiles; /* owned; `server` is absent when the row is not for a tool server */
    pdl_sandbox *sandbox;
} sandbox_row;

struct pdl_confined {
    const pdl_session_options *opt;
    const char *(*env)(void *user, const char *name);
    void *user;
    const pdl_folders *folders;
    pdl_arena *arena;
    pdl_sandbox *run; /* sandbox of the whole run; NULL when there is none */
    /* the last note; blocks with the same profile have the same note, which is not repeated */
    pdl_buf noted;
    PDL_VEC(sandbox_row) rows;
    PDL_VEC(char *) keep; /* files that confined code must not change */
};

/* maximum number of sandboxes of blocks, each of which may have a Python process */
enum { MAX_ROWS = 64 };
typedef PDL_VEC(char *) own_files;
typedef PDL_VEC(const char *) kept_files;

pdl_confined *pdl_confined_new(const pdl_session_options *o,
                               const char *(*env)(void *user, const char *name), void *user,
                               const pdl_folders *folders, pdl_arena *arena) {
    pdl_confined *c = PDL_NEW(pdl_confined);
    c->noted = PDL_BUF;
    c->folders = folders;
    c->opt = o;
    c->env = env;
    c->user = user;
    c->arena = arena;
    return c;
}

/* Reports files that processes have planted. Called after the processes have ended. */
static void note_planted(pdl_confined *c, const pdl_sandbox *s) {
    pdl_buf note = PDL_BUF;
    if (s && c->opt->reports.note) pdl_sandbox_planted(s, &note);
    if (note.len && !pdl_str_eq(pdl_buf_str(&note), pdl_buf_str(&c->noted))) {
        c->opt->reports.note(c->opt->reports.sink.user, pdl_buf_str(&note));
        pdl_buf_clear(&c->noted);
        pdl_buf_put(&c->noted, pdl_buf_str(&note));
    }
    pdl_buf_fini(&note);
}

void pdl_confined_free(pdl_confined *c) {
    if (!c) return;
    note_planted(c, c->run);
    for (size_t i = 0; i < c->rows.n; i++) note_planted(c, c->rows.p[i].sandbox);
    for (size_t i = 0; i < c->rows.n; i++) {
        pdl_drop(c->rows.p[i].server);
        pdl_drop(c->rows.p[i].profiles);
        pdl_sandbox_free(c->rows.p[i].sandbox);
    }
    for (size_t i = 0; i < c->keep.n; i++) pdl_free(c->keep.p[i]);
    pdl_vec_fini(&c->keep);
    pdl_vec_fini(&c->rows);
    pdl_buf_fini(&c->noted);
    pdl_sandbox_free(c->run);
    pdl_free(c);
}

void pdl_confined_keep(pdl_confined *c, pdl_str path) {
    for (size_t i = 0; i < c->keep.n; i++)
        if (pdl_str_is(path, c->keep.p[i])) return;
    char *name = pdl_str_dup(path);
    *pdl_vec_push(&c->keep) = name;
    if (c->run) pdl_sandbox_keep(c->run, name);
    for (size_t i = 0; i < c->rows.n; i++) pdl_sandbox_keep(c->rows.p[i].sandbox, name);
}

/* Lists the files that code must not change: files that were added, inputs, and files that options
 * and the environment name. All are borrowed. */
static void list_kept(const pdl_confined *c, kept_files *out) {
    const pdl_session_options *o = c->opt;
    const char *const variables[] = {"PDL_PRICES", "PDL_MCP_CONFIG"};
    const pdl_str named[] = {o->models.prices, o->guards.sandbox};
    for (size_t i = 0; i < c->keep.n; i++) *pdl_vec_push(out) = c->keep.p[i];
    for (const char *const *f = o->files.inputs; f && *f; f++) *pdl_vec_push(out) = *f;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (named[i].n) *pdl_vec_push(out) = pdl_arena_str(c->arena, named[i]).p;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *v = c->env(c->user, variables[i]);
        if (v) *pdl_vec_push(out) = v;
    }
    *pdl_vec_push(out) = NULL;
}

/* Adds the file, and the files that SQLite has beside it while it is open. */
static void add_own(own_files *files, pdl_str name) {
    for (pdl_db_file i = 0; name.n && i < PDL_DB_FILES; i++) {
        pdl_buf b = PDL_BUF;
        pdl_db_put_name(name, i, &b);
        *pdl_vec_push(files) = pdl_buf_take(&b);
    }
}

/* Makes a sandbox from the options. The profile, which may be absent, is applied to the profile of
 * the options. */
static bool make(pdl_confined *c, pdl_vref profile, pdl_str name, pdl_str folder, pdl_sandbox **out,
                 pdl_err *err) {
    const pdl_session_options *o = c->opt;
    pdl_buf note = PDL_BUF;
    own_files files = {0};
    kept_files kept = {0};
    const pdl_str own[] = {o->files.record, o->files.replay, o->files.cache};
    for (size_t i = 0; i < 3; i++) add_own(&files, own[i]);
    for (const char *const *f = o->files.own; f && *f; f++) add_own(&files, pdl_str_of(*f));
    *pdl_vec_push(&files) = NULL;
    list_kept(c, &kept);
    pdl_sandbox_options so = {
        .profile = o->guards.sandbox,
        .given = profile,
        .given_name = name,
        .given_dir = folder,
        .process_is_enough = o->guards.sandbox_process,
        .dir = o->program.dir,
        .mask = (const char *const *)files.p,
        .keep = kept.p,
        .env = c->env,
        .user = c->user,
        .helper = helper_of(c->env, c->user, c->arena),
    };
    bool ok = pdl_sandbox_new(&so, out, &note, err);
    if (ok && note.len && o->reports.note &&
        !pdl_str_eq(pdl_buf_str(&note), pdl_buf_str(&c->noted))) {
        o->reports.note(o->reports.sink.user, pdl_buf_str(&note));
        pdl_buf_clear(&c->noted);
        pdl_buf_put(&c->noted, pdl_buf_str(&note));
    }
    for (size_t i = 0; i < files.n; i++) pdl_free(files.p[i]);
    pdl_vec_fini(&files);
    pdl_vec_fini(&kept);
    pdl_buf_fini(&note);
    return ok;
}

/* Makes the sandbox of the run. A session that answers from a recording, or through another
 * session, starts no processes and needs no sandbox. */
bool pdl_confined_begin(pdl_confined *c, pdl_vref profile, pdl_str name, pdl_err *err) {
    if (c->opt->files.replay.n || c->opt->host.shared ||
        (!c->opt->guards.sandbox.n && pdl_is_absent(profile)))
        return true;
    return make(c, profile, name, pdl_file_folder(name), &c->run, err);
}

static bool same(pdl_vref a, pdl_vref b) {
    bool none = pdl_is_absent(a);
    return none == pdl_is_absent(b) && (none || pdl_val_eq(a, b));
}

/* Makes a sandbox from that of the run: adds the profile of a tool server (`server`, may be
 * absent), and then narrows the sandbox by each of `profiles`. When the run has no sandbox, makes a
 * new one. At least one profile is given. */
static bool narrow(pdl_confined *c, pdl_vref server, pdl_str folder, pdl_vref profiles,
                   pdl_sandbox **owned, pdl_err *err) {
    pdl_sandbox *s = NULL;
    size_t n = pdl_is_list(profiles) ? pdl_list_len(profiles) : 0, i = 0;
    if (!pdl_is_absent(server)) {
        if (c->run ? !pdl_sandbox_widen(c->run, server, folder, &s, err)
                   : !make(c, server, (pdl_str){0}, folder, &s, err))
            return false;
    } else if (!c->run) {
        if (!make(c, pdl_list_at(profiles, i++), (pdl_str){0}, c->opt->program.dir, &s, err))
            return false;
    }
    for (; i < n; i++) {
        pdl_sandbox *next;
        bool ok = pdl_sandbox_narrow(s ? s : c->run, pdl_list_at(profiles, i), &next, err);
        pdl_sandbox_free(s);
        if (!ok) return false;
        s = next;
    }
    *owned = s;
    return true;
}

bool pdl_confined_server(pdl_confined *c, pdl_vref own, pdl_str folder, pdl_vref profiles,
                         const pdl_sandbox **out, pdl_err *err) {
    bool any = (pdl_is_list(profiles) && pdl_list_len(profiles)) || !pdl_is_absent(own);
    *out = c->run;
    if (!any) return true;
    for (size_t i = 0; i < c->rows.n; i++) {
        if (!same(c->rows.p[i].server, own) || !same(c->rows.p[i].profiles, profiles)) continue;
        *out = c->rows.p[i].sandbox;
        return true;
    }
    if (c->rows.n == MAX_ROWS)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "a run has at most %d different profiles of the sandbox", MAX_ROWS);
    pdl_sandbox *s;
    if (!narrow(c, own, folder, profiles, &s, err)) return false;
    *pdl_vec_push(&c->rows) = (sandbox_row){pdl_keep(own), pdl_keep(profiles), s};
    *out = s;
    return true;
}

bool pdl_confined_find(pdl_confined *c, pdl_vref profiles, const pdl_sandbox **out, pdl_err *err) {
    return pdl_confined_server(c, pdl_absent(), (pdl_str){0}, profiles, out, err);
}

/* --- for confined code ------------------------------------------------------------------------ */

/* Returns true when the path is a program of a library. No part of the path may be a link, because
 * confined code could change its own link before the file is read. */
static bool is_library(const pdl_folders *f, const char *path) {
    if (!pdl_str_ends(pdl_str_of(path), PDL_STR(".pdl"))) return false;
    for (size_t i = 0; i < f->n; i++) {
        pdl_buf folder = PDL_BUF;
        pdl_buf_put(&folder, f->path[i]);
        if (i >= f->n_chosen) PDL_PUT(&folder, "/lib");
        bool found = pdl_path_stays_in(path, pdl_buf_z(&folder));
        pdl_buf_fini(&folder);
        if (found) return true;
    }
    return false;
}

bool pdl_confined_may_load(const pdl_confined *c, const pdl_sandbox *s, const char *path) {
    return pdl_sandbox_may_read(s, path) || is_library(c->folders, path);
}

/* Opens a file that confined code requested. Returns false when the code is not confined, or
 * requested a program of a library. */
static bool open_for_code(pdl_confined *c, const pdl_effect *e, const char *path, int flags,
                          unsigned mode, int *fd) {
    const pdl_sandbox *s = NULL;
    pdl_err ignored = {0};
    if (!e || !e->by_code) return false;
    if (e->kind == PDL_EFFECT_source && is_library(c->folders, path)) return false;
    bool known = pdl_confined_find(c, e->sandbox, &s, &ignored);
    pdl_err_fini(&ignored);
    if (known && !s) return false;
    errno = EACCES;
    *fd = known ? pdl_sandbox_open_for_code(s, path, flags, mode) : -1;
    return true;
}

int pdl_confined_open(void *confined, const pdl_effect *e, const char *path, int flags,
                      unsigned mode, bool *other) {
    pdl_confined *c = confined;
    int fd = -1;
    *other = false;
    if (open_for_code(c, e, path, flags, mode, &fd)) return fd;
    *other = true;
    if (c->run) fd = pdl_sandbox_open(c->run, path, flags, mode, other);
    for (size_t i = 0; *other && i < c->rows.n; i++)
        fd = pdl_sandbox_open(c->rows.p[i].sandbox, path, flags, mode, other);
    return fd;
}

bool pdl_confined_is_inside(pdl_vref inner, pdl_vref outer) {
    size_t n = pdl_is_list(outer) ? pdl_list_len(outer) : 0;
    if (n > (pdl_is_list(inner) ? pdl_list_len(inner) : 0)) return false;
    for (size_t i = 0; i < n; i++)
        if (!pdl_val_eq(pdl_list_at(inner, i), pdl_list_at(outer, i))) return false;
    return true;
}
