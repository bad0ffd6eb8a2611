# SPDX-License-Identifier: Apache-2.0
"""A conversation that the pages and examples show sends no message that is only a line break, because text for the terminal is contributed to the
result alone."""
import re

from ..checks import check
from ..harness.choice import ROOT

PAGES = sorted((ROOT / "docs").rglob("*.md")) + [ROOT / "README.md"] + sorted((ROOT / "examples").rglob("*.pdl")) + sorted((ROOT / "lib").rglob("*.pdl"))


def bare(text):
    """Lines `- "\\n"` beside a model in a loop."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        m = re.match(r'( *)- "(\\n)+"$', line)
        if not m:
            continue
        model = loop = False
        for above in reversed(lines[:i]):
            indent = len(above) - len(above.lstrip())
            if above.startswith("```"):
                break
            if indent >= len(m.group(1)):
                model = model or re.match(r" *(- )?model:", above)
            loop = loop or (indent <= len(m.group(1)) and re.match(r" *(- )?repeat:", above))
        if model and loop:
            yield i + 1


def test_loops():
    for page in PAGES:
        found = list(bare(page.read_text("utf-8")))
        check("%s: loops send no empty message" % page.relative_to(ROOT), not found, found)
    check("one is found", list(bare('repeat:\n  text:\n  - model: a\n  - "\\n"\n')) == [4])
