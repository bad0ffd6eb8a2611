# SPDX-License-Identifier: Apache-2.0
"""test_sched.py -- the output of a program depends neither on the order of its fibers nor on the time that models take.

Each program runs over the model server of the conformance kit, with twenty seeds of PDL_STRESS=sched (`test` takes five, which differ in each commit)
and with several delays. Standard output, files, trace, the set of requests and the exit status must be the same each time.
"""
import json
import pathlib
import random
import subprocess
import tempfile
import urllib.request

import pytest

from ..checks import check
from ..conformance.model_server import ModelServer
from ..harness.choice import Choice
from .kit import DELAYS, models_env

PROGRAMS = {
    "map": """
for: {i: "${ range(8) }"}
map:
  model: openai/slow-${ [D1, D2, D3][i % 3] }ms+echo
  input: say ${ i }
join: {with: "|"}
""",
    "independent calls": """
text:
- {model: openai/slow-D1ms+echo, input: one, def: a}
- " and "
- {model: openai/slow-D2ms+upper, input: two, def: b}
- " so ${ b } ${ a }"
- {model: openai/slow-D3ms+dump, def: c}
- {data: "${ pdl_context|length }", contribute: [result]}
""",
    "fallback in a map": """
for: {i: "${ range(6) }"}
map:
  text:
  - "<"
  - model: ${ 'openai/fail-400' if i % 2 else 'openai/slow-D2ms+echo' }
    input: n${ i }
    fallback: {model: openai/slow-D1ms+upper, input: "f${ i }"}
  - ">"
join: {as: array}
""",
    "nested maps": """
for: {i: "${ range(3) }"}
map:
  for: {j: "${ range(3) }"}
  map:
    text:
    - "${ i }${ j }:"
    - {model: "openai/slow-${ [D1, D2, D3][(i + j) % 3] }ms+echo", input: "p${ i * j }"}
    - ";"
  join: {as: array}
join: {as: array}
""",
    "contributions of a map": """
defs:
  out: {aggregator: {file: out.txt}}
text:
- for: {i: "${ range(5) }"}
  map:
    text:
    - {text: "start ${ i } ", contribute: [stdout]}
    - {model: openai/slow-D1ms+echo, input: "m${ i }", contribute: [stdout, context]}
- "\\n${ pdl_context|length }\\n"
""",
    "reduce": """
defs:
  add:
    function: {acc: string, x: string}
    return: ${ acc + '-' + x }
for: {i: "${ range(5) }"}
map: {model: openai/slow-D2ms+echo, input: "i${ i }"}
join: {reduce: "${ add }"}
""",
    "retry and expectations": """
for: {i: "${ range(4) }"}
map:
  model: openai/fail-400-2+slow-D1ms+say:r${ i }
  input: go
  retry: 5
join: {as: array}
""",
    "definitions and functions": """
defs:
  ask:
    function: {q: string}
    return: {model: openai/slow-D3ms+reverse, input: "${ q }"}
text:
- for: {i: "${ range(4) }"}
  map: {def: x, call: "${ ask }", args: {q: "q${ i }"}}
  join: {as: array}
  def: all
- "\\n${ all[2] } ${ all|length } "
- for: {y: "${ all }"}
  repeat: "${ ask(q=y) }"
  join: {with: ","}
""",
    "the first error of a map": """
for: {i: "${ range(6) }"}
map:
  text:
  - {model: openai/slow-D2ms+echo, input: "${ i }", def: r}
  - ${ nope if i in [2, 4] else r }
""",
}


def untimed(v):
    """A trace without its times, and without the numbers that the server gives to its replies."""
    if isinstance(v, dict):
        return {k: untimed(x) for k, x in v.items() if k not in ("pdl__timing", "id", "created")}
    return [untimed(x) for x in v] if isinstance(v, list) else v


def run(pdl, base, text, seed, delays, session):
    for i, d in enumerate(delays):
        text = text.replace("D%d" % (i + 1), str(d))
    url = base + "/s/" + session
    env = models_env(url, **({"PDL_STRESS": "sched:%d" % seed} if seed else {}))
    with tempfile.TemporaryDirectory() as work:
        (pathlib.Path(work) / "p.pdl").write_text(text)
        p = subprocess.run([pdl, "p.pdl", "-t", "trace.json", "--whole"], cwd=work, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=60,
                           check=False)
        out = pathlib.Path(work) / "out.txt"
        file = out.read_text() if out.exists() else None
        trace = json.loads((pathlib.Path(work) / "trace.json").read_text())
    log = json.load(urllib.request.urlopen(url + "/log"))

    def bare(x):  # without the delays in the names of models
        s = json.dumps(x, sort_keys=True).replace("[%d, %d, %d]" % delays, "[]")
        for d in sorted(delays, reverse=True):
            s = s.replace("slow-%dms" % d, "slow")
        return s

    asked = sorted(bare({k: v for k, v in e.items() if k in ("body", "request", "model", "messages")}) for e in log)
    told = bare(untimed(trace))
    if p.returncode:  # an error ends the run: how many calls were made before it depends on time
        asked = told = None
    return p.returncode, p.stdout, file, asked, told, p.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_sched(pdl, scale, name):
    base, text = ModelServer().start().url, PROGRAMS[name].lstrip()
    want = run(pdl, base, text, 0, DELAYS[0], "s0")
    if not check(name, want[0] == (1 if "error" in name else 0), "exit status %d\n%s" % (want[0], want[5].decode())):
        return
    for seed in random.Random(Choice.seed + name).sample(range(1, 10**6), scale(20, 5)):
        delays = DELAYS[seed % len(DELAYS)]
        got = run(pdl, base, text, seed, delays, "s%d" % seed)
        check(name, got[:5] == want[:5], "seed %d, delays %s:\n%r\nnot\n%r\n%s" % (seed, delays, got[:5], want[:5], got[5].decode()))
