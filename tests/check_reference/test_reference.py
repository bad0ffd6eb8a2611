#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_reference.py BUILD -- `pdl check` on every program of the reference's repository.

The source of the reference is fetched into the build directory, once. Those of its own tests of errors (tests/data/line and KNOWN) have
errors; all others have none, and no warnings but those of WARNED, each of which was looked at. Where it cannot be fetched the test is skipped.
Last line: `N passed, N failed[, N skipped]`.
"""
import json
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import reference_of  # noqa: E402

ERRORS = "tests/data/line/"  # programs of the reference's tests of error messages


def findings_of(pdl, path):
    env = {k: v for k, v in os.environ.items() if k != "PDL_PATH"}
    r = subprocess.run([pdl, "check", "--format", "json", "./" + path.name], cwd=path.parent, stdout=subprocess.PIPE, text=True, env=env,
                       stdin=subprocess.DEVNULL, timeout=300)
    if r.returncode not in (0, 1):
        return ["status %d" % r.returncode], []
    found = [json.loads(line) for line in r.stdout.splitlines()]
    return (["%(file)s:%(line)d %(code)s: %(message)s" % d for d in found if d["severity"] == "error"],
            sorted({"%(code)s %(message)s" % d for d in found if d["severity"] != "error"}))


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    root = reference_of.source(build)
    if not root:
        print("0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = wrong = 0
    for path in sorted(root.rglob("*.pdl")):
        name = str(path.relative_to(root))
        found, warnings = findings_of(str(build / "pdl"), path)
        is_wrong = name.startswith(ERRORS) or name in KNOWN
        other = [w for w in warnings if not any(w.startswith(allowed) for allowed in WARNED.get(name, []))]
        if other and not is_wrong:
            print("FAIL %s: %s" % (name, other))
        passed += is_wrong or not other
        failed += bool(other) and not is_wrong
        wrong += bool(found)
        ok = not found or is_wrong
        if not ok:
            print("FAIL %s: %s" % (name, found))
        passed += ok
        failed += not ok
    if wrong < 10:
        print("FAIL only %d of the wrong programs have an error" % wrong)
        failed += 1
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0


# Outside of that folder: programs that its tests run to see them fail.
KNOWN = {"examples/tutorial/type_list.pdl"}

# Programs that get variables from outside (-d, or the optimizer), and what a person would be warned of.
OUTSIDE = ["name-undefined '%s'" % n for n in "code_line error_msg prompt_pattern demonstrations question prompt model claim input verify something".split()]
WARNED = {
    "examples/callback/repair_prompt.pdl": OUTSIDE,
    "examples/demos/repair_prompt.pdl": OUTSIDE,
    "examples/optimizer/fever.pdl": OUTSIDE,
    "examples/optimizer/grammar_correction.pdl": OUTSIDE,
    "examples/optimizer/gsm8k.pdl": OUTSIDE,
    "examples/optimizer/mbpp.pdl": OUTSIDE,
    "examples/optimizer/optimized_grammar_correction.pdl": OUTSIDE,
    "examples/tutorial/free_variables.pdl": OUTSIDE,
    "tests/data/optimizer_gsm8k.pdl": OUTSIDE,
    "examples/demo/8-tools.pdl": ["role 'tools'"],  # models know `tool`
    "examples/demo/9-react.pdl": ["role 'tools'"],
    "examples/demos/react.pdl": ["role 'tools'"],
    "examples/react/react_demo.pdl": ["role 'tools'"],
    "examples/input/input_test.pdl": ["get "],  # the old form of `data`
}

if __name__ == "__main__":
    sys.exit(main())
