# SPDX-License-Identifier: Apache-2.0
"""The quick reference, the manual page and the shell completions agree with the tables of the command: every block, field, filter, command and
option."""
import subprocess
import sys

from ..checks import check
from ..harness.choice import ROOT


def test_quick_reference(pdl):
    check("the quick reference", subprocess.run([sys.executable, ROOT / "tools" / "quick-reference-page", pdl, "--check"], check=False).returncode == 0)


def test_packaging(pdl):
    made = {"pdl.1": ["__man"], **{"pdl.%s" % s: ["__complete", s] for s in ("bash", "zsh", "fish")}}
    for name, words in made.items():
        text = subprocess.run([pdl, *words], capture_output=True, check=False).stdout
        check("packaging/" + name, text == (ROOT / "packaging" / name).read_bytes(), "run packaging/generate build/pdl")
