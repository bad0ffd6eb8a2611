# SPDX-License-Identifier: Apache-2.0
"""What a run takes: build folder, tier, scale, and which part of long lists of rows.

`test` samples what takes long, and `test-all` does the rest, so that over both nothing is left out. Rows are drawn by a hash of their
name and of the commit: each commit draws another part, and every machine the same one.
"""
import hashlib
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCALES = {"check": 0.1, "test": 0.1, "all": 1.0, "soak": 10.0}


def source(name):
    """The file ROOM/NAME below src/, in whatever wing the room lies; a path that is not there where there is none."""
    return next((ROOT / "src").glob("*/" + name), ROOT / "src" / name)


class Choice:
    """The options, for modules as well, which have no fixtures while they are collected. Set by conftest.py before anything is collected."""
    build = ROOT / "build"
    tier = "test"
    rest = False        # only what the tier `test` left out
    scale = 0.1
    seed = ""
    fetch = False       # packages of hundreds of megabytes may be fetched
    sanitized = False   # the build folder holds a sanitizer build


def begin(config):
    Choice.build = (ROOT / config.getoption("build")).resolve()
    Choice.tier = config.getoption("tier")
    Choice.rest = config.getoption("rest")
    Choice.fetch = config.getoption("fetch")
    Choice.sanitized = Choice.build.name.endswith("-asan")
    Choice.scale = config.getoption("scale") or (0.1 if Choice.sanitized else SCALES[Choice.tier])
    if not config.getoption("seed"):
        config.option.seed = commit()  # workers get the options of the process that starts them
    Choice.seed = config.getoption("seed")


def commit():
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    return found.stdout.strip() or "none"


def number(name):
    """A number that the commit gives to a name."""
    return int.from_bytes(hashlib.sha256((Choice.seed + "\0" + str(name)).encode()).digest()[:4], "big")


def sparser(every):
    """What suites ask for, and how many rows there are of one that `make test` takes: the tables have grown, its time has not."""
    return every + every // 2


def drawn(name, every):
    """Is the row of this name among the one in `every` that the tier `test` takes?"""
    return number(name) % every == 0


def taken(name, every):
    """Is the row of this name taken by this run?"""
    every = sparser(every)
    if Choice.rest:
        return not drawn(name, every)
    return Choice.tier in ("all", "soak") and not Choice.sanitized or drawn(name, every)


def takes(rows, every, name):
    """The rows that this run takes. `test` takes at least one of them."""
    rows, every = list(rows), sparser(every)
    names = [str(name(row)) for row in rows]
    first = {n for n in names if drawn(n, every)} or set(names and [min(names, key=number)])
    if not Choice.rest and Choice.tier in ("all", "soak") and not Choice.sanitized:
        return rows
    return [row for row, n in zip(rows, names) if (n in first) != Choice.rest]


def sample(rows, every, name=None):
    """rows -> parameters for pytest.mark.parametrize: one in `every` of them in `test`, the others in `test-all`.

    name: function of a row that gives its name; without it the row itself or its first element is its name."""
    name = name or (lambda row: row[0] if isinstance(row, (tuple, list)) else row)
    return [pytest.param(*(row if isinstance(row, tuple) else (row,)), id=str(name(row)), marks=pytest.mark.sampled)
            for row in takes(rows, every, name)]


def part(rows, every, name=str):
    """The same for a loop inside of one test: the rows that this run takes. Tests ask for it as the fixture `part`."""
    return takes(rows, every, name)


def scaled(n, least=1):
    """n is the figure of `test-all`: `test` takes a tenth, `soak` ten times as many. Tests ask for it as the fixture `scale`."""
    return max(least, int(n * Choice.scale))
