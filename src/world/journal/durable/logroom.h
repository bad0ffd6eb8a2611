/* logroom.h -- space for the log of SQLite, reserved ahead of its writes. Private to journal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_LOGROOM_H
#define PDL_JOURNAL_LOGROOM_H

#include <stdint.h>

#include "base/str.h"

/* All-zero: nothing was reserved. */
typedef struct log_room {
    int fd; /* the log's descriptor while it is open */
    bool is_open, has_failed;
    int64_t end; /* length of the log with the reserve; 0 before the first one */
} log_room;

/* Reserves more space when SQLite has come to the end of it; called after a sync. A failure only
 * makes SQLite slower. */
void pdl_log_room_extend(log_room *r, pdl_str database);
void pdl_log_room_fini(log_room *r);

#endif
