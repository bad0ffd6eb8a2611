/* file.h -- whole files: read with a ceiling, write atomically, append, directories. These
 * functions block. Errors are PDL_E_io with Python's wording in msg ("[Errno 2] No such file or
 * directory: 'x'") and the class in py_class. A wait for the other end of a pipe ends when its
 * thread is cancelled (base/cancel.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_FILE_H
#define PDL_IO_FILE_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the bytes of path to out, whose limit is the ceiling (PDL_E_limit). "-" has no special
 * meaning. */
PDL_MUST bool pdl_file_read(const char *path, pdl_buf *out, pdl_err *err);

/* Does the same as pdl_file_read for an open descriptor. */
PDL_MUST bool pdl_file_read_open(int fd, const char *path, pdl_buf *out, pdl_err *err);
/* Reads a file that the user did not name, and that was found at its usual place. Refuses anything
 * but a regular file or /dev/null, since a pipe may never end and a device may never answer. A FIFO
 * is read when its writer closes it within fifo_ms. When fifo_ms is 0, a FIFO is refused. */
PDL_MUST bool pdl_file_read_found(const char *path, int fifo_ms, pdl_buf *out, pdl_err *err);
/* Reads a file that is needed before anything can begin. Does the same as pdl_file_read, but reads
 * a FIFO as pdl_file_read_found does. */
PDL_MUST bool pdl_file_read_within(const char *path, int fifo_ms, pdl_buf *out, pdl_err *err);
/* The usual fifo_ms. The writer may be a password manager that first asks the user for permission,
 * and the user needs time to answer. */
enum { PDL_FILE_FIFO_MS = 5000 };

/* Does the same as open(path, flags, mode), but a wait for the other end of a FIFO ends when this
 * thread is cancelled. Reads and writes of the descriptor do not block. Returns -1 with err set. */
int pdl_file_open(const char *path, int flags, unsigned mode, pdl_err *err);

/* Returns the maximum number of bytes that are read from a descriptor. The number is small for a
 * device other than a terminal, because a device has no end. It is PDL_MAX_STREAM_BYTES for a pipe
 * or a socket, and `most` for anything else. It is never larger than `most`. */
size_t pdl_file_most_of(int fd, size_t most);
/* Sets the error for a device or pipe with more bytes than pdl_file_most_of returns. When path is
 * NULL, the message names standard input. Always returns false. */
bool pdl_file_endless(pdl_err *err, int fd, const char *path);

/* Reads a descriptor (standard input) to its end. */
PDL_MUST bool pdl_file_read_fd(int fd, pdl_buf *out, pdl_err *err);

typedef enum {
    /* Writes a temporary file beside the path and renames it, so that readers see the old or the
     * new content. A link is followed. Only the owner can read a new file (0600). */
    PDL_FILE_ATOMIC,
    /* Does the same as PDL_FILE_ATOMIC, but the umask decides who may read a new file, as for any
     * file that a person makes. Build servers and colleagues read such files. */
    PDL_FILE_SHARED,
    PDL_FILE_PLAIN, /* truncates and writes; also for devices and pipes */
    PDL_FILE_APPEND,
    PDL_FILE_NEW, /* fails when the file exists */
} pdl_file_mode;

PDL_MUST bool pdl_file_write(const char *path, pdl_str bytes, pdl_file_mode mode, pdl_err *err);

/* Returns true when pdl_file_write could replace the file. A command checks this before it pays for
 * results that it will write there. Changes nothing. */
PDL_MUST bool pdl_file_check_writable(const char *path, pdl_err *err);

/* Writes all bytes to an open descriptor. Continues after short writes and EINTR, and waits while a
 * pipe is full. */
PDL_MUST bool pdl_file_write_fd(int fd, pdl_str bytes, pdl_err *err);
/* Does the same as pdl_file_write_fd; path is for messages. */
PDL_MUST bool pdl_file_write_named(int fd, const char *path, pdl_str bytes, pdl_err *err);

/* A file that is written in pieces and replaces the one at path after its last piece. Use it for
 * content that is too large to be held in memory; the file is then replaced as with
 * PDL_FILE_ATOMIC. */
typedef struct pdl_file_out pdl_file_out;
PDL_MUST bool pdl_file_out_begin(const char *path, pdl_file_out **out, pdl_err *err);
PDL_MUST bool pdl_file_out_put(pdl_file_out *f, pdl_str bytes, pdl_err *err);
/* Ends the writing and takes ownership of f. With ok false, nothing is changed at path. Returns
 * true when all bytes are written. */
PDL_MUST bool pdl_file_out_end(pdl_file_out *f, bool ok, pdl_err *err);

/* Makes a file without a name, which this process can read and write, in a folder. When folder is
 * NULL or empty, uses /tmp. Returns -1 when that is not possible. */
int pdl_file_scratch(const char *folder);
/* Reads exactly n bytes of a descriptor from an offset on. */
PDL_MUST bool pdl_file_read_at(int fd, uint64_t offset, char *to, size_t n, pdl_err *err);

/* Returns the name of a file in folder that is most like name, owned; NULL when no name is near.
 * Only names that end in suffix are compared; when suffix is empty, all names are. `name` may lack
 * the suffix. */
char *pdl_file_similar(const char *folder, pdl_str name, pdl_str suffix);

/* Makes a directory and its parents; succeeds when it exists. */
PDL_MUST bool pdl_file_mkdir(const char *path, pdl_err *err);

/* Returns true when path is the name of a descriptor, such as /dev/stdout or /dev/fd/3. Sets *fd to
 * the number of the descriptor, which need not be open. */
PDL_MUST bool pdl_file_descriptor(pdl_str path, int *fd);
typedef enum { PDL_FILE_NONE, PDL_FILE_REGULAR, PDL_FILE_DIR, PDL_FILE_OTHER } pdl_file_kind;
/* Returns the kind of file at path; symbolic links are followed. */
pdl_file_kind pdl_file_kind_of(const char *path);
/* Returns the kind of a file that the user has named. PDL_FILE_NONE: nothing has this name. When
 * the kind is not known, as of a file in a folder that may not be entered or of a link to itself,
 * PDL_FILE_OTHER is returned: opening the file gives the reason. */
pdl_file_kind pdl_file_kind_named(pdl_str name);

/* Returns true for a regular file of this user or of the administrator. */
bool pdl_file_is_ours(const char *path);
/* Returns when a regular file was last written, in ns since the epoch; 0 when there is none. */
int64_t pdl_file_written_ns(const char *path);
/* Returns true when two paths lead to one file. */
bool pdl_file_is_same(const char *a, const char *b);

/* Appends a path without parts that are "." or "..", as editors write it. Links are not
 * examined. */
void pdl_file_put_parts(pdl_str path, pdl_buf *out);

/* Appends the path of the program that this process runs. Returns false when it is not known. */
bool pdl_file_put_self(pdl_buf *out);

/* Calls fn for each entry of a folder, ordered by name, for at most a million entries. Names that
 * are not UTF-8 are left out. A folder that cannot be read has no entries. */
void pdl_file_each(const char *folder, void (*fn)(void *user, const char *name, pdl_file_kind kind),
                   void *user);

/* Fills err for errno value e at path, in Python's words. Always returns false. */
bool pdl_file_errno(pdl_err *err, int e, const char *path);

#endif
