/* files.h -- the files that rows write (--allow-files): no two rows write the same one.
 *
 * Which names a program makes is known only when it writes, and the rows may be written by several
 * processes one after the other. So the journal knows which row has written which name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_FILES_H
#define PDL_BATCH_FILES_H

#include "batch/ledger.h"
#include "pdl.h"

typedef struct pdl_batch_files pdl_batch_files;

pdl_batch_files *pdl_batch_files_new(void);
void pdl_batch_files_free(pdl_batch_files *f); /* NULL is fine; after the session */

/* Answers requests of kind write: user is the object. Refuses the one that was just announced and
 * has the name of another row, declines all others. */
void pdl_batch_files_handler(void *user, pdl_request *r);

/* Other rows have other numbers now: nothing has been written. */
PDL_MUST bool pdl_batch_files_forget(pdl_ledger *ledger, pdl_err *err);
/* The journal, before the first row; borrowed. */
void pdl_batch_files_begin(pdl_batch_files *f, pdl_ledger *ledger);
/* The row of this number is about to write a file: the request follows at once. */
void pdl_batch_files_announce(pdl_batch_files *f, uint64_t row, pdl_str path);

#endif
