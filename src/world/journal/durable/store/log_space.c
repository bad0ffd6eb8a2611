/* log_space.c -- syncs the log of SQLite and reserves space for it; see log_space.h.
 *
 * SQLite itself syncs its log with each commit or with none. To change this, SQLite has to parse
 * the text of a PRAGMA, twice for each model call, since the answer is committed without a sync. So
 * SQLite commits without syncs, and the log is synced here.
 *
 * A log that grows costs two writes per sync: its bytes, and its new length in the tables of the
 * file system, which is slower. So zeros are written ahead of SQLite, some hundred kilobytes at a
 * time, and its frames replace them. A reader of the log stops at the first frame without the salt
 * of the log's head, so it stops at the zeros. After a crash the disk may have the zeros or the
 * frames that replaced them: both are valid. Nothing here reads the times of the log: Linux gives a
 * file whose times were read an exact time at its next write, and the next sync has to write that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable/store/log_space.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/os.h"
#include "sqlite/db_files.h"

#include "base/banned.h"

enum {
    FIRST = 64 * 1024,     /* a run with few rows needs no reserved space */
    STEP = 256 * 1024,     /* bytes for about sixteen model calls */
    LARGEST = 1024 * 1024, /* each reserve is twice as large as the one before, up to this size */
};

static void open_log(log_room *r, pdl_str database) {
    pdl_buf path = PDL_BUF;
    pdl_db_put_name(database, PDL_DB_LOG, &path);
    r->fd = open(pdl_buf_z(&path), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    r->is_open = r->fd >= 0;
    r->has_failed = !r->is_open; /* SQLite has no log here; it uses a rollback journal */
    pdl_buf_fini(&path);
}

/* Writes zeros after the content of the log, and never over it. */
static bool put_zeros(log_room *r, int64_t from) {
    static const char zeros[16 * 1024];
    int64_t step = !r->step ? STEP : r->step < LARGEST ? r->step * 2 : LARGEST;
    for (int64_t at = from; at < from + step; at += (int64_t)sizeof zeros)
        if (pwrite(r->fd, zeros, sizeof zeros, (off_t)at) != (ssize_t)sizeof zeros) return false;
    r->end = from + step;
    r->step = step;
    return true;
}

bool pdl_log_room_open(log_room *r, pdl_str database) {
    if (!r->is_open && !r->has_failed) open_log(r, database);
    return r->is_open;
}

static void give_up(log_room *r) {
    close(r->fd);
    r->is_open = false;
    r->has_failed = true;
}

bool pdl_log_room_sync(log_room *r, bool *done) {
    bool has_name, synced = pdl_os_sync(r->fd);
    int64_t size = 0;
    *done = synced && pdl_os_size_and_name(r->fd, &size, &has_name) && has_name;
    if (synced && !*done) give_up(r);
    if (*done && !r->has_no_space && size > (r->end ? r->end : FIRST))
        r->has_no_space = !put_zeros(r, size);
    return synced;
}

void pdl_log_room_fini(log_room *r) {
    if (r->is_open) close(r->fd);
    *r = (log_room){0};
}
