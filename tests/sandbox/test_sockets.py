# SPDX-License-Identifier: Apache-2.0
"""Unix sockets inside of the strength full: code can connect to sockets of its own processes, and to no socket outside. This holds even for a socket
that is made in a visible folder while the command runs, and when other threads change the descriptor, address or link meanwhile."""
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from ..checks import check
from .kit import PYTHON, STRENGTHS, environment, in_turn, run

BEGIN = """
import os, socket, threading, time
from sys import argv
FOLDER, PORT, TRIES = argv[1], int(argv[2]), int(argv[3])
print("ready", flush=True)
while not os.path.exists(FOLDER + "/late"): time.sleep(0.01)
def connect(address, family=socket.AF_UNIX):
    try:
        socket.socket(family).connect(address)
        print("ESCAPED", address)
    except OSError as e: return e.errno
def own(path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen(64)
    return s
"""
# Each must not reach the socket `late`, nor any other of the outside.
ATTEMPTS = {
    "by its path": "connect(FOLDER + '/late')",
    "by a link": "os.symlink(FOLDER + '/late', '/tmp/link')\nconnect('/tmp/link')",
    "by a chain of links": "os.symlink(FOLDER, '/tmp/a')\nos.symlink('/tmp/a/late', '/tmp/b')\nconnect('/tmp/b')",
    "from its folder": "os.chdir(FOLDER)\nconnect('late')\nconnect('./late')",
    "by a descriptor": "fd = os.open(FOLDER + '/late', os.O_PATH)\nconnect(f'/proc/self/fd/{fd}')\nconnect(f'/proc/{os.getpid()}/fd/{fd}')\nconnect(f'/dev/fd/{fd}')",
    "by the root of a process": "connect('/proc/self/root' + FOLDER + '/late')\nconnect('/proc/1/root' + FOLDER + '/late')\nconnect(f'/proc/{os.getpid()}/root' + FOLDER + '/late')",
    "by descriptors of the monitor": "for i in range(64): connect(f'/proc/1/fd/{i}'), connect(f'/proc/2/fd/{i}')",
    "by an abstract name": "connect('\\0pdl-sockets-' + str(PORT))",
    "by datagrams": "try:\n    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', FOLDER + '/late')\n    print('ESCAPED')\nexcept OSError: pass",
    "by a pair": "a, b = socket.socketpair()\ntry:\n    a.connect(FOLDER + '/late')\n    print('ESCAPED')\nexcept OSError: pass",
    "by TCP": "connect(('127.0.0.1', PORT), socket.AF_INET)",
    "with an address that lies": "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\na = b'\\1\\0' + (FOLDER + '/late').encode()\n"
                                 "for n in (len(a), len(a) + 1, 110, 1, 0, 111, 128, 129, 1 << 31):\n    b = ctypes.create_string_buffer(a, 200)\n"
                                 "    s = socket.socket(socket.AF_UNIX)\n    if libc.connect(s.fileno(), b, ctypes.c_uint(n)) == 0: print('ESCAPED', n)",
    "a link that changes": "own('/tmp/mine')\nos.symlink('/tmp/mine', '/tmp/swap')\ndone = []\ndef swap():\n    while not done:\n        for to in (FOLDER + '/late', '/tmp/mine'):\n"
                           "            os.symlink(to, '/tmp/next')\n            os.rename('/tmp/next', '/tmp/swap')\n"
                           "threading.Thread(target=swap, daemon=True).start()\nfor _ in range(TRIES): ANY('/tmp/swap')\ndone.append(1)",
    "a folder that changes": "os.mkdir('/tmp/in')\nown('/tmp/in/late')\nos.symlink('/tmp/in', '/tmp/swapped')\ndone = []\ndef swap():\n    while not done:\n        for to in (FOLDER, '/tmp/in'):\n"
                             "            os.symlink(to, '/tmp/next2')\n            os.rename('/tmp/next2', '/tmp/swapped')\n"
                             "threading.Thread(target=swap, daemon=True).start()\nfor _ in range(TRIES): ANY('/tmp/swapped/late')\ndone.append(1)",
    "an address that changes": "import ctypes\nlibc = ctypes.CDLL(None)\nown('/tmp/addr')\ngood, bad = b'\\1\\0/tmp/addr'.ljust(110, b'\\0'), (b'\\1\\0' + FOLDER.encode() + b'/late').ljust(110, b'\\0')\n"
                               "b = ctypes.create_string_buffer(good, 110)\ndone = []\ndef swap():\n    while not done:\n        ctypes.memmove(b, bad, 110)\n        ctypes.memmove(b, good, 110)\n"
                               "threading.Thread(target=swap, daemon=True).start()\nfor _ in range(TRIES):\n    s = socket.socket(socket.AF_UNIX)\n    libc.connect(s.fileno(), b, 110)\n    s.close()\ndone.append(1)",
    "a descriptor that changes": "import ctypes\nlibc = ctypes.CDLL(None)\nsrv = socket.create_server(('127.0.0.1', 0), backlog=99)\nbad = (b'\\1\\0' + FOLDER.encode() + b'/late').ljust(110, b'\\0')\n"
                                 "b = ctypes.create_string_buffer(bad, 110)\ni, u = socket.socket(), socket.socket(socket.AF_UNIX)\nx = os.dup(u.fileno())\ndone = []\n"
                                 "def swap():\n    while not done:\n        os.dup2(i.fileno(), x)\n        os.dup2(u.fileno(), x)\nthreading.Thread(target=swap, daemon=True).start()\n"
                                 "for _ in range(TRIES):\n    if libc.connect(x, b, 110) == 0: print('ESCAPED')\ndone.append(1)",
}
ANY = "def ANY(p):\n    s = socket.socket(socket.AF_UNIX)\n    try: s.connect(p)\n    except OSError: pass\n    s.close()\n"
INSIDE = {
    "multiprocessing": """
import multiprocessing as mp
if __name__ == '__main__':
    for how in ('fork', 'spawn', 'forkserver'):
        with mp.get_context(how).Pool(2) as p: assert p.map(abs, [-1, 2]) == [1, 2]
    with mp.Manager() as m:
        d = m.dict()
        d['a'] = 1
        assert dict(d) == {'a': 1}
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(2, mp_context=mp.get_context('forkserver')) as e: assert list(e.map(abs, [-3])) == [3]
    print('fine')
""",
    "asyncio": """
import asyncio
async def main():
    server = await asyncio.start_unix_server(lambda r, w: (w.write(b'fine'), w.close()), '/tmp/as')
    r, w = await asyncio.open_unix_connection('/tmp/as')
    print((await r.read()).decode())
asyncio.run(main())
""",
    "names of all kinds": """
import os, socket
os.chdir('/tmp')
for bound, to in (('/tmp/own', '/tmp/own'), ('rel', 'rel'), ('rel2', './././rel2'), ('\\0abstract', '\\0abstract'), ('/dev/shm/own', '/dev/shm/own')):
    s = socket.socket(socket.AF_UNIX)
    s.bind(bound)
    s.listen(1)
    socket.socket(socket.AF_UNIX).connect(to)
errors = []
for to in ('/tmp/none', '/tmp', '/etc/passwd'):
    try: socket.socket(socket.AF_UNIX).connect(to)
    except OSError as e: errors.append(e.errno)
full = socket.socket(socket.AF_UNIX)
full.bind('full')
full.listen(0)
for i in range(9):
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(False)
    n = s.connect_ex('full')
assert n == 11, n
assert errors == [2, 111, 13] or errors == [2, 13, 13], errors
print('fine')
""",
    "TCP": """
import socket, threading
srv = socket.create_server(('127.0.0.1', 0), backlog=64)
threading.Thread(target=lambda: [srv.accept() for _ in range(64)], daemon=True).start()
def one(): socket.create_connection(srv.getsockname(), 20)
all = [threading.Thread(target=one) for _ in range(64)]
for t in all: t.start()
for t in all: t.join()
s = socket.socket()
s.setblocking(False)
assert s.connect_ex(srv.getsockname()) in (0, 115)
assert socket.socket().connect_ex(('127.0.0.1', 1)) == 111
print('fine')
""",
    "a caller that is killed meanwhile": """
import os, signal, socket, time
os.chdir('/tmp')
full = socket.socket(socket.AF_UNIX)
full.bind('full')
full.listen(0)
for i in range(70):
    if os.fork() == 0:
        signal.alarm(2)
        socket.socket(socket.AF_UNIX).connect('full')
        os._exit(0)
time.sleep(0.3)
s = socket.socket(socket.AF_UNIX)
s.bind('free')
s.listen(9)
print('fine')
""",
}


# A container that has such a filter itself: of one command of BPF, which allows all.
WATCHED = """
import ctypes, os, platform, sys
from sys import argv
libc = ctypes.CDLL(None, use_errno=True)
class Prog(ctypes.Structure): _fields_ = [('n', ctypes.c_ushort), ('p', ctypes.c_char_p)]
libc.prctl(38, 1, 0, 0, 0)
n = libc.syscall(317 if platform.machine() == 'x86_64' else 277, 1, 8, ctypes.byref(Prog(1, bytes([6, 0, 0, 0, 0, 0, 0xff, 0x7f]))))
if n < 0: sys.exit(9)
p = os.fork()
if p: sys.exit(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))
os.execv(argv[1], argv[1:])
"""


def outside(folder):
    """(port, what reached it)"""
    reached = []
    tcp = socket.create_server(("127.0.0.1", 0), backlog=64)
    port = tcp.getsockname()[1]
    late, abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    late.bind(str(folder / "early"))
    abstract.bind(f"\0pdl-sockets-{port}")

    def serve(s):
        try:
            while True:
                s.accept()
                reached.append(s.getsockname())
        except OSError:
            pass
    for s in (tcp, late, abstract):
        s.listen(64)
        threading.Thread(target=serve, args=(s,), daemon=True).start()
    return port, reached, (tcp, late, abstract)


def of_full(row, strength):
    return strength in STRENGTHS[:2]


def visible_folder():
    """A folder outside of /tmp, of which a sandbox has its own."""
    return Path(tempfile.mkdtemp(prefix="pdl-sockets-", dir="/var/tmp")).resolve()


@pytest.mark.draws
def test_none_of_the_outside_is_reached(pdl, full, scale):
    for name, text in in_turn(ATTEMPTS.items(), full, name=lambda row: row[0], applies=of_full):
        top = visible_folder()
        shown = top / "shown"
        shown.mkdir()
        port, reached, all_ = outside(top)
        script = BEGIN + ANY + text + "\nprint('END')\n"
        with subprocess.Popen([pdl, "sandbox", "--", *PYTHON, "-c", script, str(shown), str(port), str(scale(10000))], cwd=shown, env=environment(full.env),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as p:
            p.stdout.readline()
            os.rename(top / "early", shown / "late")  # what the walk finds is masked, so it comes later
            said = p.stdout.read()
        for s in all_:
            s.close()
        shutil.rmtree(top)
        check(name, "ESCAPED" not in said and "END" in said and not reached, said, reached)


@pytest.mark.draws
def test_those_inside_are_reached(pdl, folder, full):
    (folder / "s.yaml").write_text("processes: 100\n")
    for name, text in in_turn([*INSIDE.items(), ("multiprocessing, as a block", None)], full, name=lambda row: row[0], applies=of_full):
        if text is None:
            (folder / "a.py").write_text(INSIDE["multiprocessing"])
            (folder / "a.pdl").write_text("lang: command\nargs: [%s, a.py]\n" % ", ".join(PYTHON))
            r = run([pdl, "--sandbox", "a.pdl"], folder, full.env)
        else:
            (folder / "a.py").write_text(text)
            r = run([pdl, "sandbox", "--sandbox=s.yaml", "--", *PYTHON, "a.py"], folder, full.env)
        check(name, r.stdout.strip() == "fine", r.stdout + r.stderr)


def test_no_socket_in_a_granted_folder(pdl, full):
    """In a folder of write: no socket can be made, which programs outside could take for another's."""
    top = visible_folder()
    (top / "open").mkdir()
    (top / "s.yaml").write_text("write: [open]\n")
    text = "import os, socket\nopen('open/x', 'w').close()\ntry: socket.socket(socket.AF_UNIX).bind('open/s')\nexcept OSError as e: print('refused', e.errno)"
    r = run([pdl, "sandbox", "--sandbox=s.yaml", "--", *PYTHON, "-c", text], top, full.env)
    made = (top / "open/s").exists()
    shutil.rmtree(top)
    check("no socket in a granted folder", r.stdout == "refused 13\n" and not made, r.stdout + r.stderr)


def test_a_filter_around(pdl, folder, full):
    """Where another filter asks already, everything but unix sockets works."""
    text = ("import socket, multiprocessing as mp\nwith mp.get_context('fork').Pool(2) as p: print(p.map(abs, [-1]))\n"
            "s = socket.create_server(('127.0.0.1', 0))\nsocket.create_connection(s.getsockname())\ntry: socket.socket(socket.AF_UNIX)\nexcept OSError as e: print(e.errno)")
    r = run([*PYTHON, "-c", WATCHED, pdl, "sandbox", "--", *PYTHON, "-c", text], folder, full.env)
    if r.returncode == 9:
        pytest.skip("a filter around: none can be made here")
    check("a filter around", r.stdout == "[1]\n97\n", r.stdout + r.stderr)
