# SPDX-License-Identifier: Apache-2.0
"""The package under test is the one in BUILD/python, which `make python` builds. In a build with sanitizers, these must
be loaded before everything else. Each test module is then one test, which run.py runs in an interpreter that loads
the sanitizers first."""
import os
import re
import subprocess
import sys
import sysconfig

import pytest

from tests import checks
from tests.harness.choice import ROOT, Choice
from tests.harness.collect import Case, CaseFile

PACKAGE = Choice.build / "python"
# These tests need packages that are fetched, so only `make test-all` runs them. A module in which every test needs such packages is run
# by tests/python.
FETCHES = ("test_more.py::Packages", "test_more.py::Pages::test_annotations", "test_robust.py::Loops")
ELSEWHERE = ("test_notebook.py",)
READY = (PACKAGE / "libpdl" / "_pdl.abi3.so").exists()

if READY and not Choice.sanitized:
    sys.path[:0] = [str(PACKAGE), str(Choice.build / "python-compat"), str(ROOT / "python" / "tests")]
    os.environ["PYTHONPATH"] = str(PACKAGE)
    os.environ["PDL_BUILD"] = str(Choice.build)


class Module(Case):
    """Runs a module in an interpreter with the sanitizers. When the package cannot be built, the module is skipped."""

    def runtest(self):
        if not READY:
            checks.skip("python/tests/" + self.path.name, "the package is not built: %s" % reason())
            return
        p = subprocess.run([sys.executable, ROOT / "python" / "tests" / "run.py", Choice.build, self.path.stem], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, env={**os.environ, "PDL_TESTS_ALONE": "1"})
        text = p.stdout.decode("utf-8", "replace")
        counts = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", text, re.M)
        if counts:
            checks.add(*(int(x or 0) for x in counts[-1]))
        assert counts and p.returncode == 0, text[-6000:]


class ModuleFile(CaseFile):
    kind = Module


def reason():
    header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
    return "run `make python`" if os.path.exists(header) else "there is no Python.h (Debian: python3-dev)"


def pytest_ignore_collect(collection_path):
    return True if collection_path.name in ELSEWHERE else None


def pytest_collection_modifyitems(items):
    for item in items:
        if any(name in item.nodeid for name in FETCHES):
            item.add_marker(pytest.mark.tier("all"))
            item.add_marker(pytest.mark.builds)


def pytest_pycollect_makemodule(module_path, parent):
    if READY and not Choice.sanitized:
        return None
    return ModuleFile.from_parent(parent, path=module_path)


@pytest.fixture(autouse=True)
def in_this_folder(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "python" / "tests"))
