/* run_lock.h -- the lock that shows which process owns the file of a run, or of a batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_RUN_LOCK_H
#define PDL_JOURNAL_RUN_LOCK_H

#include "journal/store.h"

typedef enum { LOCK_TAKEN, LOCK_OF_ANOTHER, LOCK_UNKNOWN } lock_state;

/* Returns true when the process that a row `owner` names ("PID START BOOT HOST", or a number alone)
 * has ended, on this host; true also when the row names no owner. */
bool pdl_lock_owner_is_gone(pdl_store *s);
/* Writes this process as the owner. */
PDL_MUST bool pdl_lock_write_owner(pdl_store *s, pdl_err *err);
void pdl_lock_put_host(pdl_buf *out);
/* Appends the owner of the file: "process 17 of HOST, since TIME", as far as it is known. s may be
 * NULL: the file cannot be read yet. */
void pdl_lock_put_owner(pdl_str path, pdl_store *s, pdl_buf *out);
/* Returns true when the file is a copy of one that its owner still has. */
bool pdl_lock_is_copy_of_live(pdl_str path, pdl_store *s);
/* Sets the error that its owner uses it. Returns false. */
bool pdl_lock_refuse(pdl_str path, pdl_err *err);

/* Takes the lock of a new file before another process reads it. When two processes begin at once,
 * one of them is refused; the error names the owner. replace: an existing file is removed. NEW: the
 * file is empty. THERE: it is not empty, or it cannot be made, which its maker will report. The
 * descriptor stays open as in pdl_lock_take; -1: there is no lock. Errors: runtime, io. */
typedef enum { CLAIM_NEW, CLAIM_THERE, CLAIM_FAILED } claim_state;
claim_state pdl_lock_claim(pdl_str path, bool replace, int *fd, pdl_err *err);

/* Takes the lock. The descriptor stays open as long as SQLite has the file, because closing one
 * releases its locks. s: names the owner; NULL: no owner is waited for. */
lock_state pdl_lock_take(pdl_str path, pdl_store *s, int *fd);
/* Returns true when a process has the lock. After a kill that may be a child: see
 * pdl_lock_owner_is_gone. Must not be called while this process has the file open, because it would
 * release its locks. */
bool pdl_lock_is_held(pdl_str path);

#endif
