# SPDX-License-Identifier: Apache-2.0
"""One run has one number of model calls and tokens: --verbose, the trace, the spans and the page agree for every example."""
import json
import re
import shutil
import subprocess

import pytest

from ..checks import check, same
from ..telemetry.kit import Collector, facts
from ..viewer.test_view import View
from .test_examples import EXAMPLES, FOLDERS, NAMES, quiet

STEP = re.compile(r"^pdl: .*model \S+(, failed after|, -?[\d.]+ s(?:, waited [\d.]+ s)?(?:, (\d+) tokens in, (\d+) out)?(?:, prefix [\d.]+ %)?$)")


def of_verbose(lines):
    calls = [m for m in map(STEP.match, lines) if m and not m[1].startswith(", failed")]
    return len(calls), sum(int(m[2] or 0) for m in calls), sum(int(m[3] or 0) for m in calls)


def of_trace(v):
    """The sums over all blocks that were executed."""
    parts = v if isinstance(v, list) else v.values() if isinstance(v, dict) else []
    own = v.get("pdl__usage") if isinstance(v, dict) else None
    rows = [of_trace(x) for x in parts] + ([[own[k] for k in ("model_calls", "prompt_tokens", "completion_tokens")]] if own else [])
    return tuple(map(sum, zip(*rows))) if rows else (0, 0, 0)


def of_spans(spans):
    chats = [f for s in spans for f in [facts(s)] if f.get("gen_ai.operation.name") == "chat" and "status" not in s]
    return (len(chats), *(sum(f.get("gen_ai.usage." + k, 0) for f in chats) for k in ("input_tokens", "output_tokens")))


def of_page(trace):
    v = View(trace)
    v.open()
    run = v.json("runs")["runs"][0]
    v.end()
    return run["calls"], run["prompt_tokens"], run["completion_tokens"]


@pytest.mark.parametrize("kind", ["", *FOLDERS])
def test_totals(kind, pdl, folder):
    work, c, most = shutil.copytree(EXAMPLES, folder / "examples"), Collector(), 0
    for name in NAMES if not kind else sorted("%s/%s" % (kind, p.stem) for p in (EXAMPLES / kind).glob("*.pdl")):
        c.clear()
        p = subprocess.run([pdl, "--verbose", "--replay", name + ".journal", "--otlp", c.base + "/v1/traces", "--otlp-all", "-t", "t.json", name + ".pdl"],
                           cwd=work, env=quiet("/nonexistent"), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        same(p.returncode, 0, (name, p.stderr))
        wanted = of_verbose(p.stderr.splitlines())
        same(wanted[0], sum("model " in x for x in p.stderr.splitlines() if x.startswith("pdl: ") and "failed after" not in x), p.stderr)
        most += wanted[0]
        same(of_trace(json.loads((work / "t.json").read_text())), wanted, "the trace of " + name)
        same(of_spans(c.spans()), wanted, "the spans of " + name)
        same(of_page(work / "t.json"), wanted, "the page of " + name)
    check("there were calls", most > 0 or kind == "eval", kind)
