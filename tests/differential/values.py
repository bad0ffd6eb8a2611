#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""values.py -- random expressions, templates, YAML, parsers, types and texts through the reference and through ours.

    REFERENCE_PYTHON tests/differential/values.py --tool build/pdl-value-test [--seed N] [--scale F] [--keep DIR]

The cases are those of the kit's generator (tests/conformance/values/make_values.py) for another seed; the answers are the reference's.
Each difference is written to DIR/KIND.failed.jsonl. A Python without the reference prints `0 passed, 0 failed, 1 skipped`.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

VALUES = pathlib.Path(__file__).resolve().parent.parent / "conformance" / "values"
KINDS = ("expressions", "jinja_templates", "yaml", "parsers", "types", "stringify")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tool", default="build/pdl-value-test")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--scale", type=float, default=4)
    ap.add_argument("--keep", default="build/differential-values")
    a = ap.parse_args()
    try:
        import pdl.pdl  # noqa: F401
    except ImportError:
        print("the reference is not installed in %s\n0 passed, 0 failed, 1 skipped" % sys.executable)
        return 0
    keep = pathlib.Path(a.keep)
    keep.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, VALUES / "make_values.py", "--seed", str(a.seed), "--sizes", "scale=%g" % a.scale, "--out", keep],
                   env=env, check=True, stderr=subprocess.DEVNULL)
    passed = failed = 0
    for kind in KINDS:
        p = subprocess.run([sys.executable, VALUES / "check_values.py", "--show", "0", "--out", keep / (kind + ".failed.jsonl"),
                            os.path.abspath(a.tool), keep / (kind + ".jsonl")], env=env, capture_output=True, text=True)
        good, of = map(int, re.search(r"^%s: (\d+) of (\d+)$" % kind, p.stdout, re.M).groups())
        print("%s: %d of %d" % (kind, good, of))
        passed, failed = passed + good, failed + of - good
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
