/* run_lock.c -- takes and examines the lock of a journal, which its owner holds; see run_lock.h.
 * The kernel releases a lock when a process ends in any way. There is one gap. When a process is
 * killed while it starts a child, the child keeps the lock until its exec, which closes the
 * descriptor. So when the owner of a journal has ended but the lock is still held, the caller waits
 * for the lock. Without the wait, a resume right after a kill was sometimes refused, with the name
 * of a process that had ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/nanos.h"
#include "base/os.h"
#include "sqlite/db_files.h"

#include "base/banned.h"

enum { PAUSE_MS = 5, MAX_PAUSES = 1000 };

/* --- the owner -------------------------------------------------------------------------------- */

static void put_boot(pdl_buf *out) {
    char text[64];
    pdl_os_boot_name(text, sizeof text);
    pdl_buf_put(out, pdl_str_of(text));
}

void pdl_lock_put_host(pdl_buf *out) {
    struct utsname u;
    if (uname(&u) == 0) pdl_buf_put(out, pdl_str_of(u.nodename));
}

bool pdl_lock_write_owner(pdl_store *s, pdl_err *err) {
    struct timespec now;
    struct stat st;
    pdl_buf b = PDL_BUF;
    clock_gettime(CLOCK_REALTIME, &now);
    pdl_buf_putf(&b, "%ld %lld.%03ld ", (long)getpid(), (long long)now.tv_sec,
                 now.tv_nsec / 1000000);
    put_boot(&b);
    pdl_buf_putc(&b, ' ');
    pdl_lock_put_host(&b);
    bool ok = pdl_store_put(s, "owner", pdl_buf_str(&b), err);
    pdl_buf_clear(&b);
    if (stat(pdl_store_path(s).p, &st) == 0)
        pdl_buf_putf(&b, "%llu", (unsigned long long)st.st_ino);
    ok = ok && pdl_store_put(s, "inode", pdl_buf_str(&b), err);
    pdl_buf_fini(&b);
    return ok;
}

/* Returns the process that has the lock of this file; 0 when it is unknown. */
static long holder(pdl_str path) {
    struct stat st;
    char *name = pdl_str_dup(path);
    long pid = stat(name, &st) == 0 ? (long)pdl_os_lock_holder(st.st_ino) : 0;
    pdl_free(name);
    return pid;
}

bool pdl_lock_is_copy_of_live(pdl_str path, pdl_store *s) {
    struct stat st;
    pdl_buf row = PDL_BUF, owner = PDL_BUF;
    pdl_err ignored = {0};
    unsigned long long inode = 0;
    long pid = 0;
    char *name = pdl_str_dup(path);
    bool is_copy = stat(name, &st) == 0 && pdl_store_get(s, "inode", &row, &ignored) &&
                   pdl_store_get(s, "owner", &owner, &ignored) &&
                   sscanf(pdl_buf_z(&row), "%llu", &inode) == 1 &&
                   sscanf(pdl_buf_z(&owner), "%ld", &pid) == 1 &&
                   inode != (unsigned long long)st.st_ino && (long)pdl_os_lock_holder(inode) == pid;
    pdl_free(name);
    pdl_buf_fini(&row);
    pdl_buf_fini(&owner);
    pdl_err_fini(&ignored);
    return is_copy;
}

void pdl_lock_put_owner(pdl_str path, pdl_store *s, pdl_buf *out) {
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    long now = holder(path), pid = 0;
    double start = 0;
    char boot[64] = "", host[128] = "", when[40] = "";
    bool known = s && pdl_store_get(s, "owner", &b, &ignored) &&
                 sscanf(pdl_buf_z(&b), "%ld %lf %63s %127s", &pid, &start, boot, host) == 4 &&
                 (!now || now == pid || now == (long)getpid());
    time_t t = pdl_time_of(start);
    struct tm tm;
    if (known && gmtime_r(&t, &tm)) (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &tm);
    if (known)
        pdl_buf_putf(out, "process %ld of %s, since %s", pid, host, when);
    else if (now)
        pdl_buf_putf(out, "process %ld", now);
    else
        PDL_PUT(out, "another process");
    pdl_err_fini(&ignored);
    pdl_buf_fini(&b);
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
    bool gone =
        ok && (!row.len || (n >= 1 && pid > 0 && !elsewhere && pdl_os_has_ended((pid_t)pid)));
    pdl_err_fini(&ignored);
    pdl_buf_fini(&row);
    return gone;
}

/* --- the lock --------------------------------------------------------------------------------- */

/* Returns true when the opened file still has this name. The owner may have removed the file
 * meanwhile. */
static bool is_still(const char *name, int fd) {
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(name, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

bool pdl_lock_check_there(pdl_str path, int fd, const char *user, pdl_err *err) {
    char *name = pdl_str_dup(path);
    struct stat st;
    bool there = fd < 0 || is_still(name, fd), replaced = !there && stat(name, &st) == 0;
    if (!there) {
        pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "%s, the journal, was %s while the %s worked",
                    name, replaced ? "replaced by another file" : "removed", user);
        pdl_err_hint(err, "its answers are lost: this %s cannot be resumed", user);
    }
    pdl_free(name);
    return there;
}

static void remove_all(const char *name) {
    pdl_err ignored = {0};
    size_t n;
    if (!pdl_db_remove(pdl_str_of(name), &n, &ignored)) pdl_err_fini(&ignored);
}

/* Opens the file of another process for reading. Returns NULL when the file is empty or cannot be
 * opened. */
static pdl_store *peek(pdl_str path) {
    pdl_store *s = NULL;
    pdl_err ignored = {0};
    if (!pdl_store_is_unbegun(path) && !pdl_store_open(path, false, false, &s, &ignored))
        pdl_err_fini(&ignored);
    return s;
}

bool pdl_lock_will_be_free(pdl_str path) {
    long pid = holder(path);
    if (pid) return pdl_os_has_ended((pid_t)pid);
    pdl_store *s = peek(path);
    bool gone = s && pdl_lock_owner_is_gone(s);
    pdl_store_close(s, false);
    return gone;
}

bool pdl_lock_refuse(pdl_str path, pdl_err *err) {
    pdl_buf who = PDL_BUF, name = PDL_BUF;
    pdl_store *s = peek(path);
    pdl_buf_put(&name, path);
    pdl_lock_put_owner(path, s, &who);
    pdl_store_close(s, false);
    pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "%s is in use by %s", pdl_buf_z(&name),
                pdl_buf_z(&who));
    pdl_buf_fini(&who);
    pdl_buf_fini(&name);
    return false;
}

static bool lock_soon(pdl_str path, int fd) {
    static const struct timespec pause = {0, PAUSE_MS * 1000000L};
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        /* other errors mean that the file system has no locks */
        if (errno != EWOULDBLOCK) return true;
        if (i == MAX_PAUSES || !pdl_lock_will_be_free(path)) return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Examines a file whose lock this process has taken. FAILED: this function removed the
 * file, and the caller tries again. */
static claim_state look(pdl_str path, const char *name, bool replace, int fd) {
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return CLAIM_THERE;
    if (st.st_size == 0 && !pdl_store_has_log(path)) return CLAIM_NEW;
    if (!replace && !pdl_store_is_unbegun(path)) return CLAIM_THERE;
    remove_all(name);
    return CLAIM_FAILED;
}

claim_state pdl_lock_claim(pdl_str path, bool replace, int *fd, pdl_err *err) {
    enum { MAX_TRIES = 100 };
    char *name = pdl_str_dup(path);
    claim_state result = CLAIM_FAILED;
    for (int i = 0; i < MAX_TRIES && result == CLAIM_FAILED; i++) {
        *fd = open(name, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (*fd < 0) {
            result = CLAIM_THERE;
        } else if (!lock_soon(path, *fd)) {
            (void)pdl_lock_refuse(path, err);
            close(*fd);
            break;
        } else if (is_still(name, *fd)) {
            result = look(path, name, replace, *fd);
        }
        if (result == CLAIM_FAILED) close(*fd);
    }
    if (result == CLAIM_FAILED && !err->kind)
        pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                    "%s cannot be taken: other processes make and remove it", name);
    if (result == CLAIM_FAILED) *fd = -1;
    pdl_free(name);
    return result;
}

lock_state pdl_lock_take(pdl_str path, pdl_store *s, int *fd) {
    static const struct timespec pause = {0, PAUSE_MS * 1000000L};
    char *name = pdl_str_dup(path);
    *fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    lock_state result = *fd >= 0 ? LOCK_TAKEN : errno == ENOENT ? LOCK_GONE : LOCK_UNKNOWN;
    for (int i = 0; result == LOCK_TAKEN && flock(*fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK)
            result = LOCK_UNKNOWN;
        else if (!s || i == MAX_PAUSES || !pdl_lock_owner_is_gone(s))
            result = LOCK_OF_ANOTHER;
        else
            nanosleep(&pause, NULL);
    }
    if (result == LOCK_TAKEN && !is_still(name, *fd)) result = LOCK_GONE;
    pdl_free(name);
    return result;
}

bool pdl_lock_is_held(pdl_str path) {
    char *name = pdl_str_dup(path);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0) close(fd);
    pdl_free(name);
    return held;
}
