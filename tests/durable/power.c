/* power.c -- LD_PRELOAD: notes in PDL_POWER_LOG, in order, what a process does to its journal
 * (writes, lengths, syncs, removals) and what it sends (requests, standard output). From this log
 * test_power.py makes the states in which a power cut may leave a disk.
 *
 * Records: one byte for what it is (w: write, t: length, s: sync, u: removal, d: sync of a folder,
 * o: standard output, n: network), the number of the path's bytes, of the data's bytes, an offset
 * (little-endian 32, 32 and 64 bits), the path, the data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static int told = -1;

#define REAL(type, name, ...)                                                                      \
    static type (*real)(__VA_ARGS__);                                                              \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static ssize_t plain_write(int fd, const void *p, size_t n) {
    REAL(ssize_t, "write", int, const void *, size_t);
    return real(fd, p, n);
}

static void tell(char what, const char *path, const void *data, size_t n, int64_t at) {
    const char *to = getenv("PDL_POWER_LOG");
    char head[17];
    uint32_t n_path = (uint32_t)strlen(path), n_data = (uint32_t)n;
    if (!to) return;
    if (told < 0) told = open(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    head[0] = what;
    memcpy(head + 1, &n_path, 4);
    memcpy(head + 5, &n_data, 4);
    memcpy(head + 9, &at, 8);
    if (plain_write(told, head, sizeof head) != (ssize_t)sizeof head ||
        plain_write(told, path, n_path) != (ssize_t)n_path ||
        (n && plain_write(told, data, n) != (ssize_t)n))
        _exit(3);
}

/* The path of a descriptor that is a journal's; NULL: it is another's. */
static const char *journal(int fd) {
    static char name[512];
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, name, sizeof name - 1);
    if (n <= 0) return NULL;
    name[n] = 0;
    return strstr(name, ".journal") && !strstr(name, "-shm") ? name : NULL;
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t at) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t);
    const char *path = journal(fd);
    if (path) tell('w', path, p, n, at);
    return real(fd, p, n, at);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at) { return pwrite64(fd, p, n, at); }

int ftruncate64(int fd, off_t n) {
    REAL(int, "ftruncate64", int, off_t);
    const char *path = journal(fd);
    if (path) tell('t', path, "", 0, n);
    return real(fd, n);
}

int ftruncate(int fd, off_t n) { return ftruncate64(fd, n); }

int fsync(int fd) {
    REAL(int, "fsync", int);
    int r = real(fd);
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) tell('d', "", "", 0, 0);
    const char *path = journal(fd);
    if (path) tell('s', path, "", 0, 0);
    return r;
}

int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    int r = real(fd);
    const char *path = journal(fd);
    if (path) tell('s', path, "", 0, 0);
    return r;
}

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    if (strstr(path, ".journal") && !strstr(path, "-shm")) tell('u', path, "", 0, 0);
    return real(path);
}

ssize_t write(int fd, const void *p, size_t n) {
    if (fd == STDOUT_FILENO) tell('o', "", p, n, 0);
    return plain_write(fd, p, n);
}

ssize_t send(int fd, const void *p, size_t n, int flags) {
    REAL(ssize_t, "send", int, const void *, size_t, int);
    tell('n', "", p, n, 0);
    return real(fd, p, n, flags);
}
