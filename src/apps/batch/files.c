/* files.c -- answers requests to write files; see files.h. A handler does not learn which run sent
 * a request. So the event that comes just before the request announces the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/files.h"

#include <stdio.h>

#include "base/banned.h"

struct pdl_batch_files {
    pdl_ledger *ledger; /* borrowed */
    /* owned; the reason why the announced write is refused; NULL when it is allowed */
    char *problem;
};

pdl_batch_files *pdl_batch_files_new(void) { return PDL_NEW(pdl_batch_files); }

void pdl_batch_files_free(pdl_batch_files *f) {
    if (!f) return;
    pdl_free(f->problem);
    pdl_free(f);
}

static const char file_key[] = "file ";

bool pdl_batch_files_forget(pdl_ledger *ledger, pdl_err *err) {
    return pdl_ledger_forget_facts(ledger, file_key, err);
}

void pdl_batch_files_begin(pdl_batch_files *f, pdl_ledger *ledger) { f->ledger = ledger; }

/* Returns true when the row may write the file. A row that is run again after an interrupted
 * process may write its own file again. */
static bool may_write(pdl_batch_files *f, uint64_t row, pdl_str path, pdl_err *err) {
    pdl_buf key = PDL_BUF, writer = PDL_BUF;
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)row);
    pdl_buf_putf(&key, "%s%.*s", file_key, PDL_FMT(path));
    bool ok = pdl_ledger_get_fact(f->ledger, pdl_buf_z(&key), &writer, err);
    if (ok && writer.len && !pdl_str_is(pdl_buf_str(&writer), number))
        ok = pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                         "row %s has written %.*s: the name of the file must be another one for "
                         "each row",
                         pdl_buf_z(&writer), PDL_FMT(path));
    else if (ok && !writer.len)
        ok = pdl_ledger_put_fact(f->ledger, pdl_buf_z(&key), pdl_str_of(number), err);
    pdl_buf_fini(&key);
    pdl_buf_fini(&writer);
    return ok;
}

void pdl_batch_files_announce(pdl_batch_files *f, uint64_t row, pdl_str path) {
    pdl_err err = {0};
    pdl_free(f->problem);
    f->problem = NULL;
    if (f->ledger && !may_write(f, row, path, &err)) f->problem = pdl_str_dup(pdl_str_of(err.msg));
    pdl_err_fini(&err);
}

void pdl_batch_files_handler(void *user, pdl_request *r) {
    pdl_batch_files *f = user;
    if (f->problem)
        pdl_request_refuse(r, "io", f->problem);
    else
        pdl_request_decline(r);
    pdl_free(f->problem);
    f->problem = NULL;
}
