/* planted.c -- what confined code left in folders that it may write, and programs run at their
 * start.
 *
 * In a folder of `write:` the names of such files are taken and mounted over, which needs a folder
 * that exists: in one that the code makes itself it can make them, since no rule of the kernel is
 * about names (Landlock's are about files that exist, a filter of system calls sees no paths). What
 * is found after the run is not removed, because the user or another program may have made it
 * meanwhile; it is reported before somebody enters the folder.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

typedef struct findings {
    pdl_buf names;
    size_t n;
} findings;

static void add_new(findings *f, const pdl_sandbox *s, const path_list *now) {
    enum { SHOWN = 5 };
    for (size_t i = 0; i < now->n; i++) {
        const char *path = now->p[i], *slash = strrchr(path, '/');
        if (!slash || !pdl_walk_is_start_file(slash + 1) || pdl_paths_have(&s->spec.kept, path) ||
            pdl_paths_have(&s->spec.masked, path))
            continue;
        if (f->n++ < SHOWN) pdl_buf_putf(&f->names, "%s%s", f->n > 1 ? ", " : "", path);
        if (f->n == SHOWN + 1) PDL_PUT(&f->names, ", ...");
    }
}

void pdl_sandbox_planted(const pdl_sandbox *s, pdl_buf *note) {
    findings f = {.names = PDL_BUF};
    bool all = true;
    for (size_t i = 0; i < s->spec.rw.n; i++) {
        walk_result w = {0};
        all = pdl_walk_folder(s->spec.rw.p[i], true, &w) == WALK_DONE && all;
        add_new(&f, s, &w.kept);
        add_new(&f, s, &w.masked);
        pdl_paths_fini(&w.kept);
        pdl_paths_fini(&w.masked);
        pdl_paths_fini(&w.placeholders);
    }
    if (f.n)
        pdl_buf_putf(note,
                     "files that programs run at their start are new in folders that confined code "
                     "may write; look at them before you enter those folders (%zu%s): %s",
                     f.n, all ? "" : " or more", pdl_buf_z(&f.names));
    pdl_buf_fini(&f.names);
}
