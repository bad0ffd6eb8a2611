/* links.c -- finds the symbolic links through which a path leads to its file. Code that changes one
 * of these links makes the path lead to another file, without a write to the file itself. So code
 * must not change the links to a file that decides about a run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

enum { MAX_LINKS = 40 }; /* the kernel follows 40 links, too */

/* A path that is followed: the folders so far, which are no links, and the rest. */
typedef struct {
    char done[PATH_MAX], rest[PATH_MAX];
} way;

/* Takes the first name of the rest. Returns false at the end. */
static bool next_name(way *w, char *name) {
    size_t from = strspn(w->rest, "/"), n = strcspn(w->rest + from, "/");
    if (!n || n > NAME_MAX) return false;
    memcpy(name, w->rest + from, n);
    name[n] = 0;
    memmove(w->rest, w->rest + from + n, strlen(w->rest + from + n) + 1);
    return true;
}

static void go_up(way *w) {
    char *slash = strrchr(w->done, '/');
    if (slash) *slash = 0;
}

/* Continues at the target of a link. Returns false when the link cannot be read, or when the path
 * becomes too long. */
static bool follow(way *w, const char *link) {
    char target[PATH_MAX], rest[PATH_MAX];
    ssize_t n = readlink(link, target, sizeof target - 1);
    if (n <= 0) return false;
    target[n] = 0;
    if (target[0] == '/') w->done[0] = 0;
    memcpy(rest, w->rest, sizeof rest);
    return snprintf(w->rest, sizeof w->rest, "%s/%s", target, rest) < (int)sizeof w->rest;
}

static bool begin(way *w, const char *path) {
    w->done[0] = 0;
    if (path[0] != '/' && !getcwd(w->done, sizeof w->done)) return false;
    if (strcmp(w->done, "/") == 0) w->done[0] = 0;
    return snprintf(w->rest, sizeof w->rest, "%s", path) < (int)sizeof w->rest;
}

void pdl_links_on_way(const char *path, path_list *out) {
    char name[NAME_MAX + 1], next[PATH_MAX];
    struct stat st;
    way w;
    unsigned n_links = 0;
    if (!begin(&w, path)) return;
    while (next_name(&w, name)) {
        if (strcmp(name, ".") == 0) continue;
        if (strcmp(name, "..") == 0) {
            go_up(&w);
            continue;
        }
        int length = snprintf(next, sizeof next, "%s/%s", w.done, name);
        if (length >= (int)sizeof next || lstat(next, &st) != 0) return;
        if (!S_ISLNK(st.st_mode)) {
            memcpy(w.done, next, (size_t)length + 1);
            continue;
        }
        if (!pdl_paths_have(out, next)) pdl_paths_add(out, pdl_str_of(next));
        if (++n_links > MAX_LINKS || !follow(&w, next)) return;
    }
}
