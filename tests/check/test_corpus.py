#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_corpus.py BUILD -- `pdl check` on programs that are known to be right, or wrong.

No false alarm: a program of the kit that succeeds, and every program of lib/ and examples/, has no error. Nothing overlooked: every program
of the kit's areas error_* has one, but those of RUN_TIME, whose mistake is not in the text.
Last line: `N passed, N failed`.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import check, finish  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
KIT = ROOT / "tests/conformance/programs"
RUN_TIME = {"error_runtime/in_python_line",  # a KeyError of Python
            "error_runtime/recursion_limit"}


def found_in(pdl, path, wrong):
    options = ["-d", "nobody_reads_this=1"] if wrong else []  # then undefined names are errors
    env = {**os.environ, "PDL_PATH": str(ROOT / "lib")}
    r = subprocess.run([pdl, "check", "--format", "json", *options, "./" + path.name], cwd=path.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, text=True, env=env, timeout=300)
    if r.returncode not in (0, 1):
        return ["status %d: %s" % (r.returncode, r.stderr)]
    found = [json.loads(line) for line in r.stdout.splitlines()]
    return ["%(file)s:%(line)d %(code)s: %(message)s" % d for d in found if d["severity"] == "error"]


def kit():
    """(name, program, must it have an error; None: it may)"""
    for case in sorted(KIT.glob("*/*/case.json")):
        name = "/".join(case.parts[-3:-1])
        program = case.parent / json.loads(case.read_text("utf-8")).get("file", "main.pdl")
        golden = case.parent / "golden.json"
        if not program.is_file() or not golden.is_file():
            continue
        if json.loads(golden.read_text("utf-8")).get("exit", 0) == 0:
            yield name, program, False
        elif name.startswith("error_"):
            yield name, program, name not in RUN_TIME


def ours():
    for folder in ("lib", "examples", "src/cli/templates"):
        for path in sorted((ROOT / folder).rglob("*.pdl")):
            yield str(path.relative_to(ROOT)), path, False


def main():
    pdl = str(pathlib.Path(sys.argv[1]).resolve() / "pdl")
    rows = [*kit(), *ours()]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (name, _, wrong), found in zip(rows, pool.map(lambda row: found_in(pdl, row[1], row[2]), rows)):
            ok = bool(found) if wrong else not found or wrong is None
            if wrong is False and name.startswith("error_"):
                ok = True  # a mistake that the text does not show
            check(name, ok, found or "no error is found")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
