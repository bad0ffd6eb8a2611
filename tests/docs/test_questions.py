# SPDX-License-Identifier: Apache-2.0
"""questions.md: each question is answered on the page that it names, and that page is at most two steps from the contents. The glossary leads from
the words of other tools to a section."""
import re
import sys

from ..checks import check
from ..harness.choice import ROOT

HERE = ROOT / "tests" / "docs"
sys.path.insert(0, str(ROOT / "tools"))
import pages  # noqa: E402


def rows():
    return re.findall(r"^\| ([^|]+\?|[^|]+\. [^|]+\?) \| \[[^\]]*\]\(([^)]+)\) \| (.+?) \| ([^|]+) \| (?:\d+|contents) \|$", (HERE / "questions.md").read_text("utf-8"), re.M)


def test_questions():
    found = rows()
    check("forty questions, and twenty of a second reader", len(found) == 60, len(found))
    check("no question twice", len({q for q, *_ in found}) == len(found))
    index = (ROOT / "docs" / "manual" / "index.md").read_text("utf-8")
    near = index + (ROOT / "docs" / "manual" / "messages.md").read_text("utf-8")
    for question, target, words, _ in found:
        page = (HERE / target).resolve()
        text = " ".join(page.read_text("utf-8").split()).replace("`", "") if page.is_file() else ""
        check(question, " ".join(words.split()).replace("`", "") in text, "%s does not say: %s" % (page.name, words))
        check("%s: the contents lead to %s" % (question, page.name), "(%s" % page.name in near)


def test_words():
    rows = pages.called()
    text = pages.page_file("manual/glossary").read_text("utf-8")
    words = [w for found, _, _ in rows for w in found]
    check("every row of the table is read", len(rows) == text[text.index("## " + pages.CALLED):].count("\n| ") - 1, len(rows))
    places = {}
    for i, (found, _, _) in enumerate(rows):
        for w in found:
            places.setdefault(re.sub(r"\W+", "_", w), set()).add(i)
    check("no word leads to two places", all(len(to) == 1 for to in places.values()), [w for w, to in places.items() if len(to) > 1])
    check("words are in small letters", all(w == w.lower().strip() and w for w in words))
    for found, page, anchor in rows:
        to = pages.names((ROOT / "docs" / page).read_text("utf-8"))
        check("%s: %s#%s" % (found[0], page, anchor), not anchor or anchor in to)
