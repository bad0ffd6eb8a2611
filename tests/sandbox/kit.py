# SPDX-License-Identifier: Apache-2.0
"""The helpers of the tests of the sandbox: its strengths and back ends, which of them a run uses for each row, and how commands are started."""
import collections
import os
import subprocess
import sys

import pytest

from ..harness.choice import Choice, number

# more: options behind --sandbox
Strength = collections.namedtuple("Strength", "name env more")
STRENGTHS = [Strength("full, bubblewrap", {"PDL_SANDBOX_BACKEND": "bwrap"}, []), Strength("full, native", {"PDL_SANDBOX_BACKEND": "native"}, []),
             Strength("process", {"PDL_SANDBOX_WITHOUT": "userns"}, ["--sandbox-min", "process"])]
# A Python that starts fast: it does not look for the packages of the user and of the site. It leaves no bytecode.
PYTHON = [sys.executable, "-I", "-S", "-B"]


def python_line(text=""):
    """The same as words of a shell."""
    return " ".join(PYTHON) + text


def sampled():
    """Does this run take a part of the rows, as `test` does?"""
    return not Choice.rest and (Choice.tier in ("check", "test") or Choice.sanitized)


def turn(row, strengths=STRENGTHS):
    """The strengths at which this run makes a row: `test` makes one row in two, at one of them, which the commit draws; `test-all` the others as well."""
    turns, which = divmod(number(row), len(strengths)) if strengths else (1, 0)
    drawn = [strengths[which]] if turns % 2 == 0 else []
    return drawn if sampled() else [s for s in strengths if s not in drawn or not Choice.rest]


def every(rest=False):
    """The strengths of a row that differs between them: all in `test`, none in what `test-all` adds to it."""
    return [] if Choice.rest else STRENGTHS


def in_turn(rows, strength, name=str, applies=None, differs=None):
    """The rows that this run makes at a strength.

    applies: function of a row and a strength. differs: function of a row, whether `test` has to make it at every strength."""
    found = []
    for row in rows:
        able = [s for s in STRENGTHS if applies is None or applies(row, s)]
        if strength in (every() if differs and differs(row) else turn(name(row), able)) and strength in able:
            found.append(row)
    return found


def in_pairs(names, strengths=STRENGTHS, only_all=()):
    """For a short table: an item for each row and strength that this run makes, with the arguments row, its name, and strength.

    strengths: those of all rows, or a function of a row that gives them. only_all: strengths at which the rows cost so much that `test` leaves all of them out."""
    def able(n):
        return [s for s in (strengths(n) if callable(strengths) else strengths) if s not in only_all]
    pairs = [(n, s) for n in names for s in turn(n, able(n)) + ([] if sampled() else list(only_all))]
    rows = [pytest.param(n, s, id="%s, %s" % (n, s.name.split(", ")[-1]), marks=pytest.mark.draws) for n, s in pairs]
    return pytest.mark.parametrize("row, strength", rows, indirect=["strength"])


def command_of(pdl):
    """The helper that confines: sanitizers reserve more address space than it leaves to itself."""
    return pdl.replace("-asan/", "/")


def environment(env, **more):
    """What a run of the tests sees: nothing of the caller's choice of sandbox and policy."""
    e = {**os.environ, **env, **more}
    for name in ("PDL_SANDBOX", "PDL_POLICY"):
        if name not in env and name not in more:
            e.pop(name, None)
    return e


def run(argv, cwd, env, timeout=120, **more):
    """-> what a command said and how it ended, as texts."""
    return subprocess.run([str(a) for a in argv], cwd=cwd, env=environment(env), capture_output=True, text=True, timeout=timeout, check=False,
                          **{"stdin": subprocess.DEVNULL, **({} if "input" not in more else {"stdin": None}), **more})


def why_not(pdl, strength, folder):
    """None where this machine has the strength, else what the command says."""
    (folder / "able.pdl").write_text("text: {lang: command, args: [echo, hi]}")
    r = run([pdl, "--sandbox", *strength.more, "able.pdl"], folder, strength.env)
    (folder / "able.pdl").unlink()
    return None if r.returncode == 0 and "hi" in r.stdout else r.stderr.strip()[-200:]
