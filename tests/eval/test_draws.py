# SPDX-License-Identifier: Apache-2.0
"""The replies of an evaluation with a cache: each row, sample, program and judge has separate replies, and gets the same ones again in any order of
requests."""
import itertools
import json
import random
import time

from ..batch.kit import jsonl, t
from .test_eval import near, wilson

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


def test_until_decided():
    rows = [{"question": "q%d" % i, "answer": "GOOD" if i % 4 else "BAD"} for i in range(200)]
    rule = {"good": "GOOD", "bad": "BAD"}
    files = {"new.pdl": "lastOf: [good, {model: openai/m}]\n", "old.pdl": "lastOf: [bad, {model: openai/m}]\n", "data.jsonl": jsonl(rows)}
    base = ("--input", "data.jsonl", "--expect", "answer", "--until", "decided", "--json")

    def verdict(program, against, *args):
        code, out, err = t.run(program, "--against", against, *base, *args, word="eval")
        t.check("an evaluation", code == 0, code, err)
        return json.loads(out)["verdict"], json.loads(out)
    t.begin(files, lambda prompt: (200, rule[prompt]))
    v, r = verdict("new.pdl", "old.pdl")
    t.check("better, before the table ends", v["is"] == "better" and 5 < v["rows"] < 100 and v["of"] == 200 and v["interval"][0] > 0 and asked() < 150, v, asked())
    t.check("the table has what was asked", r["programs"][0]["rows"] * 2 == asked() and r["programs"][0]["right"] + r["programs"][1]["right"] == asked() / 2, r)
    p = r["programs"][0]
    t.check("the interval is of the rows that were asked", all(near(a, b) for a, b in zip(p["interval"], wilson(p["pass"], p["rows"]))), p)
    same = [verdict("new.pdl", "old.pdl", "--jobs", jobs)[0] for jobs in ("1", "50")]
    t.check("the same under every --jobs", same == [v, v], same)
    t.check("another seed, another order", verdict("new.pdl", "old.pdl", "--seed", "5")[0]["is"] == "better")
    v, _ = verdict("old.pdl", "new.pdl")
    t.check("worse the other way round", v["is"] == "worse" and v["interval"][1] < 0, v)
    v, _ = verdict("new.pdl", "new.pdl")
    t.check("undecided: no bound was given", v["is"] == "undecided" and v["rows"] == 200 and v["interval"][0] <= 0 <= v["interval"][1], v)
    v, _ = verdict("new.pdl", "new.pdl", "--difference", "0.3")
    t.check("no difference above 0.3", v["is"] == "same" and v["rows"] < 100, v)
    v, r = verdict("new.pdl", "new.pdl", "--budget", "calls=50")
    t.check("a budget ends it undecided", v["is"] == "undecided" and v["budget_spent"] and 0 < v["rows"] <= 25 and r["programs"][0]["rows"] == v["rows"], v)
    for calls, rows in ((1, 0), (2, 1), (5, 1), (6, 3), (19, 6), (20, 10)):
        before = asked()
        v, r = verdict("new.pdl", "old.pdl", "--budget", "calls=%d" % calls)
        t.check("a budget of %d calls says what is known" % calls, (v["is"], v["budget_spent"], v["rows"], v["difference"] is None, r["programs"][0]["score"] is None)
                == ("undecided", True, rows, rows == 0, rows == 0) and asked() - before <= calls, v, asked() - before)
    for calls, words in ((1, "better than old.pdl: there is no row that both have answered\nthe budget is spent"), (2, "interval -0.983 to 1.000\nthe budget is spent")):
        code, out, err = t.run("new.pdl", "--against", "old.pdl", *base[:-1], "--budget", "calls=%d" % calls, "--fail-under", "0.1", word="eval")
        t.check("and why it stopped, after %d calls" % calls, words in out and (code == 1) == (calls == 1) == ("no score is known" in err), code, out, err)
    code, out, err = t.run("new.pdl", "--against", "old.pdl", *base[:-1], "--infer", "maj", "-n", "3", "--budget", "calls=17", word="eval")
    t.check("runs of a wave that was not finished are not counted as right", code == 0 and "right after n runs: 1: 1.000, 2: 1.000, 3: 1.000" in out, code, out, err)
    code, out, err = t.run("new.pdl", "--against", "old.pdl", *base[:-1], word="eval")
    t.check("in words", code == 0 and "new.pdl is better than old.pdl, after " in out and " of 200 rows: mean difference " in out, out, err)
    for args, word in ((["--until", "decided"], "--against"), (["--until", "soon", "--against", "old.pdl"], "--until"),
                       (["--seed", "1", "--against", "old.pdl"], "--until decided"), (["--difference", ".1"], "--until decided"),
                       (["--until", "decided", "--against", "old.pdl", "--difference", "2"], "between 0 and 1")):
        code, out, err = t.run("new.pdl", "--input", "data.jsonl", "--expect", "answer", *args, word="eval")
        t.check("refused: %s" % args, code == 2 and word in err and not out, code, err)


def test_flaky_rows():
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl([{"question": "q%d" % i, "answer": "Q%d" % i} for i in range(1, 5)])},
            lambda prompt: (200, prompt.upper() if prompt != "q3" or t.service.asked["q3"] != 2 else "wrong"))
    code, out, err = t.run("p.pdl", "--input", "data.jsonl", "--expect", "answer", "--samples", 3, "--json", word="eval")
    t.check("rows whose samples differ", code == 0 and json.loads(out)["programs"][0]["flaky"] == [3], out, err)
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl([{"question": "q%d" % i, "answer": "Q%d" % i} for i in range(1, 5)])},
            lambda prompt: (200, prompt.upper() if prompt != "q3" or t.service.asked["q3"] != 2 else "wrong"))
    code, out, err = t.run("p.pdl", "--input", "data.jsonl", "--expect", "answer", "--samples", 3, word="eval")
    t.check("are named", code == 0 and "p.pdl: samples of 1 row differ: 3" in out, out, err)
