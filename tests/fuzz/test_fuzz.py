# SPDX-License-Identifier: Apache-2.0
"""Every fuzz target runs over its corpus, without a fuzzer, by fuzz/run.py BUILD."""
import importlib.util
import re
import subprocess
import sys

from .. import checks
from ..harness.choice import ROOT

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)


def test_corpora(build):
    p = subprocess.run([sys.executable, ROOT / "fuzz" / "run.py", build], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    print(p.stdout[-20000:], p.stderr[-4000:])
    found = COUNTS.findall(p.stdout)
    assert found and (p.returncode == 0) == (found[-1][1] == "0"), "exit status %d" % p.returncode
    checks.add(*map(int, found[-1]))


def test_the_fuzzer_compiles_the_library_of_this_platform():
    spec = importlib.util.spec_from_file_location("fuzz_run", ROOT / "fuzz" / "run.py")
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    sources = {str(p.relative_to(ROOT)) for p in run.library_sources()}
    assert "src/core/base/system/os_linux.c" in sources and "src/apps/cli/main.c" not in sources
    assert not [p for p in sources if re.search("darwin|wasi|libraries_inside", p)]
