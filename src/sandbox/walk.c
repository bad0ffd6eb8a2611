/* walk.c -- what of a folder that a profile grants is still not shown, or not changed: keys, files
 * that programs run at their start, and sockets, which would be a way out.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "io/file.h"
#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

/* A project with the packages of Python and Node beside it has some 100 000; a million take a
 * second. */
enum { MOST_ENTRIES = 1000000 };

static bool ends(const char *s, const char *suffix) {
    return pdl_str_ends(pdl_str_of(s), pdl_str_of(suffix));
}

/* Has it certificates and no key? Those of authorities are public, and every library that opens a
 * connection reads them: a virtual environment beside the program has several. */
static bool has_certificates_only(const char *path) {
    enum { MOST_BYTES = 4 << 20 };
    struct stat st;
    pdl_buf text = PDL_BUF;
    pdl_err ignored = {0};
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > MOST_BYTES) return false;
    bool ok = pdl_file_read_found(path, 0, &text, &ignored) &&
              pdl_str_find(pdl_buf_str(&text), PDL_STR("-----BEGIN CERTIFICATE-----"), 0) !=
                  PDL_NOT_FOUND &&
              pdl_str_find(pdl_buf_str(&text), PDL_STR("PRIVATE KEY"), 0) == PDL_NOT_FOUND;
    pdl_err_fini(&ignored);
    pdl_buf_fini(&text);
    return ok;
}

static bool is_secret(const char *folder, const char *name, const char *path) {
    if (strncmp(name, ".env", 4) == 0 && (name[4] == 0 || name[4] == '.')) return true;
    if (strcmp(name, ".netrc") == 0 || ends(name, ".journal")) return true;
    if (ends(name, ".pem")) return !has_certificates_only(path);
    if (strncmp(name, "id_", 3) == 0) return true;
    return strcmp(name, "config") == 0 && ends(folder, "/.git");
}

/* Read at the start of shells, editors and other programs of the user. */
static const char *const start_files[] = {
    ".git/",     ".env",     ".bashrc", ".bash_profile", ".bash_login", ".profile",       ".zshrc",
    ".zprofile", ".zshenv",  ".zlogin", ".gitconfig",    ".gitmodules", ".gitattributes", ".npmrc",
    ".mcp.json", ".vscode/", ".idea/",  ".envrc",        ".pypirc",     ".netrc",
    ".claude/",  ".cursor/", ".ssh/",   ".inputrc",      ".vimrc",      ".gdbinit",
};
enum { N_START_FILES = sizeof start_files / sizeof start_files[0] };

bool pdl_walk_is_start_file(const char *name) {
    for (size_t i = 0; i < N_START_FILES; i++) {
        size_t n = strlen(start_files[i]);
        if (start_files[i][n - 1] == '/') n--;
        if (strlen(name) == n && strncmp(name, start_files[i], n) == 0) return true;
    }
    return strncmp(name, ".env.", 5) == 0;
}

/* In a folder that may be written; made and mounted over while the command runs. */
static void note_placeholders(const char *folder, walk_result *out) {
    struct stat st;
    for (size_t i = 0; i < N_START_FILES; i++) {
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "%s/%s", folder, start_files[i]);
        if (lstat(pdl_buf_z(&b), &st) != 0) pdl_paths_add(&out->placeholders, pdl_buf_str(&b));
        pdl_buf_fini(&b);
    }
}

/* False: more to hide than the kernel takes, or than is compared in a moment. */
static bool note(const char *folder, const char *name, unsigned char type, bool writable,
                 const char *path, walk_result *out) {
    enum { MOST_NOTED = 4000 };
    bool hidden = (type == DT_REG || type == DT_LNK) && is_secret(folder, name, path);
    if (type == DT_SOCK || hidden) pdl_paths_add(&out->masked, pdl_str_of(path));
    if (writable && !hidden && pdl_walk_is_start_file(name))
        pdl_paths_add(&out->kept, pdl_str_of(path));
    return out->masked.n + out->kept.n <= MOST_NOTED;
}

static walk_end look_at(const char *folder, const struct dirent *e, bool writable,
                        path_list *folders, walk_result *out) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/%s", folder, e->d_name);
    const char *path = pdl_buf_z(&b);
    struct stat st;
    unsigned char type = e->d_type;
    if (type == DT_UNKNOWN && lstat(path, &st) == 0)
        type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISSOCK(st.st_mode) ? DT_SOCK : DT_REG;
    bool ok = note(folder, e->d_name, type, writable, path, out);
    if (type == DT_DIR) pdl_paths_add(folders, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return ok ? WALK_DONE : WALK_TOO_MANY_HIDDEN;
}

/* Folders below are added to the list. */
static walk_end look(const char *folder, bool writable, path_list *folders, walk_result *out) {
    DIR *d = opendir(folder);
    walk_end end = WALK_DONE;
    /* What cannot be read here cannot be read inside, but for a path that is only too long. */
    if (!d) return errno == ENAMETOOLONG ? WALK_TOO_DEEP : WALK_DONE;
    for (struct dirent *e; end == WALK_DONE && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (++out->n_entries > MOST_ENTRIES)
            end = WALK_TOO_MANY;
        else
            end = look_at(folder, e, writable, folders, out);
    }
    closedir(d);
    return end;
}

walk_end pdl_walk_folder(const char *folder, bool writable, walk_result *out) {
    struct stat st;
    path_list folders = {0};
    walk_end end = WALK_DONE;
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)) return WALK_DONE;
    if (writable) note_placeholders(folder, out);
    pdl_paths_add(&folders, pdl_str_of(folder));
    while (end == WALK_DONE && folders.n) {
        char *next = folders.p[--folders.n];
        end = look(next, writable, &folders, out);
        pdl_free(next);
    }
    pdl_paths_fini(&folders);
    return end;
}
