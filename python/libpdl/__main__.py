# SPDX-License-Identifier: Apache-2.0
"""The command `pdl`: `python -m libpdl`, and the script that the package installs."""
from __future__ import annotations

import os
import sys

from . import _environment


def main(*words: str, name: str = "pdl") -> None:
    """Replaces this process by the command of this package. Code blocks of the command run in this Python, unless PDL_PYTHON names another Python."""
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "pdl")
    if not os.access(command, os.X_OK):
        sys.exit("pdl: this copy of the package libpdl was built without the command")
    _environment.fill()
    os.execv(command, [name, *words, *sys.argv[1:]])


def infer() -> None:
    """Replaces this process by `pdl infer`."""
    main("infer")


def optimize() -> None:
    """Replaces this process by pdl-optimize, the command of the reference."""
    main(name="pdl-optimize")


if __name__ == "__main__":
    main()
