# SPDX-License-Identifier: Apache-2.0
"""The modules of prompt-declaration-language on top of libpdl."""
from __future__ import annotations

from importlib import metadata as _metadata

REFERENCE, OWN = "prompt-declaration-language", "libpdl-compat"


def _installed(name: str) -> bool:
    try:
        _metadata.version(name)
    except _metadata.PackageNotFoundError:
        return False
    return True


if _installed(REFERENCE):
    raise ImportError("%s and %s are both installed, and both are the package `pdl`: uninstall one of them, "
                      "`pip uninstall %s` to keep libpdl, and install the other again" % (REFERENCE, OWN, REFERENCE))

from libpdl import __version__  # noqa: E402, F401
