# SPDX-License-Identifier: Apache-2.0
"""Shows what the processes of an item were doing when its time was over.

A command that does not end may wait for a peer, for a lock or for the processor, and the next run may not show it again. So the state of each process
is printed before any of them is killed.
"""
import os
import pathlib
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")
LONG = 20  # seconds: who waits for less expects that it may be too short


def text(pid, name):
    try:
        return pathlib.Path("/proc/%s/%s" % (pid, name)).read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def children(pid):
    return [child for task in pathlib.Path("/proc/%s/task" % pid).glob("*/children") for child in text(task.parent.parent.parent.name, "task/%s/children" % task.parent.name).split()]


def described(pid):
    """One line for each thread: state, seconds of the processor, what the kernel does for it."""
    lines = ["process %s: %s" % (pid, text(pid, "cmdline").replace("\0", " ")[:200])]
    for task in sorted(pathlib.Path("/proc/%s/task" % pid).glob("[0-9]*"))[:20]:
        name, _, rest = text(pid, "task/%s/stat" % task.name).partition("(")[2].rpartition(")")
        fields = rest.split()
        if len(fields) > 13:
            seconds = (int(fields[11]) + int(fields[12])) / TICKS
            lines.append("  %s %s: %s, %.1f s, in %s, system call %s" % (
                task.name, name, fields[0], seconds, text(pid, "task/%s/wchan" % task.name) or "?", text(pid, "task/%s/syscall" % task.name)[:60]))
    return lines


def tree(pid, most=40):
    """-> lines about a process and all that descend from it"""
    lines, waiting = [], [str(pid)]
    while waiting and most:
        one, most = waiting.pop(0), most - 1
        lines += described(one)
        waiting += children(one)
    return lines


def watch_timeouts():
    """In the process of an item: a command whose time is over is described before whoever waited for it kills it."""
    for name in ("_check_timeout", "wait"):
        setattr(subprocess.Popen, name, describing(getattr(subprocess.Popen, name)))


def describing(method):
    def noted(self, *args, **kwargs):
        begun = time.monotonic()
        try:
            return method(self, *args, **kwargs)
        except subprocess.TimeoutExpired as late:
            if max(late.timeout, time.monotonic() - begun) >= LONG:
                print("\n".join(["its time is over, and these run:", *tree(os.getpid())]), flush=True)
            raise
    return noted
