/* seccomp.c -- the filter of system calls, written by hand: a list of the calls that are refused.
 *
 * The filter does not use libseccomp: the list is short, and its rules compare one argument at
 * most. The helper starts for each command, so loading a library would cost more than all its other
 * work. A call of another architecture (32 bit) or of x32 would bypass the numbers, so it ends the
 * process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

#if defined(__x86_64__)
#define ARCH ((uint32_t)AUDIT_ARCH_X86_64)
#elif defined(__aarch64__)
#define ARCH ((uint32_t)AUDIT_ARCH_AARCH64)
#else
#define ARCH 0u
#endif

/* System calls that are refused with any arguments. */
static const int refused[] = {
    /* --- mounts --- */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_swapon,
    SYS_swapoff,
    428 /* open_tree */,
    429 /* move_mount */,
    430 /* fsopen */,
    431 /* fsconfig */,
    432 /* fsmount */,
    433 /* fspick */,
    442 /* mount_setattr */,
    467 /* open_tree_attr */,
    /* --- other processes --- */
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    438 /* pidfd_getfd */,
    440 /* process_madvise */,
    /* --- keys, kernel --- */
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    425 /* io_uring_setup */,
    426 /* io_uring_enter */,
    427 /* io_uring_register */,
    SYS_syslog,
    SYS_reboot,
    SYS_acct,
    SYS_quotactl,
    443 /* quotactl_fd */,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_fanotify_init,
    /* --- ways around the rules on paths and modes --- */
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    /* --- memory of other processes, moved between nodes --- */
    SYS_migrate_pages,
    SYS_move_pages,
#ifdef SYS_lookup_dcookie
    SYS_lookup_dcookie,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_uselib,
#endif
};

/* System calls that are reported as missing, because their arguments are in memory and cannot be
 * examined here. Programs then try the older call. */
static const int missing[] = {SYS_clone3, 437 /* openat2 */, 452 /* fchmodat2 */};

/* System calls that are refused when no mount makes the files outside read-only. Landlock has no
 * right for attributes, and an access control list is an attribute. Programs that copy attributes
 * then assume a file system without them. */
static const int of_attributes[] = {
    SYS_setxattr,         SYS_lsetxattr,           SYS_fsetxattr,
    SYS_removexattr,      SYS_lremovexattr,        SYS_fremovexattr,
    463 /* setxattrat */, 466 /* removexattrat */, 469 /* file_setattr */,
};

/* System calls that are refused when no mount makes the files outside read-only: modes, owners and
 * times can be changed even in a file that is open only for reading. */
static const int of_inodes[] = {
    SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_utimensat,
#ifdef SYS_chmod
    SYS_chmod,  SYS_chown,    SYS_lchown, SYS_utime,    SYS_utimes,    SYS_futimesat,
#endif
};

/* Requests that change a file without writing to it, and that are refused when no mount makes the
 * files outside read-only. They change flags and version numbers, or turn on verity or encryption,
 * after which no program can write the file. */
static const uint32_t of_flags[] = {
    FS_IOC_SETFLAGS,
    FS_IOC_FSSETXATTR,
    FS_IOC_SETVERSION,
    FS_IOC32_SETFLAGS,
    FS_IOC32_SETVERSION,
    0x40086604 /* EXT4_IOC_SETVERSION */,
    0x40806685 /* FS_IOC_ENABLE_VERITY */,
    0x800c6613 /* FS_IOC_SET_ENCRYPTION_POLICY */,
};

/* System calls that are refused when an argument has one of these bits. The types of FIFOs, sockets
 * and files have no bit in common with devices. */
enum { DEVICE_BIT = S_IFCHR };
static const struct {
    int nr;
    unsigned arg;
    uint32_t bits;
} with_bits[] = {
    {SYS_clone, 0,
     CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
         CLONE_NEWCGROUP},
    {SYS_fchmod, 1, S_ISUID | S_ISGID},
    {SYS_fchmodat, 2, S_ISUID | S_ISGID},
    {SYS_openat, 3, S_ISUID | S_ISGID},
    {SYS_mkdirat, 2, S_ISUID | S_ISGID},
    {SYS_mknodat, 2, S_ISUID | S_ISGID | DEVICE_BIT},
#ifdef SYS_chmod
    {SYS_chmod, 1, S_ISUID | S_ISGID},
    {SYS_open, 2, S_ISUID | S_ISGID},
    {SYS_creat, 1, S_ISUID | S_ISGID},
    {SYS_mkdir, 1, S_ISUID | S_ISGID},
    {SYS_mknod, 1, S_ISUID | S_ISGID | DEVICE_BIT},
#endif
};

enum { MAX_STEPS = 400, X32_BIT = 0x40000000, LINUX_TIOCLINUX = 0x541C };

typedef struct program {
    struct sock_filter p[MAX_STEPS];
    unsigned short n;
} program;

static void add(program *f, uint16_t code, uint8_t yes, uint8_t no, uint32_t k) {
    if (f->n < MAX_STEPS) f->p[f->n++] = (struct sock_filter){code, yes, no, k};
}
static void load(program *f, size_t offset) {
    add(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}
static void load_number(program *f) { load(f, offsetof(struct seccomp_data, nr)); }
static void load_argument(program *f, unsigned i) {
    /* on a little-endian machine this is the low word */
    load(f, offsetof(struct seccomp_data, args) + 8 * (size_t)i);
}
static void give(program *f, uint32_t what) { add(f, BPF_RET | BPF_K, 0, 0, what); }
static void refuse_with(program *f, int e) { give(f, SECCOMP_RET_ERRNO | (uint32_t)e); }

/* Refuses a call. The accumulator holds the number of the call before and after each of these
 * functions. */
static void refuse_call(program *f, int nr, int e) {
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)nr);
    refuse_with(f, e);
}

static void refuse_bits(program *f, int nr, unsigned arg, uint32_t bits) {
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (uint32_t)nr);
    load_argument(f, arg);
    add(f, BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
    refuse_with(f, EPERM);
    load_number(f);
}

static void refuse_value(program *f, int nr, unsigned arg, uint32_t value) {
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (uint32_t)nr);
    load_argument(f, arg);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
    refuse_with(f, EPERM);
    load_number(f);
}

/* The values that an argument of a call may have, under a mask. */
typedef struct {
    int nr; /* the number of the call */
    unsigned arg;
    uint32_t mask;
    uint8_t n;
    uint32_t values[4];
} allowed_values;

/* Refuses a call whose argument has another value. */
static void refuse_other_values(program *f, const allowed_values *a, int e) {
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)(a->n + 4), (uint32_t)a->nr);
    load_argument(f, a->arg);
    add(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, a->mask);
    for (uint8_t i = 0; i < a->n; i++)
        add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(a->n - i), 0, a->values[i]);
    refuse_with(f, e);
    load_number(f);
}

enum { TYPE_OF_SOCKET = 0xf, MULTIPATH_TCP = 262 };
static const uint32_t any_bit = UINT32_MAX;

/* Allows stream sockets of the family AF_UNIX and refuses other unix sockets. The monitor makes
 * each connect() (sockets.c). */
static void allow_unix(program *f) {
    enum { AFTER = 10, TO_NUMBER = 7, LAST_PROTOCOL = 1 };
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, AFTER, SYS_socket);
    load_argument(f, 0);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, TO_NUMBER, AF_UNIX);
    load_argument(f, 1);
    add(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, TYPE_OF_SOCKET);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SOCK_STREAM);
    refuse_with(f, EPERM);
    load_argument(f, 2);
    add(f, BPF_JMP | BPF_JGT | BPF_K, 1, 0, LAST_PROTOCOL);
    give(f, SECCOMP_RET_ALLOW);
    load_number(f);
}

/* Allows the sockets that common programs use: other families and protocols are code of the kernel
 * that is rarely used, and some are loaded on demand. */
static void limit_sockets(program *f, bool unix_too) {
    const allowed_values families = {SYS_socket, 0, any_bit, 2, {AF_INET, AF_INET6}},
                         types = {SYS_socket, 1, TYPE_OF_SOCKET, 2, {SOCK_STREAM, SOCK_DGRAM}},
                         protocols = {SYS_socket,
                                      2,
                                      any_bit,
                                      4,
                                      {0, IPPROTO_TCP, IPPROTO_UDP, MULTIPATH_TCP}};
    if (unix_too) allow_unix(f);
    refuse_other_values(f, &families, EAFNOSUPPORT);
    refuse_other_values(f, &types, EPERM);
    refuse_other_values(f, &protocols, EPROTONOSUPPORT);
}

/* Allows only pairs of connected sockets. A datagram socket of a pair may send to any other socket
 * by its path, which neither mounts nor Landlock prevent. */
static void limit_pairs(program *f) {
    const allowed_values families = {SYS_socketpair, 0, any_bit, 1, {AF_UNIX}},
                         types = {
                             SYS_socketpair, 1, TYPE_OF_SOCKET, 2, {SOCK_STREAM, SOCK_SEQPACKET}};
    refuse_other_values(f, &families, EAFNOSUPPORT);
    refuse_other_values(f, &types, EPERM);
}

/* Refuses memory layouts that weaken programs. The argument -1 only asks for the present layout. */
static void limit_personality(program *f) {
    enum { UNAME26 = 0x20000 };
    const allowed_values harmless = {SYS_personality, 0, any_bit, 3, {0, UNAME26, (uint32_t)-1}};
    refuse_other_values(f, &harmless, EPERM);
}

/* Refuses a call unless its argument, the number of a process, is 0 (the caller itself). Where code
 * sees the processes outside, it could otherwise lower the limits of the engine and so end the
 * engine. */
static void refuse_others(program *f, int nr, unsigned arg) {
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (uint32_t)nr);
    load_argument(f, arg);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0);
    refuse_with(f, EPERM);
    load_number(f);
}

/* Makes the filter. unix_too: unix sockets are allowed, and the monitor makes each connect(). */
static void make_filter(program *out, const sandbox_spec *s, bool unix_too) {
    program f = {0};
    /* with mounts there is a separate network namespace, too */
    bool mounts = s->backend != BACKEND_NONE;
    load(&f, offsetof(struct seccomp_data, arch));
    add(&f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, (uint32_t)ARCH);
    give(&f, SECCOMP_RET_KILL_PROCESS);
    load_number(&f);
    add(&f, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
    give(&f, SECCOMP_RET_KILL_PROCESS);
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
        refuse_call(&f, missing[i], ENOSYS);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        refuse_call(&f, refused[i], EPERM);
    for (size_t i = 0; i < sizeof with_bits / sizeof with_bits[0]; i++)
        refuse_bits(&f, with_bits[i].nr, with_bits[i].arg, with_bits[i].bits);
    refuse_value(&f, SYS_ioctl, 1, TIOCSTI);
    refuse_value(&f, SYS_ioctl, 1, LINUX_TIOCLINUX);
    limit_pairs(&f);
    limit_personality(&f);
    if (mounts) {
        limit_sockets(&f, unix_too);
        if (unix_too) {
            add(&f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_connect);
            give(&f, SECCOMP_RET_USER_NOTIF);
        }
    } else {
        refuse_call(&f, SYS_socket, EPERM);
        refuse_others(&f, SYS_prlimit64, 0);
        for (size_t i = 0; i < sizeof of_flags / sizeof of_flags[0]; i++)
            refuse_value(&f, SYS_ioctl, 1, of_flags[i]);
        for (size_t i = 0; i < sizeof of_attributes / sizeof of_attributes[0]; i++)
            refuse_call(&f, of_attributes[i], EOPNOTSUPP);
        for (size_t i = 0; i < sizeof of_inodes / sizeof of_inodes[0]; i++)
            refuse_call(&f, of_inodes[i], EPERM);
        /* the call by path is refused; a file that is open for writing can be truncated at its
         * descriptor */
        if (s->landlock < LANDLOCK_TRUNCATES) refuse_call(&f, SYS_truncate, EPERM);
    }
    give(&f, SECCOMP_RET_ALLOW);
    *out = f;
}

/* Loads a filter that hands calls to the monitor. While the monitor has such a call, only a fatal
 * signal interrupts it (since Linux 5.19). Returns -1 when the process has such a filter already,
 * as in some containers. */
static int load_with_calls(const program *f) {
    enum { KILLABLE = 1 << 5 };
    struct sock_fprog prog = {f->n, (struct sock_filter *)f->p};
    unsigned long how = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, how | KILLABLE, &prog);
    if (fd < 0 && errno == EINVAL) fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, how, &prog);
    return (int)fd;
}

bool pdl_filter_load(const sandbox_spec *s, int *calls) {
    program f;
    *calls = -1;
    if (ARCH == 0) {
        errno = ENOSYS;
        return false;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    if (s->backend != BACKEND_NONE) {
        make_filter(&f, s, true);
        *calls = load_with_calls(&f);
        if (*calls >= 0) return true;
    }
    make_filter(&f, s, false);
    struct sock_fprog prog = {f.n, f.p};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) == 0;
}
