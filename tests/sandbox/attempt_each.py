# SPDX-License-Identifier: Apache-2.0
"""attempt_each.py FILE -- makes each attempt of FILE, a JSON list of [number, "python" or "command", text]. Each attempt has a separate process,
forked from this one. Prints [number, the output of the attempt]. So one start of Python serves all attempts, and an attempt cannot affect the
processes of others."""
import json
import os
import select
import signal
import socket  # noqa: F401  the attempts import these; now they need not each
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401
import threading  # noqa: F401
import ctypes  # noqa: F401

SECONDS = 20  # of one attempt
PARENT = os.getppid()


def attempt(kind, text, to):
    os.dup2(to, 1)
    os.close(to)
    os.getppid = lambda: PARENT  # attempts at the parent mean the process that has started the command
    try:
        if kind == "command":
            os.execv("/bin/sh", ["sh", "-c", text])
        exec(compile(text, "attempt", "exec"), {"__name__": "__main__"})
    finally:  # what it raises is not asked for
        sys.stdout.flush()
        os._exit(0)


def said(kind, text):
    """What the attempt printed; it is over when its own process has ended, whoever holds the pipe."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        attempt(kind, text, w)
    os.close(w)
    end = os.pidfd_open(pid)
    if not select.select([end], [], [], SECONDS)[0]:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.set_blocking(r, False)
    try:
        out = os.read(r, 65536)
    except BlockingIOError:
        out = b""
    os.close(r)
    os.close(end)
    return out.decode("utf-8", "replace")


with open(sys.argv[1], encoding="utf-8") as f:
    attempts = json.load(f)
for number, kind, text in attempts:
    print("[%d %s]" % (number, said(kind, text).replace("]", ")").strip()), flush=True)
