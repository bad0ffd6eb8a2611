#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sandbox.py -- what the sandbox adds to a command and to the first code block of a run.

    bench/sandbox.py [--pdl build/pdl] [--runs N]

The best of N runs counts: others may be at work on the machine, and the question is what the work itself takes.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time

COMMANDS = 30
PROGRAMS = {"a command": ({"for": {"i": list(range(COMMANDS))}, "repeat": {"lang": "command", "args": ["true"], "contribute": []}}, COMMANDS),
            "a first code block": ({"lang": "python", "code": "result = 1"}, 1)}
WAYS = {"without": ([], {}), "native": (["--sandbox"], {"PDL_SANDBOX_BACKEND": "native"}), "bubblewrap": (["--sandbox"], {"PDL_SANDBOX_BACKEND": "bwrap"}),
        "process": (["--sandbox", "--sandbox-min", "process"], {"PDL_SANDBOX_WITHOUT": "userns"})}


def best(pdl, args, env, runs):
    """Milliseconds; None: this machine cannot."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        if subprocess.run([pdl, *args, "a.pdl"], env={**os.environ, **env}, capture_output=True, check=False).returncode:
            return None
        times.append((time.perf_counter() - start) * 1000)
    return min(times)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--pdl", default="build/pdl")
    p.add_argument("--runs", type=int, default=9)
    o = p.parse_args()
    pdl = os.path.abspath(o.pdl)
    with tempfile.TemporaryDirectory() as d:
        os.chdir(d)
        for name, (program, times) in PROGRAMS.items():
            with open("a.pdl", "w", encoding="utf-8") as f:
                json.dump(program, f)
            bare = best(pdl, *WAYS["without"], o.runs)
            for way, (args, env) in WAYS.items():
                ms = bare if way == "without" else best(pdl, args, env, o.runs)
                print("%-20s %-11s %s" % (name, way, "cannot be made here" if ms is None else "%6.1f ms, +%.1f ms" % (ms / times, (ms - bare) / times)))
    return 0


if __name__ == "__main__":
    main()
