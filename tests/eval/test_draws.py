# SPDX-License-Identifier: Apache-2.0
"""The replies of an evaluation with a cache: each row, sample, program and judge has its own, and gets it again, in whatever order they come."""
import itertools
import random
import time

from ..batch.kit import jsonl, t

ASK = "lastOf:\n- ${ question }\n- model: openai/m\n"
SAME = jsonl([{"question": "q", "answer": "a"}] * 6)
MAP = """defs:
  all:
    for: {i: [1, 2, 3, 4, 5]}
    map:
      lastOf:
      - {def: x, contribute: [], lastOf: ["${ i }", {model: openai/m}]}
      - {if: "${ x }", then: {lastOf: [same, {model: openai/m}]}}
    maxWorkers: 5
    join: {as: array}
data: ${ all | join(' ') }
"""


def numbered():
    """The nth answer is n, after a while that is never the same."""
    n = itertools.count(1)

    def rule(prompt):
        text = str(next(n))
        time.sleep(random.random() / 50)
        return 200, text
    return rule


def results(*args, program="p.pdl", expected=0):
    """What the rows say, in their order."""
    code, out, err = t.run(program, "--input", "data.jsonl", "--expect", "answer", "-o", "rows.jsonl", *args, word="eval")
    t.check("an evaluation", code == expected, code, err)
    return [x["result"] for x in t.lines("rows.jsonl")]


def asked():
    return sum(t.service.asked.values())


def test_rows_with_one_request():
    t.begin({"p.pdl": ASK, "data.jsonl": SAME}, numbered())
    first = results("--cache", "c.db", "--jobs", "50")
    t.check("each row has an answer of its own", len(set(first)) == 6 and asked() == 6, first, asked())
    for jobs in ("1", "50", "3"):
        again = results("--cache", "c.db", "--jobs", jobs)
        t.check("and gets it again with --jobs " + jobs, again == first and asked() == 6, first, again, asked())


def test_samples():
    t.begin({"p.pdl": ASK, "data.jsonl": SAME}, numbered())
    first = results("--samples", "3", "--cache", "c.db")
    t.check("each sample has an answer of its own", len(set(first)) == 18 and asked() == 18, first)
    t.check("and gets it again", results("--samples", "3", "--cache", "c.db", "--jobs", "1") == first and asked() == 18, asked())
    more = results("--samples", "4", "--cache", "c.db")
    t.check("a fourth sample is asked alone", asked() == 24 and [x for i, x in enumerate(more) if i % 4 < 3] == first, asked(), more)


def test_what_was_answered_is_not_asked_again():
    t.begin({"p.pdl": ASK, "data.jsonl": SAME}, numbered())
    code, _, err = t.run("p.pdl", "--input", "data.jsonl", "--expect", "answer", "--samples", 3, "--cache", "c.db", "--budget", "calls=7", "--jobs", 2, word="eval")
    t.check("it stopped", code != 0 and asked() == 7, code, err, asked())
    p = t.start("p.pdl", "--input", "data.jsonl", "--expect", "answer", "--samples", 3, "--cache", "c.db", "--jobs", 1, word="eval")
    while asked() < 12 and p.poll() is None:
        time.sleep(0.005)
    t.kill(p)
    p.communicate()
    before = asked()
    results("--samples", "3", "--cache", "c.db")
    t.check("at most the one that was open is asked twice", 18 <= asked() <= 19 and before < 18, before, asked())


def test_rows_of_a_map():
    t.begin({"p.pdl": MAP, "data.jsonl": SAME}, numbered())
    first = results("--cache", "c.db", "--jobs", "6")
    t.check("five answers in each row", len(set(" ".join(first).split())) == 30 and asked() == 60, first)
    for jobs in ("6", "2", "1"):
        again = results("--cache", "c.db", "--jobs", jobs)
        t.check("and in the same places with --jobs " + jobs, again == first and asked() == 60, asked(), again)
    moved = "lastOf:\n- " + MAP.replace("\n", "\n  ").rstrip() + "\n"
    (t.folder / "moved.pdl").write_text(moved, "utf-8")
    t.check("and when blocks around it move", results("--cache", "c.db", program="moved.pdl") == first and asked() == 60, asked(), moved)


def test_programs_and_judges_apart():
    judge = "defs:\n  n: {lastOf: [same, {model: openai/m}]}\ndata: {score: 1, feedback: \"${ n }\"}\n"
    t.begin({"p.pdl": ASK, "old.pdl": ASK, "j.pdl": judge, "data.jsonl": SAME}, numbered())
    args = ("--judge", "j.pdl", "--against", "old.pdl", "--cache", "c.db")
    first = results(*args)
    rows = t.lines("rows.jsonl")
    t.check("no reply is shared", len(set(first) | {x["feedback"] for x in rows}) == asked() == 24, asked())
    t.check("each comes again", results(*args, "--jobs", "1") == first and t.lines("rows.jsonl") == rows and asked() == 24, asked())


def test_old_caches_are_read():
    """A run without a name finds its replies by their request alone."""
    t.begin({"p.pdl": ASK}, numbered())
    first = t.run("-d", "question=q", "--cache", "c.db", "p.pdl", word="run")
    again = t.run("-d", "question=q", "--cache", "c.db", "p.pdl", word="run")
    code, out, _ = t.run("list", "c.db", "--json", word="cache")
    t.check("one reply", first == again and asked() == 1 and code == 0 and len(t.service.asked) == 1, first, again, out)


def test_feedback():
    judge = "data: {score: \"${ 1 if result == 'Q1' else 0.25 }\", feedback: \"${ 'good' if result == 'Q1' else 'expected ' ~ expected }\"}\n"
    data = jsonl([{"question": "q1", "answer": "Q1"}, {"question": "q2", "answer": "x"}])
    t.begin({"p.pdl": ASK, "j.pdl": judge, "data.jsonl": data})
    results("--judge", "j.pdl", "--junit", "j.xml")
    rows = t.lines("rows.jsonl")
    t.check("feedback is in the rows", [(x["score"], x["feedback"]) for x in rows] == [(1, "good"), (0.25, "expected x")], rows)
    t.check("and in the report", "wrong (score 0.25): expected x" in (t.folder / "j.xml").read_text("utf-8"))
    for bad in ("{feedback: a}", "{score: 2, feedback: a}", "{score: yes please}", "{score: 1, feedback: [a]}", "{score: 1, reason: a}", "{}"):
        (t.folder / "bad.pdl").write_text("data: %s\n" % bad, "utf-8")
        code, _, err = t.run("p.pdl", "--input", "data.jsonl", "--expect", "answer", "--judge", "bad.pdl", word="eval")
        t.check("no score: " + bad, code == 1 and "{score, feedback}" in err, code, err)
