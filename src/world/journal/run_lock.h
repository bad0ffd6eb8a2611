/* run_lock.h -- the lock that shows which process owns the file of a run, or of a batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_RUN_LOCK_H
#define PDL_JOURNAL_RUN_LOCK_H

#include "journal/store.h"

/* GONE: the file was removed before the lock was taken. UNKNOWN: the file system has no locks. */
typedef enum { LOCK_TAKEN, LOCK_OF_ANOTHER, LOCK_GONE, LOCK_UNKNOWN } lock_state;

/* Returns true when the owner of the file has ended or is not recorded. The row `owner` has the
 * form "PID START BOOT HOST", or is a number alone; an owner on another host counts as not
 * ended. */
bool pdl_lock_owner_is_gone(pdl_store *s);
/* Writes into the file that this process is the owner. */
PDL_MUST bool pdl_lock_write_owner(pdl_store *s, pdl_err *err);
void pdl_lock_put_host(pdl_buf *out);
/* Appends the owner of the file: "process 17 of HOST, since TIME", as far as the owner is known. s
 * may be NULL when the file cannot be read yet. */
void pdl_lock_put_owner(pdl_str path, pdl_store *s, pdl_buf *out);
/* Returns true when the file is a copy of a journal and the process that owns the original still
 * runs. */
bool pdl_lock_is_copy_of_live(pdl_str path, pdl_store *s);
/* Sets an error which says that another process uses the file. Always returns false. */
bool pdl_lock_refuse(pdl_str path, pdl_err *err);

/* Takes the lock of a new file before another process reads it. When two processes begin at once,
 * one of them is refused; the error names the owner. replace: an existing file is removed. NEW: the
 * file is empty. THERE: the file is not empty, or cannot be made; the function that makes the file
 * reports the reason. The descriptor stays open as in pdl_lock_take; -1: there is no lock. Errors:
 * runtime, io. */
typedef enum { CLAIM_NEW, CLAIM_THERE, CLAIM_FAILED } claim_state;
claim_state pdl_lock_claim(pdl_str path, bool replace, int *fd, pdl_err *err);

/* Takes the lock. The descriptor stays open as long as SQLite has the file, because closing a
 * descriptor of a file releases its locks. When s is not NULL, the name of the owner is read from
 * s, and the function waits for a lock whose owner has ended. */
lock_state pdl_lock_take(pdl_str path, pdl_store *s, int *fd);
/* Checks at the end of the work that the file with the lock fd still has this name. Rows of a file
 * that was removed are lost. user: the writer of the file, "run" or "batch". fd may be -1. Errors:
 * io. */
bool pdl_lock_check_there(pdl_str path, int fd, const char *user, pdl_err *err);
/* Returns true when the process that has the lock, or that the journal names as its owner, has
 * ended. The lock will then be free soon. */
bool pdl_lock_will_be_free(pdl_str path);
/* Returns true when a process has the lock. Right after the owner was killed, a child of the owner
 * may hold the lock: see pdl_lock_will_be_free. Must not be called while this process has the file
 * open, because the call would release the locks on it. */
bool pdl_lock_is_held(pdl_str path);

#endif
