# SPDX-License-Identifier: Apache-2.0
"""b: a browser that collects steps (browse.py)."""
import pytest

from .browse import browser


@pytest.fixture
def b(folder):
    made = browser(folder)
    if made is None:
        pytest.skip("there is no browser")
    return made
