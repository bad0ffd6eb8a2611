# SPDX-License-Identifier: Apache-2.0
"""The benchmarks run, and no figure is more than three times its limit. The best of three runs counts, because other items keep the machine busy."""
import os
import re
import subprocess
import sys

import pytest

from .. import checks
from ..harness.choice import ROOT

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)


@pytest.mark.builds
@pytest.mark.seconds(900)
def test_short(pdl):
    env = {k: v for k, v in os.environ.items() if k != "PDL_SHARED"}  # its programs are beside the repository
    best = None
    for _ in range(3):
        p = subprocess.run([sys.executable, ROOT / "bench" / "run.py", "--short", "--pdl", pdl], env=env, capture_output=True, text=True, timeout=280, check=False)
        found = COUNTS.findall(p.stdout)
        assert found, "exit status %d\n%s%s" % (p.returncode, p.stdout[-3000:], p.stderr[-3000:])
        counts = [int(x or 0) for x in found[-1]]
        if best is None or counts[1] < best[1]:
            best, text = counts, p.stdout
        if not best[1]:
            break
    print(text)
    checks.add(*best)
