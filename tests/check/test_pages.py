#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_pages.py -- the quick reference is what the tables of the command give: every block, field, filter, command and option.

    test_pages.py BUILD_DIR

Last line: `N passed, N failed`.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    pdl = pathlib.Path(sys.argv[1]).resolve() / "pdl"
    stale = subprocess.run([sys.executable, ROOT / "tools" / "quick-reference-page", pdl, "--check"]).returncode != 0
    print("%d passed, %d failed" % (not stale, stale))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
