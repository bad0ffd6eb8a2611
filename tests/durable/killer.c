/* killer.c -- LD_PRELOAD: kills the process at the nth write to a journal (PDL_KILL_AT), before or
 * after the write. With PDL_KILL_COUNT, a file, it notes the number of writes there. With
 * PDL_SYNC_FAILS the syncs of a journal fail after this number of syncs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long seen;
static int told = -1;

static int is_journal(int fd, char *name, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, name, size - 1);
    if (n <= 0) return 0;
    name[n] = 0;
    return strstr(name, ".journal") != NULL && strstr(name, "-shm") == NULL;
}

static void count(int fd) {
    char name[512];
    const char *at = getenv("PDL_KILL_AT"), *to = getenv("PDL_KILL_COUNT");
    if ((!at && !to) || !is_journal(fd, name, sizeof name)) return;
    seen++;
    if (at && seen == atol(at)) kill(getpid(), SIGKILL);
    if (!to) return;
    if (told < 0) told = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    char text[32];
    int n = snprintf(text, sizeof text, "%ld\n", seen);
    ssize_t (*real)(int, const void *, size_t, off_t) =
        (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    if (real(told, text, (size_t)n, 0) < 0) _exit(3);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t at) {
    static ssize_t (*real)(int, const void *, size_t, off_t);
    if (!real) real = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite64");
    count(fd);
    return real(fd, p, n, at);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at) {
    static ssize_t (*real)(int, const void *, size_t, off_t);
    if (!real) real = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    count(fd);
    return real(fd, p, n, at);
}

int fdatasync(int fd) {
    static int (*real)(int);
    static long synced;
    char name[512];
    const char *after = getenv("PDL_SYNC_FAILS");
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    if (!after || !is_journal(fd, name, sizeof name) || ++synced <= atol(after)) return real(fd);
    errno = EIO;
    return -1;
}
