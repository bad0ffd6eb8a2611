# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the Python package in other interpreters than Debian's: in one with third-party packages, and in a debug build of Python, which
checks itself and counts every reference."""
import re
import shutil
import subprocess

import pytest

from .. import checks
from ..checks import skip
from ..harness.choice import ROOT
from ..venv_of import python

WITH_PACKAGES = ["test_notebook", "test_examples"]
WITHOUT_PACKAGES = ["test_run", "test_objects", "test_contexts", "test_code", "test_models", "test_approvals", "test_async", "test_robust"]


def run(exe, build, modules):
    p = subprocess.run([exe, ROOT / "python" / "tests" / "run.py", build, *modules], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, check=False)
    counts = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", p.stdout, re.M)
    if counts:
        checks.add(*(int(x or 0) for x in counts[-1]))
    assert counts and p.returncode == 0, p.stdout[-6000:]


@pytest.mark.builds
@pytest.mark.seconds(900)
@pytest.mark.parametrize("module", WITH_PACKAGES)
def test_with_packages(build, module):
    exe, why = python(build, "IPython", "ipykernel", "nbclient", "fastapi", "httpx", "mypy", name="test-venv-notebook", seconds=400)
    if exe is None:
        skip(module, why)
    else:
        run(exe, build, [module])


@pytest.mark.builds
@pytest.mark.seconds(900)
def test_debug_build(build):
    exe = next(filter(None, map(shutil.which, ["python3-dbg", *("python3.%d-dbg" % minor for minor in range(20, 9, -1))])), None)
    if exe is None:
        skip("a debug build of Python", "there is no python3-dbg")
    else:
        run(exe, build, WITHOUT_PACKAGES)
