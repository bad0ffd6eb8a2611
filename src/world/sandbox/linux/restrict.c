/* restrict.c -- the last steps before the command: limits, capabilities, Landlock, seccomp. Inside
 * namespaces these steps are a second protection after the mounts; without namespaces they are the
 * only one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

/* --- limits ----------------------------------------------------------------------------------- */

/* Sets a limit. The type of `what` depends on the C library (int or an enumeration), and prlimit
 * takes either. */
static bool limit(int what, int64_t n) {
    struct rlimit now;
    rlim_t want = (rlim_t)n;
    if (syscall(SYS_prlimit64, 0, what, NULL, &now) != 0) return false;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < want) want = now.rlim_max;
    return syscall(SYS_prlimit64, 0, what, &(struct rlimit){want, want}, NULL) == 0;
}

static bool set_limits(const sandbox_spec *s) {
    /* The maximum number of processes of the user. The system counts all processes of a user
     * together, so this only bounds a fork bomb; the monitor counts the processes of the
     * sandbox. */
    enum { BOMB = 4096 };
    return limit(RLIMIT_CORE, 0) && limit(RLIMIT_AS, s->memory) && limit(RLIMIT_FSIZE, s->file) &&
           limit(RLIMIT_NPROC, s->processes + BOMB);
}

/* --- capabilities ----------------------------------------------------------------------------- */

static void drop_capabilities(void) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}, {0}};
    for (int cap = 0; cap < 64; cap++) prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    syscall(SYS_capset, &head, none);
}

/* --- Landlock --------------------------------------------------------------------------------- */

enum {
    LL_READ =
        LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE,
    LL_ABI1 = (1 << 13) - 1,
    LL_REFER = 1 << 13,    /* ABI 2 */
    LL_TRUNCATE = 1 << 14, /* ABI 3 */
    LL_IOCTL_DEV = 1 << 15 /* ABI 5 */
};

/* The rules as the kernel reads them; the header of the system may be older than the kernel. */
typedef struct ruleset_attr {
    uint64_t fs, net, scoped;
} ruleset_attr;

static uint64_t handled_by(int abi) {
    uint64_t all = LL_ABI1;
    if (abi >= 2) all |= LL_REFER;
    if (abi >= LANDLOCK_TRUNCATES) all |= LL_TRUNCATE;
    if (abi >= 5) all |= LL_IOCTL_DEV;
    return all;
}

static void grant(int rules, const char *path, uint64_t access) {
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return; /* a missing file is not granted */
    enum {
        FILE_ONLY = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                    LANDLOCK_ACCESS_FS_EXECUTE | LL_TRUNCATE | LL_IOCTL_DEV
    };
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode)) access &= FILE_ONLY;
    struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(fd);
}

static bool any_under(const path_list *l, const char *folder) {
    for (size_t i = 0; i < l->n; i++)
        if (pdl_path_is_under(l->p[i], folder)) return true;
    return false;
}

/* The rights that are granted below a folder. */
typedef struct {
    uint64_t access;
    const path_list *masked; /* paths where nothing is granted */
    const path_list *kept;   /* paths where only the rights in of_kept are granted; may be NULL */
    uint64_t of_kept;
} grants;

/* Grants a folder. A rule applies to everything below a folder, so a folder with exceptions is
 * granted entry by entry. As a result, no file can be created directly in such a folder. */
static void grant_but(int rules, const char *path, const grants *g, unsigned depth) {
    enum { MAX_DEPTH = 24 };
    const path_list *kept = g->kept;
    bool hides = pdl_sorted_under(g->masked, path), keeps = kept && any_under(kept, path);
    if (pdl_sorted_have(g->masked, path) || depth > MAX_DEPTH) return;
    if (kept && pdl_paths_have(kept, path)) {
        grant_but(rules, path, &(grants){.access = g->of_kept, .masked = g->masked}, depth);
        return;
    }
    DIR *d = hides || keeps ? opendir(path) : NULL;
    if (!d) {
        grant(rules, path, g->access);
        return;
    }
    grant(rules, path, g->access & LANDLOCK_ACCESS_FS_READ_DIR);
    for (struct dirent *e; (e = readdir(d));) {
        char below[PATH_MAX];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        struct stat st;
        if (snprintf(below, sizeof below, "%s/%s", path, e->d_name) >= (int)sizeof below) continue;
        /* a rule for a link would apply to its target */
        if (lstat(below, &st) == 0 && !S_ISLNK(st.st_mode)) grant_but(rules, below, g, depth + 1);
    }
    closedir(d);
}

/* Grants everything in the profile. When there are mounts, masked paths are covered by mounts
 * instead. */
static void grant_all(int rules, const sandbox_spec *s, uint64_t all) {
    static const path_list none;
    bool mounted = s->backend != BACKEND_NONE;
    const path_list *masked = mounted ? &none : &s->masked, *kept = mounted ? NULL : &s->kept;
    const grants read = {.access = LL_READ & all, .masked = masked};
    for (size_t i = 0; i < s->ro.n; i++) grant_but(rules, s->ro.p[i], &read, 0);
    /* a socket in a folder of `write:` would be reachable from outside, too */
    const grants write = {all & ~(uint64_t)LANDLOCK_ACCESS_FS_MAKE_SOCK, masked, kept,
                          LL_READ & all};
    for (size_t i = 0; i < s->rw.n; i++) grant_but(rules, s->rw.p[i], &write, 0);
}

static bool landlock(const sandbox_spec *s) {
    int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi > s->landlock) abi = (int)s->landlock;
    if (abi < 1) return false;
    uint64_t all = handled_by(abi);
    bool scopes = abi >= LANDLOCK_SCOPES;
    /* confines abstract sockets, and signals */
    ruleset_attr attr = {.fs = all, .scoped = scopes ? 3 : 0};
    size_t size = scopes ? sizeof attr : sizeof attr.fs;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (rules < 0) return false;
    grant_all(rules, s, all);
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                          "/dev/urandom"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        grant(rules, devices[i], (LL_READ | LANDLOCK_ACCESS_FS_WRITE_FILE) & all);
    if (s->backend != BACKEND_NONE) {
        grant(rules, "/tmp", all);
        grant(rules, "/dev/shm", all);
        grant(rules, "/proc", LL_READ & all);
        /* here the mounts decide which files exist */
        grant(rules, "/", LANDLOCK_ACCESS_FS_READ_DIR & all);
    } else {
        grant(rules, "/proc/self", LL_READ & all);
    }
    bool ok = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
              syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return ok;
}

bool pdl_inside_confine(const sandbox_spec *s, int *calls, const char **what) {
    drop_capabilities();
    *what = "Landlock";
    if (!landlock(s)) return false;
    /* The limits come after the walk over the folders: with sanitizers, the helper needs more
     * memory for the walk than the limits allow. */
    *what = "limits";
    if (!set_limits(s)) return false;
    *what = "seccomp";
    return pdl_filter_load(s, calls);
}
