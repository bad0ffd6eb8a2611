# SPDX-License-Identifier: Apache-2.0
"""With all variables known, an undefined name is an error where the expression fails whenever it is evaluated, and a warning elsewhere."""
import subprocess

import pytest

from ..checks import check

NEEDED = ["x", "x + 1", "x or a", "x and a", "x is odd", "x is iterable", "1 if x else 2", "x if x else 1", "[x.y]", "[x + 1]", "{'k': x + 1}", "a + x"]
LENIENT = ["x is none", "x is not none", "x is string", "x is mapping", "x is number", "x is sameas none", "[x] | length", "(x, 1)", "{'k': x}", "1 if a else x",
           "x.y if a == 2 else 1", "a or x", "a == 2 and x + 1", "[1] if a else [x.y]"]


@pytest.mark.parametrize("expression", NEEDED + LENIENT)
def test_error_only_where_it_fails(pdl, folder, expression):
    (folder / "a.pdl").write_text('text:\n- "${ %s }"\n' % expression)
    needed = expression in NEEDED
    run = subprocess.run([pdl, "-d", "a=1", "a.pdl"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    check("the run of %s" % expression, run.returncode == needed, run.stdout, run.stderr)
    r = subprocess.run([pdl, "check", "-d", "a=1", "a.pdl"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    out = (r.stdout + r.stderr).decode()
    check(expression, r.returncode == needed and "'x' is undefined" in out and ("warning: 'x'" in out) != needed, r.returncode, out)
