# SPDX-License-Identifier: Apache-2.0
"""pdl optimize: candidates, methods, the final test, the files that are written, budgets, and refused input."""
import json
import re
import random

from ..batch.kit import jsonl, t

# The service answers in capitals; it is right where the prompt shouts.
ASK = """# Says a word in capitals.
defs:
  form: whisper   # how it is asked
lastOf:
- ${ form } ${ word }
- model: openai/m
"""
ROWS = [{"word": "w%d" % i, "answer": "W%d" % i} for i in range(100)]


def rule(prompt):
    form, word = prompt.rsplit(" ", 1)
    n = int(word[1:])
    right = form == "shout" or form == "speak" and n % 2 or form == "whisper" and n % 4 == 0
    return 200, word.upper() if right else "?"


def optimize(*args, program="p.pdl", **more):
    code, out, err = t.run(program, "--data", "data.jsonl", "--expect", "answer", *args, "--json", word="optimize", **more)
    return code, json.loads(out) if code == 0 else None, err


def begin(program=ASK, rows=None, files=None, rule=rule):
    t.begin({"p.pdl": program, "data.jsonl": jsonl(rows or ROWS), **(files or {})}, rule)


def test_a_better_text_is_found():
    begin()
    code, r, err = optimize("--vary", "form=whisper,speak,shout")
    t.check("it ends", code == 0, err)
    t.check("the winner", r["winner"]["values"] == {"form": "shout"} and r["verdict"]["is"] == "better", r)
    t.check("the program as it was is a candidate", r["before"]["values"] == {} and r["candidates"] == 3, r)
    t.check("parts", r["rows"] == {"train": 30, "validation": 30, "test": 40}, r["rows"])
    t.check("the text is edited in place", (t.folder / "optimized_p.pdl").read_text() == ASK.replace("whisper ", "shout "),
            (t.folder / "optimized_p.pdl").read_text())
    t.check("the program itself stays", (t.folder / "p.pdl").read_text() == ASK)
    folder = t.folder / r["folder"]
    t.check("records", {x.name for x in folder.iterdir()} >= {"config.yaml", "candidates.jsonl", "scores.jsonl", "report.md"}, list(folder.iterdir()))
    scores = t.lines(r["folder"] + "/scores.jsonl")
    t.check("a line for each evaluation", len(scores) == r["evaluations"] and all(x["part"] in ("validation", "test") for x in scores), len(scores))
    tested = [x for x in scores if x["part"] == "test"]
    t.check("the test is asked once, of two programs", len(tested) == 80 and scores[-80:] == tested
            and {x["candidate"] for x in tested} == {0, r["winner"]["candidate"]}, len(tested))
    t.check("no row for training is asked", not {x["row"] for x in scores} & {x["row"] for x in scores if x["part"] == "train"})
    t.check("the report says so", "better than the program as it was" in (folder / "report.md").read_text(), (folder / "report.md").read_text())


def test_a_list_as_far_left_as_its_key():
    """It is replaced by a list in brackets, which has to be further to the right."""
    program = "defs:\n  form:\n    # two of them\n    data:   # here\n    - whisper\n    - whisper\nlastOf:\n- ${ form[0] } ${ word }\n- model: openai/m\n"
    begin(program=program)
    code, r, err = optimize("--vary", "form=[[whisper], [shout]]")
    t.check("it ends", code == 0 and r["kept"] == "winner", err)
    t.check("comments and the rest stay", (t.folder / "optimized_p.pdl").read_text() == program.replace("    - whisper\n    - whisper\n", '      ["shout"]\n'),
            (t.folder / "optimized_p.pdl").read_text())


def test_nothing_is_better():
    begin()
    code, r, err = optimize("--vary", "form=whisper,mumble")
    t.check("the program as it was is kept", code == 0 and r["winner"]["candidate"] == 0 and r["verdict"]["is"] == "same", r, err)
    t.check("its text is written", (t.folder / "optimized_p.pdl").read_text() == ASK)
    # A winner that the rows for the test do not confirm.
    rows = [{"word": "w%d" % i, "answer": "W%d" % i, "split": "validation" if i < 20 else "test"} for i in range(40)]
    begin(rows=rows, rule=lambda p: (200, p.rsplit(" ", 1)[1].upper() if p.startswith("shout") and int(p.rsplit("w", 1)[1]) < 20 else "?"))
    code, r, err = optimize("--vary", "form=whisper,shout")
    t.check("a winner that is not better", code == 0 and r["winner"]["values"] == {"form": "shout"} and r["verdict"]["is"] == "undecided", r, err)
    t.check("is not written", (t.folder / "optimized_p.pdl").read_text() == ASK)
    t.check("and the report says it", "not shown" in (t.folder / r["folder"] / "report.md").read_text())


def test_free_variables_and_files():
    free = ASK.replace("defs:\n  form: whisper   # how it is asked\n", "")
    begin(free)
    code, r, err = optimize("--vary", "form=whisper,shout", "-o", "out.pdl")
    t.check("a variable that the program gets", code == 0 and r["before"]["test"]["score"] < 0.5 and r["winner"]["values"] == {"form": "shout"}, r, err)
    t.check("becomes one of defs", (t.folder / "out.pdl").read_text() == free.replace("lastOf", "defs:\n  form: shout\nlastOf"),
            (t.folder / "out.pdl").read_text())
    begin(free)
    code, r, err = optimize("--vary", "form=whisper,shout", "-d", "form=shout")
    t.check("-d says what it was", code == 0 and r["before"]["test"]["score"] == 1 and r["winner"]["candidate"] == 0, r, err)
    begin(files={"c.jsonl": jsonl([{"form": "speak"}, {"form": "shout", "lastOf.0": "${ form } ${ word }"}, {"lastOf[0]": "${ form }er ${ word }"}])})
    code, r, err = optimize("--candidates", "c.jsonl", "--method", "halving")
    t.check("candidates from a file", code == 0 and r["candidates"] == 4 and r["winner"]["test"]["score"] == 1, r, err)
    code, out, err = t.run("p.pdl", "--data", "data.jsonl", "--expect", "answer", "--tune", "lastOf.0", "--candidates", "c.jsonl", "--diff", word="optimize")
    t.check("a difference", code == 0 and out.startswith("--- p.pdl") and not (t.folder / "none").exists(), out, err)


def test_answers_are_shared_and_kept():
    begin("defs:\n  tail: a\nlastOf:\n- lastOf: [\"shout ${ word }\", {model: openai/m}]\n  def: x\n- text: \"${ x }${ '' if tail == 'b' else '?' }\"\n")
    code, r, err = optimize("--vary", "tail=a,b", "--jobs", 1)
    t.check("candidates that ask the same share the answer", code == 0 and max(t.service.asked.values()) == 1 and r["verdict"]["is"] == "better", r, err)
    begin()
    first = optimize("--vary", "form=whisper,speak,shout", "--cache", "c.db", "--jobs", 1)[1]
    asked = sum(t.service.asked.values())
    again = optimize("--vary", "form=whisper,speak,shout", "--cache", "c.db", "--jobs", 50)[1]
    t.check("a second run asks nothing", sum(t.service.asked.values()) == asked)
    same = [{k: x[k] for k in ("winner", "verdict", "standings", "evaluations")} for x in (first, again)]
    t.check("and finds the same, whatever --jobs", same[0] == same[1], same)


def test_budgets():
    begin()
    code, r, err = optimize("--vary", "form=whisper,speak,shout", "--budget", "calls=60")
    t.check("a budget holds", code == 0 and sum(t.service.asked.values()) <= 60 and r["budget_spent"], sum(t.service.asked.values()), err)
    t.check("something is left for the test", r["winner"]["test"] is not None and r["winner"]["test"]["rows"] > 0, r)
    begin()
    whole = optimize("--vary", "form=whisper,shout", "--cache", "c.db")[1]
    asked = sum(t.service.asked.values())
    again = optimize("--vary", "form=whisper,shout", "--cache", "c.db", "--budget", "calls=%d" % (whole["calls"] // 2))[1]
    t.check("answers from the cache are not charged, but counted in the figures",
            sum(t.service.asked.values()) == asked and not again["budget_spent"] and again["calls"] == whole["calls"] and again["tokens"] == whole["tokens"], whole, again)
    begin()
    code, out, err = t.run("p.pdl", "--data", "data.jsonl", "--expect", "answer", "--vary", "form=whisper,shout", "--dry-run", word="optimize")
    t.check("--dry-run asks nothing", code == 0 and not t.service.asked and "140 evaluations: 140 calls" in out and not (t.folder / "experiments").exists(),
            out, err)
    code, r, err = optimize("--vary", "form=whisper,shout", "--budget", "tokens=3")
    t.check("a budget below one evaluation", code == 2 and re.search(r"less than one evaluation needs, about \d+\n", err) and not t.service.asked, err)
    many = [x for n in "abcde" for x in ("--vary", "%s=%s" % (n, ",".join(map(str, range(64)))))]
    (t.folder / "five.pdl").write_text("defs: {a: 1, b: 1, c: 1, d: 1, e: 1}\nlastOf:\n- ${ a }${ b }${ c }${ d }${ e } ${ word }\n- model: openai/m\n")
    code, out, err = t.run("five.pdl", "--data", "data.jsonl", "--expect", "answer", *many, "--dry-run", word="optimize")
    t.check("of very many combinations some are drawn", code == 0 and out.startswith("65 candidates, drawn from 1073741824 combinations; "), out, err)


def test_judges_and_failures():
    begin(files={"j.pdl": "data: \"${ {'score': 1.0 if result == expected else 0.25, 'feedback': 'hm'} }\""})
    code, r, err = optimize("--vary", "form=whisper,shout", "--judge", "j.pdl")
    t.check("a judge with graded scores", code == 0 and r["verdict"]["is"] == "better" and r["verdict"]["p"] is None, r, err)
    t.check("its feedback is kept", t.lines(r["folder"] + "/scores.jsonl")[0]["feedback"] == "hm")
    for text in ("text: ${ result == expected }", "text: ' True.'", "data: {score: '0.8', feedback: hm}", "data: '1'"):  # pdl eval takes them, too
        begin(files={"j.pdl": text})
        code, r, err = optimize("--vary", "form=whisper,shout", "--judge", "j.pdl")
        t.check("a judge that writes its score: " + text, code in (0, 1) and r["winner"] and "judge" not in err, code, err)
    for text in ("data: ${ 2 }", "data: good", "data: \"${ result[0].nothing.at_all }\"", "lang: python\ncode: result = float('nan')\n"):
        begin(files={"j.pdl": text})
        code, r, err = optimize("--vary", "form=whisper,shout", "--judge", "j.pdl")
        t.check("a judge that gives no score: " + text, code == 2 and "no answer could be judged" in err and err.count("error:") == 1, code, err)
        t.check("what was paid for is there", list(t.folder.glob("experiments/*/scores.jsonl")) != [])
    begin(rule=lambda p: (400, "no") if p.startswith("shout") else rule(p))
    code, r, err = optimize("--vary", "form=whisper,shout")
    lost = [x for x in r["standings"] if x["values"]][0]
    t.check("a candidate whose rows fail loses", code == 0 and r["winner"]["candidate"] == 0
            and lost["validation"]["failed"] == lost["validation"]["rows"] and lost["first_error"], r, err)
    report = (t.folder / r["folder"] / "report.md").read_text()
    t.check("the report says why", "Answers that failed count as wrong; " in report and lost["first_error"] in report, report)


def most_of(*args):
    code, r, err = optimize(*args, "--dry-run")
    t.check("--dry-run", code == 0, err)
    return r["evaluations"]


def test_a_small_budget_leaves_the_test_its_rows():
    """The budget is a quarter of what the search could use; the test needs 80 calls."""
    begin()
    many = "form=whisper,shout," + ",".join("mumble%d" % i for i in range(18))
    code, r, err = optimize("--vary", many, "--budget", "calls=200")
    t.check("the test is whole", code == 0 and r["before"]["test"]["rows"] == 40 and r["calls"] <= 200, r and r["before"], r and r["calls"], err)
    t.check("for both programs", r["winner"]["candidate"] == 0 or r["winner"]["test"]["rows"] == 40, r["winner"])


def test_budgets_of_few_evaluations():
    """A candidate that was evaluated on fewer rows may have a better mean than the winner; and half of the budget is left for the test."""
    lucky = []
    for n in range(2, 14):
        begin(rule=lambda p: (200, "?" if p.startswith("whisper") and int(p.split("w")[-1]) % 3 == 0 else p.split()[-1].upper()))
        code, r, err = optimize("--vary", "form=whisper,shout", "--budget", "calls=%d" % n)
        t.check("%d calls" % n, code == 0 and r["before"]["test"]["rows"] >= n // 4 and sum(t.service.asked.values()) <= n, r and r["before"], code, err)
        means = {x["candidate"]: x["validation"]["score"] for x in r["standings"] if x["validation"]}
        lucky.append(r["winner"]["candidate"] == 0 and max(means.values()) > means[0])
        t.check("the report says that nothing was better", not lucky[-1] or "No candidate was better" in (t.folder / r["folder"] / "report.md").read_text())
    t.check("some were lucky", any(lucky), lucky)


SHOTS = """defs:
  shots: {data: []}   # examples
lastOf:
- "${ shots | length } ${ word }"
- model: openai/m
"""


def test_demonstrations():
    # The model is right on every third word, and on all of them when it has seen three of them.
    def shown(prompt):
        n, word = prompt.split()
        return 200, word.upper() if int(n) >= 3 or int(word[1:]) % 3 == 0 else "?"
    begin(SHOTS, rule=shown)
    code, r, err = optimize("--demos", "shots", "--cache", "c.db")
    t.check("demonstrations help", code == 0 and r["method"] == "demos" and r["verdict"]["is"] == "better", r, err)
    shots = r["winner"]["values"]["shots"]
    t.check("they are right answers to rows for training", len(shots) >= 3 and all(set(x) == {"word", "answer"} and int(x["word"][1:]) % 3 == 0 for x in shots), shots)
    rows = {x["row"]: x["part"] for x in t.lines(r["folder"] + "/scores.jsonl")}
    t.check("of rows for training alone", all(rows[int(x["word"][1:]) + 1] == "train" for x in shots))
    text = (t.folder / "optimized_p.pdl").read_text()
    t.check("they are written in place", text == SHOTS.replace("[]", json.dumps(shots)), text)
    asked = sum(t.service.asked.values())
    again = optimize("--demos", "shots", "--cache", "c.db", "--jobs", 2)[1]
    t.check("the same again, from the cache", again["standings"] == r["standings"] and sum(t.service.asked.values()) == asked)
    begin(SHOTS.replace("defs:\n  shots: {data: []}   # examples\n", ""), rule=shown)
    code, r, err = optimize("--demos", "shots")
    t.check("a free variable", code == 0 and r["verdict"]["is"] == "better", r, err)
    # A trace of several calls; texts in rows that look like expressions.
    rows = [{"word": "${ w%d }" % i, "answer": "${ W%d }" % i} for i in range(60)]
    agent = """defs:
  shots: {data: []}
lastOf:
- {lastOf: ["${ shots | length } think ${ word }", {model: openai/m}], def: thought}
- "${ shots | length } say ${ word }"
- model: openai/m
"""

    def agent_rule(prompt):
        n, what, word = prompt.split(" ", 2)
        return 200, "hm" if what == "think" else word.upper() if int(n) > 0 or int(word[4:-2]) % 2 else "?"
    begin(agent, rows, rule=agent_rule)
    code, r, err = optimize("--demos", "shots")
    shot = r["winner"]["values"]["shots"][0]
    t.check("the trace of an agent", code == 0 and [x["answer"] for x in shot["trace"]] == ["hm", shot["answer"]]
            and shot["trace"][0]["messages"][-1]["content"] == "0 think " + shot["word"], shot, err)
    (t.folder / "show.pdl").write_text((t.folder / "optimized_p.pdl").read_text().split("lastOf")[0] + "data: ${ shots }")
    code, out, err = t.run("show.pdl", word="run")
    t.check("texts of rows stay data", code == 0 and json.loads(out) == r["winner"]["values"]["shots"], out, err)
    begin(SHOTS, rule=lambda p: (200, "?"))
    code, r, err = optimize("--demos", "shots")
    t.check("no right answer, no demonstration", code == 0 and r["candidates"] == 1 and r["verdict"]["is"] == "same", r, err)
    begin(SHOTS, [dict(x, split="test" if i % 2 else "validation") for i, x in enumerate(ROWS)])
    for args, why in ((["--demos", "shots"], "is for training"), (["--demos", "shot"], "did you mean 'shots'?"), (["--method", "demos", "--vary", "shots=[1]"], "--demos NAME")):
        code, r, err = optimize(*args)
        t.check("refused: %s" % args, code == 2 and why in err and err.count("error:") == 1, code, err)


def test_a_dry_run_says_the_most():
    """Also of candidates that are drawn during the search. Here every selection is as good as any other, so that none is dropped early."""
    begin(SHOTS, rule=lambda prompt: (200, prompt.split()[1].upper() if int(prompt.split()[1][1:]) % 2 else "?"))
    most = most_of("--demos", "shots")
    code, r, err = optimize("--demos", "shots")
    t.check("demonstrations", code == 0 and most == 30 + 30 * 25 + 80 and most / 2 < r["evaluations"] <= most, most, r and r["evaluations"], err)
    _, out, _ = t.run("p.pdl", "--data", "data.jsonl", "--expect", "answer", "--demos", "shots", "--dry-run", word="optimize")
    t.check("and that prompts become longer", "at most 24 selections of demonstrations are drawn; prompts with them are longer than that\n" in out, out)
    begin()
    kept = ("--keep", "2,3,4", "--vary", "form=whisper,speak,shout")
    most, (code, r, err) = most_of(*kept), optimize(*kept)
    t.check("rows of --keep", code == 0 and r["evaluations"] <= most, most, r and r["evaluations"], err)


def test_rows_that_must_not_get_worse():
    # shout is best in the mean, and wrong on w4, which whisper gets right.
    def rule_4(prompt):
        form, word = prompt.rsplit(" ", 1)
        return (200, "?") if (form, word) == ("shout", "w4") else rule(prompt)
    begin(rule=rule_4)
    code, r, err = optimize("--vary", "form=whisper,speak,shout", "--keep", "5, 6")
    out = [x["values"]["form"] for x in r["standings"] if x["worse_on_kept"]]
    t.check("a row of --keep", code == 0 and out == ["shout"] and r["winner"]["values"] == {"form": "speak"} or r["winner"]["candidate"] == 0, r, err)
    t.check("is in no part", sum(r["rows"].values()) == 98, r["rows"])
    begin(rule=rule_4)
    code, r, err = optimize("--vary", "form=whisper,shout", "--keep", "5")
    report = (t.folder / r["folder"] / "report.md").read_text() if not code else err
    t.check("the report says why the best does not win", "A candidate that scores more is worse on a row of --keep: the program as it was is kept." in report
            and "No candidate was better" not in report, report)
    begin(rule=rule_4, files={"k.jsonl": jsonl([{"word": "w400", "answer": "W400"}])})
    code, r, err = optimize("--vary", "form=whisper,shout", "--keep", "k.jsonl")
    t.check("a file of rows", code == 0 and r["winner"]["values"] == {"form": "shout"} and sum(r["rows"].values()) == 100, r, err)
    tested = next(x for x in t.lines(r["folder"] + "/scores.jsonl") if x["part"] == "test")
    (t.folder / "same.jsonl").write_text(jsonl([{"word": tested["word"], "answer": tested["answer"]}]))
    for keep, why in (("0", "no row '0'"), ("101", "no row '101'"), ("3,,4", "no row ''"), ("none.jsonl", "no file"), ("same.jsonl", "which is for the test")):
        code, r, err = optimize("--vary", "form=whisper,shout", "--keep", keep)
        t.check("refused: --keep " + keep, code == 2 and why in err and err.count("error:") == 1, code, err)


def test_a_table_that_changes():
    def rule_w(prompt):
        with open(t.folder / "data.jsonl", "a") as f:
            f.write("\n")
        return rule(prompt)
    begin(rule=rule_w)
    code, r, err = optimize("--vary", "form=whisper,shout")
    t.check("a table that changes is said, and what was found is there", code == 2 and "has changed during the search" in err
            and list(t.folder.glob("experiments/*/scores.jsonl")) and not (t.folder / "optimized_p.pdl").exists(), code, err)


def test_methods_are_programs():
    own = ("defs:\n  search:\n    function: {engine: }\n    return:\n      lastOf:\n      - {def: seen, data: \"${ engine.evaluate(engine.candidates, 3) }\"}\n"
           "      - data: {winner: \"${ (seen.scores | sort(attribute='score') | last).candidate }\", certain: false}\n")
    begin(files={"mine.pdl": own, "broken.pdl": own.replace("seen.scores", "nothing.scores"), "wrong.pdl": own.replace(", 3)", ", 300)"),
                 "nobody.pdl": own.replace("winner:", "looser:")})
    code, r, err = optimize("--vary", "form=whisper,shout", "--method", "mine.pdl")
    t.check("a method of the user", code == 0 and r["winner"]["values"] == {"form": "shout"} and r["winner"]["validation"]["rows"] == 3, r, err)
    for name, why in (("broken.pdl", "'nothing' is undefined"), ("wrong.pdl", "rows: expected a whole number from 0 to 30"), ("nobody.pdl", "gave no winner")):
        code, r, err = optimize("--vary", "form=whisper,shout", "--method", name)
        t.check("a method that fails: " + name, code == 1 and why in err and "mine.pdl" not in err, code, err)


def test_bad_input():
    dup = [dict(x, split=s) for x, s in zip(ROWS, ("train", "validation", "test") * 40)]
    files = {"none.jsonl": "", "bad.jsonl": "{", "part.jsonl": jsonl(dup[:9] + [dict(ROWS[50], split="tests")]), "same.jsonl": jsonl(dup[:9] + [dict(dup[0], split="test")]),
             "untested.jsonl": jsonl([x for x in dup if x["split"] != "test"]), "two.jsonl": jsonl(ROWS[:1]), "some.jsonl": jsonl(ROWS[:5] + dup[5:9]),
             "empty.jsonl": jsonl([dict(ROWS[0], answer=None)]), "c.jsonl": jsonl([{"form": "a"}, {"frm": "b"}]), "lost.jsonl": jsonl([{"lastOf.0": "no word"}]),
             "f.jsonl": jsonl([{"lastOf.0": "bad ${ form } ${ word }"}]), "twice.jsonl": jsonl([{"defs.form": "a", "form": "b"}])}
    begin(files=files)
    vary = ["--vary", "form=whisper,shout"]
    for args, why in (
            (["--vary", "fom=a,b"], "did you mean 'form'?"), (["--vary", "word=a,b"], "is a column"), (["--vary", "form"], "NAME=VALUE"),
            (["--vary", "form=whisper"], "nothing varies"), ([], "nothing varies"), (["--tune", "lastOf.5"], "that list has 2 items"),
            (["--vary", "lastOf.1=a,b"], "has no literal"), (["--tune", "lastOf.0"], "nothing gives texts"),
            (["--tune", "lastOf.0", "--require", "zebra", "--candidates", "f.jsonl"], "does not have 'zebra' itself"),
            (["--candidates", "none.jsonl"], "no candidate"), (["--candidates", "bad.jsonl"], "bad.jsonl:1"), (["--candidates", "c.jsonl"], "c.jsonl:2"),
            (["--candidates", "lost.jsonl"], "lost the expression ${ form }"), (["--candidates", "twice.jsonl"], "varied twice"),
            ([*vary, "--method", "rase"], "did you mean 'race'?"), ([*vary, "--method", "reflect"], "--tune PLACE"), ([*vary, "--method", "reflex"], "did you mean 'reflect'?"),
            ([*vary, "--method", "no.pdl"], "no file"), ([*vary, "--judge", "no.pdl"], "no file"), ([*vary, "--seed", "x"], "whole number"),
            ([*vary, "--data", "none.jsonl"], "has no rows"), ([*vary, "--data", "part.jsonl"], "did you mean 'test'?"),
            ([*vary, "--data", "same.jsonl"], "rows 1 (train) and 10 (test)"), ([*vary, "--data", "untested.jsonl"], "no row has 'test'"),
            ([*vary, "--data", "two.jsonl"], "too few"), ([*vary, "--data", "some.jsonl"], "some.jsonl:6"), ([*vary, "--data", "empty.jsonl"], "no answer"),
            ([*vary, "--expect", "anser"], "did you mean 'answer'?"), ([*vary, "-o", "no/where.pdl"], "no folder"), ([*vary, "-o", "p.pdl"], "would be overwritten"),
            ([*vary, "--require", "x"], "belongs to --tune")):
        code, r, err = optimize(*args)
        t.check("refused: " + " ".join(args), code == 2 and why in err and err.count("error:") == 1, code, err)
    code, r, err = optimize(*vary, program="-")
    t.check("refused: a program on standard input", code == 2 and "give a file" in err, code, err)
    t.check("nothing was asked, nothing is left", not t.service.asked and not (t.folder / "experiments").exists())


# Rows in which the answer of each candidate is a column, so that scores have any shape and no model is needed.
def shaped(seed, chances, n):
    r = random.Random(seed)
    names = ["c%d" % i for i in range(len(chances))]
    return [{"n": i, "answer": "1", **{c: str(int(r.random() < p)) for c, p in zip(names, chances)}} for i in range(n)], names


def race(seed, chances, n, method="race", split=None):
    rows, names = shaped(seed, chances, n)
    if split:
        rows = [dict(x, split="validation" if i < split else "test") for i, x in enumerate(rows)]
    program = "defs:\n  who: c0\ndata: \"${ {%s}[who] }\"\n" % ", ".join("'%s': %s" % (c, c) for c in names)
    begin(program, rows)
    code, r, err = optimize("--vary", "who=" + ",".join(names), "--method", method, "--seed", seed)
    t.check("a search", code == 0, err)
    return r


def test_equal_candidates_have_no_winner(scale):
    n = scale(200)
    results = [race(seed, [0.5] * 4, 200) for seed in range(n)]
    certain = sum(r["certain"] for r in results)
    better = sum(r["verdict"]["is"] == "better" for r in results)
    t.check("a race of equals is certain in at most 5 %", certain <= max(2, 0.05 * n), certain, n)
    t.check("and the test finds a better one in at most 5 %", better <= max(3, 0.05 * n), better, n)


SHAPES = {"one is best": lambda k: 0.7 if k == 5 else 0.5, "two are close": lambda k: 0.7 if k == 5 else 0.67 if k == 9 else 0.45,
          "a slope": lambda k: 0.4 + 0.02 * k, "many are good": lambda k: 0.8 if k == 5 else 0.75 if k % 2 else 0.3}


def test_race_finds_what_halving_finds(scale):
    seeds = scale(30)
    for shape, chance in SHAPES.items():
        best = "c%d" % max(range(16), key=chance)
        hits = {m: [race(seed, [chance(k) for k in range(16)], 301, m, 300)["winner"]["values"].get("who", "c0") == best for seed in range(seeds)]
                for m in ("race", "halving")}
        won = sum(a and not b for a, b in zip(hits["race"], hits["halving"]))
        lost = sum(b and not a for a, b in zip(hits["race"], hits["halving"]))
        t.check("%s: race chooses the best at least as often, or by chance less often" % shape, lost - won <= 2 * (lost + won) ** 0.5, won, lost, seeds)


def test_many_candidates_on_many_rows():
    r = race(1, [0.5 + 0.004 * k for k in range(64)], 1040, split=1000)
    searched = r["evaluations"] - 2 * 40
    t.check("a third of all evaluations is enough", searched <= 64 * 1000 / 3, searched)
    t.check("a sure winner ends it early", race(1, [0.3] * 63 + [0.9], 1040, split=1000)["evaluations"] < 12000)


def test_the_policy_of_the_program():
    """It is in force for every candidate."""
    program = "policy: {policy: 1, rules: [{sink: command, allow: [%s]}]}\ndefs:\n  form: Say\nlastOf:\n- ${ form }\n- {lang: command, code: \"echo ${ word | upper }\"}\n"
    rows = [{"word": "w%d" % i, "answer": "W%d\n" % i} for i in range(20)]
    begin(program % "data", rows)
    code, r, err = optimize("--vary", "form=Say,Tell")
    t.check("what it allows is done", code == 0 and r["before"]["test"]["score"] == 1, r, err)
    begin(program % "file", rows)
    code, r, err = optimize("--vary", "form=Say,Tell")
    t.check("what it refuses is not", "refuses" in (err if code else r["before"]["first_error"] or ""), code, r, err)
