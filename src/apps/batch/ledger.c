/* ledger.c -- see ledger.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "journal/run_lock.h"
#include "journal/store.h"

#include "base/banned.h"

struct pdl_ledger {
    pdl_store *store;
    int lock; /* -1: none. Closed after SQLite has closed the file: closing gives back its locks */
};

/* One process at a time; that of another one is named. */
static bool own(pdl_ledger *l, pdl_err *err) {
    pdl_str path = pdl_store_path(l->store);
    char who[64];
    lock_state state = pdl_lock_take(path, l->store, &l->lock);
    if (l->lock < 0)
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot open %s: %s", path.p,
                           strerror(errno));
    if (state == LOCK_OF_ANOTHER) {
        pdl_buf b = PDL_BUF;
        pdl_err ignored = {0};
        bool known = pdl_store_get(l->store, "owner", &b, &ignored) && b.len;
        pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "%s is in use by %s%s", path.p,
                    known ? "process " : "another process", pdl_buf_z(&b));
        pdl_err_fini(&ignored);
        pdl_buf_fini(&b);
        return false;
    }
    snprintf(who, sizeof who, "%ld", (long)getpid());
    return pdl_store_put(l->store, "owner", pdl_str_of(who), err);
}

static bool opened(pdl_ledger *l, bool ok, pdl_ledger **out) {
    if (ok)
        *out = l;
    else
        pdl_ledger_close(l, false);
    return ok;
}

bool pdl_ledger_create(pdl_str path, pdl_ledger **out, pdl_err *err) {
    pdl_ledger *l = PDL_NEW(pdl_ledger);
    l->lock = -1;
    bool ok = pdl_store_create(path, false, &l->store, NULL, err) && own(l, err);
    return opened(l, ok, out);
}

bool pdl_ledger_open(pdl_str path, pdl_ledger **out, pdl_err *err) {
    pdl_ledger *l = PDL_NEW(pdl_ledger);
    l->lock = -1;
    bool ok = pdl_store_open(path, true, false, &l->store, err) && own(l, err);
    return opened(l, ok, out);
}

bool pdl_ledger_is_unbegun(pdl_str path) { return pdl_store_is_unbegun(path); }

void pdl_ledger_close(pdl_ledger *l, bool whole) {
    if (!l) return;
    pdl_store_close(l->store, whole);
    if (l->lock >= 0) close(l->lock);
    pdl_free(l);
}

bool pdl_ledger_remove(pdl_str path, pdl_err *err) {
    static const char *const parts[] = {"", "-wal", "-shm", "-journal"};
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof parts / sizeof *parts; i++) {
        pdl_buf name = PDL_BUF;
        pdl_buf_putf(&name, "%.*s%s", PDL_FMT(path), parts[i]);
        ok = unlink(pdl_buf_z(&name)) == 0 || errno == ENOENT ||
             pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot remove %s: %s", pdl_buf_z(&name),
                         strerror(errno));
        pdl_buf_fini(&name);
    }
    return ok;
}

bool pdl_ledger_get_fact(pdl_ledger *l, const char *key, pdl_buf *out, pdl_err *err) {
    return pdl_store_get(l->store, key, out, err);
}

bool pdl_ledger_put_fact(pdl_ledger *l, const char *key, pdl_str value, pdl_err *err) {
    return pdl_store_put(l->store, key, value, err);
}

bool pdl_ledger_put(pdl_ledger *l, const pdl_ledger_row *r, pdl_err *err) {
    store_row row = {.number = r->number,
                     .hash = r->hash,
                     .failed = r->failed,
                     .start = r->start,
                     .end = r->end,
                     .facts = r->facts,
                     .answer = r->output};
    return pdl_store_put_row(l->store, &row, err);
}

bool pdl_ledger_commit(pdl_ledger *l, pdl_err *err) {
    return pdl_store_commit(l->store, false, err);
}

typedef struct ledger_reader {
    pdl_ledger_fn *fn;
    void *user;
} reader;

static bool on_row(void *user, const store_row *r) {
    const reader *d = user;
    pdl_ledger_row row = {.number = r->number,
                          .hash = r->hash,
                          .failed = r->failed,
                          .start = r->start,
                          .end = r->end,
                          .facts = r->facts,
                          .output = r->answer};
    return d->fn(d->user, &row);
}

bool pdl_ledger_find(pdl_ledger *l, int64_t number, pdl_ledger_fn *fn, void *user, pdl_err *err) {
    reader r = {fn, user};
    return pdl_store_find_row(l->store, number, on_row, &r, err);
}

bool pdl_ledger_each(pdl_ledger *l, int64_t after, pdl_ledger_fn *fn, void *user, pdl_err *err) {
    reader r = {fn, user};
    return pdl_store_each_row(l->store, after, on_row, &r, err);
}

bool pdl_ledger_forget(pdl_ledger *l, int64_t number, pdl_err *err) {
    return pdl_store_forget_row(l->store, number, err);
}

bool pdl_ledger_forget_failed(pdl_ledger *l, pdl_err *err) {
    return pdl_store_forget_failed(l->store, err);
}

bool pdl_ledger_forget_facts(pdl_ledger *l, const char *beginning, pdl_err *err) {
    return pdl_store_forget_facts(l->store, pdl_str_of(beginning), err);
}
