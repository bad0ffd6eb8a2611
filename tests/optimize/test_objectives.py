# SPDX-License-Identifier: Apache-2.0
"""pdl optimize: the cost of candidates besides their scores, --objective and --at-most."""
import json

from ..batch.kit import jsonl, t
from .test_optimize import ROWS, begin, optimize

# It asks as often as `turns` says. One and two turns are right half of the time, three always.
TURNS = """defs:
  turns: 3   # how often it asks
lastOf:
- for: {i: "${ range(turns) | list }"}
  repeat:
    lastOf:
    - "${ turns } ${ word }"
    - model: openai/m
  join: {as: array}
- ${ asked }
"""
TURNS = TURNS.replace("- for:", "- def: asked\n  for:").replace("- ${ asked }", "- ${ asked | last }")
PRICES = {"p.json": json.dumps({"openai/*": {"input": 0.001, "output": 0.01}})} # 0.025 a call


def rule(prompt):
    turns, word = prompt.split(" ")[-2:]
    return 200, word.upper() if turns == "3" or int(word[1:]) % 2 else "?"


def search(*args, program=TURNS, rows=None, files=None):
    begin(program, rows, files, rule)
    return optimize("--vary", "turns=1,2,3", *args)


def turns_of(x):
    return x["values"].get("turns", 3)


def test_a_front():
    code, r, err = search("--objective", "score,calls")
    t.check("it ends", code == 0, err)
    front = {x["calls"]: x["score"] for x in r["front"]}
    t.check("what no other beats in both", set(front) == {1, 3} and front[3] == 1 and front[1] < 1, r["front"])
    t.check("the score decides who wins", r["winner"]["candidate"] == 0 and r["objective"] == ["score", "calls"], r)
    texts = {x["calls"]: (t.folder / x["program"]).read_text() for x in r["front"]}
    t.check("each is a program", texts == {3: TURNS, 1: TURNS.replace("turns: 3 ", "turns: 1 ")}, texts)
    report = (t.folder / r["folder"] / "report.md").read_text()
    t.check("the report has it", "## Front" in report and "calls a row" in report and "front/" in report, report)
    t.check("means of a row are in the standings", {turns_of(x): (x["validation"]["calls"], x["validation"]["tokens"]) for x in r["standings"]}
            == {n: (n, 7 * n) for n in (1, 2, 3)}, r["standings"])
    code, r, err = search("--objective", "score")
    t.check("the score alone has no front", code == 0 and "front" not in r, r, err)


def test_of_equals_the_one_that_uses_less():
    begin(TURNS.replace("turns: 3", "turns: 2"), None, None, rule)
    code, r, err = optimize("--vary", "turns=2,1", "--objective", "score,tokens")
    t.check("one that is as good and uses less wins", code == 0 and r["winner"]["values"] == {"turns": 1} and r["verdict"]["is"] == "undecided", r, err)
    t.check("and is all of the front", len(r["front"]) == 1, r["front"])


def test_a_front_on_a_long_table():
    """A race drops the hindmost there, and not what uses less than all others."""
    rows = [dict(ROWS[0], word="w%d" % i, answer="W%d" % i, split="test" if i < 10 else "validation") for i in range(200)]
    code, r, err = search("--objective", "score,calls", rows=rows)
    t.check("the one that uses least is there", code == 0 and {x["calls"] for x in r["front"]} == {1, 3}, r, err)


def test_limits():
    code, r, err = search("--at-most", "calls=2")
    t.check("what is above loses", code == 0 and turns_of(r["winner"]) in (1, 2) and r["within"] == {"before": False, "winner": True}, r, err)
    t.check("the program as it was is above, so the winner is kept, and called worse", r["kept"] == "winner" and r["verdict"]["is"] == "worse"
            and "turns: %d" % turns_of(r["winner"]) in (t.folder / "optimized_p.pdl").read_text(), r)
    report = (t.folder / r["folder"] / "report.md").read_text()
    t.check("the report says so", "The program as it was is above --at-most: the winner is kept." in report and "which is kept" not in report, report)
    code, r, err = search("--at-most", "calls=0.5,tokens=100")
    t.check("nothing is within", code == 0 and r["winner"]["candidate"] == 0 and r["kept"] == "before" and r["at_most"] == {"calls": 0.5, "tokens": 100}, r, err)
    t.check("the report says it", "No candidate is within --at-most" in (t.folder / r["folder"] / "report.md").read_text())
    t.check("the program as it was is written", (t.folder / "optimized_p.pdl").read_text() == TURNS)
    code, r, err = search("--at-most", "calls=3")
    t.check("a limit that all keep changes nothing", code == 0 and r["winner"]["candidate"] == 0 and r["within"] == {"before": True, "winner": True}, r, err)
    for method in ("halving", "race"):
        begin(TURNS.replace("turns: 3", "turns: 1"), None, None, rule)
        code, r, err = optimize("--vary", "turns=2,3", "--method", method, "--at-most", "calls=2")
        t.check(method + ": the best is above", code == 0 and r["winner"]["values"] != {"turns": 3} and r["kept"] == "before", r, err)
        begin(TURNS.replace("turns: 3", "turns: 1"), None, None, rule)
        code, r, err = optimize("--vary", "turns=3", "--method", method, "--at-most", "calls=2")
        report = (t.folder / r["folder"] / "report.md").read_text() if not code else err
        t.check(method + ": the report says why it does not win", "A candidate that scores more is above --at-most: the program as it was is kept." in report, report)


def test_above_on_the_test_alone():
    """The report says where the kept program is above, and not that no candidate was within."""
    rows = [dict(x, split="test" if i < 40 else "validation", extra=4 if i < 40 else 0) for i, x in enumerate(ROWS[:80])]
    program = TURNS.replace("range(turns)", "range(turns + extra)")
    code, r, err = search("--at-most", "calls=3", program=program, rows=rows)
    report = (t.folder / r["folder"] / "report.md").read_text() if not code else err
    t.check("the program as it was wins", code == 0 and r["winner"]["candidate"] == 0 and r["within"] == {"before": False, "winner": False}, r, err)
    t.check("it is above on the test", "On the rows for the test it is above --at-most." in report and "No candidate is within" not in report, report)
    code, r, err = search("--at-most", "calls=3", program=program.replace("turns: 3", "turns: 1"), rows=rows)
    report = (t.folder / r["folder"] / "report.md").read_text() if not code else err
    t.check("another one wins", code == 0 and r["winner"]["values"] == {"turns": 3} and r["kept"] == "before", r, err)
    t.check("both are above", "the winner is above --at-most: the program as it was is kept, which is above it, too." in report, report)


def test_what_a_method_says_of_another_one():
    """A method is certain of its winner, and not of the one within --at-most that replaces it."""
    own = "defs:\n  search:\n    function: {engine: }\n    return:\n      lastOf:\n      - {def: seen, data: \"${ engine.evaluate(engine.candidates, 8) }\"}\n      - data: {winner: %d, certain: true}\n"
    for winner, certain in ((1, True), (2, False)):
        begin(TURNS.replace("turns: 3", "turns: 4"), None, {"mine.pdl": own % winner}, rule)
        code, r, err = optimize("--vary", "turns=2,3", "--method", "mine.pdl", "--at-most", "calls=2")
        t.check("the one within", code == 0 and r["winner"]["values"] == {"turns": 2} and r["certain"] is certain, r, err)


def test_scores_that_methods_get():
    """Sorted by score alone, candidates above --at-most are last; their means can be weights, and are never negative."""
    own = ("defs:\n  search:\n    function: {engine: }\n    return:\n      lastOf:\n"
           "      - {def: seen, data: \"${ engine.evaluate(engine.candidates, 8) }\"}\n"
           "      - {def: one, data: \"${ engine.sample(engine.candidates, 1, seen.scores | map(attribute='mean') | list) }\"}\n"
           "      - data: {winner: 0, certain: false, history: \"${ seen.scores | sort(attribute='score', reverse=true) }\"}\n")
    for most, order in ((2, [1, 2, 0]), (0.5, [0, 1, 2])):
        code, r, err = search("--method", "mine.pdl", "--tune", "hint", "--at-most", "calls=%g" % most, files={"mine.pdl": own},
                              program=TURNS.replace("defs:", "defs:\n  hint: Say").replace('"${ turns }', '"${ hint } ${ turns }'))
        seen = r["proposals"]["history"] if not code else []
        t.check("in this order", code == 0 and [x["candidate"] for x in seen] == order, most, seen, err)
        means = {x["candidate"]: (x["mean"], x["above"], x["score"] == x["mean"]) for x in seen}
        t.check("with their means", means == {0: (1, True, most < 1), 1: (means[1][0], most < 1, True), 2: (means[2][0], most < 1, True)} and 0 < means[1][0] < 1, most, means)
    code, r, err = search("--method", "mine.pdl", "--at-most", "calls=2", files={"mine.pdl": own.replace("'mean'", "'score'")}, program=TURNS)
    t.check("a score as weight is refused with what to take", code and "take its mean" in err, code, err)


def test_prices_of_what_comes_later():
    """A model without a price is found before anything is sent, on whatever branch and in whichever candidate it is."""
    later = TURNS.replace("- ${ asked | last }", "- if: ${ (asked | last) == 'no' }\n  then: {model: openai/m%s}\n  else: ${ asked | last }")
    module = "defs:\n  ask:\n    function: {}\n    return: {model: azure/dear, input: x}\n"
    for name, program, files, dear in (("a branch", later % "", {}, None), ("a dear branch", later.replace("openai/m%s", "azure/dear"), {}, "azure/dear"),
                                       ("a fallback", TURNS + "fallback: {model: azure/dear, input: x}\n", {}, "azure/dear"),
                                       ("its own price", later.replace("openai/m%s", "azure/dear, parameters: {input_cost_per_token: 0.1, output_cost_per_token: 0.1}"), {}, None),
                                       ("a variable", later.replace("openai/m%s", "'${ other }'").replace("defs:", "defs:\n  other: azure/dear"), {}, "azure/dear"),
                                       ("a module", TURNS.replace("defs:", "defs:\n  lib: {import: lib.pdl}"), {"lib.pdl": module}, "azure/dear")):
        for option in (["--budget", "cost=100"], ["--at-most", "cost=1"], ["--objective", "score,cost"]):
            code, r, err = search(*option, "--prices", "p.json", program=program, files={**PRICES, **files})
            if dear:
                t.check("%s %s is refused" % (name, option), code == 2 and "%s: no price of %s is known, which " % (option[0], dear) in err and ".pdl:" in err and not t.service.asked, code, err)
            else:
                t.check("%s %s is searched" % (name, option), code == 0, err)
    names = ",".join("m%d" % i for i in range(30))
    begin("defs: {m: m, form: Say}\nlastOf:\n- ${ form } ${ word }\n- model: \"${ ('azure/' if m == 'm29' else 'openai/') ~ m }\"\n", None, PRICES, rule)
    code, r, err = optimize("--vary", "m=" + names, "--budget", "cost=100", "--prices", "p.json")
    t.check("the last of many candidates", code == 2 and "no price of azure/m29 is known" in err and not t.service.asked, code, err)
    code, r, err = optimize("--budget", "cost=100", "--prices", "p.json", "--tune", "form", "--method", "reflect", "--proposer", "azure/writer")
    t.check("the proposer", code == 2 and "no price of azure/writer is known" in err and not t.service.asked, code, err)


def test_costs():
    """They are those of the calls, also when another candidate or another search paid for the answers."""
    args = ["--at-most", "cost=0.03", "--objective", "score,cost", "--prices", "p.json", "--cache", "c.db"]
    code, r, err = search(*args, files=PRICES)
    cost = {turns_of(x): x["validation"]["cost"] for x in r["standings"]} if not code else None
    t.check("the cost of a row", code == 0 and all(abs(cost[n] - 0.025 * n) < 1e-6 for n in (1, 2, 3)), cost, err)
    t.check("the limit", turns_of(r["winner"]) == 1 and [x["calls"] for x in r["front"]] == [1], r["winner"], r["front"])
    code, again, err = optimize("--vary", "turns=1,2,3", *args)
    t.check("the same when all answers are known", code == 0 and again["cost"] is None
            and all(again[k] == r[k] for k in ("winner", "verdict", "standings")), again, err)


def test_a_configuration():
    begin(TURNS, None, None, rule)
    args = ["p.pdl", "--data", "data.jsonl", "--expect", "answer", "--vary", "turns=1,2,3", "--objective", "score,calls", "--at-most", "calls=2"]
    code, out, err = t.run(*args, "--init", word="optimize")
    t.check("--init writes both", code == 0 and "objective: score,calls" in out and "at_most: calls=2" in out, out, err)
    (t.folder / "c.yaml").write_text(out)
    code, out, err = t.run("-c", "c.yaml", "--json", word="optimize")
    t.check("-c reads them", code == 0 and json.loads(out)["at_most"] == {"calls": 2} and len(json.loads(out)["front"]) == 1, out, err)


def test_bad_options():
    for args, said in ((["--objective", "cost"], "'score' is missing"), (["--objective", "score,tokns"], "did you mean 'tokens'?"),
                       (["--objective", "score,time"], "there is no 'time': expected some of score, calls"), (["--objective", "scor, cost"], "did you mean 'score'?"),
                       (["--at-most", "cost"], "'cost' is no limit"),
                       (["--at-most", "cost=-1"], "'cost=-1' is no limit"), (["--at-most", "cals=1"], "did you mean 'calls'?"),
                       (["--at-most", "calls=nan"], "is no limit"), (["--at-most", "cost=1"], "no price of openai/m is known"),
                       (["--budget", "cost=1"], "--budget: no price of openai/m is known"),
                       (["--objective", "score,cost"], "--objective: no price of openai/m is known")):
        code, r, err = search(*args)
        t.check("%s is refused before anything is sent" % args, code == 2 and said in err and not t.service.asked, code, err)


def test_prices_in_a_module():
    """The models of each program are found by the names of this program, and not by those of the one that imports it."""
    module = "defs:\n  a: 1\n  f: {function: {}, return: {defs: {turns: openai/k}, lastOf: [{model: \"${ turns }\", input: x}]}}\n"
    code, r, err = search("--budget", "cost=1", program=TURNS.replace("openai/m", "openai/k") + "- {defs: {z: {import: ./z.pdl}}, text: \"${ z.a }\"}\n", files={"z.pdl": module})
    t.check("the program", code == 2 and "no price of openai/k is known" in err and not t.service.asked, code, err)
    code, r, err = search("--budget", "cost=1", program="defs: {z: {import: ./z.pdl}, b: 1, c: 1, d: 1, e: 1, g: 1, h: 1, i: 1, j: 1, turns: 3}\nlastOf: [\"${ z.f() } ${ word }\"]\n", files={"z.pdl": module})
    t.check("its module", code == 2 and "no price of openai/k is known, which z.pdl" in err.replace("./", "") and not t.service.asked, code, err)


def test_progress():
    """The line says how much time is left at most, at the speed so far."""
    import time
    begin(rule=lambda p: time.sleep(0.02) or (200, "?"))
    code, out, err = t.run("p.pdl", "--data", "data.jsonl", "--expect", "answer", "--vary", "form=shout,speak", "--progress", "line", "--jobs", "2", word="optimize",
                         PDL_STRESS="time:0.01")
    lines = [x for x in err.replace("\r", "\n").split("\n") if "evaluations" in x and "candidates" in x]
    t.check("there are lines", code == 0 and lines, err)
    t.check("with what is left", len(lines) > 1 and all(", at most " in x and x.endswith(" left") for x in lines[1:]), lines)
