# SPDX-License-Identifier: Apache-2.0
"""The driver of an item ends well, with what a sanitizer has to say."""
import pytest

from . import wire


@pytest.fixture(autouse=True)
def driver():
    yield
    assert wire.end() == 0, "model_driver"
