# SPDX-License-Identifier: Apache-2.0
"""libpdl: programs of PDL, the Prompt Declaration Language, in Python.

    import libpdl
    print(libpdl.run("text: Hello ${ name }!", name="Ada"))
"""
from __future__ import annotations

import os as _os

from . import _hints, _hooks, _pdl

_pdl.set_hooks(_hooks)

from . import _engine, _errors, _program  # noqa: E402
from ._engine import ApprovalRequest, Engine, ModelRequest, default as _default  # noqa: E402
from ._errors import (BudgetError, Error, ModelError, PolicyError, ProgramError, RunError, UsageError)  # noqa: E402
from ._hooks import Context  # noqa: E402
from ._program import Call, Diagnostic, Function, Program, Result, Stream  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._names import Any, Mapping, Optional, Union

    from ._later import AsyncStream, Map
    from ._infer import Distribution, ainfer, infer
    from ._optimize import aoptimize, optimize
    from ._tool import Tool, tool
else:
    _LATER = {"AsyncStream": "_later", "Map": "_later", "Tool": "_tool", "tool": "_tool",
              "Distribution": "_infer", "infer": "_infer", "ainfer": "_infer",
              "optimize": "_optimize", "aoptimize": "_optimize"}  # these names are in modules that are slow to load

    def __getattr__(name):
        if name not in _LATER:
            raise AttributeError("module 'libpdl' has no attribute %r" % name)
        from importlib import import_module
        value = globals()[name] = getattr(import_module("." + _LATER[name], __name__), name)
        return value

__version__ = _pdl.version
__all__ = ["ApprovalRequest", "AsyncStream", "BudgetError", "Call", "Context", "Diagnostic", "Distribution", "Engine", "Error", "Function", "Map", "ModelError", "ModelRequest", "PolicyError",
           "Program", "ProgramError", "Result", "RunError", "Stream", "Tool", "UsageError", "from_dict", "infer", "ainfer", "load", "loads",
           "optimize", "aoptimize", "run", "schema", "tool"]


def load(path: Union[str, "_os.PathLike[str]"], *, returns: Any = None) -> Program[Any]:
    """Reads the program in a file."""
    return _default().load(path, returns=returns)


def loads(text: str, *, name: Optional[str] = None, returns: Any = None) -> Program[Any]:
    """Reads a program from its text. name: the name of the program in errors; relative paths begin in the folder of this name."""
    return _default().loads(text, name=name, returns=returns)


def from_dict(program: Any, *, name: Optional[str] = None, returns: Any = None) -> Program[Any]:
    """Makes a program of a tree of dicts, lists and texts."""
    return _default().from_dict(program, name=name, returns=returns)


def run(text: str, scope: Optional[Mapping[str, Any]] = None, /, **variables: Any) -> Result[Any]:
    """Runs the program with this text."""
    return _default().run(text, scope, **variables)


def schema() -> dict[str, Any]:
    """Returns the JSON Schema of the language."""
    return _default().schema()


for _module in (_engine, _errors, _hooks, _program):
    _hints.later(vars(_module))
_hints.later(globals())
