# SPDX-License-Identifier: Apache-2.0
"""Programs of the kit, programs/AREA/CASE, have the outcome of the reference and send the same model requests.

`check` runs each case once, followed by a probe. `test` runs one case in three as the kit describes: without a stream, with a stream, and with a
separate probe. `test-all` runs the other cases in this way.
"""
import os

import pytest

from . import run
from .kit import case
from ..harness.choice import Choice, taken

AREAS = sorted(e.name for e in os.scandir(run.DEFAULT_ROOT) if e.is_dir())
EVERY = 3
SECONDS = 120  # for one run of the command


@pytest.mark.draws
@pytest.mark.parametrize("area", AREAS)
def test_program(area, pdl):
    server, runner = run.Server(), run.subprocess_runner(pdl, whole=True)
    for one in run.load_cases([run.DEFAULT_ROOT], [area]):
        whole = taken(one.id, EVERY) and Choice.tier != "check"
        if whole or not Choice.rest:
            bad = run.failures(one, one.golden(), runner, server, SECONDS, once=not whole)
            case("programs/" + one.id, not bad, one.spec.get("description", ""), "\n", "\n".join(bad))
