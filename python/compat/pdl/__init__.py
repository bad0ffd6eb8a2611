# SPDX-License-Identifier: Apache-2.0
"""The modules of prompt-declaration-language on top of libpdl."""
import os as _os
import sys as _sys


def _is_installed(name: str) -> bool:
    """Reads the names of folders only: importlib.metadata takes longer to load than this package."""
    start = name.replace("-", "_") + "-"
    return any(entry.startswith(start) and entry.endswith(".dist-info")
               for folder in _sys.path if _os.path.isdir(folder or ".") for entry in _os.listdir(folder or "."))


if _is_installed("prompt-declaration-language"):
    raise ImportError("prompt-declaration-language and libpdl-compat are both installed, and both are the package `pdl`: "
                      "`pip uninstall prompt-declaration-language` (or libpdl-compat), and install again the one that stays")

from libpdl import __version__  # noqa: E402, F401
