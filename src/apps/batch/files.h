/* files.h -- ensures that no two rows write the same file (--allow-files). A program's file names
 * are known only when it writes, and several processes may run the rows one after the other. So the
 * journal records which row has written which name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_FILES_H
#define PDL_BATCH_FILES_H

#include "batch/ledger.h"
#include "pdl.h"

typedef struct pdl_batch_files pdl_batch_files;

pdl_batch_files *pdl_batch_files_new(void);
/* called after the session was freed; f may be NULL */
void pdl_batch_files_free(pdl_batch_files *f);

/* Answers requests of kind write; user is a pdl_batch_files. The handler refuses an announced
 * request when another row has already written a file of that name. It declines all other requests,
 * so that they are executed. */
void pdl_batch_files_handler(void *user, pdl_request *r);

/* Forgets all names, because the numbers of the rows have changed. */
PDL_MUST bool pdl_batch_files_forget(pdl_ledger *ledger, pdl_err *err);
/* Sets the journal, before the first row; borrowed. */
void pdl_batch_files_begin(pdl_batch_files *f, pdl_ledger *ledger);
/* Announces that the row with this number writes a file: the next request of kind write belongs to
 * it. */
void pdl_batch_files_announce(pdl_batch_files *f, uint64_t row, pdl_str path);

#endif
