# SPDX-License-Identifier: Apache-2.0
"""`pdl infer`: distributions are compared with closed forms; also what runs share, failures, and bad input."""
import itertools
import json
import math
import random
import statistics
import time

import pytest

from .kit import experiments, forward, hmm, infer, probability, t

WEIGHTED = "lastOf:\n- factor: ${ pdl_particle_id * 1.0 }\n- ${ pdl_particle_id }\n"
COIN = "${ ['a', 'b'] | random }\n"
OBSERVED = [0, 0, 1, 1, 1, 0, 1, 1, 0, 1]


def test_reference_example():
    """The example of (spec execution 11.3)."""
    t.begin({"p.pdl": WEIGHTED})
    d, _ = infer("p.pdl", "--algo", "is", "-n", "3")
    t.check("logits", d["particles"]["logit"] == [0, 1, 2], d)
    for value, want in ((0, .0900), (1, .2447), (2, .6652)):
        t.check("probability of %d" % value, abs(probability(d, value) - want) < 5e-5, d)


def test_names_of_algorithms():
    t.begin({"p.pdl": hmm(OBSERVED[:2], .8, .8)})
    for name in ("maj", "is", "smc", "rejection"):
        one, _ = infer("p.pdl", "--algo", name, "-n", "20", "--seed", "5")
        two, _ = infer("p.pdl", "--algo", "parallel-" + name, "-n", "20", "--seed", "5", "-w", "3")
        t.check("parallel-%s is %s" % (name, name), one == two and one["algorithm"] == name, one, two)


@pytest.mark.parametrize("algo", ["is", "smc", "rejection"])
def test_hidden_markov_model(algo, scale):
    """Within four standard errors of forward-backward, and the evidence too."""
    stay, right = .8, .7
    want, evidence = forward(OBSERVED[:5], stay, right)
    t.begin({"p.pdl": hmm(OBSERVED[:5], stay, right)})
    (n, seeds), z = experiments(scale), []
    for seed in seeds:
        args = ["--algo", algo, "-n", str(n), "--seed", str(seed)] + ["--ess", "1"][:2 * (algo == "smc")]
        d, _ = infer("p.pdl", *args)
        error = math.sqrt(want * (1 - want) / min(d["ess"]))
        z.append((probability(d, 1) - want) / error)
        t.check("%s, seed %d" % (algo, seed), abs(z[-1]) < 4, want, d["probs"])
        t.check("evidence", abs(d["log_evidence"] - evidence) < 4 / math.sqrt(min(d["ess"])) * 2, evidence, d["log_evidence"])


def test_systematic_has_less_variance():
    """What is resampled is known, so that the draws alone make the spread."""
    t.begin({"p.pdl": "lastOf:\n- {def: x, contribute: [], data: '${ pdl_particle_id % 5 }'}\n- factor: ${ x * 0.5 }\n- ${ x }\n"})
    want = math.exp(2) / sum(math.exp(.5 * x) for x in range(5))
    spread = {}
    for how in ("systematic", "multinomial"):
        got = [probability(infer("p.pdl", "-n", "50", "--ess", "1", "--resample", how, "--seed", str(s))[0], 4) for s in range(12)]
        t.check("the mean of " + how, abs(statistics.mean(got) - want) < 4 * math.sqrt(want * (1 - want) / 600), want, got)
        spread[how] = statistics.variance(got)
    t.check("systematic resampling", spread["systematic"] < spread["multinomial"] / 4, spread)


def test_without_factors_all_are_alike():
    t.begin({"p.pdl": COIN})
    got = {}
    for algo in ("is", "smc", "rejection"):
        d, err = infer("p.pdl", "--algo", algo, "-n", "400", "--seed", "7")
        got[algo] = probability(d, "a")
        t.check("a warning of smc alone", ("factor" in err) == (algo == "smc"), algo, err)
    t.begin({"f.pdl": "lastOf:\n- factor: -1\n- ${ pdl_particle_id }\n", "r.pdl": "lastOf:\n- {factor: '${ pdl_particle_id * 1.0 }', resample: false}\n- a\n"})
    for name in ("f.pdl", "r.pdl"):
        _, err = infer(name, "-n", "3")
        t.check("none where a factor weighs without resampling: " + name, not err, err)
    t.check("the same numbers", len(set(round(x, 9) for x in got.values())) == 1, got)
    t.check("a fair coin", abs(got["is"] - .5) < .1, got)


def test_factor_in_map_and_resample_false():
    t.begin({"m.pdl": "lastOf:\n- map:\n    lastOf:\n    - factor: ${ 1.0 if (['h','t'] | random) == 'h' else 0.0 }\n    - ${ i }\n"
                      "  for: {i: [1, 2, 3]}\n- ${ 1 }\n",
             "f.pdl": "lastOf:\n- {factor: '${ pdl_particle_id * 1.0 }', resample: false}\n- ${ pdl_particle_id }\n"})
    d, _ = infer("m.pdl", "-n", "500", "--ess", "1", "--seed", "1")
    want = 3 * math.log((1 + math.e) / 2)
    t.check("factors of iterations", abs(d["log_evidence"] - want) < .1, want, d["log_evidence"])
    d, _ = infer("f.pdl", "-n", "3", "--ess", "1")
    t.check("resample: false only adds", d["particles"]["logit"] == [0, 1, 2] and len(d["ess"]) == 1, d)


def test_align():
    """A factor in a branch is no place of resampling with --align."""
    t.begin({"p.pdl": "lastOf:\n- {def: x, contribute: [], data: \"${ ['a','b'] | random }\"}\n- if: ${ x == 'a' }\n  then: {factor: -1}\n"
                      "- factor: ${ -0.5 }\n- ${ x }\n"})
    want = 1 / (1 + math.e)
    for args, rounds in (([], 3), (["--align"], 2)):
        d, _ = infer("p.pdl", "-n", "2000", "--ess", "1", "--seed", "2", *args)
        t.check("the distribution", abs(probability(d, "a") - want) < .05, want, d["probs"])
        t.check("rounds with %s" % args, len(d["ess"]) == rounds, d["ess"])


# --- models ------------------------------------------------------------------------------------------------------------------------------------

def drawn(words):
    it, lock = itertools.cycle(words), __import__("threading").Lock()

    def rule(prompt):
        with lock:
            word = next(it)
        time.sleep(random.random() / 100)
        return 200, word
    return rule


ASK = "lastOf:\n- {def: q, contribute: [], read: q.txt}\n- ${ q }\n- model: openai/m\n"


def test_majority_stops_early():
    t.begin({"p.pdl": ASK, "q.txt": "q"}, drawn(["4"]))
    d, _ = infer("p.pdl", "--algo", "maj", "-n", "5")
    t.check("three of five", d["runs"] == 3 and sum(t.service.asked.values()) == 3 and d["sample"] == "4", d, t.service.asked)
    t.check("use", d["usage"]["model_calls"] == 3 and d["usage"]["completion_tokens"] == 6, d["usage"])
    t.begin({"p.pdl": ASK, "q.txt": "q"}, drawn(["4"]))
    d, _ = infer("p.pdl", "--algo", "maj", "-n", "40", "--sure", "0.95")
    t.check("four are sure", d["runs"] == 4, d)
    t.begin({"p.pdl": ASK, "q.txt": "q"}, drawn(["a", "b", "c", "d", "e"]))
    d, _ = infer("p.pdl", "--algo", "maj", "-n", "5")
    t.check("all five", d["runs"] == 5 and len(d["values"]) == 5, d)


def test_same_at_any_jobs():
    t.begin({"p.pdl": ASK, "q.txt": "q"}, drawn(["a", "b", "b", "c", "a", "b", "c"]))
    first, _ = infer("p.pdl", "--algo", "maj", "-n", "9", "--seed", "1", "--cache", "c.db", "--jobs", "9")
    asked = sum(t.service.asked.values())
    for jobs in ("1", "2", "9"):
        d, _ = infer("p.pdl", "--algo", "maj", "-n", "9", "--seed", "1", "--cache", "c.db", "--jobs", jobs)
        t.check("the cache answers, --jobs " + jobs, d["particles"] == first["particles"] and d["sample"] == first["sample"], first, d)
    t.check("nothing is asked again", sum(t.service.asked.values()) == asked, asked, t.service.asked)


def test_recording():
    t.begin({"p.pdl": hmm([0, 1, 1], .8, .7).replace("- ${ s }", "- ${ s }\n- model: openai/m"), "q.txt": "q"}, drawn(["a", "b", "b"]))
    first, _ = infer("p.pdl", "-n", "6", "--ess", "1", "--seed", "4", "--record", "r.db")
    asked = sum(t.service.asked.values())
    again, _ = infer("p.pdl", "-n", "6", "--ess", "1", "--seed", "4", "--replay", "r.db")
    t.check("a replay is the same", first["particles"] == again["particles"] and first["values"] == again["values"], first, again)
    t.check("and sends nothing", asked == 6 == sum(t.service.asked.values()), asked)


def test_calls_open_together():
    t.begin({"p.pdl": ASK, "q.txt": "q"}, drawn(["a"]))
    infer("p.pdl", "--algo", "is", "-n", "30", "--jobs", "3")
    t.check("at most --jobs", t.service.most_open <= 3 and sum(t.service.asked.values()) == 30, t.service.most_open)


def test_shared_part_runs_once():
    """Input is asked for once; inside a particle it is refused."""
    t.begin({"p.pdl": "lastOf:\n- {def: q, contribute: [], read: null}\n- ${ q }\n- model: openai/m\n",
             "late.pdl": "lastOf:\n- hello\n- {def: x, contribute: [], model: openai/m}\n- {read: null, message: '${ x }'}\n"}, drawn(["a"]))
    code, out, err = t.run("p.pdl", "--algo", "is", "-n", "4", word="infer", text="one\ntwo\n")
    t.check("one line for all", code == 0 and list(t.service.asked) == ["one"] and t.service.asked["one"] == 4, code, out, err, t.service.asked)
    code, out, err = t.run("late.pdl", "--algo", "is", "-n", "2", word="infer", text="one\n")
    t.check("refused later", code == 1 and "standard input" in err and "late.pdl:" in err, code, out, err)


def test_copies():
    """What a copy has: iterations of a map, handlers, budgets, texts in the making."""
    t.begin({"p.pdl": "lastOf:\n- map:\n    lastOf:\n    - {def: q, contribute: [], data: \"${ ['h','t'] | random }\"}\n    - factor: ${ 1.0 if q == 'h' else 0.0 }\n"
                      "    - ${ q }\n  for: {i: [1, 2, 3]}\n  join: {as: array}\n- repeat:\n    text:\n    - retry: 2\n      fallback: no\n      budget: {calls: 5}\n"
                      "      text:\n      - a${ j }\n      - factor: ${ -0.5 * ((range(2) | list) | random) }\n      - b\n    - ${ x }\n  for: {j: [1, 2]}\n"})
    d, _ = infer("p.pdl", "-n", "200", "--ess", "1", "--seed", "3", "-d", "x=z")
    t.check("texts", d["values"] == ["a1bza2bz"], d["values"])
    want = 3 * math.log((1 + math.e) / 2) + 2 * math.log((1 + math.exp(-.5)) / 2)
    t.check("evidence", abs(d["log_evidence"] - want) < .3 and abs(sum(d["probs"]) - 1) < 1e-12, want, d["log_evidence"])


def test_many_particles():
    """The bound of the specification is 2 seconds on a machine of its own; here other tests run beside it."""
    t.begin({"p.pdl": "defs: {x: 0}\nlastOf:\n- repeat:\n    lastOf:\n    - defs: {x: \"${ x + (range(1000) | random) / 1000 - 0.5 }\"}\n"
                      "    - factor: ${ -0.5 * (x - y) ** 2 }\n  for: {y: \"${ range(31) | list }\"}\n- ${ x | round(1) }\n"})
    d, _ = infer("p.pdl", "-n", "2000", "--seed", "1")
    t.check("31 factors", len(d["ess"]) == 32 and d["runs"] == 2000, d["ess"])
    t.check("rounds count", all(1 <= e <= 2000.001 for e in d["ess"]), d["ess"])


def test_failures():
    t.begin({"p.pdl": "lastOf:\n- ${ [1, 2][pdl_particle_id] }\n"})
    _, err = infer("p.pdl", "--algo", "is", "-n", "4", expected=1)
    t.check("names the first that failed", "particle 2 of 4" in err, err)
    drop, _ = infer("p.pdl", "--algo", "is", "-n", "4", "--on-error", "drop")
    zero, _ = infer("p.pdl", "--algo", "is", "-n", "4", "--on-error", "zero")
    t.check("counted", drop["failures"] == zero["failures"] == 2 and drop["probs"] == zero["probs"] == [.5, .5], drop, zero)
    t.check("one of N or not", abs(drop["log_evidence"]) < 1e-9 and abs(zero["log_evidence"] - math.log(.5)) < 1e-9, drop, zero)
    t.begin({"p.pdl": "lastOf:\n- ${ [1, 2] | random }\n- ${ key + 1 }\n"})
    for args in (("drop", "--algo", "is"), ("zero", "--algo", "is"), ("drop", "--algo", "maj"), ("zero", "--algo", "smc")):
        code, out, err = t.run("p.pdl", "-n", "3", "-d", "key: hidden-key-0123456789", "--on-error", *args, word="infer", MY_API_KEY="hidden-key-0123456789")
        t.check("all failed %s: why, without keys" % (args,), code == 1 and "all 3 runs failed: there is no result\n  the first: p.pdl:3 - Error" in err and "hidden-key" not in err, code, err)


def test_equality_and_by():
    t.begin({"p.pdl": "data: ['${ [1, 1.0, 2][pdl_particle_id] }', {a: '${ pdl_particle_id // 2 }'}]\n",
             "f.pdl": "lastOf:\n- text: one\n- lastOf:\n  - text: two\n  - function: {}\n    return: 1\n"})
    d, _ = infer("p.pdl", "--algo", "is", "-n", "3")
    t.check("equal as data", len(d["values"]) == 2 and abs(d["probs"][0] - 2 / 3) < 1e-9, d)
    d, _ = infer("p.pdl", "--algo", "is", "-n", "3", "--by", "result[1].a * 0")
    t.check("--by", len(d["values"]) == 1, d)
    _, err = infer("f.pdl", "--algo", "is", "-n", "2", expected=1)
    t.check("a function is not compared", err.startswith("f.pdl:5 - the result of ") and "cannot be compared" in err and "--by" in err, err)
    _, err = infer("p.pdl", "--algo", "is", "-n", "2", "--by", "result.", expected=2)
    t.check("a wrong expression", "--by" in err, err)


def test_bad_input():
    t.begin({"p.pdl": COIN, "nan.pdl": "factor: ${ 'nan' | float }\n", "zero.pdl": "lastOf:\n- a\n- factor: ${ '-inf' | float }\n",
             "up.pdl": "lastOf:\n- factor: 2\n- a\n"})
    for args, word in ((["-n", "0"], "whole number from 1"), (["-n", "1000000000"], "whole number from 1"), (["--algo", "mcmc"], "choose from maj, is, smc"),
                       (["-w", "2"], "no effect with --algo smc"), (["--tries", "3"], "belongs to --algo rejection"),
                       (["--ess", "2"], "from 0 to 1"), (["--algo", "maj", "--sure", "x"], "from 0.5 to 1")):
        _, err = infer("p.pdl", *args, expected=2)
        t.check("%s: one message" % args, word in err and err.count("error:") == 1, err)
    _, err = infer("nan.pdl", "--algo", "is", expected=1)
    t.check("not a number, with its place", "nan.pdl:1" in err and "not a number" in err, err)
    for algo in ("is", "smc"):
        d, err = infer("zero.pdl", "--algo", algo, "-n", "3", expected=1)
        t.check("all weights are zero", "zero.pdl:3" in err and "weights are zero" in err, err)
    t.begin({"later.pdl": "lastOf:\n- ${ pdl_particle_id }\n- factor: -1\n- factor: ${ '-inf' | float }\n", "up.pdl": "lastOf:\n- factor: 2\n- a\n",
             "zero.pdl": "lastOf:\n- a\n- factor: ${ '-inf' | float }\n"})
    d, err = infer("later.pdl", "-n", "3", expected=1)
    t.check("the rounds before are printed, and the evidence is zero", "later.pdl:4" in err and len(d["ess"]) == 1 and d["log_evidence"] is None and d["sample"] is None, d, err)
    _, err = infer("zero.pdl", "--algo", "rejection", "-n", "2", "--tries", "10", expected=1)
    t.check("gives the acceptance rate", "0 of" in err and "10 tries" in err, err)
    _, err = infer("up.pdl", "--algo", "rejection", "-n", "3")
    t.check("one warning", err.count("--max-score") == 1, err)


def test_seed():
    t.begin({"p.pdl": hmm(OBSERVED, .8, .7)})
    a, _ = infer("p.pdl", "-n", "50", "--seed", "1")
    b, _ = infer("p.pdl", "-n", "50", "--seed", "1")
    c, _ = infer("p.pdl", "-n", "50", "--seed", "2")
    t.check("repeatable", a == b and a["particles"] != c["particles"], a, c)
    d, _ = infer("p.pdl", "-n", "50")
    e, _ = infer("p.pdl", "-n", "50", "--seed", str(d["seed"]))
    t.check("the seed that was drawn", d == e, d, e)


def test_pdl_infer_by_its_name(tmp_path):
    import subprocess
    link = tmp_path / "pdl-infer"
    link.symlink_to(t.pdl)
    t.begin({"p.pdl": WEIGHTED})
    out = subprocess.run([link, "--algo", "is", "-n", "1", "p.pdl"], cwd=t.folder, capture_output=True, text=True, timeout=60)
    t.check("prints a sample", (out.returncode, out.stdout) == (0, "0\n"), out)
    for words, bars in ((["-n", "2", "-v"], 2), (["--num-particles", "3", "--viz"], 3), (["--num-particles=1"], 0)):
        out = subprocess.run([link, "--algo", "is", *words, "p.pdl"], cwd=t.folder, capture_output=True, text=True, timeout=60)
        t.check("the reference's words %s" % words, out.returncode == 0 and len(out.stderr.splitlines()) == bars, out)
    out = subprocess.run([link], cwd=t.folder, capture_output=True, text=True, timeout=60)
    t.check("its help without a program", (out.returncode, out.stderr) == (0, "") and out.stdout.startswith("usage: "), out)
    out = subprocess.run([link, "--version"], cwd=t.folder, capture_output=True, text=True, timeout=60)
    t.check("and its version", out.returncode == 0 and out.stdout.startswith("PDL "), out)
