/* os_linux.c -- implements os.h for Linux, with glibc or musl.
 *
 * An old kernel, or a system without /proc, cannot do everything that os.h describes. The function
 * then reports this by its result, and its caller uses another way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/banned.h"

bool pdl_os_random(void *out, size_t n, bool may_wait) {
    return getrandom(out, n, may_wait ? 0 : GRND_NONBLOCK) == (ssize_t)n;
}

void pdl_os_wipe(void *p, size_t n) { explicit_bzero(p, n); }

/* --- memory ----------------------------------------------------------------------------------- */

void *pdl_os_map(size_t n) {
    char *p = mmap(NULL, 2 * n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t before = (size_t)(-(uintptr_t)p & (n - 1));
    if (before) munmap(p, before);
    munmap(p + before + n, n - before);
    return p + before;
}

void pdl_os_unmap(void *p, size_t n) { munmap(p, n); }
void pdl_os_use_large_pages(void *p, size_t n) { (void)madvise(p, n, MADV_HUGEPAGE); }

enum { FILE_SIZE = 8192 };

/* Reads the beginning of a file. Allocates nothing. */
static bool read_file(const char *path, char text[FILE_SIZE]) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, FILE_SIZE - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* Reads the number that follows a name at the beginning of a line. */
static bool number_after(const char *text, const char *name, uint64_t *out) {
    size_t n = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) != 0) continue;
        char *end;
        *out = strtoull(line + n, &end, 10);
        return end != line + n;
    }
    return false;
}

static uint64_t left_in_machine(void) {
    char text[FILE_SIZE];
    uint64_t available, swap = 0;
    if (!read_file("/proc/meminfo", text) || !number_after(text, "MemAvailable:", &available))
        return UINT64_MAX;
    (void)number_after(text, "SwapFree:", &swap);
    return (available + swap) * 1024;
}

/* Returns how much memory is left in the control group that this process sees as the root of the
 * hierarchy. In a container this is the container's group. Pages of files and the kernel's records
 * of files count as free, because the kernel can reclaim them. */
static uint64_t left_in_group(void) {
    char text[FILE_SIZE];
    static const char *const returnable[] = {"inactive_file ", "active_file ", "slab_reclaimable "};
    uint64_t most, used, n;
    if (!read_file("/sys/fs/cgroup/memory.max", text) || !number_after(text, "", &most) ||
        !read_file("/sys/fs/cgroup/memory.current", text) || !number_after(text, "", &used))
        return UINT64_MAX; /* "max" is not a number */
    text[0] = 0;
    (void)read_file("/sys/fs/cgroup/memory.stat", text);
    for (size_t i = 0; i < sizeof returnable / sizeof returnable[0]; i++)
        if (number_after(text, returnable[i], &n)) used -= n < used ? n : used;
    return used < most ? most - used : 0;
}

uint64_t pdl_os_memory_left(void) {
    uint64_t machine = left_in_machine(), group = left_in_group();
    return group < machine ? group : machine;
}

/* Does nothing with musl, whose allocator has no settings for large blocks. */
void pdl_os_keep_large_blocks(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

bool pdl_os_limit_memory(pid_t child, uint64_t bytes) {
    struct rlimit limit = {bytes, bytes};
    return prlimit(child, RLIMIT_AS, &limit, NULL) == 0;
}

/* --- processes -------------------------------------------------------------------------------- */

bool pdl_os_has_ended(pid_t process) {
    char path[40], text[FILE_SIZE];
    if (kill(process, 0) != 0) return errno == ESRCH;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
    if (!read_file(path, text)) return false;
    /* the field comes after the program's name, which may contain any characters */
    const char *at = strrchr(text, ')');
    return at && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X');
}

void pdl_os_boot_name(char *out, size_t size) {
    char text[FILE_SIZE] = "";
    (void)read_file("/proc/sys/kernel/random/boot_id", text);
    text[strcspn(text, "\n")] = 0;
    snprintf(out, size, "%s", text);
}

/* Without /proc, the result is the path with which the program was started. This is wrong when the
 * path is relative and the process has changed its folder since. */
size_t pdl_os_self(char *out, size_t size) {
    ssize_t n = readlink("/proc/self/exe", out, size);
    if (n > 0) return (size_t)n < size ? (size_t)n : 0; /* otherwise the path may be cut */
    const char *started = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    char real[PATH_MAX];
    if (!started || !realpath(started, real) || strlen(real) >= size) return 0;
    memcpy(out, real, strlen(real));
    return strlen(real);
}

/* --- files ------------------------------------------------------------------------------------ */

static int64_t nanoseconds(struct timespec t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec; }

int64_t pdl_os_modified_ns(const struct stat *st) { return nanoseconds(st->st_mtim); }
int64_t pdl_os_changed_ns(const struct stat *st) { return nanoseconds(st->st_ctim); }

int64_t pdl_os_file_clock_ns(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return nanoseconds(now);
}

/* Does without statx, at a cost in speed, where the C library has none: musl before 1.2.5. */
bool pdl_os_size_and_name(int fd, int64_t *size, bool *has_name) {
#ifdef STATX_NLINK
    const unsigned wanted = STATX_TYPE | STATX_NLINK | STATX_SIZE;
    struct statx st;
    if (statx(fd, "", AT_EMPTY_PATH, wanted, &st) != 0 || !S_ISREG(st.stx_mode)) return false;
    *size = (int64_t)st.stx_size;
    *has_name = st.stx_nlink > 0;
#else
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return false;
    *size = (int64_t)st.st_size;
    *has_name = st.st_nlink > 0;
#endif
    return true;
}

bool pdl_os_sync(int fd) { return fdatasync(fd) == 0; }

/* A file without a name gets one through the list of descriptors in /proc. */
int pdl_os_open_nameless(const char *folder, mode_t mode) {
    if (access("/proc/self/fd", X_OK) != 0) return -1;
    return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
}

bool pdl_os_name(int fd, const char *path) {
    char from[64];
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

const int pdl_os_only_found = O_PATH;

static int open_by(int dir, const char *path, int flags, unsigned mode, uint64_t resolve) {
    struct open_how how = {
        .flags = (uint64_t)(unsigned)flags, .mode = flags & O_CREAT ? mode : 0, .resolve = resolve};
    return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

int pdl_os_open_exactly(const char *path, int flags, unsigned mode) {
    return open_by(AT_FDCWD, path, flags, mode, RESOLVE_NO_SYMLINKS);
}

/* While a rename or a mount is in progress, the kernel may not know whether a path stays below the
 * folder. */
int pdl_os_open_beneath(int dir, const char *path, int flags, unsigned mode) {
    enum { MAX_TRIES = 10000 };
    int fd = -1;
    for (int i = 0; i < MAX_TRIES && fd < 0; i++) {
        fd = open_by(dir, path, flags, mode, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
        if (fd < 0 && errno != EAGAIN) break;
    }
    return fd;
}

const char *pdl_os_network_files(const char *path) {
    static const struct {
        uint32_t magic;
        const char *name;
    } far[] = {{0x6969, "NFS"},     {0xFF534D42, "CIFS"},  {0xFE534D42, "SMB2"},
               {0x517B, "SMB"},     {0x01021997, "9P"},    {0x00C36400, "Ceph"},
               {0x5346414F, "AFS"}, {0x0BD00BD0, "Lustre"}};
    struct statfs st;
    if (statfs(path, &st) != 0) return NULL;
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        if ((uint32_t)st.f_type == far[i].magic) return far[i].name;
    return NULL;
}

pid_t pdl_os_lock_holder(uint64_t inode) {
    char line[256];
    FILE *f = fopen("/proc/locks", "re");
    long found = 0;
    while (f && !found && fgets(line, sizeof line, f)) {
        long pid = 0;
        unsigned long long i = 0;
        bool is_flock = sscanf(line, "%*s FLOCK %*s %*s %ld %*x:%*x:%llu", &pid, &i) == 2;
        if (is_flock && pid > 0 && i == inode) found = pid;
    }
    if (f) fclose(f);
    return (pid_t)found;
}

/* --- streams, pipes, sockets ------------------------------------------------------------------ */

size_t pdl_os_pending(FILE *f) { return __fpending(f); }
size_t pdl_os_buffer_size(FILE *f) { return __fbufsize(f); }
void pdl_os_purge(FILE *f) { __fpurge(f); }

bool pdl_os_pipe(int ends[2], bool nonblocking) {
    return pipe2(ends, O_CLOEXEC | (nonblocking ? O_NONBLOCK : 0)) == 0;
}

int pdl_os_pipe_size(int fd) { return fcntl(fd, F_GETPIPE_SZ); }

int pdl_os_socket(int family, int type, int protocol, bool nonblocking) {
    return socket(family, type | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0), protocol);
}

int pdl_os_accept(int listener) {
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

bool pdl_os_is_left(int socket) {
    struct pollfd p = {.fd = socket, .events = POLLRDHUP};
    return poll(&p, 1, 0) == 1;
}

/* --- many sockets ----------------------------------------------------------------------------- */

int pdl_os_poller(void) { return epoll_create1(EPOLL_CLOEXEC); }

bool pdl_os_poller_set(int poller, int fd, unsigned before, unsigned events, void *what) {
    uint32_t in = events & PDL_OS_READ ? EPOLLIN : 0u, out = events & PDL_OS_WRITE ? EPOLLOUT : 0u;
    struct epoll_event e = {.events = in | out, .data = {.ptr = what}};
    return epoll_ctl(poller,
                     !events  ? EPOLL_CTL_DEL
                     : before ? EPOLL_CTL_MOD
                              : EPOLL_CTL_ADD,
                     fd, &e) == 0;
}

int pdl_os_poller_take(int poller, pdl_os_ready *out, int most) {
    enum { AT_ONCE = 16 };
    struct epoll_event got[AT_ONCE];
    int n = epoll_wait(poller, got, most < AT_ONCE ? most : AT_ONCE, 0);
    for (int i = 0; i < n; i++) {
        uint32_t e = got[i].events;
        out[i].what = got[i].data.ptr;
        out[i].events = (e & EPOLLIN ? PDL_OS_READ : 0u) | (e & EPOLLOUT ? PDL_OS_WRITE : 0u) |
                        (e & (EPOLLERR | EPOLLHUP) ? PDL_OS_FAILED : 0u);
    }
    return n > 0 ? n : 0;
}
