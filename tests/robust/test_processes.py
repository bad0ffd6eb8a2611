# SPDX-License-Identifier: Apache-2.0
"""test_processes.py -- code and commands that fork, detach, use all memory or run the program itself: the outcome is a typed error or a result, and
no process is left."""
import pytest

from .kit import Runs, groups


def python(code, rest=""):
    return "text:\n- lang: python\n  code: |\n%s\n%s" % ("\n".join("    " + line for line in code.split("\n")), rest)


FORK_CHAIN = """import os, time
while True:
    if os.fork():
        os._exit(0)"""
MANY = """import os, time
for _ in range(60):
    if os.fork() == 0:
        time.sleep(300)
        os._exit(0)
result = 'many'"""
ORPHANS = """import os, time
for _ in range(10):
    if os.fork() == 0:
        for _ in range(3):
            if os.fork() == 0:
                time.sleep(300)
        os._exit(0)
result = 'orphans'"""
LOOPING = """import os
for _ in range(4):
    os.fork()
while True: pass"""
EATS = "x = [0]\nwhile True: x = x + x"
EATS_IN_CHILD = """import subprocess, sys
p = subprocess.run([sys.executable, '-c', 'x = bytearray(1 << 32)'], capture_output=True, text=True)
result = p.stderr.strip().splitlines()[-1]"""
AGAIN = "- \"on\"\n"
ITSELF = "text:\n- lang: command\n  code: PDL main.pdl\n"
ITSELF_TWICE = ITSELF + "- lang: command\n  code: PDL main.pdl\n"
ITSELF_IN_CODE = python("import subprocess\nresult = subprocess.run(['PDL', 'main.pdl'], check=True, capture_output=True, text=True).stdout")
ITSELF_CAUGHT = "text:\n- {lang: command, code: PDL main.pdl, fallback: end}\n"

# title, program, exit status, what standard error says, what standard output holds
CASES = [
    ("a process that is replaced by its child for ever", python(FORK_CHAIN, AGAIN), 1, "Python Code error: the Python process ended", b""),
    ("the same, caught", python(FORK_CHAIN, "  fallback: caught\n" + AGAIN), 0, "", b"caughton"),
    ("sixty children that sleep", python(MANY, AGAIN), 0, "", b"many"),
    ("grandchildren without parents", python(ORPHANS, AGAIN), 0, "", b"orphans"),
    ("sixteen copies that loop", python(LOOPING), 1, "TimeoutError: the block ran longer than 1 seconds", b""),
    ("memory", python(EATS), 1, "MemoryError", b""),
    ("memory, caught", python(EATS, "  fallback: caught\n- {lang: python, code: result = ' and on'}\n"), 0, "", b"caught and on"),
    ("memory of a child", python(EATS_IN_CHILD), 0, "", b"MemoryError"),
    ("memory of a command", "text:\n- {args: [python3, -c, 'x = bytearray(1 << 32)']}\n", 1, "MemoryError", b""),
    ("a program that runs itself", ITSELF, 1, "programs run programs more than 100 deep", b""),
    ("a program that runs itself twice", ITSELF_TWICE, 1, "programs run programs more than 100 deep", b""),
    ("a program that runs itself, caught", ITSELF_CAUGHT, 0, "", b"end"),
]


def limits_of(title):
    """Only what never ends by itself meets the limit of time."""
    return {"PDL_CODE_TIMEOUT": "1" if "that loop" in title else "100", "PDL_CODE_MEMORY": "400"}


@pytest.mark.parametrize("cases", groups(CASES, 3))
def test_processes(pdl, cases):
    t = Runs(pdl)
    for title, program, status, says, has in cases:
        t.case(title, program.replace("PDL main", pdl + " main"), status, says, has, env=limits_of(title))


def test_code_that_runs_its_own_program(pdl):
    Runs(pdl).case("code that runs its own program", ITSELF_IN_CODE.replace("'PDL'", repr(pdl)), 1, "CalledProcessError",
                   env={**limits_of(""), "PDL_DEPTH": "95"})
