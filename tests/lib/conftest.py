# SPDX-License-Identifier: Apache-2.0
import pytest

from .agents import Bench


@pytest.fixture
def bench(pdl):
    return Bench(pdl)
