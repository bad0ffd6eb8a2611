#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_memory.py -- memory runs out at the nth allocation of a program: success or one clean message, no file half written, no child left.

    test_memory.py BUILD_DIR [--every] [PROGRAM ...]

PDL_STRESS=alloc:N fails allocations of ours; a preloaded malloc fails those of the libraries too. Without --every: the first forty and
a spread of the rest. Python standard library only. Last line: `N passed, N failed`.
"""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent)]
sys.dont_write_bytecode = True
from checks import Checks  # noqa: E402
from programs import FILES, PROGRAMS  # noqa: E402

SHIM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static atomic_long left;
__attribute__((constructor)) static void begin(void) {
    const char *n = getenv("FAIL_AT");
    left = n ? atol(n) : 0;
    unsetenv("FAIL_AT"); /* children have memory */
    unsetenv("LD_PRELOAD");
}
static void end(void) { left = 0; } /* what runs behind the end of the process is not ours: counters of lines are written there */
static int fails(void) {
    static atomic_flag first = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&first)) atexit(end); /* main has begun: this comes before the destructors */
    if (atomic_fetch_sub(&left, 1) != 1) return 0;
    errno = ENOMEM;
    return 1;
}
void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return fails() ? NULL : __libc_realloc(p, n); }
"""


def is_whole(folder):
    """What a run may leave: whole files or none."""
    for p in folder.iterdir():
        if p.name.endswith(".tmp"):
            return "temporary file " + p.name
        if p.name == "trace.json":
            try:
                json.loads(p.read_text("utf-8"))
            except ValueError as e:
                return "trace.json: %s" % e
        if p.name == "journal.db":
            db = sqlite3.connect(str(p))
            try:
                found = db.execute("pragma integrity_check").fetchall()
            except sqlite3.Error as e:
                found = e
            finally:
                db.close()
            if found != [("ok",)]:
                return "journal.db: %s" % found
        if p.name == "out.txt" and p.read_text("utf-8") not in ("", "line one", "line one\n", "line oneline two", "line one\nline two", "line one\nline two\n"):
            return "out.txt holds %r" % p.read_text("utf-8")
    return None


class Tests(Checks):
    def __init__(self, pdl):
        self.pdl = pdl

    def run(self, text, args, env):
        with tempfile.TemporaryDirectory(prefix="pdl_memory_") as d:
            work = pathlib.Path(d)
            for name, content in {"main.pdl": text, **FILES}.items():
                (work / name).write_text(content)
            try:
                p = subprocess.run([self.pdl] + args + ["main.pdl"], cwd=d, env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                                   capture_output=True, timeout=60)
                status, out, err = p.returncode, p.stdout, p.stderr.decode("utf-8", "replace")
            except subprocess.TimeoutExpired:
                status, out, err = "time-out", b"", ""
            return status, out, err, is_whole(work)

    def one(self, name, n, args, env, usual):
        """-> did the allocation happen?"""
        status, out, err, broken = self.run(PROGRAMS[name], args, env)
        ran_out = "out of memory" in err or "memory" in err.lower()
        wrong = broken
        if status not in (0, 1, 2):
            wrong = "exit status %s" % status
        elif status and status != usual[0] and not err.strip():
            wrong = "exit status %s without a message" % status
        elif "Traceback" in err and "pdl: error" not in err and "Python Code error" not in err:
            wrong = "a trace"
        elif err.count("out of memory") > 1:
            wrong = "several messages"
        self.check("%s %s: allocation %d" % (name, env, n), not wrong, wrong, "\n" + err[:600])
        return ran_out or (status, out) != usual[:2]

    def sweep(self, name, args, env_of, every):
        usual = self.run(PROGRAMS[name], args, {})
        total, quiet = 1, 0  # libraries do without some allocations
        while total < 1 << 22 and quiet < 3:
            quiet = 0 if self.one(name, total, args, env_of(total), usual) else quiet + 1
            total *= 2
        total >>= 3
        step = 1 if every else max(1, total // 50)
        for n in sorted(set(range(1, 41)) | set(range(41, total, step))):
            self.one(name, n, args, env_of(n), usual)


def shim(folder):
    cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    source, so = folder / "shim.c", folder / "shim.so"
    source.write_text(SHIM)
    ok = cc and subprocess.run([cc, "-shared", "-fPIC", "-O1", "-o", str(so), str(source)]).returncode == 0
    return so if ok else None


def main():
    every = "--every" in sys.argv
    rest = [a for a in sys.argv[1:] if a != "--every"]
    tests = Tests(str(pathlib.Path(rest[0]).resolve() / "pdl"))
    names = rest[1:] or list(PROGRAMS)
    with tempfile.TemporaryDirectory(prefix="pdl_shim_") as d:
        so = shim(pathlib.Path(d))
        for i, name in enumerate(names):
            args = [[], ["-t", "trace.json"], ["--record", "journal.db"]][i % 3]
            tests.sweep(name, args, lambda n: {"PDL_STRESS": "alloc:%d" % n}, every)
            if so and (every or i % 4 == 0):
                tests.sweep(name, args, lambda n: {"LD_PRELOAD": str(so), "FAIL_AT": str(n)}, every)
    return tests.finish()


if __name__ == "__main__":
    sys.exit(main())
