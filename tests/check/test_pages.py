#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_pages.py -- the quick reference, the manual page and the completions of shells are what the tables of the command give: every block,
field, filter, command and option.

    test_pages.py BUILD_DIR

Last line: `N passed, N failed`.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from checks import check, finish  # noqa: E402


def main():
    pdl = pathlib.Path(sys.argv[1]).resolve() / "pdl"
    check("the quick reference", subprocess.run([sys.executable, ROOT / "tools" / "quick-reference-page", pdl, "--check"], check=False).returncode == 0)
    made = {"pdl.1": ["__man"], **{"pdl.%s" % s: ["__complete", s] for s in ("bash", "zsh", "fish")}}
    for name, words in made.items():
        text = subprocess.run([pdl, *words], capture_output=True, check=False).stdout
        check("packaging/" + name, text == (ROOT / "packaging" / name).read_bytes(), "run packaging/generate build/pdl")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
