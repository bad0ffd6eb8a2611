/* glob.c -- patterns of paths: * and ? end at a slash, ** does not. Linear: a star goes back to its
 * last place only. Names have the patterns of base/glob.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/policy_impl.h"

#include "base/banned.h"

typedef struct star {
    size_t pattern, text; /* where to begin again */
} star;

/* A star that cannot take one byte more yields to the deep star before it. */
static bool step_back(star *shallow, star *deep, pdl_str text, size_t *i, size_t *k) {
    if (shallow->pattern && !(shallow->text < text.n && text.p[shallow->text] == '/')) {
        *i = ++shallow->text;
        *k = shallow->pattern;
        return *i <= text.n;
    }
    if (!deep->pattern) return false;
    *i = ++deep->text;
    *k = deep->pattern;
    shallow->pattern = 0;
    return *i <= text.n;
}

static bool matches(pdl_str pattern, pdl_str text) {
    star shallow = {0}, deep = {0};
    size_t i = 0, k = 0;
    while (i < text.n || k < pattern.n) {
        bool more = k < pattern.n;
        if (more && pattern.p[k] == '*') {
            bool is_deep = k + 1 < pattern.n && pattern.p[k + 1] == '*';
            while (k < pattern.n && pattern.p[k] == '*') k++;
            /* the folders between may be none */
            if (is_deep && k < pattern.n && pattern.p[k] == '/' && k >= 3 &&
                pattern.p[k - 3] == '/' &&
                matches(pdl_str_sub(pattern, k + 1, pattern.n), pdl_str_sub(text, i, text.n)))
                return true;
            if (is_deep) deep = (star){k, i};
            shallow = is_deep ? (star){0} : (star){k, i};
            continue;
        }
        bool one = more && i < text.n &&
                   (pattern.p[k] == text.p[i] || (pattern.p[k] == '?' && text.p[i] != '/'));
        if (one) {
            i++;
            k++;
        } else if (!step_back(&shallow, &deep, text, &i, &k)) {
            return false;
        }
    }
    return true;
}

/* Adds the parts of a path to one that is clean. */
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

/* The longest beginning that exists, with its links followed; the rest as it is. */
static void follow_links(pdl_buf *path) {
    char *all = pdl_str_dup(pdl_buf_str(path));
    size_t n = strlen(all), keep = n;
    char real[PATH_MAX];
    bool found = false;
    while (keep > 0 && !found) {
        char c = all[keep];
        all[keep] = 0;
        found = realpath(all, real) != NULL;
        all[keep] = c;
        if (found) break;
        while (keep > 0 && all[--keep] != '/') {}
    }
    if (found) {
        pdl_buf_clear(path);
        if (strcmp(real, "/") != 0) pdl_buf_put(path, pdl_str_of(real));
        pdl_buf_put(path, (pdl_str){all + keep, n - keep});
    }
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
    if (real) follow_links(&all); /* before "..", which leads out of where a link leads to */
    add_parts(out, pdl_buf_str(&all));
    pdl_buf_fini(&all);
    if (!out->len) pdl_buf_putc(out, '/');
}

/* Paths of effects begin at the working directory, patterns at the folder of the program. */
bool pdl_policy_path_fits(pdl_str pattern, pdl_str folder, pdl_str path, bool real) {
    pdl_buf want = PDL_BUF, have = PDL_BUF;
    size_t wild = pdl_str_find(pattern, PDL_STR("*"), 0);
    pdl_str fixed = pdl_str_sub(pattern, 0, wild == PDL_NOT_FOUND ? pattern.n : wild);
    size_t slash = pdl_str_rfind(fixed, PDL_STR("/"));
    size_t cut = slash == PDL_NOT_FOUND ? 0 : slash + 1;
    /* only folders before the first star are followed */
    pdl_policy_full_path(folder, pdl_str_sub(pattern, 0, cut), real, &want);
    if (want.len > 1) pdl_buf_putc(&want, '/');
    pdl_buf_put(&want, pdl_str_sub(pattern, cut, pattern.n));
    pdl_policy_full_path((pdl_str){0}, path, real, &have);
    bool fits = matches(pdl_buf_str(&want), pdl_buf_str(&have));
    pdl_buf_fini(&want);
    pdl_buf_fini(&have);
    return fits;
}
