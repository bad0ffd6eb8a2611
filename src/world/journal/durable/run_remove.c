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

static bool is_in_use(pdl_str path) {
    pdl_store *s = NULL;
    pdl_err ignored = {0};
    bool held = pdl_lock_is_held(path);
    if (held && pdl_store_open(path, false, false, &s, &ignored)) held = !pdl_lock_owner_is_gone(s);
    pdl_store_close(s, false);
    pdl_err_fini(&ignored);
    return held;
}

/* Returns true for a file with the name or the content of a journal. With this name, the content
 * may be damaged, or empty because the process that made the file was killed. */
static bool may_be_journal(pdl_str path) {
    return pdl_str_ends(path, PDL_STR(".journal")) || pdl_store_is_ours(path);
}

bool pdl_durable_remove(pdl_str path, pdl_err *err) {
    size_t n;
    char *name = pdl_str_dup(path);
    /* the error for a missing file is set below */
    bool ok = access(name, F_OK) != 0 || may_be_journal(path);
    pdl_free(name);
    if (!ok)
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                           "%.*s is not a journal: it is not removed", PDL_FMT(path));
    if (is_in_use(path))
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "%.*s runs: end it first",
                           PDL_FMT(path));
    if (!pdl_db_remove(path, &n, err)) return false;
    return n || pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot remove %.*s: %s", PDL_FMT(path),
                            strerror(ENOENT));
}
