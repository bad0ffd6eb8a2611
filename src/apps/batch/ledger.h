/* ledger.h -- the journal of a batch: which rows are finished, their results, and how much of the
 * output is written.
 *
 * It is a file of schema 2 whose table `runs` has a row for each data row that is finished. Rows in
 * flight are not in the file. A row is finished once the transaction that holds it is committed:
 * the process may be killed at any instant after that. Output files are written after the commit. A
 * fact of the journal says how much of them is certain (pdl_ledger_put_fact).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_LEDGER_H
#define PDL_BATCH_LEDGER_H

#include "base/buf.h"
#include "base/err.h"

typedef struct pdl_ledger pdl_ledger;

typedef struct pdl_ledger_row {
    int64_t number; /* number of the data row, from 1 */
    pdl_str hash;   /* hash of the input */
    bool failed;
    double start, end; /* seconds since the epoch */
    pdl_str facts;     /* JSON: the usage, and further facts that are not in the output */
    pdl_str output;    /* JSON: the row of the output */
} pdl_ledger_row;

/* Opens the file, which this process owns until close. The file is made when it does not exist, or
 * when the process that made it ended before it wrote anything. When replace is set, an existing
 * file is removed. *is_new is set when the file was made. Errors: io; replay, when the file is no
 * journal or is damaged; runtime, when another process owns the file; the message names that
 * process. */
PDL_MUST bool pdl_ledger_take(pdl_str path, bool replace, pdl_ledger **out, bool *is_new,
                              pdl_err *err);
/* Commits and closes. When whole is set, the log is copied into the file, so that one file is left.
 * l may be NULL. */
void pdl_ledger_close(pdl_ledger *l, bool whole);
/* Checks at the end that the file still has its name. Errors: io. */
PDL_MUST bool pdl_ledger_check_there(const pdl_ledger *l, pdl_err *err);
/* Closes the journal and removes its file. l may be NULL. */
void pdl_ledger_discard(pdl_ledger *l);

/* Reads a fact about the batch; a missing fact is empty. */
PDL_MUST bool pdl_ledger_get_fact(pdl_ledger *l, const char *key, pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_ledger_put_fact(pdl_ledger *l, const char *key, pdl_str value, pdl_err *err);

PDL_MUST bool pdl_ledger_put(pdl_ledger *l, const pdl_ledger_row *r, pdl_err *err);
/* Commits. Everything that was written before the commit survives the end of the process. */
PDL_MUST bool pdl_ledger_commit(pdl_ledger *l, pdl_err *err);

typedef bool pdl_ledger_fn(void *user, const pdl_ledger_row *r);
/* Calls fn with the row of this number, if it is finished. */
PDL_MUST bool pdl_ledger_find(pdl_ledger *l, int64_t number, pdl_ledger_fn *fn, void *user,
                              pdl_err *err);
/* Calls fn for the rows with numbers above `after`, in their order, until fn returns false. */
PDL_MUST bool pdl_ledger_each(pdl_ledger *l, int64_t after, pdl_ledger_fn *fn, void *user,
                              pdl_err *err);
/* Removes a row, so that it is run again; pdl_ledger_forget_failed removes all failed rows. */
PDL_MUST bool pdl_ledger_forget(pdl_ledger *l, int64_t number, pdl_err *err);
PDL_MUST bool pdl_ledger_forget_failed(pdl_ledger *l, pdl_err *err);
/* Removes the facts whose key begins with this text. */
PDL_MUST bool pdl_ledger_forget_facts(pdl_ledger *l, const char *beginning, pdl_err *err);

#endif
