# SPDX-License-Identifier: Apache-2.0
"""The share of the patterns' requests that a prompt cache finds (spec know 1): nine tenths of each later request, or a row of the page says how much
and why."""
import json
import re
import subprocess

from ..checks import check
from ..harness.choice import ROOT

ROW = re.compile(r"^\| `(?:lib/)?(?:\w+/)?(\w+)` \| (\d+) % \| (.+) \|$", re.M)
PATTERNS = ROOT / "examples" / "patterns"


def test_beginnings_are_shared(pdl):
    page = (ROOT / "docs" / "manual" / "patterns.md").read_text("utf-8")
    said = {name: int(n) for name, n, why in ROW.findall(page.split("## What a prompt cache finds of them", 1)[1].split("\n## ", 1)[0])}
    found = {}
    for path in sorted(PATTERNS.glob("*.journal")):
        p = subprocess.run([pdl, "trace", "--prefix", path, "--json"], capture_output=True, text=True, timeout=60, check=False)
        check("%s is reported" % path.stem, p.returncode == 0, p.stderr)
        r = json.loads(p.stdout)
        later = [c for c in r["calls"] if c["shared"]["call"] is not None]
        check("%s loses nothing" % path.stem, r["total"]["lost"]["tokens"] == 0, r["total"])
        if later:
            found[path.stem] = 100 * sum(c["shared"]["bytes"] for c in later) // sum(c["bytes"] for c in later)
    less = {name: n for name, n in found.items() if n < 90}
    check("the page has those that share less, and no others", less == said, less, said)
    check("there are enough of the others", len(found) - len(less) >= 5, found)
