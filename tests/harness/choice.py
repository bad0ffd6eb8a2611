# SPDX-License-Identifier: Apache-2.0
"""Decides what a run takes: the build folder, the tier, the scale, and which part of long lists of rows.

`test` takes a sample of the items that take long, and `test-all` takes the rest, so that the two together leave nothing out. Rows are drawn by a hash
of their name and of the commit: each commit draws another part, and every machine draws the same part.
"""
import functools
import hashlib
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEAR_TURNS = 20  # of the items of a test in dear.json, `test` takes one in so many for each second of processor time that an item takes
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
    return every * 2


def drawn(name, every):
    """Is the row of this name among the one in `every` that the tier `test` takes?"""
    return number(name) % every == 0


def taken(name, every):
    """Is the row of this name taken by this run?"""
    every = sparser(every)
    if Choice.rest:
        return not drawn(name, every)
    return Choice.tier in ("all", "soak") and not Choice.sanitized or drawn(name, every)


@functools.lru_cache(None)
def dear():
    """Names of the tests whose items take 0.4 seconds of processor time and more, and how many on average. `tools/test dear` writes the file."""
    return json.loads(pathlib.Path(__file__).with_name("dear.json").read_text("utf-8"))


def dear_turns(item):
    """How many commits it takes on average until `test` takes the item: the dearer it is, the more, so that the sum varies little."""
    return max(1, round(DEAR_TURNS * dear().get(item.split("[")[0], 0)))


def first_names(rows, every, name):
    """The names of the rows that `test` takes, at least one of them."""
    names = [str(name(row)) for row in rows]
    return {n for n in names if drawn(n, sparser(every))} or set(names and [min(names, key=number)])


def is_whole():
    return Choice.tier in ("all", "soak") and not Choice.sanitized


def takes(rows, every, name):
    """The rows that this run takes."""
    rows = list(rows)
    if is_whole() and not Choice.rest:
        return rows
    first = first_names(rows, every, name)
    return [row for row in rows if (str(name(row)) in first) != Choice.rest]


def sample(rows, every, name=None):
    """rows -> parameters for pytest.mark.parametrize: one in `every` of them in `test`, the others in `test-all`.

    name: function of a row that gives its name; without it the row itself or its first element is its name. The marker says whether `test` takes
    the row; `has_turn` of conftest.py leaves out more where an item of the test is dear."""
    name = name or (lambda row: row[0] if isinstance(row, (tuple, list)) else row)
    rows = list(rows)
    first = first_names(rows, every, name)
    return [pytest.param(*(row if isinstance(row, tuple) else (row,)), id=str(name(row)), marks=pytest.mark.sampled(str(name(row)) in first))
            for row in rows if is_whole() or str(name(row)) in first]


def part(rows, every, name=str):
    """The same for a loop inside of one test: the rows that this run takes. Tests ask for it as the fixture `part`."""
    return takes(rows, every, name)


def scaled(n, least=1):
    """n is the figure of `test-all`: `test` takes a tenth, `soak` ten times as many. Tests ask for it as the fixture `scale`."""
    return max(least, int(n * Choice.scale))
