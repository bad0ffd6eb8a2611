# SPDX-License-Identifier: Apache-2.0
"""The helpers of the tests of inference: the command with --json, and programs whose posterior has a closed form."""
import json
import math

from ..batch.kit import t


def infer(program, *args, expected=0, json_wanted=True):
    """The distribution as `pdl infer --json` prints it, and what is on standard error."""
    code, out, err = t.run(program, *args, *(["--json"] if json_wanted else []), word="infer")
    t.check("pdl infer %s %s" % (program, " ".join(args)), expected is None or code == expected, code, err)
    return (json.loads(out) if json_wanted and out.startswith("{") else out), err


def experiments(scale):
    """How many particles an inference has whose posterior is known, and the seeds: in `soak` ten thousand, and twenty."""
    n, seeds = (10000, 20) if scale(1) > 1 else (1000, 5)
    return n, range(seeds)


def probability(d, value):
    return sum(p for v, p in zip(d["values"], d["probs"]) if v == value)


def hmm(observed, stay, right):
    """A hidden Markov model with two states as a program; a thousand equal parts stand for a probability."""
    return """defs:
  s: ${ (range(2) | list) | random }
lastOf:
- repeat:
    lastOf:
    - defs:
        u: ${ range(1000) | random }
        s: ${ s if u < %d else 1 - s }
    - factor: ${ %.17g if s == y else %.17g }
  for: {y: %s}
- ${ s }
""" % (round(1000 * stay), math.log(right), math.log(1 - right), json.dumps(observed))


def forward(observed, stay, right):
    """The probability that the last state is 1, and the log evidence."""
    a, evidence = [.5, .5], 0.
    for y in observed:
        a = [a[0] * stay + a[1] * (1 - stay), a[1] * stay + a[0] * (1 - stay)]
        a = [x * (right if s == y else 1 - right) for s, x in enumerate(a)]
        evidence += math.log(sum(a))
        a = [x / sum(a) for x in a]
    return a[1], evidence
