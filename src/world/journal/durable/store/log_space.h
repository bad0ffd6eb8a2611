/* log_space.h -- syncs the log of SQLite, and reserves space for it ahead of its writes, so that a
 * sync need not change the length of the file. Private to journal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_LOG_SPACE_H
#define PDL_JOURNAL_LOG_SPACE_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* An all-zero struct is valid: nothing is reserved. */
typedef struct log_room {
    int fd; /* the log's descriptor while it is open */
    bool is_open;
    bool has_failed;   /* there is no log, or it was removed */
    bool has_no_space; /* no more space can be reserved */
    /* length of the log together with the space reserved for it; 0 before the first reserve */
    int64_t end;
    int64_t step; /* bytes of the last reserve */
} log_room;

/* Opens the log, unless it is open already. Returns true when pdl_log_room_sync can sync it. */
bool pdl_log_room_open(log_room *r, pdl_str database);
/* Waits until the disk has the log, which is open. Then reserves more space when SQLite has used up
 * the reserve; a failure of this costs only speed. Sets *done to false when the log was removed in
 * the meantime, so that SQLite has to sync. Returns false, and sets errno, when the sync failed. */
PDL_MUST bool pdl_log_room_sync(log_room *r, bool *done);
void pdl_log_room_fini(log_room *r);

#endif
