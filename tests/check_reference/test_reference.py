# SPDX-License-Identifier: Apache-2.0
"""test_reference.py -- runs `pdl check` on every program of the reference's repository.

reference_of.py fetches the source of the reference. The programs of its own tests of errors (tests/data/line and KNOWN) have errors. All others have
no errors, and no warnings except those in WARNED, which were examined one by one. The test is skipped when the source cannot be fetched.
"""
import json
import os
import subprocess

import pytest

from .. import reference_of
from ..checks import check, skip

ERRORS = "tests/data/line/"  # programs of the reference's tests of error messages


def findings_of(pdl, path):
    env = {k: v for k, v in os.environ.items() if k != "PDL_PATH"}
    r = subprocess.run([pdl, "check", "--format", "json", "./" + path.name], cwd=path.parent, stdout=subprocess.PIPE, text=True, env=env,
                       stdin=subprocess.DEVNULL, timeout=300)
    if r.returncode not in (0, 1):
        return ["status %d" % r.returncode], []
    found = [json.loads(line) for line in r.stdout.splitlines()]
    return (["%(file)s:%(line)d %(code)s: %(message)s" % d for d in found if d["severity"] == "error"],
            sorted({"%(code)s %(message)s" % d for d in found if d["severity"] != "error"}))


# Outside of that folder: programs that its tests run to see them fail.
KNOWN = {"examples/tutorial/type_list.pdl"}

# Programs that get variables from outside (-d, or the optimizer), and what a person would be warned of.
OUTSIDE = ["name-undefined '%s'" % n for n in "code_line error_msg prompt_pattern demonstrations question prompt model claim input verify something".split()]
WARNED = {
    "examples/callback/repair_prompt.pdl": OUTSIDE,
    "examples/demos/repair_prompt.pdl": OUTSIDE,
    "examples/optimizer/fever.pdl": OUTSIDE,
    "examples/optimizer/grammar_correction.pdl": OUTSIDE,
    "examples/optimizer/gsm8k.pdl": OUTSIDE,
    "examples/optimizer/mbpp.pdl": OUTSIDE,
    "examples/optimizer/optimized_grammar_correction.pdl": OUTSIDE,
    "examples/tutorial/free_variables.pdl": OUTSIDE,
    "tests/data/optimizer_gsm8k.pdl": OUTSIDE,
    "examples/demo/8-tools.pdl": ["role 'tools'"],  # models know `tool`
    "examples/demo/9-react.pdl": ["role 'tools'"],
    "examples/demos/react.pdl": ["role 'tools'"],
    "examples/react/react_demo.pdl": ["role 'tools'"],
    "examples/input/input_test.pdl": ["get "],  # the old form of `data`
}


@pytest.mark.builds
@pytest.mark.seconds(900)
def test_programs_of_the_reference(build):
    root = reference_of.source()
    if not root:
        skip("pdl check on the programs of the reference", "they cannot be fetched")
        return
    wrong = 0
    for path in sorted(root.rglob("*.pdl")):
        name = str(path.relative_to(root))
        found, warnings = findings_of(str(build / "pdl"), path)
        is_wrong = name.startswith(ERRORS) or name in KNOWN
        other = [w for w in warnings if not any(w.startswith(allowed) for allowed in WARNED.get(name, []))]
        check(name + ": warnings", is_wrong or not other, other)
        check(name + ": errors", is_wrong or not found, found)
        wrong += bool(found)
    check("the wrong programs have errors", wrong >= 10, wrong)
