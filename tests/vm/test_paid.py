# SPDX-License-Identifier: Apache-2.0
"""test_paid.py -- replies that were paid for are shown even if a later line fails, however long they take.

Each program runs with several delays of its models and several orders of its fibers.
"""
import pathlib
import subprocess
import tempfile

from ..checks import check
from ..conformance.model_server import ModelServer
from .kit import DELAYS, models_env

NOPE = "'nope' is undefined"
# name, options, program, standard output, text of standard error ("": the run ends well). D1..D3: delays.
ROWS = [
    ("a later line", [], """
text: ["Hi ", {model: openai/slow-D1ms+say:one, input: x}, " and ", "${ nope }"]
""", "Hi one and ", NOPE),
    ("two calls", [], """
text: [{model: openai/slow-D1ms+say:one, input: x}, " ", {model: openai/slow-D2ms+say:two, input: x}, "${ nope }"]
""", "one two", NOPE),
    ("the messages", ["--stream", "context"], """
text: [{model: openai/slow-D1ms+say:one, input: x}, "${ nope }"]
""", "\nassistant: one", NOPE),
    ("an earlier call fails", [], """
text: ["Hi ", {model: openai/slow-D1ms+fail-400, input: x}, " and ", "${ nope }"]
""", "Hi ", "p.pdl:1 - Error during 'openai/slow-D1ms+fail-400' model call"),
    ("the second of three calls fails", [], """
text: [{model: openai/slow-D1ms+say:one, input: x}, {model: openai/slow-D2ms+fail-400, input: x}, {model: openai/slow-D3ms+say:three, input: x}, "${ nope }"]
""", "one", "slow-D2ms+fail-400"),
    ("an attempt with a fallback", [], """
text: [{text: ["Hi ", {model: openai/slow-D1ms+say:one, input: x}, " and ", "${ nope }"], fallback: F}, " end"]
""", "Hi one and F end", ""),
    ("a call that fails in an attempt", [], """
text: [{text: ["Hi ", {model: openai/slow-D1ms+fail-400, input: x}, " and ", "${ nope }"], fallback: "F ${ pdl_error.kind }"}, " end"]
""", "Hi F bad_request end", ""),
    ("attempts", [], """
text: [{text: ["Hi ", {model: openai/slow-D1ms+say:one, input: x}, "; ", "${ nope }"], retry: 1, fallback: F}, {model: openai/slow-D2ms+say:two, input: x}]
""", "Ftwo", "[Retry 1/1]"),
    ("a call before the attempt", [], """
text: [{model: openai/slow-D1ms+say:one, input: x}, {text: ["Hi ", "${ nope }"], fallback: F}, "${ nope }"]
""", "oneHi F", NOPE),
    ("a function", [], """
defs: {f: {function: {}, return: {text: [{model: openai/slow-D1ms+say:one, input: x}, "${ nope }"]}}}
text: ["Hi ", {call: "${ f }"}]
""", "Hi one", NOPE),
    ("an include", [], """
text: ["Hi ", {include: i.pdl}]
""", "Hi one", NOPE),
    ("iterations", ["--stream", "context"], """
for: {i: [1, 2, 3]}
map: {text: [{model: "openai/slow-${ [D1, D2, D3][i - 1] }ms+say:n${ i }", input: x}, "${ nope if i == 2 else i }"]}
""", "\nassistant: n1\nuser: 1\nassistant: n2", NOPE),
    ("an attempt in an iteration", ["--stream", "context"], """
for: {i: [1, 2]}
map: {text: [{model: "openai/slow-${ [D1, D2][i - 1] }ms+say:n${ i }", input: x}, "${ nope if i == 2 else i }"], fallback: F}
""", "\nassistant: n1\nuser: 1\nassistant: n2\nuser: F", ""),
    ("nothing is shown", ["--stream", "none"], """
text: ["Hi ", {model: openai/slow-D1ms+say:one, input: x}, " and ", "${ nope }"]
""", "", NOPE),
]


def run(pdl, base, options, text, delays, seed):
    for i, d in enumerate(delays):
        text = text.replace("D%d" % (i + 1), str(d))
    env = models_env(base, PDL_STRESS="sched:%d" % seed)
    with tempfile.TemporaryDirectory() as work:
        (pathlib.Path(work) / "p.pdl").write_text(text.lstrip())
        (pathlib.Path(work) / "i.pdl").write_text("text: [{model: openai/slow-%dms+say:one, input: x}, \"${ nope }\"]\n" % delays[0])
        p = subprocess.run([pdl, "--check=off"] + options + ["p.pdl"], cwd=work, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=60,
                           check=False)
    return p.stdout.decode(), p.stderr.decode(), p.returncode


def problem(pdl, base, row, delays, seed):
    name, options, text, want, told = row
    out, err, status = run(pdl, base, options, text, delays, seed)
    for i, d in enumerate(delays):
        told = told.replace("D%d" % (i + 1), str(d))
    ends_well = not told or "Retry" in told
    if out != want + ("\n" if ends_well else "") or told not in err or status != (0 if ends_well else 1):
        return "delays %s, seed %d: status %d\n%r\n%s" % (delays, seed, status, out, err)
    return None


def test_paid(pdl):
    base = ModelServer().start().url
    for row in ROWS:
        tries = (problem(pdl, base, row, DELAYS[seed % len(DELAYS)], seed) for seed in range(1, 7))
        why = next((w for w in tries if w), None)
        check(row[0], why is None, why)
