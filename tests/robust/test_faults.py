#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_faults.py -- what surrounds a run breaks: streams, files, limits of the process, signals at random moments.

    test_faults.py BUILD_DIR [--rounds N] [--seed N]

Each run is bounded in time and memory; afterwards no process of it is left and the files it wrote are whole. Python standard library
only. Last line: `N passed, N failed`.
"""
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import Checks  # noqa: E402
from programs import FILES, PROGRAMS  # noqa: E402
from test_memory import is_whole  # noqa: E402

SECONDS = 20
MB = 1 << 20


def left_behind(mark):
    """Processes of a run, by a variable of their environment."""
    found = []
    for p in pathlib.Path("/proc").iterdir():
        try:
            if p.name.isdigit() and mark.encode() in (p / "environ").read_bytes() and ") Z" not in (p / "stat").read_text():
                found.append("%s %s" % (p.name, (p / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")))
        except OSError:
            pass
    return found


class Tests(Checks):
    def __init__(self, pdl):
        self.pdl, self.n = pdl, 0

    def start(self, folder, program, args=(), limits=None, **kw):
        self.n += 1
        self.mark = "PDL_TEST_MARK=%d.%d" % (os.getpid(), self.n)
        for name, content in {"main.pdl": program, **FILES}.items():
            (pathlib.Path(folder) / name).write_text(content)
        name, value = self.mark.split("=")
        kw.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen([self.pdl, *args, "main.pdl"], cwd=folder, env={**os.environ, name: value, **kw.pop("env", {})},
                                preexec_fn=limits, **kw)

    def clean(self, title, folder):
        """Nothing is left but whole files."""
        end = time.monotonic() + 5
        while left_behind(self.mark) and time.monotonic() < end:
            time.sleep(0.05)
        self.check(title + ": no process is left", not left_behind(self.mark), "\n".join(left_behind(self.mark)))
        self.check(title + ": files are whole", is_whole(pathlib.Path(folder)) is None, is_whole(pathlib.Path(folder)))

    def finished(self, p, title):
        try:
            out, err = p.communicate(timeout=SECONDS)
            return p.returncode, out or b"", (err or b"").decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            p.kill()
            p.communicate()
            self.check(title + ": ends within %d s" % SECONDS, False)
            return "time-out", b"", ""

    def case(self, title, program, status, err_has="", out_has=b"", args=(), limits=None, **kw):
        with tempfile.TemporaryDirectory(prefix="pdl_fault_") as d:
            kw.setdefault("stdout", subprocess.PIPE)
            kw.setdefault("stderr", subprocess.PIPE)
            got, out, err = self.finished(self.start(d, program, args, limits, **kw), title)
            self.check(title, got in (status if isinstance(status, tuple) else (status,)) and err_has in err and out_has in out,
                       "exit status %s\n%s\n%s" % (got, out[:300], err[:600]))
            self.clean(title, d)


# --- streams and files ---------------------------------------------------------------------------

LONG = "text:\n- for: {i: \"${ range(3000) }\"}\n  repeat: \"some words of output ${ i }\"\n"


def closing(*fds):
    def limits():
        for fd in fds:
            os.close(fd)
    return limits


def file_size(n):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))


def streams(t):
    full = open("/dev/full", "wb")
    t.case("standard output is full", LONG, 1, "No space left on device", stdout=full)
    t.case("standard output is full, with trace and journal", LONG, 1, "No space left on device", stdout=full,
           args=["-t", "trace.json", "--record", "journal.db"])
    t.case("standard error is full", PROGRAMS["fails"], 1, stderr=full)
    full.close()
    t.case("standard output is closed", "text: hello\n", 1, "cannot write", limits=closing(1))
    t.case("standard input is closed", "read:\nmessage: name\nfallback: none\n", (0, 1), limits=closing(0))
    t.case("standard error is closed", PROGRAMS["fails"], 1, limits=closing(2))
    t.case("all streams are closed", PROGRAMS["python"], 1, limits=closing(0, 1, 2))
    t.case("the trace cannot be written", "text: hello\n", 0, "trace", b"hello", args=["-t", "/proc/none/trace.json"])
    t.case("the journal cannot be written", "text: hello\n", 1, "journal", args=["--record", "/proc/none/journal.db"])
    t.case("files may not grow: trace", LONG, 0, "trace", args=["-t", "trace.json"], limits=file_size(4096), stdout=subprocess.PIPE)
    t.case("files may not grow: journal", PROGRAMS["python"], 1, "", args=["--record", "journal.db"], limits=file_size(4096))
    t.case("files may not grow: a file of the program", "defs: {f: {aggregator: {file: big.txt}}}\ntext: \"${ 'x' * 100000 }\"\ncontribute: [f]\n",
           1, "main.pdl:3 - ", limits=file_size(4096))


# --- limits of the process -----------------------------------------------------------------------


def limited(stack=None, memory=None, files=None):
    def limits():
        for what, n in ((resource.RLIMIT_STACK, stack), (resource.RLIMIT_AS, memory), (resource.RLIMIT_NOFILE, files)):
            if n:
                resource.setrlimit(what, (n, n))
    return limits


# name: program, the line of the block that is reported when there is no memory; the messages say "memory"
EATERS = {
    "many small values": ("text:\n- on\n- for: {i: \"${ range(100000000) }\"}\n  repeat:\n    data: {a: \"${ i }\", b: [\"${ i }\"]}\n  join: {as: array}\n", 3),
    "a list that doubles": ("defs: {x: {data: [0]}}\nrepeat:\n  def: x\n  data: ${ x + x }\n", 4),
    "a text that doubles": ("defs: {x: xxxxxxxx}\nrepeat:\n  def: x\n  text: ${ x ~ x }\njoin: {as: lastOf}\n", 4),
    "nested values": ("defs: {x: {data: []}}\nrepeat:\n  def: x\n  data: ${ [x, 'text', [1, 2]] }\njoin: {as: lastOf}\n", 1),
    "iterations side by side": ("text:\n- on\n- {for: {i: \"${ range(3000000) }\"}, map: {data: {a: [\"${ i }\"], b: [\"${ i }\"], c: [\"${ i }\"]}}}\n", 3),
    "the context": ("repeat:\n  text: \"some words for the context\"\n  contribute: [context]\njoin: {as: lastOf}\n", 1),
}
FALLBACK = """text:
- for: {i: "${ range(100000000) }"}
  repeat:
    data: {a: "${ i }", b: ["${ i }"]}
  join: {as: array}
  fallback: saved
- ", and on"
"""


def small(t):
    for name, program in PROGRAMS.items():
        status = {"fails": 1, "wrong": 1}.get(name, (0, 1))
        t.case("stack of 256 KB: " + name, program, status, limits=limited(stack=256 * 1024))
    for name in ("hello", "loops", "template", "large"):
        t.case("memory of 64 MB: " + name, PROGRAMS[name], (0, 1), limits=limited(memory=64 * MB))
    for name, (program, line) in EATERS.items():
        t.case("memory is eaten by " + name, program, 1, "main.pdl:%d - " % line, limits=limited(memory=200 * MB))
    t.case("memory comes back", FALLBACK, 0, "", b"saved, and on", limits=limited(memory=200 * MB))
    t.case("memory is eaten by Python", "lang: python\ncode: |\n  x = [0]\n  while True: x = x + x\n", 1, "MemoryError",
           limits=limited(memory=600 * MB))
    t.case("eight descriptors", PROGRAMS["python"], (0, 1), limits=limited(files=8))
    t.case("twenty descriptors", PROGRAMS["python"], (0, 1), limits=limited(files=20))


# --- signals -------------------------------------------------------------------------------------

BUSY = {
    "python": "text:\n- lang: python\n  code: |\n    import subprocess\n    print('on', flush=True)\n    subprocess.run(['sleep', '30'])\n    result = 1\n",
    "loop": "text:\n- on\n- repeat: {data: 1}\n  maxIterations: 1000000000\n  join: {as: lastOf}\n",
    "endless": "text:\n- on\n- lang: python\n  code: |\n    while True: pass\n",
    "command": "text:\n- on\n- lang: command\n  code: sleep 30\n",
    "cell": "text:\n- on\n- lang: ipython\n  code: |\n    while True: pass\n- lang: command\n  code: sleep 30\n",
    "functions": "defs:\n  f:\n    function: {n: integer}\n    return: ${ n + 1 }\ntext:\n- on\n- lang: python\n  code: |\n    while True: f(n=1)\n",
    "map": "text:\n- on\n- for: {i: \"${ range(8) }\"}\n  map: {lang: command, code: sleep 30}\n",
}
STATUS = {signal.SIGINT: (130, -2), signal.SIGTERM: (143, -15), signal.SIGHUP: (143, -1), signal.SIGPIPE: None}


def wait_until_ignored(pid, sig):
    """Before the first line of main a signal still does what the system does: that moment is not ours."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        mask = int(re.search(r"SigIgn:\t(\w+)", pathlib.Path("/proc/%d/status" % pid).read_text())[1], 16)
        if mask >> (sig - 1) & 1:
            return
        time.sleep(0.002)


def interrupt(t, name, sig, after, args):
    title = "%s to %s after %.0f ms" % (signal.Signals(sig).name, name, after * 1000)
    with tempfile.TemporaryDirectory(prefix="pdl_fault_") as d:
        p = t.start(d, BUSY[name], args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(after)
        if STATUS[sig] is None:
            wait_until_ignored(p.pid, sig)
        p.send_signal(sig)
        if STATUS[sig] is None:  # ignored; what follows is not
            time.sleep(0.05)
            t.check(title + ": goes on", p.poll() is None)
            p.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        status, _, err = t.finished(p, title)
        want = STATUS[sig] or STATUS[signal.SIGTERM]
        t.check(title, status in want and time.monotonic() - begin < 5 and "Traceback" not in err, "exit status %s\n%s" % (status, err[:600]))
        t.clean(title, d)


def signals(t, rounds):
    for i in range(rounds):
        name = list(BUSY)[i % len(BUSY)]
        sig = random.choice(list(STATUS))
        args = random.choice([[], ["-t", "trace.json"], ["--record", "journal.db"], ["-t", "trace.json", "--record", "journal.db"]])
        interrupt(t, name, sig, random.choice([0.02, 0.1, 0.4]) * random.random(), args)
    with tempfile.TemporaryDirectory(prefix="pdl_fault_") as d:
        p = t.start(d, BUSY["endless"], ["--record", "journal.db"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        p.stdout.read(2)
        time.sleep(0.3)
        p.kill()
        t.finished(p, "SIGKILL")
        t.clean("SIGKILL", d)


def number_after(name, default):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


def main():
    seed = number_after("--seed", int(time.time()))
    random.seed(seed)
    # A shell starts what runs in its background with SIGINT ignored, and so would everything below.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    t = Tests(str(pathlib.Path(sys.argv[1]).resolve() / "pdl"))
    streams(t)
    small(t)
    signals(t, number_after("--rounds", 28))
    if t.failed:
        print("seed %d" % seed)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
