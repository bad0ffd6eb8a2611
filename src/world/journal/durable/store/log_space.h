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
} log_room;

/* Returns true when pdl_log_room_sync syncs what SQLite has written to its log. Opens the log. */
bool pdl_log_room_is_ready(log_room *r, pdl_str database);
/* Waits until the disk has the log. Returns false, and sets errno, when that failed. */
PDL_MUST bool pdl_log_room_sync(const log_room *r);
/* Reserves more space when SQLite has used up the reserve. Called after a sync. When it fails, only
 * the speed of SQLite suffers. */
void pdl_log_room_extend(log_room *r, pdl_str database);
void pdl_log_room_fini(log_room *r);

#endif
