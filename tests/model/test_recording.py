#!/usr/bin/env python3
"""A replay as it looks from outside, over real HTTP for the recording.

    python3 tests/model/test_recording.py BUILD_DIR [NAME ...]      prints "N passed, N failed"
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from loopback import Place, Server, main, same  # noqa: E402

PROGRAM = """defs: {x: {model: openai/a, input: a}}
text:
- ${ x }
- for: {i: [1, 2, 3]}
  repeat: {model: openai/b, input: 'n${ i }', retry: 1}
- for: {i: [1, 2]}
  map: {text: ['${ i }', {model: openai/c, input: 'm${ i }'}]}
- text: no number
  spec: integer
  retry: 1
  fallback: {data: 7}
"""


def times(trace, out):
    """Every pdl__timing with the id of its block, in the order of the trace."""
    if isinstance(trace, dict):
        if "pdl__timing" in trace:
            out.append((trace.get("pdl__id"), trace["pdl__timing"]))
        for v in trace.values():
            times(v, out)
    elif isinstance(trace, list):
        for v in trace:
            times(v, out)
    return out


def trace_of_a_replay_has_the_recorded_times(build):
    for mode in ("none", "result"):
        with Server(lambda body, n: "r%d" % n, delay=0.02) as s:
            p = Place(build, s)
            same(p.run("--stream", mode, "--jobs", "1", "--record", "j", "p.pdl", "-t", "one.json", program=PROGRAM)[0], 0)
        time.sleep(0.05)
        same(p.run("--stream", mode, "--jobs", "1", "--replay", "j", "p.pdl", "-t", "two.json")[0], 0)
        one, two = (times(json.loads((p.dir / f).read_text()), []) for f in ("one.json", "two.json"))
        same([t[0] for t in two], [t[0] for t in one])
        for (place, a), (_, b) in zip(one, two):
            for key in ("start_nanos", "end_nanos"):
                gap = abs(a[key] - b[key]) / 1e6
                same(gap < 15, True, "%s %s of %s: %.3f ms apart" % (mode, key, place, gap))


TESTS = [trace_of_a_replay_has_the_recorded_times]

if __name__ == "__main__":
    sys.exit(main(TESTS, sys.argv))
