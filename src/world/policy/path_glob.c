/* path_glob.c -- finds the path that a name means: links, "..", and the folder that a pattern
 * belongs to. base/glob.h decides which path fits a pattern.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/glob.h"
#include "policy/policy_impl.h"

#include "base/banned.h"

/* Appends the parts of a path to a normalized path. */
static void add_parts(pdl_buf *out, pdl_str path) {
    for (size_t from = 0; from < path.n;) {
        size_t slash = pdl_str_find(path, PDL_STR("/"), from),
               to = slash == PDL_NOT_FOUND ? path.n : slash;
        pdl_str part = pdl_str_sub(path, from, to);
        from = to + 1;
        if (!part.n || pdl_str_is(part, ".")) continue;
        if (pdl_str_is(part, "..")) {
            size_t up = pdl_str_rfind(pdl_buf_str(out), PDL_STR("/"));
            pdl_buf_cut(out, up == PDL_NOT_FOUND ? 0 : up);
            continue;
        }
        pdl_buf_putc(out, '/');
        pdl_buf_put(out, part);
    }
}

/* Stores the real path of the first n bytes; returns false when there is no such file. */
static bool resolve(char *path, size_t n, char *real) {
    char found[PATH_MAX], c = path[n];
    path[n] = 0;
    bool ok = realpath(path, found) != NULL; /* realpath writes into `found` also when it fails */
    path[n] = c;
    if (ok) memcpy(real, found, strlen(found) + 1);
    return ok;
}

/* Replaces the longest beginning of the path that exists by its real path, and keeps the rest. When
 * a path exists, all its beginnings exist, so the longest one is found by binary search. Trying one
 * after the other would take too long: an attacker may give a path with many thousand parts, and
 * each attempt costs a system call for each part. */
static void follow_links(pdl_buf *path) {
    char *all = pdl_str_dup(pdl_buf_str(path)), real[PATH_MAX];
    size_t n = strlen(all), exist = 0; /* exist: how many beginnings of the path exist */
    PDL_VEC(size_t) ends = {0};        /* the ends of all beginnings */
    for (size_t i = 1; i <= n; i++)
        if (i == n || all[i] == '/') *pdl_vec_push(&ends) = i;
    for (size_t missing = ends.n; exist < missing;) {
        size_t middle = exist + (missing - exist) / 2;
        if (resolve(all, ends.p[middle], real))
            exist = middle + 1;
        else
            missing = middle;
    }
    if (exist) {
        size_t keep = ends.p[exist - 1];
        pdl_buf_clear(path);
        if (strcmp(real, "/") != 0) pdl_buf_put(path, pdl_str_of(real));
        pdl_buf_put(path, (pdl_str){all + keep, n - keep});
    }
    pdl_vec_fini(&ends);
    pdl_free(all);
}

void pdl_policy_full_path(pdl_str folder, pdl_str path, bool real, pdl_buf *out) {
    char cwd[PATH_MAX];
    bool absolute = path.n && path.p[0] == '/', folder_absolute = folder.n && folder.p[0] == '/';
    pdl_buf all = PDL_BUF;
    if (!absolute && !folder_absolute && getcwd(cwd, sizeof cwd))
        pdl_buf_put(&all, pdl_str_of(cwd));
    if (!absolute) pdl_buf_putf(&all, "/%.*s", PDL_FMT(folder));
    pdl_buf_putc(&all, '/');
    pdl_buf_put(&all, path);
    /* links before ".." are followed first, because ".." then leaves the target of the link */
    if (real) follow_links(&all);
    add_parts(out, pdl_buf_str(&all));
    pdl_buf_fini(&all);
    if (!out->len) pdl_buf_putc(out, '/');
}

/* Returns true when the path fits. With `real`, links are followed first. Paths of effects are
 * relative to the working directory, patterns to the folder of the program. */
bool pdl_policy_path_fits(pdl_str pattern, pdl_str folder, pdl_str path, bool real) {
    pdl_buf want = PDL_BUF, have = PDL_BUF;
    size_t wild = pdl_str_find(pattern, PDL_STR("*"), 0);
    pdl_str fixed = pdl_str_sub(pattern, 0, wild == PDL_NOT_FOUND ? pattern.n : wild);
    size_t slash = pdl_str_rfind(fixed, PDL_STR("/"));
    size_t cut = slash == PDL_NOT_FOUND ? 0 : slash + 1;
    /* only links in the folders before the first star are followed */
    pdl_policy_full_path(folder, pdl_str_sub(pattern, 0, cut), real, &want);
    if (want.len > 1) pdl_buf_putc(&want, '/');
    pdl_buf_put(&want, pdl_str_sub(pattern, cut, pattern.n));
    pdl_policy_full_path((pdl_str){0}, path, real, &have);
    bool fits =
        pdl_glob_fits(pdl_buf_str(&want), pdl_buf_str(&have), PDL_GLOB_ONE | PDL_GLOB_PATHS);
    pdl_buf_fini(&want);
    pdl_buf_fini(&have);
    return fits;
}
