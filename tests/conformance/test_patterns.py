# SPDX-License-Identifier: Apache-2.0
"""Runs the pattern library against the conversations of the kit, patterns/MODULE.json."""
import pytest

from . import check_patterns
from .kit import HERE, case
from ..checks import check
from ..harness.choice import ROOT

GOLDENS = sorted((HERE / "patterns").glob("*.json"))


def check_conversations(part, cases, pdl, folder):
    """Runs cases one by one; also for the goldens of tests/lib."""
    o = check_patterns.options(["--pdl", pdl, "--lib", str(ROOT / "lib"), "--timeout", "120"])
    o.work = str(folder)
    server = check_patterns.Server().start()
    for number, one in enumerate(cases):
        bad = check_patterns.Run(one, number, server, o).problems
        case("%s/%s" % (part, one["id"]), not bad, one["module"], one["function"], one["note"], "\n", "\n".join(bad))
    check("there are cases", cases)


@pytest.mark.tier("test")
@pytest.mark.parametrize("path", GOLDENS, ids=lambda p: p.stem)
def test_pattern(path, pdl, folder):
    names = (path.stem, path.stem.replace("-", "/", 1))
    check("lib/ has the module", any((ROOT / "lib" / (n + ".pdl")).is_file() for n in names), names)
    check_conversations("patterns", check_patterns.load([str(path.parent)], check_patterns.options(["--module", names[0], "--module", names[1]])), pdl, folder)
