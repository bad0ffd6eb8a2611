/* confused_deputy.c -- checks what the engine does for confined code, or in folders that such code
 * could write.
 *
 * The engine has rights that the code does not have. If the engine uses them carelessly, two ways
 * lead around the sandbox. Code asks the engine to read a file for it, through a program that the
 * code executes or a function that it calls. Or code puts a link into a folder that it may write,
 * and the engine follows the link later. In the first case the profile of the code is applied. In
 * the second case such paths are opened in a way that cannot leave the folder, even if the folder
 * is changed meanwhile. Code may combine both ways: it exchanges a link after the path was judged,
 * for example in its folder of temporary files when that is not inside a namespace. So the place
 * that was judged is opened, and not the path.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/str.h"
#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

/* Returns true when the path has a part "..". */
static bool climbs(const char *path) {
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/')) return true;
    return false;
}

/* Writes the path with its links followed as far as the path exists; the part that does not exist
 * is unchanged. Returns false when the place cannot be determined. */
static bool real_of(const char *path, char *out) {
    char copy[PATH_MAX];
    if (realpath(path, out)) return true;
    if (snprintf(copy, sizeof copy, "%s%s", path[0] == '/' ? "" : "./", path) >= PATH_MAX)
        return false;
    for (size_t end = strlen(copy); end;) {
        while (end && copy[end - 1] != '/') end--;
        if (!end) return false;
        copy[end - 1] = 0;
        if (realpath(end > 1 ? copy : "/", out)) {
            size_t n = strcmp(out, "/") == 0 ? 0 : strlen(out);
            const char *rest = copy + end;
            int m = snprintf(out + n, PATH_MAX - n, "/%s", rest);
            return !climbs(rest) && m < (int)(PATH_MAX - n);
        }
        copy[end - 1] = '/';
        end--;
    }
    return false;
}

static bool any_above(const path_list *l, const char *path) {
    for (size_t i = 0; i < l->n; i++)
        if (pdl_path_is_under(path, l->p[i])) return true;
    return false;
}

bool pdl_path_stays_in(const char *path, const char *folder) {
    char real[PATH_MAX], real_folder[PATH_MAX];
    size_t n = strlen(folder);
    while (n && folder[n - 1] == '/') n--;
    return n && strncmp(path, folder, n) == 0 && path[n] == '/' && !climbs(path + n) &&
           realpath(folder, real_folder) && strcmp(real_folder, "/") != 0 && real_of(path, real) &&
           pdl_path_is_under(real, real_folder);
}

static bool may_read(const pdl_sandbox *s, const char *real) {
    return !any_above(&s->spec.masked, real) &&
           (any_above(&s->spec.ro, real) || any_above(&s->spec.rw, real));
}

static bool may_write(const pdl_sandbox *s, const char *real) {
    return !any_above(&s->spec.masked, real) && !any_above(&s->spec.kept, real) &&
           any_above(&s->spec.rw, real);
}

bool pdl_sandbox_may_read(const pdl_sandbox *s, const char *path) {
    char real[PATH_MAX];
    return real_of(path, real) && may_read(s, real);
}

bool pdl_sandbox_may_write(const pdl_sandbox *s, const char *path) {
    char real[PATH_MAX];
    return real_of(path, real) && may_write(s, real);
}

int pdl_sandbox_open_for_code(const pdl_sandbox *s, const char *path, int flags, unsigned mode) {
    char real[PATH_MAX];
    bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
    if (!real_of(path, real) || !(writes ? may_write(s, real) : may_read(s, real))) {
        errno = EACCES;
        return -1;
    }
    return pdl_os_open_exactly(real, flags, mode);
}

/* --- addresses -------------------------------------------------------------------------------- */

bool pdl_sandbox_may_reach(const pdl_sandbox *s, pdl_str url) {
    size_t scheme = pdl_str_find(url, PDL_STR("://"), 0);
    bool plain = pdl_str_starts(url, PDL_STR("http://"));
    pdl_str rest = scheme == PDL_NOT_FOUND ? url : pdl_str_sub(url, scheme + 3, url.n);
    size_t end = 0;
    while (end < rest.n && !strchr("/?#\\", rest.p[end])) end++;
    rest = pdl_str_sub(rest, 0, end);
    size_t at = pdl_str_rfind(rest, PDL_STR("@"));
    if (at != PDL_NOT_FOUND) rest = pdl_str_sub(rest, at + 1, rest.n);
    size_t colon = pdl_str_rfind(rest, PDL_STR(":")), bracket = pdl_str_rfind(rest, PDL_STR("]"));
    bool has_port = colon != PDL_NOT_FOUND && (bracket == PDL_NOT_FOUND || colon > bracket);
    pdl_str name = has_port ? pdl_str_sub(rest, 0, colon) : rest;
    if (name.n > 2 && name.p[0] == '[') name = pdl_str_sub(name, 1, name.n - 1);
    char *host = pdl_str_dup(name);
    char *port = pdl_str_dup(has_port ? pdl_str_sub(rest, colon + 1, rest.n) : PDL_STR(""));
    bool ok = pdl_net_grants(&s->profile.net, host,
                             has_port ? (int)strtol(port, NULL, 10)
                             : plain  ? 80
                                      : 443);
    pdl_free(port);
    pdl_free(host);
    return ok;
}

/* --- links ------------------------------------------------------------------------------------ */

enum { MAX_LINKS = 40 };

/* A path that is being resolved: the part that is resolved, and the rest. */
typedef struct link_walk {
    char at[PATH_MAX], left[PATH_MAX];
    int links;
} link_walk;

static bool begin_walk(link_walk *w, const char *path) {
    w->links = 0;
    if (snprintf(w->left, sizeof w->left, "%s", path) >= PATH_MAX) return false;
    if (path[0] != '/') return getcwd(w->at, sizeof w->at) != NULL;
    w->at[0] = 0;
    return true;
}

static bool go_down(link_walk *w, pdl_str name) {
    size_t n = strcmp(w->at, "/") == 0 ? 0 : strlen(w->at);
    return snprintf(w->at + n, sizeof w->at - n, "/%.*s", PDL_FMT(name)) < (int)(sizeof w->at - n);
}

static void go_up(link_walk *w) {
    char *last = strrchr(w->at, '/');
    if (last) *last = 0;
}

/* Replaces the link at w->at by its target, before the rest of the path. */
static bool follow(link_walk *w) {
    char to[PATH_MAX], all[PATH_MAX];
    ssize_t n = readlink(w->at, to, sizeof to - 1);
    if (n < 0) return true; /* the name is not a link, or does not exist */
    to[n] = 0;
    if (++w->links > MAX_LINKS ||
        snprintf(all, sizeof all, "%s/%s", to, w->left) >= (int)sizeof all)
        return false;
    memcpy(w->left, all, sizeof all);
    if (to[0] == '/')
        w->at[0] = 0;
    else
        go_up(w);
    return true;
}

/* Returns the folder of `write:` that the path enters first; w has the rest of the path. NULL when
 * the path enters no such folder. Confined code cannot change the path up to that folder, so
 * reading it is free of races. */
static const char *entered(const pdl_sandbox *s, link_walk *w) {
    for (;;) {
        for (size_t k = 0; k < s->spec.rw.n; k++)
            if (w->at[0] && pdl_path_is_under(w->at, s->spec.rw.p[k])) return s->spec.rw.p[k];
        size_t from = strspn(w->left, "/"), n = strcspn(w->left + from, "/");
        if (!n) return NULL;
        char name[NAME_MAX + 1];
        if (n > NAME_MAX) return NULL;
        memcpy(name, w->left + from, n);
        name[n] = 0;
        memmove(w->left, w->left + from + n, strlen(w->left + from + n) + 1);
        if (strcmp(name, ".") == 0) continue;
        if (strcmp(name, "..") == 0)
            go_up(w);
        else if (!go_down(w, (pdl_str){name, n}) || !follow(w))
            return NULL;
    }
}

int pdl_sandbox_open(const pdl_sandbox *s, const char *path, int flags, unsigned mode,
                     bool *other) {
    link_walk w;
    const char *folder = begin_walk(&w, path) ? entered(s, &w) : NULL;
    *other = !folder;
    if (!folder) return -1;
    char inner[2 * PATH_MAX];
    size_t n = strlen(folder);
    const char *below = w.at[n] == '/' ? w.at + n + 1 : "";
    snprintf(inner, sizeof inner, "%s/%s", *below ? below : ".", w.left + strspn(w.left, "/"));
    int dir = open(folder, pdl_os_only_found | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) { /* the profile grants a single file */
        *other = errno == ENOTDIR;
        return -1;
    }
    int fd = pdl_os_open_beneath(dir, inner, flags, mode), e = errno;
    close(dir);
    errno = e;
    return fd;
}
