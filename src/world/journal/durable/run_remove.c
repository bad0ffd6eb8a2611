/* run_remove.c -- removes the journal of a durable run, or its effects from a block on. A journal
 * that is damaged can be removed, too, as long as its name is that of a journal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "journal/durable/durable_impl.h"
#include "journal/run_lock.h"
#include "sqlite/db_files.h"

#include "base/banned.h"

struct first_inside {
    pdl_str place;
    int64_t first; /* first effect of the block; 0 before it is found */
    size_t n;      /* number of effects from `first` on */
};

static bool find_first(void *user, const store_effect *e) {
    struct first_inside *x = user;
    bool inside = pdl_str_starts(e->place, x->place) &&
                  (e->place.n == x->place.n || !x->place.n || e->place.p[x->place.n] == '.');
    if (inside && !x->first) x->first = e->id;
    x->n += x->first != 0;
    return true;
}

bool pdl_durable_forget_from(pdl_str path, pdl_str place, size_t *n, pdl_err *err) {
    pdl_store *s = NULL;
    struct first_inside x = {.place = place};
    bool ok = pdl_store_open(path, true, true, &s, err) &&
              pdl_store_each(s, STORE_ALL, 0, find_first, &x, err) &&
              (!x.first || pdl_store_drop_from(s, x.first, err));
    pdl_store_close(s, ok);
    if (ok) *n = x.n;
    return ok;
}

/* A process that has taken the lock uses the journal, also before it has written its name there. */
static bool is_in_use(pdl_str path) {
    return pdl_lock_is_held(path) && !pdl_lock_will_be_free(path);
}

/* Returns true for a file with the name or the content of a journal. With this name, the content
 * may be damaged, or empty because the process that made the file was killed. */
static bool may_be_journal(pdl_str path) {
    return pdl_str_ends(path, PDL_STR(".journal")) || pdl_store_is_ours(path);
}

/* Removes the files of the journal under its lock, so that no other process begins to use the
 * journal meanwhile. Returns false without err set when another process uses it. */
static bool remove_unused(pdl_str path, size_t *n, pdl_err *err) {
    int fd = -1;
    if (is_in_use(path)) return false;
    bool used = pdl_lock_take(path, NULL, &fd) == LOCK_OF_ANOTHER && is_in_use(path);
    bool ok = !used && pdl_db_remove(path, n, err);
    if (fd >= 0) close(fd);
    return ok;
}

bool pdl_durable_remove(pdl_str path, pdl_err *err) {
    size_t n = 0;
    char *name = pdl_str_dup(path);
    /* the error for a missing file is set below */
    bool ok = access(name, F_OK) != 0 || may_be_journal(path);
    pdl_free(name);
    if (!ok)
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                           "%.*s is not a journal: it is not removed", PDL_FMT(path));
    if (!remove_unused(path, &n, err))
        return !err->kind && pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                                         "%.*s runs: end it first", PDL_FMT(path));
    return n || pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot remove %.*s: %s", PDL_FMT(path),
                            strerror(ENOENT));
}
