/* file_paths.c -- removes "." and ".." from paths without using the file system; see file.h. Links
 * are therefore not followed, and a path need not exist.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/file.h"

#include "base/banned.h"

/* Removes the last part of a path. */
static void pop_part(pdl_buf *out) {
    while (out->len && out->p[out->len - 1] != '/') pdl_buf_cut(out, out->len - 1);
    if (out->len > 1) pdl_buf_cut(out, out->len - 1);
}

void pdl_file_put_parts(pdl_str path, pdl_buf *out) {
    for (size_t from = 0; from < path.n;) {
        size_t slash = pdl_str_find(path, PDL_STR("/"), from);
        pdl_str part = pdl_str_sub(path, from, slash == PDL_NOT_FOUND ? path.n : slash);
        from = slash == PDL_NOT_FOUND ? path.n : slash + 1;
        if (!part.n || pdl_str_is(part, ".")) continue;
        if (pdl_str_is(part, "..")) {
            pop_part(out);
            continue;
        }
        if (!pdl_str_ends(pdl_buf_str(out), PDL_STR("/"))) pdl_buf_putc(out, '/');
        pdl_buf_put(out, part);
    }
}
