/* os_darwin.c -- implements os.h for macOS.
 *
 * The checks of the project compile and link this file, but have not run it on macOS.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/event.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "base/banned.h"

/* The system gives at most 256 bytes at a time. */
bool pdl_os_random(void *out, size_t n, bool may_wait) {
    enum { AT_ONCE = 256 };
    (void)may_wait; /* the generator is ready before the first process starts */
    for (unsigned char *p = out; n; p += AT_ONCE) {
        size_t m = n < AT_ONCE ? n : AT_ONCE;
        if (getentropy(p, m) != 0) return false;
        n -= m;
    }
    return true;
}

void pdl_os_wipe(void *p, size_t n) {
    volatile unsigned char *at = p;
    while (n--) *at++ = 0;
}

/* --- memory and processes --------------------------------------------------------------------- */

void *pdl_os_map(size_t n) {
    char *p = mmap(NULL, 2 * n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t before = (size_t)(-(uintptr_t)p & (n - 1));
    if (before) munmap(p, before);
    munmap(p + before + n, n - before);
    return p + before;
}

void pdl_os_unmap(void *p, size_t n) { munmap(p, n); }
void pdl_os_use_large_pages(void *p, size_t n) { (void)p, (void)n; }

uint64_t pdl_os_memory_left(void) {
    vm_statistics64_data_t v;
    mach_msg_type_number_t n = HOST_VM_INFO64_COUNT;
    if (host_statistics64(mach_host_self(), HOST_VM_INFO64, (host_info64_t)&v, &n) != KERN_SUCCESS)
        return UINT64_MAX;
    uint64_t pages = (uint64_t)v.free_count + v.inactive_count + v.purgeable_count;
    return pages * (uint64_t)getpagesize();
}

void pdl_os_keep_large_blocks(void) {} /* the allocator of macOS keeps large blocks in any case */

bool pdl_os_limit_memory(pid_t child, uint64_t bytes) {
    (void)child;
    (void)bytes;
    return false;
}

bool pdl_os_has_ended(pid_t process) {
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, process};
    struct kinfo_proc info;
    size_t n = sizeof info;
    if (kill(process, 0) != 0) return errno == ESRCH;
    if (sysctl(name, 4, &info, &n, NULL, 0) != 0 || n != sizeof info) return false;
    return info.kp_proc.p_stat == SZOMB;
}

void pdl_os_boot_name(char *out, size_t size) {
    size_t n = size;
    if (sysctlbyname("kern.bootsessionuuid", out, &n, NULL, 0) != 0) out[0] = 0;
}

size_t pdl_os_self(char *out, size_t size) {
    char path[PATH_MAX], real[PATH_MAX];
    uint32_t n = sizeof path;
    if (_NSGetExecutablePath(path, &n) != 0 || !realpath(path, real) || strlen(real) >= size)
        return 0;
    memcpy(out, real, strlen(real));
    return strlen(real);
}

/* --- files ------------------------------------------------------------------------------------ */

static int64_t nanoseconds(struct timespec t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec; }

int64_t pdl_os_modified_ns(const struct stat *st) { return nanoseconds(st->st_mtimespec); }
int64_t pdl_os_changed_ns(const struct stat *st) { return nanoseconds(st->st_ctimespec); }

int64_t pdl_os_file_clock_ns(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return nanoseconds(now);
}

bool pdl_os_size_and_name(int fd, int64_t *size, bool *has_name) {
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return false;
    *size = (int64_t)st.st_size;
    *has_name = st.st_nlink > 0;
    return true;
}

/* fsync leaves the bytes in the cache of the disk; not all file systems know the stronger call. */
bool pdl_os_sync(int fd) { return fcntl(fd, F_FULLFSYNC) == 0 || fsync(fd) == 0; }

int pdl_os_open_nameless(const char *folder, mode_t mode) {
    (void)folder;
    (void)mode;
    return -1;
}

bool pdl_os_name(int fd, const char *path) {
    (void)fd;
    (void)path;
    errno = ENOTSUP;
    return false;
}

const int pdl_os_only_found = O_EVTONLY;

int pdl_os_open_exactly(const char *path, int flags, unsigned mode) {
    return open(path, flags | O_NOFOLLOW_ANY, (mode_t)mode);
}

static bool climbs(const char *path) {
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/')) return true;
    return false;
}

/* Refuses every link on the way, even a link that stays below dir. Linux is less strict. */
int pdl_os_open_beneath(int dir, const char *path, int flags, unsigned mode) {
    if (path[0] == '/' || climbs(path)) {
        errno = EXDEV;
        return -1;
    }
    int fd = openat(dir, path, flags | O_NOFOLLOW_ANY, (mode_t)mode);
    if (fd < 0 && errno == ELOOP) errno = EXDEV;
    return fd;
}

const char *pdl_os_network_files(const char *path) {
    static const struct {
        const char *type, *name;
    } far[] = {{"nfs", "NFS"}, {"smbfs", "SMB"}, {"afpfs", "AFP"}, {"webdav", "WebDAV"}};
    struct statfs st;
    if (statfs(path, &st) != 0) return NULL;
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        if (strcmp(st.f_fstypename, far[i].type) == 0) return far[i].name;
    return NULL;
}

pid_t pdl_os_lock_holder(uint64_t inode) {
    (void)inode; /* the system does not list locks */
    return 0;
}

/* --- streams, pipes, sockets ------------------------------------------------------------------ */

size_t pdl_os_pending(FILE *f) { return f->_bf._base ? (size_t)(f->_p - f->_bf._base) : 0; }
size_t pdl_os_buffer_size(FILE *f) { return f->_bf._size > 0 ? (size_t)f->_bf._size : 0; }
void pdl_os_purge(FILE *f) { fpurge(f); }

/* Descriptors get their properties after they were opened, so a process that another thread starts
 * in between inherits them. */
static int private(int fd, bool nonblocking) {
    if (fd < 0) return fd;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (nonblocking) (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
}

static int without_sigpipe(int socket) {
    int one = 1;
    if (socket >= 0) (void)setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &one, sizeof one);
    return socket;
}

bool pdl_os_pipe(int ends[2], bool nonblocking) {
    if (pipe(ends) != 0) return false;
    private(ends[0], nonblocking);
    private(ends[1], nonblocking);
    return true;
}

int pdl_os_pipe_size(int fd) {
    /* a pipe begins with this size, and grows when the kernel has memory */
    enum { MIN_PIPE = 16384 };
    (void)fd;
    return MIN_PIPE;
}

int pdl_os_socket(int family, int type, int protocol, bool nonblocking) {
    return without_sigpipe(private(socket(family, type, protocol), nonblocking));
}

int pdl_os_accept(int listener) {
    return without_sigpipe(private(accept(listener, NULL, NULL), true));
}

bool pdl_os_is_left(int socket) {
    struct pollfd p = {.fd = socket, .events = POLLHUP};
    return poll(&p, 1, 0) == 1;
}

/* --- many sockets ----------------------------------------------------------------------------- */

int pdl_os_poller(void) { return private(kqueue(), false); }

bool pdl_os_poller_set(int poller, int fd, unsigned before, unsigned events, void *what) {
    static const struct {
        unsigned event;
        int16_t filter;
    } kinds[] = {{PDL_OS_READ, EVFILT_READ}, {PDL_OS_WRITE, EVFILT_WRITE}};
    struct kevent change[2];
    int n = 0;
    for (int i = 0; i < 2; i++) {
        bool was = before & kinds[i].event, is = events & kinds[i].event;
        if (was || is)
            EV_SET(&change[n++], (uintptr_t)fd, kinds[i].filter, is ? EV_ADD : EV_DELETE, 0, 0,
                   what);
    }
    return kevent(poller, change, n, NULL, 0, NULL) == 0;
}

int pdl_os_poller_take(int poller, pdl_os_ready *out, int most) {
    enum { AT_ONCE = 16 };
    struct kevent got[AT_ONCE];
    static const struct timespec now = {0, 0};
    int n = kevent(poller, NULL, 0, got, most < AT_ONCE ? most : AT_ONCE, &now);
    for (int i = 0; i < n; i++) {
        out[i].what = got[i].udata;
        out[i].events = (got[i].filter == EVFILT_READ ? PDL_OS_READ : PDL_OS_WRITE) |
                        (got[i].flags & EV_ERROR ? PDL_OS_FAILED : 0u);
    }
    return n > 0 ? n : 0;
}
