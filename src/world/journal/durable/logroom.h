/* logroom.h -- room for the log of SQLite, made ahead of what it writes. Private to journal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_LOGROOM_H
#define PDL_JOURNAL_LOGROOM_H

#include <stdint.h>

#include "base/str.h"

/* All zero is the start. */
typedef struct log_room {
    int fd; /* the log's descriptor while it is open */
    bool is_open, has_failed;
    int64_t end; /* length of the log with the room; 0: none was made yet */
} log_room;

/* Called after a sync: makes more room when SQLite has come to the end of it. Without any it is
 * slower, and nothing else. */
void pdl_log_room_extend(log_room *r, pdl_str database);
void pdl_log_room_fini(log_room *r);

#endif
