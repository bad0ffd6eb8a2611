/* bytes.c -- reads a file or pipe in pieces, and refuses files that are not text; see bytes.h.
 * Readers of all text formats get their records from here. A pipe may have no data for a long time,
 * so reading can wait or return at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/os.h"
#include "io/file.h"

#include "base/banned.h"

enum { PIECE = 1 << 17 };

/* Opens a path, which may name a descriptor. The descriptor of a device, a pipe or a socket is used
 * directly, because a socket cannot be opened by a path such as /dev/fd/3. A regular file is opened
 * again and read from its beginning, so that it can be read twice. */
static int open_path(pdl_str path, const char *name, pdl_err *err) {
    int fd;
    if (!pdl_file_descriptor(path, &fd) || pdl_file_kind_of(name) != PDL_FILE_OTHER)
        return pdl_file_open(name, O_RDONLY, 0, err);
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) pdl_file_errno(err, errno, name);
    return fd;
}

bool pdl_batch_bytes_open(bytes *b, pdl_str path, pdl_err *err) {
    *b = (bytes){.fd = STDIN_FILENO, .buf = PDL_BUF, .line = 1, .owns = path.n > 0};
    b->name = path.n ? pdl_str_dup(path) : pdl_str_dup(PDL_STR("standard input"));
    if (path.n) b->fd = open_path(path, b->name, err);
    if (b->fd < 0) return false;
    if (fstat(b->fd, &b->opened) != 0) return pdl_file_errno(err, errno, b->name);
    if (S_ISDIR(b->opened.st_mode)) return pdl_file_errno(err, EISDIR, b->name);
    b->regular = S_ISREG(b->opened.st_mode);
    return true;
}

void pdl_batch_bytes_close(bytes *b) {
    if (b->owns && b->fd >= 0) close(b->fd);
    b->owns = false;
    b->fd = -1;
    pdl_buf_fini(&b->buf);
    pdl_free(b->name);
    b->name = NULL;
}

/* Reports once what kind of file this is, and how it can be converted to a table. Without this,
 * each of its rows would be reported as broken. */
bool pdl_batch_bytes_are_text(pdl_str first, const char *name, pdl_err *err) {
    static const struct {
        /* the command that converts such a file: its text before and after the name of the file */
        const char *begin, *what, *before, *after;
    } others[] = {
        {"\x1f\x8b", "compressed by gzip", "`gzip -dc ", " | pdl batch ... --input -` reads it"},
        {"\x28\xb5\x2f\xfd", "compressed by zstd", "`zstd -dc ",
         " | pdl batch ... --input -` reads it"},
        {"\xfd\x37zXZ", "compressed by xz", "`xz -dc ", " | pdl batch ... --input -` reads it"},
        {"BZh91AY&SY", "compressed by bzip2", "`bzip2 -dc ",
         " | pdl batch ... --input -` reads it"},
        {"\xd0\xcf\x11\xe0", "a spreadsheet of an old form", "save ", " as CSV UTF-8"},
        {"version https://git-lfs", "the pointer of Git LFS to a file", "`git lfs pull --include ",
         "` gets the file"},
        {"PK\x03\x04", "a ZIP archive, as spreadsheets are", "save ", " as CSV UTF-8"},
        {"PAR1", "a Parquet file", "the name ", " must end in .parquet"},
        {"SQLite format 3", "a SQLite file", "the name of ",
         " must end in .db; a table of it is FILE.db:TABLE"},
        {"\xff\xfe", "UTF-16", "`iconv -f UTF-16 -t UTF-8 ", "` writes it as UTF-8"},
        {"\xfe\xff", "UTF-16", "`iconv -f UTF-16 -t UTF-8 ", "` writes it as UTF-8"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!pdl_str_starts(first, pdl_str_of(others[i].begin))) continue;
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s is %s, and no table in UTF-8", name,
                    others[i].what);
        pdl_err_hint(err, "%s%s%s", others[i].before, name, others[i].after);
        return false;
    }
    return true;
}

/* Removes the bytes that the caller has received, when they are the larger part. */
static void compact(bytes *b) {
    if (b->pos < b->buf.len / 2 || !b->pos) return;
    pdl_buf_shift(&b->buf, b->pos);
    b->gone += b->pos;
    b->pos = 0;
}

/* Waits until a pipe has data, or until the batch must end. Without `wait`, returns BYTES_LATER
 * when there is no data. */
static bytes_step await(const bytes *b, bool wait, pdl_err *err) {
    enum { LOOK_MS = 100 };
    struct pollfd p = {.fd = b->fd, .events = POLLIN};
    while (!b->regular && poll(&p, 1, wait ? LOOK_MS : 0) == 0) {
        if (!wait) return BYTES_LATER;
        if (!pdl_check_cancel(err)) return BYTES_FAIL;
    }
    return BYTES_MORE;
}

bytes_step pdl_batch_bytes_fill(bytes *b, bool wait, pdl_err *err) {
    if (b->ended) return BYTES_END;
    bytes_step there = await(b, wait, err);
    if (there != BYTES_MORE) return there;
    compact(b);
    char *to = pdl_buf_room(&b->buf, PIECE);
    ssize_t n = read(b->fd, to, PIECE - 1);
    while (n < 0 && errno == EINTR) n = read(b->fd, to, PIECE - 1);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return BYTES_LATER;
    if (n < 0) {
        pdl_file_errno(err, errno, b->name);
        return BYTES_FAIL;
    }
    pdl_buf_grown(&b->buf, (size_t)n);
    b->ended = n == 0;
    return n ? BYTES_MORE : BYTES_END;
}

bool pdl_batch_bytes_unchanged(const bytes *b, pdl_err *err) {
    struct stat now;
    if (!b->regular || fstat(b->fd, &now) != 0) return true;
    bool same = now.st_size == b->opened.st_size &&
                pdl_os_modified_ns(&now) == pdl_os_modified_ns(&b->opened);
    if (same) return true;
    pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                "%s was changed while it was read: some rows may be from before and some from "
                "after the change",
                b->name);
    pdl_err_hint(err, "the same command compares all rows with the file as it is then");
    return false;
}
