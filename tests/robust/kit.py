# SPDX-License-Identifier: Apache-2.0
"""kit.py -- helpers: the processor time of runs, runs with broken surroundings, and what a run may leave behind."""
import json
import os
import pathlib
import resource
import signal
import sqlite3
import subprocess
import tempfile
import time

import pytest

from ..checks import check
from ..harness import isolate
from .programs import FILES

SECONDS = 30
MB = 1 << 20


def groups(rows, size, name=None):
    """Parameters for pytest.mark.parametrize: so many rows to an item, whose id is the number of its first row, or its name."""
    rows = list(rows)
    return [pytest.param(rows[i:i + size], id=name(rows[i]) if name else str(i)) for i in range(0, len(rows), size)]


def cpu_seconds(pid):
    """Processor time of all threads of a process that has not been waited for."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # CPUCLOCK_SCHED of the process, clock_getcpuclockid(3)
    except OSError:  # it has ended
        return float("inf")


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def until_worked(p, seconds):
    """Waits until the process has used so much of the processor. -> what it had used, or None when it ended before."""
    while p.poll() is None:
        worked = cpu_seconds(p.pid)
        if seconds <= worked < float("inf"):
            return worked
        time.sleep(0.004)
    return None


def until_it_waits(p):
    """A run has begun to wait when it uses the processor for less than a tenth of the time."""
    used, still, until = 0, 0, time.monotonic() + SECONDS
    while still < 4 and p.poll() is None and time.monotonic() < until:
        now = cpu_seconds(p.pid)
        still = still + 1 if now - used < 0.005 and now > 0.001 else 0
        used = now
        time.sleep(0.05)


def limited(stack=None, memory=None, files=None, file_size=None):
    """A preexec_fn that sets limits of the process."""
    def limits():
        for what, n in ((resource.RLIMIT_STACK, stack), (resource.RLIMIT_AS, memory), (resource.RLIMIT_NOFILE, files), (resource.RLIMIT_FSIZE, file_size)):
            if n:
                resource.setrlimit(what, (n, n))
    return limits


def closing(*fds):
    """A preexec_fn that closes descriptors."""
    def close():
        for fd in fds:
            os.close(fd)
    return close


# --- what is left behind ---------------------------------------------------------------------------------------------


def descendants(pid=None):
    """Processes that this one started, and those that these started. Orphans are among them, because Runs makes this process their parent."""
    found, parents = [], [pid or os.getpid()]
    while parents:
        parent = parents.pop()
        try:
            tasks = os.listdir("/proc/%d/task" % parent)
            mine = [int(p) for t in tasks for p in pathlib.Path("/proc/%d/task/%s/children" % (parent, t)).read_text().split()]
        except OSError:
            continue
        parents += mine
        found += mine
    return found


def running(pids):
    """pid and command of those that have not ended."""
    found = []
    for pid in pids:
        try:
            if ") Z" not in pathlib.Path("/proc/%d/stat" % pid).read_text():
                found.append("%d %s" % (pid, pathlib.Path("/proc/%d/cmdline" % pid).read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")))
        except OSError:
            pass
    return found


def journal_is_whole(path):
    db = sqlite3.connect(str(path))
    try:
        found = db.execute("pragma integrity_check").fetchall()
    except sqlite3.Error as e:
        found = e
    finally:
        db.close()
    return found == [("ok",)], found


OUT = ("", "line one", "line one\n", "line oneline two", "line one\nline two", "line one\nline two\n")


def is_whole(folder):
    """What a run may leave: whole files or none. -> what is not whole, or None."""
    for p in folder.iterdir():
        if p.name.endswith(".tmp"):
            return "temporary file " + p.name
        if p.name == "trace.json":
            try:
                json.loads(p.read_text("utf-8"))
            except ValueError as e:
                return "trace.json: %s" % e
        if p.name == "journal.db":
            ok, found = journal_is_whole(p)
            if not ok:
                return "journal.db: %s" % found
        if p.name == "out.txt" and p.read_text("utf-8") not in OUT:
            return "out.txt holds %r" % p.read_text("utf-8")
    return None


class Runs:
    """Runs of programs of which nothing may be left but whole files."""

    def __init__(self, pdl):
        self.pdl = pdl
        isolate.begin()  # orphans become children of this process

    def start(self, folder, program, args=(), limits=None, **kw):
        self.known = set(descendants())
        for name, content in {"main.pdl": program, **FILES}.items():
            (pathlib.Path(folder) / name).write_text(content)
        kw.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen([self.pdl, *args, "main.pdl"], cwd=folder, env={**os.environ, **kw.pop("env", {})}, preexec_fn=limits, **kw)

    def count(self):
        """How many processes there are of the run, itself and those that have ended included."""
        return sum(p not in self.known for p in descendants())

    def started(self):
        """What the run has started and has not ended, and the run itself."""
        return running(p for p in descendants() if p not in self.known)

    def clean(self, title, folder):
        """Nothing is left but whole files."""
        end = time.monotonic() + 5
        while (left := self.started()) and time.monotonic() < end:
            time.sleep(0.01)
        check(title + ": no process is left", not left, "\n".join(left))
        broken = is_whole(pathlib.Path(folder))
        check(title + ": files are whole", broken is None, broken)

    @staticmethod
    def finished(p, title):
        try:
            out, err = p.communicate(timeout=SECONDS)
            return p.returncode, out or b"", (err or b"").decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGKILL)
            p.communicate()
            check(title + ": ends within %d s" % SECONDS, False)
            return "time-out", b"", ""

    def case(self, title, program, status, err_has="", out_has=b"", args=(), limits=None, **kw):
        with tempfile.TemporaryDirectory() as d:
            kw.setdefault("stdout", subprocess.PIPE)
            kw.setdefault("stderr", subprocess.PIPE)
            got, out, err = self.finished(self.start(d, program, args, limits, **kw), title)
            check(title, got in (status if isinstance(status, tuple) else (status,)) and err_has in err and out_has in out,
                  "exit status %s\n%s\n%s" % (got, out[:300], err[:600]))
            self.clean(title, d)
