#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_reference.py BUILD -- `pdl check` on every program of the reference's repository.

The source of the reference is fetched into the build directory, once. Those of its own tests of errors (tests/data/line and KNOWN) have
errors; all others have none. Where it cannot be fetched the test is skipped.
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


def errors_of(pdl, path):
    env = {k: v for k, v in os.environ.items() if k != "PDL_PATH"}
    r = subprocess.run([pdl, "check", "--format", "json", "./" + path.name], cwd=path.parent, stdout=subprocess.PIPE, text=True, env=env,
                       stdin=subprocess.DEVNULL, timeout=300)
    if r.returncode not in (0, 1):
        return ["status %d" % r.returncode]
    found = [json.loads(line) for line in r.stdout.splitlines()]
    return ["%(file)s:%(line)d %(code)s: %(message)s" % d for d in found if d["severity"] == "error"]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    root = reference_of.source(build)
    if not root:
        print("0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = wrong = 0
    for path in sorted(root.rglob("*.pdl")):
        name = str(path.relative_to(root))
        found = errors_of(str(build / "pdl"), path)
        is_wrong = name.startswith(ERRORS) or name in KNOWN
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

if __name__ == "__main__":
    sys.exit(main())
