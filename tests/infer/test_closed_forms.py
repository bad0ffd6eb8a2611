# SPDX-License-Identifier: Apache-2.0
"""Posteriors with closed forms: each result is within four standard errors. The seeds are fixed."""
import functools
import itertools
import json
import math
import random
import statistics

import pytest

from .kit import experiments, infer, probability, t

# Ten trials of a coin whose bias is uniform on a grid; what is seen is how many were heads.
BETA = """defs:
  theta: ${ ((range(1, 100) | list) | random) / 100 }
lastOf:
- repeat:
    lastOf:
    - factor: ${ 0 if ((range(100) | list) | random) / 100 < theta else -1.0e6 }
  for: {i: [1, 2, 3]}
- ${ theta }
"""
# A Gaussian random walk, seen with Gaussian noise; the sum of twelve uniform numbers less six stands for a normal one.
CHAIN = """defs: {x: 0}
lastOf:
- repeat:
    lastOf:
    - defs:
        u: ${ [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] }
        s: ${ 0 }
    - repeat: {defs: {s: "${ s + (range(1000) | random) / 1000 + 0.0005 }"}, data: 1}
      for: {k: "${ u }"}
    - defs: {x: "${ x + s - 6 }"}
    - factor: ${ -0.5 * (x - y) ** 2 }
  for: {y: [1.0, 0.5, 2.0]}
- ${ x }
"""
JUDGE = """defs:
  good: ${ ((range(10) | list) | random) < 3 }
lastOf:
- repeat: {factor: "${ l[0] if good else l[1] }"}
  for: {l: [%s]}
- ${ good }
"""


MIXTURE = """defs:
  sides: ${ 6 if ((range(4) | list) | random) == 0 else 10 }
lastOf:
- repeat:
    lastOf:
    - factor: ${ 0.0 if ((range(sides) | list) | random) < 4 else -1.0e999 }
  for: {i: [1, 2, 3]}
- ${ sides }
"""


def kalman(seen):
    mean, var = 0., 0.
    for y in seen:
        var += 1
        gain = var / (var + 1)
        mean, var = mean + gain * (y - mean), (1 - gain) * var
    return mean, var


def moments(d):
    mean = sum(v * p for v, p in zip(d["values"], d["probs"]))
    return mean, sum((v - mean) ** 2 * p for v, p in zip(d["values"], d["probs"]))


@pytest.mark.parametrize("algo", ["is", "smc"])
def test_gaussian_chain(algo, scale):
    mean, var = kalman([1., .5, 2.])
    t.begin({"p.pdl": CHAIN})
    particles, seeds = experiments(scale)
    for seed in seeds:
        d, _ = infer("p.pdl", "--algo", algo, "-n", str(particles), "--seed", str(seed))
        got, spread = moments(d)
        n = min(d["ess"]) / 2  # resampled particles are not independent
        t.check("the mean of Kalman's filter", abs(got - mean) < 4 * math.sqrt(var / n), mean, got)
        t.check("its variance", abs(spread - var) < 4 * var * math.sqrt(2 / n), var, spread)


def test_beta_bernoulli(scale):
    """Three heads: the posterior is Beta(4, 1), with the mean 0.8."""
    grid = [i / 100 for i in range(1, 100)]
    want = sum(g ** 4 for g in grid) / sum(g ** 3 for g in grid)
    evidence = math.log(sum(g ** 3 for g in grid) / len(grid))
    t.begin({"p.pdl": BETA})
    particles, seeds = experiments(scale)
    for seed in seeds:
        d, _ = infer("p.pdl", "-n", str(particles), "--seed", str(seed))
        got, spread = moments(d)
        n = min(d["ess"]) / 2
        t.check("the mean", abs(got - want) < 4 * math.sqrt(spread / n), want, got)
        t.check("the evidence", abs(d["log_evidence"] - evidence) < 4 * math.sqrt(3 / particles) * 2, evidence, d["log_evidence"])
        r, _ = infer("p.pdl", "--algo", "rejection", "-n", "300", "--seed", str(seed))
        got, spread = moments(r)
        t.check("by rejection", abs(got - want) < 4 * math.sqrt(spread / 300), want, got)


def test_judge_with_known_errors(scale):
    """Three reports of a judge that is right in 8 of 10: Bayes."""
    right, wrong = math.log(.8), math.log(.2)
    t.begin({"p.pdl": JUDGE % ", ".join("[%.17g, %.17g]" % pair for pair in ((right, wrong), (right, wrong), (wrong, right)))})
    odds, (particles, seeds) = .3 / .7 * 4, experiments(scale)
    for algo, seed in itertools.product(("is", "smc"), seeds):
        d, _ = infer("p.pdl", "--algo", algo, "-n", str(particles), "--seed", str(seed))
        want = odds / (1 + odds)
        t.check("%s, seed %d" % (algo, seed), abs(probability(d, True) - want) < 4 * math.sqrt(want * (1 - want) / min(d["ess"])), want, d["probs"])


@pytest.mark.parametrize("algo", ["is", "smc", "rejection"])
def test_mixture_with_hard_constraints(algo, scale):
    """One of two dice, of six and of ten sides; three throws are at most four: what is impossible has the weight zero."""
    t.begin({"p.pdl": MIXTURE})
    six, ten = .25 * (4 / 6) ** 3, .75 * .4 ** 3
    want, particles, seeds = six / (six + ten), *experiments(scale)
    n = particles // 4 if algo == "rejection" else particles
    for seed in seeds:
        d, _ = infer("p.pdl", "--algo", algo, "-n", str(n), "--seed", str(seed))
        share = probability(d, 6)
        least = n if algo == "rejection" else min(d["ess"])
        t.check("seed %d" % seed, abs(share - want) < 4 * math.sqrt(want * (1 - want) / least), want, d["probs"])
        if algo != "rejection":
            t.check("the evidence", abs(d["log_evidence"] - math.log(six + ten)) < 8 / math.sqrt(least), math.log(six + ten), d["log_evidence"])


@pytest.mark.parametrize("p", [.5, .6, .7, .8, .9])
def test_majority_of_five(p, scale):
    """The chance that a majority is right, and how many runs decide, by the binomial distribution."""
    n, seeds = 5, scale(60)
    t.begin({"p.pdl": "${ 'yes' if ((range(1000) | list) | random) < %d else 'no' }\n" % round(1000 * p)})
    want = sum(math.comb(n, k) * p ** k * (1 - p) ** (n - k) for k in range(3, n + 1))
    runs = sum(m * sum(math.comb(m - 1, 2) * a ** 3 * b ** (m - 3) for a, b in ((p, 1 - p), (1 - p, p))) for m in (3, 4, 5))
    found = [infer("p.pdl", "--algo", "maj", "-n", "5", "--seed", str(s))[0] for s in range(seeds)]
    right = statistics.mean(d["sample"] == "yes" for d in found)
    t.check("right", abs(right - want) < 4 * math.sqrt(want * (1 - want) / seeds) + 1e-9, want, right)
    used = statistics.mean(d["runs"] for d in found)
    t.check("runs", abs(used - runs) < 4 * .8 / math.sqrt(seeds), runs, used)
    t.check("never fewer than three", all(d["runs"] >= 3 for d in found))


def test_sure_saves_most_runs(scale):
    """Of forty, a clear answer needs a fraction with --sure, and stays the same."""
    t.begin({"p.pdl": "${ 'yes' if ((range(1000) | list) | random) < 900 else 'no' }\n"})
    found = [infer("p.pdl", "--algo", "maj", "-n", "40", "--sure", "0.99", "--seed", str(s))[0] for s in range(scale(40))]
    t.check("the answer", all(d["sample"] == "yes" for d in found), [d["sample"] for d in found])
    t.check("three times fewer", statistics.mean(d["runs"] for d in found) < 40 / 3, [d["runs"] for d in found])


@functools.lru_cache(None)
def leads(a, b):
    """-> the probability that a share with the distribution Beta(a+1, b+1) is over one half."""
    return sum(math.comb(a + b + 1, k) for k in range(a + 1)) / 2 ** (a + b + 1)


def voted(p, n, sure):
    """-> (the probability that the answer is right, the mean number of runs) of a vote that may stop early; p: the probability that one run is right."""
    @functools.lru_cache(None)
    def from_(a, b):
        first, second = max(a, b), min(a, b)
        if first > second + n - a - b or (sure and first and leads(first, second) >= sure) or a + b == n:
            return (1.0 if a > b else 0.5 if a == b else 0.0), 0.0
        x, y = from_(a + 1, b), from_(a, b + 1)
        return p * x[0] + (1 - p) * y[0], 1 + p * x[1] + (1 - p) * y[1]
    return from_(0, 0)


CURVES = ((1, 1), (2, 1), (4, 1))  # questions whose votes agree to different degrees: few are clear, many, most


def test_what_sure_loses():
    """The closed form: the leading answer is as often right as the votes for it agree, and its share has the distribution (1 + Beta(a, b)) / 2."""
    for sure, most, least in ((.95, .0015, 4), (.97, .0005, 3), (.99, .0001, 2.5)):
        loss, saved = [], []
        for a, b in CURVES:
            points = [(i + .5) / 40 for i in range(40)]
            weights = [x ** (a - 1) * (1 - x) ** (b - 1) for x in points]
            ends = [(voted(.5 + x / 2, 40, 0), voted(.5 + x / 2, 40, sure)) for x in points]
            loss.append(sum(w * x * (f[0] - e[0]) for w, x, (f, e) in zip(weights, points, ends)) / sum(weights))
            saved.append(40 * sum(weights) / sum(w * e[1] for w, (_, e) in zip(weights, ends)))
        t.check("--sure %g: answers lost, times fewer runs" % sure, statistics.mean(loss) < most and statistics.mean(saved) >= least, loss, saved)


def test_sure_over_agreement_curves(scale):
    """The engine follows the closed form: over many questions, the right answers and the runs that it makes."""
    t.begin({"p.pdl": "${ 'yes' if ((range(1000) | list) | random) < p else 'no' }\n"})
    rows, draw = scale(300), random.Random(4)
    for a, b in CURVES:
        shares = [.5 + draw.betavariate(a, b) / 2 for _ in range(rows)]
        chances = [round(1000 * (x if draw.random() < x else 1 - x)) / 1000 for x in shares]
        (t.folder / "q.jsonl").write_text("".join(json.dumps({"p": round(1000 * p), "answer": "yes"}) + "\n" for p in chances))
        for sure in (0, .97):
            more = ("--sure", str(sure)) if sure else ()
            code, out, err = t.run("p.pdl", "--infer", "maj", "-n", "40", *more, "--input", "q.jsonl", "--expect", "answer", "--seed", "2", "--json", word="eval")
            t.check("it is counted", code == 0, err)
            found, want = json.loads(out)["programs"][0], [voted(p, 40, sure) for p in chances]
            right, runs = sum(x[0] for x in want), sum(x[1] for x in want)
            spread = math.sqrt(sum(x[0] * (1 - x[0]) for x in want))
            t.check("right answers", abs(found["right"] - right) <= 4 * spread + 1, found["right"], right, spread)
            t.check("runs", abs(found["inference"]["runs"] - runs) <= 4 * 13 * math.sqrt(rows), found["inference"]["runs"], runs)

