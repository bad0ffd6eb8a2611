# SPDX-License-Identifier: Apache-2.0
"""libpdl: programs of PDL, the Prompt Declaration Language, in Python.

    import libpdl
    print(libpdl.run("text: Hello ${ name }!", name="Ada"))
"""
from __future__ import annotations

import os as _os
from typing import Any, Mapping, Optional, Union

from . import _hooks, _pdl

_pdl.set_hooks(_hooks)

from ._engine import Engine, ModelRequest, default as _default  # noqa: E402
from ._errors import (BudgetError, Error, ModelError, PolicyError, ProgramError, RunError, UsageError)  # noqa: E402
from ._hooks import Context, Function  # noqa: E402
from ._program import AsyncStream, Diagnostic, Map, Program, Result, Stream  # noqa: E402
from ._tool import Tool, tool  # noqa: E402

__version__ = _pdl.version
__all__ = ["AsyncStream", "BudgetError", "Context", "Diagnostic", "Engine", "Error", "Function", "Map", "ModelError", "ModelRequest", "PolicyError", "Program",
           "ProgramError", "Result", "RunError", "Stream", "Tool", "UsageError", "from_dict", "load", "loads",
           "run", "schema", "tool"]


def load(path: Union[str, "_os.PathLike[str]"], *, returns: Any = None) -> Program[Any]:
    """Reads the program in a file."""
    return _default().load(path, returns=returns)


def loads(text: str, *, name: Optional[str] = None, returns: Any = None) -> Program[Any]:
    """Reads a program from its text. name: what errors say, and where relative paths begin."""
    return _default().loads(text, name=name, returns=returns)


def from_dict(program: Any, *, name: Optional[str] = None, returns: Any = None) -> Program[Any]:
    """Makes a program of a tree of dicts, lists and texts."""
    return _default().from_dict(program, name=name, returns=returns)


def run(text: str, scope: Optional[Mapping[str, Any]] = None, /, **variables: Any) -> Result[Any]:
    """Runs the program with this text."""
    return _default().run(text, scope, **variables)


def schema() -> dict[str, Any]:
    """The JSON Schema of the language."""
    return _default().schema()
