/* bwrap.c -- writes the mounts and namespaces of a profile as arguments of bubblewrap, which then
 * executes the helper inside. bubblewrap is used where a security module lets only bubblewrap make
 * namespaces; see namespaces.c for the other way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

const char pdl_bubblewrap[] = "/usr/bin/bwrap";

typedef PDL_VEC(const char *) words;

static void add(words *w, const char *a, const char *b, const char *c) {
    *pdl_vec_push(w) = a;
    if (b) *pdl_vec_push(w) = b;
    if (c) *pdl_vec_push(w) = c;
}

/* Binds a path. A link becomes a link again, so that /bin is the same inside as outside. */
static void add_bind(words *w, const char *path, bool writable) {
    struct stat st;
    char link[4096];
    if (lstat(path, &st) != 0) return;
    ssize_t n = S_ISLNK(st.st_mode) ? readlink(path, link, sizeof link - 1) : -1;
    if (n >= 0) {
        link[n] = 0;
        add(w, "--symlink", pdl_str_dup(pdl_str_of(link)), path); /* freed by exec */
        return;
    }
    add(w, writable ? "--bind" : "--ro-bind", path, path);
}

/* Adds an empty file, whose content bubblewrap reads from a descriptor. Returns false for a path
 * that need not be an empty file, or when there are too many empty files. */
static bool add_empty(words *w, const char *path, int *n_empty) {
    enum { MAX_EMPTY = 200 };
    char number[16];
    if (!pdl_walk_shown_empty(path) || ++*n_empty > MAX_EMPTY) return false;
    int fd = open("/dev/null", O_RDONLY); /* bubblewrap inherits and closes fd */
    if (fd < 0) return false;
    snprintf(number, sizeof number, "%d", fd);
    add(w, "--ro-bind-data", pdl_str_dup(pdl_str_of(number)), path); /* freed by exec */
    return true;
}

static void add_binds(words *w, const sandbox_spec *s) {
    mount_list all = {0};
    pdl_mounts_of(s, &all);
    for (size_t i = 0; i < all.n; i++) add_bind(w, all.p[i], pdl_paths_have(&s->rw, all.p[i]));
    pdl_vec_fini(&all);
    int n_empty = 0;
    path_list above = {0}; /* freed by exec */
    pdl_walk_above(s, &above);
    for (size_t i = 0; i < above.n; i++) add(w, "--bind-try", above.p[i], above.p[i]);
    /* a folder that is bound covers earlier mounts, so the masks inside are mounted later */
    bool is_folder;
    for (size_t i = 0; i < s->kept.n; i++)
        if (pdl_can_mount_over("", s->kept.p[i], &is_folder))
            add(w, "--ro-bind-try", s->kept.p[i], s->kept.p[i]);
    for (size_t i = 0; i < s->masked.n; i++) {
        if (!pdl_can_mount_over("", s->masked.p[i], &is_folder)) continue;
        if (is_folder)
            add(w, "--tmpfs", s->masked.p[i], NULL);
        else if (!add_empty(w, s->masked.p[i], &n_empty))
            add(w, "--ro-bind", "/dev/null", s->masked.p[i]);
    }
}

/* Adds the parts that every sandbox has. The probe adds them, too, so that it cannot succeed when a
 * sandbox would fail. */
static void add_world(words *w, const char *size) {
    add(w, "--unshare-user", "--unshare-pid", "--unshare-net");
    add(w, "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try");
    add(w, "--die-with-parent", NULL, NULL);
    add(w, "--dev", "/dev", NULL);
    add(w, "--size", size, NULL); /* files in /dev/shm are in memory, like the files in /tmp */
    add(w, "--tmpfs", "/dev/shm", NULL);
    add(w, "--proc", "/proc", NULL);
    add(w, "--size", size, NULL);
    add(w, "--tmpfs", "/tmp", NULL);
    add(w, "--dir", "/tmp/home", NULL);
}

void pdl_bwrap_exec(const sandbox_spec *s, char **argv) {
    words w = {0};
    char size[32];
    snprintf(size, sizeof size, "%lld", (long long)s->tmp);
    add(&w, "bwrap", NULL, NULL);
    add_world(&w, size);
    add_binds(&w, s);
    add(&w, "--ro-bind", s->helper, "/tmp/.confined");
    add(&w, "--remount-ro", "/", NULL);
    add(&w, "--", "/tmp/.confined", "__confined");
    for (char **a = argv; *a; a++) *pdl_vec_push(&w) = *a;
    *pdl_vec_push(&w) = NULL;
    execv(pdl_bubblewrap, (char **)(void *)w.p);
}

void pdl_bwrap_exec_probe(const char *script) {
    words w = {0};
    add(&w, "bwrap", NULL, NULL);
    add(&w, "--ro-bind", "/", "/");
    add_world(&w, "4096");
    add(&w, "--ro-bind-try", "/dev/null", "/tmp/none");
    add(&w, "--remount-ro", "/", NULL);
    add(&w, "--", "/bin/sh", "-c");
    add(&w, script, NULL, NULL);
    *pdl_vec_push(&w) = NULL;
    /* The environment is empty, because a library that a variable preloads might not work inside
     * bubblewrap. */
    execve(pdl_bubblewrap, (char **)(void *)w.p, (char *[]){NULL});
}
