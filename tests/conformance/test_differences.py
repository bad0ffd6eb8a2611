# SPDX-License-Identifier: Apache-2.0
"""Cases of the kit that fail have a row in docs/differences.md, and their list only becomes shorter."""
import re

from .kit import known_failures
from ..checks import check
from ..harness.choice import ROOT


def test_known_failures_are_documented():
    text = (ROOT / "docs" / "differences.md").read_text("utf-8")
    rows = set(re.findall(r"^\| `(\w+/\S+)` \|", text.split("## Cases of the kit that fail")[-1], re.M))
    known = known_failures()
    for name in sorted(rows | set(known)):
        check(name, name in rows, "no row in docs/differences.md")
        check(name + " is listed", name in known, "a row of docs/differences.md that known-failures.txt does not list")
    check("known failures may only shrink", len(known) <= 1, "one case of the kit failed when this was written")
