#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""answer.py -- our own corpora of values. The inputs are written by hand and are cases that the kit's corpora leave out; the answers are those of the reference.

    REFERENCE_PYTHON tests/conformance/values/answer.py [KIND ...]           answers the lines that have no answer yet, and numbers them
    REFERENCE_PYTHON tests/conformance/values/answer.py --check [KIND ...]   checks that all answers still hold

A line is a case of tests/conformance/values/README.md; a new case needs only `tag` and the input. The runner also compares kinds of errors, and
messages except those of templates, which have the words of a block's errors.
"""
import json
import pathlib
import sys

import reference_value_test as reference

HERE = pathlib.Path(__file__).resolve().parent / "own"

SHORT = {"expressions": "ex", "jinja_templates": "jt", "yaml": "ya", "parsers": "pa", "types": "ty", "stringify": "st"}


def answered(kind, case, check):
    """The case with its answer; None when it has no counterpart outside Python."""
    if not check and ("result" in case or "error" in case):
        return case
    case = {k: v for k, v in case.items() if k not in ("result", "error")}
    try:
        return {**case, **reference.evaluate(kind, case)}
    except reference.Untransferable as e:
        print("left out (%s): %s" % (e, json.dumps(case, ensure_ascii=False)))
        return None


def main():
    check = "--check" in sys.argv
    kinds = [a for a in sys.argv[1:] if not a.startswith("-")] or list(SHORT)
    bad = 0
    for kind in kinds:
        path = HERE / (kind + ".jsonl")
        before = [json.loads(x) for x in path.read_text("utf-8").split("\n") if x] if path.exists() else []
        after = [c for c in (answered(kind, case, check) for case in before) if c]
        if check:
            changed = [c for c in after if c not in before]
            print("%s: %d of %d hold" % (kind, len(before) - len(changed), len(before)), *changed, sep="\n")
            bad += len(before) - len(after) + len(changed)
        elif before:
            rows = [{"id": "own-%s-%04d" % (SHORT[kind], i), **{k: v for k, v in c.items() if k != "id"}} for i, c in enumerate(after, 1)]
            path.write_text("".join(reference.dumps(x) + "\n" for x in rows), "utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
