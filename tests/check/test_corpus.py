# SPDX-License-Identifier: Apache-2.0
"""`pdl check` on programs that are known to be right or wrong.

There are no false alarms: no program of the kit that succeeds, and no program of lib/ and examples/, has an error. Nothing is overlooked: every
program in the kit's areas error_* has an error, except those in RUN_TIME, whose mistake is not in the text.
"""
import os
import pathlib
import tempfile

from .kit import reports
from ..checks import check
from ..conformance import run as kit
from ..harness.choice import ROOT

RUN_TIME = {"error_runtime/in_python_line",  # a KeyError of Python
            "error_runtime/recursion_limit"}


def of_the_kit():
    """(name, program, must it have an error; None: it may)"""
    root = pathlib.Path(tempfile.mkdtemp())
    for case in kit.load_cases([kit.DEFAULT_ROOT]):
        program, golden = root / case.area / case.name / case.file(), case.golden()
        if case.file() not in case.files() or not golden:
            continue
        case.write(root / case.area / case.name)
        if golden.get("exit", 0) == 0:
            yield case.id, program, False
        elif case.area.startswith("error_"):
            yield case.id, program, case.id not in RUN_TIME


def ours():
    for folder in ("lib", "examples", "src/apps/cli/templates"):
        for path in sorted((ROOT / folder).rglob("*.pdl")):
            yield str(path.relative_to(ROOT)), path, False


def judge(pdl, rows, wrong):
    """Rows that must have an error, or the others, in one call."""
    rows = [row for row in rows if bool(row[2]) == wrong]
    options = ["-d", "nobody_reads_this=1"] if wrong else []  # then undefined names are errors
    names = {name: os.path.relpath(path, ROOT) for name, path, _ in rows}
    found, _ = reports(pdl, names.values(), ROOT, *options, env={"PDL_PATH": str(ROOT / "lib")})
    for name, path, _ in rows:
        shown = ["%(line)d %(code)s: %(message)s" % d for d in found[names[name]] if d["severity"] == "error"]
        ok = bool(shown) if wrong else not shown or name.startswith("error_")  # else a mistake that the text does not show
        check(name, ok, shown or "no error is found")


def test_no_false_alarm(pdl):
    judge(pdl, [*of_the_kit(), *ours()], False)


def test_nothing_is_overlooked(pdl):
    judge(pdl, of_the_kit(), True)
