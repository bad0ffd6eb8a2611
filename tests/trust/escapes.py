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
    sh("a server on the loopback, from bash", PROCESS, "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{PORT}' && echo ESCAPED"),
    "limits",
    py("a memory bomb", PROCESS, "b = bytearray(3 << 30)\nprint('ESCAPED')"),
    py("a large file", PROCESS, "import os, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nf = open('{TMP}/large', 'wb')\nf.seek(2 << 30)\nf.write(b'x')\nf.flush()\nprint('ESCAPED')"),
    py("a fork bomb of 300", PROCESS,
       "import os, time\nn = 0\nfor i in range(300):\n    if os.fork() == 0:\n        time.sleep(1.5)\n        os._exit(0)\ntime.sleep(0.6)\nprint('ESCAPED')"),
    py("a core dump", PROCESS, "import resource\nprint('ESCAPED' if resource.getrlimit(resource.RLIMIT_CORE)[1] != 0 else '')"),
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
OF_MACHINE = {a[0] for name, attempts in groups() if name == "kernel" for a in attempts} | {
    "a raw socket", "a packet socket", "a core dump", "ptrace a process outside", "read the memory of a process outside"}
