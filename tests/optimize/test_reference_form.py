# SPDX-License-Identifier: Apache-2.0
"""Searches that a configuration describes: that of the reference's pdl-optimize (spec execution 12), and that of --init."""
import json
import subprocess

from ..batch.kit import jsonl, t

PROGRAM = """description: demo
lastOf:
- text: "${ 'yes' if word in (demonstrations | map(attribute='word') | list) or style == 'good' and n % 2 else 'no' }"
defs:
  other: 1 # kept
"""
SCORE = """defs:
  score:
    function: {document: string, ground_truth: }
    return:
      data: "${ 1.0 if document == ground_truth else 0.0 }"
"""
CONFIG = {"pdl_path": "p.pdl", "dataset": {"train": "tr.jsonl", "validation": "va.jsonl", "test": "te.jsonl"}, "demonstration_columns": ["word", "label"],
          "instance_columns": ["word", "n"], "groundtruth_column": "label", "eval_pdl": "score.pdl", "num_candidates": 6, "num_demonstrations": 2,
          "initial_validation_set_size": 2, "variables": {"style": ["good", "bad"]}}


def rows(a, b):
    return jsonl([{"word": "w%d" % i, "n": i, "label": "yes" if i % 2 else "no"} for i in range(a, b)])


def begin(config=None, **files):
    t.begin({"p.pdl": PROGRAM, "score.pdl": SCORE, "tr.jsonl": rows(0, 6), "va.jsonl": rows(6, 12), "te.jsonl": rows(12, 18),
             "c.yml": json.dumps({**CONFIG, **(config or {})}), **files})


def optimize(*args):
    code, out, err = t.run("-c", "c.yml", *args, "--json", word="optimize")
    return code, json.loads(out) if code == 0 else None, err


def rounds(r):
    """(rows, candidates) of each round, from the scores."""
    known = sorted((x["validation"]["rows"] for x in r["standings"]), reverse=True)
    return [(n, sum(k >= n for k in known)) for n in sorted(set(known))]


def test_halving_as_there():
    begin()
    code, r, err = optimize()
    t.check("six candidates on 6 rows: iterations (2, 6), (4, 3)", code == 0 and rounds(r) == [(2, 6), (4, 3)], rounds(r) if r else err)
    t.check("the winner alone is tested", r["before"] is None and r["verdict"] is None and r["winner"]["test"]["rows"] == 6, r)
    t.check("it is the best", r["winner"]["values"]["style"] == "good" and r["winner"]["test"]["score"] == 1, r)
    text = (t.folder / "optimized_p.pdl").read_text()
    t.check("variables are written into defs", "  style: good\n" in text and "  demonstrations: {data: [" in text and "other: 1 # kept" in text, text)
    shown = r["winner"]["values"]["demonstrations"]
    t.check("demonstrations are two rows for training", len(shown) == 2 and all(set(x) == {"word", "label"} and int(x["word"][1:]) < 6 for x in shown), shown)
    again = optimize()[1]
    t.check("the same again", again["standings"] == r["standings"])
    t.check("another seed draws others", optimize("--seed", 7)[1]["standings"] != r["standings"])
    begin()
    r = optimize("-o", "o.pdl", "--diff")
    t.check("--diff and -o", r[0] == 2 and "--diff writes no file" in r[2] or r[0] == 0, r)


def test_sizes_and_budgets():
    for more, expected in (({"budget": 1}, [(2, 6)]), ({"budget": "1"}, [(2, 6)]), ({"budget_growth": "to_max", "max_validation_set_size": 18}, [(2, 6), (6, 3)]),
                           ({"initial_validation_set_size": 50}, [(6, 6)]), ({"max_validation_set_size": 3}, [(2, 6), (3, 3)]), ({"num_candidates": 1}, [(2, 1)]),
                           ({"budget": "0.000001s"}, [(2, 6)])):
        begin(more)
        code, r, err = optimize()
        t.check("rounds with %s" % more, code == 0 and rounds(r) == expected, rounds(r) if r else err)
    begin({"max_test_set_size": 4, "shuffle_test": True, "parallelism": 1, "experiment_prefix": "pre-", "timeout": 3})
    code, r, err = optimize()
    t.check("the other keys", code == 0 and r["winner"]["test"]["rows"] == 4 and r["folder"].startswith("experiments/pre-"), r, err)
    begin({"test_set_name": "validation"})
    code, r, err = optimize()
    t.check("no test where the sets have one name", code == 0 and r["rows"]["test"] == 0 and r["winner"]["test"] is None, r, err)


def test_candidates_as_there():
    begin({"variables": {"style": ["good", "bad"], "prompt_pattern": ["cot", "react"], "num_demonstrations": [0, 3]}, "num_demonstrations": None, "num_candidates": 12})
    code, r, err = optimize()
    values = [x["values"] for x in sorted(r["standings"], key=lambda x: x["candidate"])]
    t.check("thoughts without demonstrations come first", values[0]["prompt_pattern"] == "cot" and values[0]["num_demonstrations"] == 0
            and values[0]["demonstrations"] == [], values[0])
    zero = [v["prompt_pattern"] for v in values if v["num_demonstrations"] == 0]
    t.check("each pattern once without demonstrations", len(zero) == len(set(zero)), zero)
    t.check("the number of demonstrations is that of the variable", all(len(v["demonstrations"]) == v["num_demonstrations"] for v in values), values)
    begin({"variables": {"other": [1, 2]}})
    code, r, err = optimize()
    t.check("defs win, with a warning", code == 0 and "defines 'other' itself" in err, err)


def test_bad_configurations():
    for more, why in (({"num_candidate": 3}, "did you mean 'num_candidates'?"), ({"pdl_path": "no.pdl"}, "PDL file doesn't exist: no.pdl"),
                      ({"eval_pdl": None}, "eval_pdl"), ({"groundtruth_column": None}, "groundtruth_column"), ({"dataset": "gsm8k"}, "Unknown dataset: gsm8k"),
                      ({"dataset": {"train": "tr.jsonl"}}, "'validation' is missing"), ({"num_candidates": 0}, "num_candidates"),
                      ({"num_candidates": 10 ** 9}, "num_candidates"), ({"budget": "soon"}, "budget"), ({"budget": 0}, "budget"), ({"budget_growth": "triple"}, "double or to_max"),
                      ({"variables": {"style": []}}, "variables"), ({"variables": {"style": "good"}}, "variables"), ({"parallelism": 0}, "parallelism"),
                      ({"num_demonstrations": 7}, "tr.jsonl has 6 rows"), ({"num_demonstrations": None}, "num_demonstrations is missing"),
                      ({"demonstration_columns": ["words"]}, "no column 'words'"), ({"test_set_name": "tests"}, "test_set_name"),
                      ({"dataset": {"train": "tr.jsonl", "validation": "va.jsonl", "test": "no.jsonl"}}, "no.jsonl"), ({"timeout": "x"}, "timeout")):
        begin(more)
        code, r, err = optimize()
        t.check("refused: %s" % more, code == 2 and why in err and err.count("error:") == 1, code, err)
    begin(**{"c.yml": "a: [1"})
    code, r, err = optimize()
    t.check("no YAML", code == 2 and "Couldn't load config: c.yml" in err, err)
    for args, why in ((["-c", "none.yml"], "Config file doesn't exist: none.yml"), (["-c", "c.yml", "p.pdl"], "leave FILE out"), (["-c", "c.yml", "--vary", "a=b"], "whole search")):
        code, out, err = t.run(*args, word="optimize")
        t.check("refused: %s" % args, code == 2 and why in err, code, err)


def test_the_name_of_the_reference():
    begin()
    (t.folder / "pdl-optimize").symlink_to(t.pdl)

    def run(*args):
        p = subprocess.run([str(t.folder / "pdl-optimize"), *args], cwd=t.folder, env=t.env(), capture_output=True, text=True, timeout=60)
        return p.returncode, p.stdout, p.stderr
    code, out, err = run("-c", "c.yml", "--experiments-path", "ex", "--yield_output")
    t.check("pdl-optimize", code == 0 and "by halving" in out and len(list(t.folder.glob("ex/*"))) == 1 and out.startswith(("yes\n", "no\n")), out, err)
    t.check("its exit code", run("-c", "none.yml")[0] == 1 and run()[0] == 2)


def test_init():
    begin(**{"rows.jsonl": rows(0, 60), "q.pdl": "defs:\n  form: a\ndata: \"${ 'yes' if form == 'b' and n % 2 else 'no' }\"\n"})
    args = ["q.pdl", "--data", "rows.jsonl", "--expect", "label", "--vary", "form=a,b", "--seed", 3]
    code, out, err = t.run(*args, "--init", word="optimize")
    (t.folder / "own.yml").write_text(out)
    first = json.loads(t.run(*args, "--json", word="optimize")[1])
    second = json.loads(t.run("-c", "own.yml", "--json", word="optimize")[1])
    same = [{k: r[k] for k in ("winner", "verdict", "standings", "seed")} for r in (first, second)]
    t.check("the configuration makes the same search", code == 0 and same[0] == same[1], out, err)
    kept = (t.folder / first["folder"] / "config.yaml").read_text()
    t.check("a search keeps its configuration", kept == out, kept)
    (t.folder / "bad.yml").write_text(out + "sead: 3\n")
    code, out, err = t.run("-c", "bad.yml", word="optimize")
    t.check("an unknown key", code == 2 and "did you mean 'seed'?" in err, err)
