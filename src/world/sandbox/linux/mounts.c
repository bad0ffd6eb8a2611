/* mounts.c -- the common part of the two ways to make a root: which folders are mounted in which
 * order, and which protected paths can be mounted over. namespaces.c mounts with system calls, and
 * bwrap.c writes the mounts as arguments. A profile must mean the same in both ways.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

static int by_length(const void *a, const void *b) {
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t n = strlen(x), k = strlen(y);
    return n < k ? -1 : n > k;
}

void pdl_mounts_of(const sandbox_spec *s, mount_list *out) {
    for (size_t i = 0; i < s->ro.n; i++)
        if (!pdl_paths_have(&s->rw, s->ro.p[i])) *pdl_vec_push(out) = s->ro.p[i];
    for (size_t i = 0; i < s->rw.n; i++) *pdl_vec_push(out) = s->rw.p[i];
    if (out->n) qsort(out->p, out->n, sizeof *out->p, by_length);
}

bool pdl_can_mount_over(const char *root, const char *path, bool *is_folder) {
    char at[PATH_MAX];
    struct stat st;
    snprintf(at, sizeof at, "%s%s", root, path);
    if (lstat(at, &st) != 0 || S_ISLNK(st.st_mode)) return false;
    *is_folder = S_ISDIR(st.st_mode);
    return true;
}
