/* namespaces.c -- namespaces and mounts with direct system calls, which start a command in less
 * than half the time of bubblewrap; see bwrap.c for machines that allow only bubblewrap.
 *
 * The new root is made in a tmpfs over /tmp, and the old root is moved below it until all mounts
 * are made. So folders in the /tmp of the outside can still be mounted inside.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

static bool put_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return ok;
}

bool pdl_native_namespaces(const char **what, unsigned uid, unsigned gid) {
    char map[64];
    *what = "namespaces";
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                CLONE_NEWUTS | CLONE_NEWCGROUP) != 0)
        return false;
    *what = "the map of users";
    snprintf(map, sizeof map, "%u %u 1", uid, uid);
    if (!put_file("/proc/self/setgroups", "deny") && errno != ENOENT) return false;
    if (!put_file("/proc/self/uid_map", map)) return false;
    snprintf(map, sizeof map, "%u %u 1", gid, gid);
    return put_file("/proc/self/gid_map", map);
}

/* --- the new root ----------------------------------------------------------------------------- */

#define OLD   "/old"
#define NEW   "/new"
#define EMPTY "/empty"

typedef struct attr_of_mount {
    uint64_t set, clear, propagation, userns;
} attr_of_mount;

static bool make_read_only(const char *path) {
    attr_of_mount a = {.set = 1 /* RDONLY */ | 2 /* NOSUID */ | 4 /* NODEV */};
    if (syscall(442 /* mount_setattr */, AT_FDCWD, path, AT_RECURSIVE, &a, sizeof a) == 0)
        return true;
    return mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) ==
           0;
}

static bool make_safe(const char *path) {
    attr_of_mount a = {.set = 2 /* NOSUID */ | 4 /* NODEV */};
    if (syscall(442, AT_FDCWD, path, AT_RECURSIVE, &a, sizeof a) == 0) return true;
    return mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV, NULL) == 0;
}

/* Makes the parent folders of the path below the new root. */
static bool make_way(const char *path) {
    char *copy = pdl_str_dup(pdl_str_of(path));
    bool ok = true;
    for (char *slash = copy + sizeof NEW; ok && (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        ok = mkdir(copy, 0755) == 0 || errno == EEXIST;
        *slash = '/';
    }
    pdl_free(copy);
    return ok;
}

/* Makes a folder or an empty file to mount on. */
static bool make_point(const char *to, bool folder) {
    if (!make_way(to)) return false;
    if (folder) return mkdir(to, 0755) == 0 || errno == EEXIST;
    int fd = open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (fd >= 0) close(fd);
    return fd >= 0 || errno == EROFS || errno == EISDIR || access(to, F_OK) == 0;
}

static bool bind_path(const char *from, const char *at, bool writable) {
    char src[PATH_MAX], to[PATH_MAX], link[PATH_MAX];
    struct stat st;
    snprintf(src, sizeof src, OLD "%s", from);
    snprintf(to, sizeof to, NEW "%s", at);
    if (lstat(src, &st) != 0) return true;
    if (S_ISLNK(st.st_mode)) { /* a link such as /bin -> usr/bin is made again */
        ssize_t n = readlink(src, link, sizeof link - 1);
        if (n < 0 || !make_way(to)) return false;
        link[n] = 0;
        return symlink(link, to) == 0 || errno == EEXIST;
    }
    return make_point(to, S_ISDIR(st.st_mode)) &&
           mount(src, to, NULL, MS_BIND | MS_REC, NULL) == 0 &&
           (writable ? make_safe(to) : make_read_only(to));
}

static bool make_devices(const sandbox_spec *s) {
    char how[64];
    static const char *const names[] = {"null", "zero", "full", "random", "urandom"};
    if (mkdir(NEW "/dev", 0755) != 0 ||
        mount("tmpfs", NEW "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k") != 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char src[64], to[64];
        snprintf(src, sizeof src, OLD "/dev/%s", names[i]);
        snprintf(to, sizeof to, NEW "/dev/%s", names[i]);
        if (!make_point(to, false) || mount(src, to, NULL, MS_BIND, NULL) != 0) return false;
    }
    snprintf(how, sizeof how, "mode=1777,size=%lld", (long long)s->tmp);
    return mkdir(NEW "/dev/shm", 0777) == 0 &&
           mount("tmpfs", NEW "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, how) == 0 &&
           symlink("/proc/self/fd", NEW "/dev/fd") == 0 &&
           symlink("/proc/self/fd/0", NEW "/dev/stdin") == 0 &&
           symlink("/proc/self/fd/1", NEW "/dev/stdout") == 0 &&
           symlink("/proc/self/fd/2", NEW "/dev/stderr") == 0;
}

static bool make_tmp(const sandbox_spec *s) {
    char how[64];
    snprintf(how, sizeof how, "mode=1777,size=%lld", (long long)s->tmp);
    return mkdir(NEW "/tmp", 01777) == 0 &&
           mount("tmpfs", NEW "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, how) == 0 &&
           mkdir(NEW "/tmp/home", 0700) == 0;
}

/* Mounts an empty file or folder over the path. */
static bool mask(const char *path) {
    char to[PATH_MAX];
    bool is_folder;
    if (!pdl_can_mount_over(NEW, path, &is_folder)) return true;
    snprintf(to, sizeof to, NEW "%s", path);
    if (is_folder)
        return mount("tmpfs", to, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "mode=755,size=4k") ==
               0;
    const char *with = pdl_walk_shown_empty(path) ? EMPTY : OLD "/dev/null";
    return mount(with, to, NULL, MS_BIND, NULL) == 0 && make_read_only(to);
}

/* Mounts a link on itself, so that the name cannot be given to another file. The name still leads
 * to the same file or folder. */
static bool keep_link(const char *link) {
    enum { CLONE_TREE = 1, OF_DESCRIPTOR = 4 };
    attr_of_mount a = {.set = 1 /* RDONLY */ | 2 /* NOSUID */ | 4 /* NODEV */};
    int tree = (int)syscall(428 /* open_tree */, AT_FDCWD, link,
                            CLONE_TREE | AT_SYMLINK_NOFOLLOW | O_CLOEXEC);
    if (tree < 0) return false;
    bool ok = syscall(442 /* mount_setattr */, tree, "", AT_EMPTY_PATH, &a, sizeof a) == 0 &&
              syscall(429 /* move_mount */, tree, "", AT_FDCWD, link, OF_DESCRIPTOR) == 0;
    close(tree);
    return ok;
}

static bool keep(const char *path) {
    char to[PATH_MAX];
    bool is_folder;
    struct stat st;
    snprintf(to, sizeof to, NEW "%s", path);
    if (lstat(to, &st) == 0 && S_ISLNK(st.st_mode)) return keep_link(to);
    if (!pdl_can_mount_over(NEW, path, &is_folder)) return true;
    return mount(to, to, NULL, MS_BIND | MS_REC, NULL) == 0 && make_read_only(to);
}

/* Mounts a folder on itself, because a mount point cannot be renamed. Ignores other paths. */
static bool hold_name(const char *path) {
    char to[PATH_MAX];
    struct stat st;
    snprintf(to, sizeof to, NEW "%s", path);
    return lstat(to, &st) != 0 || !S_ISDIR(st.st_mode) ||
           mount(to, to, NULL, MS_BIND | MS_REC, NULL) == 0;
}

static bool hold_names(const sandbox_spec *s) {
    path_list above = {0};
    bool ok = true;
    pdl_walk_above(s, &above);
    for (size_t i = 0; ok && i < above.n; i++) ok = hold_name(above.p[i]);
    pdl_paths_fini(&above);
    return ok;
}

static bool bind_all(const sandbox_spec *s) {
    mount_list all = {0};
    bool ok = true;
    pdl_mounts_of(s, &all);
    for (size_t i = 0; ok && i < all.n; i++)
        ok = bind_path(all.p[i], all.p[i], pdl_paths_have(&s->rw, all.p[i]));
    pdl_vec_fini(&all);
    return ok;
}

static void raise_loopback(void) {
    struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    ioctl(fd, SIOCSIFFLAGS, &r);
    close(fd);
}

bool pdl_native_root(const sandbox_spec *s, const char **what) {
    *what = "the new root";
    raise_loopback();
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") != 0 ||
        chdir("/tmp") != 0 || mkdir("/tmp" NEW, 0755) != 0 || mkdir("/tmp" OLD, 0755) != 0 ||
        syscall(SYS_pivot_root, "/tmp", "/tmp" OLD) != 0 || chdir("/") != 0 ||
        mount(NEW, NEW, NULL, MS_BIND, NULL) != 0)
        return false;
    *what = "/dev";
    if (!make_devices(s)) return false;
    *what = "/tmp";
    if (!make_tmp(s)) return false;
    *what = "/proc";
    if (mkdir(NEW "/proc", 0755) != 0 ||
        mount("proc", NEW "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
        return false;
    *what = "folders";
    if (!bind_all(s)) return false;
    *what = "names of folders";
    if (!hold_names(s)) return false;
    *what = "masks";
    if (!make_point(EMPTY, false)) return false;
    for (size_t i = 0; i < s->masked.n; i++)
        if (!mask(s->masked.p[i])) return false;
    for (size_t i = 0; i < s->kept.n; i++)
        if (!keep(s->kept.p[i])) return false;
    *what = "the new root";
    return mount(NULL, NEW, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) ==
               0 &&
           chdir(NEW) == 0 && umount2(OLD, MNT_DETACH) == 0 &&
           syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 &&
           chdir("/") == 0;
}
