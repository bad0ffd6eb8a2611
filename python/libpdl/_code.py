# SPDX-License-Identifier: Apache-2.0
"""Runs code blocks in the calling interpreter."""
from __future__ import annotations

import builtins
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from . import _pdl
    from ._engine import Engine

SESSION = types.SimpleNamespace()  # PDL_SESSION, which all blocks of the process share
TOP_LEVEL_AWAIT = 0x2000  # the value of ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
IS_COROUTINE = 0x80  # the value of inspect.CO_COROUTINE
MANY = 100
NAME = "<code-block>"
# the reference reports this when it runs a block in a process and the block never sets `result`
UNSET = "'types.SimpleNamespace' object has no attribute 'result'"
_compiled: dict[str, types.CodeType] = {}  # compiled blocks are kept, since blocks in loops run often
_number = 0


def _code_of(text: str) -> types.CodeType:
    global _number
    code = _compiled.get(text)
    if code is None:
        import linecache
        _number += 1
        name = "<code-block %d>" % _number
        # with this, tracebacks show the lines of the block
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        code = compile(text, name, "exec", TOP_LEVEL_AWAIT, dont_inherit=True)
        _compiled[text] = code
        if len(_compiled) > MANY:
            old = _compiled.pop(next(iter(_compiled)))
            linecache.cache.pop(old.co_filename, None)
    return code


def _message(raised: BaseException) -> str:
    """Returns the traceback as a separate process would report it: only with the frames of the block and of the functions that it defines."""
    import traceback
    shown = traceback.TracebackException.from_exception(raised)
    shown.stack[:] = [f for f in shown.stack if f.filename.startswith("<code-block")]
    if isinstance(raised, SyntaxError) and (raised.filename or "").startswith("<code-block"):
        shown.filename = NAME
    import re
    text = "".join(shown.format(chain=False)).rstrip("\n")
    head = "" if text.startswith("Traceback") else "Traceback (most recent call last):\n"
    if isinstance(raised, AttributeError) and str(raised) == UNSET and "  File " not in text:
        return "Python Code error: the code never sets `result`, which is the value of the block\n" + text.rpartition("Traceback (most recent call last):\n")[2]
    return "Python Code error: " + head + re.sub(r"<code-block \d+>", NAME, text)


class _In:
    """Adds a folder at the end of the module path."""

    def __init__(self, folder: Optional[str]) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        if self.folder is not None:
            sys.path.append(self.folder)

    def __exit__(self, *unused: object) -> None:
        path = sys.path
        if self.folder is not None and self.folder in path:
            del path[len(path) - 1 - path[::-1].index(self.folder)]


def _result(names: dict[str, Any]) -> Any:
    if "result" not in names:
        raise AttributeError(UNSET)
    return names["result"]


def run(engine: "Engine", request: "_pdl.Request") -> None:
    """Answers the request of a code block."""
    data = request.data()
    if data["lang"] != "python":
        request.decline()  # the block has to run in another process
        return
    variables: dict[str, Any] = data["vars"]
    names: dict[str, Any] = {**variables, "PDL_SESSION": SESSION, "__builtins__": builtins, "__name__": "__main__"}
    try:
        code = _code_of(data["code"])
        with _In(data.get("cwd")):
            if code.co_flags & IS_COROUTINE:
                engine._later(request, _wait(engine, request, eval(code, names), names, variables))
                return
            exec(code, names)
        result = _result(names)
    except Exception as e:
        engine._fail(request, e, _message(e))
        return
    request.answer_code(result, variables)


async def _wait(engine: "Engine", request: "_pdl.Request", coroutine: Any, names: dict[str, Any], variables: dict[str, Any]) -> None:
    """Runs a block that awaits something."""
    try:
        await coroutine
        request.answer_code(_result(names), variables)
    except Exception as e:
        engine._fail(request, e, _message(e))
