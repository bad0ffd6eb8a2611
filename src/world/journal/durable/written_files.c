/* written_files.c -- files that the program of a durable run writes. The journal has their state
 * before the first write and the length that was acknowledged. A killed process may have written
 * more; a resume truncates each file to the acknowledged length, so that the run finds its files as
 * it left them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "journal/durable/durable_impl.h"

#include "base/banned.h"

static pdl_str path_of(const pdl_effect *e) {
    pdl_vref v = pdl_dict_getz(e->request, "path");
    return pdl_is_str(v) ? pdl_str_get(v) : (pdl_str){"", 0};
}

static int64_t changed_ns(const struct stat *st) { return pdl_os_modified_ns(st); }

struct known_file {
    pdl_str path;
    store_file f;
    bool found;
};

static bool on_file(void *user, const store_file *f) {
    struct known_file *k = user;
    if (!pdl_str_eq(f->path, k->path)) return true;
    k->f = *f;
    k->f.path = k->path;
    k->found = true;
    return false;
}

static bool find(pdl_durable *d, struct known_file *k, pdl_err *err) {
    return pdl_store_each_file(d->file.store, on_file, k, err);
}

/* Returns the index of the path in open_files, the files that earlier processes left open; the
 * length of open_files when it is not there. */
static size_t begun_at(const pdl_durable *d, pdl_str path) {
    size_t i = 0;
    while (i < d->match.open_files.n && !pdl_str_is(path, d->match.open_files.p[i])) i++;
    return i;
}

static void forget_begun(pdl_durable *d, size_t i) {
    pdl_free(d->match.open_files.p[i]);
    d->match.open_files.p[i] = d->match.open_files.p[--d->match.open_files.n];
}

bool pdl_durable_closes(const pdl_effect *e) {
    pdl_vref close = pdl_dict_getz(e->request, "close");
    return e->kind == PDL_EFFECT_write && pdl_is_bool(close) && pdl_bool_of(close);
}

void pdl_durable_reused_write(pdl_durable *d, const pdl_effect *e) {
    bool closes = pdl_durable_closes(e);
    size_t i = begun_at(d, path_of(e));
    if (closes && i < d->match.open_files.n) forget_begun(d, i);
    if (!closes && i == d->match.open_files.n)
        *pdl_vec_push(&d->match.open_files) = pdl_str_dup(path_of(e));
}

bool pdl_durable_before_write(pdl_durable *d, pdl_effect *e, bool again, pdl_err *err) {
    struct known_file k = {.path = path_of(e)};
    struct stat st = {0};
    if (!find(d, &k, err)) return false;
    size_t begun = begun_at(d, k.path);
    e->continues =
        begun < d->match.open_files.n || (again && k.found && k.f.size == -1 && !k.f.existed);
    if (begun < d->match.open_files.n) forget_begun(d, begun);
    if (k.found) return true;
    char *path = pdl_str_dup(k.path);
    bool there = stat(path, &st) == 0;
    pdl_free(path);
    k.f = (store_file){.path = k.path,
                       .existed = there,
                       .before = there ? (int64_t)st.st_size : 0,
                       .size = -1,
                       .device = there ? (int64_t)st.st_dev : 0,
                       .inode = there ? (int64_t)st.st_ino : 0};
    return pdl_store_put_file(d->file.store, &k.f, err);
}

bool pdl_durable_after_write(pdl_durable *d, const pdl_effect *e, pdl_err *err) {
    struct known_file k = {.path = path_of(e)};
    struct stat st = {0};
    if (!find(d, &k, err)) return false;
    char *path = pdl_str_dup(k.path);
    bool there = stat(path, &st) == 0;
    pdl_free(path);
    if (!k.found || !there) return true;
    k.f.size = S_ISREG(st.st_mode) ? (int64_t)st.st_size : -2;
    k.f.device = (int64_t)st.st_dev;
    k.f.inode = (int64_t)st.st_ino;
    k.f.changed = changed_ns(&st);
    return pdl_store_put_file(d->file.store, &k.f, err);
}

/* --- before a run continues ------------------------------------------------------------------- */

struct cutting {
    pdl_durable *d;
    /* gets the problems, for a message; when it is NULL, the paths of the files with problems are
     * stored instead, in the group of the server */
    pdl_buf *wrong;
    PDL_VEC(char *) open; /* paths of files with an unfinished write */
    bool cuts;            /* false: problems are only searched, and no file is truncated */
    pdl_err *err;
    bool ok;
};

/* Returns the path that a recorded write names, owned; NULL when there is none. */
static char *recorded_path(const store_effect *row) {
    pdl_val request;
    pdl_err ignored = {0};
    char *path = NULL;
    if (pdl_effect_decode(row->request, &request, &ignored)) {
        pdl_vref v = pdl_is_dict(request) ? pdl_dict_getz(request, "path") : pdl_absent();
        if (pdl_is_str(v)) path = pdl_str_dup(pdl_str_get(v));
        pdl_drop(request);
    }
    pdl_err_fini(&ignored);
    return path;
}

static bool note_open(void *user, const store_effect *row) {
    struct cutting *c = user;
    char *path = pdl_str_is(row->kind, "write") ? recorded_path(row) : NULL;
    if (path) *pdl_vec_push(&c->open) = path;
    return true;
}

static bool is_open(const struct cutting *c, pdl_str path) {
    for (size_t i = 0; i < c->open.n; i++)
        if (pdl_str_is(path, c->open.p[i])) return true;
    return false;
}

static void complain(struct cutting *c, pdl_str path, const char *why) {
    if (!c->wrong)
        *pdl_vec_push(&c->d->group.changed_files) = pdl_str_dup(path);
    else
        pdl_buf_putf(c->wrong, "%s%.*s %s", c->wrong->len ? "; " : "", PDL_FMT(path), why);
}

/* Returns the length to which a file is truncated when its first write failed or was not finished:
 * the content before that write stays. Returns -1 when the file is not truncated. */
static int64_t length_for_first(const store_file *f, const struct stat *st, bool open) {
    bool same = (int64_t)st->st_dev == f->device && (int64_t)st->st_ino == f->inode;
    if (!open) return -1;
    if (!f->existed) return 0;
    return same && st->st_size > f->before ? f->before : -1;
}

/* Returns the length to which a file is truncated; -1 when the file is not truncated. */
static int64_t length_for(struct cutting *c, const store_file *f, const struct stat *st) {
    bool open = is_open(c, f->path);
    if (f->size == -1) return length_for_first(f, st, open);
    if (st->st_size < f->size) {
        complain(c, f->path, "is shorter than the run left it");
    } else if (!open && (st->st_size != f->size || changed_ns(st) != f->changed)) {
        complain(c, f->path, "was changed by another program since the run wrote it");
    } else if (st->st_size > f->size) {
        return f->size;
    }
    return -1;
}

static bool cut_file(void *user, const store_file *f) {
    struct cutting *c = user;
    struct stat st = {0};
    if (!c->wrong && !is_open(c, f->path)) return true;
    char *path = pdl_str_dup(f->path);
    bool there = stat(path, &st) == 0;
    int64_t length = -1;
    const run_override *way = pdl_durable_override(c->d, f->path, false);
    /* the user named this file and knows about it, so it is left unchanged */
    if (way && strcmp(way->place, "all") != 0) {
        pdl_free(path);
        return true;
    }
    if (there && !S_ISREG(st.st_mode))
        complain(c, f->path, "is not a regular file: how much of it arrived is not known");
    else if (!there && f->size >= 0)
        complain(c, f->path, "is not there any more");
    else if (there && f->size >= 0 &&
             ((int64_t)st.st_dev != f->device || (int64_t)st.st_ino != f->inode))
        complain(c, f->path, "is another file than the run wrote");
    else if (there)
        length = length_for(c, f, &st);
    if (length >= 0 && c->cuts && truncate(path, (off_t)length) != 0)
        c->ok =
            pdl_err_set(c->err, PDL_E_io, (pdl_loc){0}, "cannot cut %s: %s", path, strerror(errno));
    pdl_free(path);
    return c->ok;
}

bool pdl_durable_cut_files(pdl_durable *d, pdl_buf *wrong, pdl_err *err) {
    struct cutting c = {.d = d, .wrong = wrong, .err = err, .ok = true};
    bool ok = pdl_store_each(d->file.store, STORE_BY_STATE, STORE_OPEN, note_open, &c, err) &&
              pdl_store_each_file(d->file.store, cut_file, &c, err);
    c.cuts = ok && !wrong->len && d->setup.use == PDL_DURABLE_CONTINUE;
    if (c.cuts) ok = pdl_store_each_file(d->file.store, cut_file, &c, err) && c.ok;
    for (size_t i = 0; i < c.open.n; i++) pdl_free(c.open.p[i]);
    pdl_vec_fini(&c.open);
    return ok;
}

bool pdl_durable_cut_open_files(pdl_durable *d, pdl_err *err) {
    struct cutting c = {.d = d, .err = err, .cuts = true, .ok = true};
    bool ok = pdl_store_each(d->file.store, STORE_BY_STATE, STORE_OPEN, note_open, &c, err) &&
              pdl_store_each_file(d->file.store, cut_file, &c, err) && c.ok;
    for (size_t i = 0; i < c.open.n; i++) pdl_free(c.open.p[i]);
    pdl_vec_fini(&c.open);
    return ok;
}

bool pdl_durable_was_cut(const pdl_durable *d, const store_effect *row) {
    char *path = recorded_path(row);
    bool known = path != NULL;
    for (size_t i = 0; known && i < d->group.changed_files.n; i++)
        known = strcmp(d->group.changed_files.p[i], path) != 0;
    pdl_free(path);
    return known;
}
