/* file_wasi.c -- see file.h. A module of WebAssembly has no files: no path exists, and nothing can
 * be written. Functions that only compute paths work as on other platforms.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/file.h"

#include "base/banned.h"

static bool no_files(pdl_err *err, const char *path) {
    return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "there are no files here: %s", path);
}

bool pdl_file_read(const char *path, pdl_buf *out, pdl_err *err) {
    (void)out;
    return no_files(err, path);
}

bool pdl_file_read_found(const char *path, int fifo_ms, pdl_buf *out, pdl_err *err) {
    (void)fifo_ms, (void)out;
    return no_files(err, path);
}

bool pdl_file_read_within(const char *path, int fifo_ms, pdl_buf *out, pdl_err *err) {
    (void)fifo_ms, (void)out;
    return no_files(err, path);
}

pdl_file_kind pdl_file_kind_of(const char *path) {
    (void)path;
    return PDL_FILE_NONE;
}

bool pdl_file_is_ours(const char *path) {
    (void)path;
    return false;
}

int64_t pdl_file_written_ns(const char *path) {
    (void)path;
    return 0;
}

char *pdl_file_similar(const char *folder, pdl_str name, pdl_str suffix) {
    (void)folder, (void)name, (void)suffix;
    return NULL;
}

void pdl_file_each(const char *folder, void (*fn)(void *user, const char *name, pdl_file_kind kind),
                   void *user) {
    (void)folder, (void)fn, (void)user;
}

/* After this failure the caller, a trace, keeps in memory the text that it would write
 * to the file. */
int pdl_file_scratch(const char *folder) {
    (void)folder;
    return -1;
}

bool pdl_file_write_fd(int fd, pdl_str bytes, pdl_err *err) {
    (void)fd, (void)bytes;
    return no_files(err, "a scratch file");
}

bool pdl_file_read_at(int fd, uint64_t offset, char *to, size_t n, pdl_err *err) {
    (void)fd, (void)offset, (void)to, (void)n;
    return no_files(err, "a scratch file");
}
