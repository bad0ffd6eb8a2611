"""Attempts to get out of the sandbox, or to something that it hides. Each is first made without it, where it must succeed: an attempt
that fails everywhere shows nothing. `weakest` names the weakest strength that must hold it.

An attempt is Python text or a shell command that prints ESCAPED. The strings {HOME}, {OUT} and so on are the places of the test.
SPDX-License-Identifier: Apache-2.0
"""

FULL, PROCESS = "full", "process"


def py(name, weakest, text):
    return (name, weakest, "python", text)


def sh(name, weakest, text):
    return (name, weakest, "command", text)


READ = "print('ESCAPED' if open({path!r}).read() else '')"

CALL = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
"""

# Names of groups, and after each its attempts.
ROWS = [
    "files of the user",
    py("read a file of the home folder", PROCESS, READ.format(path="{HOME}/notes.txt")),
    py("read an ssh key", PROCESS, READ.format(path="{HOME}/.ssh/id_rsa")),
    py("read .netrc", PROCESS, READ.format(path="{HOME}/.netrc")),
    py("read .env beside the program", PROCESS, READ.format(path="{DIR}/.env")),
    py("read .env.local in a folder below", PROCESS, READ.format(path="{DIR}/sub/.env.local")),
    py("read a certificate's key beside the program", PROCESS, READ.format(path="{DIR}/server.pem")),
    py("read id_ed25519 beside the program", PROCESS, READ.format(path="{DIR}/id_ed25519")),
    py("read .git/config", PROCESS, READ.format(path="{DIR}/.git/config")),
    py("read a recording beside the program", PROCESS, READ.format(path="{DIR}/run.journal")),
    py("list the home folder", PROCESS, "import os\nprint('ESCAPED' if 'notes.txt' in os.listdir('{HOME}') else '')"),
    py("read through a link in the program's folder", PROCESS, READ.format(path="{DIR}/link.txt")),
    py("read through a link made in /tmp", PROCESS,
       "import os, tempfile\np = tempfile.mktemp()\nos.symlink('{HOME}/notes.txt', p)\nprint('ESCAPED' if open(p).read() else '')"),
    py("read with .. out of the program's folder", PROCESS, READ.format(path="{DIR}/../home/notes.txt")),
    py("read through /proc/self/root", PROCESS, READ.format(path="/proc/self/root{HOME}/notes.txt")),
    py("read from the root folder down", PROCESS, "import os\nfd = os.open('/', os.O_PATH)\nprint('ESCAPED' if os.read(os.open('{HOME}/notes.txt'[1:], os.O_RDONLY, dir_fd=fd), 9) else '')"),
    py("read what a place without rights leads to", PROCESS,
       "import os\nfd = os.open('{HOME}/notes.txt', os.O_PATH)\nprint('ESCAPED' if open(f'/proc/self/fd/{{fd}}').read() else '')"),
    py("read /etc/shadow", FULL, READ.format(path="/etc/shadow")),
    py("read the file of another run in /tmp", PROCESS, READ.format(path="{OUT}/other.txt")),
    sh("cat a file of the home folder", PROCESS, "cat {HOME}/notes.txt >/dev/null && echo ESCAPED"),
    sh("find keys", PROCESS, "find {HOME} -name id_rsa 2>/dev/null | grep -q id_rsa && echo ESCAPED"),
    sh("hard link to a file outside", PROCESS, "ln {OUT}/other.txt {DIR}/hard 2>/dev/null && echo ESCAPED"),
    "writing",
    py("write into the program's folder", PROCESS, "open('{DIR}/new.txt', 'w').write('x')\nprint('ESCAPED')"),
    py("change the program", PROCESS, "open('{DIR}/sub/data.txt', 'a').write('x')\nprint('ESCAPED')"),
    py("write into the home folder", PROCESS, "open('{HOME}/w.txt', 'w').write('x')\nprint('ESCAPED')"),
    py("write .bashrc", PROCESS, "open('{HOME}/.bashrc', 'a').write('x')\nprint('ESCAPED')"),
    py("remove a file outside", PROCESS, "import os\nos.remove('{OUT}/removable')\nprint('ESCAPED')"),
    py("rename a file outside", PROCESS, "import os\nos.rename('{OUT}/movable', '{OUT}/moved')\nprint('ESCAPED')"),
    py("change the mode of a file outside", FULL, "import os\nos.chmod('{OUT}/other.txt', 0o666)\nprint('ESCAPED')"),
    py("truncate a file outside", PROCESS, "import os\nos.truncate('{OUT}/cut', 0)\nprint('ESCAPED')"),
    py("make a folder outside", PROCESS, "import os\nos.mkdir('{OUT}/made')\nprint('ESCAPED')"),
    py("append to a log outside with O_APPEND", PROCESS,
       "import os\nos.write(os.open('{OUT}/other.txt', os.O_WRONLY | os.O_APPEND), b'x')\nprint('ESCAPED')"),
    py("write through a place without rights", PROCESS,
       "import os\nfd = os.open('{OUT}/other.txt', os.O_PATH)\nos.write(os.open(f'/proc/self/fd/{{fd}}', os.O_RDWR | os.O_APPEND), b'x')\nprint('ESCAPED')"),
    py("change the program through a place without rights", PROCESS,
       "import os\nfd = os.open('{DIR}/sub/data.txt', os.O_PATH)\nos.write(os.open(f'/proc/self/fd/{{fd}}', os.O_RDWR | os.O_APPEND), b'x')\nprint('ESCAPED')"),
    py("change the times of a file outside", FULL, "import os\nos.utime('{OUT}/other.txt', (1, 1))\nprint('ESCAPED')"),
    py("make a link outside", PROCESS, "import os\nos.symlink('/etc/passwd', '{OUT}/made-link')\nprint('ESCAPED')"),
    py("bind a unix socket outside", PROCESS, "import socket\nsocket.socket(socket.AF_UNIX).bind('{OUT}/bound')\nprint('ESCAPED')"),
    py("write into the shared memory of others", PROCESS, "import os\nos.write(os.open('/dev/shm/pdl-test-{PID}', os.O_RDWR), b'x')\nprint('ESCAPED')"),
    sh("redirect into a file outside", PROCESS, "echo x > {OUT}/redirected && echo ESCAPED"),
    sh("copy a program outside", PROCESS, "cp /bin/true {OUT}/copied && echo ESCAPED"),
    sh("mkfifo outside", PROCESS, "mkfifo {OUT}/fifo && echo ESCAPED"),
    "start files and later processes",
    py("plant LD_PRELOAD for the next process", PROCESS, "open('{HOME}/.profile', 'w').write('export LD_PRELOAD=x')\nprint('ESCAPED')"),
    py("plant a module that Python imports at its start", PROCESS, "open('{DIR}/sitecustomize.py', 'w').write('')\nprint('ESCAPED')"),
    py("plant a git hook", PROCESS, "open('{DIR}/.git/hook', 'w').write('')\nprint('ESCAPED')"),
    sh("leave a daemon", FULL,
       "(setsid sh -c 'sleep 0.5; touch {OUT}/daemon' >/dev/null 2>&1 &) ; sleep 1.2; test -e {OUT}/daemon && echo ESCAPED"),
    "other processes",
    py("see the engine in /proc", FULL, "import os\nprint('ESCAPED' if os.path.exists('/proc/{PID}/cmdline') else '')"),
    py("read the environment of the engine", PROCESS, READ.format(path="/proc/{PID}/environ")),
    py("read the memory map of the engine", PROCESS, READ.format(path="/proc/{PID}/maps")),
    py("follow /proc/PID/root", PROCESS, READ.format(path="/proc/{PID}/root{HOME}/notes.txt")),
    py("kill a process outside", PROCESS, "import os\nos.kill({VICTIM}, 0)\nprint('ESCAPED')"),
    py("read all environments", PROCESS,
       "import glob\nfound = ''\nfor p in glob.glob('/proc/[0-9]*/environ'):\n    try: found += str(open(p, 'rb').read())\n    except OSError: pass\nprint('ESCAPED' if 'sk-canary' in found else '')"),
    py("list the descriptors of a process outside", PROCESS, "import os\nprint('ESCAPED' if os.listdir('/proc/{VICTIM}/fd') else '')"),
    py("signal a group of processes outside", PROCESS, "import os\nos.killpg(os.getpgid({VICTIM}), 0)\nprint('ESCAPED')"),
    py("signal a process outside by its descriptor", PROCESS, "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open({VICTIM}), 0)\nprint('ESCAPED')"),
    py("lower the limits of a process outside", PROCESS, "import resource\nresource.prlimit({VICTIM}, resource.RLIMIT_NOFILE, (64, 64))\nprint('ESCAPED')"),
    py("slow a process outside down", FULL, "import os\nos.setpriority(os.PRIO_PROCESS, {VICTIM}, 19)\nprint('ESCAPED')"),
    py("take a descriptor of a process outside", PROCESS, CALL + "print('ESCAPED' if libc.syscall(438, os.pidfd_open({VICTIM}), 1, 0) >= 0 else '')"),
    py("copy the memory of a process outside", PROCESS,
       CALL + "b = ctypes.create_string_buffer(64)\nclass V(ctypes.Structure): _fields_ = [('p', ctypes.c_void_p), ('n', ctypes.c_size_t)]\n"
       "at = int(open('/proc/{VICTIM}/maps').read().split('-')[0], 16)\nl, r = V(ctypes.addressof(b), 64), V(at, 64)\n"
       "print('ESCAPED' if libc.process_vm_readv({VICTIM}, ctypes.byref(l), 1, ctypes.byref(r), 1, 0) > 0 else '')"),
    py("ptrace a process outside", PROCESS, CALL + "print('ESCAPED' if libc.ptrace(16, {VICTIM}, 0, 0) == 0 else '')\nlibc.ptrace(17, {VICTIM}, 0, 0)"),
    py("ptrace the own child", PROCESS,
       CALL + "p = os.fork()\nif p == 0:\n    os._exit(7 if libc.ptrace(0, 0, 0, 0) == 0 else 1)\nprint('ESCAPED' if os.waitpid(p, 0)[1] == 7 << 8 else '')"),
    py("read the memory of a process outside", PROCESS,
       "import os\nos.close(os.open('/proc/{VICTIM}/mem', os.O_RDONLY))\nprint('ESCAPED')"),
    py("a canary in the environment", PROCESS, "import os\nprint('ESCAPED' if 'sk-canary' in str(os.environ) else '')"),
    py("System V shared memory of others", FULL, CALL + "print('ESCAPED' if libc.shmget({SHMKEY}, 16, 0) >= 0 else '')"),
    "descriptors",
    py("an inherited descriptor", PROCESS,
       "import os\nprint('ESCAPED' if any('inherited' in os.readlink(f'/proc/self/fd/{{fd}}') for fd in range(3, 64) if os.path.exists(f'/proc/self/fd/{{fd}}')) else '')"),
    "kernel",
    py("mount a tmpfs in namespaces of its own", PROCESS, CALL + "print('ESCAPED' if libc.unshare(0x10020000) == 0 else '')"),
    py("a new namespace of users", PROCESS, CALL + "print('ESCAPED' if libc.unshare(0x10000000) == 0 else '')"),
    sh("unshare -Ur", PROCESS, "unshare -Ur true && echo ESCAPED"),
    py("clone with CLONE_NEWUSER", PROCESS,
       CALL + "r = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)\nif r == 0: os._exit(0)\nprint('ESCAPED' if r > 0 else '')"),
    py("keyctl", PROCESS, CALL + "print('ESCAPED' if libc.syscall(250, 0, -3, 0) != -1 else '')"),
    py("add_key", PROCESS, CALL + "print('ESCAPED' if libc.syscall(248, b'user', b'x', b'y', 1, -3) != -1 else '')"),
    py("io_uring_setup", PROCESS, CALL + "p = ctypes.create_string_buffer(256)\nprint('ESCAPED' if libc.syscall(425, 4, p) >= 0 else '')"),
    py("perf_event_open", PROCESS,
       CALL + "a = ctypes.create_string_buffer(bytes([1,0,0,0,112,0,0,0]) + bytes(104))\nprint('ESCAPED' if libc.syscall(298, a, 0, -1, -1, 0) >= 0 else '')"),
    py("userfaultfd", PROCESS, CALL + "print('ESCAPED' if libc.syscall(323, 1) >= 0 else '')"),
    py("bpf", PROCESS, CALL + "a = ctypes.create_string_buffer(bytes([2,0,0,0,4,0,0,0,4,0,0,0,1,0,0,0]) + bytes(112))\nprint('ESCAPED' if libc.syscall(321, 0, a, 128) >= 0 else '')"),
    py("a setuid program", PROCESS, "import os, tempfile\np = tempfile.mktemp()\nopen(p, 'w').close()\nos.chmod(p, 0o4755)\nprint('ESCAPED' if os.stat(p).st_mode & 0o4000 else '')"),
    py("keyctl by the calls of 32 bits", PROCESS,
       CALL + "import mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(bytes([0x53, 0xb8, 0x20, 1, 0, 0, 0x31, 0xdb, 0xb9, 0xfd, 0xff, 0xff, 0xff, 0xcd, 0x80, 0x5b, 0xc3]))\n"
       "f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\np = os.fork()\nif p == 0:\n    os._exit(7 if f() > 0 else 1)\n"
       "print('ESCAPED' if os.waitpid(p, 0)[1] == 7 << 8 else '')"),
    py("keyctl by the numbers of x32", PROCESS,
       CALL + "p = os.fork()\nif p == 0:\n    os._exit(7 if libc.syscall(0x40000000 | 250, 0, -3, 0) > 0 else 1)\nprint('ESCAPED' if os.waitpid(p, 0)[1] == 7 << 8 else '')"),
    py("the namespaces of another process", PROCESS, CALL + "print('ESCAPED' if libc.setns(os.open('/proc/{VICTIM}/ns/uts', os.O_RDONLY), 0) == 0 else '')"),
    py("a file system by the new calls", PROCESS, CALL + "print('ESCAPED' if libc.syscall(430, b'tmpfs', 0) >= 0 else '')"),
    py("a copy of a mount", PROCESS, CALL + "print('ESCAPED' if libc.syscall(428, -100, b'/', 1) >= 0 else '')"),
    py("a file by its handle", PROCESS, CALL + "h = ctypes.create_string_buffer(bytes([128, 0, 0, 0]) + bytes(136))\nn = ctypes.c_int()\n"
       "print('ESCAPED' if libc.name_to_handle_at(-100, b'/etc/passwd', h, ctypes.byref(n), 0) == 0 and libc.open_by_handle_at(os.open('/etc', os.O_RDONLY), h, 0) >= 0 else '')"),
    py("a device", PROCESS, "import os, stat\nos.mknod('{TMP}/dev-{PID}', stat.S_IFCHR | 0o666, os.makedev(1, 3))\nos.remove('{TMP}/dev-{PID}')\nprint('ESCAPED')"),
    py("the name of the machine", PROCESS, "import socket\nsocket.sethostname(socket.gethostname())\nprint('ESCAPED')"),
    py("a layout of memory without chance", PROCESS, CALL + "print('ESCAPED' if libc.personality(0x40000) != -1 else '')\nlibc.personality(0)"),
    py("a pair of sockets of another family", PROCESS, "import socket\nsocket.socketpair(socket.AF_TIPC, socket.SOCK_STREAM)\nprint('ESCAPED')"),
    py("quotas by a descriptor", PROCESS, CALL + "libc.syscall(443, os.open('/', os.O_RDONLY), 0x80000700, 0, 0)\nprint('ESCAPED' if ctypes.get_errno() != 1 else '')"),
    py("pages of a process outside to another node", PROCESS, CALL + "m = (ctypes.c_ulong * 1)(1)\nprint('ESCAPED' if libc.syscall(256, {VICTIM}, 8, m, m) >= 0 else '')"),
    py("chroot", PROCESS, "import os\nos.chroot('/')\nprint('ESCAPED')"),
    "sockets and the network",
    py("a unix socket outside", PROCESS, "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('{OUT}/sock')\nprint('ESCAPED')"),
    py("a unix socket in the program's folder", PROCESS, "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('{DIR}/sock')\nprint('ESCAPED')"),
    py("an abstract socket", PROCESS, "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('\\0pdl-test-{PID}')\nprint('ESCAPED')"),
    py("a server on the loopback of the outside", PROCESS, "import socket\nsocket.create_connection(('127.0.0.1', {PORT}), 2)\nprint('ESCAPED')"),
    py("the same over IPv6 mapped addresses", PROCESS,
       "import socket\ns = socket.socket(socket.AF_INET6)\ns.connect(('::ffff:127.0.0.1', {PORT}))\nprint('ESCAPED')"),
    py("a datagram to the loopback of the outside", PROCESS,
       "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(1)\ns.sendto(b'x', ('127.0.0.1', {UDP}))\nprint('ESCAPED' if s.recv(9) == b'heard' else '')"),
    py("a raw socket", PROCESS, "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\nprint('ESCAPED')"),
    py("a packet socket", PROCESS, "import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW)\nprint('ESCAPED')"),
    py("a netlink socket", PROCESS, "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW)\nprint('ESCAPED')"),
    py("a connection with its first data", PROCESS, "import socket\nsocket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', {PORT}))\nprint('ESCAPED')"),
    py("a datagram to a unix socket outside", PROCESS, "import socket\nsocket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '{OUT}/datagrams')\nprint('ESCAPED')"),
    py("a socket of the kernel's ciphers", PROCESS, "import socket\nsocket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)\nprint('ESCAPED')"),
    py("a socket to the host of a virtual machine", PROCESS, "import socket\nsocket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)\nprint('ESCAPED')"),
    py("a datagram to a unix socket outside, from a pair", PROCESS,
       "import socket\nsocket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', '{OUT}/datagrams')\nprint('ESCAPED')"),
    py("one of a pair, connected to a unix socket outside", PROCESS,
       "import socket\ns = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]\ns.connect('{OUT}/datagrams')\ns.send(b'x')\nprint('ESCAPED')"),
    sh("a server on the loopback, from bash", PROCESS, "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{PORT}' && echo ESCAPED"),
    "limits",
    py("a memory bomb", PROCESS, "b = bytearray(3 << 30)\nprint('ESCAPED')"),
    py("a large file", PROCESS, "import os, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nf = open('{TMP}/large', 'wb')\nf.seek(2 << 30)\nf.write(b'x')\nf.flush()\nprint('ESCAPED')"),
    py("a fork bomb of 300", PROCESS,
       "import os, time\nn = 0\nfor i in range(300):\n    if os.fork() == 0:\n        time.sleep(1.5)\n        os._exit(0)\ntime.sleep(0.6)\nprint('ESCAPED')"),
    py("shared memory without end", PROCESS,
       "import os\ns = os.statvfs('/dev/shm')\nwith open('/dev/shm/pdl-large-{PID}', 'w') as f: f.write('x')\nos.remove('/dev/shm/pdl-large-{PID}')\n"
       "print('ESCAPED' if s.f_blocks * s.f_frsize > 2 << 30 else '')"),
    py("raise a limit again", PROCESS, "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nprint('ESCAPED')"),
    py("a core dump", PROCESS, "import resource\nprint('ESCAPED' if resource.getrlimit(resource.RLIMIT_CORE)[1] != 0 else '')"),
    "roundabout ways",
    py("a program in memory that reads the home folder", PROCESS, CALL + "fd = os.memfd_create('x')\nos.write(fd, open('/bin/cat', 'rb').read())\nr, w = os.pipe()\n"
       "p = os.fork()\nif p == 0:\n    os.dup2(w, 1)\n    os.execve(fd, ['cat', '{HOME}/notes.txt'], {{}})\nos.waitpid(p, 0)\nos.close(w)\nprint('ESCAPED' if os.read(r, 9) else '')"),
    py("a program in memory that was sealed", PROCESS, CALL + "fd = os.memfd_create('x', 2)\nos.write(fd, b'#!/bin/sh\\ncat {HOME}/notes.txt >/dev/null && echo ESCAPED')\nos.lseek(fd, 0, 0)\n"
       "import subprocess\nprint(subprocess.run(['/bin/sh', f'/proc/self/fd/{{fd}}'], pass_fds=[fd], capture_output=True, text=True).stdout)"),
    py("the working folder of the process outside", PROCESS, "import os\nprint('ESCAPED' if os.listdir('/proc/{VICTIM}/cwd/') else '')"),
    py("the root of the process outside by a descriptor", PROCESS, "import os\nfd = os.open('/proc/{VICTIM}/root', os.O_PATH)\nprint('ESCAPED' if os.listdir(fd) is not None and os.open('{HOME}/notes.txt'[1:], os.O_RDONLY, dir_fd=fd) else '')"),
    py("the standard output of the process outside", PROCESS, "import os\nos.close(os.open('/proc/{VICTIM}/fd/1', os.O_WRONLY | os.O_APPEND))\nprint('ESCAPED')"),
    py("the threads of the process outside", PROCESS, "open('/proc/{VICTIM}/task/{VICTIM}/environ').read()\nprint('ESCAPED')"),
    py("what the process outside waits for, changed by its score", PROCESS, "open('/proc/{VICTIM}/oom_score_adj', 'w').write('1000')\nprint('ESCAPED')"),
    py("the name of a process outside", PROCESS, "open('/proc/{VICTIM}/comm', 'w').write('x')\nprint('ESCAPED')"),
    py("pages of the process outside", PROCESS, "open('/proc/{VICTIM}/clear_refs', 'w').write('1')\nprint('ESCAPED')"),
    py("the pattern of core dumps", PROCESS, "import os\nos.close(os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY))\nprint('ESCAPED')"),
    py("the way to load modules", PROCESS, "import os\nos.close(os.open('/proc/sys/kernel/modprobe', os.O_WRONLY))\nprint('ESCAPED')"),
    py("the system request key", PROCESS, "import os\nos.close(os.open('/proc/sysrq-trigger', os.O_WRONLY))\nprint('ESCAPED')"),
    py("the helper of hot plugging", PROCESS, "import os\nos.close(os.open('/sys/kernel/uevent_helper', os.O_WRONLY))\nprint('ESCAPED')"),
    py("a handler of binary formats", PROCESS, "import os\nos.close(os.open('/proc/sys/fs/binfmt_misc/register', os.O_WRONLY))\nprint('ESCAPED')"),
    py("the release agent of control groups", PROCESS, "import os, glob\nfor p in glob.glob('/sys/fs/cgroup/**/cgroup.procs', recursive=True)[:4]: os.close(os.open(p, os.O_WRONLY))\nprint('ESCAPED' if glob.glob('/sys/fs/cgroup/*') else '')"),
    py("the map of users once more", PROCESS, "open('/proc/self/uid_map', 'w').write('0 0 1')\nprint('ESCAPED')"),
    py("the kernel's memory", PROCESS, "import os\nos.close(os.open('/dev/mem', os.O_RDONLY))\nprint('ESCAPED')"),
    py("the kernel's messages", PROCESS, "import os\nos.close(os.open('/dev/kmsg', os.O_RDONLY))\nprint('ESCAPED')"),
    py("the addresses of the kernel", PROCESS, "print('ESCAPED' if any(int(l.split()[0], 16) for l in open('/proc/kallsyms')) else '')"),
    py("a terminal by its name", PROCESS, "import os\nos.close(os.open('/dev/tty', os.O_RDWR))\nprint('ESCAPED')"),
    py("a new terminal", PROCESS, "import os\nos.close(os.open('/dev/ptmx', os.O_RDWR))\nprint('ESCAPED')"),
    py("type into the terminal with high bits set", PROCESS, CALL + "import pty, ctypes\nm, s = pty.openpty()\nprint('ESCAPED' if libc.syscall(16, s, ctypes.c_ulong(0x100005412), b'x') == 0 else '')"),
    py("a file system in user space", PROCESS, "import os\nos.close(os.open('/dev/fuse', os.O_RDWR))\nprint('ESCAPED')"),
    py("a virtual machine", PROCESS, "import os\nos.close(os.open('/dev/kvm', os.O_RDWR))\nprint('ESCAPED')"),
    py("a network interface of its own", PROCESS, "import os\nos.close(os.open('/dev/net/tun', os.O_RDWR))\nprint('ESCAPED')"),
    py("what is mounted, by the new calls", PROCESS, CALL + "b = ctypes.create_string_buffer(4096)\nr = ctypes.create_string_buffer(bytes([32,0,0,0,0,0,0,0]) + b'\\xff' * 8 + bytes(16))\nn = libc.syscall(458, r, b, 64, 0)\nprint('ESCAPED' if n > 40 else '')"),
    py("open a tree with attributes", PROCESS, CALL + "print('ESCAPED' if libc.syscall(467, -100, b'/', 1, None, 0) >= 0 else '')"),
    py("attributes of a file outside", PROCESS, "import os\nos.setxattr('{OUT}/other.txt', 'user.x', b'y')\nprint('ESCAPED')"),
    py("attributes by the new call", PROCESS, CALL + "a = ctypes.create_string_buffer(64)\nprint('ESCAPED' if libc.syscall(463, -100, b'{OUT}/other.txt', 0, b'user.x', a, 16) == 0 else '')"),
    py("flags of a file outside", PROCESS, "import fcntl, os, struct\nfd = os.open('{OUT}/other.txt', os.O_RDONLY)\nb = fcntl.ioctl(fd, 0x80086601, bytes(8))\nfcntl.ioctl(fd, 0x40086602, b)\nprint('ESCAPED')"),
    py("flags of the program", PROCESS, "import fcntl, os\nfd = os.open('{DIR}/sub/data.txt', os.O_RDONLY)\nb = fcntl.ioctl(fd, 0x80086601, bytes(8))\nfcntl.ioctl(fd, 0x40086602, b)\nprint('ESCAPED')"),
    py("attributes of the program", PROCESS, "import os\nos.setxattr('{DIR}/sub/data.txt', 'user.x', b'y')\nprint('ESCAPED')"),
    py("the owner of a file outside", FULL, "import os\ns = os.stat('{OUT}/other.txt')\nos.chown('{OUT}/other.txt', s.st_uid, s.st_gid)\nprint('ESCAPED')"),
    py("exchange two files outside", PROCESS, CALL + "print('ESCAPED' if libc.syscall(316, -100, b'{OUT}/removable', -100, b'{OUT}/movable', 2) == 0 else '')"),
    py("a file without a name, linked outside", PROCESS, "import os\nfd = os.open('{OUT}', os.O_TMPFILE | os.O_RDWR, 0o600)\nprint('ESCAPED')"),
    py("the lock of a file outside", PROCESS, "import fcntl\nf = open('{OUT}/other.txt')\nfcntl.flock(f, fcntl.LOCK_EX)\nprint('ESCAPED')"),
    py("a lease on a file outside", PROCESS, "import fcntl\nf = open('{OUT}/other.txt')\nfcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_RDLCK)\nprint('ESCAPED')"),
    py("remove shared memory of others", FULL, CALL + "i = libc.shmget({SHMKEY}, 16, 0)\nprint('ESCAPED' if i >= 0 and libc.shmat(i, None, 0) != -1 else '')"),
    py("POSIX message queues of others", FULL, "import os\nos.listdir('/dev/mqueue')\nprint('ESCAPED')"),
    py("the scheduler of a process outside", FULL, "import os\nos.sched_setaffinity({VICTIM}, os.sched_getaffinity({VICTIM}))\nprint('ESCAPED')"),
    py("the input and output class of a process outside", FULL, CALL + "print('ESCAPED' if libc.syscall(251, 1, {VICTIM}, 0x6007) == 0 else '')"),
    py("move pages of a process outside", PROCESS, CALL + "print('ESCAPED' if libc.syscall(279, {VICTIM}, 0, None, None, None, 0) == 0 else '')"),
    py("release memory of a process outside", PROCESS, CALL + "print('ESCAPED' if libc.syscall(448, os.pidfd_open({VICTIM}), 0) != -1 else '')"),
    py("robust futexes of a process outside", PROCESS, CALL + "h, n = ctypes.c_void_p(), ctypes.c_size_t()\nprint('ESCAPED' if libc.syscall(274, {VICTIM}, ctypes.byref(h), ctypes.byref(n)) == 0 else '')"),
    py("wait for a process outside", FULL, "import os, select\nfd = os.pidfd_open({VICTIM})\nprint('ESCAPED')"),
    py("a listener over SCTP", PROCESS, "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)\nprint('ESCAPED')"),
    py("a socket that pings", PROCESS, "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)\nprint('ESCAPED')"),
    py("a bluetooth socket", PROCESS, "import socket\nsocket.socket(31, socket.SOCK_RAW, 1)\nprint('ESCAPED')"),
    py("a socket of the XDP family", PROCESS, "import socket\nsocket.socket(44, socket.SOCK_RAW, 0)\nprint('ESCAPED')"),
    py("multipath TCP to the loopback of the outside", PROCESS, "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)\ns.connect(('127.0.0.1', {PORT}))\nprint('ESCAPED')"),
    py("TCP fast open", PROCESS, "import socket\ns = socket.socket()\ns.setsockopt(6, 30, 1)\ns.connect(('127.0.0.1', {PORT}))\nprint('ESCAPED')"),
    py("the address 0.0.0.0 for the loopback", PROCESS, "import socket\nsocket.create_connection(('0.0.0.0', {PORT}), 2)\nprint('ESCAPED')"),
    py("a decimal address for the loopback", PROCESS, "import socket\nsocket.create_connection(('2130706433', {PORT}), 2)\nprint('ESCAPED')"),
    sh("a shell with its startup file", PROCESS, "ENV={HOME}/notes.txt BASH_ENV={HOME}/.bashrc bash -c 'cat {HOME}/.bashrc >/dev/null && echo ESCAPED'"),
    sh("the loader as a command", PROCESS, "/lib64/ld-linux-x86-64.so.2 /bin/cat {HOME}/notes.txt >/dev/null && echo ESCAPED"),
    sh("a library from outside", PROCESS, "cp /lib/x86_64-linux-gnu/libc.so.6 {OUT}/l.so && LD_PRELOAD={OUT}/l.so true && echo ESCAPED"),
    sh("tar with a command", PROCESS, "tar cf /dev/null {HOME}/notes.txt --checkpoint=1 --checkpoint-action=exec='cat {HOME}/notes.txt >/dev/null && echo ESCAPED' 2>/dev/null"),
    sh("write by tee through /dev/fd", PROCESS, "exec 9>>{OUT}/other.txt && echo x | tee /dev/fd/9 >/dev/null && echo ESCAPED"),
    sh("touch by a link to a folder", PROCESS, "ln -s {OUT} /tmp/lnk-{PID} ; touch /tmp/lnk-{PID}/new && echo ESCAPED; rm -f /tmp/lnk-{PID}"),
    sh("nohup with its own session", FULL, "setsid nohup sh -c 'sleep 0.3; touch {OUT}/nohup' >/dev/null 2>&1 & sleep 0.8; test -e {OUT}/nohup && echo ESCAPED"),
    sh("chmod by a name with line breaks", FULL, "d=$(printf '{OUT}/./other.txt'); chmod 666 \"$d\" && echo ESCAPED"),
    sh("sqlite attaches a file outside", PROCESS, "python3 -c \"import sqlite3; c = sqlite3.connect(':memory:'); c.execute('attach \\'{OUT}/q.db\\' as o'); c.execute('create table o.t (a)'); print('ESCAPED')\""),
    py("a path of two forms of unicode", PROCESS, "import os, unicodedata\nfor n in os.listdir('{DIR}/../home'): print('ESCAPED')"),
    py("a path with a percent and a colon", PROCESS, "open('file:{HOME}/notes.txt'.replace('file:', '')).read()\nprint('ESCAPED')"),
    py("a very long path of dots", PROCESS, "open('{DIR}' + '/.' * 900 + '/../home/notes.txt').read()\nprint('ESCAPED')"),
    py("a chain of forty links", PROCESS, "import os, tempfile\nd = tempfile.mkdtemp()\nos.symlink('{HOME}/notes.txt', d + '/0')\nfor i in range(30): os.symlink(d + f'/{{i}}', d + f'/{{i + 1}}')\nprint('ESCAPED' if open(d + '/30').read() else '')"),
    py("a folder descriptor kept over a change of folder", PROCESS, "import os\nos.chdir('{DIR}')\nfd = os.open('..', os.O_PATH)\nos.fchdir(fd)\nprint('ESCAPED' if open('home/notes.txt').read() else '')"),
]

ATTEMPTS = [r for r in ROWS if isinstance(r, tuple)]


def groups():
    """[(name, attempts)]"""
    found = []
    for row in ROWS:
        if isinstance(row, str):
            found.append((row, []))
        else:
            found[-1][1].append(row)
    return found


# What a machine or a container may refuse by itself: attempts of these do not have to succeed without the sandbox.
OF_MACHINE = {a[0] for name, attempts in groups() if name in ("kernel", "roundabout ways") for a in attempts} | {
    "a raw socket", "a packet socket", "a core dump", "a connection with its first data", "a socket of the kernel's ciphers", "a socket to the host of a virtual machine",
    "shared memory without end", "raise a limit again", "take a descriptor of a process outside", "copy the memory of a process outside", "ptrace a process outside", "read the memory of a process outside"}
