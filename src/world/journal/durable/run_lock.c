/* run_lock.c -- see run_lock.h. The kernel gives a lock back when a process ends, whatever way it
 * ends. There is one gap: a process that is killed while it starts a child leaves the lock to the
 * child until that has become another program, which closes the descriptor. A journal whose owner
 * has ended is therefore waited for; without that a resume right after a kill was refused now and
 * then, with the name of a process that is not there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

enum { PAUSE_MS = 5, MOST_PAUSES = 1000 };

/* A zombie has given everything back, too. */
static bool has_ended(long pid) {
    char path[40], line[256], *at;
    if (kill((pid_t)pid, 0) != 0) return errno == ESRCH;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(line, 1, sizeof line - 1, f) : 0;
    if (f) fclose(f);
    line[n] = 0;
    at = strrchr(line, ')'); /* behind the name of the program, which may hold anything */
    return at && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X');
}

bool pdl_lock_owner_is_gone(pdl_store *s) {
    pdl_buf row = PDL_BUF;
    pdl_err ignored = {0};
    struct utsname here;
    long pid = 0;
    char host[128] = "";
    bool ok = pdl_store_get(s, "owner", &row, &ignored);
    int n = ok ? sscanf(pdl_buf_z(&row), "%ld %*s %*s %127s", &pid, host) : 0;
    bool elsewhere = n == 2 && uname(&here) == 0 && strcmp(host, here.nodename) != 0;
    bool gone = ok && (!row.len || (n >= 1 && pid > 0 && !elsewhere && has_ended(pid)));
    pdl_err_fini(&ignored);
    pdl_buf_fini(&row);
    return gone;
}

lock_state pdl_lock_take(pdl_str path, pdl_store *s, int *fd) {
    static const struct timespec pause = {0, PAUSE_MS * 1000000L};
    char *name = pdl_str_dup(path);
    *fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    pdl_free(name);
    if (*fd < 0) return LOCK_UNKNOWN;
    for (int i = 0; flock(*fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK) return LOCK_UNKNOWN;
        if (!s || i == MOST_PAUSES || !pdl_lock_owner_is_gone(s)) return LOCK_OF_ANOTHER;
        nanosleep(&pause, NULL);
    }
    return LOCK_TAKEN;
}

bool pdl_lock_is_held(pdl_str path) {
    char *name = pdl_str_dup(path);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0) close(fd);
    pdl_free(name);
    return held;
}
