/* ledger.c -- stores rows and facts of a batch in the file of a journal; see ledger.h. The file has
 * the schema of a journal, and a finished row of the batch is a row of its table `runs`. A lock
 * keeps a second process from continuing the same batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/ledger.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "journal/run_lock.h"
#include "journal/store.h"
#include "sqlite/db_files.h"

#include "base/banned.h"

struct pdl_ledger {
    pdl_store *store;
    /* -1 when there is no lock. The descriptor is closed after SQLite has closed the file, because
     * closing a descriptor releases its locks */
    int lock;
};

static bool opened(pdl_ledger *l, bool ok, pdl_ledger **out) {
    if (ok)
        *out = l;
    else
        pdl_ledger_close(l, false);
    return ok;
}

bool pdl_ledger_take(pdl_str path, bool replace, pdl_ledger **out, bool *is_new, pdl_err *err) {
    pdl_ledger *l = PDL_NEW(pdl_ledger);
    l->lock = -1;
    claim_state c = pdl_lock_claim(path, replace, &l->lock, err);
    bool ok = c != CLAIM_FAILED;
    *is_new = c == CLAIM_NEW;
    if (ok && l->lock < 0)
        ok = pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot open %.*s: %s", PDL_FMT(path),
                         strerror(errno));
    else if (ok && *is_new)
        ok = pdl_store_create(path, false, &l->store, NULL, err);
    else if (ok)
        ok = pdl_store_open(path, true, false, &l->store, err);
    return opened(l, ok && pdl_lock_write_owner(l->store, err), out);
}

static void close_store(pdl_ledger *l, bool whole) {
    pdl_store_close(l->store, whole);
    l->store = NULL;
}

void pdl_ledger_close(pdl_ledger *l, bool whole) {
    if (!l) return;
    close_store(l, whole);
    if (l->lock >= 0) close(l->lock);
    pdl_free(l);
}

bool pdl_ledger_check_there(const pdl_ledger *l, pdl_err *err) {
    return pdl_lock_check_there(pdl_store_path(l->store), l->lock, "batch", err);
}

static void remove_files(pdl_str path) {
    pdl_err ignored = {0};
    size_t n;
    if (!pdl_db_remove(path, &n, &ignored)) pdl_err_fini(&ignored);
}

/* Removes the file while it is locked, so that the next process that gets the lock finds no file of
 * that name. */
void pdl_ledger_discard(pdl_ledger *l) {
    pdl_buf path = PDL_BUF;
    if (!l) return;
    pdl_buf_put(&path, pdl_store_path(l->store));
    close_store(l, false);
    remove_files(pdl_buf_str(&path));
    pdl_buf_fini(&path);
    pdl_ledger_close(l, false);
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
