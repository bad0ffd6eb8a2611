/* file.c -- reads and writes whole files; see file.h.
 *
 * A path may lead to a pipe that never ends, a device, a link, or a descriptor of the shell. So the
 * kind of a file decides how it is opened and how many bytes are read. New content is written
 * beside the file and then renamed, so that a process which is killed leaves the old content.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/limits.h"
#include "base/os.h"
#include "base/packed_files.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "io/clock.h"

#include "base/banned.h"

enum { READ_CHUNK = 65536 };

static const struct {
    int e;
    const char *py_class;
} errno_classes[] = {
    {ENOENT, "FileNotFoundError,OSError"}, {EACCES, "PermissionError,OSError"},
    {EPERM, "PermissionError,OSError"},    {EEXIST, "FileExistsError,OSError"},
    {EISDIR, "IsADirectoryError,OSError"}, {ENOTDIR, "NotADirectoryError,OSError"},
    {EPIPE, "BrokenPipeError,OSError"},
};

/* Quotes a path in the way in which Python does. */
static void put_quoted(pdl_str s, pdl_buf *out) {
    char quote = memchr(s.p, '\'', s.n) && !memchr(s.p, '"', s.n) ? '"' : '\'';
    pdl_buf_putc(out, quote);
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '\n')
            PDL_PUT(out, "\\n");
        else if (c == '\t')
            PDL_PUT(out, "\\t");
        else if (c == '\r')
            PDL_PUT(out, "\\r");
        else if (c < 0x20 || c == 0x7f)
            pdl_buf_putf(out, "\\x%02x", c);
        else {
            if (c == '\\' || c == (unsigned char)quote) pdl_buf_putc(out, '\\');
            pdl_buf_putc(out, (char)c);
        }
    }
    pdl_buf_putc(out, quote);
}

bool pdl_file_errno(pdl_err *err, int e, const char *path) {
    const char *py_class = "OSError";
    pdl_buf shown = PDL_BUF;
    if (path) PDL_PUT(&shown, ": ");
    if (path) put_quoted(pdl_str_of(path), &shown);
    for (size_t i = 0; i < sizeof errno_classes / sizeof errno_classes[0]; i++)
        if (errno_classes[i].e == e) py_class = errno_classes[i].py_class;
    pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "[Errno %d] %s%s", e, strerror(e), pdl_buf_z(&shown));
    err->py_class = pdl_str_dup(pdl_str_of(py_class));
    pdl_buf_fini(&shown);
    return false;
}

/* --- reading ---------------------------------------------------------------------------------- */

enum { LOOK_MS = 20 }; /* interval between two checks for cancellation during a wait */

/* Waits until fd is ready. Fails when this thread is cancelled, because the other end of a pipe may
 * never be opened. */
static bool wait_for(int fd, short events, pdl_err *err) {
    struct pollfd p = {fd, events, 0};
    while (pdl_check_cancel(err))
        if (poll(&p, 1, LOOK_MS) > 0) return true;
    return false;
}

static bool is_fifo(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* Opening a FIFO waits for the other end. This wait can be cancelled, because the file is opened so
 * that reads and writes do not block. */
int pdl_file_open(const char *path, int flags, unsigned mode, pdl_err *err) {
    for (;;) {
        int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
        if (fd >= 0 && (flags & O_ACCMODE) == O_RDONLY && is_fifo(fd) &&
            !wait_for(fd, POLLIN, err)) {
            close(fd);
            return -1;
        }
        if (fd >= 0) return fd;
        int e = errno;
        struct stat st;
        bool waits = e == ENXIO && stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
        if (!waits && e != EINTR) {
            pdl_file_errno(err, e, path);
            return -1;
        }
        if (!pdl_check_cancel(err)) return -1;
        poll(NULL, 0, LOOK_MS);
    }
}

/* Reads fd to its end. size is the size of a regular file, or 0 when it is unknown. With a known
 * size, one read gets the whole file and shows that nothing follows. */
static bool drain(int fd, const char *path, size_t size, pdl_buf *out, pdl_err *err) {
    size_t chunk = size && size < READ_CHUNK ? size + 1 : READ_CHUNK, begin = out->len;
    for (;;) {
        if (!pdl_check_cancel(err)) return false;
        size_t room = out->limit - out->len;
        if (room > chunk) room = chunk;
        bool last = room == out->limit - out->len;
        char *p = pdl_buf_room(
            /* one byte more than the maximum shows whether the file has more content */
            out, room);
        ssize_t n = read(fd, p, last ? room + 1 : room);
        if (n == 0) {
            pdl_buf_grown(out, 0);
            return true;
        }
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(fd, POLLIN, err)) return false;
            continue;
        }
        if (n < 0) return pdl_file_errno(err, errno, path);
        if ((size_t)n > room)
            return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "%s is larger than %zu bytes",
                               path ? path : "the input", out->limit);
        pdl_buf_grown(out, (size_t)n);
        if (size && out->len - begin == size && (size_t)n < room) return true;
    }
}

/* Returns the maximum number of bytes that are read from a descriptor whose fstat is st. */
static size_t most_of(int fd, const struct stat *st, size_t most) {
    enum { DEVICE_MAX = 1 << 20 };
    bool is_device = S_ISCHR(st->st_mode) && !isatty(fd);
    bool is_stream = S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode);
    size_t here = is_device ? DEVICE_MAX : is_stream ? PDL_MAX_STREAM_BYTES : most;
    return here < most ? here : most;
}

size_t pdl_file_most_of(int fd, size_t most) {
    struct stat st;
    return fstat(fd, &st) == 0 ? most_of(fd, &st, most) : most;
}

bool pdl_file_endless(pdl_err *err, int fd, const char *path) {
    struct stat st;
    const char *what = path ? path : "standard input";
    bool is_device = fstat(fd, &st) == 0 && S_ISCHR(st.st_mode);
    pdl_err_fini(err);
    if (is_device)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "%s is a device without an end: expected a file", what);
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                       "%s is a pipe that gives more than %d bytes: expected a file", what,
                       PDL_MAX_STREAM_BYTES);
}

/* Reads any kind of descriptor. st is the fstat of the descriptor, or all-zero. */
static bool drain_any(int fd, const char *path, const struct stat *st, pdl_buf *out, pdl_err *err) {
    size_t limit = out->limit, most = most_of(fd, st, limit - out->len);
    size_t size = S_ISREG(st->st_mode) && st->st_size > 0 ? (size_t)st->st_size : 0;
    out->limit = out->len + most;
    bool ok = drain(fd, path, size, out, err), is_endless = out->limit < limit;
    out->limit = limit;
    return ok || (is_endless && err->kind == PDL_E_limit ? pdl_file_endless(err, fd, path) : false);
}

bool pdl_file_read_fd(int fd, pdl_buf *out, pdl_err *err) {
    struct stat st = {0};
    /* a part of the file may have been read before, so its size does not say how much follows */
    if (fstat(fd, &st) == 0) st.st_size = 0;
    return drain_any(fd, NULL, &st, out, err);
}

bool pdl_file_read_open(int fd, const char *path, pdl_buf *out, pdl_err *err) {
    struct stat st = {0};
    (void)fstat(fd, &st);
    if (S_ISDIR(st.st_mode)) return pdl_file_errno(err, EISDIR, path);
    if (S_ISREG(st.st_mode) && st.st_size > 0 && (uint64_t)st.st_size > out->limit - out->len)
        /* fails before gigabytes of the file are in memory */
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "%s is larger than %zu bytes", path,
                           out->limit);
    return drain_any(fd, path, &st, out, err);
}

bool pdl_file_read(const char *path, pdl_buf *out, pdl_err *err) {
    pdl_str packed;
    size_t begin = out->len;
    if (pdl_packed_find(path, &packed)) {
        pdl_packed_seen(path, packed);
        return pdl_buf_add(out, packed, err);
    }
    int fd = pdl_file_open(path, O_RDONLY, 0, err);
    bool ok = fd >= 0 && pdl_file_read_open(fd, path, out, err);
    if (fd >= 0) close(fd);
    if (ok) pdl_packed_seen(path, pdl_str_sub(pdl_buf_str(out), begin, out->len));
    return ok;
}

/* Reads a FIFO, which was opened so that it does not block. Its writer must open it, write and
 * close it within ms milliseconds. Password managers provide a FIFO in place of a file, and write
 * to it when it is opened. */
static bool read_fifo(int fd, const char *path, int ms, pdl_buf *out, pdl_err *err) {
    uint64_t end = pdl_clock_ns() + (uint64_t)ms * 1000000u;
    bool began = false;
    while (pdl_clock_ns() < end && pdl_check_cancel(err)) {
        struct pollfd p = {fd, POLLIN, 0};
        if (poll(&p, 1, LOOK_MS) <= 0) continue; /* no event is reported before there is a writer */
        size_t room = out->limit - out->len;
        if (room > READ_CHUNK) room = READ_CHUNK;
        ssize_t n = room ? read(fd, pdl_buf_room(out, room), room) : 0;
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (n < 0) return pdl_file_errno(err, errno, path);
        if (!room)
            return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "%s is larger than %zu bytes", path,
                               out->limit);
        if (n == 0) return true;
        pdl_buf_grown(out, (size_t)n);
        began = true;
    }
    if (pdl_err_is_cancel(err)) return false;
    return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "%s is a pipe %s %d seconds", path,
                       began ? "without an end after" : "to which nothing was written for",
                       ms / 1000);
}

bool pdl_file_read_found(const char *path, int fifo_ms, pdl_buf *out, pdl_err *err) {
    struct stat st, null = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return pdl_file_errno(err, errno, path);
    if (fstat(fd, &st) != 0) st.st_mode = 0;
    bool is_null =
        S_ISCHR(st.st_mode) && stat("/dev/null", &null) == 0 && st.st_rdev == null.st_rdev;
    bool ok = is_null                           ? true
              : S_ISFIFO(st.st_mode) && fifo_ms ? read_fifo(fd, path, fifo_ms, out, err)
              : S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)
                  ? pdl_file_read_open(fd, path, out, err)
                  : pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "%s is no regular file", path);
    close(fd);
    return ok;
}

bool pdl_file_read_within(const char *path, int fifo_ms, pdl_buf *out, pdl_err *err) {
    struct stat st;
    bool waits = stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
    return waits ? pdl_file_read_found(path, fifo_ms, out, err) : pdl_file_read(path, out, err);
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool put_all(int fd, pdl_str s, const char *path, pdl_err *err) {
    while (s.n) {
        ssize_t n = write(fd, s.p, s.n);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(fd, POLLOUT, err)) return false;
            continue;
        }
        if (n < 0) return pdl_file_errno(err, errno, path);
        s = pdl_str_sub(s, (size_t)n, s.n);
    }
    return true;
}

bool pdl_file_write_fd(int fd, pdl_str bytes, pdl_err *err) {
    return put_all(fd, bytes, NULL, err);
}

bool pdl_file_write_named(int fd, const char *path, pdl_str bytes, pdl_err *err) {
    return put_all(fd, bytes, path, err);
}

static bool write_to(const char *path, int flags, pdl_str bytes, pdl_err *err) {
    int fd = pdl_file_open(path, O_WRONLY | O_CREAT | flags, 0666, err);
    if (fd < 0) return false;
    bool ok = put_all(fd, bytes, path, err);
    if (close(fd) != 0 && ok) ok = pdl_file_errno(err, errno, path);
    return ok;
}

/* --- a file in pieces ------------------------------------------------------------------------- */

/* The mode that a new file has from the beginning. */
enum { PRIVATE = 0600, SHARED = 0666 };

struct pdl_file_out {
    /* path is owned. tmp is NULL when path is written in place, as devices and pipes are */
    char *path, *tmp;
    int fd;
    /* tmp gets its name at the end, so that a process which ends before leaves no file */
    bool nameless;
    pdl_buf rest; /* bytes that are not written yet */
    bool there;   /* there was a file at path before */
    mode_t mode;
    mode_t fresh; /* mode of a new file, before the umask is applied */
};

static void out_free(pdl_file_out *f) {
    pdl_free(f->path);
    pdl_free(f->tmp);
    pdl_buf_fini(&f->rest);
    pdl_free(f);
}

/* Opens a file without a name in the folder of path. Returns -1 when the system has no such files,
 * or could not name them later. */
static int open_nameless(const char *path, mode_t mode) {
    pdl_str folder = pdl_file_folder(pdl_str_of(path));
    char *z = pdl_str_dup(folder.n ? folder : path[0] == '/' ? PDL_STR("/") : PDL_STR("."));
    int fd = pdl_os_open_nameless(z, mode);
    pdl_free(z);
    return fd;
}

/* Returns -1 with errno or with err set. */
static int open_out(pdl_file_out *f, pdl_err *err) {
    if (!f->tmp) return pdl_file_open(f->path, O_WRONLY | O_CREAT | O_TRUNC, f->fresh, err);
    int fd = open_nameless(f->path, f->fresh);
    f->nameless = fd >= 0;
    if (fd >= 0) return fd;
    unlink(f->tmp);
    return open(f->tmp, O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, f->fresh);
}

/* Returns the target of a link, so that the file there is replaced and not the link. Returns NULL
 * for a link without a target, and any other path unchanged. The caller frees the result. */
static char *behind_links(const char *path) {
    struct stat st;
    char real[PATH_MAX];
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode)) return pdl_str_dup(pdl_str_of(path));
    return realpath(path, real) ? pdl_str_dup(pdl_str_of(real)) : NULL;
}

bool pdl_file_descriptor(pdl_str path, int *fd) {
    static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    enum { MAX_DIGITS = 6 };
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (pdl_str_is(path, names[ *fd = i])) return true;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (!pdl_str_starts(path, pdl_str_of(folders[i]))) continue;
        pdl_str digits = pdl_str_sub(path, strlen(folders[i]), path.n);
        size_t at = 0;
        for (*fd = 0; at < digits.n && digits.p[at] >= '0' && digits.p[at] <= '9'; at++)
            *fd = at < MAX_DIGITS ? *fd * 10 + (digits.p[at] - '0') : -1;
        if (at == digits.n && at) return true;
    }
    return false;
}

/* Opens a descriptor that the shell has opened. Output goes to the descriptor itself, even when it
 * is a file: other programs may have written to the descriptor before, or may write to it later. */
static int open_descriptor(pdl_file_out *f, const char *path, int fd) {
    f->path = pdl_str_dup(pdl_str_of(path));
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* Sets the path, and also tmp when the file is new or regular. Then opens the file. */
static int open_path(pdl_file_out *f, const char *path, pdl_err *err) {
    struct stat st;
    char *real = behind_links(path);
    f->there = stat(path, &st) == 0;
    f->mode = f->there ? st.st_mode & 07777 : 0;
    f->path = real ? real : pdl_str_dup(pdl_str_of(path));
    if (real &&
        (!f->there || S_ISREG(st.st_mode))) { /* opening a link without a target makes the file */
        pdl_buf tmp = PDL_BUF;
        pdl_buf_putf(&tmp, "%s.pdl-%ld.tmp", real, (long)getpid());
        f->tmp = pdl_buf_take(&tmp);
    }
    return open_out(f, err);
}

static bool begin_out(const char *path, mode_t fresh, pdl_file_out **out, pdl_err *err) {
    int fd;
    pdl_file_out *f = PDL_NEW(pdl_file_out);
    f->rest = PDL_BUF;
    f->fresh = fresh;
    bool is_open = pdl_file_descriptor(pdl_str_of(path), &fd);
    f->fd = is_open ? open_descriptor(f, path, fd) : open_path(f, path, err);
    if (f->fd < 0) {
        if (!err->kind) pdl_file_errno(err, errno, path);
        out_free(f);
        return false;
    }
    *out = f;
    return true;
}

bool pdl_file_out_begin(const char *path, pdl_file_out **out, pdl_err *err) {
    return begin_out(path, PRIVATE, out, err);
}

/* Gives a file that has no name its temporary name. */
static bool name_it(pdl_file_out *f, pdl_err *err) {
    unlink(f->tmp);
    return pdl_os_name(f->fd, f->tmp) || pdl_file_errno(err, errno, f->path);
}

static bool out_flush(pdl_file_out *f, pdl_err *err) {
    bool ok = put_all(f->fd, pdl_buf_str(&f->rest), f->path, err);
    pdl_buf_clear(&f->rest);
    return ok;
}

bool pdl_file_out_put(pdl_file_out *f, pdl_str bytes, pdl_err *err) {
    pdl_buf_put(&f->rest, bytes);
    return f->rest.len < READ_CHUNK || out_flush(f, err);
}

/* The new content gets the permissions of the old file. */
bool pdl_file_out_end(pdl_file_out *f, bool ok, pdl_err *err) {
    ok = ok && out_flush(f, err) && (!f->nameless || name_it(f, err));
    if (close(f->fd) != 0 && ok) ok = pdl_file_errno(err, errno, f->path);
    if (f->tmp && ok && f->there && chmod(f->tmp, f->mode) != 0)
        ok = pdl_file_errno(err, errno, f->path);
    if (f->tmp && ok && rename(f->tmp, f->path) != 0) ok = pdl_file_errno(err, errno, f->path);
    if (f->tmp && !ok) unlink(f->tmp);
    out_free(f);
    return ok;
}

static bool write_atomic(const char *path, mode_t fresh, pdl_str bytes, pdl_err *err) {
    pdl_file_out *f;
    if (!begin_out(path, fresh, &f, err)) return false;
    bool ok = pdl_file_out_put(f, bytes, err);
    return pdl_file_out_end(f, ok, err);
}

/* Only a regular file is opened: when a pipe is opened and closed, its reader sees the end of the
 * input. A dangling link is not opened, either, because opening it would make the file. */
bool pdl_file_check_writable(const char *path, pdl_err *err) {
    struct stat st;
    pdl_file_out *f;
    bool there = stat(path, &st) == 0, link = !there && lstat(path, &st) == 0;
    if (there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return access(path, W_OK) == 0 || pdl_file_errno(err, errno, path);
    if (link) return true;
    return pdl_file_out_begin(path, &f, err) && (pdl_file_out_end(f, false, err) || !err->kind);
}

int pdl_file_scratch(const char *folder) {
    pdl_buf name = PDL_BUF;
    pdl_buf_putf(&name, "%s/pdl-XXXXXX", folder && *folder ? folder : "/tmp");
    char *z = pdl_buf_take(&name);
    int fd = mkostemp(z, O_CLOEXEC);
    if (fd >= 0) unlink(z);
    pdl_free(z);
    return fd;
}

bool pdl_file_read_at(int fd, uint64_t offset, char *to, size_t n, pdl_err *err) {
    while (n) {
        ssize_t got = pread(fd, to, n, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return pdl_file_errno(err, errno, NULL);
        if (got == 0)
            return pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                               "a file became shorter while it was read");
        to += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

bool pdl_file_write(const char *path, pdl_str bytes, pdl_file_mode mode, pdl_err *err) {
    switch (mode) {
    case PDL_FILE_ATOMIC: return write_atomic(path, PRIVATE, bytes, err);
    case PDL_FILE_SHARED: return write_atomic(path, SHARED, bytes, err);
    case PDL_FILE_PLAIN: return write_to(path, O_TRUNC, bytes, err);
    case PDL_FILE_APPEND: return write_to(path, O_APPEND, bytes, err);
    case PDL_FILE_NEW: return write_to(path, O_EXCL, bytes, err);
    }
    PDL_BUG("file mode %d", (int)mode);
}

/* --- directories ------------------------------------------------------------------------------ */

bool pdl_file_mkdir(const char *path, pdl_err *err) {
    char *z = pdl_str_dup(pdl_str_of(path));
    bool ok = true;
    for (char *p = z + 1; ok && *z; p++) {
        char c = *p;
        if (c != '/' && c != 0) continue;
        *p = 0;
        if (mkdir(z, 0777) != 0 && (errno != EEXIST || pdl_file_kind_of(z) != PDL_FILE_DIR))
            ok = pdl_file_errno(err, errno, z);
        *p = c;
        if (c == 0) break;
    }
    pdl_free(z);
    return ok;
}

bool pdl_file_put_self(pdl_buf *out) {
    char path[PATH_MAX];
    size_t n = pdl_os_self(path, sizeof path);
    pdl_buf_put(out, (pdl_str){path, n});
    return n > 0;
}

pdl_file_kind pdl_file_kind_of(const char *path) {
    struct stat st;
    if (pdl_packed_find(path, NULL)) return PDL_FILE_REGULAR;
    if (stat(path, &st) != 0) return PDL_FILE_NONE;
    return S_ISREG(st.st_mode)   ? PDL_FILE_REGULAR
           : S_ISDIR(st.st_mode) ? PDL_FILE_DIR
                                 : PDL_FILE_OTHER;
}

pdl_file_kind pdl_file_kind_named(pdl_str name) {
    char *path = pdl_str_dup(name);
    pdl_file_kind kind = pdl_file_kind_of(path);
    bool is_absent = kind == PDL_FILE_NONE && (errno == ENOENT || errno == ENOTDIR);
    pdl_free(path);
    return kind == PDL_FILE_NONE && !is_absent ? PDL_FILE_OTHER : kind;
}

bool pdl_file_is_ours(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           (st.st_uid == geteuid() || st.st_uid == 0);
}

int64_t pdl_file_written_ns(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? pdl_os_modified_ns(&st) : 0;
}

bool pdl_file_is_same(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* --- entries of folders ----------------------------------------------------------------------- */

static pdl_str stem_of(pdl_str name) {
    size_t n = name.n;
    while (n && name.p[n - 1] != '.') n--;
    return n > 1 ? pdl_str_sub(name, 0, n - 1) : name;
}

/* Returns true when the names are similar without their suffixes, which most files share. */
static bool has_similar_stem(pdl_str name, pdl_str other) {
    pdl_str a = stem_of(name), b = stem_of(other);
    return pdl_str_eq(a, b) || pdl_str_nearest(a, &b, 1).n;
}

char *pdl_file_similar(const char *folder, pdl_str name, pdl_str suffix) {
    enum { MAX_NAMES = 4096 };
    PDL_VEC(pdl_str) names = {0};
    DIR *d = opendir(folder);
    char *found = NULL;
    pdl_buf whole = PDL_BUF;
    pdl_buf_put(&whole, name);
    if (!pdl_str_ends(name, suffix)) pdl_buf_put(&whole, suffix);
    for (struct dirent *x; d && names.n < MAX_NAMES && (x = readdir(d));)
        if (pdl_str_ends(pdl_str_of(x->d_name), suffix))
            *pdl_vec_push(&names) =
                (pdl_str){pdl_str_dup(pdl_str_of(x->d_name)), strlen(x->d_name)};
    pdl_str near = pdl_str_nearest(pdl_buf_str(&whole), names.p, names.n);
    if (near.n && has_similar_stem(pdl_buf_str(&whole), near)) found = pdl_str_dup(near);
    if (d) closedir(d);
    for (size_t i = 0; i < names.n; i++) pdl_free((char *)(uintptr_t)names.p[i].p);
    pdl_vec_fini(&names);
    pdl_buf_fini(&whole);
    return found;
}

/* Returns the kind of an entry in a folder. A link to a folder is OTHER, because a walk that
 * follows it could run in circles. */
static pdl_file_kind kind_of_entry(const char *path) {
    struct stat st;
    pdl_file_kind kind = pdl_file_kind_of(path);
    bool link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    return link && kind == PDL_FILE_DIR ? PDL_FILE_OTHER : kind;
}

static int cmp_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void pdl_file_each(const char *folder, void (*fn)(void *user, const char *name, pdl_file_kind kind),
                   void *user) {
    enum { MAX_ENTRIES = 1000000 };
    PDL_VEC(char *) names = {0};
    DIR *d = opendir(folder);
    for (struct dirent *x; d && names.n < MAX_ENTRIES && (x = readdir(d));)
        if (strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0)
            *pdl_vec_push(&names) = pdl_str_dup(pdl_str_of(x->d_name));
    if (d) closedir(d);
    if (names.n) qsort(names.p, names.n, sizeof *names.p, cmp_names);
    for (size_t i = 0; i < names.n; i++) {
        pdl_buf path = PDL_BUF;
        pdl_buf_putf(&path, "%s/%s", folder, names.p[i]);
        if (pdl_utf8_check(pdl_str_of(names.p[i])) == PDL_NOT_FOUND)
            fn(user, names.p[i], kind_of_entry(pdl_buf_z(&path)));
        pdl_buf_fini(&path);
        pdl_free(names.p[i]);
    }
    pdl_vec_fini(&names);
}
