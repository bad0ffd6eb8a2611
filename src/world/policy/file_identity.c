/* file_identity.c -- finds out whether a name still leads to the file that it had when the run
 * began (file_identity.h). A moved folder leaves its files unchanged, so the folders and links on
 * the way are compared, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy/file_identity.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "policy/policy_impl.h"

#include "base/banned.h"

enum {
    MAX_LINKS = 40, /* maximum number of links on the way to one file, as in the kernel */
    /* maximum number of folders below the working folder and below the program's folder */
    MAX_FOLDERS = 1000,
    MAX_ENTRIES = 100000 /* maximum number of entries in all these folders together */
};

void pdl_ways_init(file_ways *w) {
    *w = (file_ways){.began_ns = pdl_os_file_clock_ns(), .folders = pdl_absent()};
}

void pdl_ways_fini(file_ways *w) {
    if (!pdl_is_absent(w->folders)) pdl_drop(w->folders);
}

/* --- the folders before the first process ----------------------------------------------------- */

static pdl_val inode_of(const struct stat *st) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%llu:%llu", (unsigned long long)st->st_dev, (unsigned long long)st->st_ino);
    return pdl_text_of_buf(&b);
}

static void note_folder(file_ways *w, const char *path) {
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        w->folders = pdl_dict_puts(w->folders, pdl_str_of(path), inode_of(&st));
}

typedef struct folder_walk {
    PDL_VEC(char *) folders;
    size_t n_entries;
} folder_walk;

/* Adds the subfolders of a folder to the walk. Hidden folders are left out: they belong to tools,
 * contain many folders and no programs. */
static void add_children(folder_walk *k, const char *folder) {
    DIR *d = opendir(folder);
    for (struct dirent *x; d && k->n_entries < MAX_ENTRIES && (x = readdir(d));) {
        k->n_entries++;
        if (x->d_name[0] == '.' || (x->d_type != DT_DIR && x->d_type != DT_UNKNOWN)) continue;
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "%s/%s", folder, x->d_name);
        *pdl_vec_push(&k->folders) = pdl_str_dup(pdl_buf_str(&b));
        pdl_buf_fini(&b);
    }
    if (d) closedir(d);
}

static void note_below(file_ways *w, const char *folder) {
    folder_walk k = {0};
    *pdl_vec_push(&k.folders) = pdl_str_dup(pdl_str_of(folder));
    for (size_t i = 0; i < k.folders.n && i < MAX_FOLDERS; i++) {
        char *path = k.folders.p[i];
        note_folder(w, path);
        add_children(&k, path);
    }
    for (size_t i = 0; i < k.folders.n; i++) pdl_free(k.folders.p[i]);
    pdl_vec_fini(&k.folders);
}

static void note_from(file_ways *w, const char *folder) {
    pdl_buf b = PDL_BUF;
    pdl_policy_full_path((pdl_str){0}, pdl_str_of(folder), true, &b);
    char *path = pdl_str_dup(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    bool known = !pdl_is_absent(pdl_dict_gets(w->folders, pdl_str_of(path)));
    if (!known) note_below(w, path);
    for (char *slash; !known && (slash = strrchr(path, '/')) && slash > path;) {
        *slash = 0;
        note_folder(w, path);
    }
    pdl_free(path);
}

void pdl_ways_note(file_ways *w, pdl_str folder) {
    if (!pdl_is_absent(w->folders)) return;
    char *z = pdl_str_dup(folder);
    w->folders = pdl_dict_new(0);
    note_from(w, ".");
    if (folder.n) note_from(w, z);
    pdl_free(z);
}

/* --- the way to a file ------------------------------------------------------------------------ */

static bool is_new(const file_ways *w, const struct stat *st) {
    return pdl_os_changed_ns(st) >= w->began_ns;
}

/* Returns true when a folder that was not noted has probably been moved here since the run began. A
 * new or removed entry changes both times of a folder. A move of the folder changes only the time
 * of its inode, and also the times of the folder that contains it. */
static bool looks_moved(const file_ways *w, const char *path, const struct stat *st) {
    struct stat above;
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/..", path);
    bool is = is_new(w, st) && pdl_os_changed_ns(st) != pdl_os_modified_ns(st) &&
              lstat(pdl_buf_z(&b), &above) == 0 && is_new(w, &above);
    pdl_buf_fini(&b);
    return is;
}

static bool is_moved(const file_ways *w, const char *path, const struct stat *st) {
    pdl_buf b = PDL_BUF;
    pdl_policy_full_path((pdl_str){0}, pdl_str_of(path), true, &b);
    pdl_vref was =
        pdl_is_absent(w->folders) ? pdl_absent() : pdl_dict_gets(w->folders, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    if (pdl_is_absent(was)) return looks_moved(w, path, st);
    pdl_val now = inode_of(st);
    bool is = !pdl_val_eq(was, now);
    pdl_drop(now);
    return is;
}

static bool is_way_new(const file_ways *w, char *path, unsigned n_links);

/* Examines the way to the target of a link. The way to the folder of the link was examined before,
 * so the links on that way are not examined again. */
static bool is_target_new(const file_ways *w, const char *link, unsigned n_links) {
    char target[PATH_MAX];
    ssize_t n = readlink(link, target, sizeof target - 1);
    if (n <= 0 || n_links >= MAX_LINKS) return true;
    target[n] = 0;
    pdl_buf b = PDL_BUF;
    if (target[0] != '/') {
        pdl_str folder = {link, (size_t)(strrchr(link, '/') - link)};
        pdl_policy_full_path((pdl_str){0}, folder.n ? folder : PDL_STR("/"), true, &b);
        pdl_buf_putc(&b, '/');
    }
    pdl_buf_put(&b, pdl_str_of(target));
    char *whole = pdl_str_dup(pdl_buf_str(&b));
    bool is = is_way_new(w, whole, n_links + 1);
    pdl_free(whole);
    pdl_buf_fini(&b);
    return is;
}

/* Examines each name of an absolute path, and the ways to the targets of links. */
static bool is_way_new(const file_ways *w, char *path, unsigned n_links) {
    struct stat st;
    bool is = false;
    for (size_t i = 1, n = strlen(path); !is && i <= n; i++) {
        char had = path[i];
        if (had && had != '/') continue;
        path[i] = 0;
        if (lstat(path, &st) != 0)
            is = true;
        else if (S_ISLNK(st.st_mode))
            is = is_new(w, &st) || is_target_new(w, path, n_links);
        else if (S_ISDIR(st.st_mode))
            is = is_moved(w, path, &st);
        path[i] = had;
    }
    return is;
}

bool pdl_ways_changed(const file_ways *w, pdl_str path) {
    char cwd[PATH_MAX];
    struct stat st;
    pdl_buf b = PDL_BUF;
    bool absolute = path.n && path.p[0] == '/';
    if (!absolute && !getcwd(cwd, sizeof cwd)) return true;
    if (!absolute) pdl_buf_putf(&b, "%s/", cwd);
    pdl_buf_put(&b, path);
    char *z = pdl_str_dup(pdl_buf_str(&b));
    bool is = stat(z, &st) != 0 || is_new(w, &st) || is_way_new(w, z, 0);
    pdl_free(z);
    pdl_buf_fini(&b);
    return is;
}

bool pdl_ways_missing(pdl_str path) {
    struct stat st;
    char *z = pdl_str_dup(path);
    bool is = lstat(z, &st) != 0;
    pdl_free(z);
    return is;
}
