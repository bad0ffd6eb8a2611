# SPDX-License-Identifier: Apache-2.0
"""Each strength of the sandbox is a parameter. A strength that this machine does not have is skipped, with the command's message."""
import pathlib
import tempfile

import pytest

from .kit import STRENGTHS, command_of, why_not

IDS = ["bubblewrap", "native", "process"]


def able(request, pdl):
    with tempfile.TemporaryDirectory() as d:
        why = why_not(pdl, request.param, pathlib.Path(d))
    if why:
        pytest.skip("this machine has no sandbox of the strength %s: %s" % (request.param.name, why))
    return request.param


@pytest.fixture(autouse=True)
def helper(pdl, monkeypatch):
    """The command that confines is the one without sanitizers."""
    if command_of(pdl) != pdl:
        monkeypatch.setenv("PDL_COMMAND", command_of(pdl))


@pytest.fixture(params=STRENGTHS, ids=IDS)
def strength(request, pdl, helper):
    return able(request, pdl)


@pytest.fixture(params=STRENGTHS[:2], ids=IDS[:2])
def full(request, pdl, helper):
    """A back end of the strength full."""
    return able(request, pdl)
