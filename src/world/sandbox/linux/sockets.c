/* sockets.c -- unix sockets inside: programs that use unix sockets between their own processes
 * (multiprocessing's forkserver and managers, databases, key agents) work, but no socket outside
 * the sandbox can be reached.
 *
 * The network namespace separates abstract names and TCP. But a socket in a folder that is shown is
 * the same file inside and outside, and may be made there at any time. Neither a read-only mount
 * nor Landlock (before its ABI 9) forbids connecting to it, and a filter of system calls does not
 * see the path. So the filter passes each connect() to the monitor, which copies descriptor and
 * address and connects in place of the caller. The address that was judged is the one that is used,
 * whatever other threads change meanwhile. A path has to lead into a file system that the sandbox
 * made itself: /tmp or /dev/shm.
 *
 * Each call is made in its own thread, since connecting may block. Datagram sockets are refused,
 * because they can send to a path without connecting.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

enum { MAX_CALLS = 64, STACK_BYTES = 64 << 10, N_OWN = 2 };

static struct {
    int listener;
    dev_t own[N_OWN]; /* the file systems that the sandbox made itself */
    atomic_int calls;
} sockets;

typedef struct asked_call {
    uint64_t id;
    pid_t thread;
    int fd;
    uint64_t address, length;
} asked_call;

/* Returns true when the caller still waits for its call. After the end of the caller, another
 * process may get the caller's number. */
static bool is_waiting(const asked_call *c) {
    uint64_t id = c->id;
    return ioctl(sockets.listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Returns the process of a thread, 0 when it has ended. */
static pid_t process_of(pid_t thread) {
    char text[1024];
    pdl_processes_read(thread, "status", text, sizeof text);
    const char *line = strstr(text, "\nTgid:");
    return line ? (pid_t)strtol(line + 6, NULL, 10) : 0;
}

/* Returns a copy of the caller's descriptor; -1 and errno on failure. */
static int take_socket(const asked_call *c) {
    pid_t process = process_of(c->thread);
    int of = process ? (int)syscall(SYS_pidfd_open, process, 0) : -1;
    if (of < 0) return -1;
    int fd = is_waiting(c) ? (int)syscall(SYS_pidfd_getfd, of, c->fd, 0) : -1;
    int e = errno;
    close(of);
    errno = e;
    return fd;
}

static bool take_address(const asked_call *c, struct sockaddr_storage *to) {
    struct iovec here = {to, (size_t)c->length};
    struct iovec there = {(void *)(uintptr_t)c->address, (size_t)c->length};
    ssize_t n = process_vm_readv(c->thread, &here, 1, &there, 1, 0);
    if (n == (ssize_t)c->length) return true;
    errno = EFAULT;
    return false;
}

/* Opens the file of a socket, which must be in a file system that the sandbox made; -1 and errno on
 * failure. */
static int open_own(const asked_call *c, const char *path) {
    char cwd[64];
    struct stat st;
    snprintf(cwd, sizeof cwd, "/proc/%d/cwd", (int)c->thread);
    int from = *path == '/' ? AT_FDCWD : open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (from == -1) return -1;
    int fd = openat(from, path, O_PATH | O_CLOEXEC);
    int e = errno;
    if (from >= 0) close(from);
    errno = e;
    if (fd < 0) return -1;
    bool is_own = false;
    if (fstat(fd, &st) == 0)
        for (int i = 0; i < N_OWN; i++) is_own = is_own || st.st_dev == sockets.own[i];
    if (is_own) return fd;
    close(fd);
    errno = EACCES;
    return -1;
}

static int connect_to_path(const asked_call *c, int fd, const struct sockaddr_storage *address) {
    char path[sizeof(struct sockaddr_un) + 1] = "";
    struct sockaddr_un through = {.sun_family = AF_UNIX};
    memcpy(path, (const char *)address + sizeof(sa_family_t),
           (size_t)c->length - sizeof(sa_family_t));
    int file = open_own(c, path);
    if (file < 0) return -1;
    snprintf(through.sun_path, sizeof through.sun_path, "/proc/self/fd/%d", file);
    int r = is_waiting(c) ? connect(fd, (struct sockaddr *)&through, sizeof through) : -1;
    int e = errno;
    close(file);
    errno = e;
    return r;
}

/* Makes the connection. Returns 0, or an error number. */
static int connect_for(const asked_call *c) {
    struct sockaddr_storage address = {0};
    int domain = 0, type = 0, r = -1;
    socklen_t size = sizeof domain;
    if (c->length > sizeof address) return EINVAL;
    int fd = take_socket(c);
    if (fd < 0) return errno ? errno : EBADF;
    bool is_named = c->length > sizeof(sa_family_t);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && take_address(c, &address)) {
        errno = EPERM;
        if (domain != AF_UNIX)
            r = connect(fd, (struct sockaddr *)&address, (socklen_t)c->length);
        else if (c->length > sizeof(struct sockaddr_un))
            errno = EINVAL;
        else if (type == SOCK_STREAM && is_named && address.ss_family == AF_UNIX &&
                 ((const char *)&address)[sizeof(sa_family_t)])
            r = connect_to_path(c, fd, &address);
        /* an abstract name belongs to the network namespace of the sandbox */
        else if (type == SOCK_STREAM)
            r = connect(fd, (struct sockaddr *)&address, (socklen_t)c->length);
    }
    int e = errno;
    close(fd);
    return r == 0 ? 0 : e;
}

static void answer(uint64_t id, int error) {
    struct seccomp_notif_resp a = {.id = id, .error = -error};
    /* this fails when the caller has ended */
    ioctl(sockets.listener, SECCOMP_IOCTL_NOTIF_SEND, &a);
}

static void *serve_call(void *arg) {
    asked_call *c = arg;
    answer(c->id, connect_for(c));
    pdl_free(c);
    atomic_fetch_sub(&sockets.calls, 1);
    return NULL;
}

/* Makes the call in a new thread. When no thread can be made, the error says that the caller may
 * try again. */
static void begin_call(const struct seccomp_notif *n, pthread_attr_t *how) {
    pthread_t thread;
    asked_call *c = atomic_fetch_add(&sockets.calls, 1) < MAX_CALLS ? PDL_NEW(asked_call) : NULL;
    if (c)
        *c = (asked_call){.id = n->id,
                          .thread = (pid_t)n->pid,
                          .fd = (int)n->data.args[0],
                          .address = n->data.args[1],
                          .length = n->data.args[2] & UINT32_MAX};
    if (c && pthread_create(&thread, how, serve_call, c) == 0) return;
    pdl_free(c);
    atomic_fetch_sub(&sockets.calls, 1);
    answer(n->id, EAGAIN);
}

static void *serve(void *arg) {
    int from = *(int *)arg;
    pthread_attr_t how;
    struct seccomp_notif n;
    int32_t ignored;
    if (!pdl_pair_receive(from, &ignored, &sockets.listener)) sockets.listener = -1;
    close(from);
    pthread_attr_init(&how);
    pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&how, STACK_BYTES);
    while (sockets.listener >= 0) {
        n = (struct seccomp_notif){0}; /* the kernel requires zeros */
        if (ioctl(sockets.listener, SECCOMP_IOCTL_NOTIF_RECV, &n) == 0)
            begin_call(&n, &how);
        else if (errno != EINTR && errno != ENOENT) /* the caller was killed */
            break;
    }
    pthread_attr_destroy(&how);
    return NULL;
}

void pdl_sockets_serve(int from) {
    static const char *const own[N_OWN] = {"/tmp", "/dev/shm"};
    static int end;
    pthread_t thread;
    struct stat st;
    for (int i = 0; i < N_OWN; i++)
        if (stat(own[i], &st) == 0) sockets.own[i] = st.st_dev;
    end = from;
    if (pthread_create(&thread, NULL, serve, &end) == 0)
        pthread_detach(thread);
    else
        close(from); /* from now on no call is answered, so each fails */
}
