# SPDX-License-Identifier: Apache-2.0
"""`pdl eval --infer`: each question is an inference; accuracy against the number of runs, runs used, calibration."""
import collections
import json
import math

from ..batch.kit import jsonl, t
from .test_eval import evaluate, near

ASK = "lastOf:\n- ${ question }\n- model: openai/m\n"
DATA = ["--input", "data.jsonl", "--expect", "answer"]


def scripted(words):
    """The answers to each question in order: words by question."""
    asked = collections.Counter()

    def rule(prompt):
        if prompt not in words:
            return None
        asked[prompt] += 1
        word = words[prompt][asked[prompt] - 1]
        return (400, "no") if word == "!" else (200, word)
    return rule


# One at a time (--jobs 1), so that the order of answers is that of the runs.
WORDS = {"q1": "aaaaa", "q2": "abbbb", "q3": "abbab", "q4": "bbbbb"}
ROWS = [{"question": q, "answer": "a" if q != "q3" else "b"} for q in sorted(WORDS)]


def test_majority():
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl(ROWS)}, scripted(WORDS))
    code, r, err = evaluate("p.pdl", *DATA, "--infer", "maj", "-n", "5", "--jobs", "1", "-o", "rows.jsonl")
    p = r and r["programs"][0]
    t.check("right", code == 0 and (p["right"], p["rows"], p["samples"], p["failed"]) == (2, 4, 1, 0), code, err, r)
    t.check("answers", [x["result"] for x in t.lines("rows.jsonl")] == ["a", "b", "b", "b"], t.lines("rows.jsonl"))
    i = p["inference"]
    t.check("runs", i["runs"] == p["calls"] == 3 + 4 + 5 + 3 == sum(t.service.asked.values()), i, t.service.asked)
    t.check("which", (i["algorithm"], i["n"]) == ("maj", 5), i)
    # after one: a a a b; after two the first of a tie: a a a b; then a b b b
    t.check("accuracy against n", [(x["n"], x["right"], x["accuracy"]) for x in i["by_n"]]
            == [(1, 2, .5), (2, 2, .5), (3, 2, .5), (4, 1, .25), (5, 2, .5)], i["by_n"])
    brier = ((1 - 1) ** 2 + .75 ** 2 + (.6 - 1) ** 2 + 1) / 4
    t.check("Brier score", near(i["brier"], brier), i, brier)
    t.check("bins", [(x["from"], x["n"], round(x["confidence"], 9), x["accuracy"]) for x in i["bins"] if x["n"]] == [(.6, 1, .6, 1), (.7, 1, .75, 0), (.9, 2, 1, .5)]
            and len(i["bins"]) == 10, i["bins"])


def test_table_for_people():
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl(ROWS)}, scripted(WORDS))
    code, out, err = t.run("p.pdl", *DATA, "--infer", "maj", "--jobs", "1", word="eval")
    for line in ("p.pdl: --infer maj -n 5: 15 runs, 3.75 a row, 15 calls", "right after n runs: 1: 0.500, 2: 0.500, 3: 0.500, 4: 0.250, 5: 0.500", "Brier score",
                 "0.9 to 1.0          2  1.000   0.500"):
        t.check(line, code == 0 and line in out, out, err)


def test_a_judge_scores_each_value_once():
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl(ROWS), "judge.pdl": "lastOf:\n- \"judge ${ input.question } ${ result }\"\n- {def: x, contribute: [], model: openai/m}\n"
             "- data: {score: \"${ 1.0 if result == expected else 0.2 }\", feedback: \"${ result }!\"}\n"}, scripted(WORDS))
    code, r, err = evaluate("p.pdl", *DATA, "--judge", "judge.pdl", "--infer", "maj", "--jobs", "1", "-o", "rows.jsonl")
    asked = sorted(x for x in t.service.asked if x.startswith("judge"))
    t.check("leaders are judged", code == 0 and asked == ["judge q1 a", "judge q2 a", "judge q2 b", "judge q3 a", "judge q3 b", "judge q4 b"]
            and all(t.service.asked[x] == 1 for x in asked), asked, err)
    rows = t.lines("rows.jsonl")
    t.check("scores and feedback", [(x["score"], x["feedback"]) for x in rows] == [(1, "a!"), (.2, "b!"), (1, "b!"), (.2, "b!")], rows)
    t.check("by_n", [x["right"] for x in r["programs"][0]["inference"]["by_n"]] == [2, 2, 2, 1, 2], r)


def test_cache_jobs_and_draws():
    """Rows with one request have answers of their own, and get them again."""
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl([{"question": "q", "answer": "1"}] * 4)}, scripted({"q": [str(i) for i in range(1, 30)]}))
    first, asked = None, None
    for jobs in ("4", "1", "9"):
        code, r, err = evaluate("p.pdl", *DATA, "--infer", "maj", "-n", "3", "--cache", "c.db", "--jobs", jobs, "-o", "rows.jsonl")
        rows = [x["result"] for x in t.lines("rows.jsonl")]
        first, asked = first or rows, asked or sum(t.service.asked.values())
        t.check("--jobs " + jobs, code == 0 and rows == first and len(set(rows)) == 4 and sum(t.service.asked.values()) == asked == 12, rows, asked, err)


def test_failures():
    words = {"q1": "aa!aa", "q2": "abbbb"}
    rows = [{"question": q, "answer": "a"} for q in sorted(words)]
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl(rows)}, scripted(words))
    code, r, err = evaluate("p.pdl", *DATA, "--infer", "maj", "--jobs", "1", "-o", "rows.jsonl")
    p = r and r["programs"][0]
    t.check("a row with a failed run is wrong", code == 0 and (p["right"], p["failed"]) == (0, 1) and p["calls"] == 6, r, err)
    t.check("with its place", t.lines("rows.jsonl")[0]["place"] == "p.pdl:3" and "no" in t.lines("rows.jsonl")[0]["error"] and "row 1" in p["first_error"], t.lines("rows.jsonl"))
    t.check("it has no certainty", sum(x["n"] for x in p["inference"]["bins"]) == 1, p)
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl(rows)}, scripted(words))
    code, r, err = evaluate("p.pdl", *DATA, "--infer", "maj", "--jobs", "1", "--on-error", "drop")
    p = r and r["programs"][0]
    t.check("--on-error drop", code == 0 and (p["right"], p["failed"]) == (1, 0), r, err)


def test_weights():
    """Importance sampling counts weights, and the distribution of a row is the one that `pdl infer` finds."""
    program = "lastOf:\n- {def: x, contribute: [], data: \"${ ['a', 'b'] | random }\"}\n- factor: ${ y if x == 'a' else 0 }\n- ${ x }\n"
    rows = [{"y": 1.0, "answer": "a"}, {"y": -3.0, "answer": "a"}]
    t.begin({"p.pdl": program, "data.jsonl": jsonl(rows)})
    for algo in ("is", "smc", "rejection"):
        more = ["--max-score", "1"] if algo == "rejection" else []
        code, r, err = evaluate("p.pdl", *DATA, "--infer", algo, "-n", "400", "-o", "rows.jsonl", *more)
        p = r and r["programs"][0]
        t.check("answers of " + algo, code == 0 and [x["result"] for x in t.lines("rows.jsonl")] == ["a", "b"] and p["right"] == 1, r, err)
        want = [math.e / (1 + math.e), 1 / (1 + math.exp(-3))]
        brier = ((1 - want[0]) ** 2 + want[1] ** 2) / 2
        i = p["inference"]
        t.check("Brier score of " + algo, abs(i["brier"] - brier) < .06, i["brier"], brier)
        t.check("by_n of " + algo, [x["n"] for x in i["by_n"]][-1] == 400 and (len(i["by_n"]) == 1) == (algo == "smc") and i["by_n"][-1]["right"] == 1, i["by_n"])
    two = [evaluate("p.pdl", *DATA, "--infer", "is", "-n", "9", "--seed", s)[1]["programs"][0]["inference"]["brier"] for s in ("1", "1", "2")]
    t.check("--seed", two[0] == two[1] != two[2], two)


def test_one_budget_and_against():
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl(ROWS)}, scripted(WORDS))
    code, out, err = t.run("p.pdl", *DATA, "--infer", "maj", "--jobs", "1", "--budget", "calls=5", word="eval")
    t.check("the budget is one for all rows", code == 1 and "budget" in err and "Traceback" not in err and sum(t.service.asked.values()) <= 5, code, out, err, t.service.asked)
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl(ROWS), "q.pdl": "lastOf:\n- data: ${ question }\n- a\n"}, scripted(WORDS))
    code, r, err = evaluate("p.pdl", *DATA, "--infer", "maj", "--jobs", "1", "--against", "q.pdl")
    t.check("both are inferences", code == 0 and r["programs"][1]["inference"]["runs"] == 12 and r["mcnemar"]["pairs"] == 4, r, err)


def test_refused():
    t.begin({"p.pdl": ASK, "data.jsonl": jsonl(ROWS)})
    for args, word in ((["--infer", "vote"], "choose from maj, is"), (["--infer", "maj", "--samples", "2"], "--samples and --infer exclude"), (["-n", "3"], "--particles belongs to --infer"),
                       (["--by", "x"], "--by belongs to --infer"), (["--infer", "maj", "--ess", "1"], "--ess belongs to --infer smc"), (["--infer", "maj", "-n", "0"], "whole number from 1"),
                       (["--infer", "maj", "--by", "result."], "--by"), (["--infer", "maj", "--sure", "2"], "from 0.5 to 1"), (["--infer", "maj", "--pass", "1"], "--pass and --infer exclude")):
        code, out, err = t.run("p.pdl", *DATA, *args, word="eval")
        t.check("refused: %s" % args, code == 2 and word in err and err.count("error:") == 1 and not t.service.asked, code, err)
    t.check("without --infer it is null", json.loads(t.run("p.pdl", *DATA, "--json", word="eval")[1])["programs"][0]["inference"] is None)
