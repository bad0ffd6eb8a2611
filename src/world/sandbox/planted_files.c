/* planted_files.c -- reports files that confined code left in folders that it may write, and that
 * programs run at their start.
 *
 * Code cannot make such files directly in a folder of `write:`, because the names of these files
 * are mounted over. In a folder that the code makes itself there is nothing to mount over, so the
 * code can make these files there. No rule of the kernel is about names: Landlock's rules are about
 * files that exist, and a filter of system calls sees no paths. The parts of a bare repository have
 * common names, so these are not reserved anywhere. A file that is found after the run is reported
 * before the user enters the folder. It is not removed, because the user or another program may
 * have made it meanwhile. A file may have been replaced by another file of the same name, so the
 * identity of each file is remembered together with its name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/os.h"
#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

typedef struct findings {
    pdl_buf names;
    size_t n;
} findings;

static int by_path(const void *a, const void *b) {
    return strcmp(((const start_mark *)a)->path, ((const start_mark *)b)->path);
}

static bool make_mark(char *path, start_mark *out) {
    struct stat st;
    if (lstat(path, &st) != 0) return false;
    *out = (start_mark){path, st.st_dev, st.st_ino, S_ISLNK(st.st_mode), pdl_os_changed_ns(&st)};
    return true;
}

static void add_marks(pdl_sandbox *s, const path_list *l) {
    for (size_t i = 0; i < l->n; i++) {
        start_mark m;
        if (!make_mark(l->p[i], &m)) continue;
        m.path = pdl_str_dup(pdl_str_of(m.path));
        *pdl_vec_push(&s->marks) = m;
    }
}

void pdl_planted_mark(pdl_sandbox *s, const walk_result *w) {
    add_marks(s, &w->starts);
    add_marks(s, &w->closed);
    if (s->marks.n) qsort(s->marks.p, s->marks.n, sizeof *s->marks.p, by_path);
}

void pdl_planted_fini(pdl_sandbox *s) {
    for (size_t i = 0; i < s->marks.n; i++) pdl_free(s->marks.p[i].path);
    pdl_vec_fini(&s->marks);
}

static bool was_there(const pdl_sandbox *s, char *path) {
    start_mark now;
    if (!s->marks.n || !make_mark(path, &now)) return false;
    const start_mark *m = bsearch(&now, s->marks.p, s->marks.n, sizeof *s->marks.p, by_path);
    return m && now.dev == m->dev && now.ino == m->ino && now.is_link == m->is_link &&
           (!m->is_link || now.changed_ns == m->changed_ns);
}

static void add_name(findings *f, const char *path) {
    enum { SHOWN = 5 };
    if (f->n++ < SHOWN) pdl_buf_putf(&f->names, "%s%s", f->n > 1 ? ", " : "", path);
    if (f->n == SHOWN + 1) PDL_PUT(&f->names, ", ...");
}

static void add_new(findings *f, const pdl_sandbox *s, const path_list *now) {
    for (size_t i = 0; i < now->n; i++)
        if (!was_there(s, now->p[i])) add_name(f, now->p[i]);
}

void pdl_sandbox_planted(const pdl_sandbox *s, pdl_buf *note) {
    findings new = {.names = PDL_BUF}, unseen = {.names = PDL_BUF};
    for (size_t i = 0; i < s->spec.rw.n; i++) {
        walk_result w = {0};
        if (pdl_walk_folder(s->spec.rw.p[i], true, &w) != WALK_DONE)
            add_name(&unseen, s->spec.rw.p[i]);
        add_new(&new, s, &w.starts);
        add_new(&unseen, s, &w.closed);
        pdl_walk_fini(&w);
    }
    if (new.n)
        pdl_buf_putf(note,
                     "files that programs run at their start are new in folders that confined code "
                     "may write; check them before you enter those folders (%zu%s): %s",
                     new.n, unseen.n ? " or more" : "", pdl_buf_z(&new.names));
    if (unseen.n)
        pdl_buf_putf(note,
                     "%sfolders that confined code may write could not be looked through for files "
                     "that programs run at their start (%zu): %s",
                     note->len ? "; " : "", unseen.n, pdl_buf_z(&unseen.names));
    pdl_buf_fini(&new.names);
    pdl_buf_fini(&unseen.names);
}
