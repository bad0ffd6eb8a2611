#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""policy.py -- what a policy costs: programs that compute, with and without one, in processor time.

    bench/policy.py [--pdl build/pdl] [--runs N]

The least of N runs counts. Fails where a ratio is above LIMIT.
"""
import argparse
import os
import pathlib
import resource
import subprocess
import sys

from harness import ROOT, SHARED

LIMIT = 1.1
WORK = [("function calls", "fib.pdl", "n: 23"), ("loop", "loop.pdl", "n: 200000"), ("accumulate", "accumulate.pdl", "n: 200000"),
        ("chat", "chat.pdl", "n: 20000"), ("templates", "templates.pdl", ""), ("expressions", "expressions.pdl", "")]
POLICIES = ["careful", "strict"]


def seconds(argv, env):
    """Of the processor, in the command and what it started; None: it failed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if subprocess.run(argv, env=env, capture_output=True, check=False).returncode:
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--pdl", default="build/pdl")
    p.add_argument("--runs", type=int, default=9)
    o = p.parse_args()
    env = {**os.environ, "PDL_PATH": str(ROOT)}
    env.pop("PDL_POLICY", None)
    worst = 0
    for name, file, data in WORK:
        path = next((d / file for d in (pathlib.Path(__file__).resolve().parent / "programs", SHARED) if (d / file).exists()), None)
        if not path:
            print("%-16s skipped: %s is not there" % (name, file))
            continue
        head = [os.path.abspath(o.pdl), "--stream", "none"]
        tail = (["-d", data] if data else []) + [str(path)]
        ways = {"none": head + tail, **{w: head + ["--policy", w] + tail for w in POLICIES}}
        least = {}
        for _ in range(o.runs):  # in turn, so that others on the machine are as bad for each
            for way, argv in ways.items():
                t = seconds(argv, env)
                if t is None:
                    print("%-16s fails with the policy %s" % (name, way))
                    return 1
                least[way] = min(t, least.get(way, t))
        ratios = [least[w] / least["none"] for w in POLICIES]
        worst = max([worst, *ratios])
        print("%-16s %.3f s" % (name, least["none"]) + "".join(", %s %.2f times" % wr for wr in zip(POLICIES, ratios)))
    return 1 if worst > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
