#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py -- random programs through the reference interpreter and through ours; each difference is printed and kept.

    REFERENCE_PYTHON -m tests.differential.compare --pdl build/pdl [--first SEED] [--seeds N] [--models P] [--seconds S] [--keep DIR] [--no-shrink]

The Python that has the reference (package prompt-declaration-language, 0.9.3) runs this program. The reference stays loaded, and each run is a fork.
As in the conformance kit, these are compared: exit status, standard output (with --stream none and while streaming), errors with their lines, typed
result, final variables, context, requests to models and trace. A difference is shrunk and kept as a case of the kit in DIR.
Any other Python prints `0 passed, 0 failed, 1 skipped`.
"""
import argparse
import collections
import copy
import json
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time

from . import generate
from ..conformance import make_goldens, run as kit

# Known differences (docs/differences.md), which are counted and do not fail.
EAGER = re.compile(r" - (Type errors during spec checking|Type errors in result of the function|Attempted to parse ill-formed|Fail to parse with regex|No group named)")


def known(golden, obs):
    """The name of the known difference, or None."""
    error = golden.get("error", {})
    if golden["exit"] == 0 and obs["exit"] == 1 and EAGER.search(obs["stderr"]):
        return "eager"      # the reference does not look at a value that nobody uses
    if golden["exit"] == 1 and obs["exit"] == 1:
        lines = error.get("lines", [])
        if error.get("kind") == "schema" and (len(lines) > 1 or any("anyOf" in x.get("detail", "") or "None should be" in x["contains"] for x in lines)):
            return "schema"  # the reference adds what follows from a mistake, at the places around it
        if EAGER.search(obs["stderr"]) and not EAGER.search(obs_text(lines)):
            return "eager"
    return None


def obs_text(lines):
    return "".join(" - %s\n" % x["contains"] for x in lines)


def comparable(trace):
    """A trace without what differs on purpose (spec execution R20): places leaked into words of commands and contributions, objects of the host."""
    if isinstance(trace, dict):
        return {k: comparable(v) for k, v in trace.items() if k not in ("contribute", "modelResponse") and not (k == "args" and isinstance(v, list))
                and not (k in ("pdl__result", "aggregator") and (isinstance(v, str) and "object" in v))}
    return [comparable(x) for x in trace] if isinstance(trace, list) else trace


class Generated(kit.Case):
    """A case of the kit that lives in a temporary folder."""

    def __init__(self, root, name, files, spec):
        folder = pathlib.Path(root) / "generated" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for n, text in files.items():
            (folder / n).write_text(text, encoding="utf-8")
        (folder / "case.json").write_text(json.dumps(spec, indent=1) + "\n", encoding="utf-8")
        super().__init__(str(root), "generated", name)
        self.spec = spec


class Pair:
    def __init__(self, command, timeout, lines):
        self.lines = lines
        self.server = kit.Server()
        self.reference = make_goldens.in_process_runner()
        self.ours = kit.subprocess_runner(command, whole=True)
        self.timeout = timeout

    def compare(self, case):
        """-> kind of the outcome, list of differences"""
        try:
            golden, warnings = make_goldens.golden_of(case, self.reference, self.server, self.timeout)
        except Exception as e:  # noqa: BLE001  (the kit could not observe it: nothing to compare)
            return "unobserved: %s" % e, []
        if golden["exit"] == "timeout":
            return "reference timed out", []
        if any("internal traceback" in w for w in warnings):
            obs = kit.observe(case, self.ours, self.server, None, False, self.timeout)
            bad = [] if obs["exit"] in (0, 1) else ["exit status %s\n%s" % (obs["exit"], obs["stderr"])]
            return "reference crashed", bad
        for ln in golden.get("error", {}).get("lines", []):
            if "detail" in ln and " object at 0x" in ln["detail"]:
                del ln["detail"]
        if golden.get("stream") not in (None, "same") and case.spec.get("stream") is not False:
            golden.pop("stream")
        obs = kit.observe(case, self.ours, self.server, kit.probe_of(golden), bool(golden.get("stream")), self.timeout)
        if golden.get("trace", 0) is None:  # it could not write one
            del golden["trace"]
        for side in (golden, obs):
            if "trace" in side:
                side["trace"] = comparable(side["trace"])
        bad = kit.compare(case, golden, obs)
        if bad and known(golden, obs):
            return "known: " + known(golden, obs), []
        if bad and golden["exit"] and not self.lines:  # lines of the reference come from a scan of the text (spec execution R28)
            for ln in golden.get("error", {}).get("lines", []):
                ln.pop("line", None)
            if not kit.compare(case, golden, obs):
                return "known: line", []
        return ("error" if golden["exit"] else "result") + (" (warned)" if warnings else ""), bad


def smaller(tree):
    """Trees with one part less."""
    def at(path, v):
        out = copy.deepcopy(tree)
        if not path:
            return v
        cur = out
        for k in path[:-1]:
            cur = cur[k]
        if v is None:
            del cur[path[-1]]
        else:
            cur[path[-1]] = copy.deepcopy(v)
        return out

    def walk(v, path):
        if isinstance(v, (dict, list)) and path:
            for sub in (v.values() if isinstance(v, dict) else v):
                if isinstance(sub, (dict, list)) or isinstance(sub, str):
                    yield at(path, sub)
        if isinstance(v, dict):
            for k in v:
                yield at(path + [k], None)
            for k in v:
                yield from walk(v[k], path + [k])
        elif isinstance(v, list):
            for i in reversed(range(len(v))):
                yield at(path + [i], None)
            for i in range(len(v)):
                yield from walk(v[i], path + [i])
        elif isinstance(v, str) and not isinstance(v, generate.Raw) and len(v) > 1 and path:
            yield at(path, "w")
    yield from walk(tree, [])


def sort_of(bad):
    """What kind of difference it is: shrinking must keep it."""
    return bad[0].split("\n")[0].split(":")[0] if bad else ""


def shrink(pair, root, tree, files, spec, want, seconds):
    end = time.time() + seconds
    changed = True
    best = None
    while changed and time.time() < end:
        changed = False
        for t in smaller(tree):
            if time.time() > end or not isinstance(t, dict):
                break
            trial = {**files, "main.pdl": generate.emit(t, generate.Plain())}
            kind, bad = pair.compare(Generated(root, "shrink", trial, spec))
            if bad and sort_of(bad) == want:
                tree, best, changed = t, (trial, bad), True
                break
    return best


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--pdl", default="build/pdl")
    ap.add_argument("--first", type=int, default=1)
    ap.add_argument("--seeds", type=int, default=300)
    ap.add_argument("--seconds", type=float, default=1e9, help="stop after so many seconds")
    ap.add_argument("--trace", action="store_true", help="compare traces too")
    ap.add_argument("--lines", action="store_true", help="compare the lines of run-time errors too")
    ap.add_argument("--models", type=float, default=.1, help="part of the programs that call models")
    ap.add_argument("--timeout", type=float, default=20)
    ap.add_argument("--keep", default="build/differential")
    ap.add_argument("--shrink", type=float, default=20, help="seconds for making one difference small")
    ap.add_argument("--show", type=int, default=20)
    a = ap.parse_args()
    try:
        import pdl.pdl  # noqa: F401
    except ImportError:
        print("the reference is not installed in %s\n0 passed, 0 failed, 1 skipped" % sys.executable)
        return 0
    root = tempfile.mkdtemp(prefix="pdldiff")
    keep = pathlib.Path(a.keep)
    pair = Pair(os.path.abspath(a.pdl), a.timeout, a.lines)
    end, kinds, failed, ran, groups = time.time() + a.seconds, collections.Counter(), 0, 0, collections.Counter()
    try:
        for seed in range(a.first, a.first + a.seeds):
            if time.time() > end:
                break
            models = random.Random("models%d" % seed).random() < a.models
            tree, files, spec = generate.case(seed, models)
            spec["trace"] = a.trace
            case = Generated(root, "s%d" % seed, files, spec)
            kind, bad = pair.compare(case)
            if bad and kind.startswith("error"):  # its lines may be misled by the style
                files = {**files, "main.pdl": generate.emit(tree, generate.Plain())}
                kind, bad = pair.compare(Generated(root, "s%d" % seed, files, spec))
            kinds[kind] += 1
            ran += 1
            if bad:
                failed += 1
                small = shrink(pair, root, tree, files, spec, sort_of(bad), a.shrink) if a.shrink else None
                files, bad = small or (files, bad)
                groups[sort_of(bad)] += 1
                Generated(keep, "s%d" % seed, files, spec)
                (keep / "generated" / ("s%d" % seed) / "difference.txt").write_text("\n".join(bad), encoding="utf-8")
                if failed <= a.show:
                    print("DIFFERENCE seed %d (%s)\n%s\n%s" % (seed, kind, files["main.pdl"], "\n".join(bad)[:3000]), flush=True)
            shutil.rmtree(pathlib.Path(root) / "generated" / ("s%d" % seed), ignore_errors=True)
    finally:
        pair.server.stop()
        shutil.rmtree(root, ignore_errors=True)
    print(", ".join("%s: %d" % kv for kv in sorted(kinds.items())))
    print(", ".join("%s: %d" % kv for kv in sorted(groups.items())))
    print("%d passed, %d failed" % (ran - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
