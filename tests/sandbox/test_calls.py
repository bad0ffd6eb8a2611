# SPDX-License-Identifier: Apache-2.0
"""System calls from inside of each strength and back end. Calls that Docker's default profile refuses to a container without capabilities are refused
here, too, or the reason to allow them is below. Calls that ordinary programs need are allowed."""
import json
import platform

import pytest

from ..checks import check
from .kit import PYTHON, run

# Of x86_64. Docker's list is one of what is allowed: these are all others that the kernel has.
REFUSED = {
    103: "syslog", 134: "uselib", 153: "vhangup", 155: "pivot_root", 156: "_sysctl", 161: "chroot", 163: "acct", 164: "settimeofday",
    165: "mount", 166: "umount2", 167: "swapon", 168: "swapoff", 169: "reboot", 170: "sethostname", 171: "setdomainname", 172: "iopl",
    173: "ioperm", 174: "create_module", 175: "init_module", 176: "delete_module", 177: "get_kernel_syms", 178: "query_module",
    179: "quotactl", 180: "nfsservctl", 181: "getpmsg", 182: "putpmsg", 183: "afs_syscall", 184: "tuxcall", 185: "security",
    212: "lookup_dcookie", 227: "clock_settime", 236: "vserver", 246: "kexec_load", 248: "add_key", 249: "request_key", 250: "keyctl",
    256: "migrate_pages", 272: "unshare", 279: "move_pages", 298: "perf_event_open", 300: "fanotify_init", 304: "open_by_handle_at",
    308: "setns", 312: "kcmp", 313: "finit_module", 320: "kexec_file_load", 321: "bpf", 323: "userfaultfd", 425: "io_uring_setup",
    426: "io_uring_enter", 427: "io_uring_register", 428: "open_tree", 429: "move_mount", 430: "fsopen", 431: "fsconfig", 432: "fsmount",
    433: "fspick", 435: "clone3", 438: "pidfd_getfd", 440: "process_madvise", 442: "mount_setattr", 443: "quotactl_fd", 452: "fchmodat2",
    467: "open_tree_attr"}
# What Docker allows, with a profile of AppArmor behind it.
REFUSED |= {101: "ptrace", 154: "modify_ldt", 159: "adjtimex", 303: "name_to_handle_at", 305: "clock_adjtime", 310: "process_vm_readv",
            311: "process_vm_writev"}
# The own memory, which libraries for numbers place near a processor; what is mounted, which /proc/self shows, too; and attributes, which
# mounts guard, and where there are none a row of their own in the filter.
ALLOWED_HERE = {136: "ustat", 139: "sysfs", 237: "mbind", 238: "set_mempolicy", 239: "get_mempolicy", 450: "set_mempolicy_home_node",
                457: "statmount", 458: "listmount", 468: "file_getattr"}
ATTRIBUTES = {188: "setxattr", 189: "lsetxattr", 190: "fsetxattr", 197: "removexattr", 198: "lremovexattr", 199: "fremovexattr",
              463: "setxattrat", 466: "removexattrat", 469: "file_setattr"}
INODES = {90: "chmod", 91: "fchmod", 92: "chown", 93: "fchown", 94: "lchown", 132: "utime", 235: "utimes", 260: "fchownat", 261: "futimesat", 268: "fchmodat", 280: "utimensat"}
# [name, number, arguments, is allowed]: an argument decides.
BY_ARGUMENT = [
    ["socketpair stream", 53, [1, 1, 0], True], ["socketpair sequential", 53, [1, 5, 0], True], ["socketpair with flags", 53, [1, 0x80801, 0], True],
    ["socketpair datagram", 53, [1, 2, 0], False], ["socketpair datagram with flags", 53, [1, 0x80802, 0], False],
    ["socketpair raw", 53, [1, 3, 0], False], ["socketpair TIPC", 53, [30, 1, 0], False], ["socketpair of 33 bits", 53, [1 << 32 | 30, 1, 0], False],
    ["personality of Linux", 135, [0], True], ["personality asked for", 135, [0xffffffff], True], ["personality without chance", 135, [0x40000], False],
    ["personality of readable code", 135, [0x400000], False], ["mknod FIFO", 133, [0, 0o010600, 0], True], ["mknod file", 133, [0, 0o100600, 0], True],
    ["mknod setuid file", 133, [0, 0o104755, 0], False], ["mknod characters", 133, [0, 0o020600, 0x103], False],
    ["mknod blocks", 133, [0, 0o060600, 0x800], False], ["mknodat FIFO", 259, [-100, 0, 0o010600, 0], True],
    ["mknodat characters", 259, [-100, 0, 0o020600, 0x103], False], ["prctl name", 157, [16, 0, 0, 0, 0], True],
    ["clone of users", 56, [0x10000000 | 17, 0, 0, 0, 0], False], ["clone of mounts", 56, [0x20000 | 17, 0, 0, 0, 0], False],
    ["ioctl TIOCSTI", 16, [0, 0x5412, 0], False], ["ioctl TIOCSTI of 33 bits", 16, [0, 0x100005412, 0], False],
    ["ioctl TIOCLINUX", 16, [0, 0x541c, 0], False]]
WITH_NETWORK = [
    ["socket unix", 41, [1, 1, 0], True], ["socket unix with flags", 41, [1, 0x80801, 1], True], ["socket unix datagrams", 41, [1, 2, 0], False],
    ["socket unix sequential", 41, [1, 5, 0], False], ["socket unix raw", 41, [1, 3, 0], False], ["socket unix of another protocol", 41, [1, 1, 2], False],
    ["socket TCP", 41, [2, 1, 6], True], ["socket UDP", 41, [10, 2, 0], True], ["socket MPTCP", 41, [2, 1, 262], None],
    ["socket netlink", 41, [16, 2, 0], False], ["socket raw", 41, [2, 3, 1], False],
    ["socket packet", 41, [2, 10, 0], False], ["socket DCCP", 41, [2, 6, 33], False], ["socket SCTP", 41, [2, 1, 132], False],
    ["socket UDP lite", 41, [2, 2, 136], False], ["socket ping", 41, [2, 2, 1], False], ["socket of 33 bits", 41, [1 << 32 | 16, 2, 0], False]]

# A child for each: what a call does to its process stays there. Addresses are wrong, descriptors too.
INSIDE = """
import ctypes, json, os, signal
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = [ctypes.c_long] * 7
found = []
for nr, args in %s:
    r, w = os.pipe()
    p = os.fork()
    if p == 0:
        signal.alarm(5)
        n = libc.syscall(nr, *(args + [-1] * 6)[:6])
        if n == 0 and nr == 56: os._exit(0)
        os.write(w, str(ctypes.get_errno() if n == -1 else 0).encode())
        os._exit(0)
    os.close(w)
    found.append(os.read(r, 9).decode())
    os.close(r)
    os.waitpid(p, 0)
print(json.dumps(found))
"""
EPERM, ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT, EOPNOTSUPP = 1, 38, 97, 93, 95
OF_FILTER = {EPERM, ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT}


def made(pdl, folder, strength, rows):
    """The error number of each [number, arguments], 0 where it succeeded."""
    r = run([pdl, "sandbox", *strength.more, "--", *PYTHON, "-c", INSIDE % json.dumps(rows)], folder, strength.env, timeout=300)
    found = json.loads(r.stdout or "[]")
    check("all calls were made", len(found) == len(rows), r.stderr[-500:])
    return [int(x) if x else None for x in found]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of system calls are those of x86_64")
def test_calls(pdl, folder, strength):
    names = {**REFUSED, **ALLOWED_HERE, **ATTRIBUTES, **INODES}
    rows = BY_ARGUMENT + (WITH_NETWORK if strength.name != "process" else [[r[0], r[1], r[2], False] for r in WITH_NETWORK])
    found = made(pdl, folder, strength, [[nr, [-1, 0, 0, 0, 0, 0] if nr in INODES else []] for nr in names] + [[r[1], r[2]] for r in rows])
    for (nr, name), e in zip(names.items(), found):
        if nr in ATTRIBUTES:
            check(name, (e == EOPNOTSUPP) == (strength.name == "process"), e)
        elif nr in INODES:
            check(name, (e == EPERM) == (strength.name == "process"), e)
        elif nr in REFUSED:
            check(f"{name} is refused", e in (EPERM, ENOSYS), e)
        else:
            check(f"{name} is not", e not in (EPERM, None), e)
    for (name, _, _, allowed), e in zip(rows, found[len(names):]):
        if allowed is not None:
            check(f"{name} is {'allowed' if allowed else 'refused'}", (e not in OF_FILTER) == allowed, e)
