# SPDX-License-Identifier: Apache-2.0
"""Records of many runs in a real browser: candidates of a search, rows of an evaluation, runs of a distribution. The pictures are those of the manual."""
import json
import shutil
import subprocess

import pytest

from ..harness.choice import ROOT
from .browse import PDL, View, check, picture

pytestmark = [pytest.mark.builds, pytest.mark.roomy]
WINDOW = {"viewport": {"width": 1280, "height": 800}}
VISIBLE = "[...document.querySelectorAll('%s')].some((e) => e.offsetParent)"


def test_search(b, folder):
    """The verdict first, then the candidates: a press opens one with its rows; a heading sorts; there is no empty margin and no program."""
    shutil.copytree(ROOT / "examples/optimize", folder / "search")
    made = subprocess.run([PDL, "optimize", "feelings.pdl", "--data", "reviews.csv", "--expect", "feeling", "--demos", "shots", "--cache", "feelings.cache"],
                          cwd=folder / "search", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    check("the search", made.returncode == 0, made.stderr[-300:])
    found = next((folder / "search" / "experiments").iterdir())
    scores = [c["validation"]["score"] for c in map(json.loads, (found / "candidates.jsonl").read_text().splitlines())]
    v = View(found.name, folder=folder / "search")
    b.read(v.address, WINDOW)
    b.shot(picture("search"))
    title = b.text("h1")
    text = b.text(".paper")
    heads = b.texts(".grid th > button")
    rows = b.texts(".grid tbody tr")
    empty = b.evaluate("[%s, %s, document.documentElement.scrollWidth <= innerWidth]" % (VISIBLE % ".row > .source", VISIBLE % "#show-boxes"))
    counts = b.texts(".grid .hist")
    b.resize({"width": 390, "height": 844})
    in_view = b.evaluate("[...document.querySelectorAll('.grid tr > :nth-child(4)')].every((e) => e.getBoundingClientRect().right <= document.querySelector('.scroll').getBoundingClientRect().right + 1)")
    b.resize(WINDOW["viewport"])
    b.click(".grid th:nth-child(4) > button")
    b.wait(".grid th[aria-sort=ascending]:nth-child(4)")
    b.pause(300)
    ascending = b.texts(".grid tbody tr td:nth-child(4)")
    b.click(".grid tbody .n")
    b.wait(".grid .grid")
    b.pause(300)
    opened = b.text(".grid .tool")
    wide = b.evaluate("document.querySelector('.grid .tool').getBoundingClientRect().right <= document.querySelector('.scroll').getBoundingClientRect().right")
    inner = b.count(".grid .grid tbody tr")
    b.click(".grid .grid tbody .n")
    answer = b.text(".grid .grid .use")
    problems = b.problems()
    b.resize({"width": 390, "height": 844})
    phone = b.evaluate("document.documentElement.scrollWidth <= innerWidth")
    out = b.run()
    v.end()
    check("title", out[title] == "feelings.pdl by demos", out[title])
    check("the verdict comes first", out[text].startswith("The winner is better than the program as it was."), out[text])
    check("columns", [h.strip() for h in out[heads]][:5] == ["row", "candidate", "is", "score", "changes"], out[heads])
    check("numbers are not counted below their heading", not any(c[:1].isdigit() for c in out[counts]), out[counts])
    check("the winner is first, and marked", "winner" in out[rows][0] and sum("as it was" in r for r in out[rows]) == 1, out[rows])
    check("no empty margin, no boxes, nothing sideways", out[empty] == [False, False, True], out[empty])
    check("sorted by score", out[ascending] == ["%g" % round(s, 3) for s in sorted(scores)], out[ascending], scores)
    check("what is opened is as wide as the table's part in view", out[wide] is True)
    check("an opened candidate has its rows", out[opened].startswith("candidate ") and out[inner] >= 20, out[opened][:200], out[inner])
    check("an opened row has its answer and score", "feelings.pdl" in out[answer] and "Score" in out[answer], out[answer])
    check("nothing sideways on a phone", out[phone] is True)
    check("the scores are in view on a phone", out[in_view] is True)
    check("no errors in the page", out[problems] == [], out[problems])


PHONE = {"viewport": {"width": 390, "height": 844}, "hasTouch": True, "isMobile": True}


def test_evaluation_on_a_phone(b, folder):
    """The verdict of a row is in view however long its question is, and the row's number stays in view."""
    question = "A baker makes 12 loaves and sells three fewer than half of them. How many are left?"
    rows = [{"program": name, "row": i, "question": question, "result": "nine of them", "score": i / 4, "right": i > 2, "feedback": "said in words"} for name in ("a.pdl", "b.pdl") for i in range(5)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    v = View(folder / "rows.jsonl")
    b.read(v.address, PHONE)
    heads = b.texts(".grid th > button")
    in_view = b.evaluate("[...document.querySelectorAll('.grid tr > :nth-child(-n + 3)')].every((e) => e.getBoundingClientRect().right <= document.querySelector('.scroll').getBoundingClientRect().right)")
    even = b.evaluate("(([n, s]) => Math.abs(n - s))(['.n', 'td:nth-child(2)'].map((s) => { const r = document.createRange(); r.selectNodeContents(document.querySelector('.grid tbody ' + s)); return r.getBoundingClientRect().bottom; }))")
    b.evaluate("document.querySelector('.scroll').scrollLeft = 300")
    b.pause(100)
    stays = b.evaluate("['th', 'td'].map((s) => { const r = document.querySelector('.grid ' + s).getBoundingClientRect(); return document.elementFromPoint(r.left + 20, r.top + r.height / 2).closest('th, td').cellIndex; })")
    out = b.run()
    v.end()
    check("columns", out[heads][:5] == ["row", "score", "right", "program", "question"], out[heads])
    check("score and verdict are in view", out[in_view] is True)
    check("one line of writing", out[even] < 2, out[even])
    check("the number stays", out[stays] == [0, 0], out[stays])


COIN = """defs:
  side: {data: "${ ['head', 'tail', '<b>edge</b>'] | random }"}
text:
- factor: "${ {'head': -0.2, 'tail': -1.1}.get(side, -3.0) }"
- ${ side }
"""


def test_distribution(b, folder):
    """Each value with its probability; a value opens its runs with their weights. Values are text, never markup."""
    (folder / "coin.pdl").write_text(COIN)
    made = subprocess.run([PDL, "infer", "coin.pdl", "-n", "60", "--seed", "3", "--algo", "is", "--json"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    d = json.loads(made.stdout)
    (folder / "d.json").write_text(made.stdout)
    v = View(folder / "d.json")
    b.read(v.address, {**WINDOW, "colorScheme": "dark"})
    rows = b.texts(".grid tbody tr td:nth-child(2)")
    shares = b.texts(".grid tbody tr td:nth-child(3)")
    b.click(".grid tbody .n")
    b.wait(".grid .grid")
    b.shot(picture("distribution"))
    said = b.text(".grid .rows .gridbar")
    markup = b.count("#document td > b")
    problems = b.problems()
    axe = b.axe()
    out = b.run()
    v.end()
    check("values, most probable first", out[rows] == d["values"] and len(d["values"]) == 3, out[rows], d["values"])
    check("their probabilities", out[shares] == ["%g" % round(p, 3) for p in d["probs"]], out[shares], d["probs"])
    check("the runs of a value", out[said].startswith("%d rows" % d["particles"]["value"].count(0)), out[said])
    check("as text", out[markup] == 0)
    check("axe", out[axe] == [], out[axe])
    check("no errors in the page", out[problems] == [], out[problems])
