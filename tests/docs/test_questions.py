# SPDX-License-Identifier: Apache-2.0
"""questions.md: each of the forty questions is answered on the page that it names, and that page is two steps from the contents."""
import re

from ..checks import check
from ..harness.choice import ROOT

HERE = ROOT / "tests" / "docs"


def rows():
    return re.findall(r"^\| ([^|]+\?|[^|]+\. [^|]+\?) \| \[[^\]]*\]\(([^)]+)\) \| (.+?) \| ([^|]+) \| (?:\d+|contents) \|$", (HERE / "questions.md").read_text("utf-8"), re.M)


def test_questions():
    found = rows()
    check("forty questions", len(found) == 40, len(found))
    check("no question twice", len({q for q, *_ in found}) == len(found))
    index = (ROOT / "docs" / "manual" / "index.md").read_text("utf-8")
    near = index + (ROOT / "docs" / "manual" / "messages.md").read_text("utf-8")
    for question, target, words, _ in found:
        page = (HERE / target).resolve()
        text = " ".join(page.read_text("utf-8").split()).replace("`", "") if page.is_file() else ""
        check(question, " ".join(words.split()).replace("`", "") in text, "%s does not say: %s" % (page.name, words))
        check("%s: the contents lead to %s" % (question, page.name), "(%s" % page.name in near)
