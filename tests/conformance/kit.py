# SPDX-License-Identifier: Apache-2.0
"""Runs cases of the kit as checks. known-failures.txt has one case id on each line (PART/...), and may only become shorter. A listed case that fails
counts as skipped, and a listed case that passes is a failure."""
import os
import pathlib

from ..checks import add, check
from ..harness.choice import ROOT

HERE = pathlib.Path(__file__).resolve().parent
THIRD_PARTY = pathlib.Path(os.environ.get("PDL_THIRD_PARTY") or ROOT.parent / "shared" / "conformance" / "third_party")


def known_failures():
    lines = (HERE / "known-failures.txt").read_text("utf-8").splitlines()
    return [x for x in (line.strip() for line in lines) if x and not x.startswith("#")]


KNOWN = frozenset(known_failures())


def case(name, ok, *why):
    """One check; its title is the id of the case."""
    if name not in KNOWN:
        check(name, ok, *why)
    elif ok:
        check(name, False, "passes but is listed in known-failures.txt: remove the line")
    else:
        add(skipped=1)
