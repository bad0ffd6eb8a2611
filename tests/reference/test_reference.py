# SPDX-License-Identifier: Apache-2.0
"""Runs the reference's own tests with libpdl-compat, by tools/reference-tests. Skipped when they cannot be fetched. Exactly the tests that
docs/python-compat.md lists as failing are left out."""
import re
import subprocess
import sys

import pytest

from .. import checks
from ..checks import skip
from ..harness.choice import ROOT


@pytest.mark.builds
@pytest.mark.seconds(2400)
def test_reference(build):
    p = subprocess.run([sys.executable, ROOT / "tools" / "reference-tests", build], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if p.returncode == 77:
        skip("the reference's own tests", p.stdout.strip().splitlines()[-1] if p.stdout.strip() else "they cannot be fetched")
        return
    counts = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", p.stdout, re.M)
    if counts:
        checks.add(*(int(x or 0) for x in counts[-1]))
    assert counts and p.returncode == 0, p.stdout[-6000:]
