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
/* The descriptor stays open as long as SQLite has the file: closing one gives back its locks.
 * s: to ask for its owner; NULL: no owner is waited for. */
lock_state pdl_lock_take(pdl_str path, pdl_store *s, int *fd);
/* Does a process have it? Of one that was killed perhaps a child: see pdl_lock_owner_is_gone. Not
 * while this process has the file open, whose locks it would give back. */
bool pdl_lock_is_held(pdl_str path);

#endif
