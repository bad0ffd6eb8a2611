# SPDX-License-Identifier: Apache-2.0
"""Code blocks in the calling interpreter."""
from __future__ import annotations

import builtins
import linecache
import types
from typing import Any

SESSION = types.SimpleNamespace()  # PDL_SESSION: one for all blocks, as long as the process lives
_number = 0


def _remember(name: str, code: str) -> None:
    """Tracebacks show the lines of the block."""
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    linecache.cache.pop("<code %d>" % (_number - 100), None)


def run(code: str, variables: dict[str, Any]) -> Any:
    global _number
    _number += 1
    name = "<code %d>" % _number
    _remember(name, code)
    names: dict[str, Any] = {**variables, "PDL_SESSION": SESSION, "__builtins__": builtins, "__name__": "__main__"}
    exec(compile(code, name, "exec", dont_inherit=True), names)
    if "result" not in names:
        raise AttributeError("the code block sets no variable 'result'")
    return names["result"]
