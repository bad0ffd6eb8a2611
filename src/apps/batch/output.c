/* output.c -- checks an output before the first row, and opens the writer of its format; see
 * output.h. A batch may run for days, so an output that cannot be written must be found before the
 * first row is paid for. The formats share their names, their links and the check that the file is
 * still there; each has a writer with the functions of output_impl.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/output.h"
#include "batch/duck.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "batch/output_impl.h"
#include "io/file.h"

#include "base/banned.h"

const char *pdl_batch_own_column(size_t i) {
    static const char *const names[] = {"result", "error", "place"};
    return names[i];
}

bool pdl_batch_output_size(const pdl_table *t, uint64_t *size) {
    struct stat st;
    *size = 0;
    if (t->form == PDL_TABLE_sqlite) return pdl_batch_output_sqlite_size(t, size);
    char *path = t->form == PDL_TABLE_parquet ? pdl_batch_parquet_rows(t) : pdl_str_dup(t->path);
    bool there = !t->standard && !t->is_open && stat(path, &st) == 0;
    if (there && st.st_size > 0) *size = (uint64_t)st.st_size;
    pdl_free(path);
    return there;
}

static pdl_batch_output *new_of(pdl_table_form form) {
    switch (form) {
    case PDL_TABLE_jsonl:
    case PDL_TABLE_parquet:
    case PDL_TABLE_csv: return pdl_batch_output_file_new();
    case PDL_TABLE_sqlite: return pdl_batch_output_sqlite_new();
    case PDL_TABLE_COUNT: break;
    }
    PDL_BUG("form of table %d", (int)form);
}

char *pdl_batch_output_target(pdl_str path) {
    enum { MAX_LINKS = 40 };
    char *at = pdl_str_dup(path), to[PATH_MAX];
    for (int i = 0; i < MAX_LINKS; i++) {
        ssize_t n = readlink(at, to, sizeof to);
        if (n <= 0 || (size_t)n == sizeof to) break;
        pdl_str folder = to[0] == '/' ? PDL_STR("") : pdl_file_folder(pdl_str_of(at));
        pdl_buf next = PDL_BUF;
        pdl_buf_putf(&next, "%.*s%s%.*s", PDL_FMT(folder), folder.n ? "/" : "", (int)n, to);
        pdl_free(at);
        at = pdl_buf_take(&next);
    }
    return at;
}

char *pdl_batch_output_journal(const pdl_table *output) {
    char *target = pdl_batch_output_target(output->path);
    pdl_buf b = PDL_BUF;
    if (pdl_file_kind_of(target) == PDL_FILE_OTHER) { /* a device has no files next to it */
        pdl_free(target);
        target = pdl_str_dup(output->path);
    }
    /* the part of the name that names a table, ":TABLE" */
    pdl_str rest = pdl_str_sub(output->name, output->path.n, output->name.n);
    pdl_buf_putf(&b, "%s%.*s.journal", target, PDL_FMT(rest));
    pdl_free(target);
    return pdl_buf_take(&b);
}

/* Returns 0 when the file at the end of all links can be written. Otherwise returns the errno value
 * of a write. */
static int why_unwritable(const char *target) {
    if (pdl_file_kind_of(target) == PDL_FILE_DIR) return EISDIR;
    if (access(target, F_OK) == 0) return access(target, W_OK) == 0 ? 0 : errno;
    if (errno != ENOENT) return errno;
    char *folder = pdl_str_dup(pdl_file_folder(pdl_str_of(target)));
    int why = access(*folder ? folder : ".", W_OK | X_OK) == 0 ? 0 : errno;
    pdl_free(folder);
    return why;
}

/* Checks that the file can be made before any row is run. Without this check, the error would come
 * only when the first row is written. For Parquet it would come only after the last row. */
static bool check_path(const pdl_table *t, pdl_err *err) {
    if (t->standard) return true;
    if (t->is_open) {
        int flags = fcntl(t->fd, F_GETFL);
        return (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) ||
               pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s is not open for writing",
                           PDL_FMT(t->name));
    }
    char *target = pdl_batch_output_target(t->path);
    int why = why_unwritable(target);
    if (why && !pdl_str_eq(t->path, pdl_str_of(target)))
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                    "%.*s cannot be written: it is a link to %s: %s", PDL_FMT(t->name), target,
                    strerror(why));
    else if (why)
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s cannot be written: %s", PDL_FMT(t->name),
                    strerror(why));
    pdl_free(target);
    return !why;
}

bool pdl_batch_output_check(const pdl_table *t, pdl_err *err) {
    return check_path(t, err) && (t->form != PDL_TABLE_parquet || pdl_batch_duck_check(err));
}

bool pdl_batch_output_check_columns(const pdl_table *t, const pdl_str *columns, size_t n,
                                    pdl_err *err) {
    for (size_t i = 0; t->form == PDL_TABLE_parquet && i < n; i++)
        if (!columns[i].n)
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "%.*s: column %zu has no name, and a Parquet file needs one",
                               PDL_FMT(t->name), i + 1);
    return true;
}

/* Returns a name in the form in which DuckDB compares it. The caller owns it. */
static char *folded(const char *name) {
    char *text = pdl_str_dup(pdl_str_of(name));
    for (char *c = text; *c; c++) *c = pdl_lower(*c);
    return text;
}

/* Gives other names to all columns when the names of two columns differ only in case. */
static void find_inside(pdl_batch_output *s) {
    PDL_VEC(char *) keys = {0}; /* the map borrows these texts */
    pdl_map taken = {0};
    bool twins = false;
    for (size_t i = 0; i < s->columns.n; i++) {
        *pdl_vec_push(&keys) = folded(s->columns.p[i]);
        twins = twins || pdl_map_find(&taken, pdl_str_of(keys.p[i]));
        (void)pdl_map_put(&taken, pdl_str_of(keys.p[i]), s);
    }
    for (size_t i = 0; twins && i < s->columns.n; i++) {
        /* hardly any column has such a name, because it begins with U+2400 */
        pdl_buf name = PDL_BUF;
        pdl_buf_putf(&name, "\xe2\x90\x80%zu", i);
        while (pdl_map_find(&taken, pdl_buf_str(&name))) pdl_buf_putc(&name, '_');
        *pdl_vec_push(&s->inside) = pdl_buf_take(&name);
    }
    for (size_t i = 0; i < keys.n; i++) pdl_free(keys.p[i]);
    pdl_vec_fini(&keys);
    pdl_map_fini(&taken);
}

/* Finds the file that has the name of the output. */
static bool find_file(const pdl_batch_output *s, struct stat *st) {
    char *path = s->table.form == PDL_TABLE_parquet ? pdl_str_dup(pdl_str_of(s->path))
                                                    : pdl_str_dup(s->table.path);
    bool there =
        !s->table.standard && !s->table.is_open && stat(path, st) == 0 && S_ISREG(st->st_mode);
    pdl_free(path);
    return there;
}

static void note_file(pdl_batch_output *s) {
    struct stat st;
    if (!find_file(s, &st)) return;
    s->device = (uint64_t)st.st_dev;
    s->inode = (uint64_t)st.st_ino;
}

/* Checks that the file still has its name. Rows in a file that was deleted are lost, however well
 * they were written. */
static bool check_there(const pdl_batch_output *s, pdl_err *err) {
    struct stat st;
    if (!s->inode) return true;
    bool there = find_file(s, &st);
    if (there && (uint64_t)st.st_dev == s->device && (uint64_t)st.st_ino == s->inode) return true;
    pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "%.*s was %s while the batch worked",
                PDL_FMT(s->table.name), there ? "replaced by another file" : "removed");
    pdl_err_hint(err, "%s",
                 there ? "the rows are in its journal: move that file away and give the "
                         "same command, which writes them again"
                       : "the rows are in its journal: the same command writes them "
                         "again");
    return false;
}

bool pdl_batch_output_open(const pdl_table *t, const pdl_str *columns, size_t n, uint64_t keep,
                           pdl_batch_output **out, pdl_err *err) {
    pdl_batch_output *s = new_of(t->form);
    s->table = *t;
    s->path = t->form == PDL_TABLE_parquet
                  ? pdl_batch_parquet_rows(t)
                  : pdl_str_dup(t->standard ? PDL_STR("standard output") : t->path);
    for (size_t i = 0; i < n; i++) *pdl_vec_push(&s->columns) = pdl_str_dup(columns[i]);
    if (t->form == PDL_TABLE_parquet) find_inside(s);
    bool ok = t->form == PDL_TABLE_sqlite ? pdl_batch_output_sqlite_begin(s, keep, err)
                                          : pdl_batch_output_file_begin(s, keep, err);
    if (ok)
        *out = s;
    else
        pdl_batch_output_close(s);
    if (ok) note_file(s);
    return ok;
}

void pdl_batch_output_type(pdl_batch_output *s, const char *type) {
    *pdl_vec_push(&s->types) = pdl_str_dup(pdl_str_of(type));
}

void pdl_batch_output_source(pdl_batch_output *s, const pdl_table *input) {
    if (input->form == PDL_TABLE_parquet) s->source = input->path;
}

bool pdl_batch_output_put(pdl_batch_output *s, pdl_str json, pdl_err *err) {
    return s->ops->put(s, json, err);
}

bool pdl_batch_output_flush(pdl_batch_output *s, bool sync, uint64_t *size, pdl_err *err) {
    bool ok = s->ops->flush(s, sync, err);
    *size = s->size;
    return ok;
}

bool pdl_batch_output_finish(pdl_batch_output *s, bool changed, pdl_err *err) {
    return check_there(s, err) &&
           (s->table.form != PDL_TABLE_parquet || pdl_batch_parquet_finish(s, changed, err));
}

void pdl_batch_output_close(pdl_batch_output *s) {
    if (!s) return;
    for (size_t i = 0; i < s->columns.n; i++) pdl_free(s->columns.p[i]);
    for (size_t i = 0; i < s->types.n; i++) pdl_free(s->types.p[i]);
    for (size_t i = 0; i < s->inside.n; i++) pdl_free(s->inside.p[i]);
    pdl_vec_fini(&s->inside);
    pdl_vec_fini(&s->columns);
    pdl_vec_fini(&s->types);
    pdl_free(s->path);
    s->ops->close(s);
}
