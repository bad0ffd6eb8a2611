#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_reference.py -- the reference's own tests with libpdl-compat; skipped where they cannot be fetched.

    tests/reference/test_reference.py BUILD

Last line: `N passed, N failed[, N skipped]`; skipped are those that docs/python-compat.md says fail.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    build = sys.argv[1]
    for command in ([sys.executable, ROOT / "tools" / "build-python", build], [sys.executable, ROOT / "tools" / "reference-tests", build]):
        p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if p.returncode == 77:
            print("%s0 passed, 0 failed, 1 skipped" % p.stdout)
            return 0
    print(p.stdout, end="")
    return p.returncode


if __name__ == "__main__":
    sys.exit(main())
