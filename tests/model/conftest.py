# SPDX-License-Identifier: Apache-2.0
"""Checks that the driver of an item ends well, and shows the reports of a sanitizer."""
import pytest

from . import wire


@pytest.fixture(autouse=True)
def driver():
    yield
    assert wire.end() == 0, "model_driver"
