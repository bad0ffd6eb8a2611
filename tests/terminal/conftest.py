# SPDX-License-Identifier: Apache-2.0
import os
import subprocess

import pytest


@pytest.fixture
def server(pdl):
    """The environment of a command whose models are those of a `pdl mock`, which ends with the item."""
    mock = subprocess.Popen([pdl, "mock", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    kept = {name: os.environ[name] for name in ("PDL_PYTHON", "ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
    return {"PATH": "/usr/bin:/bin", **dict(w.split("=", 1) for w in mock.stdout.readline().split()[1:]), **kept}
