# SPDX-License-Identifier: Apache-2.0
"""Measures the resources of a command, with a small process that starts it.

Until a child executes another program, the kernel counts the memory of its parent for the peak of the child, and it keeps the larger of both. Under
pytest every command would therefore seem to take 40 MB or more.
"""
import json
import os
import subprocess
import sys

WATCH = """
import json, os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(pid, 0)
with open(int(sys.argv[1]), "w") as f:
    json.dump([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss << 10], f)
"""


def run(argv, timeout=300, **kw):
    """-> exit status, seconds of the processor, the most memory in bytes, output, errors; kw: of subprocess.Popen."""
    r, w = os.pipe()
    try:
        kw = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kw}
        p = subprocess.run([sys.executable, "-I", "-S", "-c", WATCH, str(w), *map(str, argv)], pass_fds=[w], timeout=timeout, check=False, **kw)
        os.close(w)
        w = None
        with open(r, encoding="utf-8", closefd=False) as f:
            told = f.read()
    finally:
        for fd in (r, w):
            if fd is not None:
                os.close(fd)
    if not told:
        raise RuntimeError("%s was not started: %r" % (argv[0], p.stderr))
    return (*json.loads(told), p.stdout, p.stderr)
