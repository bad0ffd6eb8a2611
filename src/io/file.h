/* file.h -- whole files: read with a ceiling, write atomically, append, directories. Blocking, local.
 *
 * Errors are PDL_E_io with Python's wording in msg ("[Errno 2] No such file or directory: 'x'") and the class
 * in foreign.
 */
#ifndef PDL_IO_FILE_H
#define PDL_IO_FILE_H

#include "base/buf.h"
#include "base/err.h"

/* Append the bytes of path to out; its limit is the ceiling (PDL_E_limit). "-" has no special meaning. */
PDL_MUST bool pdl_file_read(const char *path, pdl_buf *out, pdl_err *err);

/* All of a descriptor until its end (standard input). */
PDL_MUST bool pdl_file_read_fd(int fd, pdl_buf *out, pdl_err *err);

typedef enum {
    PDL_FILE_ATOMIC, /* through a temporary file beside it and a rename: readers see the old or the new
                        content */
    PDL_FILE_PLAIN,  /* truncate and write (also devices, pipes) */
    PDL_FILE_APPEND,
    PDL_FILE_NEW, /* fails when it exists */
} pdl_file_mode;

PDL_MUST bool pdl_file_write(const char *path, pdl_str bytes, pdl_file_mode mode, pdl_err *err);

/* Write all bytes to an open descriptor, through short writes and EINTR; waits where a pipe is full. */
PDL_MUST bool pdl_file_write_fd(int fd, pdl_str bytes, pdl_err *err);

/* Make a directory and its parents; fine when it is there. */
PDL_MUST bool pdl_file_mkdir(const char *path, pdl_err *err);

typedef enum { PDL_FILE_NONE, PDL_FILE_REGULAR, PDL_FILE_DIR, PDL_FILE_OTHER } pdl_file_kind;
/* What stands at path (symbolic links followed). */
pdl_file_kind pdl_file_kind_of(const char *path);

/* Fill err for errno value e at path, in Python's words. Always false. */
bool pdl_file_errno(pdl_err *err, int e, const char *path);

#endif
