# SPDX-License-Identifier: Apache-2.0
"""pdl optimize --method reflect: a model proposes texts. The decisions are those of the package gepa (goldens/reflect.json, made by oracle.py)."""
import json
import pathlib
import subprocess

import pytest

from .. import venv_of
from ..batch.kit import jsonl, t
from . import oracle
from .test_optimize import ASK, ROWS, begin, optimize, rule

GOLDEN = pathlib.Path(__file__).parent / "goldens" / "reflect.json"
PROPOSE = "You improve one text"


def scripted(prompt):
    """The scripted program and proposer of the oracle."""
    if prompt.startswith(PROPOSE):
        name = prompt.split("Write a better text for `", 1)[1].split("`", 1)[0]
        scripted.count += 1
        return 200, "A better one:\n```\n%s\n```\n" % oracle.proposal(name, scripted.count)
    *texts, word = prompt.split(", ")
    return 200, word.upper() if oracle.right(dict(zip(oracle.NAMES, texts)), word) else "?"


def decide(seed, names=oracle.NAMES):
    scripted.count = 0
    defs = "".join("  %s: %s\n" % (name, oracle.FIRST[name]) for name in names)
    begin("defs:\n%slastOf:\n- %s, ${ word }\n- model: openai/m\n" % (defs, ", ".join("${ %s }" % name for name in names)), oracle.ROWS, rule=scripted)
    words = [*(x for name in names for x in ("--tune", name)), "--method", "reflect", "--proposals", oracle.PROPOSALS]
    code, r, err = optimize(*words, "--seed", seed, "--jobs", 1)
    t.check("seed %d" % seed, code == 0, err)
    _, most, _ = optimize(*words, "--dry-run")
    t.check("a dry run says the most, with merges", r["evaluations"] <= most["evaluations"], r["evaluations"], most)
    values = {x["candidate"]: {**oracle.FIRST, **x["values"]} for x in r["standings"]}
    steps = r["proposals"]["history"]
    pool = [(0, [])] + [(s["candidate"], s["from"]) for s in steps if s["candidate"] is not None]
    number = {c: i for i, (c, _) in enumerate(pool)}
    spent = {"proposal": 2 * oracle.MINIBATCH, "perfect": oracle.MINIBATCH, "merge": oracle.MERGE_ROWS}
    return {"candidates": [[values[c][name] for name in names] for c, _ in pool], "parents": [[number[p] for p in f] for _, f in pool],
            "winner": number[r["winner"]["candidate"]], "evaluations": oracle.VALIDATION * len(pool) + sum(spent[s["what"]] for s in steps)}


def test_it_decides_as_gepa(scale):
    """Where gepa merges two candidates into one that it has already, it has that one twice; here nothing is a candidate twice. Such seeds are left out."""
    golden = [(seed, g) for seed, g in zip(oracle.SEEDS, json.loads(GOLDEN.read_text())["seeds"]) if len({tuple(c) for c in g["candidates"]}) == len(g["candidates"])]
    merged = [x for x in golden if any(len(p) == 2 for p in x[1]["parents"])]
    t.check("there are enough, with merges", len(golden) >= 18 and len(merged) >= 2, len(golden), len(merged))
    for seed, expected in (merged + [x for x in golden if x not in merged])[:scale(len(golden), 3)]:
        found = decide(seed)
        t.check("seed %d" % seed, found == expected, found, expected)


def test_one_text_as_gepa(scale):
    """Merging finds nothing then, but it draws numbers."""
    golden = [(seed, g) for seed, g in zip(oracle.ONE_TEXT_SEEDS, json.loads(GOLDEN.read_text())["one text"])]
    grown = sorted(golden, key=lambda x: -len(x[1]["candidates"]))
    t.check("merges are tried", len(grown[0][1]["candidates"]) > 3, grown)
    for seed, expected in grown[:scale(len(grown), 2)]:
        found = decide(seed, oracle.NAMES[:1])
        t.check("seed %d" % seed, found == expected, found, expected)


def test_a_planted_instruction_is_found():
    texts = iter(["speak", "mumble", "shout"])

    def planted(prompt):
        return (200, "```text\n%s\n```" % next(texts)) if prompt.startswith(PROPOSE) else rule(prompt)
    begin(rule=planted)
    code, r, err = optimize("--tune", "form", "--method", "reflect", "--proposals", 3)
    t.check("it wins", code == 0 and r["winner"]["values"] == {"form": "shout"} and r["verdict"]["is"] == "better", r, err)
    t.check("it is written in place", (t.folder / "optimized_p.pdl").read_text() == ASK.replace("whisper ", "shout "))
    asked = [p for p in t.service.asked if p.startswith(PROPOSE)]
    t.check("the model sees the program, the text, failures and right answers", len(asked) == 3 and "# how it is asked" in asked[0]
            and "```\nwhisper\n```" in asked[0] and "## Result\n?" in asked[0] and "## Right answer\nW" in asked[0], asked[0])
    words = {x["word"]: x["part"] for x in t.lines(r["folder"] + "/scores.jsonl")}
    shown = {w for p in asked for w in words if '"word": "%s"}' % w in p}
    t.check("it sees rows for training alone", shown and {words[w] for w in shown} == {"train"}, shown)
    report = (t.folder / r["folder"] / "report.md").read_text()
    t.check("the report says what became of them", "3 texts proposed by openai/m" in report, report)


def search(texts, *args, program=ASK, rows=None, files=None):
    said = iter(texts)

    def answer(prompt):
        return (200, next(said, "mumble")) if prompt.startswith(PROPOSE) else rule(prompt)
    begin(program, rows, files, rule=answer)
    return optimize("--tune", "form", "--method", "reflect", *args)


def test_what_a_text_may_be():
    holes = ASK.replace("whisper ", '"${ x }whisper" ').replace("defs:", "defs:\n  x: ''")
    refused = (("loud ${ y }", "lost the expression ${ x }"), ("", "is empty"), ("${ x } a\x07", "control"), ("${ x }" + "a" * 40000, "bytes, more than"))
    code, r, err = search([text for text, _ in refused] + ["${ x }shout"], "--proposals", 5, program=holes)
    errors = [s["error"] or "" for s in r["proposals"]["history"] if s["what"] == "proposal"]
    t.check("texts that are refused", code == 0 and all(why in e for (_, why), e in zip(refused, errors)), errors, err)
    t.check("and one that is not", r["winner"]["values"] == {"form": "${ x }shout"}, r)
    code, r, err = search(["shout ${ 1 + 1 } {% raw %} {# x #}"], "--proposals", 1, "--require", "whisper")
    t.check("words that are required", "has lost 'whisper'" in r["proposals"]["history"][0]["error"], r, err)
    # What looks like an expression is data.
    seen = []

    def shouts(prompt):
        if prompt.startswith(PROPOSE):
            return 200, "shout ${ 1 + 1 } {# x #} {%%%%%PDL x"
        seen.append(prompt)
        return 200, prompt.rsplit(" ", 1)[1].upper() if "${ 1 + 1 } {# x #} {%%%%%PDL x" in prompt else "?"
    begin(rule=shouts)
    code, r, err = optimize("--tune", "form", "--method", "reflect", "--proposals", 1)
    t.check("expressions of a proposal are data", code == 0 and r["verdict"]["is"] == "better", r, err)
    code, out, err = t.run("optimized_p.pdl", "-d", "word=w", word="run")
    t.check("in the program that is written, too", seen[-1].startswith("shout ${ 1 + 1 } {# x #} {%%%%%PDL x"), seen[-1], err)


def test_answers_of_the_proposer():
    """Its last fenced block, else the whole answer."""
    for said, text in (("shout", "shout"), ("a\n```\nb\n```\nc\n```md\nshout\n```\nd", "shout"), ("```\nshout", "shout"), ("````\n```\nshout\n```\n````", "```\nshout\n```"),
                       ("say `x` or ```y``` \n", "say `x` or ```y```"), ("  ```\n  shout\n  ```  ", "shout")):
        code, r, err = search([said], "--proposals", 1)
        t.check("the text in %r" % said, code == 0 and [x["values"]["form"] for x in r["standings"] if x["values"]] == [text], r["standings"], err)
    begin(rule=lambda p: (400, "no") if p.startswith(PROPOSE) else rule(p))
    code, r, err = optimize("--tune", "form", "--method", "reflect", "--proposals", 9)
    t.check("one that fails is given up", code == 0 and r["verdict"]["is"] == "same" and r["proposals"]["asked"] == 3 and "no" in r["proposals"]["first_error"], r, err)
    t.check("and the report says so", "did not always answer" in (t.folder / r["folder"] / "report.md").read_text())
    for name, hint in (("opnai/x", "did you mean 'openai/x'?"), ("nowhere/x", "LLM Provider NOT provided"), ("plain", "PROVIDER/MODEL")):
        code, r, err = search([], "--proposals", 2, "--proposer", name)
        t.check("no provider is known: " + name, code == 2 and "--proposer: " in err and hint in err and not t.service.asked, code, err)
    code, r, err = search(["whisper", "shout"], "--proposals", 2, "--proposer", "openai/other")
    t.check("another proposer; the same text again is none", code == 0 and r["proposals"]["by"] == "openai/other" and r["winner"]["values"] == {"form": "shout"}, r, err)


def test_budgets_of_proposals():
    code, r, err = search([], "--budget", "calls=200")
    t.check("too few proposals", code == 2 and "it allows 2 proposals" in err and "--yes" in err and not t.service.asked, err)
    code, r, err = search(["shout"], "--budget", "calls=200", "--yes")
    t.check("--yes", code == 0 and sum(t.service.asked.values()) <= 200 and r["winner"]["values"] == {"form": "shout"} and r["winner"]["test"]["rows"] > 0, r, err)
    code, r, err = search([], "--budget", "calls=1000", "--dry-run")
    t.check("--dry-run says how many", code == 0 and r["proposals"] == 24 and not t.service.asked, r, err)
    code, out, err = t.run("p.pdl", "--data", "data.jsonl", "--expect", "answer", "--tune", "form", "--method", "reflect", "--dry-run", word="optimize")
    t.check("for people, too", "10 texts proposed by openai/m" in out, out, err)


def test_places_that_no_model_writes():
    python = "defs:\n  form: whisper\nlastOf:\n- {lang: python, code: 'result = 1 # %s'}\n- ${ form } ${ word }\n- model: openai/m\n"
    for program, place, why in (
            (python % "x", "lastOf.0.code", "what 'code' says"), (python % "${ form }", "form", "'code' is made of it"), (ASK, "lastOf.1.model", "what 'model' says"),
            ("defs:\n  form: a\n  more: {text: 'x ${ form }'}\nlastOf:\n- read: ${ more }\n- ${ word }", "form", "'read' is made of it here ('more')"),
            ("defs:\n  form: a\n  f: {function: {x: }, return: {lang: command, code: 'echo ${ x }'}}\nlastOf:\n- {call: '${ f }', args: {x: '${ form }'}}\n- ${ word }", "form",
             "'code' is made of it here ('x')"),
            ("lastOf:\n- {def: a, text: hello}\n- {lang: command, args: [echo, '${ a }']}\n- ${ word }", "lastOf.0.text", "'args' is made of it"),
            ("include: a.pdl", "include", "what 'include' says"), ("defs:\n  form: {data: [1]}\ndata: ${ word }", "form", "no text is there")):
        begin(program, files={"a.pdl": "''"})
        code, r, err = optimize("--tune", place, "--method", "reflect", "--proposer", "openai/m")
        t.check("refused: %s of %s" % (place, program), code == 2 and why in err and not t.service.asked, err)
    for program in (python % "x", ASK.replace("- model: openai/m", "- {model: openai/m, def: said}\n- {lang: python, code: 'result = 1 # ${ said }'}"),
                    "defs:\n  form: whisper\nlastOf:\n- lastOf: ['${ form } ${ word }', {model: openai/m}]\n  def: x\n- lang: python\n  code: result = x\n"):
        begin(program, rule=lambda p: (200, "shout") if p.startswith(PROPOSE) else rule(p))
        code, r, err = optimize("--tune", "form", "--method", "reflect", "--dry-run")
        t.check("allowed: " + program, code == 0, err)
    for args, why in ((["--method", "reflect"], "--tune PLACE"), (["--method", "reflect", "--tune", "fom"], "did you mean 'form'?"), (["--tune", "form"], "--method reflect"),
                      (["--tune", "form", "--method", "reflect", "--proposals", "0"], "expected a whole number"), (["--vary", "form=a,b", "--proposals", "3"], "belong to")):
        begin()
        code, r, err = optimize(*args)
        t.check("refused: %s" % args, code == 2 and why in err and err.count("error:") == 1, err)
    begin("defs:\n  form: a\ndata: ${ word }")
    code, r, err = optimize("--tune", "form", "--method", "reflect")
    t.check("no model is known", code == 2 and "--proposer MODEL" in err, err)
    begin(rows=[dict(x, split="test" if i % 2 else "validation") for i, x in enumerate(ROWS)])
    code, r, err = optimize("--tune", "form", "--method", "reflect")
    t.check("no rows for training", code == 2 and "is for training" in err, err)


def test_feedback_and_policies():
    judge = "data: \"${ {'score': 1.0 if result == expected else 0.25, 'feedback': 'say ' ~ expected} }\""
    code, r, err = search(["shout"], "--proposals", 1, "--judge", "j.pdl", files={"j.pdl": judge})
    asked = [p for p in t.service.asked if p.startswith(PROPOSE)]
    t.check("the model reads feedback", code == 0 and "## Feedback\nsay W" in asked[0] and "0.25" in asked[0], asked, err)
    policy = "policy: {policy: 1, rules: [{sink: model, allow: [%s]}]}\n"
    code, r, err = search(["shout"], "--proposals", 1, program=policy % "data" + ASK)
    t.check("a policy that refuses what models said", code == 0 and "from model" in (r["proposals"]["first_error"] or ""), r, err)
    code, r, err = search(["shout"], "--proposals", 1, program=policy % "data, model" + ASK)
    t.check("and one that lets it reach models", code == 0 and r["winner"]["values"] == {"form": "shout"}, r, err)


@pytest.mark.tier("all")
@pytest.mark.builds
def test_the_oracle(build):
    """What the golden has is what the package decides, where it can be installed."""
    exe, why = venv_of.python(build, "gepa", name="test-gepa", wanted=["gepa==0.1.4"])
    if exe is None:
        t.skip("gepa", why)
        return
    p = subprocess.run([exe, oracle.__file__], capture_output=True, env={"PYTHONHASHSEED": "0"}, timeout=300, check=False)
    t.check("it decides the same", p.returncode == 0 and json.loads(p.stdout) == json.loads(GOLDEN.read_text()), p.stderr[-500:])
