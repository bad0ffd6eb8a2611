# SPDX-License-Identifier: Apache-2.0
"""Certificates of the package certifi, for systems that have none."""
from __future__ import annotations

import functools
import importlib.util
import os


@functools.cache
def offer() -> None:
    """Names the file of certifi, if that is installed, in PDL_CA_FILE. The library looks there last."""
    if "PDL_CA_FILE" in os.environ:
        return
    try:
        found = importlib.util.find_spec("certifi")
    except (ImportError, ValueError):
        return
    if found is not None and found.origin:
        path = os.path.join(os.path.dirname(found.origin), "cacert.pem")
        if os.path.exists(path):
            os.environ["PDL_CA_FILE"] = path
