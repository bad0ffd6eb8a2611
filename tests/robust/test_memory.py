# SPDX-License-Identifier: Apache-2.0
"""test_memory.py -- memory runs out at the nth allocation of a program. The run then succeeds or ends with one clean message, no file is half
written, and no child is left.

PDL_STRESS=alloc:N fails our own allocations; a preloaded malloc also fails those of the libraries. The first forty allocations are tried, and a
selection of the rest (`test` takes every third of them); `soak` tries all of them.
"""
import os
import shutil
import subprocess

import pytest

from ..checks import check, skip
from ..harness.choice import Choice
from .kit import SECONDS, is_whole
from .programs import FILES, PROGRAMS

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


pytestmark = pytest.mark.seconds(7200 if Choice.tier == "soak" else 240)
OPTIONS = [[], ["-t", "trace.json"], ["--record", "journal.db"]]


class Sweep:
    """One program, whose allocations fail one after the other. env_of: the number of an allocation -> variables of the environment."""

    def __init__(self, pdl, folder, name, env_of, part):
        self.pdl, self.folder, self.name, self.env_of, self.part = pdl, folder, name, env_of, part
        self.args = OPTIONS[list(PROGRAMS).index(name) % 3]
        for file, content in {"main.pdl": PROGRAMS[name], **FILES}.items():
            (folder / file).write_text(content)
        self.given = set(os.listdir(folder))
        self.usual = self.run({})

    def run(self, env):
        """-> exit status, output, errors, what is not whole"""
        try:
            p = subprocess.run([self.pdl, *self.args, "main.pdl"], cwd=self.folder, env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                               capture_output=True, timeout=SECONDS, check=False)
            status, out, err = p.returncode, p.stdout, p.stderr.decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            status, out, err = "time-out", b"", ""
        broken = is_whole(self.folder)
        for name in set(os.listdir(self.folder)) - self.given:
            (self.folder / name).unlink()
        return status, out, err, broken

    def one(self, n):
        """-> did the allocation happen?"""
        env = self.env_of(n)
        status, out, err, wrong = self.run(env)
        ran_out = "memory" in err.lower()
        if status not in (0, 1, 2):
            wrong = "exit status %s" % status
        elif status and status != self.usual[0] and not err.strip():
            wrong = "exit status %s without a message" % status
        elif "Traceback" in err and "pdl: error" not in err and "Python Code error" not in err:
            wrong = "a trace"
        elif err.count("out of memory") > 1:
            wrong = "several messages"
        check("%s %s: allocation %d" % (self.name, env, n), not wrong, wrong, "\n" + err[:600])
        return ran_out or (status, out) != self.usual[:2]

    def all(self):
        total, quiet = 1, 0  # libraries do without some allocations
        while total < 1 << 22 and quiet < 3:
            quiet = 0 if self.one(total) else quiet + 1
            total *= 2
        total >>= 3
        step = 1 if Choice.tier == "soak" else max(1, total // 50)
        for n in self.part(sorted(set(range(1, 41)) | set(range(41, total, step))), 3, lambda n: "%s %d" % (self.name, n)):
            self.one(n)


@pytest.mark.parametrize("name", PROGRAMS)
def test_our_allocations(pdl, folder, part, scale, name):
    Sweep(pdl, folder, name, lambda n: {"PDL_STRESS": "alloc:%d" % n}, part).all()


@pytest.mark.parametrize("name", list(PROGRAMS)[::4])
def test_all_allocations(pdl, folder, part, scale, name):
    so = shim(folder.parent)
    if so:
        Sweep(pdl, folder, name, lambda n: {"LD_PRELOAD": str(so), "FAIL_AT": str(n)}, part).all()
    else:
        skip("allocations of libraries", "there is no C compiler")


def shim(folder):
    cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    source, so = folder / "shim.c", folder / "shim.so"
    source.write_text(SHIM)
    ok = cc and subprocess.run([cc, "-shared", "-fPIC", "-O1", "-o", str(so), str(source)], check=False).returncode == 0
    return so if ok else None
