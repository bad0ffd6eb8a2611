/* path_glob.c -- patterns of paths: * and ? end at a slash, ** does not, and the folders of a **
 * between slashes may be none. Names have the patterns of base/glob.h.
 *
 * All places of the pattern that the text so far may have led to are followed together. To try one
 * after the other takes exponential time where a pattern has several **, and who chooses the path
 * may be somebody whom the policy is there to stop.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "policy/policy_impl.h"

#include "base/banned.h"

typedef enum {
    PART_LITERAL, /* one character */
    PART_ONE,     /* ? */
    PART_STAR,    /* *: any characters of a name */
    PART_DEEP,    /* **: any characters */
    PART_FOLDERS, /* the ** of a/ ** /b: nothing, or any characters up to a slash */
    PART_INSIDE   /* of those folders */
} part_kind;

typedef struct glob_part {
    part_kind kind;
    pdl_str text; /* LITERAL */
} glob_part;

/* The parts of the pattern in which a match may be; each at most once. */
typedef struct places {
    uint32_t *p;
    uint32_t n;
    uint32_t *mark; /* the number of the step in which a place was added, from 1 */
} places;

/* Adds a place and those that are reached without a character. */
static void add_place(places *to, const glob_part *parts, uint32_t n_parts, uint32_t at,
                      uint32_t step) {
    while (to->mark[at] != step) {
        to->mark[at] = step;
        to->p[to->n++] = at;
        if (at == n_parts) return;
        if (parts[at].kind == PART_FOLDERS && to->mark[at + 1] != step) {
            to->mark[at + 1] = step;
            to->p[to->n++] = at + 1;
            at += 2;
        } else if (parts[at].kind == PART_STAR || parts[at].kind == PART_DEEP) {
            at++;
        } else {
            return;
        }
    }
}

/* The places after one more character of the text. */
static void take(places *to, const glob_part *parts, uint32_t n_parts, uint32_t at, pdl_str c,
                 uint32_t step) {
    if (at == n_parts) return;
    bool slash = pdl_str_is(c, "/");
    switch (parts[at].kind) {
    case PART_LITERAL:
        if (pdl_str_eq(parts[at].text, c)) add_place(to, parts, n_parts, at + 1, step);
        return;
    case PART_ONE:
        if (!slash) add_place(to, parts, n_parts, at + 1, step);
        return;
    case PART_STAR:
        if (!slash) add_place(to, parts, n_parts, at, step);
        return;
    case PART_DEEP: add_place(to, parts, n_parts, at, step); return;
    case PART_FOLDERS: return; /* its INSIDE is a place, too */
    case PART_INSIDE:
        if (slash) add_place(to, parts, n_parts, at + 1, step);
        add_place(to, parts, n_parts, at, step);
        return;
    }
}

static pdl_str next_character(pdl_str s, size_t at) {
    size_t n = pdl_utf8_len((unsigned char)s.p[at]);
    return pdl_str_sub(s, at, n && at + n <= s.n ? at + n : at + 1);
}

/* Returns the number of parts; there is room for one more than the pattern has bytes. */
static uint32_t read_parts(pdl_str pattern, glob_part *out) {
    uint32_t n = 0;
    for (size_t k = 0; k < pattern.n;) {
        size_t stars = 0;
        while (k + stars < pattern.n && pattern.p[k + stars] == '*') stars++;
        bool after_slash = k > 0 && pattern.p[k - 1] == '/';
        if (stars >= 2 && after_slash && k + stars < pattern.n && pattern.p[k + stars] == '/') {
            out[n++] = (glob_part){.kind = PART_FOLDERS};
            out[n++] = (glob_part){.kind = PART_INSIDE};
            k += stars + 1;
        } else if (stars) {
            out[n++] = (glob_part){.kind = stars >= 2 ? PART_DEEP : PART_STAR};
            k += stars;
        } else {
            pdl_str c = next_character(pattern, k);
            out[n++] = (glob_part){pdl_str_is(c, "?") ? PART_ONE : PART_LITERAL, c};
            k += c.n;
        }
    }
    return n;
}

static bool matches(pdl_str pattern, pdl_str text) {
    if (!memchr(pattern.p, '*', pattern.n) && !memchr(pattern.p, '?', pattern.n))
        return pdl_str_eq(pattern, text);
    glob_part *parts = PDL_NEW_N(glob_part, pattern.n + 1);
    uint32_t n = read_parts(pattern, parts), step = 1;
    uint32_t *all = PDL_NEW_N(uint32_t, 3 * ((size_t)n + 1));
    places now = {all, 0, all + 2 * ((size_t)n + 1)}, next = {all + n + 1, 0, now.mark};
    add_place(&now, parts, n, 0, step);
    for (size_t i = 0; i < text.n && now.n;) {
        pdl_str c = next_character(text, i);
        i += c.n;
        step++;
        next.n = 0;
        for (uint32_t k = 0; k < now.n; k++) take(&next, parts, n, now.p[k], c, step);
        places was = now;
        now = next;
        next = was;
    }
    bool found = false;
    for (uint32_t k = 0; k < now.n; k++) found = found || now.p[k] == n;
    pdl_free(all);
    pdl_free(parts);
    return found;
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

/* The real path of the first n bytes; false: there is no such file. */
static bool resolve(char *path, size_t n, char *real) {
    char found[PATH_MAX], c = path[n];
    path[n] = 0;
    bool ok = realpath(path, found) != NULL; /* which writes into `found` also where it fails */
    path[n] = c;
    if (ok) memcpy(real, found, strlen(found) + 1);
    return ok;
}

/* The longest beginning that exists, with its links followed; the rest as it is. Of a path that
 * exists each beginning does, so the place is found by halving: who chooses the path may give it
 * many thousand parts, and each attempt takes a system call for each of them. */
static void follow_links(pdl_buf *path) {
    char *all = pdl_str_dup(pdl_buf_str(path)), real[PATH_MAX];
    size_t n = strlen(all), exist = 0; /* exist: so many beginnings do */
    PDL_VEC(size_t) ends = {0};        /* of all beginnings */
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
