# SPDX-License-Identifier: Apache-2.0
"""Scripts that are not yet functions of pytest: one item each, which counts what the last line of the script says."""
import re
import subprocess
import sys

import pytest

from .. import checks
from .choice import Choice, ROOT
from .collect import Case, CaseFile

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?(?: \(.*\))?$", re.M)


class Script(Case):
    def runtest(self):
        p = subprocess.run([sys.executable, self.path, Choice.build], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT,
                           check=False)
        text = p.stdout.decode("utf-8", "replace")
        found = COUNTS.findall(text)
        if not found:
            raise AssertionError("no counts, exit status %d\n%s" % (p.returncode, text[-6000:]))
        checks.add(*(int(x or 0) for x in found[-1]))
        if p.returncode or int(found[-1][1]):
            raise AssertionError("exit status %d\n%s" % (p.returncode, text[-8000:]))


class ScriptFile(CaseFile):
    kind = Script


def is_script(path):
    text = path.read_text("utf-8")
    return not path.with_name("__init__.py").exists() or '\nif __name__ == "__main__"' in text or re.search(r"^[^\"'\n]*sys\.argv", text, re.M)


def pytest_pycollect_makemodule(module_path, parent):
    return ScriptFile.from_parent(parent, path=module_path) if "python" not in module_path.parts and is_script(module_path) else None


def pytest_collection_modifyitems(items):
    for item in items:
        if isinstance(item, Script):
            item.add_marker(pytest.mark.seconds(900))
            item.add_marker(pytest.mark.builds)
