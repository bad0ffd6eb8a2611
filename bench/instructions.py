#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""instructions.py -- what whole programs cost in instructions, which other work of the machine does not change: --pdl CMD [--against CMD].

Each program runs once under valgrind --tool=callgrind. With --against the same for another build, and the difference; more than 1 % more is a failure.
What a unit costs is without the start of the process. Prints rows of the table of docs/benchmarks.md. Needs valgrind and ../shared/bench.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from harness import ROOT, SHARED
from program_rows import environment, find, pdl_argv, write_modules

MOST = 1.01
# name, program, variables, units in it, what a unit is
WORK = [
    ("hello", "hello.pdl", "", 0, ""),
    ("function calls, fib 25", "fib.pdl", "n: 25", 242785, "call"),
    ("recursion, 10 000 deep", "depth.pdl", "n: 10000", 10000, "level"),
    ("loop, 100 000 iterations", "loop.pdl", "n: 100000", 100000, "iteration"),
    ("accumulate, 100 000 iterations", "accumulate.pdl", "n: 100000", 100000, "iteration"),
    ("chat, 2 000 turns", "chat.pdl", "n: 2000", 2000, "turn"),
    ("5 000 definitions", "defs.pdl", "", 5000, "definition"),
    ("import of every module of the library", "modules.pdl", "", 0, ""),
    ("JSONL, 200 000 rows", "jsonl.pdl", "", 200000, "row"),
    ("template of 200 rows, 1 000 times", "templates.pdl", "", 1000, "template"),
    ("simple expression, 100 000 times", "expressions.pdl", "", 100000, "expression"),
]


def count(command, program, data, folder):
    path = find(program, folder)
    p = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *pdl_argv([str(pathlib.Path(command).resolve())], path, data)], cwd=folder, env=environment(),
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    found = re.search(r"Collected : (\d+)", p.stderr)
    if p.returncode or not found:
        sys.exit("%s: exit status %d\n%s" % (program, p.returncode, p.stderr[-1500:]))
    return int(found.group(1))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--pdl", default=str(ROOT / "build" / "pdl"))
    ap.add_argument("--against")
    a = ap.parse_args()
    failed = start = 0
    with tempfile.TemporaryDirectory(prefix="pdl_instructions_") as d:
        folder = pathlib.Path(d)
        subprocess.run([sys.executable, str(SHARED / "gen.py"), d], check=True)
        write_modules(folder / "modules.pdl")
        shutil.copy(SHARED / "jsonl.pdl", folder)  # reads the file beside it
        for name, program, data, units, unit in WORK:
            n = count(a.pdl, program, data, folder)
            start = start or n
            each = "%s per %s" % (format((n - start) // units, ",").replace(",", " "), unit) if units else ""
            more = ""
            if a.against:
                before = count(a.against, program, data, folder)
                more = " %+.2f %% |" % (100 * n / before - 100)
                failed += n > MOST * before
            print("| %s | %.2f million | %s |%s" % (name, n / 1e6, each, more), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
