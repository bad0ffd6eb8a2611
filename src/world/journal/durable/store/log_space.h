/* log_space.h -- space for the log of SQLite, reserved ahead of its writes so that a sync need not
 * change the length of the file. Private to journal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_LOG_SPACE_H
#define PDL_JOURNAL_LOG_SPACE_H

#include <stdint.h>

#include "base/str.h"

/* An all-zero struct is valid: nothing is reserved. */
typedef struct log_room {
    int fd; /* the log's descriptor while it is open */
    bool is_open, has_failed;
    /* length of the log together with the space reserved for it; 0 before the first reserve */
    int64_t end;
} log_room;

/* Reserves more space when SQLite has used up the reserve. Called after a sync. When it fails, only
 * the speed of SQLite suffers. */
void pdl_log_room_extend(log_room *r, pdl_str database);
void pdl_log_room_fini(log_room *r);

#endif
