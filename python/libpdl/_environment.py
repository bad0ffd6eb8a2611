# SPDX-License-Identifier: Apache-2.0
"""Sets variables that the library reads and whose values Python knows: the interpreter for code blocks in a separate process, and the certificates
of the package certifi for systems that have none. Variables that are set already are not changed."""
from __future__ import annotations

import os
import sys


def _certificates() -> str:
    """Returns the file of certificates of certifi when it is installed, without importing it."""
    import importlib.util
    try:
        found = importlib.util.find_spec("certifi")
    except (ImportError, ValueError):
        return ""
    path = os.path.join(os.path.dirname(found.origin), "cacert.pem") if found is not None and found.origin else ""
    return path if os.path.exists(path) else ""


_is_filled = False


def fill() -> None:
    """Sets PDL_PYTHON and PDL_CA_FILE; once in a process."""
    global _is_filled
    if _is_filled:
        return
    _is_filled = True
    if "python" in os.path.basename(sys.executable or ""):  # otherwise the executable is a program that embeds Python
        os.environ.setdefault("PDL_PYTHON", sys.executable)
    if "PDL_CA_FILE" not in os.environ:
        path = _certificates()
        if path:
            os.environ["PDL_CA_FILE"] = path
