/* run_lock.h -- who has the file of a run, or of a batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_RUN_LOCK_H
#define PDL_JOURNAL_RUN_LOCK_H

#include "journal/store.h"

typedef enum { LOCK_TAKEN, LOCK_OF_ANOTHER, LOCK_UNKNOWN } lock_state;

/* The process that a row `owner` names ("PID START BOOT HOST", or a number alone) has ended, on
 * this host; true also where the row names no owner. */
bool pdl_lock_owner_is_gone(pdl_store *s);
/* Names this process in the row. */
PDL_MUST bool pdl_lock_write_owner(pdl_store *s, pdl_err *err);
void pdl_lock_put_host(pdl_buf *out);
/* Appends the owner of the file: "process 17 of HOST, since TIME", as far as it can be known. s may
 * be NULL: the file cannot be read yet. */
void pdl_lock_put_owner(pdl_str path, pdl_store *s, pdl_buf *out);
/* Was the file copied from that of a run which its owner still has? */
bool pdl_lock_is_copy_of_live(pdl_str path, pdl_store *s);
/* The error: it is in use by its owner. Returns false. */
bool pdl_lock_refuse(pdl_str path, pdl_err *err);

/* Takes the file before anybody looks into it, so that of two processes that begin at once one is
 * refused: the error names the owner. replace: what is there is removed. NEW: an empty file is
 * there now. THERE: something is in it, or it cannot be made, which its maker will report. The
 * descriptor stays open as below; -1: there is no lock. Errors: runtime, io. */
typedef enum { CLAIM_NEW, CLAIM_THERE, CLAIM_FAILED } claim_state;
claim_state pdl_lock_claim(pdl_str path, bool replace, int *fd, pdl_err *err);

/* The descriptor stays open as long as SQLite has the file: closing one gives back its locks.
 * s: to ask for its owner; NULL: no owner is waited for. */
lock_state pdl_lock_take(pdl_str path, pdl_store *s, int *fd);
/* Does a process have it? Of one that was killed perhaps a child: see pdl_lock_owner_is_gone. Not
 * while this process has the file open, whose locks it would give back. */
bool pdl_lock_is_held(pdl_str path);

#endif
